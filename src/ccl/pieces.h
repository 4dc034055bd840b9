/*
 * ccl/pieces.h - a call that sends much: piece by piece, into buffers of the receiver's, each step
 * with one flag to each member. Where there is one trip, every member gets what it needs of each.
 * Where there are two, a member has a part of each chunk, puts it together, and hands it on.
 *
 * Step s: the pieces of s are sent while those of s - 1 arrive; the block meets; the flag s goes
 * out while what came in s - 1 is put together. What is handed on then is covered by the flag
 * s + 1, and taken in step s + 2. In the first step that sends nothing, the flag goes out after
 * that instead, and covers it: it is taken one step sooner.
 *
 * A buffer is used again four steps later, and four are needed: who sends in step s + 4 has heard
 * s + 2 from all, which they said after they had read the pieces of s. What is handed on in s + 4
 * comes after s + 3 was heard, which they said after they had taken what was handed on in s.
 */
#ifndef WEFT_CCL_PIECES_H
#define WEFT_CCL_PIECES_H

#include "ccl/memory.h"
#include "ccl/step.h"

/* Returns the bytes of a vector that each of so many columns has: the last ones may have less. */
WEFT_INLINE uint64_t weft_ccl_each(uint64_t bytes, uint32_t columns)
{
    return ((bytes + 15) / 16 + columns - 1) / columns * 16;
}

/* Of so many bytes (or elements) in parts of `each`: where one begins, and how many it has. */
struct weft_slice {
    uint64_t first, bytes;
};

WEFT_INLINE struct weft_slice weft_ccl_slice(uint64_t bytes, uint64_t each, uint64_t part)
{
    const uint64_t first = each * part < bytes ? each * part : bytes;
    const struct weft_slice slice = {first, bytes - first < each ? bytes - first : each};
    return slice;
}

/* How a call is cut: steps, each of which has a chunk, or of each block a piece. */
struct weft_pieces {
    const struct weft_ccl_call *call;
    uint64_t each;             /* bytes of a block that a step moves, at most */
    uint64_t steps;            /* number of steps that send */
    bool twice;                /* pieces make two trips */
    enum weft_ccl_takes takes; /* what this member does with the pieces of the first trip */
};

/* What a step moves: of each block the `bytes` at `at`, or so many for each member from there. */
struct weft_span {
    uint64_t at;
    uint32_t bytes;
};

WEFT_INLINE struct weft_pieces weft_pieces_cut(const struct weft_column *c,
                                               const struct weft_ccl_call *call, const int32_t most)
{
    struct weft_pieces p;

    p.call = call;
    p.twice = most > 2 && c->members > 2 &&
              (call->what == WEFT_CCL_ALLREDUCE || call->what == WEFT_CCL_REDUCE ||
               call->what == WEFT_CCL_BROADCAST);
    p.each = (uint64_t)c->view->piece * (p.twice ? (uint32_t)c->members : 1);
    p.steps = (call->bytes + p.each - 1) / p.each;
    p.takes = !p.twice                           ? weft_ccl_takes(call, c->me)
              : call->what == WEFT_CCL_BROADCAST ? WEFT_CCL_TAKES_ROOT
                                                 : WEFT_CCL_FOLDS;
    return p;
}

/* Returns what is member m's in a step; with two trips its part of the chunk, cut at 16 bytes. */
WEFT_INLINE struct weft_span weft_pieces_span(const struct weft_column *c,
                                              const struct weft_pieces *p, uint64_t step, int32_t m)
{
    const uint64_t left = p->call->bytes - step * p->each;
    const uint32_t all = (uint32_t)(left < p->each ? left : p->each);
    struct weft_span span = {step * p->each, all};

    if (p->twice) {
        const uint32_t row = 16 * (uint32_t)c->members, part = (all + row - 1) / row * 16;
        const uint32_t first = part * (uint32_t)m < all ? part * (uint32_t)m : all;
        span.at += first;
        span.bytes = all - first < part ? all - first : part;
    }
    return span;
}

/* Returns the buffer of a sender in a part of a room, of the step `back` before c->pieces. */
WEFT_INLINE unsigned char *weft_pieces_at(const struct weft_column *c, unsigned char *part,
                                          int32_t phase, int32_t back, int32_t sender)
{
    const uint64_t turn = (c->pieces + WEFT_CCL_DEPTH - (uint64_t)back) % WEFT_CCL_DEPTH;
    const uint64_t place =
        ((uint64_t)phase * WEFT_CCL_DEPTH + turn) * (uint64_t)c->members + (uint64_t)sender;
    return part + c->view->pieces + place * WEFT_CCL_PIECE;
}

