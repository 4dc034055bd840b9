/*
 * coll/blocks.h - blocks of ranks that go from one to another as they are, and weft_scan, for which
 * elements of all ranks have to be where they are put together.
 *
 * In a process: between two barriers, by direct loads and stores. To others, piece by piece: each
 * rank has a piece of its source in its memory, and the ranks of a process share the others' among
 * them, so that each piece comes in once a process; pieces have two places in turns.
 */
#ifndef WEFT_COLL_BLOCKS_H
#define WEFT_COLL_BLOCKS_H

#include "coll/reduce.h"

/* Blocks of a rank's source or target, one for each member, in elements. sizes NULL: all have the
 * call's, one after the other. */
struct weft_coll_blocks {
    const size_t *sizes, *offsets;
};

/* Return how many bytes a block has, and at which byte it begins. */
WEFT_INLINE size_t weft_coll_bytes_of(const struct weft_coll *c, const struct weft_coll_blocks *b,
                                      int32_t i)
{
    return (b->sizes == NULL ? c->count : b->sizes[i]) * c->size;
}
WEFT_INLINE size_t weft_coll_begin_of(const struct weft_coll *c, const struct weft_coll_blocks *b,
                                      int32_t i)
{
    return (b->sizes == NULL ? c->count * (size_t)i : b->offsets[i]) * c->size;
}

/* Returns how many bytes of block i lie from `at` on, `most` at most. */
WEFT_INLINE size_t weft_coll_rest(const struct weft_coll *c, const struct weft_coll_blocks *b,
                                  int32_t i, size_t at, size_t most)
{
    const size_t bytes = weft_coll_bytes_of(c, b, i);
    const size_t rest = at < bytes ? bytes - at : 0;

    return rest < most ? rest : most;
}

/* Gathers small blocks of one process out of the cells: the threads go over the elements of all. */
WEFT_INLINE void weft_coll_gather_cells(weft_self *self, const struct weft_coll *c)
{
    const size_t count = c->count;
#ifdef __CUDACC__
    weft_for (k, count * (size_t)c->members) {
        const size_t i = k / count;
        const uint64_t one =
            weft_coll_load(weft_coll_cell(self, c, (int32_t)i)->data, k - i * count, c->size);
        if (c->size == 8)
            ((uint64_t *)c->target)[k] = one;
        else
            ((uint32_t *)c->target)[k] = (uint32_t)one;
    }
#else
    for (int32_t i = 0; i < c->members; i++)
        weft_coll_fetch(self, c->target + (size_t)i * count * c->size,
                        weft_coll_cell(self, c, i)->data, count * c->size);
#endif
    weft_join(self);
}

/* Stores a block, or a piece of it, to targets of this process that get it: all, or the root's. */
WEFT_INLINE void weft_coll_hand_out(weft_self *self, const struct weft_coll *c, size_t at,
                                    const unsigned char *block, size_t bytes)
{
    const int32_t root = c->call.root;

    if (c->target != NULL)
        weft_coll_fetch(self, c->target + at, block, bytes);
    if (root >= 0 && root != c->me && weft_coll_is_here(self, c, root))
        weft_coll_push(self, weft_coll_place(&weft_coll_cell_of_rank(self, c, root)->target) + at,
                       block, bytes);
    for (int32_t k = 1; root < 0 && k < c->here; k++) {
        const int32_t j = c->mine + k < c->here ? c->mine + k : c->mine + k - c->here;
        weft_coll_push(self, weft_coll_place(&weft_coll_cell(self, c, j)->target) + at, block,
                       bytes);
    }
}

/* Returns the rank that is the i-th of those in other processes. */
WEFT_INLINE int32_t weft_coll_other(const struct weft_coll *c, int32_t i)
{
    return c->entry->by_process[i < c->entry->first[c->lead] ? i : i + c->here];
}

/* Gathers blocks: the own one to ranks here, then the others' pieces. All ranks know all sizes. */
WEFT_COLD void weft_coll_gather_blocks(weft_self *self, const struct weft_coll *c,
                                       const struct weft_coll_blocks *b)
{
    const int32_t others = c->members - c->here;
    const bool for_us = c->call.root < 0 || weft_coll_is_here(self, c, c->call.root);
    const struct weft_coll_room room = weft_coll_room(self);
    size_t most = b->sizes == NULL ? c->count : 0;
    int32_t turn = 0;

    WEFT_IN_SHARED(self);
    for (int32_t i = 0; b->sizes != NULL && i < c->members; i++)
        most = b->sizes[i] > most ? b->sizes[i] : most;
    weft_coll_hand_out(self, c, weft_coll_begin_of(c, b, c->me), c->source,
                       weft_coll_bytes_of(c, b, c->me));
    for (size_t at = 0; others != 0 && at < most * c->size; at += room.bytes, turn ^= 1) {
        weft_coll_push(self, weft_coll_own(self, room.turn[turn]), c->source + at,
                       weft_coll_rest(c, b, c->me, at, room.bytes));
        weft_barrier(self, c->comm);
        for (int32_t i = c->mine; for_us && i < others; i += c->here) {
            const int32_t rank = weft_coll_other(c, i);
            const size_t bytes = weft_coll_rest(c, b, rank, at, room.bytes);
            const unsigned char *from = c->window->entry[rank].address;
            if (bytes == 0)
                continue;
            if (from == NULL)
                weft_get(self, c->win, rank, room.turn[turn], weft_coll_own(self, room.fetched),
                         bytes);
            from = from != NULL ? from + room.turn[turn] : weft_coll_own(self, room.fetched);
            weft_coll_hand_out(self, c, weft_coll_begin_of(c, b, rank) + at, from, bytes);
            weft_join(self); /* before the next is fetched there */
        }
    }
    weft_barrier(self, c->comm);
}

