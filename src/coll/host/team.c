/* coll/host/team.c - opens and closes teams, and what a job has of them. */
#include "coll/host/shared.h"

#include "msg/call.h"

#include <stdlib.h>

static const char *const usual_names[WEFT_TEAM_KINDS] = {
    "weft_team_barrier",         "weft_team_broadcast",      "weft_team_reduce",
    "weft_team_allreduce",       "weft_team_reduce_scatter", "weft_team_scan",
    "weft_team_scan before",     "weft_team_gather",         "weft_team_gather_sizes",
    "weft_team_scatter",         "weft_team_scatter_sizes",  "weft_team_allgather",
    "weft_team_allgather_sizes", "weft_team_alltoall",       "weft_team_alltoall of sizes",
    "weft_team_exchange",
};

static bool drive(struct weft_job *job, bool task)
{
    return weft_plan_drive(job->teams, task);
}

static weft_status teams_open(struct weft_job *job)
{
    struct weft_teams *teams = calloc(1, sizeof(*teams));

    if (teams == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for teams");
    teams->messages = job->messages;
    job->teams = teams;
    job->messages->drive = drive;
    return WEFT_OK;
}

static void free_team(weft_team *team)
{
    LIST_REMOVE(team, link);
    weft_shared_leave(team);
    if (team->of->launches == team)
        team->of->launches = NULL;
    free(team);
}

/* Closes all teams, when nothing runs any more. */
static void teams_close(struct weft_job *job)
{
    struct weft_teams *teams = job->teams;

    if (teams == NULL)
        return;
    while (!LIST_EMPTY(&teams->active))
        weft_plan_drop(LIST_FIRST(&teams->active));
    while (!LIST_EMPTY(&teams->open))
        free_team(LIST_FIRST(&teams->open));
    for (int i = 0; i < WEFT_MSG_ROWS; i++)
        free(teams->parts[i]);
    free(teams);
    job->teams = NULL;
}

const struct weft_service weft_teams_module = {.open = teams_open, .close = teams_close};

weft_status weft_team_open(weft_job *job, weft_comm comm, int members, int me, const char *name,
                           const char *const *names, weft_team **team)
{
    WEFT_TRY(weft_job_ready(job, "weft_team_open"));
    weft_team *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return weft_refused(job, WEFT_ERR_MEMORY, "weft_team_open: no memory");
    *made = (weft_team){.of = job->teams,
                        .job = job,
                        .comm = comm,
                        .members = members,
                        .me = me,
                        .name = name,
                        .names = names == NULL ? usual_names : names};
    weft_status status = weft_msg_name_tags(job, comm, weft_team_words, made);
    if (status != WEFT_OK) {
        free(made);
        return status;
    }
    weft_lock(&job->teams->lock);
    LIST_INSERT_HEAD(&job->teams->open, made, link);
    weft_unlock(&job->teams->lock);
    *team = made;
    return WEFT_OK;
}

weft_status weft_team_meanwhile(weft_job *job, double (*meanwhile)(void))
{
    WEFT_TRY(weft_job_ready(job, "weft_team_meanwhile"));
    job->teams->meanwhile = meanwhile;
    return WEFT_OK;
}

weft_status weft_team_close(weft_team **pointer)
{
    weft_team *team = pointer != NULL ? *pointer : NULL;

    if (team == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_team_close: there is no team");
    struct weft_teams *teams = team->of;
    weft_lock(&teams->lock);
    const int under_way = team->under_way;
    weft_unlock(&teams->lock);
    weft_status status = weft_job_status(team->job);
    if (under_way != 0) /* in a job that has failed they end with it */
        return status != WEFT_OK ? status
                                 : weft_refused(team->job, WEFT_ERR_STATE,
                                                "weft_team_close: collectives on %s are under "
                                                "way: %d",
                                                team->name, under_way);
    if (status == WEFT_OK)
        status = weft_team_strangers(team, WEFT_ANY);
    weft_msg_name_tags(team->job, team->comm, NULL, NULL);
    weft_lock(&teams->lock);
    free_team(team);
    weft_unlock(&teams->lock);
    *pointer = NULL;
    return status;
}

weft_status weft_plan_root(weft_team *team, enum weft_team_kind kind, int root)
{
    if (team != NULL && (root < 0 || root >= team->members))
        return weft_refused(team->job, WEFT_ERR_RANK, "%s on %s: root %d is not one of %d",
                            team->names[kind], team->name, root, team->members);
    return WEFT_OK;
}
