/* litmus/run.c - the table of litmus programs, and running one of them on one random schedule. */
#include "litmus.h"

#include "kernels.h"
#include "messages.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 2, RANKS = 2, LITMUS_WARPS = 33 }; /* two warps */

const struct litmus litmus_table[] = {
    {"near", &litmus_near, "auto", "default", "put_notify inside a process", NULL, 0},
    {"far", &litmus_far, "direct", "default", "put_notify to a mapped process", NULL, 0},
    {"far-proxy", &litmus_far, "proxy", "default", "put_notify through the host", NULL, 0},
    {"mixed", &litmus_mixed, "auto", "default", "both paths between the same ranks", NULL, 0},
    {"reuse", &litmus_reuse, "proxy", "default", "a source reused after flush_local", NULL, 0},
    {"reuse-direct", &litmus_reuse, "direct", "default", "the same, mapped", NULL, 0},
    {"fence", &litmus_fence, "direct", "default", "data, fence, polled flag", NULL, 0},
    {"fence-proxy", &litmus_fence, "proxy", "default", "the same through the host", NULL, 0},
    {"flush", &litmus_flush, "direct", "default", "data, flush, polled flag, mapped", NULL, 0},
    {"flush-proxy", &litmus_flush, "proxy", "default", "data, flush, polled flag", NULL, 0},
    {"third", &litmus_third, "auto", "default", "data, flush, a third rank is told", NULL, 0},
    {"third-proxy", &litmus_third, "proxy", "default", "the same through the host", NULL, 0},
    {"windows", &litmus_windows, "auto", "default", "windows and communicators come and go", NULL,
     0},
    {"flood", &litmus_flood, "proxy", "small", "full rings in both directions", NULL, 0},
    {"far-eager", &litmus_far, "direct", "eager", "put_notify through a channel", NULL, 0},
    {"mixed-eager", &litmus_mixed, "auto", "eager", "channels, direct puts and the host", NULL, 0},
    {"fence-eager", &litmus_fence, "direct", "eager", "data in a channel, fence, polled flag", NULL,
     0},
    {"flush-eager", &litmus_flush, "direct", "eager", "data in a channel, flush, polled flag", NULL,
     0},
    {"over-eager", &litmus_over, "direct", "eager", "a direct put over one in a channel", NULL, 0},
    {"barrier", &litmus_barrier, "auto", "default", "barriers of mapped processes", NULL, 0},
    {"get", &litmus_get, "direct", "default", "gets of what was put, mapped", NULL, 0},
    {"get-proxy", &litmus_get, "proxy", "default", "the same, asked of the owner", NULL, 0},
    {"get-eager", &litmus_get, "direct", "eager", "the same, beside channels", NULL, 0},
    {"update", &litmus_update, "direct", "default", "data, an update, seen by another, mapped",
     NULL, 0},
    {"update-proxy", &litmus_update, "proxy", "default", "the same, asked of the owner", NULL, 0},
    {"tickets", &litmus_tickets, "proxy", "default", "more updates than there are places", NULL, 0},
    {"barrier-proxy", &litmus_barrier, "proxy", "default", "barriers through the host", NULL, 0},
    {"messages", NULL, "direct", "small", "messages by memory, full rings", litmus_messages, 0},
    {"near-ring", NULL, "direct", "default", "messages that fill the near ring of payload",
     litmus_near_ring, 0},
    {"messages-proxy", NULL, "proxy", "small", "the same over a network", litmus_messages, 0},
    {"shared", NULL, "direct", "default", "small collectives by shared memory", litmus_shared, 0},
    {"ccl-words", NULL, "direct", "words", "collectives of devices, by words", litmus_ccl, 0},
    {"ccl-pieces", NULL, "direct", "pieces", "the same, by pieces", litmus_ccl, 0},
    {"ccl-experts", NULL, "direct", "words", "a mixture of experts", litmus_experts, 0},
    {"tasks", NULL, "direct", "small", "tasks that both processes run", litmus_tasks, 0},
    {"recorded", NULL, "direct", "small", "recorded tasks, each after the one before",
     litmus_recorded, 0},
    {"near-queue", &litmus_near, "queue", "default", "put_notify by a queue, in a process", NULL,
     0},
    {"far-queue", &litmus_far, "queue", "default", "the same to another process", NULL, 0},
    {"mixed-queue", &litmus_mixed, "auto", "queues", "direct puts, and queues", NULL, 0},
    {"reuse-queue", &litmus_reuse, "queue", "default", "a source reused after flush_local", NULL,
     0},
    {"flush-queue", &litmus_flush, "queue", "default", "data, flush, polled flag", NULL, 0},
    {"third-queue", &litmus_third, "queue", "default", "data, flush, a third rank is told", NULL,
     0},
    {"flood-queue", &litmus_flood, "queue", "small", "queues that are full", NULL, 0},
    {"barrier-queue", &litmus_barrier, "queue", "default", "flush, and barriers", NULL, 0},
    {"get-queue", &litmus_get, "queue", "default", "gets of what was put", NULL, 0},
    {"update-queue", &litmus_update, "queue", "default", "data, an atomic, seen by another", NULL,
     0},
    {"tickets-queue", &litmus_tickets, "queue", "small", "more atomics than slots", NULL, 0},
    {"far-shared", &litmus_far, "queue", "one", "put_notify by a queue that ranks share", NULL, 0},
    {"flush-shared", &litmus_flush, "queue", "one", "data, flush, polled flag", NULL, 0},
    {"flood-shared", &litmus_flood, "queue", "one small", "a shared queue that is full", NULL, 0},
    {"get-shared", &litmus_get, "queue", "one", "gets of what was put", NULL, 0},
    {"tickets-shared", &litmus_tickets, "queue", "one small", "more atomics than slots", NULL, 0},
    {"heap", &litmus_heap, "auto", "default", "a block of the heap, by one rank after another",
     NULL, 0},
    {"chain-eager", &litmus_chain, "direct", "eager", "a source overwritten by who heard of it",
     NULL, 0},
    {"chain-proxy", &litmus_chain, "proxy", "default", "the same, in a command", NULL, 0},
    {"chain-queue", &litmus_chain, "queue", "default", "the same, in a request", NULL, 0},
    {"answer-eager", &litmus_answer, "direct", "eager", "data overwritten after an answer", NULL,
     0},
    {"warps", &litmus_warps, "direct", "default", "puts, notifications and gets by warps", NULL, 0},
    {"warps-proxy", &litmus_warps, "proxy", "default", "the same through the host", NULL, 0},
    {"warps-eager", &litmus_warps, "direct", "eager", "the same through channels", NULL, 0},
};
const int litmus_count = sizeof(litmus_table) / sizeof(litmus_table[0]);

