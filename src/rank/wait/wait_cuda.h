/*
 * rank/wait/wait_cuda.h - waiting by the first warp of a rank, and serving its channels.
 */
#ifndef WEFT_RANK_WAIT_WAIT_CUDA_H
#define WEFT_RANK_WAIT_WAIT_CUDA_H

#include "rank/wait/take_cuda.h"
#include "rank/wait/wait.h"

enum { WEFT_LOOK_WAITS = 64, WEFT_GIVE_WAITS = 256 };

/* Now and then, by the leader, whether a wait lasts or not: others may depend on it. */
WEFT_COLD void weft_look_around(weft_self *self)
{
    weft_find_channels(self);
    if (self->looks % WEFT_GIVE_WAITS == 0)
        weft_give_all(self);
}

/* Looks for channels now and then. The leader. */
WEFT_INLINE void weft_look_for_channels(weft_self *self)
{
    if (WEFT_UNLIKELY(++self->looks % WEFT_LOOK_WAITS == 0))
        weft_look_around(self);
}

/* Makes a round of a wait that found nothing, now and then. False: the rank ends. */
WEFT_COLD bool weft_warp_round(weft_self *self, uint32_t rounds, uint32_t tag, uint32_t need)
{
    bool on = true;

    if (threadIdx.x == 0) {
        weft_find_channels(self);
        weft_give_all(self);
        if (rounds % WEFT_LOOK_ROUNDS == 0) {
            const uint32_t have = weft_count_read(self, weft_count_index(self->slot, tag));
            weft_tell(self, WEFT_WAIT_TAG, tag, have - self->consumed[tag], need);
            on = !weft_look_stop(self);
        }
    }
    __syncwarp();
    /* Each looks itself: the leader may have ended alone, in a call that was its alone. */
    return __all_sync(~0u, on && !weft_has_stopped(self));
}

/*
 * Waits by the leader alone, while there are no channels. If there are some before the
 * notifications are, the wait begins again.
 */
WEFT_INLINE void weft_wait_alone(weft_self *self, uint32_t tag, uint32_t need)
{
    const uint32_t index = weft_count_index(self->slot, tag);
    uint32_t rounds = 0;

    weft_look_for_channels(self);
    uint32_t have = weft_count_read(self, index) - self->consumed[tag];
    while (have < need && self->ins == 0 &&
           weft_wait_round(self, &rounds, WEFT_WAIT_TAG, tag, have, need))
        have = weft_count_read(self, index) - self->consumed[tag];
    weft_polled();
    weft_wait_over(self, rounds);
    if (WEFT_UNLIKELY(have < need))
        weft_tell_rank(self, WEFT_AGAIN); /* once a channel */
    else
        self->consumed[tag] += need;
}

/*
 * Blocks until `need` notifications of a tag are there, and consumes them, unless it tells the rank
 * to do it again. All of the first warp, which has 32 threads.
 */
WEFT_INLINE void weft_wait_by_warp(weft_self *self, uint32_t tag, uint32_t need)
{
    const struct weft_counter *counter = &self->counters[weft_count_index(self->slot, tag)];
    uint32_t rounds = 0, seen = 0;
    bool on = true;

    __syncwarp(); /* the leader may come from a call in which it has found a channel */
    const bool none = *(volatile uint32_t *)&self->ins == 0;
    __syncwarp(); /* all have looked */
    if (none) {
        if (threadIdx.x == 0)
            weft_wait_alone(self, tag, need);
        return;
    }
    if (threadIdx.x == 0)
        weft_look_for_channels(self);
    __syncwarp();
    while (on) {
        const struct weft_view view = weft_view_of(self);
        const struct weft_eye eye = weft_eye_at(self, counter, view);
        const uint32_t consumed = *(volatile uint32_t *)&self->consumed[tag];
        struct weft_ring_line line;
        enum weft_looked saw;
        if (view.deep <= WEFT_LOOK_LINES)
            saw = weft_look<0>(self, eye, view, tag, need, consumed, &line);
        else if (view.deep <= WEFT_LOOK_LINES + 32)
            saw = weft_look<1>(self, eye, view, tag, need, consumed, &line);
        else
            saw = weft_look<4>(self, eye, view, tag, need, consumed, &line);
        if (saw == WEFT_TOOK_WANTED) {
            if (threadIdx.x == 0)
                weft_wait_over(self, max(rounds, seen));
            return;
        }
        if (saw == WEFT_SAW_NOTHING) {
            rounds += WEFT_SERVE_ROUNDS;
            on = weft_warp_round(self, rounds, tag, need);
            continue;
        }
        const uint32_t have = __shfl_sync(~0u, weft_counter_sum(&line), WEFT_COUNTER_LANE);
        const unsigned there =
            __ballot_sync(~0u, weft_lap_there(line.word[0], line.word[1], eye.flag)) & view.heads;
        const struct weft_want want = {.tag = tag, .have = have, .need = need};
        if (have - consumed >= need) {
            /* A rank that never has to wait serves, too. */
            if (WEFT_UNLIKELY(there != 0 &&
                              *(volatile uint32_t *)&self->looks % WEFT_LOOK_WAITS == 0))
                weft_take_some(self, line, there, want);
            break;
        }
        if (there != 0) /* none: a head came between two loads of the look */
            weft_take_some(self, line, there, want);
        /* One decides for all: the leader changes `consumed` next. */
        if (__shfl_sync(~0u, have - *(volatile uint32_t *)&self->consumed[tag] >= need, 0))
            break;
        if (++seen % WEFT_LOOK_ROUNDS == 0) /* what is seen may never be complete */
            on = weft_warp_round(self, seen, tag, need);
    }
    weft_polled();
    __syncwarp(); /* all have read what changes now */
    if (threadIdx.x == 0) {
        weft_wait_over(self, max(rounds, seen));
        self->consumed[tag] += need;
        self->owes = 0;
    }
}

/* Takes all that is there, after the leader has looked at something. The first warp, or the leader
 * of a smaller rank. */
WEFT_INLINE void weft_serve_seen(weft_self *self)
{
    if (blockDim.x < 32) {
        if (threadIdx.x == 0) {
            weft_find_channels(self);
            weft_serve(self);
            if (++self->looks % WEFT_LOOK_WAITS == 0)
                weft_give_all(self);
        }
    } else if (threadIdx.x < 32) {
        __syncwarp(); /* what comes after the leader's look */
        if (threadIdx.x == 0)
            weft_look_for_channels(self);
        __syncwarp();
        const struct weft_want nothing = {.need = 0};
        bool some = true; /* a sender that has died in the middle of a message does not keep us */
        for (uint32_t n = 0; some && n < 2 * WEFT_RING_LINES; n++) {
            const struct weft_view view = weft_view_of(self);
            const struct weft_eye eye = weft_eye_at(self, self->counters, view);
            const struct weft_ring_line line = weft_lap_read(eye.line);
            const unsigned there =
                __ballot_sync(~0u, weft_lap_there(line.word[0], line.word[1], eye.flag));
            some = (there & view.heads) != 0;
            if (some)
                weft_take_some(self, line, there & view.heads, nothing);
        }
        weft_polled(); /* each lane, of what it has read */
    }
}

#endif
