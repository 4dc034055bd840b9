/*
 * fault/test_queue_faults.c - queues that ranks drive, when requests fail, completions are late, or
 * processes differ: each process ends with a status that says what it was, within seconds, or the
 * job is right.
 */
#include "base/task.h"
#include "gda/softnic/engine.h"
#include "support/fault_job.h"
#include "weft/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 2, RANKS = 2, ROUNDS = 200, BYTES = 512 };

struct data {
    unsigned char *memory, *source; /* BYTES of each rank */
    int rounds;
    uint64_t wrong[RANKS]; /* by rank here */
};

/* Pairs of ranks of two processes send to each other, and check. */
WEFT_KERNEL(exchanging, struct data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    const int partner = (me + n / 2) % n, slot = weft_rank(self, WEFT_COMM_DEVICE);
    unsigned char *const mine = data->memory + slot * BYTES;
    unsigned char *const source = data->source + slot * BYTES;
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, mine, BYTES);

    for (int round = 0; round < data->rounds || data->rounds == 0; round++) {
        weft_for (i, BYTES)
            source[i] = (unsigned char)(round + me);
        weft_put_notify(self, win, partner, 0, source, BYTES, 1);
        weft_wait(self, 1, 1);
        weft_for (i, BYTES)
            data->wrong[slot] += mine[i] != (unsigned char)(round + partner);
        weft_notify(self, WEFT_COMM_WORLD, partner, 2);
        weft_wait(self, 2, 1);
    }
    weft_win_free(self, &win);
}

/* More than a queue holds, before anybody waits. */
WEFT_KERNEL(flooding, struct data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);

    for (int i = 0; i < data->rounds; i++)
        weft_notify(self, WEFT_COMM_WORLD, (me + n / 2) % n, 1);
    weft_wait(self, 1, (uint32_t)data->rounds);
}

static const struct faults {
    const char *name;
    const weft_kernel *kernel;
    int rounds;                         /* 0: for ever */
    uint32_t syndrome;                  /* of the AT-th request that the NIC begins; 0: of none */
    uint64_t hold_ns;                   /* so late it begins the first one, and what is behind it */
    const char *variable[2], *value[2]; /* of process 0, or of all */
    bool differs;
    weft_status status;
    const char *says;
    const char *path; /* NULL: queue */
} table[] = {
    {.name = "nobody answers",
     .kernel = &exchanging,
     .syndrome = 0x15,
     .differs = true,
     .status = WEFT_ERR_PEER_LOST,
     .says = "failed with syndrome 0x15"},
    {.name = "access is refused",
     .kernel = &exchanging,
     .syndrome = 0x13,
     .differs = true,
     .status = WEFT_ERR_PROTOCOL,
     .says = "failed with syndrome 0x13"},
    {.name = "any other error",
     .kernel = &exchanging,
     .syndrome = 0x14,
     .differs = true,
     .status = WEFT_ERR_NETWORK,
     .says = "failed with syndrome 0x14"},
    {.name = "completions are late",
     .kernel = &flooding,
     .rounds = 40,
     .hold_ns = 500000000,
     .variable = {"WEFT_GDA_DEPTH"},
     .value = {"16"},
     .status = WEFT_OK,
     .says = ""},
    {.name = "a stall",
     .kernel = &flooding,
     .rounds = 20,
     .hold_ns = 2500000000,
     .differs = true,
     .variable = {"WEFT_GDA_DEPTH"},
     .value = {"16"},
     .status = WEFT_OK,
     .says = "for room in its queue to process 1"},
    {.name = "only one process has queues",
     .kernel = &exchanging,
     .rounds = 1,
     .variable = {"WEFT_GDA"},
     .value = {"off"},
     .differs = true,
     .status = WEFT_ERR_CONFIG,
     .says = "WEFT_GDA must be the same everywhere",
     .path = "auto"},
    {.name = "queues of different forms",
     .kernel = &exchanging,
     .rounds = ROUNDS,
     .variable = {"WEFT_GDA_DEPTH"},
     .value = {"16"},
     .differs = true,
     .status = WEFT_OK,
     .says = ""},
    {.name = "a path by queues without queues",
     .kernel = &exchanging,
     .rounds = 1,
     .variable = {"WEFT_GDA"},
     .value = {"off"},
     .status = WEFT_ERR_CONFIG,
     .says = "WEFT_PATH=queue needs WEFT_GDA=softnic"},
    {.name = "a depth that is no power of two",
     .kernel = &exchanging,
     .rounds = 1,
     .variable = {"WEFT_GDA_DEPTH"},
     .value = {"100"},
     .status = WEFT_ERR_CONFIG,
     .says = "WEFT_GDA_DEPTH=100: not a power of two"},
};

