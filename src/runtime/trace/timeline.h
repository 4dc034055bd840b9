/*
 * runtime/trace/timeline.h - the job's timeline, if it has WEFT_TRACE; else these do nothing.
 */
#ifndef WEFT_RUNTIME_TRACE_TIMELINE_H
#define WEFT_RUNTIME_TRACE_TIMELINE_H

#include "runtime/job/job.h"

/* Opens the file, and sets the clocks. Collective, blocking; before there are ranks. */
weft_status weft_trace_open(struct weft_job *job);
/* Room for what the ranks of a kernel do. Table lock held. */
weft_status weft_trace_prepare(struct weft_job *job);
/* Frees the logs before the ranks' states go; what they held is written. Table lock held. */
void weft_trace_free_ranks(struct weft_job *job);
/* Gives a rank its log. */
void weft_trace_place(struct weft_job *job, weft_self *self);
/* Note that a kernel is about to be launched (fills in launch->clock), and that it has ended. */
void weft_trace_launch(struct weft_job *job, struct weft_launch *launch);
void weft_trace_ran(struct weft_job *job);
/*
 * Appends what ranks did to the file, and forgets it: before there are others, and last by
 * weft_close, with what the services did. No kernel runs. Caller only. Errors: SYSTEM, DEVICE; the
 * first one ends the writing, and is returned again when it is the last time.
 */
weft_status weft_trace_write(struct weft_job *job, bool last);
void weft_trace_close(struct weft_job *job);
/* Notes a round of a service that did something, from `begin` on. Its progress lock held. */
void weft_trace_round(struct weft_job *job, enum weft_net_side side, uint64_t begin);
/* Notes what the network did, in a job with a timeline. The side's progress lock held. */
void weft_trace_net(struct weft_job *job, enum weft_net_side side, int process, uint32_t notice,
                    uint64_t bytes);

#endif