/* Wides that a thread loads before it uses them: of one vector, of each of `most` members. */
enum { WEFT_PIECES_DEEP = 4 };
#define WEFT_PIECES_DEEP_OF(most) ((most) >= 4 ? 1 : 4 / (most))

/* Copies so many wides, by some threads of which this is one. sent: into a room; taken: out of the
 * own. */
WEFT_INLINE void weft_pieces_copy(uint32_t mover, uint32_t movers, unsigned char *to,
                                  const bool sent, const unsigned char *from, const bool taken,
                                  uint32_t wides)
{
    WEFT_ROLLED
    for (uint32_t i = mover; i < wides; i += WEFT_PIECES_DEEP * movers) {
        struct weft_wide wide[WEFT_PIECES_DEEP];
        WEFT_UNROLL
        for (uint32_t d = 0; d < WEFT_PIECES_DEEP; d++)
            if (i + d * movers < wides)
                wide[d] = taken ? weft_ccl_take_wide(from + 16 * (i + d * movers))
                                : weft_ccl_load_wide(from + 16 * (i + d * movers));
        WEFT_UNROLL
        for (uint32_t d = 0; d < WEFT_PIECES_DEEP; d++)
            if (i + d * movers < wides && sent)
                weft_ccl_send_wide(to + 16 * (i + d * movers), wide[d]);
            else if (i + d * movers < wides)
                weft_ccl_store_wide(to + 16 * (i + d * movers), wide[d]);
    }
}

/* Copy bytes of a block into a buffer (_fill), or out of it (_empty). */
WEFT_INLINE void weft_pieces_fill(const struct weft_column *c, unsigned char *buffer,
                                  const unsigned char *block, struct weft_span span)
{
    const unsigned char *const from = block + span.at;
    const uint32_t whole = weft_ccl_whole(from, span.bytes);

    weft_pieces_copy(c->mover, c->movers, buffer, true, from, false, whole);
    WEFT_ROLLED
    for (uint32_t i = whole + c->mover; 16 * i < span.bytes; i += c->movers)
        weft_ccl_send_wide(buffer + 16 * i, weft_ccl_load_odd(from, 16 * i, span.bytes));
}

WEFT_INLINE void weft_pieces_empty(const struct weft_column *c, unsigned char *block,
                                   const unsigned char *buffer, struct weft_span span)
{
    unsigned char *const to = block + span.at;
    const uint32_t whole = weft_ccl_whole(to, span.bytes);

    weft_pieces_copy(c->mover, c->movers, to, false, buffer, true, whole);
    WEFT_ROLLED
    for (uint32_t i = whole + c->mover; 16 * i < span.bytes; i += c->movers)
        weft_ccl_store_odd(to, 16 * i, span.bytes, weft_ccl_take_wide(buffer + 16 * i));
}

/* ---- what a step does ------------------------------------------------------------------------ */

WEFT_INLINE void weft_pieces_send(const struct weft_column *c, const struct weft_pieces *p,
                                  uint64_t step)
{
    WEFT_CCL_OTHERS (c, m)
        if (weft_ccl_gives(p->call, c->me, m) || (p->twice && p->takes == WEFT_CCL_FOLDS))
            weft_pieces_fill(c, weft_pieces_at(c, weft_column_room(c, m), 0, 0, c->me),
                             p->call->source + (uint64_t)m * p->call->from_apart,
                             weft_pieces_span(c, p, step, m));
}

/* Whether this call hands something on to member `to`, in the second trip. */
WEFT_INLINE bool weft_pieces_hands(const struct weft_pieces *p, int32_t to)
{
    return p->call->what == WEFT_CCL_REDUCE      ? to == p->call->root
           : p->call->what == WEFT_CCL_BROADCAST ? to != p->call->root
                                                 : true;
}

/* Delivers a wide that is done: to the target, or, with two trips, to all that get it. */
WEFT_INLINE void weft_pieces_deliver(const struct weft_column *c, const struct weft_pieces *p,
                                     struct weft_span span, uint32_t at, bool whole,
                                     struct weft_wide wide)
{
    unsigned char *const to = p->call->target + span.at;

