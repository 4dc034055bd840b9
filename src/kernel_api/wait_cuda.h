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

/* Where a lane looks: a line, which has this flag when it is there; the counter has none. */
struct weft_eye {
    const struct weft_ring_line *line;
    uint32_t flag;
};

/* The channels into the rank, and the one that the warp looks deeper into: so deep as its last
 * message. */
struct weft_view {
    uint32_t heads; /* by lane */
    uint32_t hot, deep;
};

WEFT_INLINE struct weft_view weft_view_of(const weft_self *self)
{
    struct weft_view view;
    view.heads = (1u << *(volatile const uint32_t *)&self->ins) - 1;
    view.hot = *(volatile const uint32_t *)&self->hot;
    view.deep = *(volatile const uint32_t *)&self->deep;
    return view;
}

WEFT_INLINE struct weft_eye weft_eye_at(const weft_self *self, const struct weft_counter *counter,
                                        struct weft_view view)
{
    const unsigned lane = threadIdx.x;
    const bool head = (view.heads >> lane & 1) != 0;
    struct weft_eye eye;

    eye.line = (const struct weft_ring_line *)(const void *)counter;
    eye.flag = 0; /* that of no line */
    if (head || (lane > WEFT_COUNTER_LANE && lane - WEFT_COUNTER_LANE <= view.deep)) {
        const struct weft_in *in = &self->in[head ? lane : view.hot];
        const uint32_t at = in->tail + (head ? 0 : lane - WEFT_COUNTER_LANE);
        eye.flag = weft_lap_flag(at);
        eye.line = weft_lap_at(in, at);
    }
    return eye;
}

WEFT_COLD bool weft_take_by_warp(weft_self *self, struct weft_in *in, uint64_t word0,
                                 uint64_t word1)
{
    return weft_take(self, weft_crew_warp(), in, word0, word1);
}

/* What a look at the hot channel came to. */
enum weft_seen { WEFT_SEEN_PART, WEFT_SEEN_ALL, WEFT_SEEN_LONG };

/*
 * The hot channel's message, of which the warp has the first lines in its registers (there: which,
 * by lane): copies its payload, if it is complete. A long one has more lines.
 */
WEFT_INLINE enum weft_seen weft_land_seen(const struct weft_head *head,
                                          const struct weft_ring_line *line, unsigned there,
                                          struct weft_view view)
{
    const unsigned lane = threadIdx.x;
    const uint32_t rest = weft_message_lines(head->bytes) - 1;

    if (rest > view.deep)
        return WEFT_SEEN_LONG;
    if ((~(there >> (WEFT_COUNTER_LANE + 1)) & ((1u << rest) - 1)) != 0)
        return WEFT_SEEN_PART;
    if (lane == view.hot)
        weft_land_line(head, 0, line);
    else if (lane > WEFT_COUNTER_LANE && lane - WEFT_COUNTER_LANE <= rest)
        weft_land_line(head, lane - WEFT_COUNTER_LANE, line);
    __syncwarp(); /* a credit of the leader's covers what all have stored */
    return WEFT_SEEN_ALL;
}

/* The leader. */
WEFT_INLINE void weft_look_deep(weft_self *self, uint32_t hot, uint32_t bytes)
{
    const uint32_t rest = weft_message_lines(bytes) - 1;

    self->hot = hot;
    self->deep = rest < 31 - WEFT_COUNTER_LANE ? rest : 31 - WEFT_COUNTER_LANE;
}

/* A message of each channel that has one: of those whose heads are there. */
WEFT_INLINE void weft_take_some(weft_self *self, const struct weft_ring_line *line, unsigned there,
                                struct weft_view view)
{
    for (unsigned heads = there & view.heads; heads != 0; heads &= heads - 1) {
        const uint32_t i = (uint32_t)__ffs((int)heads) - 1;
        const uint64_t word0 = __shfl_sync(~0u, line->word[0], i);
        const uint64_t word1 = __shfl_sync(~0u, line->word[1], i);
        struct weft_in *in = &self->in[i];
        if (i == view.hot) {
            const struct weft_head head = weft_head_of(word0, word1);
            const enum weft_seen seen = weft_land_seen(&head, line, there, view);
            if (seen == WEFT_SEEN_ALL && threadIdx.x == 0)
                weft_taken(self, in, &head);
            if (seen != WEFT_SEEN_LONG)
                continue;
        }
        if (weft_take_by_warp(self, in, word0, word1) && threadIdx.x == 0)
            weft_look_deep(self, i, weft_head_of(word0, word1).bytes);
    }
    __syncwarp(); /* what the leader wrote of it */
}

