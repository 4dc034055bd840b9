/*
 * support/ccl_block.h - ccl/call.h for blocks of several threads without a rank, as GPUs have them,
 * played by threads of the host: some move data, the last ones tell and hear. In place of the CPU
 * device's block of one thread.
 */
#ifndef WEFT_TESTS_CCL_BLOCK_H
#define WEFT_TESTS_CCL_BLOCK_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { BLOCK_THREADS = 6, BLOCK_MOVERS = 4, WEFT_CCL_LANES = 2 /* threads of a warp */ };

struct block {
    pthread_barrier_t barrier;
    bool bad[2]; /* by turn: a thread has failed */
};

static __thread struct block *my_block;
static __thread uint32_t my_thread, my_turn;

static inline uint32_t weft_column_thread(void)
{
    return my_thread;
}

static inline uint32_t weft_column_threads(void)
{
    return BLOCK_THREADS;
}

static inline bool weft_column_all(bool good)
{
    bool *const bad = &my_block->bad[my_turn++ & 1];

    if (!good)
        __atomic_store_n(bad, true, __ATOMIC_RELAXED);
    pthread_barrier_wait(&my_block->barrier);
    return !__atomic_load_n(bad, __ATOMIC_RELAXED);
}

/* Rests in a wait: now and then it sleeps, and leaves its processor to who does something. */
static inline void weft_column_rest(void)
{
    enum { YIELDS = 7 };
    static __thread uint32_t rounds;

    if (++rounds % (YIELDS + 1) != 0)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

#define WEFT_CCL_BLOCK weft_column_rest
#include "ccl/call.h"

#endif
