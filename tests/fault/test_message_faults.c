/*
 * fault/test_message_faults.c - messages that do not come, do not fit, or are left: who waits for
 * what is said, bad input is an error with its numbers, a lost process ends the others' waits, and
 * what nobody asks for takes bounded memory.
 */
#include "support/fault_job.h"
#include "weft/message.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__ /* it puts a zone around each of them */
enum { MANY_MIB = 256 };
#else
enum { MANY_MIB = 128 };
#endif
enum { MANY = 1 << 20, LARGE = 8 << 20 };

#define CHECK(condition)                                                                           \
    do                                                                                             \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "FAILED %s:%d: %s\n", __FILE__, __LINE__, #condition);                 \
            return 100;                                                                            \
        }                                                                                          \
    while (0)

static weft_job *open_job(void)
{
    weft_job *job;

    if (weft_open(&job, NULL, NULL) != WEFT_OK)
        exit(101);
    return job;
}

/* ---- waits that last ------------------------------------------------------------------------- */

/* Process 0 sends tag 6, process 1 waits for tag 7. */
static int wrong_tag(int process)
{
    weft_job *job = open_job();
    uint64_t word = 1;
    weft_status status;

    if (process == 0) {
        CHECK(weft_host_send(job, WEFT_COMM_HOST, 1, 6, &word, sizeof(word)) == WEFT_OK);
        status = weft_host_probe_wait(job, WEFT_COMM_HOST, WEFT_ANY, WEFT_ANY, NULL);
    } else {
        status = weft_host_receive(job, WEFT_COMM_HOST, 0, 7, &word, sizeof(word), NULL);
    }
    weft_close(job);
    return (int)status;
}

/* Process 0 offers what process 1 never receives. */
static int never_received(int process)
{
    weft_job *job = open_job();
    static char large[LARGE];

    const weft_status status =
        process == 0 ? weft_host_send(job, WEFT_COMM_HOST, 1, 3, large, LARGE)
                     : weft_host_receive(job, WEFT_COMM_HOST, WEFT_ANY, 4, NULL, 0, NULL);
    weft_close(job);
    return (int)status;
}

/* ---- a process is lost ----------------------------------------------------------------------- */

/* Process 0 ends by a signal when the others wait for it, or it for them. */
static int lost(int process)
{
    weft_job *job = open_job();
    char *large = calloc(1, LARGE);
    weft_message_op ops[2];

    CHECK(large != NULL);
    if (process == 0) {
        CHECK(weft_host_send_begin(job, WEFT_COMM_HOST, 1, 1, large, LARGE, &ops[0]) == WEFT_OK);
        for (int other = 1; other <= 2; other++) /* both have opened the job */
            CHECK(weft_host_receive(job, WEFT_COMM_HOST, other, 2, NULL, 0, NULL) == WEFT_OK);
        raise(SIGKILL);
    }
    if (process == 1) {
        CHECK(weft_host_receive_begin(job, WEFT_COMM_HOST, WEFT_ANY, 9, large, LARGE, &ops[0]) ==
              WEFT_OK);
        CHECK(weft_host_send_begin(job, WEFT_COMM_HOST, 0, 5, large, LARGE, &ops[1]) == WEFT_OK);
        CHECK(weft_host_send(job, WEFT_COMM_HOST, 0, 2, NULL, 0) == WEFT_OK);
        CHECK(weft_host_message_wait(job, &ops[0], NULL) == WEFT_ERR_PEER_LOST);
        CHECK(weft_host_message_wait(job, &ops[1], NULL) == WEFT_ERR_PEER_LOST);
    } else {
        CHECK(weft_host_send(job, WEFT_COMM_HOST, 0, 2, NULL, 0) == WEFT_OK);
        CHECK(weft_host_receive(job, WEFT_COMM_HOST, 0, 1, large, LARGE, NULL) ==
              WEFT_ERR_PEER_LOST);
    }
    const weft_status status = weft_close(job);
    free(large);
    return (int)status;
}

/* ---- what is wrong --------------------------------------------------------------------------- */