const struct litmus litmus_wrong[] = {
    {"chain-early", &litmus_chain, "direct", "eager", "the source is overwritten at once", NULL,
     WRONG_EARLY},
    {"chain-early-proxy", &litmus_chain, "proxy", "default", "the same, in a command", NULL,
     WRONG_EARLY},
    {"chain-early-queue", &litmus_chain, "queue", "default", "the same, in a request", NULL,
     WRONG_EARLY},
    {"chain-other", &litmus_chain, "direct", "eager", "another said so", NULL, WRONG_OTHER},
    {"chain-large", &litmus_chain, "direct", "eager", "the same beside a channel", NULL,
     WRONG_LARGE},
    {"answer-late", &litmus_answer, "direct", "eager", "read after the answer", NULL, WRONG_LATE},
    {"warps-apart", &litmus_warps, "direct", "default", "one warp tells of another's put", NULL,
     WRONG_WARP},
    {"warps-apart-near", &litmus_warps, "auto", "default", "the same, also in a process", NULL,
     WRONG_WARP_NEAR},
};
const int litmus_wrong_count = sizeof(litmus_wrong) / sizeof(litmus_wrong[0]);

/* The kernel, once. Non-zero: it failed. */
static int run_kernel(const struct litmus *litmus, weft_job *job, struct litmus_data *data)
{
    const int threads = litmus->kernel == &litmus_warps ? LITMUS_WARPS : 1;
    int failed = 1;

    data->wrong = litmus->wrong;
    data->mapped = weft_malloc(job, RANKS * LITMUS_EACH);
    data->plain = calloc(RANKS, LITMUS_EACH);
    data->sources = calloc(RANKS, LITMUS_EACH);
    if (data->mapped != NULL && data->plain != NULL && data->sources != NULL &&
        weft_register(job, data->plain, RANKS * LITMUS_EACH) == WEFT_OK &&
        weft_prepare(job, litmus->kernel, threads, RANKS) == WEFT_OK &&
        weft_run(job, data, sizeof(*data), NULL) == WEFT_OK)
        failed = data->check.failed != 0 || data->check.done != RANKS;
    if (data->check.failed != 0)
        fprintf(stderr, "litmus %s: rank %d, line %d: %lld instead of %lld\n", litmus->name,
                data->check.rank, data->check.line, (long long)data->check.got,
                (long long)data->check.want);
    return failed;
}