/* A round of a wait that found nothing, now and then. False: the rank ends. */
WEFT_COLD bool weft_warp_round(weft_self *self, uint32_t rounds, uint32_t tag, uint32_t need)
{
    bool on = true;

    rounds--; /* the leader's count is the warp's */
    if (threadIdx.x == 0)
        on = weft_wait_round(
            self, &rounds, WEFT_WAIT_TAG, tag,
            weft_count_read(self, weft_count_index(self->slot, tag)) - self->consumed[tag], need);
    __syncwarp();
    /* Each looks itself: the leader may have ended alone, in a call that was its alone. */
    return __all_sync(~0u, on && (*(volatile uint32_t *)&self->stopped & WEFT_STOPPED) == 0);
}

/*
 * The usual end of a wait: the hot channel brings the one notification that is missing. It need not
 * be counted, since it is consumed at once. False: it is something else.
 */
WEFT_INLINE bool weft_take_wanted(weft_self *self, const struct weft_ring_line *line,
                                  unsigned there, struct weft_view view, uint32_t tag)
{
    const struct weft_head head = weft_head_of(__shfl_sync(~0u, line->word[0], view.hot),
                                               __shfl_sync(~0u, line->word[1], view.hot));

    if (!head.notice || head.tag != tag ||
        weft_land_seen(&head, line, there, view) != WEFT_SEEN_ALL)
        return false;
    if (threadIdx.x == 0)
        weft_read_on(&self->in[view.hot], &head);
    return true;
}

/*
 * Blocks until `need` notifications of a tag are there, and consumes them. All of the first warp,
 * which has 32 threads.
 */
WEFT_INLINE void weft_wait_by_warp(weft_self *self, uint32_t tag, uint32_t need)
{
    const struct weft_counter *counter = &self->counters[weft_count_index(self->slot, tag)];
    uint32_t rounds = 0;
    bool on = true;

    weft_look_for_channels(self);
    if (__shfl_sync(~0u, *(volatile uint32_t *)&self->ins, 0) == 0) {
        if (threadIdx.x == 0) {
            weft_wait_tag(self, tag, need);
            self->consumed[tag] += need;
        }
        return;
    }
    while (on) {
        const struct weft_view view = weft_view_of(self);
        const struct weft_eye eye = weft_eye_at(self, counter, view);
        const uint32_t consumed = *(volatile uint32_t *)&self->consumed[tag];
        struct weft_ring_line line;
        unsigned there;
        uint32_t have;
        do {
            line = weft_lap_read(eye.line);
            have = (uint32_t)line.word[0] + (uint32_t)(line.word[0] >> 32) + (uint32_t)line.word[1];
            there = __ballot_sync(~0u, threadIdx.x == WEFT_COUNTER_LANE
                                           ? have - consumed >= need
                                           : weft_lap_there(line.word[0], line.word[1], eye.flag));
            rounds++;
        } while ((there & (view.heads | 1u << WEFT_COUNTER_LANE)) == 0 &&
                 rounds % WEFT_SERVE_ROUNDS != 0);
        if ((there >> WEFT_COUNTER_LANE & 1) != 0)
            break;
        if ((there & view.heads) != 0) {
            if (need == 1 && (there & view.heads) == 1u << view.hot &&
                weft_take_wanted(self, &line, there, view, tag)) {
                need = 0;
                break;
            }
            weft_take_some(self, &line, there, view);
            have = __shfl_sync(~0u, have, WEFT_COUNTER_LANE);
            /* One decides for all: the leader changes `consumed` next. */
            if (__shfl_sync(~0u, have - *(volatile uint32_t *)&self->consumed[tag] >= need, 0))
                break;
        }
        if (rounds % WEFT_SERVE_ROUNDS == 0)
            on = weft_warp_round(self, rounds, tag, need);
    }
    weft_polled();
    if (threadIdx.x == 0) {
        weft_wait_over(self, rounds);
        if (need != 0)
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
            weft_serve(self);
        }
    } else if (threadIdx.x < 32) {
        __syncwarp(); /* what comes after the leader's look */
        weft_look_for_channels(self);
        bool some = true; /* a sender that has died in the middle of a message does not keep us */
        for (uint32_t n = 0; some && n < 2 * WEFT_RING_LINES; n++) {
            const struct weft_view view = weft_view_of(self);
            const struct weft_eye eye = weft_eye_at(self, self->counters, view);
            const struct weft_ring_line line = weft_lap_read(eye.line);
            const unsigned there =
                __ballot_sync(~0u, weft_lap_there(line.word[0], line.word[1], eye.flag));
            some = (there & view.heads) != 0;
            if (some)
                weft_take_some(self, &line, there, view);
        }
        weft_polled(); /* each lane, of what it has read */
    }
}

#endif
