/*
 * compat/dart/team.c - teams. The units of a team tell each other which group they want to be a
 * team with, and which numbers they use. Several disjoint teams may come of one call.
 */
#include "internal.h"

#include <stdio.h>

static struct weftdart_team teams[WEFTDART_TEAMS];

/* What texts of collectives call them. */
static const char *const names[WEFT_TEAM_KINDS] = {
    [WEFT_TEAM_BARRIER] = "dart_barrier",     [WEFT_TEAM_BROADCAST] = "dart_bcast",
    [WEFT_TEAM_REDUCE] = "dart_reduce",       [WEFT_TEAM_ALLREDUCE] = "dart_allreduce",
    [WEFT_TEAM_GATHER] = "dart_gather",       [WEFT_TEAM_SCATTER] = "dart_scatter",
    [WEFT_TEAM_ALLGATHER] = "dart_allgather", [WEFT_TEAM_ALLGATHER_SIZES] = "dart_allgatherv",
    [WEFT_TEAM_ALLTOALL] = "dart_alltoall"};

dart_ret_t weftdart_team_of(dart_team_t team, struct weftdart_team **found)
{
    TRY(weftdart_open());
    if (team < 0 || team >= WEFTDART_TEAMS || !teams[team].there)
        return weftdart_refuse(DART_ERR_NOTFOUND, "team %d is none of this unit's", team);
    *found = &teams[team];
    return DART_OK;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static void drop(struct weftdart_team *t)
{
    weftdart_locality_drop(t);
    if (t->team != NULL)
        weft_team_close(&t->team);
    free(t->unit);
    *t = (struct weftdart_team){.there = false};
}

/* Makes the team of the units in the group. talk: a group of messages of these alone. */
static dart_ret_t make_team(dart_team_t id, const struct dart_group_struct *in, weft_comm group,
                            weft_comm talk)
{
    struct weftdart_team *const t = &teams[id];

    *t = (struct weftdart_team){.there = true, .id = id, .group = group, .talk = talk};
    snprintf(t->name, sizeof(t->name), "team %d", id);
    t->unit = calloc((size_t)weftdart.units, sizeof(*t->unit));
    if (t->unit == NULL) {
        drop(t);
        return weftdart_no_memory();
    }
    for (int u = 0; u < weftdart.units; u++) {
        if (!weftdart_in(in, u))
            continue;
        if (u == weftdart.unit)
            t->me = t->members;
        t->unit[t->members++] = u;
    }
    const dart_ret_t code = weftdart_result(
        weft_team_open(weftdart.job, talk, t->members, t->me, t->name, names, &t->team));
    if (code != DART_OK)
        drop(t);
    return code;
}

dart_ret_t weftdart_teams_open(void)
{
    struct dart_group_struct all = {{0}};
    weft_comm talk;

    for (int u = 0; u < weftdart.units; u++)
        weftdart_add(&all, u);
    TRY_WEFT(weft_host_split(weftdart.job, 0, 0, &talk));
    return make_team(DART_TEAM_ALL, &all, WEFT_COMM_HOST, talk);
}

void weftdart_teams_close(void)
{
    for (int i = WEFTDART_TEAMS; i-- > 0;)
        if (teams[i].there)
            drop(&teams[i]);
}

/* What a unit brings to the making of a team. */
struct offer {
    int32_t first;                      /* the lowest unit of its group; -1: it is in none */
    uint32_t check;                     /* a number made of its group */
    uint64_t used[WEFTDART_TEAMS / 64]; /* numbers of the unit's teams, as bits */
};

static struct offer offer_of(const struct weftdart_team *from,
                             const struct dart_group_struct *group)
{
    struct offer mine = {.first = -1};

    for (int i = 0; i < WEFTDART_TEAMS; i++)
        if (teams[i].there)
            mine.used[i / 64] |= (uint64_t)1 << i % 64;
    if (group != NULL && weftdart_in(group, weftdart.unit))
        for (int i = from->members; i-- > 0;)
            if (weftdart_in(group, from->unit[i])) {
                mine.first = from->unit[i];
                mine.check = mine.check * 31 + (uint32_t)mine.first + 1;
            }
    return mine;
}

/* Chooses a number that none uses; tells who of the old team are in this unit's, or says whose
 * group differs. All that have the lowest unit in common see that alike. */
static dart_ret_t agree(const struct weftdart_team *from, const struct dart_group_struct *group,
                        const struct offer *all, int *number, struct dart_group_struct *members)
{
    const struct offer *const mine = &all[from->me];

    for (*number = 0; *number < WEFTDART_TEAMS; ++*number) {
        bool used = false;
        for (int i = 0; i < from->members; i++)
            used = used || (all[i].used[*number / 64] >> *number % 64 & 1) != 0;
        if (!used)
            break;
    }
    if (*number == WEFTDART_TEAMS)
        return weftdart_refuse(DART_ERR_NOMEM, "all %d teams are in use", *number);
    for (int i = 0; i < from->members && mine->first >= 0; i++) {
        const int unit = from->unit[i];
        const bool in = all[i].first == mine->first;
        if (weftdart_in(group, unit) != in || (in && all[i].check != mine->check))
            return INVALID("unit %d and this one have other groups", unit);
        if (in)
            weftdart_add(members, unit);
    }
    return DART_OK;
}

static dart_ret_t create(dart_team_t team, const struct dart_group_struct *group,
                         dart_team_t *newteam)
{
    struct dart_group_struct members = {{0}};
    weft_comm comm;
    int number = 0;

    TRY_THERE(newteam);
    TRY_TEAM(from, team);
    const struct offer mine = offer_of(from, group);
    FREED struct offer *const all = calloc((size_t)from->members, sizeof(*all));
    TRY_MEMORY(all);
    dart_ret_t code =
        weftdart_result(weft_team_allgather(from->team, &mine, sizeof(mine), all, NULL));
    if (code == DART_OK)
        code = agree(from, group, all, &number, &members);
    /* Also after an error, which others may not have: they wait in this call. */
    TRY_WEFT(weft_host_group_split(weftdart.job, from->group, mine.first, 0, &comm));
    if (code != DART_OK && mine.first >= 0) /* at all members of the group alike */
        weft_host_group_free(weftdart.job, &comm);
    TRY(code);
    if (mine.first >= 0)
        TRY(make_team((dart_team_t)number, &members, comm, comm));
    *newteam = mine.first >= 0 ? (dart_team_t)number : DART_TEAM_NULL;
    return DART_OK;
}

CALL(dart_team_create, (dart_team_t team, const dart_group_t group, dart_team_t *newteam),
     create(team, group, newteam))

dart_ret_t dart_team_destroy(dart_team_t *team)
{
    TRY_PLACES(team);
    TRY_TEAM(t, *team);
    if (*team == DART_TEAM_ALL)
        return INVALID("DART_TEAM_ALL stays");
    TRY(weftdart_settle(t));
    if (weftdart_segments_of(*team) != 0)
        return INVALID("team %d has %d segments, allocators or locks", *team,
                       weftdart_segments_of(*team));
    weft_comm comm = t->group;
    drop(t);
    TRY_WEFT(weft_host_group_free(weftdart.job, &comm));
    *team = DART_TEAM_NULL;
    return DART_OK;
}

dart_ret_t weftdart_members(dart_team_t team, struct dart_group_struct *members)
{
    TRY_THERE(members);
    TRY_TEAM(t, team);
    *members = (struct dart_group_struct){{0}};
    for (int i = 0; i < t->members; i++)
        weftdart_add(members, t->unit[i]);
    return DART_OK;
}

dart_ret_t dart_team_get_group(dart_team_t team, dart_group_t *group)
{
    struct dart_group_struct members;

    TRY(NAMED(weftdart_members(team, &members)));
    return NAMED(weftdart_new_group(&members, group));
}

dart_ret_t dart_team_clone(dart_team_t team, dart_team_t *newteam)
{
    struct dart_group_struct members;

    TRY(NAMED(weftdart_members(team, &members)));
    return NAMED(create(team, &members, newteam));
}

/* ---- numbers --------------------------------------------------------------------------------- */

dart_ret_t dart_team_myid(dart_team_t team, dart_team_unit_t *myid)
{
    TRY_PLACES(myid);
    TRY_TEAM(t, team);
    myid->id = t->me;
    return DART_OK;
}

dart_ret_t dart_team_size(dart_team_t team, size_t *size)
{
    TRY_PLACES(size);
    TRY_TEAM(t, team);
    *size = (size_t)t->members;
    return DART_OK;
}

dart_ret_t dart_myid(dart_global_unit_t *myid)
{
    TRY_PLACES(myid);
    TRY_OPEN();
    myid->id = weftdart.unit;
    return DART_OK;
}

dart_ret_t dart_size(size_t *size)
{
    return dart_team_size(DART_TEAM_ALL, size);
}

dart_ret_t dart_team_unit_l2g(dart_team_t team, dart_team_unit_t localid,
                              dart_global_unit_t *globalid)
{
    TRY_PLACES(globalid);
    TRY_TEAM(t, team);
    if (localid.id < 0 || localid.id >= t->members)
        return INVALID("unit %d of %d", localid.id, t->members);
    globalid->id = t->unit[localid.id];
    return DART_OK;
}

dart_ret_t dart_team_unit_g2l(dart_team_t team, dart_global_unit_t globalid,
                              dart_team_unit_t *localid)
{
    TRY_PLACES(localid);
    TRY_TEAM(t, team);
    localid->id = DART_UNDEFINED_UNIT_ID;
    for (int i = 0; i < t->members; i++)
        if (t->unit[i] == globalid.id)
            localid->id = i;
    return DART_OK;
}
