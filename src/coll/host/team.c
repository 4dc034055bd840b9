/* coll/host/team.c - teams, and which they are of a job. */
#include "coll/host/plan.h"

#include "runtime/job/job.h"

#include <stdlib.h>

static const char *const usual_names[WEFT_TEAM_KINDS] = {
    "weft_team_barrier",         "weft_team_broadcast",      "weft_team_reduce",
    "weft_team_allreduce",       "weft_team_reduce_scatter", "weft_team_scan",
    "weft_team_scan before",     "weft_team_gather",         "weft_team_gather_sizes",
    "weft_team_scatter",         "weft_team_scatter_sizes",  "weft_team_allgather",
    "weft_team_allgather_sizes", "weft_team_alltoall",       "weft_team_alltoall of sizes",
    "weft_team_exchange",
};

/* Of all jobs that have teams; a lock of its own. */
static struct weft_teams *all_teams;
static struct weft_lock all_lock;

struct weft_teams *weft_teams_of(weft_job *job, bool more)
{
    weft_lock(&all_lock);
    struct weft_teams *teams = all_teams;
    while (teams != NULL && teams->job != job)
        teams = teams->next;
    if (teams == NULL && more && (teams = calloc(1, sizeof(*teams))) != NULL) {
        teams->job = job;
        teams->next = all_teams;
        all_teams = teams;
    }
    if (teams != NULL && more)
        teams->teams++;
    weft_unlock(&all_lock);
    return teams;
}

static void leave(struct weft_teams *teams)
{
    weft_lock(&all_lock);
    if (--teams->teams == 0) {
        struct weft_teams **at = &all_teams;
        while (*at != teams)
            at = &(*at)->next;
        *at = teams->next;
        free(teams);
    }
    weft_unlock(&all_lock);
}

weft_status weft_team_open(weft_job *job, weft_comm comm, int members, int me, const char *name,
                           const char *const *names, weft_team **team)
{
    weft_team *made = calloc(1, sizeof(*made));
    struct weft_teams *of = made == NULL ? NULL : weft_teams_of(job, true);

    if (of == NULL) {
        free(made);
        return weft_refused(job, WEFT_ERR_MEMORY, "weft_team_open: no memory");
    }
    *made = (weft_team){.of = of,
                        .job = job,
                        .comm = comm,
                        .members = members,
                        .me = me,
                        .name = name,
                        .names = names == NULL ? usual_names : names};
    *team = made;
    return WEFT_OK;
}

weft_status weft_team_close(weft_team **pointer)
{
    weft_team *team = *pointer;
    weft_status status = weft_job_status(team->job);

    if (status == WEFT_OK)
        status = weft_team_strangers(team, WEFT_ANY);
    leave(team->of);
    if (team->spare != NULL) {
        free(team->spare->scratch);
        free(team->spare->steps);
        free(team->spare);
    }
    free(team);
    *pointer = NULL;
    return status;
}

weft_status weft_plan_root(weft_team *team, enum weft_team_kind kind, int root)
{
    if (root < 0 || root >= team->members)
        return weft_refused(team->job, WEFT_ERR_RANK, "%s on %s: root %d is not one of %d",
                            team->names[kind], team->name, root, team->members);
    return WEFT_OK;
}