/* One that is too long: what fits is there, and the job goes on. To itself, then to another. */
static int too_long(int process)
{
    static const size_t sizes[] = {16, 5000, 200000};
    weft_job *job = open_job();
    unsigned char *out = calloc(1, 200000), in[8];
    weft_message message;
    weft_message_op op;

    CHECK(out != NULL);
    for (size_t i = 0; i < 3; i++) {
        memset(out, (int)i + 1, sizes[i]);
        memset(in, 0, sizeof(in));
        CHECK(weft_host_send_begin(job, WEFT_COMM_HOST, 1 - process, 3, out, sizes[i], &op) ==
              WEFT_OK);
        CHECK(weft_host_receive(job, WEFT_COMM_HOST, 1 - process, 3, in, sizeof(in), &message) ==
              WEFT_ERR_BOUNDS);
        CHECK(message.bytes == sizes[i] && message.status == WEFT_ERR_BOUNDS);
        CHECK(in[0] == i + 1 && in[7] == i + 1);
        CHECK(weft_host_message_wait(job, &op, NULL) == WEFT_OK);
    }
    CHECK(weft_close(job) == WEFT_ERR_BOUNDS);
    free(out);
    return 0;
}

static int bad_input(int process)
{
    weft_job *job = open_job();
    const int twice[] = {0, 1, 0}, others[] = {1 - process};
    weft_message_op op = {77, 1}, send, several[3] = {op};
    weft_comm group;
    char byte = 0;
    int done;

    CHECK(weft_host_send(job, WEFT_COMM_HOST, 2, 0, &byte, 1) == WEFT_ERR_RANK);
    CHECK(strstr(weft_error(NULL), "weft_host_send: process 2 is not one of 2") != NULL);
    CHECK(weft_host_send(job, WEFT_COMM_HOST, WEFT_ANY, 0, &byte, 1) == WEFT_ERR_RANK);
    CHECK(weft_host_send(job, WEFT_COMM_HOST, 0, WEFT_ANY, &byte, 1) == WEFT_ERR_TAG);
    CHECK(weft_host_send(job, WEFT_COMM_HOST, 0, -2, &byte, 1) == WEFT_ERR_TAG);
    CHECK(weft_host_send(job, WEFT_COMM_HOST, 0, 0, NULL, 1) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_send(job, WEFT_COMM_WORLD, 0, 0, &byte, 1) == WEFT_ERR_COMM);
    CHECK(weft_host_send(NULL, WEFT_COMM_HOST, 0, 0, &byte, 1) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_receive(job, (weft_comm)0x12345, 0, 0, &byte, 1, NULL) == WEFT_ERR_COMM);
    CHECK(weft_host_receive(job, WEFT_COMM_HOST, -2, 0, &byte, 1, NULL) == WEFT_ERR_RANK);
    CHECK(weft_host_receive(job, WEFT_COMM_HOST, 0, 0, NULL, 1, NULL) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_receive_begin(job, WEFT_COMM_HOST, 0, 0, &byte, 1, NULL) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_message_wait(job, &op, NULL) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_message_wait(job, NULL, NULL) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_message_test(job, &op, &done, NULL) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_receive_matched(job, &op, &byte, 1, NULL) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_probe(job, WEFT_COMM_HOST, 0, 0, NULL, NULL) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_send_synchronous_begin(job, WEFT_COMM_HOST, process, 0, NULL, 0, &send) ==
          WEFT_OK);
    CHECK(weft_host_message_cancel(job, &send, NULL) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_message_cancel(job, &op, &done) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_receive(job, WEFT_COMM_HOST, process, 0, NULL, 0, NULL) == WEFT_OK);
    several[1] = several[2] = send; /* what is none does not keep the others from their end */
    CHECK(weft_host_message_wait_all(job, several, 3, NULL) == WEFT_ERR_ARGUMENT);
    CHECK(several[1].index == 0 && several[1].generation == 0);
    CHECK(weft_host_message_wait(job, &send, NULL) == WEFT_ERR_ARGUMENT);
    CHECK(weft_host_send(job, WEFT_COMM_HOST, process, 0, &byte, 1) == WEFT_OK);
    CHECK(weft_host_probe_match(job, WEFT_COMM_HOST, process, 0, &done, &op, NULL) == WEFT_OK);
    CHECK(weft_host_message_wait_all(job, &op, 1, NULL) == WEFT_ERR_ARGUMENT); /* for no receive */
    CHECK(weft_host_receive_matched(job, &op, &byte, 1, NULL) == WEFT_OK);
    CHECK(weft_message_group_take(job, 65536, twice, 2, &group) == WEFT_ERR_ARGUMENT);
    CHECK(weft_message_group_take(job, 1, twice, 3, &group) == WEFT_ERR_ARGUMENT);
    CHECK(weft_message_group_take(job, 1, others, 1, &group) == WEFT_ERR_ARGUMENT);
    CHECK(weft_message_group_take(job, 1, twice, 2, &group) == WEFT_OK);
    CHECK(weft_message_group_take(job, 1, twice, 2, &group) == WEFT_ERR_STATE);
    CHECK(weft_host_send(job, group, process, 0, &byte, 1) == WEFT_OK);
    CHECK(weft_message_group_give(job, &group) == WEFT_ERR_STATE);
    CHECK(weft_host_receive(job, group, process, 0, &byte, 1, NULL) == WEFT_OK);
    CHECK(weft_message_group_give(job, &group) == WEFT_OK);
    CHECK(weft_message_group_give(job, &group) == WEFT_ERR_COMM);
    CHECK(weft_close(job) == WEFT_ERR_RANK);
    return 0;
}

