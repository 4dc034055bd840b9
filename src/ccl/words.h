/*
 * ccl/words.h - a call that sends little: by flagged words, of which each brings its own flag. It
 * takes the time of one trip.
 */
#ifndef WEFT_CCL_WORDS_H
#define WEFT_CCL_WORDS_H

#include "ccl/memory.h"
#include "ccl/step.h"

/* Loads word i from `at` on of each block that is given. most: no fewer than members. */
WEFT_INLINE void weft_words_load(const struct weft_column *c, const struct weft_ccl_call *call,
                                 uint64_t at, uint32_t i, const int32_t most, uint64_t data[])
{
    WEFT_UNROLL
    for (int32_t m = 0; m < most; m++)
        if (m < c->members && (m == 0 || call->from_apart != 0))
            data[m] = weft_ccl_load(call->source + (uint64_t)m * call->from_apart, at + 8 * i,
                                    call->bytes);
}

/* Sends `words` words of each block. data: this thread's first ones. */
WEFT_INLINE void weft_words_send(const struct weft_column *c, const struct weft_ccl_call *call,
                                 uint64_t at, uint32_t words, const int32_t most, uint64_t data[])
{
    for (uint32_t i = c->mover; i < words;) {
        WEFT_UNROLL
        for (int32_t m = 0; m < most; m++)
            if (m < c->members && weft_ccl_gives(call, c->me, m))
                weft_words_write(weft_words_at(c, weft_column_room(c, m), c->me) + i,
                                 call->from_apart != 0 ? data[m] : data[0], c->words);
        i += c->movers;
        if (i < words)
            weft_words_load(c, call, at, i, most, data);
    }
}

/* Waits for word i of the members that matter, all loads under way at once. False: in vain. */
WEFT_INLINE bool weft_words_await(const struct weft_column *c, int32_t only, uint32_t i,
                                  const int32_t most, uint64_t data[])
{
    struct weft_ring_line line[WEFT_CCL_MEMBERS];
    int32_t late = 0;
    uint32_t rounds = 0;

    for (;;) {
        bool there = true;
        WEFT_UNROLL
        for (int32_t m = 0; m < most; m++) { /* no branch between the loads */
            const int32_t sender = only >= 0 ? only : m < c->members ? m : 0;
            line[m] = weft_lap_look(weft_words_at(c, c->own, sender) + i);
        }
        WEFT_UNROLL
        for (int32_t m = 0; m < most; m++)
            if (!weft_words_are(line[m], (uint32_t)c->words)) {
                there = false;
                late = only >= 0 ? only : m < c->members ? m : 0;
            }
        if (there)
            break;
        if (!weft_column_wait(c, &rounds, late))
            return false;
    }
    weft_column_waited(c, rounds, late);
    WEFT_UNROLL
    for (int32_t m = 0; m < most; m++)
        data[m] = weft_words_data(line[m]);
    return true;
}

WEFT_INLINE void weft_words_finish(const struct weft_column *c, const struct weft_ccl_call *call,
                                   enum weft_ccl_takes takes, uint64_t at, const uint64_t data[],
                                   const int32_t most)
{
    if (takes == WEFT_CCL_FOLDS) {
        uint64_t word;
        WEFT_CCL_WITH_HOW(call, how, word = weft_ccl_put(data, c->members, most, how));
        weft_ccl_store(call->target, at, call->bytes, word);
        return;
    }
    WEFT_UNROLL
    for (int32_t m = 0; m < most; m++)
        if (takes == WEFT_CCL_TAKES_ROOT ? m == 0 : m < c->members)
            weft_ccl_store(call->target + (uint64_t)m * call->to_apart, at, call->bytes, data[m]);
}

WEFT_INLINE bool weft_words_take(const struct weft_column *c, const struct weft_ccl_call *call,
                                 uint64_t at, uint32_t words, const int32_t most)
{
    const enum weft_ccl_takes takes = weft_ccl_takes(call, c->me);
    const int32_t only = takes == WEFT_CCL_TAKES_ROOT ? call->root : -1;
    uint64_t data[WEFT_CCL_MEMBERS];

    if (takes == WEFT_CCL_TAKES_NONE)
        return true;
#ifdef __CUDACC__
    for (uint32_t i = c->mover; i < words; i += c->movers) {
        if (!weft_words_await(c, only, i, most, data))
            return false;
        weft_words_finish(c, call, takes, at + 8 * i, data, most);
    }
#else
    for (uint32_t i = c->mover; i < words; i += c->movers)
        if (!weft_words_await(c, only, i, most, data))
            return false;
    WEFT_CCL_EXACTLY(for (uint32_t i = c->mover; i < words; i += c->movers) {
        weft_words_await(c, only, i, most, data);
        weft_words_finish(c, call, takes, at + 8 * i, data, most);
    });
    for (int32_t m = 0; m < c->members; m++)
        if (only < 0 || m == only)
            weft_used_shared(weft_words_at(c, c->own, m), words * sizeof(struct weft_ring_line));
#endif
    return true;
}

WEFT_INLINE uint32_t weft_words_of(const struct weft_ccl_call *call, uint64_t at)
{
    const uint64_t left = call->bytes - at;
    return (uint32_t)((left < WEFT_CCL_STEP ? left : (uint64_t)WEFT_CCL_STEP) + 7) / 8;
}

/* Does a call by words. most: no fewer than members. False: it has failed. */
WEFT_INLINE bool weft_words_call(struct weft_column *c, const struct weft_ccl_call *call,
                                 const int32_t most)
{
    uint64_t at = 0, data[WEFT_CCL_MEMBERS];
    uint32_t words = weft_words_of(call, 0);

    if (c->mover < words) /* while the counters are on their way */
        weft_words_load(c, call, 0, c->mover, most, data);
    for (;;) {
        if (!weft_step_next(c))
            return false;
        weft_words_tell(c, call->what);
        weft_words_send(c, call, at, words, most, data);
        bool good = c->whole && weft_words_hear(c, call->what);
        good = good && weft_words_take(c, call, at, words, most);
        if (!weft_column_all(good))
            return false;
        at += WEFT_CCL_STEP;
        if (at >= call->bytes)
            return true;
        words = weft_words_of(call, at);
        if (c->mover < words)
            weft_words_load(c, call, at, c->mover, most, data);
    }
}

#endif
