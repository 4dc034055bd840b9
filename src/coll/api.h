/*
 * coll/api.h - the calls of weft/coll.h. For GPUs that header includes this one, so that they are
 * compiled into each kernel; for the CPU device they are compiled once, in api.c.
 */
#ifndef WEFT_COLL_API_H
#define WEFT_COLL_API_H

#include "coll/blocks.h"
#include "coll/sizes.h"

/* Whether what a rank gives fits into a cell, and what comes of all processes fits where it is
 * fetched. */
WEFT_INLINE bool weft_coll_is_few(const weft_self *self, const struct weft_coll *c)
{
    const size_t bytes = c->count * c->size;

    return bytes <= WEFT_COLL_DATA &&
           (c->leaders == 1 ||
            weft_coll_cell_bytes(bytes) * (size_t)c->leaders <= weft_coll_room(self).bytes);
}

/* Puts the few elements of the first `members` ranks of one process together, out of the cells, and
 * compares the calls. */
WEFT_INLINE void weft_coll_reduce_cells(weft_self *self, const struct weft_coll *c, int32_t members)
{
    const struct weft_coll_from from = {.kind = WEFT_COLL_CELLS, .members = members};

    if (c->target != NULL && c->count != 0)
        weft_coll_fold(self, c, &from, c->target, c->count, true);
    else
        weft_coll_agree_here(self, c);
}

WEFT_COLD void weft_coll_reduce_any(weft_self *self, struct weft_coll *c)
{
    const int32_t root = c->call.root;

    WEFT_IN_SHARED(self);
    const bool few = weft_coll_is_few(self, c);
    if (few && c->leaders > 1) {
        weft_coll_few_far(self, c, -1);
        return;
    }
    weft_coll_publish(self, c, c->source, few ? c->count * c->size : 0);
    if (few) {
        weft_coll_reduce_cells(self, c, c->members);
        return;
    }
    weft_coll_agree(self, c);
    if (c->leaders == 1)
        weft_coll_reduce_here(self, c);
    else
        weft_coll_reduce_far(self, c, -1, root < 0 || weft_coll_is_here(self, c, root));
}

WEFT_FN void weft_reduce(weft_self *self, weft_comm comm, int root, const void *source,
                         void *target, size_t count, weft_type type, weft_operation operation)
{
    WEFT_TOGETHER_ALL(weft_reduce, self, comm, root, source, target, count, type, operation)
    struct weft_coll c;

    weft_coll_begin(self, &c, WEFT_COLL_REDUCE, comm, root, source, target, count, type, operation);
    weft_coll_reduce_any(self, &c);
    weft_region_end(self);
}

WEFT_FN void weft_allreduce(weft_self *self, weft_comm comm, const void *source, void *target,
                            size_t count, weft_type type, weft_operation operation)
{
    WEFT_TOGETHER_ALL(weft_allreduce, self, comm, source, target, count, type, operation)
    struct weft_coll c;

    weft_coll_begin(self, &c, WEFT_COLL_ALLREDUCE, comm, -1, source, target, count, type,
                    operation);
    weft_coll_reduce_any(self, &c);
    weft_region_end(self);
}

WEFT_INLINE void weft_coll_broadcast_any(weft_self *self, struct weft_coll *c, int root)
{
    const size_t bytes = c->count * c->size;
    const bool few = weft_coll_is_few(self, c);

    if (few && c->leaders > 1) {
        weft_coll_few_far(self, c, root);
        return;
    }
    weft_coll_publish(self, c, c->source, few && root == c->me ? bytes : 0);
    weft_coll_agree(self, c);
    if (c->leaders > 1) {
        weft_coll_reduce_far(self, c, root, true);
        return;
    }
    const struct weft_coll_cell *const cell = weft_coll_cell_of_rank(self, c, root);
    if (c->target != NULL)
        weft_coll_fetch(self, c->target, few ? cell->data : weft_coll_place(&cell->source), bytes);
    if (few)
        weft_join(self);
    else
        weft_barrier(self, c->comm);
}

