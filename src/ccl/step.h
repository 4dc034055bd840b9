/*
 * ccl/step.h - what members tell each other in every step: the head of a step of flagged words, or
 * the number of a step of pieces.
 *
 * A flagged word is 16 bytes: 8 of data, and the number of the step twice. So a receiver knows of
 * each word whether it is there. Words have two places, by the parity of the step: a place is
 * written again two steps later. Who comes there has had the head of the step between from every
 * member, which sent it after it had read the words of the step before. On a GPU that order rests
 * on stores that depend on loads; on the CPU device labels say it.
 *
 * A head is a flagged word, too: it says what is called. All members compare it, so a call that
 * differs is seen in its first step.
 */
#ifndef WEFT_CCL_STEP_H
#define WEFT_CCL_STEP_H

#include "ccl/column.h"

/* Return where a member's words, and its head, of a step are in a part of a room. */
WEFT_INLINE struct weft_ring_line *weft_words_at(const struct weft_column *c, unsigned char *part,
                                                 int32_t sender)
{
    const uint64_t place = (c->words & 1) * (uint64_t)c->members + (uint64_t)sender;
    return (struct weft_ring_line *)(void *)(part + place * (2 * WEFT_CCL_STEP));
}

WEFT_INLINE struct weft_ring_line *weft_words_head(const struct weft_column *c, unsigned char *part,
                                                   int32_t sender)
{
    const uint64_t place = (c->words & 1) * (uint64_t)c->members + (uint64_t)sender;
    return (struct weft_ring_line *)(void *)(part + c->view->heads) + place;
}

WEFT_INLINE bool weft_words_are(struct weft_ring_line line, uint32_t step)
{
    return (uint32_t)(line.word[0] >> 32) == step && (uint32_t)(line.word[1] >> 32) == step;
}

WEFT_INLINE uint64_t weft_words_data(struct weft_ring_line line)
{
    return (uint32_t)line.word[0] | line.word[1] << 32;
}

WEFT_INLINE void weft_words_write(struct weft_ring_line *line, uint64_t data, uint64_t step)
{
#ifndef __CUDACC__
    weft_claim_shared(line, sizeof(*line));
#endif
    weft_lap_write(line->word, (uint32_t)data | step << 32, data >> 32 | step << 32);
}

/* Tells members the head of a step. A barrier orders what came before it; other calls order nothing
 * but their own data. */
WEFT_INLINE void weft_words_tell(const struct weft_column *c, uint32_t what)
{
    WEFT_CCL_HEARD (c, m) {
        struct weft_ring_line *const head = weft_words_head(c, weft_column_room(c, m), c->me);
        const uint64_t step = c->words << 32;
#ifdef __CUDACC__
        if (what == WEFT_CCL_BARRIER)
            weft_fence_release(ORDER_words_post);
        weft_lap_write(head->word, (uint32_t)c->head | step, c->head >> 32 | step);
#else
        (void)what;
        weft_claim_shared(head, sizeof(*head));
        weft_store_relaxed_u64(&head->word[0], (uint32_t)c->head | step);
        weft_store_release_u64(&head->word[1], c->head >> 32 | step, ORDER_words_post);
#endif
    }
}

WEFT_INLINE struct weft_ring_line weft_words_poll_head(const struct weft_ring_line *head)
{
#ifdef __CUDACC__
    return weft_lap_look(head);
#else
    struct weft_ring_line found;
    found.word[1] = weft_poll_u64(&head->word[1], ORDER_words_seen);
    found.word[0] = weft_load_relaxed_u64(&head->word[0]);
    return found;
#endif
}

/* Whether the heads of two calls differ, except in sizes, which are each member's own. */
WEFT_INLINE bool weft_words_differ(uint64_t one, uint64_t other)
{
    const bool sizes = (other & 15) == WEFT_CCL_ALLTOALL_SIZES;
    return ((one ^ other) & (sizes ? (1 << 14) - 1 : ~(uint64_t)0)) != 0;
}

/* Waits for the members' heads. False: one makes another call, or waiting is in vain. */
WEFT_INLINE bool weft_words_hear(const struct weft_column *c, uint32_t what)
{
    WEFT_CCL_HEARD (c, m) {
        const struct weft_ring_line *const head = weft_words_head(c, c->own, m);
        struct weft_ring_line found = weft_words_poll_head(head);
        uint32_t rounds = 0;
        while (!weft_words_are(found, (uint32_t)c->words)) {
            if (!weft_column_wait(c, &rounds, m))
                return false;
            found = weft_words_poll_head(head);
        }
        weft_column_waited(c, rounds, m);
        weft_used_shared(head, sizeof(*head));
        if (WEFT_UNLIKELY(weft_words_differ(weft_words_data(found), c->head))) {
            weft_column_break(&c->trouble[m], &c->counters->broken, c->calls, c->head,
                              WEFT_ERR_MISMATCH, weft_words_data(found));
            return false;
        }
#ifdef __CUDACC__
        if (what == WEFT_CCL_BARRIER)
            weft_fence_acquire();
#else
        (void)what;
#endif
    }
    return true;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

WEFT_INLINE struct weft_ccl_flag *weft_piece_flag(const struct weft_column *c, unsigned char *part,
                                                  int32_t sender)
{
    return (struct weft_ccl_flag *)(void *)(part + c->view->flags) + sender;
}

/* Tells members, after a barrier of the block, that all of the step c->pieces is on its way. */
WEFT_INLINE void weft_piece_tell(const struct weft_column *c)
{
    WEFT_CCL_HEARD (c, m)
        if (m != c->me)
            weft_store_release_u64(&weft_piece_flag(c, weft_column_room(c, m), c->me)->piece,
                                   c->pieces, ORDER_piece_post);
}

/* Waits until all of a step is there, of all members, once the block has met. False: it is in
 * vain. */
WEFT_INLINE bool weft_piece_hear(const struct weft_column *c, uint64_t step)
{
    WEFT_CCL_HEARD (c, m) {
        const uint64_t *const flag = &weft_piece_flag(c, c->own, m)->piece;
        uint32_t rounds = 0;
        while (m != c->me && weft_poll_u64(flag, ORDER_piece_seen) < step)
            if (!weft_column_wait(c, &rounds, m))
                return false;
        weft_polled();
        weft_column_waited(c, rounds, m);
    }
    return true;
}

/* ---- the next step of words ------------------------------------------------------------------ */

/* Begins the flags again: words of long ago must not be taken for new ones. Each member forgets
 * those in its own room, and all meet by a step of pieces, whose numbers never begin again. */
WEFT_INLINE bool weft_step_again(struct weft_column *c)
{
    uint64_t *const word = (uint64_t *)(void *)c->own;

    for (uint64_t i = c->mover; i < c->view->flags / 8; i += c->movers)
        weft_store_relaxed_u64(&word[i], 0);
    weft_column_all(true);
    c->pieces++;
    c->words++;
    weft_piece_tell(c);
    return weft_column_all(c->whole && weft_piece_hear(c, c->pieces));
}

/* Goes on to the next step of words. False: waiting was in vain. */
WEFT_INLINE bool weft_step_next(struct weft_column *c)
{
    return !WEFT_UNLIKELY((uint32_t)++c->words == 0) || weft_step_again(c);
}

#endif
