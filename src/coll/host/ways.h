/*
 * coll/host/ways.h - the algorithms. Each writes the whole plan of one member. Which is taken for
 * what: select.c.
 */
#ifndef WEFT_COLL_HOST_WAYS_H
#define WEFT_COLL_HOST_WAYS_H

#include "coll/host/plan.h"

/* tree.c: binomial trees */
void weft_tree_broadcast(weft_team_op *op, int root, void *data, size_t bytes);
void weft_tree_reduce(weft_team_op *op, int root, const void *source, void *target, size_t count);

/* doubling.c */
void weft_doubling_barrier(weft_team_op *op);
/* Of a power of two of members. */
void weft_doubling_allreduce(weft_team_op *op, const void *source, void *target, size_t count);
void weft_doubling_scan(weft_team_op *op, bool before, const void *source, void *target,
                        size_t count);

/* pieces.c: where the piece of each member is. sizes NULL: `bytes` each, `apart` from one to the
 * next, and what is behind `all` bytes is none's. */
struct weft_pieces {
    void *base;
    const size_t *sizes, *offsets;
    size_t bytes, apart, all;
};
/* Between the root and each other member, which has `own`; NULL at the root: it is in its place. */
void weft_pieces_root(weft_team_op *op, int root, bool gathers, void *own, size_t bytes,
                      const struct weft_pieces *all);
/* source NULL: it is in its place. */
void weft_pieces_allgather(weft_team_op *op, const void *source, const struct weft_pieces *in);
void weft_pieces_alltoall(weft_team_op *op, const struct weft_pieces *out,
                          const struct weft_pieces *in);
void weft_pieces_broadcast(weft_team_op *op, int root, void *data, size_t bytes);
/* Also of operations that do not commute. */
void weft_pieces_reduce_scatter(weft_team_op *op, const struct weft_pieces *parts, void *target);
void weft_pieces_allreduce(weft_team_op *op, const void *source, void *target, size_t count);
void weft_pieces_exchange(weft_team_op *op, const weft_piece *sends, size_t sends_count,
                          const weft_piece *receives, size_t receives_count);

static inline void *weft_at(const void *base, size_t bytes)
{
    return (unsigned char *)base + bytes;
}
/* Of n members, alike and one after the other. */
static inline struct weft_pieces weft_pieces_even(const void *base, size_t bytes, int n)
{
    return (struct weft_pieces){
        .base = (void *)base, .bytes = bytes, .apart = bytes, .all = bytes * (size_t)n};
}

#endif
