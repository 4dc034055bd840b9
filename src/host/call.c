/* host/call.c - see host.h. Runs in the program's threads, one at a time. */
#include "host/host.h"

#include "rank/path/dispatch.h"
#include "runtime/space/tables.h"

weft_self *weft_host_enter(weft_job *job, const char *name, struct weft_port_call *call,
                           weft_status *status)
{
    *status = weft_job_ready(job, name);
    if (*status != WEFT_OK)
        return NULL;
    weft_self *self = job->ranks.selves[WEFT_HOST_SLOT];
    weft_port_enter(&self->port, call);
    return self;
}

weft_status weft_host_leave(weft_job *job, weft_status status)
{
    struct weft_port *port = &job->ranks.selves[WEFT_HOST_SLOT]->port;

    if (job->collective == port->call)
        job->collective = NULL;
    weft_port_leave(port);
    return status;
}

weft_status weft_host_escaped(weft_job *job)
{
    weft_self *self = job->ranks.selves[WEFT_HOST_SLOT];
    const bool late = self->port.call->late;

    weft_wait_told_over(self);
    return weft_host_leave(job, late ? WEFT_ERR_TIMEOUT : weft_job_status(job));
}

weft_status weft_host_together(weft_job *job, const char *name)
{
    const struct weft_port_call *call = job->ranks.selves[WEFT_HOST_SLOT]->port.call;

    if (job->collective != NULL && job->collective != call)
        return weft_refused(job, WEFT_ERR_STATE,
                            "%s: another thread of process %d is in a collective call", name,
                            job->numbers.process);
    job->collective = call;
    return WEFT_OK;
}

uint64_t weft_host_deadline(double seconds)
{
    const double most = 1e9; /* thirty years */

    if (!(seconds < most))
        return 0;
    return weft_now_ns() + (seconds > 0 ? (uint64_t)(seconds * 1e9) : 0);
}

weft_status weft_host_process(weft_job *job, const char *call, int process)
{
    if (process < 0 || process >= job->numbers.processes)
        return weft_refused(job, WEFT_ERR_RANK, "%s: process %d is not one of %d", call, process,
                            job->numbers.processes);
    return WEFT_OK;
}

weft_status weft_host_tag(weft_job *job, const char *call, int tag)
{
    if (tag < 0 || tag >= WEFT_TAGS)
        return weft_refused(job, WEFT_ERR_TAG, "%s: tag %d is not in 0..255", call, tag);
    return WEFT_OK;
}

weft_status weft_host_place(weft_job *job, const char *call, const char *name, const void *place)
{
    if (place == NULL)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: %s is NULL", call, name);
    return WEFT_OK;
}

const struct weft_window *weft_host_window(weft_job *job, const char *call, weft_win win)
{
    const struct weft_state *state = &job->space.state;

    weft_lock(&job->space.tables);
    const struct weft_window *window = weft_window_find(state, win);
    if (window != NULL && !weft_comm_is_host(&state->comms[weft_handle_index(window->comm)]))
        window = NULL;
    weft_unlock(&job->space.tables);
    if (window == NULL)
        weft_refused(job, WEFT_ERR_WINDOW, "%s: window 0x%x is none of the host's", call, win);
    return window;
}

weft_status weft_host_range(weft_job *job, const char *call, weft_win win, int member,
                            size_t offset, const void *memory, size_t bytes)
{
    const struct weft_window *window = weft_host_window(job, call, win);

    if (window == NULL)
        return WEFT_ERR_WINDOW;
    if (member < 0 || member >= window->members)
        return weft_refused(job, WEFT_ERR_RANK, "%s: process %d is not one of %d", call, member,
                            window->members);
    if (!weft_inside(offset, 0, bytes, 1, window->entry[member].bytes))
        return weft_refused(
            job, WEFT_ERR_BOUNDS,
            "%s: %zu bytes at offset %zu are not inside the window of %llu bytes of "
            "process %d",
            call, bytes, offset, (unsigned long long)window->entry[member].bytes, member);
    if (memory == NULL && bytes != 0)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: %zu bytes at NULL", call, bytes);
    return WEFT_OK;
}
