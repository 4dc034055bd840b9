/*
 * fault/test_threads.c - mistakes that only several threads of a rank make, found on the CPU device
 * with WEFT_CPU_THREADS: each is named, and ends the job. And what is refused with one thread, too:
 * sources on the stack and in shared memory.
 */
#define WEFT_SHARED_BYTES 64
#include "support/expect.h"
#include "weft/coll.h"
#include "weft/warp.h"
#include "weft/weft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, THREADS = 64, N = 64, SEEDS = 20 };

enum fault {
    RIGHT,
    ONE_THREAD,
    EARLY_END,
    TAG_DIFFERS,
    TARGETS_DIFFER,
    ITEMS_DIFFER,
    ROOT_DIFFERS,
    LANES,
    OPERATION_DIFFERS,
    NO_SYNC,
    OWN_STACK,
    SHARED_SOURCE,
    SHARED_BYTES,
    FETCHED_TO_STACK,
    PART_OF_WARP,
    WARP_TAG_DIFFERS,
    WARP_RANK,
    WARPS_WAIT,
    THREAD_WORD,
    SUMMED_FROM_STACK
};

struct user {
    enum fault fault;
    double *memory; /* N for each rank */
    uint64_t wrong;
};

static void misbehave(weft_self *self, weft_win win, double *mine, const struct user *user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), thread = weft_thread(self);
    WEFT_SHARED(double, shared, 4);
    double local[4] = {1, 2, 3, 4};
    const int targets[2] = {me, thread == 2 ? 1 - me : me};
    const weft_put_item items[2] = {{mine, 8, 0, me, 1}, {mine, thread == 3 ? 16 : 8, 8, me, 1}};

    switch (user->fault) {
    case ONE_THREAD:
        if (thread == 0)
            weft_put(self, win, me, 0, mine, 8);
        break;
    case EARLY_END:
        break;
    case PART_OF_WARP:
        if (thread == 0)
            weft_put_warp(self, win, me, 0, mine, 8);
        break;
    case WARP_TAG_DIFFERS:
        weft_notify_warp(self, WEFT_COMM_WORLD, me, thread == 2 ? 7 : 5);
        break;
    case WARPS_WAIT:
        weft_wait_warp(self, 5, 1);
        break;
    case WARP_RANK:
        weft_get_warp(self, win, 9, 0, mine, 8);
        break;
    case THREAD_WORD:
        weft_swap_thread(self, win, me, 4, 1);
        break;
    case TAG_DIFFERS:
        weft_notify(self, WEFT_COMM_WORLD, me, thread == 2 ? 7 : 5);
        break;
    case TARGETS_DIFFER:
        weft_notify_many(self, WEFT_COMM_WORLD, targets, 2, 5);
        break;
    case ITEMS_DIFFER:
        weft_put_notify_many(self, win, items, 2);
        break;
    case ROOT_DIFFERS:
        weft_broadcast(self, WEFT_COMM_WORLD, thread == 1, mine, 1, WEFT_F64);
        break;
    case LANES:
        weft_lane_sum(self, 1, 3);
        break;
    case OPERATION_DIFFERS:
        weft_block_reduce(self, &local[0], WEFT_F64, thread == 2 ? WEFT_MAX : WEFT_MIN, NULL);
        break;
    case OWN_STACK:
        weft_put(self, win, me, 0, local, sizeof(local));
        break;
    case SHARED_SOURCE:
        weft_put(self, win, me, 0, shared, 8);
        break;
    case SHARED_BYTES:
        weft_put_notify(self, win, me, 0, weft_shared(self), 8, 1);
        break;
    case FETCHED_TO_STACK:
        weft_get(self, win, me, 0, local, sizeof(local));
        break;
    case SUMMED_FROM_STACK:
        weft_allreduce(self, WEFT_COMM_WORLD, local, mine, 1, WEFT_F64, WEFT_SUM);
        break;
    default:
        break;
    }
}

WEFT_KERNEL(faulty, struct user, user)
{
    double *mine = user->memory + weft_rank(self, WEFT_COMM_DEVICE) * N;

    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, mine, N * sizeof(*mine));
    weft_for (i, N)
        mine[i] = (double)i;
    if (user->fault != NO_SYNC)
        weft_sync(self);
    uint64_t wrong = 0;
    weft_for (i, N)
        wrong += mine[N - 1 - i] != (double)(N - 1 - i);
    wrong = (uint64_t)weft_block_sum(self, (double)wrong);
    if (weft_thread(self) == 0)
        __atomic_fetch_add(&user->wrong, wrong, __ATOMIC_RELAXED);
    weft_for (i, N) /* a thread's loop ends where it breaks */
        if (i >= N / 2)
            break;
    misbehave(self, win, mine, user);
    if (user->fault == EARLY_END && weft_thread(self) == 3)
        return;
    weft_win_free(self, &win);
}

/* Runs with the fault: the status, and what the error says; the elements that were wrong. */
static weft_status run(enum fault fault, char *text, size_t bytes, uint64_t *wrong)
{
    struct user user = {.fault = fault};
    weft_job *job;

    if (weft_open(&job, NULL, NULL) != WEFT_OK || weft_prepare(job, &faulty, 128, RANKS) != WEFT_OK)
        return WEFT_ERR_SYSTEM;
    user.memory = weft_malloc(job, RANKS * N * sizeof(double));
    const weft_status status = weft_run(job, &user, sizeof(user), NULL);
    snprintf(text, bytes, "%s", weft_error(job));
    *wrong = user.wrong;
    weft_close(job);
    return status;
}