WEFT_FN void weft_broadcast(weft_self *self, weft_comm comm, int root, void *data, size_t count,
                            weft_type type)
{
    WEFT_TOGETHER_ALL(weft_broadcast, self, comm, root, data, count, type)
    struct weft_coll c;

    weft_coll_begin(self, &c, WEFT_COLL_BROADCAST, comm, root, data, data, count, type, WEFT_SUM);
    c.target = root == c.me ? NULL : (unsigned char *)data;
    weft_coll_broadcast_any(self, &c, root);
    weft_region_end(self);
}

WEFT_FN void weft_reduce_scatter(weft_self *self, weft_comm comm, const void *source, void *target,
                                 size_t count, weft_type type, weft_operation operation)
{
    WEFT_TOGETHER_ALL(weft_reduce_scatter, self, comm, source, target, count, type, operation)
    struct weft_coll c;

    weft_coll_begin(self, &c, WEFT_COLL_REDUCE_SCATTER, comm, -1, source, target, count, type,
                    operation);
    weft_coll_publish(self, &c, NULL, 0);
    weft_coll_agree(self, &c);
    if (c.leaders > 1) {
        weft_coll_reduce_scatter_far(self, &c);
    } else {
        const struct weft_coll_from from = {.kind = WEFT_COLL_SOURCES,
                                            .members = c.members,
                                            .offset = (size_t)c.me * count * c.size};
        weft_coll_fold(self, &c, &from, c.target, count, true);
        weft_barrier(self, comm);
    }
    weft_region_end(self);
}

WEFT_FN void weft_scan(weft_self *self, weft_comm comm, const void *source, void *target,
                       size_t count, weft_type type, weft_operation operation)
{
    WEFT_TOGETHER_ALL(weft_scan, self, comm, source, target, count, type, operation)
    struct weft_coll c;

    weft_coll_begin(self, &c, WEFT_COLL_SCAN, comm, -1, source, target, count, type, operation);
    const bool few = c.leaders == 1 && weft_coll_is_few(self, &c);
    weft_coll_publish(self, &c, c.source, few ? count * c.size : 0);
    if (few) {
        weft_coll_reduce_cells(self, &c, c.me + 1);
    } else {
        weft_coll_agree(self, &c);
        weft_coll_scan_blocks(self, &c);
    }
    weft_region_end(self);
}

/* Gathers blocks of equal size to the call's root, or, without one (root < 0), to all. */
WEFT_INLINE void weft_coll_gather_any(weft_self *self, struct weft_coll *c)
{
    const bool few = c->leaders == 1 && weft_coll_is_few(self, c);
    const struct weft_coll_blocks even = {NULL, NULL};

    weft_coll_publish(self, c, c->source, few ? c->count * c->size : 0);
    weft_coll_agree(self, c);
    if (!few)
        weft_coll_gather_blocks(self, c, &even);
    else if (c->target != NULL && c->count != 0)
        weft_coll_gather_cells(self, c);
}

WEFT_FN void weft_gather(weft_self *self, weft_comm comm, int root, const void *source,
                         void *target, size_t count, weft_type type)
{
    WEFT_TOGETHER_ALL(weft_gather, self, comm, root, source, target, count, type)
    struct weft_coll c;

    weft_coll_begin(self, &c, WEFT_COLL_GATHER, comm, root, source, target, count, type, WEFT_SUM);
    weft_coll_gather_any(self, &c);
    weft_region_end(self);
}

WEFT_FN void weft_allgather(weft_self *self, weft_comm comm, const void *source, void *target,
                            size_t count, weft_type type)
{
    WEFT_TOGETHER_ALL(weft_allgather, self, comm, source, target, count, type)
    struct weft_coll c;

    weft_coll_begin(self, &c, WEFT_COLL_ALLGATHER, comm, -1, source, target, count, type, WEFT_SUM);
    weft_coll_gather_any(self, &c);
    weft_region_end(self);
}

WEFT_FN void weft_alltoall(weft_self *self, weft_comm comm, const void *source, void *target,
                           size_t count, weft_type type)
{
    WEFT_TOGETHER_ALL(weft_alltoall, self, comm, source, target, count, type)
    struct weft_coll c;

    weft_coll_begin(self, &c, WEFT_COLL_ALLTOALL, comm, -1, source, target, count, type, WEFT_SUM);
    weft_coll_publish(self, &c, NULL, 0);
    weft_coll_agree(self, &c);
    weft_coll_alltoall_blocks(self, &c);
    weft_region_end(self);
}

#endif
