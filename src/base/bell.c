/*
 * base/bell.c - an event count on a futex.
 *
 * Why no wake-up is lost. R is the fence in ring, S the one in prepare; sequentially consistent
 * fences have one total order.
 *
 *     ringer                            sleeper
 *     change what is looked at          sleepers += 1
 *     R                                 ticket = rung
 *     if (sleepers > 0)                 S
 *         rung += 1, wake               look; if nothing: sleep if rung is still the ticket
 *
 * R before S: the look comes after the change and sees it. S before R: the ringer sees the sleeper
 * and adds to rung. If that addition came before the ticket was taken, the ticket read it, hence R
 * synchronises with S (release fence, read-from, acquire fence), and the look sees the change;
 * if it came after, the futex finds rung changed and does not sleep, or sleeps and is woken.
 *
 * A bell orders no data. So all accesses are relaxed, which also keeps ThreadSanitizer from taking
 * the bell for synchronisation that the labels should have given; it does not model the fences, and
 * the functions that hold one are left uninstrumented where it would refuse them.
 */
#include "base/futex.h"
#include "base/task.h"

static const uint64_t ROUND_NS = 3600000000000; /* of a wait without an end */

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
    weft_futex_wait(&bell->rung, ticket, true, &timeout);
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
    weft_futex_wake(&bell->rung, INT_MAX, true);
}

NOT_FOR_TSAN void weft_bell_ring(struct weft_bell *bell)
{
    if (weft_model != NULL)
        return; /* a sleep there is a yield: nobody needs waking */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&bell->sleepers, __ATOMIC_RELAXED) != 0)
        weft_bell_wake(bell);
}