static const struct faults *faults;

/* ---- what goes wrong in the NIC: by the progress task ---------------------------------------- */

enum { AT = 100 };
static bool goes_wrong; /* in this process */
static const struct weft_softnic_wire *wire;
static uint64_t begun, since;

static bool begin_wrong(struct weft_softnic_queue *queue, struct weft_softnic_work *work)
{
    if (since == 0)
        since = weft_now_ns();
    if (weft_now_ns() - since < faults->hold_ns)
        return false;
    if (faults->syndrome == 0 || begun != AT) {
        const bool did = wire->begin(queue, work);
        begun += did;
        return did;
    }
    begun++;
    weft_softnic_finish(work, faults->syndrome);
    return true;
}

static bool proceed(struct weft_softnic_queue *queue)
{
    return wire->proceed(queue);
}

static const struct weft_softnic_wire wrong_wire = {.begin = begin_wrong, .proceed = proceed};

bool __real_weft_softnic_round(struct weft_softnic_queue *queue);
bool __wrap_weft_softnic_round(struct weft_softnic_queue *queue);
bool __wrap_weft_softnic_round(struct weft_softnic_queue *queue)
{
    if (goes_wrong && queue->process == 1 && queue->wire != &wrong_wire) {
        wire = queue->wire;
        queue->wire = &wrong_wire;
    }
    return __real_weft_softnic_round(queue);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int body(int process)
{
    struct data data = {.rounds = faults->rounds};
    weft_job *job;

    goes_wrong = process == 0 && (faults->syndrome != 0 || faults->hold_ns != 0);
    for (int i = 0; i < 2 && faults->variable[i] != NULL; i++)
        if (process == 0 || !faults->differs)
            setenv(faults->variable[i], faults->value[i], 1);
    weft_status status = weft_open(&job, NULL, NULL);
    if (status != WEFT_OK) {
        fault_add(FAULT_WORD_READY);
        return (int)status;
    }
    data.memory = weft_malloc(job, RANKS * BYTES);
    data.source = weft_malloc(job, RANKS * BYTES);
    status = weft_prepare(job, faults->kernel, 1, RANKS);
    fault_add(FAULT_WORD_READY);
    if (status == WEFT_OK)
        status = weft_run(job, &data, sizeof(data), NULL);
    if (status == WEFT_OK && data.wrong[0] + data.wrong[1] != 0)
        status = WEFT_ERR_DEVICE;
    weft_close(job);
    return (int)status;
}

/* kill: process 1 dies while its ranks exchange. */
static int run_faults(const struct faults *now, bool kill)
{
    static struct fault_job job;
    int failures = 0;
    bool said = false;

    setenv("WEFT_PATH", now->path != NULL ? now->path : "queue", 1);
    fflush(stdout);
    faults = now;
    fault_start(&job, PROCESSES, body);
    fault_await(&job);
    if (kill)
        fault_kill(&job, 1, 0.3);
    const bool ended = fault_wait(&job, FAULT_HANG_S);
    for (int p = 0; p < PROCESSES; p++) {
        said |= strstr(job.text[p], now->says) != NULL;
        failures += job.status[p] != (int)now->status && !(kill && p == 1);
        failures += job.ended[p] - job.ready > 10 * fault_scale();
    }
    failures += !said;
    failures += !ended;
    if (failures != 0)
        printf("FAILED %s: status %d, %d; they said:\n%s%s", now->name, job.status[0],
               job.status[1], job.text[0], job.text[1]);
    else
        printf("%s: right\n", now->name);
    return failures;
}

int main(void)
{
    const struct faults killed = {.name = "a process is killed",
                                  .kernel = &exchanging,
                                  .status = WEFT_ERR_PEER_LOST,
                                  .says = "process 1"};
    int failures = 0;

    setenv("WEFT_DEVICE", "cpu", 1);
    setenv("WEFT_GDA", "softnic", 1);
    setenv("WEFT_STALL_S", "1", 1);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        failures += run_faults(&table[i], false);
    failures += run_faults(&killed, true);
    return failures != 0;
}
