/*
 * coll/host/device.c - buffers in memory of the device. Sends, receives and copies take them as
 * they are. What the host puts together, and many small pieces, go through scratch.
 *
 * In a team whose members all declare that their buffers are there, reductions that ccl/ knows are
 * launched on a stream instead. One team of a job at a time has that: of several, members may call
 * in unlike orders, and the stream keeps one.
 */
#include "coll/host/plan.h"

#include "ccl/ccl.h"
#include "msg/copy.h"

#include <string.h>

weft_status weft_team_place(const weft_team *team, int tag, const void *memory, size_t bytes,
                            bool *far)
{
    const char *const wrong = bytes != 0 && memory == NULL
                                  ? "are no memory"
                                  : weft_msg_whose(team->job, memory, bytes, far);

    return wrong == NULL ? WEFT_OK
                         : weft_refused(team->job, WEFT_ERR_ARGUMENT, "%s: %zu bytes at %p %s",
                                        weft_team_name(team, tag), bytes, memory, wrong);
}

bool weft_plan_is_far(weft_team_op *op, const void *memory, size_t bytes)
{
    bool far = false;

    if (op->failed == WEFT_OK)
        op->failed = weft_team_place(op->team, op->tag, memory, bytes, &far);
    return far;
}

void weft_plan_near(weft_team_op *op, const void **source, size_t out, void **target, size_t in)
{
    if (weft_plan_is_far(op, *source, out)) {
        void *const near = weft_plan_scratch(op, out);
        weft_plan_copy(op, near, *source, out);
        weft_plan_next(op);
        *source = near;
    }
    if (weft_plan_is_far(op, *target, in)) {
        op->there = *target;
        op->near = *target = weft_plan_scratch(op, in);
        op->near_bytes = in;
    }
}

/* ---- teams whose reductions are launched ----------------------------------------------------- */

enum { COLUMNS = 16 };

/* Takes the job's place for such a team, if it is free, or gives it up. Whether the team has it. */
static bool take_place(weft_team *team, bool takes)
{
    struct weft_teams *const teams = team->of;

    weft_lock(&teams->lock);
    if (teams->launches == (takes ? NULL : team))
        teams->launches = takes ? team : NULL;
    team->launches = teams->launches == team;
    weft_unlock(&teams->lock);
    return team->launches;
}

weft_status weft_team_device(weft_team *team, int declared, int *taken)
{
    unsigned char mine, said[WEFT_CCL_MEMBERS];

    if (team == NULL || taken == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_team_device: %s is NULL",
                        team == NULL ? "team" : "taken");
    weft_job *const job = team->job;
    weft_status status = weft_job_idle(job, "weft_team_device");
    bool can = team->members == job->numbers.processes && team->members <= WEFT_CCL_MEMBERS &&
               job->device_ops->launch != NULL;
    *taken = 0;
    if (status != WEFT_OK)
        return status;
    mine = declared && team->me == job->numbers.process && take_place(team, true);
    for (int p = 0; p < team->members && can; p++) { /* `can` is alike at all, `mine` is not */
        can = job->processes[p].kind == job->processes[0].kind;
        mine = mine && (p == team->me || job->processes[p].mapped);
    }
    if (can)
        status = weft_team_allgather(team, &mine, 1, said, NULL);
    can = can && status == WEFT_OK && memchr(said, 0, (size_t)team->members) == NULL;
    if (can && team->of->ccl == NULL)
        status = weft_ccl_open(job, WEFT_COMM_HOST, COLUMNS, &team->of->ccl);
    *taken = take_place(team, can && status == WEFT_OK);
    return status;
}

bool weft_plan_launches(weft_team_op *plan, const void *source, size_t out, const void *target,
                        size_t in)
{
    if (!plan->team->launches || !plan->combine.known)
        return false;
    if ((out != 0 && !weft_plan_is_far(plan, source, out)) ||
        (in != 0 && !weft_plan_is_far(plan, target, in)))
        weft_plan_fail(plan, WEFT_ERR_ARGUMENT,
                       "%zu bytes at %p, or %zu at %p, are not the device's (weft_team_device)",
                       out, source, in, target);
    plan->launched = plan->failed == WEFT_OK;
    plan->count = plan->launched;
    return plan->launched;
}

weft_status weft_plan_look(weft_team_op *op)
{
    const struct weft_job *const job = op->team->job;
    bool passed = false;
    weft_status status = weft_job_status(job);

    if (status == WEFT_OK && !op->begun)
        status = job->device_ops->mark(job->device, WEFT_STREAM_TEAMS, &op->mark);
    if (status == WEFT_OK)
        status = job->device_ops->passed(job->device, WEFT_STREAM_TEAMS, op->mark, &passed);
    op->begun = true;
    op->at = passed;
    return status;
}
