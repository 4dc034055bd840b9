/*
 * rank/path/channel_cuda.h - a short notified put through a channel, straight: what weft_path_put
 * does for it, without looking at anything else that a put might be.
 *
 * Every instruction between the call and the store of the line is part of the message's latency,
 * and each branch costs as much as several; what comes after the store does not matter.
 */
#ifndef WEFT_RANK_PATH_CHANNEL_CUDA_H
#define WEFT_RANK_PATH_CHANNEL_CUDA_H

#include "rank/state.h"

/* What the leader notes after a message. */
WEFT_INLINE void weft_channel_put_noted(struct weft_out *out, const struct weft_head *head,
                                        uint32_t next)
{
    out->head = next;
    if (head->bytes != 0)
        weft_out_cover(out, head->address, head->address + head->bytes);
}

/* As weft_line_load, of a source and a size that are multiples of 4. */
WEFT_INLINE void weft_line_load_words(uint32_t pair[2], const unsigned char *source, uint32_t bytes,
                                      uint32_t at)
{
    const uint32_t offset = at == 0 ? bytes - 4 : 8 * at - 8;
    const uint32_t *const from = (const uint32_t *)(const void *)(source + offset);
    const bool some = weft_line_has(bytes, at);

    pair[0] = pair[1] = 0;
    if (some)
        pair[0] = from[0];
    if (some && at != 0)
        pair[1] = from[1];
}

/* A line of it by each lane of the first warp. False, by all of them: nothing has been done. */
WEFT_INLINE bool weft_channel_put_by_warp(weft_self *self, struct weft_out *out,
                                          struct weft_head head, const unsigned char *source)
{
    const uint32_t lines = weft_message_lines(head.bytes), begin = out->head;
    uint32_t pair[2];

    if (WEFT_UNLIKELY((out->dirty | self->unsettled) != 0 || weft_out_full(out, lines) ||
                      (((uintptr_t)source | head.bytes) & 3) != 0))
        return false;
    weft_line_load_words(pair, source, head.bytes, threadIdx.x);
    if (threadIdx.x < lines)
        weft_line_store(out, begin, threadIdx.x, &head, pair);
    __syncwarp(); /* all have read where to begin */
    if (threadIdx.x == 0)
        weft_channel_put_noted(out, &head, begin + lines);
    return true;
}

/* Lines by every thread: more than a warp has lanes. */
WEFT_INLINE bool weft_channel_put_by_all(weft_self *self, struct weft_out *out,
                                         struct weft_head head, const unsigned char *source)
{
    const uint32_t lines = weft_message_lines(head.bytes), begin = out->head;

    if (WEFT_UNLIKELY((out->dirty | self->unsettled) != 0 || weft_out_full(out, lines)))
        return false;
    for (uint32_t at = threadIdx.x; at < lines; at += 2 * blockDim.x) {
        uint32_t pair[2][2]; /* both loads at once */
        weft_line_load_words(pair[0], source, head.bytes, at);
        weft_line_load_words(pair[1], source, head.bytes, at + blockDim.x);
        weft_line_store(out, begin, at, &head, pair[0]);
        if (at + blockDim.x < lines)
            weft_line_store(out, begin, at + blockDim.x, &head, pair[1]);
    }
    __syncthreads(); /* all have read where to begin */
    if (threadIdx.x == 0)
        weft_channel_put_noted(out, &head, begin + lines);
    return true;
}

/*
 * To an address of the target by that way, which has a channel. All threads, after a barrier. It
 * calls nothing (weft_wait_hot). False: nothing has been done; the caller goes to
 * weft_channel_put_far.
 */
WEFT_COLD bool weft_channel_put_hot(weft_self *self, uint32_t way, uint64_t to, const void *source,
                                    size_t bytes, int tag)
{
    WEFT_IN_SHARED(self);
    const struct weft_head head = {to, (uint32_t)bytes, 0, (uint32_t)tag, true, false, false};
    struct weft_out *const out = &self->out[way >> 8];

    if (weft_message_lines((uint32_t)bytes) > 32 && (((uintptr_t)source | bytes) & 3) == 0)
        return weft_channel_put_by_all(self, out, head, (const unsigned char *)source);
    return threadIdx.x >= 32 ||
           weft_channel_put_by_warp(self, out, head, (const unsigned char *)source);
}

/* It is not made of whole words, or must wait, or comes after what went another way. */
WEFT_COLD void weft_channel_put_far(weft_self *self, uint32_t way, uint64_t to, const void *source,
                                    size_t bytes, int tag)
{
    const struct weft_head head = {to, (uint32_t)bytes, 0, (uint32_t)tag, true, false, false};
    struct weft_out *const out = &self->out[way >> 8];

    if (weft_message_lines((uint32_t)bytes) > 32 && (((uintptr_t)source | bytes) & 3) == 0)
        __syncthreads(); /* all have looked at what the leader changes now */
    if (threadIdx.x >= 32)
        return;
    __syncwarp();
    if (threadIdx.x == 0 && self->unsettled != 0)
        weft_settle(self, out->process);
    __syncwarp();
    weft_message_put(self, weft_crew_warp(), out, head, (const unsigned char *)source);
}

/* A notification, which stands for all that the rank did, unless relaxed. It calls nothing. False:
 * nothing has been done. The leader. */
WEFT_COLD bool weft_channel_notify_hot(weft_self *self, uint32_t way, uint32_t tag, bool relaxed)
{
    WEFT_IN_SHARED(self);
    struct weft_out *const out = &self->out[way >> 8];

    if (self->unsettled != 0 || weft_out_full(out, 1))
        return false;
    weft_message_notice_now(self, out, tag, true, !relaxed);
    return true;
}

WEFT_COLD void weft_channel_notify_far(weft_self *self, const struct weft_route *to, uint32_t tag,
                                       bool relaxed)
{
    if (self->unsettled != 0)
        weft_settle(self, to->process);
    weft_channel_notify(self, to, tag, relaxed);
}

#endif
