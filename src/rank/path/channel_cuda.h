/*
 * rank/path/channel_cuda.h - a short notified put through a channel, straight: what weft_path_put
 * does for it, without looking at anything else that a put might be.
 *
 * Every instruction between the call and the store of the line is part of the message's latency,
 * and each branch costs as much as several; what comes after the store does not matter.
 */
#ifndef WEFT_RANK_PATH_CHANNEL_CUDA_H
#define WEFT_RANK_PATH_CHANNEL_CUDA_H

#include "rank/path/proxy.h"
#include "rank/wait/look_cuda.h"

/* What the leader notes after a message. */
WEFT_INLINE void weft_channel_put_noted(weft_self *self, struct weft_out *out,
                                        const struct weft_head *head, uint32_t next)
{
    out->head = next;
    if (head->bytes != 0)
        weft_out_cover(out, head->address, head->address + head->bytes);
    weft_turn(self);
}

/* Loads as weft_line_load, of a source and a size that are multiples of 4. */
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

/* Puts what is not made of whole words, or must wait, or comes after what went another way. */
WEFT_COLD void weft_channel_put_prepared(weft_self *self, struct weft_out *out,
                                         struct weft_head head, const unsigned char *source)
{
    __syncwarp(); /* all have looked at what the leader changes now */
    if (threadIdx.x == 0 && self->unsettled != 0)
        weft_settle(self, out->process);
    __syncwarp();
    const struct weft_crew warp = {threadIdx.x, 32};
    weft_message_put(self, warp, out, head, source);
    if (threadIdx.x == 0)
        weft_turn(self);
}

/* Writes a line of the message by each lane of the first warp. After a barrier of all. */
WEFT_INLINE void weft_channel_put_by_warp(weft_self *self, struct weft_out *out,
                                          struct weft_head head, const unsigned char *source)
{
    const uint32_t lines = weft_message_lines(head.bytes), begin = out->head;
    uint32_t pair[2];

    if (WEFT_UNLIKELY((out->dirty | self->unsettled) != 0 || weft_out_full(out, lines) ||
                      (((uintptr_t)source | head.bytes) & 3) != 0)) {
        weft_channel_put_prepared(self, out, head, source);
        return;
    }
    weft_line_load_words(pair, source, head.bytes, threadIdx.x);
    if (threadIdx.x < lines)
        weft_line_store(out, begin, threadIdx.x, &head, pair);
    __syncwarp(); /* all have read where to begin */
    if (threadIdx.x == 0)
        weft_channel_put_noted(self, out, &head, begin + lines);
}

/* Lines by every thread: more than a warp has lanes. After a barrier of all. */
WEFT_INLINE void weft_channel_put_by_all(weft_self *self, struct weft_out *out,
                                         struct weft_head head, const unsigned char *source)
{
    const uint32_t lines = weft_message_lines(head.bytes), begin = out->head;

    head.release = (out->dirty | self->unsettled) != 0;
    if (WEFT_UNLIKELY(head.release || weft_out_full(out, lines))) {
        __syncthreads(); /* all have looked */
        if (threadIdx.x == 0) {
            if (self->unsettled != 0)
                weft_settle(self, out->process);
            weft_message_prepare(self, weft_crew_alone(), out, lines, head.release);
        }
        __syncthreads();
    }
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
        weft_channel_put_noted(self, out, &head, begin + lines);
}

/* Puts through a channel. All threads. */
WEFT_INLINE void weft_channel_put_short(weft_self *self, const struct weft_route *to, size_t offset,
                                        const void *source, size_t bytes, int tag)
{
    const struct weft_head head = {.address = to->home + offset,
                                   .bytes = (uint32_t)bytes,
                                   .tag = (uint32_t)tag,
                                   .notice = true};
    struct weft_out *const out = &self->out[to->way >> 8];

    weft_join(self); /* all threads: what they wrote to the source is there */
    if (weft_message_lines((uint32_t)bytes) > 32 && (((uintptr_t)source | bytes) & 3) == 0)
        weft_channel_put_by_all(self, out, head, (const unsigned char *)source);
    else if (threadIdx.x < 32)
        weft_channel_put_by_warp(self, out, head, (const unsigned char *)source);
}

#endif
