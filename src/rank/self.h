/*
 * rank/self.h - who and where a rank is, what it says, and its clock.
 */
#ifndef WEFT_RANK_SELF_H
#define WEFT_RANK_SELF_H

#include "rank/barrier.h"

WEFT_FN int weft_size(weft_self *self, weft_comm comm)
{
    return weft_check_comm(self, comm, "weft_size")->members;
}

/* The built-in ones without a look at the tables: kernels ask for them everywhere. */
WEFT_FN int weft_rank(weft_self *self, weft_comm comm)
{
    if (comm == WEFT_COMM_WORLD)
        return self->rank;
    if (comm == WEFT_COMM_DEVICE)
        return (int)self->slot - 1;
    return weft_check_comm(self, comm, "weft_rank")->rank_of_slot[self->slot];
}

WEFT_FN int weft_processes(weft_self *self)
{
    return self->state->processes;
}

WEFT_FN int weft_process(weft_self *self)
{
    return self->process;
}

WEFT_INLINE const struct weft_process_entry *weft_check_process(weft_self *self, int process,
                                                                const char *call)
{
    weft_check_stop(self);
    if (WEFT_UNLIKELY(process < 0 || process >= self->state->processes))
        weft_fail_in(self, WEFT_ERR_RANK, call, "%s: process %d is not one of %d", process,
                     self->state->processes, 0, 0);
    return &self->state->process_table[process];
}

WEFT_FN int weft_process_first(weft_self *self, int process)
{
    return weft_check_process(self, process, "weft_process_first")->first_rank;
}

WEFT_FN int weft_process_ranks(weft_self *self, int process)
{
    return weft_check_process(self, process, "weft_process_ranks")->ranks;
}

WEFT_INLINE void weft_region_mark(weft_self *self, enum weft_trace_kind kind, const char *name)
{
    if (weft_records(self) && weft_alone_begin(self)) {
        weft_trace_region(self, kind, name);
        weft_alone_end(self);
    }
}

WEFT_FN void weft_region_begin(weft_self *self, const char *name)
{
    weft_region_mark(self, WEFT_TRACE_REGION, name);
}

WEFT_FN void weft_region_end(weft_self *self)
{
    weft_region_mark(self, WEFT_TRACE_REGION_END, "");
}

WEFT_FN void weft_log_values(weft_self *self, const char *format, int count,
                             const weft_log_arg *args)
{
    weft_check_stop(self);
    if (count < 0 || count > WEFT_LOG_ARGS)
        weft_fail4(self, WEFT_ERR_ARGUMENT, "weft_log: %d arguments, at most %d", count,
                   WEFT_LOG_ARGS, 0, 0);
    if (weft_thread(self) == 0 && weft_alone_begin(self)) { /* its threads need not meet */
        weft_far(self, weft_post_text)(self, WEFT_COMMAND_LOG, 0, format, count, args);
        weft_alone_end(self);
    }
}

/*
 * All ranks of the device meet before the clock is read, and its first rank reads it. The stop's
 * meeting is the end of what is measured.
 */
WEFT_FN void weft_timer_start(weft_self *self)
{
    WEFT_TOGETHER(self, weft_timer_start(self), 0)
    weft_barrier(self, WEFT_COMM_DEVICE);
    if (weft_rank(self, WEFT_COMM_DEVICE) == 0 && weft_leads(self))
        self->timer_started = weft_port_clock();
}

WEFT_FN void weft_timer_stop(weft_self *self)
{
    WEFT_TOGETHER(self, weft_timer_stop(self), 0)
    weft_barrier(self, WEFT_COMM_DEVICE);
    if (weft_rank(self, WEFT_COMM_DEVICE) != 0 || !weft_leads(self))
        return;
    const uint64_t now = weft_port_clock();
    if (self->timer_started == 0)
        weft_fail4(self, WEFT_ERR_STATE, "weft_timer_stop: no timer was started", 0, 0, 0, 0);
    if (self->intervals_count == self->state->intervals_most)
        weft_fail4(self, WEFT_ERR_LIMIT,
                   "weft_timer_stop: all %d intervals are used (WEFT_TIMER_INTERVALS)",
                   self->state->intervals_most, 0, 0, 0);
    self->state->intervals[self->intervals_count++] = (double)(now - self->timer_started) * 1e-6;
    self->timer_started = 0;
}

#endif
