/*
 * rank/path/channel.h - the sending end of eager channels: who gets one, writing messages, and what
 * keeps the order between a channel and everything else that a pair of ranks exchanges.
 *
 * Pairs that often put little get a channel: the sender counts itself in the target's box, takes a
 * channel from the pool, and names it there. It begins to use it when the target has found it. From
 * then on
 *
 *   - every notice for the target goes through the channel, so that they stay in one sequence: also
 *     those of puts that do not fit, after a release of what those stored;
 *   - whatever else goes to the target directly waits until earlier payloads for the same place
 *     have been copied there;
 *   - whatever goes to it through the host waits until all earlier payloads have been.
 *
 * The leader does all of this, except that a warp may write a message's lines.
 */
#ifndef WEFT_RANK_PATH_CHANNEL_H
#define WEFT_RANK_PATH_CHANNEL_H

#include "rank/route.h"

/* ---- getting one ---------------------------------------------------------------------------- */

/* Takes a channel from the target's pool and names it in its box, or NONE. */
WEFT_COLD void weft_out_ask(weft_self *self, struct weft_out *out, struct weft_exposed *exposed)
{
    const struct weft_state *state = self->state;
    unsigned char *area = weft_channel_area(state, exposed);
    struct weft_box *box = weft_channels_box(area, out->slot);
    const uint32_t place = weft_add_returning_u32(&box->asked, 1);

    out->state = WEFT_OUT_REFUSED;
    if (place >= WEFT_CHANNELS_IN)
        return;
    const uint32_t index = weft_add_returning_u32(&exposed->channels_taken, 1);
    uint32_t *const name = (uint32_t *)&box->channel[place];
    if (index >= state->channels) {
        weft_store_relaxed_u32(name, (uint32_t)WEFT_CHANNEL_NONE);
        return;
    }
    out->channel = weft_channels_control(area, WEFT_SLOTS, index);
    out->ring = weft_channels_ring(area, WEFT_SLOTS, state->channels, index);
    out->head = out->taken = out->data_end = state->channel_start;
    /* There before the target finds the channel, and says more. */
    weft_store_relaxed_u32(&out->channel->taken, state->channel_start);
    weft_store_release_u32(name, index + 1, ORDER_eager_notice);
    weft_sent_shared(out->ring, NULL, 0); /* random mode knows from here on that messages come */
    weft_sent_shared(NULL, NULL, 0);
    out->state = WEFT_OUT_ASKED;
    out->talks = 0;
}

/*
 * Notes a notified put that went directly and would fit into a channel: has the pair talked often
 * enough, and has the target found its channel? Pairs that only notify, or put much, are better off
 * without.
 */
WEFT_COLD void weft_out_talked(weft_self *self, struct weft_exposed *exposed, int32_t process,
                               uint32_t slot)
{
    struct weft_out *out = &self->out[weft_out_index(process, slot)];

    /* Host programs have none; a warp opens none, of which others could not know. */
    if (out->state >= WEFT_OUT_OPEN || slot == WEFT_HOST_SLOT || weft_alone(self))
        return;
    if (out->slot == 0) {
        out->process = process;
        out->slot = slot;
    }
    if (out->slot != slot || out->process != process)
        return;
    out->talks++;
    if (out->state == WEFT_OUT_NEW && out->talks >= self->state->eager_after) {
        weft_out_ask(self, out, exposed);
    } else if (out->state == WEFT_OUT_ASKED && out->talks % 8 == 0 &&
               weft_load_relaxed_u32(&out->channel->open) != 0) {
        out->state = WEFT_OUT_OPEN;
        out->dirty =
            WEFT_OUT_FENCE; /* notices went directly: the first message does not overtake them */
        weft_routes_stale(self);
    }
}

/* ---- what the target has taken -------------------------------------------------------------- */

/* Blocks until the target has read up to a line, or a failure ends the wait. */
WEFT_COLD void weft_out_await(weft_self *self, struct weft_out *out, uint32_t line)
{
    out->taken = weft_await(self, &out->channel->taken, ORDER_eager_space, line, WEFT_WAIT_EAGER,
                            out->process);
    if ((int32_t)(out->taken - out->data_end) >= 0)
        out->data_end = out->taken; /* never so far behind that it seems ahead */
}

/* Whether a message of so many lines has to wait. */
WEFT_INLINE bool weft_out_full(const struct weft_out *out, uint32_t lines)
{
    return out->head + lines - out->taken > WEFT_RING_LINES;
}

