/*
 * host/host.h - how a call of the host program begins and ends, and what it checks.
 *
 * Calls do what ranks do, by the same functions (rank/), with the state of slot 0. Where a rank
 * would end with its job, the call goes back to its own beginning (setjmp) and returns the job's
 * status: only functions of the library are between. Several threads share the state, one at a
 * time: a call that waits lets others in, and finds its own place again (device/port.h).
 */
#ifndef WEFT_HOST_HOST_H
#define WEFT_HOST_HOST_H

#include "runtime/job/job.h"

#include "base/say.h"
#include "weft/device.h"

/* Where gather and scatter send: a group of all processes that no front end numbers. */
#define WEFT_COMM_PIECES ((weft_comm)(WEFT_HANDLE_COMM | ((1u << WEFT_HANDLE_BITS) - 1)))

/* The host program's rank, which is the caller's until weft_host_leave; NULL: *status says why. */
weft_self *weft_host_enter(weft_job *job, const char *name, struct weft_port_call *call,
                           weft_status *status);
/* Returns status. */
weft_status weft_host_leave(weft_job *job, weft_status status);
/* The call's wait ended early: leaves, and returns why. */
weft_status weft_host_escaped(weft_job *job);
/* The call is collective: one thread of the program at a time makes such calls. Errors: STATE. */
weft_status weft_host_together(weft_job *job, const char *name);

/* Every call begins so. Its name, its thread's place and its status stand in host_name, host_call
 * and host_status. */
#define WEFT_HOST_BEGIN(job, self, name)                                                           \
    static const char host_name[] = name;                                                          \
    struct weft_port_call host_call = {.caller = host_name};                                       \
    weft_status host_status;                                                                       \
    weft_self *const self __attribute__((unused)) =                                                \
        weft_host_enter(job, host_name, &host_call, &host_status);                                 \
    if (self == NULL)                                                                              \
        return host_status;                                                                        \
    if (setjmp(host_call.escape) != 0)                                                             \
    return weft_host_escaped(job)

/* A check or a step of it: the call ends with the first error. */
#define WEFT_HOST_TRY(step)                                                                        \
    do {                                                                                           \
        host_status = (step);                                                                      \
        if (host_status != WEFT_OK)                                                                \
            return weft_host_leave(job, host_status);                                              \
    } while (0)

/* The time, in weft_now_ns, at which a wait of so many seconds is over; 0: never. */
uint64_t weft_host_deadline(double seconds);

/* ---- checks: OK, or an error that is said, and the job goes on ------------------------------- */

weft_status weft_host_process(weft_job *job, const char *call, int process);
weft_status weft_host_tag(weft_job *job, const char *call, int tag);
/* Where a call has something to answer, or is told where that is: it must not be NULL. */
weft_status weft_host_place(weft_job *job, const char *call, const char *name, const void *place);
/* A window of host programs; NULL, and an error said, if win is none. */
const struct weft_window *weft_host_window(weft_job *job, const char *call, weft_win win);
/*
 * The member of a window of host programs, in which the bytes are, and the program's own memory
 * (NULL only if there are none).
 */
weft_status weft_host_range(weft_job *job, const char *call, weft_win win, int member,
                            size_t offset, const void *memory, size_t bytes);

#endif
