/*
 * ccl/moe.h - mixture of experts: rows of tokens go to the members that have the experts they chose
 * (dispatch); what experts made of them comes back, and is summed (combine).
 *
 * Each column is told what all tokens chose: an expert's rows lie in order of member and token, so
 * where they belong follows from counting. A call is one step of pieces, whose buffers hold all
 * rows of a call: all of a slice is sent, then a flag to each member, then what came is used. There
 * are two sets of buffers, in turn. Who sends in call i + 2 has heard the flag of call i + 1 from
 * all, sent after they had read the rows of i.
 */
#ifndef WEFT_CCL_MOE_H
#define WEFT_CCL_MOE_H

#include "ccl/moe_room.h"

/* ---- dispatch -------------------------------------------------------------------------------- */

/* Returns choice k of a token: -1 for what is none, out of range, or there before. */
WEFT_INLINE int32_t weft_moe_choice(const struct weft_moe_block *b, uint32_t t, uint32_t k)
{
    const int32_t *const chosen = b->own->chosen + t * b->moe->topk;
    const int32_t choice = k < b->moe->topk ? chosen[k] : -1;
    bool good = choice >= -1 && choice < (int32_t)b->moe->experts;

    for (uint32_t j = 0; j < k && choice != -1; j++)
        good = good && chosen[j] != choice;
    if (WEFT_UNLIKELY(!good) && b->c->column == 0) /* for weft_ccl_check; the call goes on */
        weft_column_break(b->c->trouble, &b->c->counters->unused, b->c->calls, b->c->head,
                          WEFT_ERR_ARGUMENT, (uint64_t)t << 32 | (uint32_t)choice);
    return good ? choice : -1;
}

/* Tells each member how many tokens there are here, and what they chose. */
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

/* Sends parts of the slice, once to each other member that wants the row. */
WEFT_INLINE void weft_moe_send(const struct weft_moe_block *b)
{
    const struct weft_moe_slice slice = weft_moe_slice(b, b->own->tokens);
    const uint32_t each = b->moe->each, row = b->moe->row, others = b->members - 1;
    const int32_t *const chosen = weft_moe_chosen(b, b->me, b->me) + WEFT_MOE_TOPK;

    for (uint32_t i = slice.first * others + b->c->mover / WEFT_CCL_LANES; i < slice.end * others;
         i += b->c->movers / WEFT_CCL_LANES) {
        const uint32_t part = i / others, t = part / b->moe->parts;
        const uint32_t m = (b->me + 1 + i % others) % b->members;
        bool wants = false;
        WEFT_UNROLL
        for (uint32_t k = 0; k < WEFT_MOE_TOPK; k++)
            wants |= (uint32_t)chosen[t * WEFT_MOE_TOPK + k] - m * each < each;
        if (wants)
            weft_moe_copy(b, part % b->moe->parts, weft_moe_row(b, m, b->me, t), true,
                          b->call->source + (uint64_t)t * row, false, row);
    }
}

/* Notes how many tokens each member has. */
WEFT_INLINE void weft_moe_learn(const struct weft_moe_block *b)
{
    for (uint32_t m = b->c->mover; m < b->members; m += b->c->movers) {
        const int32_t *const chosen = weft_moe_chosen(b, b->me, m);
        const uint32_t tokens = (uint32_t)chosen[0];
        if (m != b->me)
            weft_used_shared(chosen, (tokens + 1) * WEFT_MOE_TOPK * sizeof(*chosen));
        b->moe->kept[b->c->column].tokens[m] = tokens;
    }
}

/* Counts how many tokens of a member chose each own expert, and how many of them before the
 * slice. */