WEFT_INLINE void weft_out_space(weft_self *self, struct weft_out *out, uint32_t lines)
{
    if (WEFT_UNLIKELY(weft_out_full(out, lines)))
        weft_out_await(self, out, out->head + lines - WEFT_RING_LINES);
}

/* Waits for the channel, before anything goes to the target through the host, and for a flush. */
WEFT_INLINE void weft_out_drain(weft_self *self, struct weft_out *out)
{
    if (out->state == WEFT_OUT_OPEN && (int32_t)(out->taken - out->head) < 0)
        weft_out_await(self, out, out->head);
}

/* ---- messages ------------------------------------------------------------------------------- */

WEFT_COLD uint32_t weft_payload_bytes(const unsigned char *source, uint32_t bytes, uint32_t k)
{
    uint32_t word = 0;

    for (uint32_t i = 4 * k; i < bytes && i < 4 * k + 4; i++)
        word |= (uint32_t)source[i] << 8 * (i - 4 * k);
    return word;
}

/* Loads the words of a payload that a line takes. The head, at 0, takes what is left over. */
WEFT_INLINE void weft_line_load(uint32_t pair[2], const unsigned char *source, uint32_t bytes,
                                uint32_t at)
{
    const uint32_t words = (bytes + 3) / 4, k = at == 0 ? words - 1 : 2 * at - 2;

    pair[0] = weft_payload_bytes(source, bytes, k);
    pair[1] = weft_payload_bytes(source, bytes, k + 1);
}

WEFT_INLINE void weft_line_store(const struct weft_out *out, uint32_t begin, uint32_t at,
                                 const struct weft_head *head, const uint32_t pair[2])
{
    const uint32_t flag = weft_lap_flag(begin + at);
    uint64_t word0 = weft_rest_word(pair[0], flag), word1 = weft_rest_word(pair[1], flag);

    if (at == 0) {
        struct weft_head full = *head;
        full.left = pair[0];
        word0 = weft_head_word(&full, flag, 0);
        word1 = weft_head_word(&full, flag, 1);
    }
    weft_lap_write(out->ring[(begin + at) % WEFT_RING_LINES].word, word0, word1);
}

/* Writes a message of more lines than lanes, of whole words. The head comes last: without the rest
 * it is of no use to the target. */
WEFT_COLD void weft_message_write_long(struct weft_crew crew, const struct weft_out *out,
                                       struct weft_head head, const unsigned char *source)
{
    enum { DEEP = 5 }; /* lines of a lane at once: the longest message by one warp */
    const uint32_t begin = out->head, lines = weft_message_lines(head.bytes);
    const uint32_t *const words = (const uint32_t *)(const void *)source;
    const uint32_t last = head.bytes / 4 - 1;

    for (uint32_t done = 0; done < lines; done += DEEP * crew.lanes) {
        uint32_t pair[DEEP][2];
        WEFT_UNROLL
        for (uint32_t k = 0; k < DEEP; k++) { /* beyond the end the last word: without a branch */
            const uint32_t low = 2 * (lines - 1 - done - crew.lane - k * crew.lanes) - 2;
            pair[k][0] = words[low < last ? low : last];
            pair[k][1] = words[low + 1 < last ? low + 1 : last];
        }
        WEFT_UNROLL
        for (uint32_t k = 0; k < DEEP; k++) {
            const uint32_t back = done + crew.lane + k * crew.lanes;
            if (back < lines)
                weft_line_store(out, begin, lines - 1 - back, &head, pair[k]);
        }
    }
}

/* Writes a message that is not made of whole words. */
WEFT_COLD void weft_message_write_odd(struct weft_crew crew, const struct weft_out *out,
                                      struct weft_head head, const unsigned char *source)
{
    const uint32_t begin = out->head, lines = weft_message_lines(head.bytes);

    for (uint32_t back = crew.lane; back < lines; back += crew.lanes) {
        uint32_t pair[2];
        weft_line_load(pair, source, head.bytes, lines - 1 - back);
        weft_line_store(out, begin, lines - 1 - back, &head, pair);
    }
}

/* Notes where a payload goes that may not have been copied yet. One thread, after the payload. */
WEFT_INLINE void weft_out_cover(struct weft_out *out, uint64_t low, uint64_t high)
{
    const bool none = (int32_t)(out->taken - out->data_end) >= 0;

    if (none || low < out->low)
        out->low = low;
    if (none || high > out->high)
        out->high = high;
    out->data_end = out->head;
}

/* `dirty` after a fence: until all threads know of a channel, puts still go beside it. */
WEFT_INLINE uint32_t weft_out_clean(const weft_self *self)
{
    return self->news != 0 ? WEFT_OUT_FENCE : 0;
}

