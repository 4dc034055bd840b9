/*
 * coll/host/device.c - buffers in memory of the device. Sends, receives and copies take them as
 * they are. What the host puts together, and many small pieces, go through scratch: copied there by
 * a plan's first round, and back by its last.
 *
 * In a team whose members all declare that their buffers are there, reductions that ccl/ knows are
 * launched on a stream instead, and complete when it has passed their mark. One team of a job at a
 * time has that: of several, members may call in unlike orders, and the stream keeps one.
 */
#include "coll/host/plan.h"

#include "ccl/ccl.h"
#include "msg/copy.h"

#include <stdio.h>
#include <string.h>

static void refuse(weft_team_op *op, const void *memory, size_t bytes, const char *why)
{
    char text[160];

    snprintf(text, sizeof(text), "%zu bytes at %p %s", bytes, memory, why);
    weft_plan_fail(op, WEFT_ERR_ARGUMENT, text);
}

bool weft_plan_is_far(weft_team_op *op, const void *memory, size_t bytes)
{
    bool far;
    const char *const wrong = weft_msg_whose(op->team->job, memory, bytes, &far);

    if (wrong != NULL)
        refuse(op, memory, bytes, wrong);
    return far;
}

void weft_plan_near(weft_team_op *op, const void **source, size_t out, void **target, size_t in)
{
    const void *const there = *source;

    if (weft_plan_is_far(op, *target, in)) {
        op->there = *target;
        op->near = *target = weft_plan_scratch(op, in);
        op->near_bytes = in;
    }
    if (weft_plan_is_far(op, there, out)) {
        void *const near = weft_plan_scratch(op, out);
        weft_plan_copy(op, near, there, out);
        weft_plan_next(op);
        *source = near;
    }
}

/* ---- teams whose reductions are launched ----------------------------------------------------- */

enum { COLUMNS = 16 };

/* The job's place for such a team becomes this one's, if it is free, or is given up. */
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

/*
 * Whether the team is all processes in their order, each with a device that is given calls, which
 * all members know alike; *mapped: this one maps the memory of all.
 */
static bool can_launch(const weft_team *team, bool *mapped)
{
    const struct weft_process *const processes = team->job->processes;
    struct weft_messages *const m = team->of->messages;
    bool good = team->members == team->job->numbers.processes &&
                team->members <= WEFT_CCL_MEMBERS && weft_ccl_launches(team->job);

    weft_msg_lock(m);
    const struct weft_msg_context *const context = weft_context_find(&m->contexts, team->comm);
    *mapped = true;
    for (int p = 0; p < team->members && good; p++) {
        good = weft_context_process(context, p) == p && processes[p].kind == processes[0].kind;
        *mapped = *mapped && (p == team->me || processes[p].mapped);
    }
    weft_msg_unlock(m);
    return good;
}

weft_status weft_team_device(weft_team *team, int declared, int *taken)
{
    unsigned char mine, said[WEFT_CCL_MEMBERS];
    weft_team_op *op;
    bool mapped;

    if (team == NULL || taken == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_team_device: %s is NULL",
                        team == NULL ? "team" : "taken");
    *taken = 0;
    weft_status status = weft_job_idle(team->job, "weft_team_device");
    if (status != WEFT_OK || !can_launch(team, &mapped))
        return status;
    mine = declared && mapped && take_place(team, true);
    status = weft_team_allgather(team, &mine, 1, said, &op);
    if (status == WEFT_OK)
        status = weft_team_wait(&op);
    const bool all = status == WEFT_OK && memchr(said, 0, (size_t)team->members) == NULL;
    if (all && team->of->ccl == NULL)
        status = weft_ccl_open(team->job, WEFT_COMM_HOST, COLUMNS, &team->of->ccl);
    *taken = all && status == WEFT_OK;
    if (!*taken)
        take_place(team, false);
    return status;
}

bool weft_plan_takes(weft_team_op *op, const void *memory, size_t bytes)
{
    if (bytes != 0 && !weft_plan_is_far(op, memory, bytes))
        refuse(op, memory, bytes, "are not the device's, as weft_team_device has declared");
    return op->failed == WEFT_OK;
}

weft_status weft_plan_launched(weft_team_op *plan, weft_status status, weft_team_op **op)
{
    const struct weft_job *const job = plan->team->job;

    weft_lock(&plan->team->of->lock);
    plan->failed = status == WEFT_OK
                       ? job->device_ops->mark(job->device, WEFT_STREAM_TEAMS, &plan->mark)
                       : status;
    weft_unlock(&plan->team->of->lock);
    plan->launched = true;
    plan->count = 1;
    return weft_plan_begin(plan, op);
}

weft_status weft_plan_look(weft_team_op *op)
{
    const struct weft_job *const job = op->team->job;
    bool passed = false;
    const weft_status status =
        job->device_ops->passed(job->device, WEFT_STREAM_TEAMS, op->mark, &passed);

    op->at = passed;
    return status == WEFT_OK ? weft_job_status(job) : status;
}
