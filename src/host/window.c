/*
 * host/window.c - windows of host programs, and the groups that have them; puts, notifications and
 * waits. Runs in the program's threads, with the state of slot 0.
 */
#include "host/host.h"

#include "runtime/space/tables.h"

#include <math.h>

/* ---- groups ---------------------------------------------------------------------------------- */

/* A communicator of host programs that this one is a member of. */
static weft_status check_group(weft_job *job, const char *call, weft_comm group)
{
    weft_lock(&job->space.tables);
    const struct weft_comm_entry *entry = weft_comm_find(&job->space.state, group);
    const bool good =
        entry != NULL && weft_comm_is_host(entry) && entry->rank_of_slot[WEFT_HOST_SLOT] >= 0;
    weft_unlock(&job->space.tables);
    if (!good)
        return weft_refused(job, WEFT_ERR_COMM,
                            "%s: 0x%x is no group of host programs with process %d", call, group,
                            job->numbers.process);
    return WEFT_OK;
}

weft_status weft_host_group_split(weft_job *job, weft_comm parent, int color, int key,
                                  weft_comm *group)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_split");
    WEFT_HOST_TRY(weft_host_place(job, host_name, "group", group));
    WEFT_HOST_TRY(check_group(job, host_name, parent));
    WEFT_HOST_TRY(weft_host_together(job, host_name));
    const weft_comm made = weft_comm_split(self, parent, color, key);
    if (made == WEFT_COMM_NONE && weft_failure(self) != WEFT_OK)
        WEFT_HOST_TRY(weft_refused(job, weft_failure(self),
                                   "%s: no more communicators (WEFT_COMMS=%d)", host_name,
                                   (int)job->config.comms));
    *group = made;
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_split(weft_job *job, int color, int key, weft_comm *group)
{
    return weft_host_group_split(job, WEFT_COMM_HOST, color, key, group);
}

weft_status weft_host_group_free(weft_job *job, weft_comm *group)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_group_free");
    WEFT_HOST_TRY(weft_host_place(job, host_name, "group", group));
    WEFT_HOST_TRY(check_group(job, host_name, *group));
    if (*group == WEFT_COMM_HOST)
        WEFT_HOST_TRY(
            weft_refused(job, WEFT_ERR_COMM, "%s: WEFT_COMM_HOST is built in", host_name));
    WEFT_HOST_TRY(weft_host_together(job, host_name));
    const weft_comm freed = *group;
    weft_status status = WEFT_OK;
    weft_comm_free(self, group);
    for (int i = 0; weft_services[i] != NULL && status == WEFT_OK; i++)
        if (weft_services[i]->group_freed != NULL)
            status = weft_services[i]->group_freed(job, freed);
    return weft_host_leave(job, status);
}

weft_status weft_host_group_barrier(weft_job *job, weft_comm group)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_group_barrier");
    WEFT_HOST_TRY(check_group(job, host_name, group));
    WEFT_HOST_TRY(weft_host_together(job, host_name));
    weft_barrier(self, group);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_barrier(weft_job *job)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_barrier");
    WEFT_HOST_TRY(weft_host_together(job, host_name));
    weft_barrier(self, WEFT_COMM_HOST);
    return weft_host_leave(job, WEFT_OK);
}

/* ---- windows --------------------------------------------------------------------------------- */

weft_status weft_host_group_win_create(weft_job *job, weft_comm group, void *base, size_t bytes,
                                       weft_win *win)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_win_create");
    WEFT_HOST_TRY(weft_host_place(job, host_name, "win", win));
    WEFT_HOST_TRY(check_group(job, host_name, group));
    WEFT_HOST_TRY(weft_host_together(job, host_name));
    const weft_win made = weft_win_create(self, group, base, bytes);
    if (made == WEFT_WIN_NONE)
        WEFT_HOST_TRY(weft_refused(job, weft_failure(self), "%s", job->space.no_window));
    *win = made;
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_win_create(weft_job *job, void *base, size_t bytes, weft_win *win)
{
    return weft_host_group_win_create(job, WEFT_COMM_HOST, base, bytes, win);
}

/* One that all members free together. */
static weft_status check_free(weft_job *job, const char *call, weft_win win)
{
    if (weft_host_window(job, call, win) == NULL)
        return WEFT_ERR_WINDOW;
    weft_lock(&job->space.tables);
    const bool announced = weft_announced_is(job, win);
    weft_unlock(&job->space.tables);
    if (announced)
        return weft_refused(job, WEFT_ERR_WINDOW,
                            "%s: window 0x%x is an exposure, which weft_unexpose ends", call, win);
    return WEFT_OK;
}