    if (p->twice && !weft_pieces_hands(p, c->me))
        ; /* it is the root's alone, or has come from there */
    else if (whole)
        weft_ccl_store_wide(to + at, wide);
    else
        weft_ccl_store_odd(to, at, span.bytes, wide);
    if (p->twice)
        WEFT_CCL_OTHERS (c, m)
            if (weft_pieces_hands(p, m))
                weft_ccl_send_wide(weft_pieces_at(c, weft_column_room(c, m), 1, 0, c->me) + at,
                                   wide);
}

/* Loads the words of the own wide at `at` and of those of the others in the last step's buffers. */
WEFT_INLINE void weft_pieces_load(const struct weft_column *c, const unsigned char *own,
                                  struct weft_span span, uint32_t at, bool whole,
                                  const int32_t most, uint64_t word[2][WEFT_CCL_MEMBERS])
{
    WEFT_UNROLL
    for (int32_t m = 0; m < most; m++)
        if (m < c->members) {
            const struct weft_wide wide =
                m != c->me ? weft_ccl_take_wide(weft_pieces_at(c, c->own, 0, 1, m) + at)
                : whole    ? weft_ccl_load_wide(own + at)
                           : weft_ccl_load_odd(own, at, span.bytes);
            word[0][m] = wide.word[0];
            word[1][m] = wide.word[1];
        }
}

WEFT_INLINE struct weft_wide weft_pieces_put(const struct weft_column *c,
                                             uint64_t word[2][WEFT_CCL_MEMBERS], const int32_t most,
                                             struct weft_ccl_how how)
{
    const struct weft_wide sum = {{weft_ccl_put(word[0], c->members, most, how),
                                   weft_ccl_put(word[1], c->members, most, how)}};
    return sum;
}

/* Puts whole wides of a span together, up to `end`: many at once. */
WEFT_INLINE void weft_pieces_fold(const struct weft_column *c, const struct weft_pieces *p,
                                  struct weft_span span, uint32_t end, const unsigned char *own,
                                  const int32_t most, struct weft_ccl_how how)
{
    const uint32_t deep = WEFT_PIECES_DEEP_OF(most);

    WEFT_ROLLED
    for (uint32_t i = c->mover; i < end; i += deep * c->movers) {
        uint64_t word[4][2][WEFT_CCL_MEMBERS];
        WEFT_UNROLL
        for (uint32_t d = 0; d < deep; d++)
            if (i + d * c->movers < end)
                weft_pieces_load(c, own, span, 16 * (i + d * c->movers), true, most, word[d]);
        WEFT_UNROLL
        for (uint32_t d = 0; d < deep; d++)
            if (i + d * c->movers < end)
                weft_pieces_deliver(c, p, span, 16 * (i + d * c->movers), true,
                                    weft_pieces_put(c, word[d], most, how));
    }
}

/* Puts this member's part of what all have sent together. */
WEFT_INLINE void weft_pieces_fold_all(const struct weft_column *c, const struct weft_pieces *p,
                                      struct weft_span span, const int32_t most)
{
    const struct weft_ccl_call *const call = p->call;
    const unsigned char *const own = call->source + (uint64_t)c->me * call->from_apart + span.at;
    const uint32_t from = weft_ccl_whole(own, span.bytes);
    const uint32_t to = weft_ccl_whole(call->target + span.at, span.bytes);
    const uint32_t whole = from < to ? from : to;
    const struct weft_ccl_how any = {.type = call->type, .operation = call->operation};

    WEFT_CCL_WITH_HOW(call, how, weft_pieces_fold(c, p, span, whole, own, most, how));
    WEFT_ROLLED
    for (uint32_t i = whole + c->mover; 16 * i < span.bytes; i += c->movers) {
        uint64_t word[2][WEFT_CCL_MEMBERS];
        weft_pieces_load(c, own, span, 16 * i, false, most, word);
        weft_pieces_deliver(c, p, span, 16 * i, false, weft_pieces_put(c, word, most, any));
    }
}

/* Takes what came from the root, in the first trip: to the target, and on to the others. */
WEFT_INLINE void weft_pieces_pass(const struct weft_column *c, const struct weft_pieces *p,
                                  struct weft_span span)
{
    const unsigned char *const own = p->call->source + span.at;
    const unsigned char *const buffer = weft_pieces_at(c, c->own, 0, 1, p->call->root);
    const uint32_t whole = weft_ccl_whole(own, span.bytes);

