/*
 * ccl/moe_room.h - mixture of experts: what its calls know, where rows lie, and which parts of them
 * a column moves.
 *
 * A column moves a slice of each member's rows, cut into parts so that a few tokens are work for
 * many columns. Sender and receiver of a part are in one column.
 */
#ifndef WEFT_CCL_MOE_ROOM_H
#define WEFT_CCL_MOE_ROOM_H

#include "ccl/pieces.h"

enum {
    WEFT_MOE_EXPERTS = 2048, /* experts of all members, at most */
    WEFT_MOE_TOPK = 8,
    WEFT_MOE_PART = WEFT_PIECES_DEEP * 16 * 32 /* bytes of a row that a warp has under way */
};

/* Where the row of a choice is here: this row of its expert's member, or one of these. */
#define WEFT_MOE_AWAY 0xfffffffeu /* another member has the expert */
#define WEFT_MOE_NONE 0xffffffffu /* there is no expert */

/* What a column keeps from call to call, in its member's own memory. */
struct weft_moe_kept {
    uint64_t turn;                     /* calls so far */
    uint32_t tokens[WEFT_CCL_MEMBERS]; /* of each member, in the latest dispatch */
};

/* A block's own, by member and own expert: how many tokens chose it; those before the slice. */
struct weft_moe_counts {
    uint32_t all[WEFT_MOE_EXPERTS + WEFT_CCL_MEMBERS];
    uint32_t before[WEFT_MOE_EXPERTS + WEFT_CCL_MEMBERS];
};

/* What is the same in all calls. Member m has the experts from m * each on. */
struct weft_moe {
    uint32_t experts, each, topk, tokens; /* experts: all, a member's, a token's; most tokens */
    uint32_t row, back, columns; /* bytes of a row to experts; of one back; columns of a call */
    uint32_t parts, slice;       /* parts of a row; tokens in a column's slice, at most */
    uint64_t set, rows;          /* bytes of a set of buffers; where its rows begin */
    unsigned char *room[WEFT_CCL_MEMBERS]; /* by member: two sets of buffers */
    struct weft_moe_kept *kept;            /* by column */
    struct weft_moe_counts *counts;        /* by column; a GPU has shared memory for it */
    uint32_t *place;                       /* by column, member, token of the slice, and choice */
};

/* What a call has beside a weft_ccl_call, which has the rows. */
struct weft_moe_own {
    struct weft_moe moe;
    const int32_t *chosen; /* of a dispatch: experts, by token and choice */
    int32_t *counts, *origin;
    const float *weights; /* of a combine: by token and choice */
    uint32_t tokens;
};

/* In one column. */
struct weft_moe_block {
    struct weft_column *c;
    const struct weft_ccl_call *call;
    const struct weft_moe_own *own;
    const struct weft_moe *moe;
    struct weft_moe_counts *counts;
    uint32_t me, members;
    uint64_t set; /* where this call's buffers begin in a room */
};

/* Parts of a member's rows, by token; and the tokens that they are of. */
struct weft_moe_slice {
    uint32_t first, end, first_token, end_token;
};

/* Returns a column's own slice, of so many tokens. */
WEFT_INLINE struct weft_moe_slice weft_moe_slice(const struct weft_moe_block *b, uint32_t tokens)
{
    const uint32_t parts = b->moe->parts, all = tokens * parts;
    const uint32_t each = (all + b->moe->columns - 1) / b->moe->columns;
    struct weft_moe_slice slice;

    slice.first = each * b->c->column < all ? each * b->c->column : all;
    slice.end = all - slice.first < each ? all : slice.first + each;
    slice.first_token = slice.first / parts;
    slice.end_token = (slice.end + parts - 1) / parts;
    return slice;
}

/* Returns this column's slice of the rows of member m, whose tokens the latest dispatch told. */
WEFT_INLINE struct weft_moe_slice weft_moe_slice_of(const struct weft_moe_block *b, uint32_t m)
{
    return weft_moe_slice(b, b->moe->kept[b->c->column].tokens[m]);
}

/* Copies one part of a row; a warp, or a processor's thread, calls it. */
WEFT_INLINE void weft_moe_copy(const struct weft_moe_block *b, uint32_t part, unsigned char *to,
                               const bool sent, const unsigned char *from, const bool taken,
                               uint32_t bytes)
{
    const uint32_t wides = bytes / 16, each = (wides + b->moe->parts - 1) / b->moe->parts;
    const uint32_t first = each * part < wides ? each * part : wides;

    weft_pieces_copy(b->c->mover % WEFT_CCL_LANES, WEFT_CCL_LANES, to + 16 * first, sent,
                     from + 16 * first, taken, wides - first < each ? wides - first : each);
}

/* Returns the place in a room where a sender tells how many tokens it has; then eight words for
 * each, what it chose. */
WEFT_INLINE int32_t *weft_moe_chosen(const struct weft_moe_block *b, uint32_t member,
                                     uint32_t sender)
{
    const uint64_t words = (uint64_t)(b->moe->tokens + 1) * WEFT_MOE_TOPK;
    return (int32_t *)(void *)(b->moe->room[member] + b->set) +
           (b->c->column * b->members + sender) * words;
}

WEFT_INLINE unsigned char *weft_moe_row(const struct weft_moe_block *b, uint32_t member,
                                        uint32_t sender, uint32_t token)
{
    return b->moe->room[member] + b->set + b->moe->rows +
           (uint64_t)(sender * b->moe->tokens + token) * b->moe->row;
}

/* Returns where the places of a slice's rows are kept, by token and choice. */
WEFT_INLINE uint32_t *weft_moe_places(const struct weft_moe_block *b, uint32_t m)
{
    return b->moe->place + (b->c->column * b->members + m) * b->moe->slice * b->moe->topk;
}

/* Returns where a row comes back for an own choice. */
WEFT_INLINE unsigned char *weft_moe_back(const struct weft_moe_block *b, uint32_t member,
                                         uint32_t choice)
{
    return b->moe->room[member] + b->set + (uint64_t)choice * b->moe->back;
}

#endif
