/*
 * abi/ccl.h - the memory by which the members of a ccl send to each other: the room of each, which
 * all map, and what kernels know of it.
 *
 * A room has a part for each column. What one member sends to another in a column lies in the
 * receiver's room, by sender: flagged words, a head for each step of these, and buffers for pieces
 * with the number of the last that is there. All begins as zeros.
 */
#ifndef WEFT_ABI_CCL_H
#define WEFT_ABI_CCL_H

#include "abi/line.h"
#include "order/inline.h"
#include "weft/types.h"

#include <assert.h>

enum {
    WEFT_CCL_MEMBERS = 8,       /* members of a ccl, at most */
    WEFT_CCL_STEP = 8192,       /* bytes that a step of flagged words moves from each to each */
    WEFT_CCL_PIECE = 32768,     /* bytes of a buffer for a piece; a piece may be shorter */
    WEFT_CCL_PAIR_COLUMNS = 16, /* columns for exchanges of pairs, at most */
    WEFT_CCL_DEPTH = 4,         /* buffers for what one member sends in one phase */
    WEFT_CCL_THREADS = 512, /* threads that move data in a launched kernel; one warp more signals */
    WEFT_CCL_EACH = 4096    /* bytes of a call for each further column */
};

/* The calls of a ccl. */
enum weft_ccl_what {
    WEFT_CCL_NOTHING,
    WEFT_CCL_BARRIER,
    WEFT_CCL_ALLREDUCE,
    WEFT_CCL_REDUCE,
    WEFT_CCL_REDUCE_SCATTER,
    WEFT_CCL_ALLGATHER,
    WEFT_CCL_ALLTOALL,
    WEFT_CCL_BROADCAST,
    WEFT_CCL_ALLTOALL_SIZES,
    WEFT_CCL_EXCHANGE,
    WEFT_CCL_DISPATCH,
    WEFT_CCL_COMBINE
};

/* Packs what all members must agree on into a head. count: below 2^50. */
WEFT_INLINE uint64_t weft_ccl_head(uint32_t what, uint32_t type, uint32_t operation, uint32_t root,
                                   uint64_t count)
{
    return what | type << 4 | operation << 8 | root << 11 | count << 14;
}

/* The number of a sender's last piece, in a line of its own. */
struct weft_ccl_flag {
    uint64_t piece, unused[15];
};

/*
 * Between two members alone. In the receiver's room, by sender: the number of the last piece that
 * is there, and by buffer the head of a piece's call, since a sender may be calls ahead. In the
 * sender's room, by receiver: the number of the last piece that was read.
 */
struct weft_ccl_pair_line {
    uint64_t piece, head[WEFT_CCL_DEPTH], unused[15 - WEFT_CCL_DEPTH];
};

/* What a column keeps of another member, in its member's own memory: pieces sent and received. */
struct weft_ccl_pair {
    uint64_t sent, received;
};

/* What a column keeps from call to call, in its member's own memory; loaded at once. */
struct weft_ccl_counters {
    uint64_t words;  /* steps of flagged words so far; the lower half is the flag, never 0 */
    uint64_t pieces; /* steps of pieces so far */
    uint64_t calls;  /* calls so far */
    uint32_t broken; /* a call has failed: no other begins */
    uint32_t unused;
} __attribute__((aligned(32)));

/* Why a call failed by a member, or that it waits for one; in host memory, word by word. */
struct weft_ccl_trouble {
    uint64_t own, other; /* head of this member's call; the other's, or token << 32 | expert */
    uint64_t state;      /* 0, or a weft_status; from bit 8 on the number of the call */
    uint64_t waits;      /* number of a call that waits for long; 0: none does */
};

/* A ccl as kernels know it. A column's part of a room begins with words. */
struct weft_ccl_view {
    int32_t members, me, columns;
    uint32_t few;   /* bytes that a call sends in a column by flagged words, at most */
    uint32_t piece; /* bytes of a piece */
    uint32_t unused;
    uint64_t pairs, pair_part; /* offset of the pairs' parts in a room; bytes of a column's */
    uint64_t heads, flags, pieces, part;   /* offsets in a column's part; bytes of that */
    unsigned char *room[WEFT_CCL_MEMBERS]; /* room of each member, as it is mapped here */
    struct weft_ccl_counters *counters;    /* by column */
    struct weft_ccl_pair *pair;            /* by column and member */
    const uint32_t *stop;                  /* not 0: the job has failed */
    struct weft_ccl_trouble *trouble;      /* by column and member */
};

static_assert(sizeof(struct weft_ccl_flag) == 128, "senders share no line");
static_assert(sizeof(struct weft_ccl_pair_line) == 128, "nor do pairs");
static_assert(sizeof(struct weft_ccl_counters) == 32, "counters are read at once");

/* Fills in the offsets; returns the bytes of a room's columns. */
static inline uint64_t weft_ccl_lay_out(struct weft_ccl_view *view)
{
    const uint64_t members = (uint64_t)view->members, phases = members > 2 ? 2 : 1;

    view->heads = 2 * members * (2 * WEFT_CCL_STEP);
    view->flags = view->heads + (2 * members * sizeof(struct weft_ring_line) + 127) / 128 * 128;
    view->pieces = view->flags + members * sizeof(struct weft_ccl_flag);
    view->part = view->pieces + phases * WEFT_CCL_DEPTH * members * WEFT_CCL_PIECE;
    view->pairs = view->part * (uint64_t)view->columns;
    view->pair_part =
        members * (2 * sizeof(struct weft_ccl_pair_line) + WEFT_CCL_DEPTH * WEFT_CCL_PIECE);
    return view->pairs + view->pair_part * (uint64_t)(view->columns < WEFT_CCL_PAIR_COLUMNS
                                                          ? view->columns
                                                          : (int32_t)WEFT_CCL_PAIR_COLUMNS);
}

#endif