    WEFT_ROLLED
    for (uint32_t i = c->mover; 16 * i < span.bytes; i += c->movers)
        weft_pieces_deliver(c, p, span, 16 * i, i < whole,
                            c->me != p->call->root ? weft_ccl_take_wide(buffer + 16 * i)
                            : i < whole            ? weft_ccl_load_wide(own + 16 * i)
                                                   : weft_ccl_load_odd(own, 16 * i, span.bytes));
}

/* Takes what came for this member in the step before. */
WEFT_INLINE void weft_pieces_take(const struct weft_column *c, const struct weft_pieces *p,
                                  uint64_t step, const int32_t most)
{
    const struct weft_ccl_call *const call = p->call;
    const struct weft_span span = weft_pieces_span(c, p, step, c->me);

    if (p->takes == WEFT_CCL_FOLDS)
        WEFT_CCL_EXACTLY(weft_pieces_fold_all(c, p, span, most));
    else if (p->takes == WEFT_CCL_TAKES_ROOT)
        weft_pieces_pass(c, p, span);
    else if (p->takes == WEFT_CCL_TAKES_EACH)
        WEFT_CCL_OTHERS (c, m)
            weft_pieces_empty(c, call->target + (uint64_t)m * call->to_apart,
                              weft_pieces_at(c, c->own, 0, 1, m), span);
}

/* Copies what a member gives itself. */
WEFT_INLINE void weft_pieces_keep(const struct weft_column *c, unsigned char *to,
                                  const unsigned char *from, uint32_t bytes)
{
    const uint32_t whole = weft_ccl_whole(from, bytes), end = weft_ccl_whole(to, bytes);

    WEFT_ROLLED
    for (uint32_t i = c->mover; to != from && 16 * i < bytes; i += c->movers)
        if (i < whole && i < end)
            weft_ccl_store_wide(to + 16 * i, weft_ccl_load_wide(from + 16 * i));
        else
            weft_ccl_store_odd(to, 16 * i, bytes, weft_ccl_load_odd(from, 16 * i, bytes));
}

/* Takes what others have put together of a step, and handed on `back` steps before this one. */
WEFT_INLINE void weft_pieces_collect(const struct weft_column *c, const struct weft_pieces *p,
                                     uint64_t step, int32_t back)
{
    if (weft_pieces_hands(p, c->me))
        WEFT_CCL_OTHERS (c, m)
            weft_pieces_empty(c, p->call->target, weft_pieces_at(c, c->own, 1, back, m),
                              weft_pieces_span(c, p, step, m));
}

/* Does a call by pieces. most: no fewer than members. False: it has failed. */
WEFT_INLINE bool weft_pieces_call(struct weft_column *c, const struct weft_ccl_call *call,
                                  const int32_t most)
{
    const struct weft_pieces p = weft_pieces_cut(c, call, most);
    const uint64_t steps = p.steps + (p.twice ? 2 : 1);

    if (!weft_step_next(c))
        return false;
    weft_words_tell(c, call->what);
    for (uint64_t step = 0; step < steps; step++) {
        const bool late = p.twice && step == p.steps; /* the flag covers what is handed on now */
        c->pieces++;
        if (step < p.steps)
            weft_pieces_send(c, &p, step);
        bool good = c->whole && weft_piece_hear(c, c->pieces - 1);
        if (step == 0)
            good = good && weft_words_hear(c, call->what);
        if (!weft_column_all(good))
            return false;
        if (!late)
            weft_piece_tell(c);
        if (step >= 1 && step <= p.steps)
            weft_pieces_take(c, &p, step - 1, most);
        if (late) {
            weft_column_all(true);
            weft_piece_tell(c);
        }
        if (p.takes == WEFT_CCL_TAKES_EACH && step < p.steps) {
            const struct weft_span span = weft_pieces_span(c, &p, step, c->me);
            weft_pieces_keep(c, call->target + (uint64_t)c->me * call->to_apart + span.at,
                             call->source + (uint64_t)c->me * call->from_apart + span.at,
                             span.bytes);
        }
        if (p.twice && step >= 3)
            weft_pieces_collect(c, &p, step - 3, 2);
        if (p.twice && step > p.steps)
            weft_pieces_collect(c, &p, p.steps - 1, 1);
    }
    return weft_column_all(true);
}

#endif
