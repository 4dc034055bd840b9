/*
 * base/futex.c - what tasks sleep on, each a word or two over a futex: bells, which count events,
 * and locks.
 *
 * Why no wake-up of a bell is lost. R is the fence in ring, S the one in prepare; sequentially
 * consistent fences have one total order.
 *
 *     ringer                            sleeper
 *     change what is looked at          sleepers += 1
 *     R                                 ticket = rung
 *     if (sleepers > 0)                 S
 *         rung += 1, wake               look; if nothing: sleep if rung is still the ticket
 *
 * R before S: the look comes after the change and sees it. S before R: the ringer sees the sleeper
 * and adds to rung. If that addition came before the ticket was taken, the ticket read it, hence R
 * synchronises with S (release fence, read-from, acquire fence), and the look sees the change. If
 * it came after, the futex finds rung changed and does not sleep, or sleeps and is woken.
 *
 * A bell orders no data. So all accesses are relaxed, which also keeps ThreadSanitizer from taking
 * the bell for synchronisation that the labels should have given; it does not model the fences, and
 * the functions that hold one are left uninstrumented where it would refuse them.
 */
#include "base/say.h"
#include "base/task.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* An error that is not part of the protocol means a broken word: going on would spin for ever. */
static void broken(const char *call, const uint32_t *word)
{
    weft_say(WEFT_SAY_ERROR, "%s on word %p: %s", call, (const void *)word, strerror(errno));
    abort();
}

/*
 * Sleeps if *word is still `value`, until woken; may return early. shared: the word may lie in
 * memory that several processes map, at different addresses. timeout: NULL for none.
 */
static void futex_wait(uint32_t *word, uint32_t value, bool shared, const struct timespec *timeout)
{
    const int operation = shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE;

    if (syscall(SYS_futex, word, operation, value, timeout, NULL, 0) != 0 && errno != EAGAIN &&
        errno != EINTR && errno != ETIMEDOUT)
        broken("futex wait", word);
}

static void futex_wake(uint32_t *word, int sleepers, bool shared)
{
    const int operation = shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE;

    if (syscall(SYS_futex, word, operation, sleepers, NULL, NULL, 0) < 0)
        broken("futex wake", word);
}

static const uint64_t ROUND_NS = 3600000000000; /* of a futex wait without an end */

#if defined(__GNUC__) && !defined(__clang__)
#define NOT_FOR_TSAN __attribute__((no_sanitize("thread")))
#else
#define NOT_FOR_TSAN
#endif

NOT_FOR_TSAN uint32_t weft_bell_prepare(struct weft_bell *bell)
{
    if (weft_model != NULL)
        return 0;
    __atomic_fetch_add(&bell->sleepers, 1, __ATOMIC_RELAXED);
    const uint32_t ticket = __atomic_load_n(&bell->rung, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return ticket;
}

void weft_bell_cancel(struct weft_bell *bell)
{
    if (weft_model == NULL)
        __atomic_fetch_sub(&bell->sleepers, 1, __ATOMIC_RELAXED);
}

void weft_bell_sleep(struct weft_bell *bell, uint32_t ticket, uint64_t timeout_ns)
{
    const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                                     .tv_nsec = (long)(timeout_ns % 1000000000)};

    if (weft_model != NULL) {
        weft_model->yield(true);
        return;
    }
    futex_wait(&bell->rung, ticket, true, &timeout);
    __atomic_fetch_sub(&bell->sleepers, 1, __ATOMIC_RELAXED);
}

bool weft_bell_await(struct weft_bell *bell, const uint32_t *word, uint32_t least,
                     uint64_t deadline)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < least) {
        const uint64_t now = weft_now_ns();
        if (now >= deadline)
            return false;
        const uint32_t ticket = weft_bell_prepare(bell);
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) < least)
            weft_bell_sleep(bell, ticket, deadline - now < ROUND_NS ? deadline - now : ROUND_NS);
        else
            weft_bell_cancel(bell);
    }
    return true;
}

void weft_bell_wake(struct weft_bell *bell)
{
    __atomic_fetch_add(&bell->rung, 1, __ATOMIC_RELAXED);
    futex_wake(&bell->rung, INT_MAX, true);
}

NOT_FOR_TSAN void weft_bell_ring(struct weft_bell *bell)
{
    if (weft_model != NULL)
        return; /* a sleep there is a yield: nobody needs waking */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&bell->sleepers, __ATOMIC_RELAXED) != 0)
        weft_bell_wake(bell);
}

NOT_FOR_TSAN void weft_bell_ring_for(struct weft_bell *bell, const uint32_t *waiting)
{
    if (weft_model != NULL)
        return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(waiting, __ATOMIC_RELAXED) != 0)
        weft_bell_ring(bell);
}

/* Waits for the lock and takes it as 2, since others may still sleep: unlocking a 2 wakes one. */
void weft_lock_wait(struct weft_lock *lock)
{
    if (weft_model != NULL)
        while (!weft_model->try_lock(lock))
            weft_model->yield(true);
    else
        while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
            futex_wait(&lock->word, 2, false, NULL);
}

void weft_lock_pass(struct weft_lock *lock)
{
    if (weft_model != NULL)
        weft_model->unlock(lock);
    else
        futex_wake(&lock->word, 1, false);
}
