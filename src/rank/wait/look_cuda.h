/*
 * rank/wait/look_cuda.h - how the first warp of a rank looks at its counter and at all of its
 * eager channels in one load, and takes what has come.
 *
 * Lanes 0 to 14 look at the next head of a channel each, lane 15 at the counter, and the others at
 * the lines that follow the head in the channel that brought the last message (of several at once:
 * take_cuda.h says which). A short message from there is in the registers when it is seen. Every
 * instruction between that and the end of the wait is part of the message's latency, so the message
 * that a wait wants has a way of its own. Others are taken by take_cuda.h.
 */
#ifndef WEFT_RANK_WAIT_LOOK_CUDA_H
#define WEFT_RANK_WAIT_LOOK_CUDA_H

#include "rank/wait/mailbox.h"

enum { WEFT_COUNTER_LANE = WEFT_CHANNELS_IN, WEFT_LOOK_LINES = 31 - WEFT_COUNTER_LANE };

static_assert(sizeof(struct weft_counter) == sizeof(struct weft_ring_line), "one load for both");

/* A line at which a lane looks, and its flag when it is there; the counter's is 0. */
struct weft_eye {
    const struct weft_ring_line *line;
    uint32_t flag;
};

/*
 * What the first warp looks at: the channels into the rank, and lines of the one that brought the
 * last message.
 */
struct weft_view {
    uint32_t heads;               /* set of channels, by lane */
    uint32_t hot, deep, tail, at; /* hot channel; its lines; its next one; lane's own (0: head) */
    uint32_t owes;                /* self->owes */
};

enum { WEFT_NO_LINE = 0x0fffffff };

WEFT_INLINE struct weft_view weft_view_of(const weft_self *self)
{
    const unsigned lane = threadIdx.x;
    struct weft_view view;

    view.heads = (1u << *(volatile const uint32_t *)&self->ins) - 1;
    view.hot = *(volatile const uint32_t *)&self->hot;
    view.deep = view.heads == 0 ? 0 : max(*(volatile const uint32_t *)&self->deep, 1u);
    view.owes = *(volatile const uint32_t *)&self->owes;
    view.tail = *(volatile const uint32_t *)&self->in[view.hot].tail;
    view.at = lane == view.hot            ? 0
              : lane <= WEFT_COUNTER_LANE ? WEFT_NO_LINE
                                          : lane - WEFT_COUNTER_LANE;
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
    if (head || (lane > WEFT_COUNTER_LANE && view.at <= view.deep)) {
        const struct weft_in *in = &self->in[head ? lane : view.hot];
        const uint32_t position = in->tail + (head ? 0 : view.at);
        eye.flag = weft_lap_flag(position);
        eye.line = weft_lap_at(in, position);
    }
    return eye;
}

/* Sums up what the lane of the counter has read. */
WEFT_INLINE uint32_t weft_counter_sum(const struct weft_ring_line *line)
{
    return (uint32_t)line->word[0] + (uint32_t)(line->word[0] >> 32) + (uint32_t)line->word[1];
}

/* Sets the channel to look deeper into, by its last message. The leader. */
WEFT_INLINE void weft_look_deep(weft_self *self, uint32_t hot, uint32_t bytes)
{
    self->hot = hot;
    self->deep = weft_message_lines(bytes) - 1;
}

/*
 * Notes that the message that the wait wanted has been copied: it need not be counted, since it is
 * consumed at once.
 */
WEFT_INLINE void weft_wanted_taken(weft_self *self, const struct weft_head *head,
                                   struct weft_view view)
{
    const uint32_t tail = view.tail + weft_message_lines(head->bytes);

    __syncwarp(); /* all have read what changes now, and stored what a credit covers */
    if (threadIdx.x == 0) {
        self->in[view.hot].tail = tail;
        self->owes = 0; /* nothing was owed, or a fence has come since: weft_wanted_acquire */
        if (WEFT_UNLIKELY(((tail ^ view.tail) & WEFT_GIVE_LINES) != 0))
            weft_give(&self->in[view.hot]);
    }
}

/*
 * Acquires what the wanted message stands for, before its payload is copied. Nothing need be
 * acquired if that is no more than the payload.
 */
WEFT_INLINE void weft_wanted_acquire(const struct weft_head *head, struct weft_view view)
{
    if (head->release || view.owes != 0)
        weft_polled();
}

