/*
 * ccl/sizes.h - all to all with blocks of any sizes, by pieces. How many steps there are, the
 * largest block of any member says: each tells its own largest one in its head. The sizes that two
 * members have of one block are compared by a flagged word.
 */
#ifndef WEFT_CCL_SIZES_H
#define WEFT_CCL_SIZES_H

#include "ccl/pieces.h"

/* Where blocks begin, in bytes, and behind them the end; they follow each other. */
struct weft_ccl_sizes {
    uint64_t from[WEFT_CCL_MEMBERS + 1], to[WEFT_CCL_MEMBERS + 1];
};

/* Returns what a step moves of a column's slice of the block from at[m] to at[m + 1]. */
WEFT_INLINE struct weft_span weft_sizes_span(const struct weft_column *c, const uint64_t at[],
                                             int32_t m, uint64_t step)
{
    const uint64_t bytes = at[m + 1] - at[m], each = weft_ccl_each(bytes, c->columns);
    const struct weft_slice own = weft_ccl_slice(bytes, each, c->column);
    const struct weft_slice piece = weft_ccl_slice(own.bytes, c->view->piece, step);
    const struct weft_span span = {at[m] + own.first + piece.first, (uint32_t)piece.bytes};
    return span;
}

/* Tells each receiver the bytes of its block here: weft_sizes_hear compares them with its own. */
WEFT_INLINE void weft_sizes_tell(const struct weft_column *c, const struct weft_ccl_sizes *sizes)
{
    WEFT_CCL_HEARD (c, m)
        weft_words_write(weft_words_at(c, weft_column_room(c, m), c->me),
                         sizes->from[m + 1] - sizes->from[m], c->words);
}

WEFT_INLINE bool weft_sizes_hear(const struct weft_column *c, const struct weft_ccl_sizes *sizes)
{
    WEFT_CCL_HEARD (c, m) {
        const struct weft_ring_line *const line = weft_words_at(c, c->own, m);
        struct weft_ring_line found;
        uint32_t rounds = 0;
        while (found = weft_lap_look(line), !weft_words_are(found, (uint32_t)c->words))
            if (!weft_column_wait(c, &rounds, m))
                return false;
        weft_column_waited(c, rounds, m);
        weft_used_shared(line, sizeof(*line));
        if (weft_words_data(found) != sizes->to[m + 1] - sizes->to[m]) {
            weft_column_break(&c->trouble[m], &c->counters->broken, c->calls, c->head,
                              WEFT_ERR_MISMATCH, c->head);
            return false;
        }
    }
    return true;
}

/* Returns the number of steps that send, by the largest block, which all heads tell. They were
 * heard before. */
WEFT_INLINE uint64_t weft_sizes_steps(const struct weft_column *c, uint32_t size)
{
    uint64_t most = 0;

    for (int32_t m = 0; m < c->members; m++) {
        const uint64_t its = weft_words_data(weft_lap_look(weft_words_head(c, c->own, m))) >> 14;
        most = its > most ? its : most;
    }
    return (weft_ccl_each(most * size, c->columns) + c->view->piece - 1) / c->view->piece;
}

/* Does an all to all with blocks of any sizes. False: it has failed. */
WEFT_INLINE bool weft_sizes_call(struct weft_column *c, const struct weft_ccl_call *call,
                                 const struct weft_ccl_sizes *sizes)
{
    uint64_t steps = 1;

    if (!weft_step_next(c))
        return false;
    weft_words_tell(c, call->what);
    weft_sizes_tell(c, sizes);
    for (uint64_t step = 0; step <= steps; step++) {
        c->pieces++;
        WEFT_CCL_OTHERS (c, m)
            weft_pieces_fill(c, weft_pieces_at(c, weft_column_room(c, m), 0, 0, c->me),
                             call->source, weft_sizes_span(c, sizes->from, m, step));
        bool good = c->whole && weft_piece_hear(c, c->pieces - 1);
        if (step == 0)
            good = good && weft_words_hear(c, call->what) && weft_sizes_hear(c, sizes);
        if (!weft_column_all(good))
            return false;
        if (step == 0)
            steps = weft_sizes_steps(c, weft_element_bytes(call->type));
        weft_piece_tell(c);
        const struct weft_span own = weft_sizes_span(c, sizes->to, c->me, step);
        weft_pieces_keep(c, call->target + own.at,
                         call->source + own.at - sizes->to[c->me] + sizes->from[c->me], own.bytes);
        if (step > 0)
            WEFT_CCL_OTHERS (c, m)
                weft_pieces_empty(c, call->target, weft_pieces_at(c, c->own, 0, 1, m),
                                  weft_sizes_span(c, sizes->to, m, step - 1));
    }
    return weft_column_all(true);
}

#endif