/* Does a round: lays out pieces of the blocks for other processes, then takes what the others have
 * laid out. */
WEFT_INLINE void weft_coll_exchange_pieces(weft_self *self, const struct weft_coll *c,
                                           const struct weft_coll_blocks *sends,
                                           const struct weft_coll_blocks *receives, uint64_t turn,
                                           size_t apart, size_t at)
{
    const int32_t others = c->members - c->here;

    for (int32_t i = 0; i < others; i++) {
        const int32_t rank = weft_coll_other(c, i);
        weft_coll_push(self, weft_coll_own(self, turn + (size_t)rank * apart),
                       c->source + weft_coll_begin_of(c, sends, rank) + at,
                       weft_coll_rest(c, sends, rank, at, apart));
    }
    weft_barrier(self, c->comm);
    for (int32_t i = 0; i < others; i++) {
        const int32_t rank = weft_coll_other(c, i);
        const unsigned char *const from = c->window->entry[rank].address;
        const uint64_t there = turn + (size_t)c->me * apart;
        const size_t bytes = weft_coll_rest(c, receives, rank, at, apart);
        unsigned char *const to = c->target + weft_coll_begin_of(c, receives, rank) + at;
        if (bytes != 0 && from != NULL)
            weft_coll_fetch(self, to, from + there, bytes);
        else if (bytes != 0)
            weft_coll_ask(self, c, rank, there, to, bytes);
    }
    if (!c->mapped)
        weft_flush(self, c->win);
}

/* Exchanges the blocks of other processes, the largest of `most` bytes, and ends the call. */
WEFT_COLD void weft_coll_exchange_blocks(weft_self *self, const struct weft_coll *c,
                                         const struct weft_coll_blocks *sends,
                                         const struct weft_coll_blocks *receives, size_t most)
{
    const struct weft_coll_room room = weft_coll_room(self);
    const size_t apart = most != 0 ? weft_coll_fits(self, c, (size_t)c->members) * c->size : 0;
    int32_t turn = 0;

    WEFT_IN_SHARED(self);
    for (size_t at = 0; at < most; at += apart, turn ^= 1)
        weft_coll_exchange_pieces(self, c, sends, receives, room.turn[turn], apart, at);
    weft_barrier(self, c->comm);
}

WEFT_INLINE void weft_coll_alltoall_blocks(weft_self *self, const struct weft_coll *c)
{
    const struct weft_coll_blocks even = {NULL, NULL};
    const size_t block = c->count * c->size;

    for (int32_t k = 0; k < c->here; k++) {
        const int32_t j = c->mine + k < c->here ? c->mine + k : c->mine + k - c->here;
        weft_coll_fetch(
            self, c->target + (size_t)weft_coll_rank_here(c, j) * block,
            weft_coll_place(&weft_coll_cell(self, c, j)->source) + (size_t)c->me * block, block);
    }
    weft_coll_exchange_blocks(self, c, &even, &even, c->leaders > 1 ? block : 0);
}

/* ---- scan ---------------------------------------------------------------------------------- */

/* Scans elements [at, at + count) of everybody, rank by rank; this rank does a slice of them. */
WEFT_INLINE void weft_coll_scan_slices(weft_self *self, const struct weft_coll *c, size_t at,
                                       size_t count, uint64_t turn)
{
    const struct weft_coll_span span = weft_coll_slice(count, c->here, c->mine, c->size);
    struct weft_coll_from from = {.kind = WEFT_COLL_RANKS,
                                  .each = true,
                                  .members = c->members,
                                  .offset = (at + span.first) * c->size};

    if (c->leaders > 1) {
        from.at = turn + span.first * c->size;
        from.stride = span.count * c->size;
        from.fetched = weft_coll_own(self, weft_coll_room(self).fetched);
    }
    if (c->leaders > 1 && !c->mapped && span.count != 0) {
        for (int32_t i = 0; i < c->members; i++)
            weft_coll_ask(self, c, i, from.at, from.fetched + (size_t)i * from.stride, from.stride);
        weft_flush(self, c->win);
    }
    weft_coll_fold(self, c, &from, NULL, span.count, false);
}

WEFT_COLD void weft_coll_scan_blocks(weft_self *self, const struct weft_coll *c)
{
    const bool far = c->leaders > 1;
    const struct weft_coll_room room = weft_coll_room(self);
    const size_t even = 16 / c->size;
    /* So many that what everybody has of a slice fits, a slice being cut evenly. */
    const size_t slice = far ? weft_coll_fits(self, c, (size_t)c->members * even) * even : 0;
    const size_t most = far ? slice * (size_t)c->entry->least - 1 : c->count;
    int32_t turn = 0;

    WEFT_IN_SHARED(self);
    for (size_t at = 0, count; at < c->count; at += count, turn ^= 1) {
        count = c->count - at < most ? c->count - at : most;
        if (far) {
            weft_coll_push(self, weft_coll_own(self, room.turn[turn]), c->source + at * c->size,
                           count * c->size);
            weft_barrier(self, c->comm);
        }
        weft_coll_scan_slices(self, c, at, count, room.turn[turn]);
    }
    weft_barrier(self, c->comm);
}

#endif