template <int MORE, bool WIDE>
WEFT_INLINE void weft_deliver_more(const struct weft_head *head, const struct weft_ring_line *more,
                                   uint32_t first)
{
    const uint64_t target = head->address + 8 * first - 8;

    WEFT_UNROLL
    for (int k = 0; k < MORE; k++)
        if (8 * (first + 32 * k) <= head->bytes)
            weft_deliver_pair(target + 256 * k, &more[k], WIDE);
}

static_assert(WEFT_LOOK_LINES + 4 * 32 >= (WEFT_EAGER_MOST + 4) / 8,
              "the longest message is seen at once");

enum weft_looked { WEFT_SAW_NOTHING, WEFT_SAW_SOMETHING, WEFT_TOOK_WANTED };

/*
 * Looks until something comes, and a while. Usually that is the one notification that the wait
 * misses, from the hot channel, as long as the one before: then all of it is in the registers, one
 * vote says so, and it is taken. To save the exchange of what the head says, every lane reads it.
 * MORE: as many times 32 lines beyond those of a look. *line: what the lane of a head or of the
 * counter has read. No branch before the vote: each costs as much as several operations.
 */
template <int MORE>
WEFT_INLINE enum weft_looked weft_look(weft_self *self, struct weft_eye eye, struct weft_view view,
                                       uint32_t tag, uint32_t need, uint32_t consumed,
                                       struct weft_ring_line *line)
{
    const uint32_t first = WEFT_LOOK_LINES + 1 + threadIdx.x;
    const uint32_t most = MORE == 0 ? view.deep + 1 : WEFT_LOOK_LINES + 1 + MORE * 32;
    const struct weft_in *const in = &self->in[view.hot];
    const struct weft_ring_line *const begin = weft_lap_at(in, view.tail);
    const uint32_t flag = weft_lap_flag(view.tail);
    const bool other = threadIdx.x != view.hot && (view.heads >> threadIdx.x & 1) != 0;

    for (uint32_t round = 0; round < WEFT_SERVE_ROUNDS; round++) {
        struct weft_ring_line more[MORE + 1];
        /* The head last: it is waited for first. Of the others those of a lane are 32 apart. */
        if (MORE == 1)
            more[0] = weft_lap_read(weft_lap_at(in, view.tail + first));
        if (MORE == 4)
            weft_lap_read_apart(more, in, view.tail + first, 32);
        *line = weft_lap_read(eye.line);
        const struct weft_ring_line hot = weft_lap_read(begin);
        const struct weft_head head = weft_head_of(hot.word[0], hot.word[1]);
        const uint32_t lines = weft_message_lines(head.bytes);
        const uint32_t own = weft_lap_differs(line->word[0], line->word[1], eye.flag);
        const bool came = weft_lap_there(hot.word[0], hot.word[1], flag);
        const bool odd = (((uint32_t)head.address | head.bytes) & 3) != 0;
        const bool wanted =
            (need == 1) & head.notice & (head.tag == tag) & (lines <= most) & !(MORE != 0 & odd);
        const bool counted = weft_counter_sum(line) - consumed >= need;
        const bool event = (came & !wanted) | (other & (own >> 24 == 0)) |
                           ((threadIdx.x == WEFT_COUNTER_LANE) & counted);
        uint32_t differs = view.at < lines ? own : 0;
        WEFT_UNROLL
        for (int k = 0; k < MORE; k++)
            differs |= first + 32 * k >= lines
                           ? 0
                           : weft_lap_differs(more[k].word[0], more[k].word[1],
                                              weft_lap_flag(view.tail + first + 32 * k));
        if (!__all_sync(~0u, came & !event & (differs >> 24 == 0))) {
            if (__any_sync(~0u, event))
                return WEFT_SAW_SOMETHING;
            continue;
        }
        weft_wanted_acquire(&head, view);
        if (MORE != 0 || WEFT_UNLIKELY(!odd))
            weft_deliver_words(&head, line, view.at);
        else if (view.at < lines) /* not made of whole words, all of it in the registers */
            weft_deliver_odd(head, view.at, (uint32_t)line->word[0], (uint32_t)line->word[1]);
        if ((head.address & 7) == 0)
            weft_deliver_more<MORE, true>(&head, more, first);
        else
            weft_deliver_more<MORE, false>(&head, more, first);
        weft_wanted_taken(self, &head, view);
        if (MORE != 0 && lines - 1 <= WEFT_LOOK_LINES && threadIdx.x == 0)
            weft_look_deep(self, view.hot, head.bytes);
        return WEFT_TOOK_WANTED;
    }
    return WEFT_SAW_NOTHING;
}

#endif
