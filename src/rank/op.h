/*
 * rank/op.h - how far an operation has come.
 *
 * An operation is a number in a row that completes in order: of the puts through the host to one
 * process, of what was asked of one, or a slot of the rank's queue to one. So a later one that is
 * done says so of those before. What goes another way is done when the call returns, and is no
 * number at all.
 *
 * weft_op.kind: 4 bits kind, 8 bits stamp (of the job and the rank), 20 bits how many commands the
 * rank had sent whose sources matter.
 */
#ifndef WEFT_RANK_OP_H
#define WEFT_RANK_OP_H

#include "rank/path/dispatch.h"
#include "rank/together.h"

enum { WEFT_OP_DONE, WEFT_OP_PUT, WEFT_OP_ASK, WEFT_OP_QUEUE };

WEFT_INLINE weft_op weft_op_done(void)
{
    const weft_op op = {.kind = WEFT_OP_DONE};
    return op;
}

/* Returns the newest number of a kind. */
WEFT_INLINE uint64_t weft_op_newest(const weft_self *self, int process, uint32_t kind)
{
    if (weft_has_queues(self) && kind == WEFT_OP_QUEUE)
        return self->queues[process].posted;
    return kind == WEFT_OP_PUT ? self->sent_to[process] : self->asked[process];
}

/* Names the operation that the leader has posted, before it posts again. All threads. */
WEFT_INLINE weft_op weft_op_of(weft_self *self, int process, uint32_t kind)
{
    weft_op op;

    weft_join(self); /* the leader has counted */
    op.sequence = weft_op_newest(self, process, kind);
    op.process = process;
    op.kind = kind | (uint32_t)self->op_stamp << 4 | self->sent << 12;
    weft_join(self);
    return op;
}

WEFT_INLINE bool weft_op_is_done(weft_self *self, weft_op op, weft_progress how)
{
    if ((op.kind & 15) == WEFT_OP_DONE)
        return true;
    if ((op.kind & 15) == WEFT_OP_ASK)
        return weft_ask_answered(self, op.process, op.sequence);
    if (weft_has_queues(self) && (op.kind & 15) == WEFT_OP_QUEUE)
        return weft_queue_is_done(self, op.process, op.sequence);
    const uint64_t sent = self->sent_to[op.process];
    const uint32_t open =
        (uint32_t)sent -
        weft_load_acquire_u32(&self->link->done_remote[op.process], ORDER_done_remote_seen);
    if ((int64_t)(sent - open - op.sequence) >= 0)
        return true;
    const uint32_t sources =
        self->sent - weft_load_acquire_u32(&self->link->done_local, ORDER_done_local_seen);
    return how == WEFT_LOCAL && ((self->sent - (op.kind >> 12)) & 0xfffff) >= sources;
}

/* Whether an operation can be one of this rank: it has the stamp, and is not of the future. */
WEFT_INLINE bool weft_op_exists(const weft_self *self, weft_op op)
{
    const uint32_t kind = op.kind & 15;

    if (kind == WEFT_OP_DONE)
        return true;
    return kind <= (weft_has_queues(self) ? WEFT_OP_QUEUE : WEFT_OP_ASK) &&
           (op.kind >> 4 & 0xff) == self->op_stamp && op.process >= 0 &&
           op.process < self->state->processes &&
           op.sequence <= weft_op_newest(self, op.process, kind);
}

WEFT_INLINE void weft_check_op(weft_self *self, weft_op op, weft_progress how, const char *no_op,
                               const char *no_progress)
{
    weft_check_stop(self);
    if (WEFT_UNLIKELY(!weft_op_exists(self, op)))
        weft_fail4(self, WEFT_ERR_ARGUMENT, no_op, (int64_t)op.sequence, op.process, op.kind, 0);
    if (WEFT_UNLIKELY(how != WEFT_LOCAL && how != WEFT_REMOTE))
        weft_fail4(self, WEFT_ERR_ARGUMENT, no_progress, how, 0, 0, 0);
}

/* Lets sources of puts that are done be reused. */
WEFT_INLINE void weft_op_reuse(void)
{
#ifndef __CUDACC__
    weft_reuse(NULL, SIZE_MAX);
#endif
}

WEFT_FN int weft_op_test(weft_self *self, weft_op op, weft_progress how)
{
    WEFT_TOGETHER_FOR(int, self, weft_op_test(self, op, how), op.sequence, op.process, op.kind, how)
    weft_check_op(self, op, how,
                  "weft_op_test: operation %lld to process %d (kind 0x%x) is none of this rank",
                  "weft_op_test: %d is neither WEFT_LOCAL nor WEFT_REMOTE");
    weft_join(self);
    if (weft_leads(self)) {
        const bool done = weft_op_is_done(self, op, how);
        if (!done && (op.kind & 15) == WEFT_OP_PUT && how == WEFT_REMOTE)
            weft_proxy_ask(self, op.process);
        if (done && how == WEFT_REMOTE)
            weft_channel_fence(self);
        if (done)
            weft_op_reuse();
        else
            weft_batch_send(self);
        self->result = done;
        weft_turn(self);
    }
    weft_join(self);
    const int result = (int)self->result;
    weft_join(self);
    return result;
}

WEFT_FN void weft_op_wait(weft_self *self, weft_op op, weft_progress how)
{
    WEFT_TOGETHER(self, weft_op_wait(self, op, how), op.sequence, op.process, op.kind, how)
    const uint32_t kind = op.kind & 15;

    weft_check_op(self, op, how,
                  "weft_op_wait: operation %lld to process %d (kind 0x%x) is none of this rank",
                  "weft_op_wait: %d is neither WEFT_LOCAL nor WEFT_REMOTE");
    weft_join(self);
    if (weft_leads(self)) {
        uint32_t rounds = 0;
        if (kind == WEFT_OP_ASK)
            weft_ask_await(self, op.process, op.sequence);
        if (weft_has_queues(self) && kind == WEFT_OP_QUEUE)
            weft_queue_await(self, op.process, op.sequence);
        if (kind == WEFT_OP_PUT && how == WEFT_REMOTE)
            weft_proxy_ask(self, op.process);
        while (kind == WEFT_OP_PUT && !weft_op_is_done(self, op, how) &&
               weft_wait_round(self, &rounds,
                               how == WEFT_LOCAL ? WEFT_WAIT_LOCAL : WEFT_WAIT_REMOTE,
                               (uint64_t)op.process, 0, (uint32_t)op.sequence))
            continue;
        weft_wait_over(self, rounds);
        if (how == WEFT_REMOTE)
            weft_channel_fence(self);
        weft_op_reuse();
    }
    weft_join(self);
}

/* ---- batches --------------------------------------------------------------------------------- */

WEFT_FN void weft_batch_begin(weft_self *self)
{
    WEFT_TOGETHER(self, weft_batch_begin(self), 0)
    weft_check_stop(self);
    if (weft_leads(self))
        self->batches++;
}

WEFT_FN void weft_batch_end(weft_self *self)
{
    WEFT_TOGETHER(self, weft_batch_end(self), 0)
    weft_check_stop(self);
    weft_join(self); /* all have seen the last batch as it was */
    if (WEFT_UNLIKELY(self->batches == 0))
        weft_fail4(self, WEFT_ERR_STATE, "weft_batch_end: no batch was begun", 0, 0, 0, 0);
    weft_join(self);
    if (weft_leads(self) && --self->batches == 0)
        weft_batch_send(self);
}

#endif
