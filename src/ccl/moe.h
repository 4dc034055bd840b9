/*
 * ccl/moe.h - mixture of experts: rows of tokens go to the members that have the experts they chose
 * (dispatch); what experts made of them comes back, and is summed (combine).
 *
 * A column moves the rows of a slice of each member's tokens, and is told what all tokens chose:
 * an expert's rows lie in order of member and token, so where they belong follows from counting. A
 * call is one step of pieces, whose buffers hold all rows of a call: all of a slice is sent, then a
 * flag to each member, then what came is used. There are two sets of buffers, in turn. Who sends in
 * call i + 2 has heard the flag of call i + 1 from all, sent after they had read the rows of i.
 */
#ifndef WEFT_CCL_MOE_H
#define WEFT_CCL_MOE_H

#include "ccl/pieces.h"

enum { WEFT_MOE_EXPERTS = 2048 /* of all members, at most */, WEFT_MOE_TOPK = 8 };

/* Where the row of a choice is here: this row of its expert's member, or one of these. */
#define WEFT_MOE_AWAY 0xfffffffeu /* another member has the expert */
#define WEFT_MOE_NONE 0xffffffffu /* there is no expert */

/* What a column keeps from call to call, in its member's own memory. */
struct weft_moe_kept {
    uint64_t turn;                     /* calls */
    uint32_t tokens[WEFT_CCL_MEMBERS]; /* of the latest dispatch, by member */
};

/* A block's own, by member and own expert: how many tokens chose it; those before the slice. */
struct weft_moe_counts {
    uint32_t all[WEFT_MOE_EXPERTS + WEFT_CCL_MEMBERS];
    uint32_t before[WEFT_MOE_EXPERTS + WEFT_CCL_MEMBERS];
};

/* What is the same in all calls. Member m has the experts from m * each on. */
struct weft_moe {
    uint32_t experts, each, topk, tokens;  /* tokens: of a member, at most */
    uint32_t row, back, columns;           /* bytes of rows: to experts, and from them */
    uint64_t set, rows;                    /* bytes of a set of buffers; where its rows begin */
    unsigned char *room[WEFT_CCL_MEMBERS]; /* two sets each */
    struct weft_moe_kept *kept;            /* by column */
    struct weft_moe_counts *counts;        /* by column; a GPU has shared memory for it */
    uint32_t *place;                       /* by member, token and choice */
};

/* What a call has beside a weft_ccl_call, which has the rows. */
struct weft_moe_own {
    struct weft_moe moe;
    const int32_t *chosen; /* dispatch */
    int32_t *counts, *origin;
    const float *weights; /* combine */
    uint32_t tokens;
};

/* In one column. */
struct weft_moe_block {
    struct weft_column *c;
    const struct weft_ccl_call *call;
    const struct weft_moe_own *own;
    const struct weft_moe *moe;
    struct weft_moe_counts *counts;
    uint32_t column, me, members;
    uint64_t set; /* where this call's buffers begin in a room */
};

/* Of so many tokens, where a column's slice begins, and the one before it ends. */
WEFT_INLINE uint32_t weft_moe_from(const struct weft_moe_block *b, uint32_t tokens, uint32_t column)
{
    const uint32_t each = (tokens + b->moe->columns - 1) / b->moe->columns;
    return each * column < tokens ? each * column : tokens;
}

/* In a room: how many tokens a sender has; then eight words for each, what it chose. */
WEFT_INLINE int32_t *weft_moe_chosen(const struct weft_moe_block *b, uint32_t member,
                                     uint32_t sender)
{
    const uint64_t words = (uint64_t)(b->moe->tokens + 1) * WEFT_MOE_TOPK;
    return (int32_t *)(void *)(b->moe->room[member] + b->set) +
           (b->column * b->members + sender) * words;
}

WEFT_INLINE unsigned char *weft_moe_row(const struct weft_moe_block *b, uint32_t member,
                                        uint32_t sender, uint32_t token)
{
    return b->moe->room[member] + b->set + b->moe->rows +
           (uint64_t)(sender * b->moe->tokens + token) * b->moe->row;
}