WEFT_INLINE void weft_moe_count(const struct weft_moe_block *b, uint32_t m)
{
    const int32_t *const chosen = weft_moe_chosen(b, b->me, m) + WEFT_MOE_TOPK;
    const uint32_t all = b->moe->kept[b->c->column].tokens[m] * WEFT_MOE_TOPK, each = b->moe->each;
    const uint32_t before = weft_moe_slice_of(b, m).first_token * WEFT_MOE_TOPK;

    for (uint32_t i = b->c->mover; i < all; i += WEFT_PIECES_DEEP * b->c->movers) {
        uint32_t expert[WEFT_PIECES_DEEP];
        WEFT_UNROLL
        for (uint32_t d = 0; d < WEFT_PIECES_DEEP; d++) /* all loads under way at once */
            expert[d] = i + d * b->c->movers < all
                            ? (uint32_t)chosen[i + d * b->c->movers] - b->me * each
                            : each;
        WEFT_UNROLL
        for (uint32_t d = 0; d < WEFT_PIECES_DEEP; d++)
            if (expert[d] < each) {
                weft_add_block_u32(&b->counts->all[m * each + expert[d]], 1);
                if (i + d * b->c->movers < before)
                    weft_add_block_u32(&b->counts->before[m * each + expert[d]], 1);
            }
    }
}

/* Returns the rows for an own expert from all members before m. */
WEFT_INLINE uint32_t weft_moe_below(const struct weft_moe_block *b, uint32_t m, uint32_t e)
{
    uint32_t rows = 0;

    for (uint32_t i = 0; i < m; i++)
        rows += b->counts->all[i * b->moe->each + e];
    return rows;
}

/* Finds where the row of a choice belongs. */
WEFT_INLINE void weft_moe_find(const struct weft_moe_block *b, uint32_t m, uint32_t i)
{
    const struct weft_moe_slice slice = weft_moe_slice_of(b, m);
    const int32_t *const chosen = weft_moe_chosen(b, b->me, m) + WEFT_MOE_TOPK;
    const uint32_t t = slice.first_token + i / b->moe->topk, at = t * WEFT_MOE_TOPK;

    if (t >= slice.end_token)
        return;
    const int32_t expert = chosen[at + i % b->moe->topk];
    const uint32_t each = b->moe->each, e = (uint32_t)expert - b->me * each;
    uint32_t place = expert < 0 ? WEFT_MOE_NONE : WEFT_MOE_AWAY;
    if (e < each) {
        place = e * b->moe->tokens * b->members + weft_moe_below(b, m, e) +
                b->counts->before[m * each + e];
        for (uint32_t j = slice.first_token * WEFT_MOE_TOPK; j < at; j++)
            place += chosen[j] == expert;
        if (b->own->origin != NULL &&
            t * b->moe->parts >= slice.first) /* its first part's column */
            b->own->origin[place] = (int32_t)(m << 24 | t);
    }
    weft_moe_places(b, m)[i] = place;
}

/* Moves parts of a member's slice, by choice: in dispatch to their places, in combine from there.
 * at: of all members' parts, counted from these, the first that this warp has; returned as of the
 * next. */
WEFT_INLINE uint32_t weft_moe_move(const struct weft_moe_block *b, uint32_t m, uint32_t at,
                                   const bool dispatch)
{
    const struct weft_moe_slice slice = weft_moe_slice_of(b, m);
    const uint32_t *const places = weft_moe_places(b, m);
    const uint32_t topk = b->moe->topk, end = (slice.end - slice.first) * topk;
    const uint32_t row = b->moe->row, back = b->moe->back;

    for (; at < end; at += b->c->movers / WEFT_CCL_LANES) {
        const uint32_t part = slice.first + at / topk, k = at % topk, t = part / b->moe->parts;
        const uint32_t place = places[(t - slice.first_token) * topk + k];
        if (place < WEFT_MOE_AWAY && dispatch)
            weft_moe_copy(b, part % b->moe->parts, b->call->target + (uint64_t)place * row, false,
                          m == b->me ? b->call->source + (uint64_t)t * row
                                     : weft_moe_row(b, b->me, m, t),
                          m != b->me, row);
        else if (place < WEFT_MOE_AWAY)
            weft_moe_copy(b, part % b->moe->parts, weft_moe_back(b, m, t * topk + k), true,
                          b->call->source + (uint64_t)place * back, false, back);
    }
    return at - end;
}

/* ---- combine --------------------------------------------------------------------------------- */

