/*
 * rank/wait/warp.h - waiting for notifications by one warp of a rank: its first thread waits, and
 * acts for the rank only while it takes what has come.
 */
#ifndef WEFT_RANK_WAIT_WARP_H
#define WEFT_RANK_WAIT_WARP_H

#include "rank/warp.h"

/* Takes what channels have brought, if there are some. One thread of the warp, at every look. */
WEFT_INLINE void weft_warp_serve(weft_self *self)
{
#ifdef __CUDACC__
    const bool all = weft_warp_turn(self) % WEFT_LOOK_WAITS == 0;
#else
    const bool all = true;
#endif
    const bool some = *(const volatile uint32_t *)&self->ins != 0;

    if (self->eager_bytes == 0 || !(all || some) || !weft_alone_begin(self))
        return;
    if (all)
        weft_serve_now_and_then(self);
    else
        weft_serve(self);
    weft_alone_end(self);
}

#ifdef __CUDACC__
/* Sends what a batch holds back, before a warp comes again. One thread of the warp. */
WEFT_INLINE void weft_warp_send(weft_self *self)
{
    if (weft_has_queues(self) && *(const volatile uint32_t *)&self->unrung != 0 &&
        weft_alone_begin(self)) {
        weft_batch_send(self);
        weft_alone_end(self);
    }
}
#endif

/*
 * Consumes the notifications, if they are there; *have: how many are. Another warp may have taken
 * some that came after the look: then this is negative. One thread of the warp.
 */
WEFT_INLINE bool weft_warp_consume(weft_self *self, uint32_t tag, uint32_t count, uint32_t *have)
{
    volatile uint32_t *const consumed = &self->consumed[tag];

    weft_warp_serve(self);
    const bool nic = WEFT_QUEUES && (self->waits & ~WEFT_WAITS_TRACED) == WEFT_WAITS_BY_NIC;
    const uint32_t all = weft_count_read_with(self, weft_count_index(self->slot, tag), nic);
    *have = all - *consumed;
    if ((int32_t)(*have - count) < 0 || !weft_alone_begin(self))
        return false;
    *have = all - *consumed;
    const bool there = (int32_t)(*have - count) >= 0;
    if (there)
        *consumed += count;
    weft_alone_end(self);
    weft_polled();
    return there;
}

/* Makes a round of a wait that found nothing. False: the job failed. One thread of the warp. */
WEFT_INLINE bool weft_warp_round(weft_self *self, uint32_t *rounds, uint32_t tag, uint32_t have,
                                 uint32_t need)
{
#ifdef __CUDACC__
    if (++*rounds % WEFT_SERVE_ROUNDS == 0 && weft_alone_begin(self)) {
        weft_wait_long(self, *rounds, WEFT_WAIT_TAG, tag, have, need);
        weft_alone_end(self);
    }
    return !weft_has_stopped(self);
#else
    if (!weft_warp_pass(self, true))
        return weft_wait_round(self, rounds, WEFT_WAIT_TAG, tag, have, need);
    ++*rounds;
    weft_tell(self, WEFT_WAIT_TAG, tag, have, need);
    weft_check_stop(self);
    return true;
#endif
}

WEFT_FN void weft_wait_warp(weft_self *self, int tag, uint32_t count)
{
    WEFT_TOGETHER_LANES(WEFT_WARP_THREADS, self, weft_wait_warp(self, tag, count), tag, count)
    weft_check_tag(self, tag, "weft_wait_warp");
    weft_warp_meet(self);
    if (weft_lane() == 0) {
        uint32_t rounds = 0, have = 0;
        while (!weft_warp_consume(self, (uint32_t)tag, count, &have) &&
               weft_warp_round(self, &rounds, (uint32_t)tag, have, count))
            continue;
        if (rounds != 0 && weft_alone_begin(self)) {
            weft_wait_over(self, rounds);
            weft_alone_end(self);
        }
    }
    weft_warp_meet(self);
}

WEFT_FN int weft_test_warp(weft_self *self, int tag, uint32_t count)
{
    WEFT_TOGETHER_LANES_FOR(int, WEFT_WARP_THREADS, self, weft_test_warp(self, tag, count), tag,
                            count)
    weft_check_tag(self, tag, "weft_test_warp");
    weft_warp_meet(self);
    uint32_t have = 0;
    bool there = weft_lane() == 0 && weft_warp_consume(self, (uint32_t)tag, count, &have);
#ifdef __CUDACC__
    if (!there && weft_lane() == 0)
        weft_warp_send(self);
    there = __any_sync(~0u, there) != 0;
#else
    if (there)
        weft_port_waited(&self->port);
    else if (!weft_warp_pass(self, false))
        weft_port_poll(&self->port); /* loops around it must let others run */
#endif
    weft_warp_meet(self);
    return there;
}

#endif
