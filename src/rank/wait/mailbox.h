/*
 * rank/wait/mailbox.h - the receiving end of eager channels: copying payloads to where they
 * belong, counting notices, and telling senders how far this rank has come.
 *
 * Every wait of the library serves the rank's channels, so that no sender waits for ever: neither
 * for room in them, nor for its data to be delivered. A notice lowers `consumed` of its tag, which
 * is the same as one more in the counters.
 *
 * Order. A payload needs none: each word of it comes with its own flag. A notice that stands for
 * data which went another way was written after a release (eager_notice), and is read by a poll
 * that acquires (eager_seen). Messages are taken in the order sent, the payload before the notice.
 * The rank tells how far it has read by a release (eager_credit), after which nothing that it
 * copied for the sender can overwrite what the sender then puts there by another way (eager_space).
 */
#ifndef WEFT_RANK_WAIT_MAILBOX_H
#define WEFT_RANK_WAIT_MAILBOX_H

#include "rank/wait/deliver.h"

/* Tell a sender after so many lines at the latest; in waits, after so many rounds. */
enum { WEFT_GIVE_LINES = WEFT_RING_LINES / 2, WEFT_SERVE_ROUNDS = 32 };

WEFT_INLINE const struct weft_ring_line *weft_lap_at(const struct weft_in *in, uint32_t position)
{
    return &in->ring[position % WEFT_RING_LINES];
}

/* Threads that do something together: one, or the first warp. */
struct weft_crew {
    unsigned lane, lanes;
};

WEFT_INLINE struct weft_crew weft_crew_alone(void)
{
    struct weft_crew crew;
    crew.lane = 0;
    crew.lanes = 1;
    return crew;
}

/* The threads that write a message. Others have lane >= lanes. */
WEFT_INLINE struct weft_crew weft_crew_first_warp(const weft_self *self)
{
    struct weft_crew crew = weft_crew_alone();
    if (weft_alone(self))
        return crew;
#ifdef __CUDACC__
    crew.lane = threadIdx.x;
    crew.lanes = blockDim.x < 32 ? 1 : 32;
#endif
    return crew;
}

WEFT_INLINE bool weft_crew_any(struct weft_crew crew, bool value)
{
#ifdef __CUDACC__
    if (crew.lanes > 1)
        return __any_sync(~0u, value) != 0;
#endif
    (void)crew;
    return value;
}

/* Shows all of the crew what any of them wrote to the rank's state before. */
WEFT_INLINE void weft_crew_meet(struct weft_crew crew)
{
    (void)crew;
#ifdef __CUDACC__
    if (crew.lanes > 1)
        __syncwarp();
#endif
}

/* Four lines, `step` apart, in one go. */
WEFT_INLINE void weft_lap_read_apart(struct weft_ring_line line[4], const struct weft_in *in,
                                     uint32_t position, uint32_t step)
{
    const void *const from[4] = {weft_lap_at(in, position), weft_lap_at(in, position + step),
                                 weft_lap_at(in, position + 2 * step),
                                 weft_lap_at(in, position + 3 * step)};
    weft_lap_read_four(line, from);
}

WEFT_COLD void weft_give(struct weft_in *in)
{
    if (in->given == in->tail)
        return;
    weft_store_release_u32(&in->channel->taken, in->tail, ORDER_eager_credit);
    in->given = in->tail;
}

/* Goes on behind a message. One thread. */
WEFT_INLINE void weft_read_on(struct weft_in *in, const struct weft_head *head)
{
    in->tail += weft_message_lines(head->bytes);
    if (WEFT_UNLIKELY(in->tail - in->given >= WEFT_GIVE_LINES))
        weft_give(in);
}

/* Copies the lines of a payload behind the head; false if one is not there yet. What was copied
 * then is copied again: the sender has promised the place to it. */
