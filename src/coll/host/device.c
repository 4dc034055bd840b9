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

const void *weft_plan_near(weft_team_op *op, const void *source, size_t bytes)
{
    if (!weft_plan_is_far(op, source, bytes))
        return source;
    void *const near = weft_plan_scratch(op, bytes);
    weft_plan_copy(op, near, source, bytes);
    weft_plan_next(op);
    return near;
}

void *weft_plan_near_target(weft_team_op *op, void *target, size_t bytes)
{
    return weft_plan_is_far(op, target, bytes) ? weft_plan_scratch(op, bytes) : target;
}

void weft_plan_return(weft_team_op *op, void *target, const void *near, size_t bytes)
{
    weft_plan_copy(op, target, near, bytes);
}

/* ---- teams whose calls are launched ---------------------------------------------------------- */

enum { COLUMNS = 16 };

/* As far as all members know alike: each process is one, in its place, with a GPU of one kind. */
static bool can_launch(const weft_team *team)
{
    struct weft_messages *const m = team->of->messages;
    const struct weft_process *const processes = team->job->processes;
    bool good = team->members == team->job->numbers.processes &&
                team->members <= WEFT_CCL_MEMBERS && weft_ccl_launches(team->job);

    weft_msg_lock(m);
    const struct weft_msg_context *const context = weft_context_find(&m->contexts, team->comm);
    for (int p = 0; p < team->members && good; p++)
        good = weft_context_process(context, p) == p && processes[p].kind == processes[0].kind;
    weft_msg_unlock(m);
    return good;
}

static void both(const weft_combine *combine, const void *from, void *into, size_t count)
{
    (void)combine, (void)count;
    *(uint32_t *)into &= *(const uint32_t *)from;
}

/* Whether all members say so. */
static weft_status vote(weft_team *team, bool mine, bool *all)
{
    const weft_combine combine = {.combine = both, .bytes = sizeof(uint32_t), .commutes = 1};
    uint32_t word = mine;
    weft_team_op *op;
    weft_status status = weft_team_allreduce(team, &word, &word, 1, &combine, &op);

    if (status == WEFT_OK)
        status = weft_team_wait(&op);
    *all = word != 0;
    return status;
}

/* The job's place for such a team is this one's, or free again. Returns whether it is this one's.
 */
static bool take_place(weft_team *team, bool takes)
{
    struct weft_teams *const teams = team->of;

    weft_lock(&teams->lock);
    if (takes && teams->launches == NULL)
        teams->launches = team;
    if (!takes && teams->launches == team)
        teams->launches = NULL;
    const bool taken = teams->launches == team;
    weft_unlock(&teams->lock);
    return taken;
}

weft_status weft_team_device(weft_team *team, int declared, int *taken)
{
    bool all = true;

    if (team == NULL || taken == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_team_device: %s is NULL",
                        team == NULL ? "team" : "taken");
    *taken = 0;
    weft_status status = weft_job_idle(team->job, "weft_team_device");
    if (status != WEFT_OK || !can_launch(team))
        return status;
    bool mine = declared != 0 && take_place(team, true);
    for (int p = 0; p < team->members; p++)
        mine = mine && (p == team->me || team->job->processes[p].mapped);
    status = vote(team, mine, &all);
    if (status == WEFT_OK && all && team->of->ccl == NULL)
        status = weft_ccl_open(team->job, WEFT_COMM_HOST, COLUMNS, &team->of->ccl);
    team->launches = take_place(team, status == WEFT_OK && all);
    *taken = team->launches;
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