static int leftovers(int process)
{
    weft_job *job = open_job();
    weft_message_op op;
    uint64_t word = 5;

    if (process == 0) {
        CHECK(weft_host_send(job, WEFT_COMM_HOST, 1, 6, &word, sizeof(word)) == WEFT_OK);
        CHECK(weft_host_send(job, WEFT_COMM_HOST, 1, 8, &word, 4) == WEFT_OK);
    } else {
        CHECK(weft_host_receive_begin(job, WEFT_COMM_HOST, 0, 7, &word, sizeof(word), &op) ==
              WEFT_OK);
        CHECK(weft_host_probe_wait(job, WEFT_COMM_HOST, 0, 8, NULL) ==
              WEFT_OK); /* both are there */
    }
    CHECK(weft_close(job) == WEFT_OK);
    return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static long resident_mib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long all = 0, resident = 0;

    if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2)
        exit(102);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE) >> 20;
}

/* A million small messages before the first receive. */
static int unexpected(int process)
{
    weft_job *job = open_job();
    const long before = resident_mib();

    for (uint64_t i = 0; process == 0 && i < MANY; i++)
        CHECK(weft_host_send(job, WEFT_COMM_HOST, 1, (int)(i % 3), &i, sizeof(i)) == WEFT_OK);
    if (process == 1)
        CHECK(weft_host_probe_wait(job, WEFT_COMM_HOST, 0, 3, NULL) == WEFT_OK);
    else
        CHECK(weft_host_send(job, WEFT_COMM_HOST, 1, 3, NULL, 0) == WEFT_OK);
    const long grown = resident_mib() - before;
    fprintf(stderr, "%d unexpected messages: %ld MiB\n", MANY, grown);
    CHECK(grown <= MANY_MIB);
    for (uint64_t i = 0; process == 1 && i < MANY; i++) {
        uint64_t got = 0;
        CHECK(weft_host_receive(job, WEFT_COMM_HOST, 0, WEFT_ANY, &got, sizeof(got), NULL) ==
              WEFT_OK);
        CHECK(got == i);
    }
    CHECK(process == 0 || weft_host_receive(job, WEFT_COMM_HOST, 0, 3, NULL, 0, NULL) == WEFT_OK);
    CHECK(weft_close(job) == WEFT_OK);
    return 0;
}

/* More than may be kept: the sender goes on, and the last message is found behind all. */
static int poor(int process)
{
    enum { COUNT = 200, BYTES = 4000 };
    weft_job *job = open_job();
    static unsigned char out[COUNT][BYTES], in[BYTES];
    weft_message_op ops[COUNT];

    for (int i = 0; process == 0 && i < COUNT; i++) {
        memset(out[i], i, BYTES);
        CHECK(weft_host_send_begin(job, WEFT_COMM_HOST, 1, i, out[i], BYTES, &ops[i]) == WEFT_OK);
    }
    for (int i = COUNT; process == 1 && i-- > 0;) {
        CHECK(weft_host_receive(job, WEFT_COMM_HOST, 0, i, in, BYTES, NULL) == WEFT_OK);
        CHECK(in[0] == (i & 255) && in[BYTES - 1] == (i & 255));
    }
    if (process == 0)
        CHECK(weft_host_message_wait_all(job, ops, COUNT, NULL) == WEFT_OK);
    CHECK(weft_close(job) == WEFT_OK);
    return 0;
}

