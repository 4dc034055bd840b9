/*
 * runtime/watch/watch.h - the job is looked after: the control channel is read, waits are watched.
 */
#ifndef WEFT_RUNTIME_WATCH_WATCH_H
#define WEFT_RUNTIME_WATCH_WATCH_H

#include "runtime/job/job.h"

/* ---- monitor.c, watchdog.c, waiting.c ---- */

weft_status weft_monitor_start(struct weft_job *job);
void weft_monitor_stop(struct weft_job *job);
/* Finds the next of this process's jobs that are looked after; NULL: before the first, after the
 * last. For random mode's one thread. */
struct weft_job *weft_watched_next(const struct weft_job *job);
/* Gives the number of this process in the job that was begun last; -1: there is none. */
int weft_watched_process(void);

weft_status weft_watchdog_open(struct weft_job *job);
/*
 * Looks at every wait; reports those that last too long. judges: it may also end the job, since all
 * that the control channel has brought is applied. Monitor only.
 */
void weft_watchdog_look(struct weft_job *job, bool judges);
/* Says who waits for what in this process: the job is about to end by a timeout. Monitor only. */
void weft_watchdog_tell(struct weft_job *job);
/* "in weft_wait for tag 3: ...": of a slot that waits. The job's tables are locked. */
void weft_waiting_text(const struct weft_job *job, uint32_t slot, char *text, size_t bytes);
/* "WEFT_COMM_WORLD" or "communicator 0x10006". */
struct weft_name weft_comm_name(weft_comm comm);
/* Lists members in this process that have not come to the same meeting: a barrier, or the
 * collective `op`. */
void weft_waiting_absent(const struct weft_job *job, uint32_t kind, uint64_t op, weft_comm comm,
                         char *text, size_t bytes);

#endif