/* One process of the job. */
static int process_main(void *argument)
{
    const struct litmus *litmus = argument;
    struct litmus_data data = {0};
    weft_job *job;

    if (weft_open(&job, NULL, NULL) != WEFT_OK)
        return 1;
    const bool heap = litmus->kernel == &litmus_heap;
    if (heap && weft_pgas_open(job) == WEFT_OK)
        data.space = weft_pgas_space(job);
    int failed = litmus->kernel != NULL ? run_kernel(litmus, job, &data) : litmus->host(job);
    if (heap && weft_pgas_close(job) != WEFT_OK)
        failed = 1;
    if (weft_close(job) != WEFT_OK)
        failed = 1;
    free(data.plain);
    free(data.sources);
    return failed;
}

/* Sends stderr to /dev/null; returns where it was. */
static int silence(void)
{
    const int kept = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, STDERR_FILENO);
    close(null);
    return kept;
}

int litmus_run(const struct litmus *litmus, uint64_t seed, const char *mutate, int quiet)
{
    char schedule[40];
    const int small = strstr(litmus->rings, "small") != NULL;

    snprintf(schedule, sizeof(schedule), "random:%" PRIu64, seed);
    setenv("WEFT_CPU_SCHEDULE", schedule, 1);
    setenv("WEFT_PATH", litmus->path, 1);
    setenv("WEFT_CPU_THREADS", litmus->kernel == &litmus_warps ? "33" : "1", 1);
    setenv("WEFT_MUTATE", mutate, 1);
    setenv("WEFT_COMMAND_RING", small ? "32" : "64", 1);
    setenv("WEFT_SHM_RING", small ? "4096" : "16384", 1);
    setenv("WEFT_EAGER", litmus->rings[0] == 'e' ? "1024" : "0", 1);
    setenv("WEFT_EAGER_AFTER", "1", 1);
    setenv("WEFT_MSG_RING", small ? "512" : "16384", 1);
    setenv("WEFT_HEAP", "4096", 1); /* LITMUS_HEAP */
    setenv("WEFT_GDA", litmus->path[0] == 'q' || litmus->rings[0] == 'q' ? "softnic" : "off", 1);
    setenv("WEFT_GDA_QUEUES", litmus->rings[0] == 'o' ? "1" : "0", 1);
    setenv("WEFT_GDA_DEPTH", small ? "16" : "64", 1);
    setenv("WEFT_CCL_WORDS", litmus->rings[0] == 'p' ? "0" : "8192", 1);
    setenv("WEFT_CCL_PIECE", litmus->rings[0] == 'p' ? "256" : "32768", 1);

    const int kept = quiet ? silence() : -1;
    const int result = weft_local_job(PROCESSES, process_main, (void *)(uintptr_t)litmus);
    if (quiet) {
        dup2(kept, STDERR_FILENO);
        close(kept);
    }
    return result;
}