/* Where a row comes back for an own choice. */
WEFT_INLINE unsigned char *weft_moe_back(const struct weft_moe_block *b, uint32_t member,
                                         uint32_t choice)
{
    return b->moe->room[member] + b->set + (uint64_t)choice * b->moe->back;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

/* Choice k of a token: -1 for what is none, out of range, or there before. */
WEFT_INLINE int32_t weft_moe_choice(const struct weft_moe_block *b, uint32_t t, uint32_t k)
{
    const int32_t *const chosen = b->own->chosen + t * b->moe->topk;
    const int32_t choice = k < b->moe->topk ? chosen[k] : -1;
    bool good = choice >= -1 && choice < (int32_t)b->moe->experts;

    for (uint32_t j = 0; j < k && choice != -1; j++)
        good = good && chosen[j] != choice;
    if (WEFT_UNLIKELY(!good) && b->column == 0) /* for weft_ccl_check; the call goes on */
        weft_column_break(b->c->trouble, &b->c->counters->unused, b->c->calls, b->c->head,
                          WEFT_ERR_ARGUMENT, (uint64_t)t << 32 | (uint32_t)choice);
    return good ? choice : -1;
}

/* To each member, how many tokens there are, and what they chose. */
WEFT_INLINE void weft_moe_tell(const struct weft_moe_block *b)
{
    for (uint32_t i = b->c->mover; i < (b->own->tokens + 1) * WEFT_MOE_TOPK; i += b->c->movers) {
        const int32_t word = i < WEFT_MOE_TOPK
                                 ? (int32_t)b->own->tokens
                                 : weft_moe_choice(b, i / WEFT_MOE_TOPK - 1, i % WEFT_MOE_TOPK);
        for (uint32_t m = 0; m < b->members; m++)
            if (m == b->me)
                weft_moe_chosen(b, m, m)[i] = word;
            else
                weft_ccl_send_i32(weft_moe_chosen(b, m, b->me) + i, word);
    }
}

/* Rows of the slice, once to each other member that wants it. */
WEFT_INLINE void weft_moe_send(const struct weft_moe_block *b)
{
    const uint32_t tokens = b->own->tokens, end = weft_moe_from(b, tokens, b->column + 1);
    const uint32_t each = b->moe->each, row = b->moe->row;
    const int32_t *const chosen = weft_moe_chosen(b, b->me, b->me) + WEFT_MOE_TOPK;

    for (uint32_t t = weft_moe_from(b, tokens, b->column); t < end; t++)
        WEFT_CCL_OTHERS (b->c, m) {
            bool wants = false;
            for (uint32_t k = t * WEFT_MOE_TOPK; k < (t + 1) * WEFT_MOE_TOPK; k++)
                wants = wants || (uint32_t)chosen[k] - (uint32_t)m * each < each;
            if (wants)
                weft_pieces_copy(b->c, weft_moe_row(b, (uint32_t)m, b->me, t), true,
                                 b->call->source + (uint64_t)t * row, false, row / 16);
        }
}

/* How many tokens of a member chose each own expert, and what of it before the slice. */
WEFT_INLINE void weft_moe_count(const struct weft_moe_block *b, uint32_t m)
{
    const int32_t *const chosen = weft_moe_chosen(b, b->me, m);
    const uint32_t tokens = (uint32_t)chosen[0], each = b->moe->each;
    const uint32_t first = (weft_moe_from(b, tokens, b->column) + 1) * WEFT_MOE_TOPK;

    if (m != b->me)
        weft_used_shared(chosen, (tokens + 1) * WEFT_MOE_TOPK * sizeof(*chosen));
    for (uint32_t i = b->c->mover; i < (tokens + 1) * WEFT_MOE_TOPK; i += b->c->movers) {
        const uint32_t e = (uint32_t)chosen[i] - b->me * each;
        if (i >= WEFT_MOE_TOPK && e < each)
            weft_add_block_u32(&b->counts->all[m * each + e], 1);
        if (i >= WEFT_MOE_TOPK && e < each && i < first)
            weft_add_block_u32(&b->counts->before[m * each + e], 1);
    }
    if (b->c->mover == 0)
        b->moe->kept[b->column].tokens[m] = tokens;
}

/* Rows for an own expert from all members before m. */
WEFT_INLINE uint32_t weft_moe_below(const struct weft_moe_block *b, uint32_t m, uint32_t e)
{
    uint32_t rows = 0;

    for (uint32_t i = 0; i < m; i++)
        rows += b->counts->all[i * b->moe->each + e];
    return rows;
}

/* Where the rows of a member's slice belong. */
WEFT_INLINE void weft_moe_find(const struct weft_moe_block *b, uint32_t m)
{
    const int32_t *const chosen = weft_moe_chosen(b, b->me, m) + WEFT_MOE_TOPK;
    const uint32_t tokens = (uint32_t)chosen[-WEFT_MOE_TOPK], topk = b->moe->topk;
    const uint32_t first = weft_moe_from(b, tokens, b->column), each = b->moe->each;
    const uint32_t end = weft_moe_from(b, tokens, b->column + 1) * topk;

    for (uint32_t i = first * topk + b->c->mover; i < end; i += b->c->movers) {
        const uint32_t at = i / topk * WEFT_MOE_TOPK;
        const int32_t expert = chosen[at + i % topk];
        const uint32_t e = (uint32_t)expert - b->me * each;
        uint32_t place = expert < 0 ? WEFT_MOE_NONE : WEFT_MOE_AWAY;
        if (e < each) {
            place = e * b->moe->tokens * b->members + weft_moe_below(b, m, e) +
                    b->counts->before[m * each + e];
            for (uint32_t j = first * WEFT_MOE_TOPK; j < at; j++)
                place += chosen[j] == expert;
            if (b->own->origin != NULL)
                b->own->origin[place] = (int32_t)(m << 24 | i / topk);
        }
        b->moe->place[m * b->moe->tokens * topk + i] = place;
    }
}

/* The rows of a member's slice: in dispatch to their places, in combine from there. */
WEFT_INLINE void weft_moe_move(const struct weft_moe_block *b, uint32_t m, const bool dispatch)
{
    const uint32_t tokens = b->moe->kept[b->column].tokens[m], topk = b->moe->topk;
    const uint32_t end = weft_moe_from(b, tokens, b->column + 1) * topk;
    const uint32_t row = b->moe->row, back = b->moe->back;

    for (uint32_t i = weft_moe_from(b, tokens, b->column) * topk; i < end; i++) {
        const uint32_t place = b->moe->place[m * b->moe->tokens * topk + i], t = i / topk;
        if (place < WEFT_MOE_AWAY && dispatch)
            weft_pieces_copy(b->c, b->call->target + (uint64_t)place * row, false,
                             m == b->me ? b->call->source + (uint64_t)t * row
                                        : weft_moe_row(b, b->me, m, t),
                             m != b->me, row / 16);
        else if (place < WEFT_MOE_AWAY)
            weft_pieces_copy(b->c, weft_moe_back(b, m, i), true,
                             b->call->source + (uint64_t)place * back, false, back / 16);
    }
}

/* ---- combine --------------------------------------------------------------------------------- */

/* The own tokens of the slice. */
WEFT_INLINE void weft_moe_sum(const struct weft_moe_block *b, const uint32_t type)
{
    const uint32_t tokens = b->moe->kept[b->column].tokens[b->me], topk = b->moe->topk;
    const uint32_t bytes = b->moe->back, wides = bytes / 16;
    const uint32_t end = weft_moe_from(b, tokens, b->column + 1) * wides;
    const uint32_t *const places = b->moe->place + b->me * b->moe->tokens * topk;

    for (uint32_t i = weft_moe_from(b, tokens, b->column) * wides + b->c->mover; i < end;
         i += b->c->movers) {
        const uint32_t choice = i / wides * topk, at = i % wides * 16;
        struct weft_elements sum[2] = {{{0, 0}}, {{0, 0}}};
        struct weft_wide wide[WEFT_MOE_TOPK];
        uint32_t place[WEFT_MOE_TOPK], weight[WEFT_MOE_TOPK];
        WEFT_UNROLL
        for (uint32_t k = 0; k < WEFT_MOE_TOPK; k++) { /* all loads under way at once, as below */
            place[k] = k < topk ? places[choice + k] : WEFT_MOE_NONE;
            weight[k] = k < topk ? weft_bits_of_f32(b->own->weights[choice + k]) : 0;
        }
        WEFT_UNROLL
        for (uint32_t k = 0; k < WEFT_MOE_TOPK; k++)
            if (place[k] != WEFT_MOE_NONE)
                wide[k] = weft_ccl_take_wide(
                    at + (place[k] != WEFT_MOE_AWAY ? b->call->source + (uint64_t)place[k] * bytes
                                                    : weft_moe_back(b, b->me, choice + k)));
        WEFT_UNROLL
        for (uint32_t k = 0; k < WEFT_MOE_TOPK; k++) {
            if (place[k] == WEFT_MOE_NONE)
                continue;
            const uint64_t twice = weight[k] | (uint64_t)weight[k] << 32;
            WEFT_UNROLL
            for (int h = 0; h < 4; h++) {
                const struct weft_elements next = weft_elements_open(wide[k].word[h / 2], type);
                sum[h / 2].part[h % 2] = weft_element_f32_two(
                    sum[h / 2].part[h % 2],
                    weft_element_f32_two(next.part[h % 2], twice, WEFT_PROD), WEFT_SUM);
            }
        }
        const struct weft_wide all = {
            {weft_elements_close(&sum[0], type), weft_elements_close(&sum[1], type)}};
        weft_ccl_store_wide(b->call->target + (uint64_t)i * 16, all);
    }
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* All that is sent is there, of all members. False: waiting is in vain, or a call differs. */
WEFT_INLINE bool weft_moe_meet(struct weft_column *c, uint32_t what)
{
    c->pieces++;
    if (!weft_column_all(c->whole && weft_words_hear(c, what)))
        return false;
    weft_piece_tell(c);
    return weft_column_all(weft_piece_hear(c, c->pieces));
}

WEFT_INLINE bool weft_moe_dispatch(const struct weft_moe_block *b)
{
    const uint32_t each = b->moe->each;

    weft_moe_tell(b);
    for (uint32_t e = b->c->mover; e < each * b->members; e += b->c->movers)
        b->counts->all[e] = b->counts->before[e] = 0;
    weft_column_all(true);
    weft_moe_send(b);
    if (!weft_moe_meet(b->c, b->call->what))
        return false;
    for (uint32_t m = 0; m < b->members; m++)
        weft_moe_count(b, m);
    weft_column_all(true);
    for (uint32_t e = b->c->mover; b->column == 0 && e < each; e += b->c->movers)
        b->own->counts[e] = (int32_t)weft_moe_below(b, b->members, e);
    for (uint32_t m = 0; m < b->members; m++)
        weft_moe_find(b, m);
    weft_column_all(true);
    for (uint32_t m = 0; m < b->members; m++)
        weft_moe_move(b, m, true);
    return weft_column_all(true);
}

WEFT_INLINE bool weft_moe_combine(const struct weft_moe_block *b)
{
    WEFT_CCL_OTHERS (b->c, m)
        weft_moe_move(b, (uint32_t)m, false);
    if (!weft_moe_meet(b->c, b->call->what))
        return false;
#ifndef __CUDACC__
    fenv_t callers;
    weft_exact_begin(&callers);
#endif
    if (b->call->type == WEFT_F32)
        weft_moe_sum(b, WEFT_F32);
    else if (b->call->type == WEFT_BF16)
        weft_moe_sum(b, WEFT_BF16);
    else
        weft_moe_sum(b, WEFT_F16);
#ifndef __CUDACC__
    weft_exact_end(&callers);
#endif
    return weft_column_all(true);
}

/* Either, by all threads of a block. False: it has failed. */
WEFT_INLINE bool weft_moe_call(struct weft_column *c, const struct weft_ccl_call *call,
                               const struct weft_moe_own *own, uint32_t column, const uint32_t what)
{
    struct weft_moe_kept *const kept = &own->moe.kept[column];
    const uint64_t turn = kept->turn;
#ifdef __CUDACC__
    __shared__ struct weft_moe_counts counts[1];
#else
    struct weft_moe_counts *const counts = &own->moe.counts[column];
#endif
    struct weft_moe_block b;

    b.c = c;
    b.call = call;
    b.own = own;
    b.moe = &own->moe;
    b.counts = counts;
    b.column = column;
    b.me = (uint32_t)c->me;
    b.members = (uint32_t)c->members;
    b.set = (turn & 1) * own->moe.set;
    if (!weft_step_next(c))
        return false;
    weft_words_tell(c, what);
    if (!(what == WEFT_CCL_DISPATCH ? weft_moe_dispatch(&b) : weft_moe_combine(&b)))
        return false;
    if (c->mover == 0)
        kept->turn = turn + 1;
    return true;
}

#endif
