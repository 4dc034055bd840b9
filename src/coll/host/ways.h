/*
 * coll/host/ways.h - the algorithms. Each writes the whole plan of one member. select.c chooses
 * one.
 */
#ifndef WEFT_COLL_HOST_WAYS_H
#define WEFT_COLL_HOST_WAYS_H

#include "coll/host/plan.h"

/* tree.c: by binomial trees */
void weft_tree_broadcast(weft_team_op *op, int root, void *data, size_t bytes);
void weft_tree_reduce(weft_team_op *op, int root, const void *source, void *target, size_t count);

/* doubling.c: by recursive doubling */
void weft_doubling_barrier(weft_team_op *op);
/* Writes an allreduce, for a power of two of members. */
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
/* Writes a gather or scatter. own: this member's piece; NULL at the root: it is in its place. */
void weft_pieces_root(weft_team_op *op, int root, bool gathers, void *own, size_t bytes,
                      const struct weft_pieces *all);
/* Writes an allgather. source NULL: this member's piece is in its place. */
void weft_pieces_allgather(weft_team_op *op, const void *source, const struct weft_pieces *in);
void weft_pieces_alltoall(weft_team_op *op, const struct weft_pieces *out,
                          const struct weft_pieces *in);
void weft_pieces_broadcast(weft_team_op *op, int root, void *data, size_t bytes);
/* Writes a reduce-scatter, also of operations that do not commute. */
void weft_pieces_reduce_scatter(weft_team_op *op, const struct weft_pieces *parts, void *target);
void weft_pieces_allreduce(weft_team_op *op, const void *source, void *target, size_t count);
void weft_pieces_exchange(weft_team_op *op, const weft_piece *sends, size_t sends_count,
                          const weft_piece *receives, size_t receives_count);

static inline void *weft_at(const void *base, size_t bytes)
{
    return (unsigned char *)base + bytes;
}
/* Returns the pieces of n members, which have one size and follow one another. */
static inline struct weft_pieces weft_pieces_even(const void *base, size_t bytes, int n)
{
    return (struct weft_pieces){
        .base = (void *)base, .bytes = bytes, .apart = bytes, .all = bytes * (size_t)n};
}

#endif