/* No other thread can send what only a process that has closed the job could. */
static int from_closed(int process)
{
    weft_job *job;
    int word;

    CHECK(weft_open_threads(&job, NULL, NULL, WEFT_THREAD_MULTIPLE) == WEFT_OK);
    if (process == 1)
        CHECK(weft_host_receive(job, WEFT_COMM_HOST, 0, 3, &word, sizeof(word), NULL) ==
              WEFT_ERR_MISMATCH);
    return (int)weft_close(job);
}

/* ---- the cases ------------------------------------------------------------------------------- */

struct fault {
    const char *name;
    int processes;
    int (*body)(int process);
    const char *settings[3]; /* names and values in turns */
    int status;              /* of those that are not killed */
    int says;                /* the process that says both: */
    const char *first, *second;
};

static const struct fault faults[] = {
    {"a wrong tag",
     2,
     wrong_tag,
     {"WEFT_TIMEOUT_S", "1"},
     WEFT_ERR_TIMEOUT,
     1,
     "host of process 1 has waited",
     "in weft_host_receive for a message from process 0 with tag 7: there from it, unmatched: tag "
     "6 (8 bytes)"},
    {"an offer",
     2,
     never_received,
     {"WEFT_TIMEOUT_S", "1"},
     WEFT_ERR_TIMEOUT,
     0,
     "host of process 0 has waited",
     "in weft_host_send for process 1 to receive 8388608 bytes with tag 3"},
    {"a lost process", 3, lost, {NULL}, WEFT_ERR_PEER_LOST, 1, "process 0", "was lost"},
    {"too long",
     2,
     too_long,
     {NULL},
     0,
     0,
     "16 bytes from process 1, tag 3, do not fit 8 bytes",
     "200000 bytes from process 1"},
    {"too long over a network",
     2,
     too_long,
     {"WEFT_PATH", "proxy"},
     0,
     0,
     "200000 bytes from process 1",
     "1 were put into their buffers"},
    {"bad input", 2, bad_input, {NULL}, 0, 0, "tag -2 is not in 0..2147483647", ""},
    {"leftovers",
     2,
     leftovers,
     {NULL},
     0,
     1,
     "2 messages were never received: tag 6 (8 bytes from process 0), tag 8 (4 bytes from process "
     "0)",
     "1 operation was never completed: weft_host_receive_begin for a message from process 0 with "
     "tag 7"},
    {"a million unexpected", 2, unexpected, {NULL}, 0, 1, "unexpected messages", ""},
    {"no room to keep",
     2,
     poor,
     {"WEFT_MSG_UNEXPECTED", "64K"},
     0,
     0,
     "messages to process 1 go without their bytes",
     "WEFT_MSG_UNEXPECTED"},
    {"one that has closed",
     2,
     from_closed,
     {NULL},
     WEFT_ERR_MISMATCH,
     1,
     "process 1 waits in weft_host_receive for a message from process 0 with tag 3",
     "1 of the 1 others have called weft_close"},
};

static int run(const struct fault *fault)
{
    static struct fault_job job;
    int wrong = 0;

    if (fault->settings[0] != NULL)
        fault_set(fault->settings[0], fault->settings[1]);
    fault_start(&job, fault->processes, fault->body);
    wrong |= !fault_wait(&job, FAULT_HANG_S);
    if (fault->settings[0] != NULL)
        unsetenv(fault->settings[0]);
    for (int p = 0; p < fault->processes; p++)
        wrong |= job.status[p] != fault->status && job.status[p] != 128 + SIGKILL;
    wrong |= strstr(job.text[fault->says], fault->first) == NULL ||
             strstr(job.text[fault->says], fault->second) == NULL;
    for (int p = 0; p < fault->processes && wrong; p++)
        printf("process %d: status %d; %s\n", p, job.status[p], job.text[p]);
    printf("%s %s\n", wrong ? "FAILED" : "passed", fault->name);
    return wrong;
}

int main(int argc, char **argv)
{
    int failed = 0;

    setbuf(stdout, NULL);
    setenv("WEFT_LOG", "info", 0);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (argc < 2 || strcmp(argv[1], faults[i].name) == 0)
            failed += run(&faults[i]);
    printf("%d cases failed\n", failed);
    return failed != 0;
}
