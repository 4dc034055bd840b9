/*
 * base/task.h - the host's threads, as tasks: a POSIX thread each, or, in random mode, a fiber of
 * the model's one thread. Also time, sleeping and waking.
 */
#ifndef WEFT_BASE_TASK_H
#define WEFT_BASE_TASK_H

#include "order/model.h"
#include "weft/types.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct weft_task {
    pthread_t thread;
    struct weft_model_task *model;
    void (*run)(void *);
    void *argument;
    void *local;
    char name[16];
};

/* Starts run(argument). *task stays in place until it is joined. Errors: SYSTEM. */
weft_status weft_task_start(struct weft_task *task, const char *name, void (*run)(void *),
                            void *argument);
void weft_task_join(struct weft_task *task);

/* Lets others run. idle: the caller found nothing to do since its last yield. */
void weft_task_yield(bool idle);

/* A pointer of the task's own; a started task inherits its starter's value. */
void **weft_task_local(void);

/* Monotonic nanoseconds; virtual in random mode. */
uint64_t weft_now_ns(void);

/*
 * A bell: sleepers wait on it, anyone rings it. Lives in private memory or in memory that
 * processes share (all zero is a valid bell). No wake-up is lost if the sleeper does
 *     ticket = weft_bell_prepare(bell); look again; then weft_bell_sleep or weft_bell_cancel
 * and the ringer changes what the sleeper looks at before it rings. A sleep also ends by itself
 * after timeout_ns, and may end early. A bell orders no data: that is the labels' task.
 */
struct weft_bell {
    uint32_t rung;     /* number of rings that woke sleepers; the futex word */
    uint32_t sleepers; /* tasks between prepare and the end of sleep or cancel */
};

uint32_t weft_bell_prepare(struct weft_bell *bell);
void weft_bell_cancel(struct weft_bell *bell);
void weft_bell_sleep(struct weft_bell *bell, uint32_t ticket, uint64_t timeout_ns);

/*
 * Sleeps until a word, which is stored before the bell rings, is at least that much; what was
 * written before it is there then. False: the deadline came first.
 */
bool weft_bell_await(struct weft_bell *bell, const uint32_t *word, uint32_t least,
                     uint64_t deadline);

/* The slow part of weft_bell_ring. */
void weft_bell_wake(struct weft_bell *bell);

/* Wakes all sleepers; a load and a fence when there are none. */
void weft_bell_ring(struct weft_bell *bell);
/* Rings only if the word, to which sleepers of one kind have added, is not 0. */
void weft_bell_ring_for(struct weft_bell *bell, const uint32_t *waiting);

/*
 * Rings without the fence: may miss a sleeper that lies down at this very moment. For changes that
 * are not worth a fence because the sleepers' timeout, a millisecond, bounds the damage.
 */
static inline __attribute__((always_inline)) void weft_bell_nudge(struct weft_bell *bell)
{
    if (weft_model == NULL &&
        __builtin_expect(__atomic_load_n(&bell->sleepers, __ATOMIC_RELAXED) != 0, 0))
        weft_bell_wake(bell);
}

/*
 * Rings right after an atomic add, which on x86 is a fence itself to the processor. To the compiler
 * it is a release only: it must not move the load of `sleepers` before it.
 */
static inline void weft_bell_ring_added(struct weft_bell *bell)
{
#if defined(__x86_64__)
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    weft_bell_nudge(bell);
#else
    weft_bell_ring(bell);
#endif
}

/*
 * Whether anybody sleeps: for a caller that wakes sleepers in another way. It is called right after
 * a ring, of any bell, which has the fence.
 */
static inline bool weft_bell_has_sleeper(const struct weft_bell *bell)
{
    return weft_model == NULL && __atomic_load_n(&bell->sleepers, __ATOMIC_RELAXED) != 0;
}

/* A lock for memory of one process; all zero is an unlocked lock. */
struct weft_lock {
    uint32_t word; /* 0 free, 1 held, 2 held and waited for */
};
/* Does not wait; not in random mode. */
static inline bool weft_lock_try(struct weft_lock *lock)
{
    uint32_t free = 0;

    return __atomic_compare_exchange_n(&lock->word, &free, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}
/* The slow parts of weft_lock and weft_unlock. */
void weft_lock_wait(struct weft_lock *lock);
void weft_lock_pass(struct weft_lock *lock);

static inline void weft_lock(struct weft_lock *lock)
{
    if (__builtin_expect(weft_model != NULL || !weft_lock_try(lock), 0))
        weft_lock_wait(lock);
}
static inline void weft_unlock(struct weft_lock *lock)
{
    if (__builtin_expect(
            weft_model != NULL || __atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2, 0))
        weft_lock_pass(lock);
}

#endif
