/*
 * coll/reduce.h - what puts elements of all ranks together, and broadcast, which goes the same
 * ways.
 *
 * One process: a small source is in its rank's cell, and everybody reads all cells after one
 * barrier. Of a large one each rank puts a slice together and stores it to all targets, between two
 * barriers: reduce-scatter and allgather by direct loads and stores.
 *
 * Several: piece by piece. A column is one rank of each process; each column has a chunk of the
 * piece. Its ranks put their process's sources together, then a part of the chunk of all
 * processes, then collect the other parts: Rabenseifner's algorithm (Thakur, Rabenseifner,
 * Gropp, "Optimization of collective communication operations in MPICH", 2005) with direct
 * exchange in place of halving and doubling, and store them to their process's targets. Each
 * process takes in 2 (p - 1) / p of the data.
 */
#ifndef WEFT_COLL_REDUCE_H
#define WEFT_COLL_REDUCE_H

#include "coll/far.h"

/* Elements [first, first + count) of a vector. */
struct weft_coll_span {
    size_t first, count;
};

/* Returns the i-th of `parts` parts of `count` elements, cut where copies are wide. */
WEFT_INLINE struct weft_coll_span weft_coll_slice(size_t count, int32_t parts, int32_t i,
                                                  uint32_t size)
{
    const size_t even = 16 / size;
    const size_t each = (weft_coll_over(count, (size_t)parts * even) + 1) * even;
    const size_t first = each * (size_t)i;
    struct weft_coll_span span = {count, 0};

    if (first < count) {
        span.first = first;
        span.count = count - first < each ? count - first : each;
    }
    return span;
}

/* Does weft_reduce and weft_allreduce in one process, of what does not fit into a cell. */
WEFT_INLINE void weft_coll_reduce_here(weft_self *self, const struct weft_coll *c)
{
    const struct weft_coll_span span = weft_coll_slice(c->count, c->here, c->mine, c->size);
    const size_t at = span.first * c->size;
    const int32_t root = c->call.root;
    const struct weft_coll_from from = {
        .kind = WEFT_COLL_SOURCES, .spread = root < 0, .members = c->here, .offset = at};
    unsigned char *const to =
        (root < 0 ? c->target : weft_coll_place(&weft_coll_cell_of_rank(self, c, root)->target)) +
        at;

    weft_coll_fold(self, c, &from, to, span.count, root < 0 || root == c->me);
    weft_barrier(self, c->comm);
}

/* ---- several processes --------------------------------------------------------------------- */

/* How a vector is cut between processes: columns have chunks, of which processes have parts. */
struct weft_coll_cut {
    struct weft_coll_room room;
    size_t part, chunk, piece; /* elements: piece = columns * chunk, chunk = processes * part */
};

/* Cuts `all` elements into parts that fit, or smaller ones, so that every column has some. */
WEFT_INLINE struct weft_coll_cut weft_coll_cut(weft_self *self, const struct weft_coll *c,
                                               size_t all)
{
    const size_t parts = (size_t)c->leaders * (size_t)c->entry->least, even = 16 / c->size;
    const size_t enough = (weft_coll_over(all, parts * even) + 1) * even;
    struct weft_coll_cut cut;

    cut.room = weft_coll_room(self);
    cut.part = weft_coll_fits(self, c, (size_t)c->leaders);
    cut.part = cut.part < enough ? cut.part : enough;
    cut.chunk = cut.part * (size_t)c->leaders;
    cut.piece = cut.chunk * (size_t)c->entry->least;
    return cut;
}

/* Return the elements of a column's chunk of the piece from `done` on, and of a process's part. */
WEFT_INLINE struct weft_coll_span weft_coll_chunk(const struct weft_coll *c,
                                                  const struct weft_coll_cut *cut, size_t all,
                                                  size_t done, int32_t column)
{
    struct weft_coll_span span = {done + cut->chunk * (size_t)column, 0};

    if (column < c->entry->least && span.first < all)
        span.count = all - span.first < cut->chunk ? all - span.first : cut->chunk;
    return span;
}
WEFT_INLINE struct weft_coll_span weft_coll_part(const struct weft_coll_cut *cut,
                                                 struct weft_coll_span chunk, int32_t process)
{
    struct weft_coll_span span = {cut->part * (size_t)process, 0};

    if (span.first < chunk.count)
        span.count = chunk.count - span.first < cut->part ? chunk.count - span.first : cut->part;
    return span;
}

/* Puts this process's sources of a chunk together; root >= 0: takes that rank's, if it is here. */
WEFT_INLINE void weft_coll_fill(weft_self *self, const struct weft_coll *c, int32_t root,
                                struct weft_coll_span chunk, uint64_t to)
{
    const size_t at = chunk.first * c->size;
    const struct weft_coll_from from = {
        .kind = WEFT_COLL_SOURCES, .members = c->here, .offset = at};
    unsigned char *const own = weft_coll_own(self, to);

    if (root < 0)
        weft_coll_fold(self, c, &from, own, chunk.count, false);
    else if (chunk.count != 0 && weft_coll_is_here(self, c, root))
        weft_coll_push(self, own,
                       weft_coll_place(&weft_coll_cell_of_rank(self, c, root)->source) + at,
                       chunk.count * c->size);
}