weft_status weft_host_win_free(weft_job *job, weft_win *win)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_win_free");
    WEFT_HOST_TRY(weft_host_place(job, host_name, "win", win));
    WEFT_HOST_TRY(check_free(job, host_name, *win));
    WEFT_HOST_TRY(weft_host_together(job, host_name));
    weft_win_free(self, win);
    return weft_host_leave(job, WEFT_OK);
}

/* ---- puts and notifications ------------------------------------------------------------------ */

weft_status weft_host_put(weft_job *job, weft_win win, int process, size_t offset,
                          const void *source, size_t bytes)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_put");
    WEFT_HOST_TRY(weft_host_range(job, host_name, win, process, offset, source, bytes));
    weft_put(self, win, process, offset, source, bytes);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_put_notify(weft_job *job, weft_win win, int process, size_t offset,
                                 const void *source, size_t bytes, int tag)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_put_notify");
    WEFT_HOST_TRY(weft_host_range(job, host_name, win, process, offset, source, bytes));
    WEFT_HOST_TRY(weft_host_tag(job, host_name, tag));
    weft_put_notify(self, win, process, offset, source, bytes, tag);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_notify(weft_job *job, int process, int tag)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_notify");
    WEFT_HOST_TRY(weft_host_process(job, host_name, process));
    WEFT_HOST_TRY(weft_host_tag(job, host_name, tag));
    weft_notify(self, WEFT_COMM_HOST, process, tag);
    return weft_host_leave(job, WEFT_OK);
}

/* Ranks count only while they run: before the others are ready a count would be lost. */
static weft_status check_rank(weft_job *job, const char *call, int rank, int tag)
{
    if (!weft_job_started(job))
        return weft_refused(job, WEFT_ERR_STATE, "%s: no kernel runs that has a rank %d", call,
                            rank);
    if (rank < 0 || rank >= job->numbers.ranks)
        return weft_refused(job, WEFT_ERR_RANK, "%s: rank %d is not one of %d", call, rank,
                            job->numbers.ranks);
    return weft_host_tag(job, call, tag);
}

weft_status weft_host_notify_rank(weft_job *job, int rank, int tag)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_notify_rank");
    WEFT_HOST_TRY(check_rank(job, host_name, rank, tag));
    weft_notify(self, WEFT_COMM_WORLD, rank, tag);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_put_notify_rank(weft_job *job, weft_win win, int process, size_t offset,
                                      const void *source, size_t bytes, int rank, int tag)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_put_notify_rank");
    WEFT_HOST_TRY(weft_host_range(job, host_name, win, process, offset, source, bytes));
    WEFT_HOST_TRY(check_rank(job, host_name, rank, tag));
    const struct weft_state *state = &job->space.state;
    const int place = state->windows[weft_handle_index(win)].member[process].process;
    const int owner = state->comms[weft_handle_index(WEFT_COMM_WORLD)].member[rank].process;
    if (place != owner)
        WEFT_HOST_TRY(weft_refused(
            job, WEFT_ERR_RANK, "%s: rank %d is one of process %d, and the data goes to process %d",
            host_name, rank, owner, place));
    weft_put(self, win, process, offset, source, bytes);
    weft_notify(self, WEFT_COMM_WORLD, rank, tag); /* one process: in the order sent */
    return weft_host_leave(job, WEFT_OK);
}

/* ---- waits ----------------------------------------------------------------------------------- */

weft_status weft_host_wait(weft_job *job, int tag, uint32_t count)
{
    return weft_host_wait_for(job, tag, count, HUGE_VAL);
}

weft_status weft_host_wait_for(weft_job *job, int tag, uint32_t count, double seconds)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_wait");
    WEFT_HOST_TRY(weft_host_tag(job, host_name, tag));
    host_call.deadline = weft_host_deadline(seconds);
    weft_wait(self, tag, count);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_test(weft_job *job, int tag, uint32_t count, int *done)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_test");
    WEFT_HOST_TRY(weft_host_tag(job, host_name, tag));
    WEFT_HOST_TRY(weft_host_place(job, host_name, "done", done));
    *done = weft_test(self, tag, count);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_flush(weft_job *job, weft_win win)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_flush");
    WEFT_HOST_TRY(weft_host_window(job, host_name, win) != NULL ? WEFT_OK : WEFT_ERR_WINDOW);
    weft_flush(self, win);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_ptr(weft_job *job, weft_win win, int process, void **memory)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_ptr");
    WEFT_HOST_TRY(weft_host_place(job, host_name, "memory", memory));
    WEFT_HOST_TRY(weft_host_range(job, host_name, win, process, 0, NULL, 0));
    *memory = weft_ptr(self, win, process);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_fence(weft_job *job)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_fence");
    weft_fence(self);
    return weft_host_leave(job, WEFT_OK);
}
