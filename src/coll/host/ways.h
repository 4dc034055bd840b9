/*
 * coll/host/ways.h - the algorithms. Each writes the whole plan of one member. Which is taken for
 * what: select.c.
 */
#ifndef WEFT_COLL_HOST_WAYS_H
#define WEFT_COLL_HOST_WAYS_H

#include "coll/host/plan.h"

/* tree.c: binomial trees; `bytes` of one piece */
void weft_tree_broadcast(weft_team_op *op, int root, void *data, size_t bytes);
void weft_tree_scatter_broadcast(weft_team_op *op, int root, void *data, size_t bytes);
void weft_tree_reduce(weft_team_op *op, int root, const void *source, void *target, size_t count);
void weft_tree_gather(weft_team_op *op, int root, const void *source, size_t bytes, void *target);
void weft_tree_scatter(weft_team_op *op, int root, const void *source, void *target, size_t bytes);

/* doubling.c */
void weft_doubling_barrier(weft_team_op *op);
void weft_doubling_allreduce(weft_team_op *op, const void *source, void *target, size_t count);
void weft_doubling_scan(weft_team_op *op, bool before, const void *source, void *target,
                        size_t count);

/* halving.c */
void weft_halving_allreduce(weft_team_op *op, const void *source, void *target, size_t count);

/* ring.c: this member's own piece is there already */
struct weft_ring {
    const size_t *sizes, *offsets; /* of the pieces; NULL: */
    int first;                     /* the member whose piece is the first, of */
    size_t piece, all;             /* bytes each; the last may have fewer */
};
void weft_ring_allgather(weft_team_op *op, void *target, struct weft_ring ring);

/* bruck.c */
void weft_bruck_allgather(weft_team_op *op, const void *source, size_t bytes, void *target);
void weft_bruck_alltoall(weft_team_op *op, const void *source, void *target, size_t bytes);

/* pairwise.c; at_once: in one round */
void weft_pairwise_alltoall(weft_team_op *op, const void *source, void *target, size_t bytes,
                            bool at_once);
void weft_pairwise_reduce_scatter(weft_team_op *op, const void *source, void *target,
                                  const size_t counts[]);

/* linear.c: everything at once; sizes NULL: all pieces have `bytes`, one after the other */
void weft_linear_gather(weft_team_op *op, int root, const void *source, size_t bytes, void *target,
                        const size_t sizes[], const size_t offsets[]);
void weft_linear_scatter(weft_team_op *op, int root, const void *source, const size_t sizes[],
                         const size_t offsets[], void *target, size_t bytes);
void weft_linear_exchange(weft_team_op *op, const weft_piece *sends, size_t sends_count,
                          const weft_piece *receives, size_t receives_count);

static inline void *weft_at(const void *base, size_t bytes)
{
    return (unsigned char *)base + bytes;
}

#endif