/* Combines this process's part of the chunk, of all processes; source >= 0: takes that one's. */
WEFT_INLINE void weft_coll_combine(weft_self *self, const struct weft_coll *c,
                                   const struct weft_coll_cut *cut, struct weft_coll_span chunk,
                                   uint64_t turn, int32_t source)
{
    const struct weft_coll_span part = weft_coll_part(cut, chunk, c->lead);
    const size_t bytes = part.count * c->size;
    const uint64_t at = turn + part.first * c->size;
    unsigned char *const own = weft_coll_own(self, cut->room.part);

    if (part.count == 0)
        return;
    if (source < 0) {
        const struct weft_coll_from from = weft_coll_column(self, c, c->mine, at, bytes);
        weft_coll_fold(self, c, &from, own, part.count, false);
        return;
    }
    const int32_t rank = weft_coll_rank_of(c, source, c->mine);
    if (c->window->entry[rank].address == NULL)
        weft_get(self, c->win, rank, at, own, bytes);
    else
        weft_coll_push(self, own, c->window->entry[rank].address + at, bytes);
}

/* Collects the parts of the column's chunk from all processes, one behind the other. */
WEFT_INLINE void weft_coll_collect(weft_self *self, const struct weft_coll *c,
                                   const struct weft_coll_cut *cut, struct weft_coll_span chunk,
                                   uint64_t turn)
{
    for (int32_t k = 0; k < c->leaders; k++) {
        const int32_t p = c->lead + k < c->leaders ? c->lead + k : c->lead + k - c->leaders;
        const struct weft_coll_span part = weft_coll_part(cut, chunk, p);
        const int32_t rank = weft_coll_rank_of(c, p, c->mine);
        const unsigned char *const address = c->window->entry[rank].address;
        unsigned char *const to = weft_coll_own(self, turn + part.first * c->size);
        if (part.count == 0)
            continue;
        if (address == NULL)
            weft_coll_ask(self, c, rank, cut->room.part, to, part.count * c->size);
        else
            weft_coll_push(self, to, address + cut->room.part, part.count * c->size);
    }
    if (!c->mapped)
        weft_flush(self, c->win);
}

/* Stores the column's chunk, which this rank has, to those of this process that get it: the root of
 * weft_reduce, or all. */
WEFT_INLINE void weft_coll_spread_chunk(weft_self *self, const struct weft_coll *c,
                                        struct weft_coll_span chunk, uint64_t turn)
{
    const size_t at = chunk.first * c->size;
    unsigned char *const own = weft_coll_own(self, turn);

    weft_join(self); /* all threads have collected */
    if (c->call.what == WEFT_COLL_REDUCE) {
        weft_coll_push(self,
                       weft_coll_place(&weft_coll_cell_of_rank(self, c, c->call.root)->target) + at,
                       own, chunk.count * c->size);
    } else {
        const struct weft_coll_from from = {
            .kind = WEFT_COLL_OWN, .spread = true, .members = 1, .offset = at};
        weft_coll_fold(self, c, &from, own, chunk.count, false);
    }
}

/* Does weft_reduce, weft_allreduce and weft_broadcast (root: whose elements are for all; else < 0)
 * of several processes. for_us: whether any rank of this process gets the result. */
WEFT_COLD void weft_coll_reduce_far(weft_self *self, const struct weft_coll *c, int32_t root,
                                    bool for_us)
{
    const struct weft_coll_cut cut = weft_coll_cut(self, c, c->count);
    int32_t source = root < 0 ? -1 : 0, turn = 0;

    WEFT_IN_SHARED(self);
    while (root >= 0 && c->entry->leader[source] != c->entry->member[root].process)
        source++;
    for (size_t done = 0; done < c->count; done += cut.piece, turn ^= 1) {
        const struct weft_coll_span mine = weft_coll_chunk(c, &cut, c->count, done, c->mine);
        const uint64_t at = cut.room.turn[turn];

        weft_coll_fill(self, c, root, mine, at);
        weft_barrier(self, c->comm);
        weft_coll_combine(self, c, &cut, mine, at, source);
        weft_barrier(self, c->comm);
        if (for_us && mine.count != 0) {
            weft_coll_collect(self, c, &cut, mine, at);
            weft_coll_spread_chunk(self, c, mine, at);
        }
    }
    weft_barrier(self, c->comm);
}

/* Does weft_reduce_scatter of several processes. Only what is this rank's is combined. */
WEFT_COLD void weft_coll_reduce_scatter_far(weft_self *self, const struct weft_coll *c)
{
    const size_t all = c->count * (size_t)c->members, first = c->count * (size_t)c->me;
    const struct weft_coll_cut cut = weft_coll_cut(self, c, all);
    int32_t turn = 0;

    WEFT_IN_SHARED(self);
    for (size_t done = 0; done < all; done += cut.piece, turn ^= 1) {
        const uint64_t at = cut.room.turn[turn];
        const size_t end =
            done + cut.piece < first + c->count ? done + cut.piece : first + c->count;

        weft_coll_fill(self, c, -1, weft_coll_chunk(c, &cut, all, done, c->mine), at);
        weft_barrier(self, c->comm);
        for (size_t e = first > done ? first : done, n; e < end; e += n) {
            const size_t column = (e - done) / cut.chunk, in = (e - done) % cut.chunk;
            n = end - e < cut.chunk - in ? end - e : cut.chunk - in;
            n = n < cut.part ? n : cut.part;
            const struct weft_coll_from from =
                weft_coll_column(self, c, (int32_t)column, at + in * c->size, n * c->size);
            weft_coll_fold(self, c, &from, c->target + (e - first) * c->size, n, true);
        }
    }
    weft_barrier(self, c->comm);
}

#endif
