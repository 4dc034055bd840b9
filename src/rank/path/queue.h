/*
 * rank/path/queue.h - the way by a queue of this rank to a process (gda/queue.h): the rank builds
 * requests, rings and polls, and no host is on the way. What a queue does not take (memory that the
 * NIC does not know, updates that it does not have) goes another way, when the queue is empty.
 *
 * A notification is a FETCH_ADD on the target's word of weft_state.nic, behind the writes. All of
 * this is the leader's, but for what says otherwise.
 */
#ifndef WEFT_RANK_PATH_QUEUE_H
#define WEFT_RANK_PATH_QUEUE_H

#include "rank/path/queue_post.h"

/* ---- where the NIC finds what ---------------------------------------------------------------- */

/* Finds the key of this process's memory; 0: it is not known. Any thread. */
WEFT_INLINE uint32_t weft_queue_lkey(const weft_self *self, const void *memory, uint64_t bytes)
{
    return weft_gda_key_of(self->state->nic_keys, (uint64_t)(uintptr_t)memory, bytes);
}

/* Finds a part of the target's window. rkey 0: it is not known. Any thread. */
WEFT_COLD struct weft_gda_remote weft_queue_remote(weft_self *self, weft_win win,
                                                   const struct weft_route *to, int target,
                                                   size_t offset, uint64_t bytes)
{
    const struct weft_window *window = weft_check_window(self, win, "weft_put");
    struct weft_gda_remote remote;

    remote.address = to->home + offset;
    if (to->process == self->process)
        remote.rkey = weft_queue_lkey(self, (const void *)(uintptr_t)remote.address, bytes);
    else
        remote.rkey = weft_gda_rkey(window->entry[target].key);
    return remote;
}

/* Bytes of a source, or what was fetched, after its completion was seen. */
WEFT_COLD void weft_queue_read(unsigned char *to, const unsigned char *from, size_t bytes)
{
#ifdef __CUDACC__
    for (size_t i = 0; i < bytes; i++)
        to[i] = ((const volatile unsigned char *)from)[i];
#else
    weft_read_shared(to, from, bytes);
#endif
}

/* ---- puts and notices ------------------------------------------------------------------------ */

/* Writes one row, in pieces, from its own bytes or by key. False: the rank is about to end. */
WEFT_INLINE bool weft_queue_write(weft_self *self, int process, struct weft_gda_remote to,
                                  const unsigned char *source, uint64_t bytes, uint32_t lkey)
{
    const uint32_t qpn = self->queues[process].qpn;
    const bool inside = bytes <= WEFT_MLX5_INLINE_MOST;
    struct weft_wqe wqe;

    while (bytes != 0) {
        const uint32_t piece = bytes < WEFT_MLX5_BYTES ? (uint32_t)bytes : WEFT_MLX5_BYTES;
        if (inside) {
            unsigned char data[WEFT_MLX5_INLINE_MOST];
            weft_queue_read(data, source, piece);
            weft_wqe_inline(&wqe, 0, qpn, to, data, piece, false);
        } else {
            const struct weft_gda_local from = {
                .address = (uint64_t)(uintptr_t)source, .bytes = piece, .lkey = lkey};
            weft_wqe_move(&wqe, WEFT_MLX5_WRITE, 0, qpn, to, from, false);
        }
        if (!weft_queue_post(self, process, &wqe, false))
            return false;
        to.address += piece;
        source += piece;
        bytes -= piece;
    }
    return true;
}

/* Adds one to the tag, behind all that was posted. */
WEFT_COLD void weft_queue_count(weft_self *self, int process, uint32_t slot, uint32_t tag)
{
    struct weft_gda_queue *const queue = &self->queues[process];
    const struct weft_gda_remote word = {
        queue->counts + weft_count_index(slot, tag) * sizeof(uint64_t), queue->counts_rkey};
    const struct weft_gda_local old = {
        .address = queue->sink + WEFT_SINK_OLD, .bytes = 8, .lkey = queue->sink_lkey};
    struct weft_wqe wqe;

    weft_wqe_atomic(&wqe, WEFT_MLX5_FETCH_ADD, 0, queue->qpn, word, 1, 0, old, true);
    weft_queue_post(self, process, &wqe, true);
}

WEFT_COLD void weft_queue_notify(weft_self *self, int process, uint32_t slot, uint32_t tag)
{
    weft_queue_enter(self, process);
    weft_queue_count(self, process, slot, tag);
    weft_queue_posted(self, process);
}

/*
 * False: the NIC does not know the memory; it goes another way, and the queue is empty. (By value,
 * as in weft_proxy_put.) All threads, which have met.
 */