/* Sums the rows of the slice's own tokens, by their weights. */
WEFT_INLINE void weft_moe_sum(const struct weft_moe_block *b, const uint32_t type)
{
    const struct weft_moe_slice slice = weft_moe_slice_of(b, b->me);
    const uint32_t topk = b->moe->topk, parts = b->moe->parts, bytes = b->moe->back;
    const uint32_t each = (bytes / 16 + parts - 1) / parts; /* of a part, as they were copied */
    const uint32_t *const places = weft_moe_places(b, b->me);

    for (uint32_t i = slice.first * each + b->c->mover; i < slice.end * each; i += b->c->movers) {
        const uint32_t part = i / each, t = part / parts, choice = t * topk;
        const uint32_t at = (part % parts * each + i % each) * 16;
        if (at >= bytes)
            continue;
        struct weft_elements sum[2] = {{{0, 0}}, {{0, 0}}};
        struct weft_wide wide[WEFT_MOE_TOPK];
        uint32_t place[WEFT_MOE_TOPK], weight[WEFT_MOE_TOPK];
        WEFT_UNROLL
        for (uint32_t k = 0; k < WEFT_MOE_TOPK; k++) { /* all loads under way at once, as below */
            place[k] = k < topk ? places[(t - slice.first_token) * topk + k] : WEFT_MOE_NONE;
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
        weft_ccl_store_wide(b->call->target + (uint64_t)t * bytes + at, all);
    }
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* Waits until all that is sent is there, of all members. False: waiting is in vain, or a call
 * differs. */
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
    const uint32_t each = b->moe->each, choices = b->moe->slice * b->moe->topk;
    uint32_t at = b->c->mover / WEFT_CCL_LANES;

    weft_moe_tell(b);
    for (uint32_t e = b->c->mover; e < each * b->members; e += b->c->movers)
        b->counts->all[e] = b->counts->before[e] = 0;
    weft_column_all(true);
    weft_moe_send(b);
    if (!weft_moe_meet(b->c, b->call->what))
        return false;
    weft_moe_learn(b);
    weft_column_all(true);
    for (uint32_t m = 0; m < b->members; m++)
        weft_moe_count(b, m);
    weft_column_all(true);
    for (uint32_t e = b->c->mover; b->c->column == 0 && e < each; e += b->c->movers)
        b->own->counts[e] = (int32_t)weft_moe_below(b, b->members, e);
    for (uint32_t i = b->c->mover; i < choices * b->members; i += b->c->movers)
        weft_moe_find(b, i / choices, i % choices);
    weft_column_all(true);
    for (uint32_t m = 0; m < b->members; m++)
        at = weft_moe_move(b, m, at, true);
    return weft_column_all(true);
}

WEFT_INLINE bool weft_moe_combine(const struct weft_moe_block *b)
{
    uint32_t at = b->c->mover / WEFT_CCL_LANES;

    WEFT_CCL_OTHERS (b->c, m)
        at = weft_moe_move(b, (uint32_t)m, at, false);
    if (!weft_moe_meet(b->c, b->call->what))
        return false;
    if (b->call->type == WEFT_F32)
        WEFT_CCL_EXACTLY(weft_moe_sum(b, WEFT_F32));
    else if (b->call->type == WEFT_BF16)
        WEFT_CCL_EXACTLY(weft_moe_sum(b, WEFT_BF16));
    else
        WEFT_CCL_EXACTLY(weft_moe_sum(b, WEFT_F16));
    return weft_column_all(true);
}

/* Does a dispatch or a combine (what). All threads of a block call it. False: it has failed. */
WEFT_INLINE bool weft_moe_call(struct weft_column *c, const struct weft_ccl_call *call,
                               const struct weft_moe_own *own, const uint32_t what)
{
    struct weft_moe_kept *const kept = &own->moe.kept[c->column];
    const uint64_t turn = kept->turn;
#ifdef __CUDACC__
    __shared__ struct weft_moe_counts counts[1];
#else
    struct weft_moe_counts *const counts = &own->moe.counts[c->column];
#endif
    struct weft_moe_block b;

    b.c = c;
    b.call = call;
    b.own = own;
    b.moe = &own->moe;
    b.counts = counts;
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
