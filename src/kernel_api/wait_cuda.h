/*
 * kernel_api/wait_cuda.h - waiting by the first warp of a rank, which looks at its counter and at
 * all of its eager channels in one load.
 *
 * Lanes 0 to 14 look at the next head of a channel each, lane 15 at the counter, and the others at
 * the lines that follow the head in the channel that brought the last message: a short message from
 * there is in the registers when it is seen.
 */
#ifndef WEFT_KERNEL_API_WAIT_CUDA_H
#define WEFT_KERNEL_API_WAIT_CUDA_H

#include "kernel_api/wait.h"

enum { WEFT_COUNTER_LANE = WEFT_CHANNELS_IN, WEFT_LOOK_WAITS = 64 };

static_assert(sizeof(struct weft_counter) == sizeof(struct weft_ring_line), "one load for both");

WEFT_INLINE struct weft_crew weft_crew_warp(void)
{
    struct weft_crew crew;
    crew.lane = threadIdx.x;
    crew.lanes = 32;
    return crew;
}

/* Now and then, by the leader, whether a wait lasts or not. */
WEFT_INLINE void weft_look_for_channels(weft_self *self)
{
    if (threadIdx.x == 0 && ++self->looks % WEFT_LOOK_WAITS == 0)
        weft_find_channels(self);
    __syncwarp();
}

/* What a lane has loaded: where it looked is up to the lane. */
struct weft_glance {
    struct weft_ring_line line;
    unsigned there; /* by lane: its line is of this lap */
};

WEFT_INLINE struct weft_glance weft_glance_at(weft_self *self, const void *counter, uint32_t ins,
                                              uint32_t hot)
{
    const unsigned lane = threadIdx.x;
    const bool head = lane<ins, rest = lane> WEFT_COUNTER_LANE && ins != 0;
    const void *from = counter;
    struct weft_glance glance;
    uint32_t flag = 0;

    if (head || rest) {
        const struct weft_in *in = &self->in[head ? lane : hot];
        const uint32_t position = in->tail + (head ? 0 : lane - WEFT_COUNTER_LANE);
        flag = weft_lap_flag(position);
        from = weft_lap_at(in, position);
    }
    glance.line = weft_lap_read((const struct weft_ring_line *)from);
    glance.there = __ballot_sync(
        ~0u, (head || rest) && weft_lap_there(glance.line.word[0], glance.line.word[1], flag));
    return glance;
}

/* The message whose lines the warp has in registers, if it is complete there. */
WEFT_INLINE bool weft_take_glanced(weft_self *self, const struct weft_glance *glance, uint32_t hot)
{
    const unsigned lane = threadIdx.x;
    const struct weft_head head = weft_head_of(__shfl_sync(~0u, glance->line.word[0], hot),
                                               __shfl_sync(~0u, glance->line.word[1], hot));
    const uint32_t lines = weft_message_lines(head.bytes);
    const unsigned rest = glance->there >> (WEFT_COUNTER_LANE + 1);

    if (lines > 32 - WEFT_COUNTER_LANE || (~rest & ((1u << (lines - 1)) - 1)) != 0)
        return false;
    if (lane == hot)
        weft_land_line(&head, 0, &glance->line);
    else if (lane > WEFT_COUNTER_LANE && lane - WEFT_COUNTER_LANE < lines)
        weft_land_line(&head, lane - WEFT_COUNTER_LANE, &glance->line);
    __syncwarp();
    if (lane == 0)
        weft_taken(self, &self->in[hot], &head);
    __syncwarp();
    return true;
}

/* Takes a message of each channel that has one. */
WEFT_INLINE void weft_take_some(weft_self *self, const struct weft_glance *glance, uint32_t ins,
                                uint32_t hot)
{
    unsigned heads = glance->there & ((1u << ins) - 1);

    if ((heads >> hot & 1) != 0 && weft_take_glanced(self, glance, hot))
        heads &= ~(1u << hot);
    for (; heads != 0; heads &= heads - 1) {
        const uint32_t i = (uint32_t)__ffs((int)heads) - 1;
        if (weft_take(self, weft_crew_warp(), &self->in[i]) && threadIdx.x == 0)
            self->hot = i;
    }
    __syncwarp();
}

/* One look at everything, and what follows from it: what the counter holds, and whether a message
 * came. */
struct weft_round {
    uint32_t counted;
    bool some;
};

WEFT_INLINE struct weft_round weft_glance_and_take(weft_self *self,
                                                   const struct weft_counter *counter)
{
    const uint32_t ins = *(volatile uint32_t *)&self->ins;
    const uint32_t hot = *(volatile uint32_t *)&self->hot;
    const struct weft_glance glance = weft_glance_at(self, counter, ins, hot);
    const uint32_t peer = (uint32_t)glance.line.word[0], host = (uint32_t)glance.line.word[1];
    const uint32_t local = (uint32_t)(glance.line.word[0] >> 32);
    struct weft_round round;

    round.counted = __shfl_sync(~0u, peer + local + host, WEFT_COUNTER_LANE);
    round.some = (glance.there & ((1u << ins) - 1)) != 0;
    if (round.some)
        weft_take_some(self, &glance, ins, hot);
    return round;
}

/* A round of a wait that found nothing. False: the rank ends. */
WEFT_INLINE bool weft_warp_round(weft_self *self, uint32_t *rounds, uint32_t tag, uint32_t have,
                                 uint32_t need)
{
    uint32_t leaders = *rounds;
    bool on = true;

    if (!WEFT_UNLIKELY(++*rounds % WEFT_SERVE_ROUNDS == 0))
        return true;
    if (threadIdx.x == 0)
        on = weft_wait_round(self, &leaders, WEFT_WAIT_TAG, tag, have, need);
    __syncwarp();
    return __shfl_sync(~0u, on, 0);
}

/* weft_wait_tag, and consumes them. All of the first warp, which has 32 threads. */
WEFT_INLINE void weft_wait_by_warp(weft_self *self, uint32_t tag, uint32_t need)
{
    const struct weft_counter *counter = &self->counters[weft_count_index(self->slot, tag)];
    uint32_t rounds = 0;

    weft_look_for_channels(self);
    for (;;) {
        const uint32_t counted = weft_glance_and_take(self, counter).counted;
        const uint32_t have = counted - *(volatile uint32_t *)&self->consumed[tag];
        if (have >= need)
            break;
        if (!weft_warp_round(self, &rounds, tag, have, need))
            break;
    }
    weft_polled();
    __syncwarp(); /* all have read `consumed` */
    if (threadIdx.x == 0) {
        weft_wait_over(self, rounds);
        self->consumed[tag] += need;
    }
}

/* Takes all that is there, after the leader has looked at something. The first warp, or the leader
 * of a smaller rank. */
WEFT_INLINE void weft_serve_seen(weft_self *self)
{
    if (blockDim.x < 32) {
        if (threadIdx.x == 0) {
            weft_find_channels(self);
            weft_serve(self, weft_crew_alone());
        }
    } else if (threadIdx.x < 32) {
        __syncwarp(); /* what comes after the leader's look */
        weft_look_for_channels(self);
        while (weft_glance_and_take(self, self->counters).some)
            continue;
    }
}

#endif