WEFT_COLD bool weft_queue_put(weft_self *self, weft_win win, struct weft_route to, int target,
                              size_t offset, const void *source, struct weft_shape shape, int tag)
{
    const bool empty = shape.width == 0;
    const bool inside = empty || shape.width <= WEFT_MLX5_INLINE_MOST;
    const uint32_t lkey =
        inside ? 0 : weft_queue_lkey(self, source, weft_shape_span(&shape, shape.source_pitch));
    const unsigned char *from = (const unsigned char *)source;
    struct weft_gda_remote remote = {0, 1};

    if (!empty)
        remote =
            weft_queue_remote(self, win, &to, target, offset, weft_shape_span(&shape, shape.pitch));
    if (!weft_is_queued(self, to.process, to.slot) || remote.rkey == 0 || (!inside && lkey == 0)) {
        if (weft_leads(self))
            weft_queue_settle(self, to.process);
        return false;
    }
    if (!weft_leads(self))
        return true;
    weft_queue_enter(self, to.process);
    for (size_t rows = empty ? 0 : shape.height; rows != 0; rows--) {
        if (!weft_queue_write(self, to.process, remote, from, shape.width, lkey))
            return true;
        remote.address += shape.pitch;
        from += shape.source_pitch;
    }
    if (tag >= 0)
        weft_queue_count(self, to.process, to.slot, (uint32_t)tag);
    weft_queue_posted(self, to.process);
    return true;
}

/* ---- gets and atomics ------------------------------------------------------------------------ */

/* Whether gets and atomics go by the queue: what is mapped does not need it. */
WEFT_INLINE bool weft_queue_reaches(const weft_self *self, const struct weft_route *to)
{
    return (to->way == WEFT_WAY_QUEUE || to->address == NULL) &&
           weft_is_queued(self, to->process, to->slot);
}

/*
 * `now`: it is there on return. False: the NIC does not know the memory, and nothing has been
 * done. All threads, which have met.
 */
WEFT_COLD bool weft_queue_get(weft_self *self, weft_win win, const struct weft_route *route,
                              int from, size_t offset, unsigned char *to,
                              const struct weft_shape *shape, bool now)
{
    struct weft_gda_queue *const queue = &self->queues[route->process];
    const uint32_t lkey = weft_queue_lkey(self, to, weft_shape_span(shape, shape->pitch));
    const bool by_sink = lkey == 0 && now && shape->height == 1 && shape->width <= WEFT_SINK_WANTED;
    struct weft_gda_remote remote = weft_queue_remote(self, win, route, from, offset,
                                                      weft_shape_span(shape, shape->source_pitch));

    if (shape->width == 0 || shape->width > WEFT_MLX5_BYTES || remote.rkey == 0 ||
        (lkey == 0 && !by_sink))
        return false;
    if (!weft_leads(self))
        return true;
    weft_queue_enter(self, route->process);
    for (size_t row = 0; row < shape->height; row++) {
        struct weft_gda_local here = {.address = (uint64_t)(uintptr_t)(to + row * shape->pitch),
                                      .bytes = (uint32_t)shape->width,
                                      .lkey = lkey};
        struct weft_wqe wqe;
        if (by_sink) {
            here.address = queue->sink;
            here.lkey = queue->sink_lkey;
        }
        weft_wqe_move(&wqe, WEFT_MLX5_READ, 0, queue->qpn, remote, here, true);
        if (!weft_queue_post(self, route->process, &wqe, true))
            return true;
        remote.address += shape->source_pitch;
    }
    weft_queue_posted(self, route->process);
    if (!now)
        return true;
    weft_queue_await(self, route->process, queue->posted);
    if (by_sink)
        weft_queue_read(to, (const unsigned char *)(uintptr_t)queue->sink, shape->width);
    return true;
}

/* Updates, as weft_queue_get gets; a NIC has sums and comparisons of 8 bytes. The old value is
 * self->fetched if `now`; else it goes to *old. */
WEFT_COLD bool weft_queue_update(weft_self *self, weft_win win, const struct weft_route *to,
                                 int target, size_t offset, const struct weft_change *change,
                                 bool now, void *old)
{
    struct weft_gda_queue *const queue = &self->queues[to->process];
    struct weft_gda_local back = {
        .address = queue->sink + (now ? 0 : WEFT_SINK_OLD), .bytes = 8, .lkey = queue->sink_lkey};
    const struct weft_gda_remote word = weft_queue_remote(self, win, to, target, offset, 8);
    struct weft_wqe wqe;

    if (!now && old != NULL) {
        back.address = (uint64_t)(uintptr_t)old;
        back.lkey = weft_queue_lkey(self, old, 8);
    }
    if (change->type != WEFT_U64 || (change->how != WEFT_SUM && change->how != WEFT_COMPARE) ||
        word.rkey == 0 || back.lkey == 0)
        return false;
    if (!weft_leads(self))
        return true;
    weft_queue_enter(self, to->process);
    weft_wqe_atomic(&wqe, change->how == WEFT_SUM ? WEFT_MLX5_FETCH_ADD : WEFT_MLX5_COMPARE_SWAP, 0,
                    queue->qpn, word, change->value, change->expected, back, true);
    if (!weft_queue_post(self, to->process, &wqe, true))
        return true;
    weft_queue_posted(self, to->process);
    if (!now)
        return true;
    weft_queue_await(self, to->process, queue->posted);
    weft_queue_read((unsigned char *)&self->fetched, (const unsigned char *)(uintptr_t)back.address,
                    8);
    return true;
}

#endif