WEFT_INLINE bool weft_take_rest(const struct weft_in *in, const struct weft_head *head)
{
    enum { DEEP = 4 };
    const uint32_t tail = in->tail, lines = weft_message_lines(head->bytes);

    for (uint32_t first = 1; first < lines; first += DEEP) {
        struct weft_ring_line line[DEEP];
        bool there = true;
        weft_lap_read_apart(line, in, tail + first, 1);
        WEFT_UNROLL
        for (uint32_t k = 0; k < DEEP; k++)
            there &= first + k >= lines || weft_lap_there(line[k].word[0], line[k].word[1],
                                                          weft_lap_flag(tail + first + k));
        if (!there)
            return false;
        WEFT_UNROLL
        for (uint32_t k = 0; k < DEEP; k++)
            if (first + k < lines)
                weft_deliver_line(head, first + k, &line[k]);
    }
    return true;
}

/* Takes the next message of a channel, if all of it is there. One thread. */
WEFT_COLD bool weft_take_next(weft_self *self, struct weft_in *in)
{
    const struct weft_ring_line line = weft_lap_read(weft_lap_at(in, in->tail));
    const struct weft_head head = weft_head_of(line.word[0], line.word[1]);

    if (!weft_lap_there(line.word[0], line.word[1], weft_lap_flag(in->tail)))
        return false;
    if (head.release)
        weft_polled(); /* its payload comes after what it stands for */
    if (!weft_take_rest(in, &head))
        return false;
    weft_deliver_line(&head, 0, &line);
    if (head.notice)
        self->consumed[head.tag]--;
    if (head.bye)
        in->bye = 1;
    self->owes = 1;
    weft_read_on(in, &head);
    return true;
}

/* Takes all that is there, of all channels. One thread. */
WEFT_COLD void weft_serve_all(weft_self *self)
{
    for (uint32_t i = 0; i < self->ins; i++)
        for (uint32_t n = 0; n < WEFT_RING_LINES && weft_take_next(self, &self->in[i]); n++)
            continue;
}

/* Takes all that is there, in every round of a wait: without channels there is no call, which would
 * store registers on the stack. */
WEFT_INLINE void weft_serve(weft_self *self)
{
    if (self->ins != 0)
        weft_serve_all(self);
}

/* Looks whether somebody has taken a channel to this rank. One thread. */
WEFT_COLD void weft_find_channels(weft_self *self)
{
    const struct weft_state *state = self->state;
    unsigned char *area = weft_channel_area(state, state->exposed);
    const struct weft_box *box = weft_channels_box(area, self->slot);

    while (self->boxed < WEFT_CHANNELS_IN) {
        const int32_t named = (int32_t)weft_load_acquire_u32(
            (const uint32_t *)&box->channel[self->boxed], ORDER_eager_seen);
        if (named == 0)
            break;
        self->boxed++;
        if (named == WEFT_CHANNEL_NONE)
            continue;
        const uint32_t index = (uint32_t)named - 1;
        struct weft_in *in = &self->in[self->ins];
        in->ring = weft_channels_ring(area, WEFT_SLOTS, state->channels, index);
        in->channel = weft_channels_control(area, WEFT_SLOTS, index);
        in->tail = in->given = state->channel_start;
        in->bye = 0;
        self->ins++;
        weft_store_relaxed_u32(&in->channel->open, 1);
    }
}

#ifndef __CUDACC__
/* Takes all that is there, after a look that acquires. */
static inline void weft_serve_seen(weft_self *self)
{
    weft_serve(self);
}
#endif

/* Gives credit to all senders now and then, also if waits are over at once. One thread. */
WEFT_COLD void weft_give_all(weft_self *self)
{
    for (uint32_t i = 0; i < self->ins; i++)
        weft_give(&self->in[i]);
}

/* Does, in a wait that lasts, what need not be done in every round. One thread. */
WEFT_COLD void weft_serve_now_and_then(weft_self *self)
{
#ifdef __CUDACC__
    if (threadIdx.x != 0 && !weft_alone(self))
        return; /* a thread that fails alone, on its way to say so */
#endif
    if (self->eager_bytes == 0)
        return;
    weft_find_channels(self);
    weft_serve(self);
    weft_give_all(self);
}

#endif
