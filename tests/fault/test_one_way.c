/*
 * fault/test_one_way.c - process 0 maps the memory of process 1, which cannot map that of process
 * 0: notifications, barriers and messages get through in both directions. And processes that were
 * told to take different paths do not begin.
 *
 * The linker gives this program the library's calls of weft_share_map (--wrap).
 */
#include "base/share.h"
#include "support/fault_job.h"
#include "weft/device.h"
#include "weft/message.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 2, BLIND = 1, RANKS = 2, ROUNDS = 50, COUNTERS = 4 << 20, WRONG = 99 };
enum { MESSAGES = 3000, LONGEST = 1 << 17 };

struct data {
    uint64_t *memory; /* two words a rank */
    int wrong;
};

static int here; /* this process */

void *__real_weft_share_map(const struct weft_share *share, bool one_address_space,
                            const char **reason);
void *__wrap_weft_share_map(const struct weft_share *share, bool one_address_space,
                            const char **reason);

/* The counters are the large memory that is mapped; the rings of the network are small. */
void *__wrap_weft_share_map(const struct weft_share *share, bool one_address_space,
                            const char **reason)
{
    if (here != BLIND || share->bytes < COUNTERS)
        return __real_weft_share_map(share, one_address_space, reason);
    *reason = "it is blind";
    return NULL;
}

WEFT_KERNEL(talking, struct data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    uint64_t *mine = data->memory + 2 * weft_rank(self, WEFT_COMM_DEVICE);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, mine, 2 * sizeof(*mine));

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        mine[1] = round;
        weft_put_notify(self, win, (me + 1) % n, 0, &mine[1], sizeof(uint64_t), 1);
        weft_wait(self, 1, 1);
        if (mine[0] != round)
            data->wrong = 1;
        weft_notify(self, WEFT_COMM_WORLD, (me + n - 1) % n, 2);
        weft_wait(self, 2, 1);
        weft_flush_local(self, win);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    weft_win_free(self, &win);
}

/*
 * Messages of all ways, in both directions at once, and so many that each has to hear what the
 * other has read.
 */
static weft_status exchange_messages(weft_job *job, int process)
{
    static const size_t sizes[] = {0, 8, 5000, LONGEST, 300};
    static unsigned char out[LONGEST], in[LONGEST];
    weft_status status = WEFT_OK;

    for (int i = 0; i < MESSAGES && status == WEFT_OK; i++) {
        const size_t bytes = sizes[i % (int)(sizeof(sizes) / sizeof(sizes[0]))];
        weft_message_op op;
        memset(out, i + process, bytes);
        status = weft_host_receive_begin(job, WEFT_COMM_HOST, 1 - process, i, in, bytes, &op);
        if (status == WEFT_OK)
            status = weft_host_send(job, WEFT_COMM_HOST, 1 - process, i, out, bytes);
        if (status == WEFT_OK)
            status = weft_host_message_wait(job, &op, NULL);
        for (size_t b = 0; b < bytes && status == WEFT_OK; b++)
            status = in[b] == (unsigned char)(i + 1 - process) ? WEFT_OK : WEFT_ERR_BOUNDS;
    }
    return status;
}

static int one_way(int process)
{
    struct data data = {0};
    weft_job *job;

    here = process;
    weft_status status = weft_open(&job, NULL, NULL);
    if (status != WEFT_OK)
        return (int)status;
    data.memory = weft_malloc(job, RANKS * 2 * sizeof(uint64_t));
    status = weft_prepare(job, &talking, 1, RANKS);
    if (status == WEFT_OK)
        status = weft_run(job, &data, sizeof(data), NULL);
    if (status == WEFT_OK)
        status = weft_host_barrier(job);
    if (status == WEFT_OK)
        status = exchange_messages(job, process);
    weft_close(job);
    return data.wrong ? WRONG : (int)status;
}

static int told_differently(int process)
{
    weft_job *job;

    setenv("WEFT_PATH", process == 0 ? "auto" : "proxy", 1);
    weft_status status = weft_open(&job, NULL, NULL);
    if (status == WEFT_OK)
        weft_close(job);
    return (int)status;
}

static bool expect(const char *name, int (*body)(int process), weft_status status,
                   const char *blind_says)
{
    static struct fault_job job;

    fault_start(&job, PROCESSES, body);
    bool good = fault_wait(&job, FAULT_HANG_S) && strstr(job.text[BLIND], blind_says) != NULL;
    for (int p = 0; p < PROCESSES; p++)
        good = good && job.status[p] == (int)status;
    for (int p = 0; p < PROCESSES && !good; p++)
        printf("FAILED: %s: process %d ended with %d; it said:\n%s\n", name, p, job.status[p],
               job.text[p]);
    return good;
}

int main(void)
{
    setbuf(stdout, NULL);
    setenv("WEFT_TIMEOUT_S", "120", 1);
    setenv("WEFT_LOG", "info", 1);
    const bool one = expect("one way", one_way, WEFT_OK, "through the host over shm (it is blind)");
    const bool two = expect("told differently", told_differently, WEFT_ERR_CONFIG,
                            "WEFT_PATH must be the same everywhere: auto in process 0, proxy here");

    printf("%s\n", one && two ? "all good" : "FAILED");
    return !(one && two);
}
