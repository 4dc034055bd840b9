/*
 * rank/wait/where.h - waiting for some of several values. On a GPU each thread looks at its share
 * of them, between two barriers of a round.
 */
#ifndef WEFT_RANK_WAIT_WHERE_H
#define WEFT_RANK_WAIT_WHERE_H

#include "rank/block.h"
#include "rank/wait/call.h"

/* Over all threads: words that are to be looked at, or of these the ones that are there, which are
 * marked. */
WEFT_INLINE int weft_count_where(weft_self *self, const uint64_t *words, int count, bool look,
                                 weft_compare how, uint64_t value, unsigned char *status)
{
    uint64_t found = 0;

    weft_for (i, count) {
        const bool open = status[i] == 0;
        if (!open || (look && !weft_compares(weft_watch(&words[i], true), how, value)))
            continue;
        found++;
        if (look)
            status[i] = 1;
    }
    weft_polled();
    weft_block_reduce(self, &found, WEFT_U64, WEFT_SUM, NULL);
    return (int)found;
}

WEFT_FN int weft_wait_where(weft_self *self, const uint64_t *words, int count, int least,
                            weft_compare how, uint64_t value, unsigned char *status)
{
    WEFT_TOGETHER_FOR(int, self, weft_wait_where(self, words, count, least, how, value, status),
                      words, count, least, how, value, status)
    weft_check_stop(self);
    if (WEFT_UNLIKELY(count < 0 || how < WEFT_EQ || how > WEFT_LE || ((uintptr_t)words & 7) != 0 ||
                      (count > 0 && (words == NULL || status == NULL))))
        weft_fail4(self, WEFT_ERR_ARGUMENT,
                   "weft_wait_where: %d words at 0x%llx, comparison %d, status at 0x%llx", count,
                   (int64_t)(uintptr_t)words, how, (int64_t)(uintptr_t)status);
    const int open = weft_count_where(self, words, count, false, how, value, status);
    if (WEFT_UNLIKELY(least < 0 || least > open))
        weft_fail4(self, WEFT_ERR_ARGUMENT, "weft_wait_where: at least %d of %d words of status 0",
                   least, open, 0, 0);
    uint32_t rounds = 0;
    int found = weft_count_where(self, words, count, true, how, value, status);
    weft_trace_enter(self, WEFT_TRACE_WAIT_UNTIL, -1, value);
    if (weft_leads(self))
        weft_count_watch(self, 1);
    while (found < least) {
        if (weft_leads(self))
            weft_wait_round(self, &rounds, WEFT_WAIT_WHERE, (uint64_t)(uintptr_t)words,
                            (uint64_t)found, (uint64_t)least);
        weft_join(self); /* where the rank ends, if its job has failed */
        found += weft_count_where(self, words, count, true, how, value, status);
    }
    if (weft_leads(self)) {
        weft_count_watch(self, -1);
        weft_wait_over(self, rounds);
    }
    weft_trace_leave(self);
    if (self->eager_bytes != 0)
        weft_serve_seen(self); /* what the writers had fenced before it */
    if (found == 0 && weft_leads(self)) {
        weft_batch_send(self);
#ifdef __CUDACC__
        weft_turn(self);
#else
        weft_port_poll(&self->port); /* loops around it must let others run */
#endif
    }
    weft_join(self);
    return found;
}

#endif