static int names(enum fault fault, weft_status status, const char *words)
{
    char text[512];
    uint64_t wrong;

    EXPECT(run(fault, text, sizeof(text), &wrong) == status);
    if (strstr(text, words) == NULL)
        printf("fault %d: \"%s\" lacks \"%s\"\n", fault, text, words);
    EXPECT(strstr(text, words) != NULL);
    return 0;
}

static int all_named(void)
{
    return names(RIGHT, WEFT_OK, "") +
           names(ONE_THREAD, WEFT_ERR_MISMATCH,
                 "weft_put by thread 0, but weft_win_free by thread 1:") +
           names(EARLY_END, WEFT_ERR_MISMATCH,
                 "weft_win_free by thread 0, but weft_end by thread 3:") +
           names(TAG_DIFFERS, WEFT_ERR_MISMATCH,
                 "weft_notify: tag is 5 (0x5) for thread 0, but 7 (0x7) for thread 2") +
           names(TARGETS_DIFFER, WEFT_ERR_MISMATCH,
                 "weft_notify_many: thread 0 and thread 2 pass different lists, from element 1") +
           names(ITEMS_DIFFER, WEFT_ERR_MISMATCH,
                 "weft_put_notify_many: thread 0 and thread 3 pass different lists, from element "
                 "1") +
           names(ROOT_DIFFERS, WEFT_ERR_MISMATCH,
                 "weft_broadcast: root is 0 (0x0) for thread 0, but 1 (0x1) for thread 1") +
           names(LANES, WEFT_ERR_ARGUMENT, "weft_lane_sum: 3 lanes do not divide 4 threads") +
           names(OPERATION_DIFFERS, WEFT_ERR_MISMATCH, "weft_block_reduce: operation is 1") +
           names(OWN_STACK, WEFT_ERR_ARGUMENT, "weft_put: source is on each thread's own stack") +
           names(SHARED_SOURCE, WEFT_ERR_ARGUMENT, "is shared by the rank's threads, and no GPU") +
           names(SHARED_BYTES, WEFT_ERR_ARGUMENT, "is on the rank's stack, and no GPU") +
           names(FETCHED_TO_STACK, WEFT_ERR_ARGUMENT,
                 "weft_get: to is on each thread's own stack") +
           names(PART_OF_WARP, WEFT_ERR_MISMATCH,
                 "weft_put_warp by thread 0, but weft_win_free by thread") +
           names(WARP_TAG_DIFFERS, WEFT_ERR_MISMATCH,
                 "weft_notify_warp: tag is 5 (0x5) for thread 0, but 7 (0x7) for thread 2: the "
                 "threads of a warp pass the same") +
           names(WARP_RANK, WEFT_ERR_RANK, "weft_get_warp: target 9 is not one of the window's") +
           names(THREAD_WORD, WEFT_ERR_ARGUMENT, "weft_swap_thread: offset 4 of the window") +
           names(SUMMED_FROM_STACK, WEFT_ERR_ARGUMENT,
                 "weft_allreduce: source is on each thread's own stack");
}

/* A missing weft_sync: outside of random mode, and with most seeds. */
static int shows_no_sync(void)
{
    char text[512], schedule[32];
    uint64_t wrong;
    int shown = 0;

    EXPECT(run(NO_SYNC, text, sizeof(text), &wrong) == WEFT_OK);
    EXPECT(wrong != 0);
    for (int seed = 1; seed <= SEEDS; seed++) {
        snprintf(schedule, sizeof(schedule), "random:%d", seed);
        setenv("WEFT_CPU_SCHEDULE", schedule, 1);
        EXPECT(run(RIGHT, text, sizeof(text), &wrong) == WEFT_OK && wrong == 0);
        EXPECT(run(NO_SYNC, text, sizeof(text), &wrong) == WEFT_OK);
        shown += wrong != 0;
    }
    unsetenv("WEFT_CPU_SCHEDULE");
    printf("a missing weft_sync shows with %d of %d seeds\n", shown, SEEDS);
    EXPECT(shown > SEEDS / 2);
    return 0;
}

int main(void)
{
    setenv("WEFT_CPU_THREADS", "4", 1);
    int failures = all_named() + shows_no_sync();
    setenv("WEFT_CPU_SCHEDULE", "random:3", 1);
    failures += all_named();
    setenv("WEFT_CPU_THREADS", "64", 1);
    failures += names(WARPS_WAIT, WEFT_ERR_DEADLOCK, "in weft_wait for tag 5: has 0 of 1");
    unsetenv("WEFT_CPU_SCHEDULE");
    setenv("WEFT_CPU_THREADS", "1", 1);
    failures += names(OWN_STACK, WEFT_ERR_ARGUMENT, "is on the rank's stack, and no GPU") +
                names(SHARED_SOURCE, WEFT_ERR_ARGUMENT, "is on the rank's stack, and no GPU") +
                names(SHARED_BYTES, WEFT_ERR_ARGUMENT, "is on the rank's stack, and no GPU") +
                names(FETCHED_TO_STACK, WEFT_ERR_ARGUMENT, "weft_get: memory 0x") +
                names(SUMMED_FROM_STACK, WEFT_ERR_ARGUMENT, "weft_allreduce: memory 0x");
    return failures == 0 ? 0 : 1;
}