/* Prepares a message that must wait for room, or stands for what went directly, which it fences. */
WEFT_COLD void weft_message_prepare(weft_self *self, struct weft_crew crew, struct weft_out *out,
                                    uint32_t lines, bool release)
{
    weft_crew_meet(crew); /* all have looked at what the leader changes now */
    if (crew.lane == 0) {
        weft_out_space(self, out, lines);
        out->dirty = weft_out_clean(self);
    }
    weft_crew_meet(crew);
    if (release)
        weft_fence_release(ORDER_eager_notice);
}

/* Sends a notified put. (Short ones of GPUs: channel_cuda.h.) */
WEFT_INLINE void weft_message_put(weft_self *self, struct weft_crew crew, struct weft_out *out,
                                  struct weft_head head, const unsigned char *source)
{
    const uint32_t lines = weft_message_lines(head.bytes), begin = out->head;
    const bool whole = (((uintptr_t)source | head.bytes) & 3) == 0;

    head.release = out->dirty != 0;
    if (WEFT_UNLIKELY(weft_crew_any(crew, head.release || weft_out_full(out, lines))))
        weft_message_prepare(self, crew, out, lines, head.release);
    weft_sent_shared(out->ring, source, head.bytes);
    if (whole && head.bytes != 0)
        weft_message_write_long(crew, out, head, source);
    else
        weft_message_write_odd(crew, out, head, source);
    weft_sent_shared(NULL, NULL, 0);
    weft_crew_meet(crew); /* all have read where to begin */
    if (crew.lane != 0)
        return;
    out->head = begin + lines;
    if (head.bytes != 0)
        weft_out_cover(out, head.address, head.address + head.bytes);
}

/* Sends a message without a payload. release: it stands for all that the rank did; else only for
 * the messages before it. The leader. */
WEFT_INLINE void weft_message_notice(weft_self *self, struct weft_out *out, uint32_t tag,
                                     bool notice, bool release)
{
    struct weft_head head = {.release = true};

    weft_out_space(self, out, 1);
    head.tag = tag;
    head.notice = notice;
    head.bye = !notice;
    if (release) {
        weft_fence_release(ORDER_eager_notice);
        out->dirty = weft_out_clean(self);
    }
    const uint32_t flag = weft_lap_flag(out->head);
    weft_lap_write(out->ring[out->head % WEFT_RING_LINES].word, weft_head_word(&head, flag, 0),
                   weft_head_word(&head, flag, 1));
    out->head++;
}

/* ---- as a way ------------------------------------------------------------------------------- */

/* Sends a notified put, by the first warp. The target's window is mapped. */
WEFT_INLINE void weft_channel_put(weft_self *self, const struct weft_route *to, size_t offset,
                                  const void *source, size_t bytes, int tag)
{
    const struct weft_crew crew = weft_crew_first_warp(self);
    struct weft_head head = {.address = to->home + offset,
                             .bytes = (uint32_t)bytes,
                             .tag = (uint32_t)tag,
                             .notice = true};

    if (crew.lane >= crew.lanes)
        return;
    weft_message_put(self, crew, &self->out[to->way >> 8], head, (const unsigned char *)source);
    if (crew.lane == 0) {
        weft_count_nudge(to->exposed);
        weft_turn(self);
    }
}

/* Sends a notification. It stands for all that the rank did, unless relaxed. The leader. */
WEFT_INLINE void weft_channel_notify(weft_self *self, const struct weft_route *to, uint32_t tag,
                                     bool relaxed)
{
    weft_message_notice(self, weft_route_out(self, to), tag, true, !relaxed);
    weft_count_nudge(to->exposed);
}

/* Makes way for bytes that go to `low` of a target otherwise than by its channel. The leader. */
WEFT_INLINE void weft_channel_clear(weft_self *self, const struct weft_route *to, uint64_t low,
                                    uint64_t bytes)
{
    struct weft_out *out = weft_route_out(self, to);

    if (out == NULL)
        return;
    if (WEFT_UNLIKELY((int32_t)(out->taken - out->data_end) < 0 && low < out->high &&
                      out->low < low + bytes)) /* payloads for there may still be in the channel */
        weft_out_await(self, out, out->data_end);
    out->dirty = WEFT_OUT_FENCE;
}

/* Fences: messages through channels then stand for what came before it. The leader. */
WEFT_INLINE void weft_channel_fence(weft_self *self)
{
    weft_fence_release(ORDER_fence);
    for (int i = 0; self->eager_bytes != 0 && i < WEFT_CHANNELS_OUT; i++)
        self->out[i].dirty |= WEFT_OUT_SAY;
}

#endif
