/*
 * rank/path/ask.h - memory that this rank may not load or update itself: the host asks its owner
 * (abi/ask.h). Asks go the way of puts through the host, in their order; answers come back in the
 * order of the asks of each process.
 */
#ifndef WEFT_RANK_PATH_ASK_H
#define WEFT_RANK_PATH_ASK_H

#include "rank/path/proxy.h"

/* Whether all asks of a process up to that number have been answered; an acquire. The leader. */
WEFT_INLINE bool weft_ask_answered(const weft_self *self, int process, uint64_t number)
{
    const uint64_t asked = self->asked[process];
    const uint32_t open = (uint32_t)asked - weft_load_acquire_u32(weft_link_answered(self, process),
                                                                  ORDER_answer_seen);

    return (int64_t)(asked - open - number) >= 0;
}

/* Waits until an ask is answered. The leader. */
WEFT_COLD void weft_ask_await(weft_self *self, int process, uint64_t number)
{
    if (!weft_ask_answered(self, process, number)) /* else it may be too old to be compared so */
        weft_await(self, weft_link_answered(self, process), ORDER_answer_seen, (uint32_t)number,
                   WEFT_WAIT_ANSWER, process);
    if (number == self->asked[process] && self->answered[process] != number) {
        self->answered[process] = number;
        self->unsettled--;
    }
}

/* Waits until all that the rank has asked for is there. The leader. */
WEFT_INLINE void weft_ask_flush(weft_self *self)
{
    for (int p = 0; self->unsettled != 0 && p < self->state->processes; p++) {
        if (self->answered[p] != self->asked[p])
            weft_ask_await(self, p, self->asked[p]);
        if (weft_has_queues(self))
            weft_queue_settle(self, p);
    }
}

/* Sends the command, with the operands of an update. The leader. */
WEFT_COLD void weft_ask_post(weft_self *self, int process, struct weft_command *command,
                             const void *operands, uint32_t bytes)
{
    command->kind = WEFT_COMMAND_ASK;
    if (bytes != 0 && bytes <= WEFT_WITHIN_MOST) {
        uint64_t words[2];
        weft_load_within(words, operands, bytes);
        command->flags |= WEFT_COMMAND_WITHIN;
        command->source = words[0];
        command->source_pitch = words[1];
        bytes = 0;
    } else if (bytes != 0) {
        command->flags |= WEFT_COMMAND_INLINE;
    }
    if (!weft_post(self, command, operands, bytes, true))
        return;
    self->unsettled += self->asked[process] == self->answered[process];
    self->asked[process]++;
    self->asks++;
}

/* Posts an ask behind what a channel to the owner still carries. The leader. */
WEFT_INLINE void weft_ask_owner(weft_self *self, const struct weft_route *to,
                                struct weft_command *command, const void *operands, uint32_t bytes)
{
    struct weft_out *const out = weft_route_out(self, to);

    if (out != NULL)
        weft_out_drain(self, out);
    if (weft_has_queues(self))
        weft_queue_settle(self, to->process);
    weft_ask_post(self, to->process, command, operands, bytes);
}

/*
 * Waits for the one ask whose answer comes to the link, and returns it. Each of its words carries
 * the stamp, so that one load says whether both are there.
 */
WEFT_COLD uint64_t weft_ask_result(weft_self *self, int process)
{
    const uint64_t *const word = self->link->result;
    const uint64_t stamp = (uint64_t)++self->results << 32;
    uint32_t rounds = 0;
    uint64_t low, high;

    weft_trace_wait(self, WEFT_TRACE_DELIVERED, process, 0);
    do {
#ifdef __CUDACC__
        const uint4 both = weft_poll_four((const uint32_t *)word);
        low = (uint64_t)both.y << 32 | both.x;
        high = (uint64_t)both.w << 32 | both.z;
#else
        low = weft_load_acquire_u64(&word[0], ORDER_answer_seen);
        high = weft_load_acquire_u64(&word[1], ORDER_answer_seen);
#endif
    } while (((low ^ stamp) >> 32 != 0 || (high ^ stamp) >> 32 != 0) &&
             weft_wait_round(self, &rounds, WEFT_WAIT_ANSWER, (uint64_t)process, self->results - 1,
                             self->results));
    weft_polled();
    weft_wait_over(self, rounds);
    weft_trace_waited(self);
    return (uint32_t)low | high << 32;
}

#endif
