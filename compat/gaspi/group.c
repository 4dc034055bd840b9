/*
 * compat/gaspi/group.c - groups. A committed one is a team of host programs, over a group of
 * messages whose number its lowest rank chooses: all its numbers are that rank's modulo the ranks
 * of the job, so that no two ranks choose the same.
 */
#include "internal.h"

#include <math.h>
#include <time.h>

enum { TALK = 0, ALL = 1, FIRST = 2 }; /* numbers of groups of messages */

/* What members say of their group, and the lowest rank's answer. */
struct message {
    uint32_t size, ranks; /* ranks: a hash of them */
    uint32_t number;      /* of the group; 0: the members differ, or there is none */
};

struct weftgaspi_commit {
    bool answering; /* the lowest rank has heard all */
    struct message own;
    struct {
        struct message message;
        weft_message_op op;
    } with[]; /* by member; a rank that is not the lowest uses the first two */
};

static struct weftgaspi_group groups[WEFTGASPI_GROUPS];
static uint32_t chosen; /* numbers by this rank */

static void forget(struct weftgaspi_group *g)
{
    free(g->commit);
    free(g->ranks);
    free(g->result);
    memset(g, 0, sizeof(*g));
}

static int own_place(const struct weftgaspi_group *g)
{
    for (int i = 0; i < g->size; i++)
        if (g->ranks[i] == weftgaspi.rank)
            return i;
    return -1;
}

/* Takes the group's messages under a number, and opens its team. */
static gaspi_return_t establish(struct weftgaspi_group *g, uint32_t number)
{
    g->number = number;
    TRY_WEFT(weft_message_group_take(weftgaspi.job, number, g->ranks, g->size, &g->comm));
    return weftgaspi_result(weft_team_open(weftgaspi.job, g->comm, g->size, own_place(g),
                                           "a GASPI group", NULL, &g->team),
                            -1);
}

gaspi_return_t weftgaspi_groups_open(void)
{
    struct weftgaspi_group *const all = &groups[GASPI_GROUP_ALL];
    int *const ranks = calloc((size_t)weftgaspi.ranks, sizeof(*ranks));

    if (ranks == NULL)
        return GASPI_ERR_MEMALLOC;
    for (int i = 0; i < weftgaspi.ranks; i++)
        ranks[i] = i;
    chosen = 0;
    *all = (struct weftgaspi_group){.there = true, .size = weftgaspi.ranks, .ranks = ranks};
    TRY_WEFT(weft_message_group_take(weftgaspi.job, TALK, ranks, weftgaspi.ranks, &weftgaspi.talk));
    return weftgaspi.config.build_infrastructure == GASPI_TOPOLOGY_NONE ? GASPI_SUCCESS
                                                                        : establish(all, ALL);
}

void weftgaspi_groups_close(void)
{
    for (int i = 0; i < WEFTGASPI_GROUPS; i++)
        forget(&groups[i]);
    weftgaspi.talk = WEFT_COMM_NONE;
}

struct weftgaspi_group *weftgaspi_group_of(gaspi_group_t group)
{
    return group < WEFTGASPI_GROUPS && groups[group].there ? &groups[group] : NULL;
}
/* Finds the group g, or returns the error. */
#define TRY_GROUP(g, group)                                                                        \
    struct weftgaspi_group *const g = weftgaspi_group_of(group);                                   \
    NEED(g != NULL, GASPI_ERR_INV_GROUP, "group %u", group)

gaspi_return_t weftgaspi_group_enter(gaspi_group_t group, double until,
                                     struct weftgaspi_group **found)
{
    const double most = 1e6; /* seconds at a time */

    while ((*found = weftgaspi_group_of(group)) != NULL && (*found)->waiting) {
        const double left = fmin(weftgaspi_left(until), most), at = weftgaspi_now() + left;
        const struct timespec limit = {(time_t)at, (long)((at - floor(at)) * 1e9)};
        if (left <= 0)
            return GASPI_TIMEOUT;
        pthread_cond_clockwait(&weftgaspi.left, &weftgaspi.lock, CLOCK_MONOTONIC, &limit);
    }
    NEED(*found != NULL, GASPI_ERR_INV_GROUP, "group %u", group);
    (*found)->waiting = true;
    return GASPI_SUCCESS;
}

void weftgaspi_group_leave(struct weftgaspi_group *g)
{
    g->waiting = false;
    pthread_cond_broadcast(&weftgaspi.left);
}

/* ---- making ---------------------------------------------------------------------------------- */

API(group_create, (gaspi_group_t *const group))
{
    gaspi_group_t i = 0;

    TRY_OPEN(group);
    LOCKED;
    if (COUNT_THERE(groups) >= weftgaspi.config.group_max)
        return GASPI_ERR_MANY_GRP;
    while (groups[i].there)
        i++;
    int *const ranks = calloc((size_t)weftgaspi.ranks, sizeof(*ranks));
    if (ranks == NULL)
        return GASPI_ERR_MEMALLOC;
    groups[i] = (struct weftgaspi_group){.there = true, .ranks = ranks};
    *group = i;
    return GASPI_SUCCESS;
}

API(group_delete, (const gaspi_group_t group))
{
    TRY_OPEN();
    LOCKED;
    TRY_GROUP(g, group);
    NEED(group != GASPI_GROUP_ALL, GASPI_ERR_INV_GROUP, "the group of all stays");
    NEED(!g->waiting && g->call.kind == WEFTGASPI_NONE && g->commit == NULL, GASPI_ERR_ACTIVE_COLL);
    if (g->team != NULL)
        weft_team_close(&g->team);
    if (g->comm != WEFT_COMM_NONE)
        weft_message_group_give(weftgaspi.job, &g->comm);
    forget(g);
    return GASPI_SUCCESS;
}

API(group_add, (const gaspi_group_t group, const gaspi_rank_t rank))
{
    TRY_OPEN();
    NEED_RANK(rank);
    LOCKED;
    TRY_GROUP(g, group);
    NEED(g->team == NULL && g->commit == NULL, GASPI_ERR_INV_GROUP, "it is committed");
    int i = g->size;
    for (int k = 0; k < g->size; k++)
        NEED(g->ranks[k] != rank, GASPI_ERR_INV_RANK, "rank %u is in group %u", rank, group);
    for (; i > 0 && g->ranks[i - 1] > rank; i--) /* sorted, so that all members have one order */
        g->ranks[i] = g->ranks[i - 1];
    g->ranks[i] = rank;
    g->size++;
    return GASPI_SUCCESS;
}

/* ---- commit: members ask their lowest rank, and it answers ----------------------------------- */

static weft_status receive(struct weftgaspi_commit *c, int i, int from, int tag)
{
    return weft_host_receive_begin(weftgaspi.job, weftgaspi.talk, from, tag, &c->with[i].message,
                                   sizeof(struct message), &c->with[i].op);
}

/* Sends this rank's own message to another member. */
static weft_status send(struct weftgaspi_commit *c, int i, int to, int tag)
{
    c->with[i].message = c->own;
    return weft_host_send_begin(weftgaspi.job, weftgaspi.talk, to, tag, &c->with[i].message,
                                sizeof(struct message), &c->with[i].op);
}

static gaspi_return_t commit_begin(struct weftgaspi_group *g)
{
    struct weftgaspi_commit *const c = calloc(1, sizeof(*c) + (size_t)g->size * sizeof(c->with[0]));
    weft_status status = WEFT_OK;

    if (c == NULL)
        return GASPI_ERR_MEMALLOC;
    g->commit = c;
    c->own.size = (uint32_t)g->size;
    for (int i = 0; i < g->size; i++)
        c->own.ranks = c->own.ranks * 31 + (uint32_t)g->ranks[i] + 1;
    if (g->ranks[0] == weftgaspi.rank) {
        for (int i = 1; i < g->size && status == WEFT_OK; i++)
            status = receive(c, i, g->ranks[i], WEFTGASPI_TAG_COMMIT);
    } else {
        status = send(c, 0, g->ranks[0], WEFTGASPI_TAG_COMMIT);
        if (status == WEFT_OK)
            status = receive(c, 1, g->ranks[0], WEFTGASPI_TAG_COMMITTED);
    }
    return weftgaspi_result(status, -1);
}

/* Waits for the messages under way; meanwhile the lock is given up. */
static gaspi_return_t commit_wait(struct weftgaspi_group *g, double until)
{
    struct weftgaspi_commit *const c = g->commit;
    weft_status status = WEFT_OK;

    pthread_mutex_unlock(&weftgaspi.lock);
    for (int i = 0; i < g->size && status == WEFT_OK; i++)
        status =
            weft_host_message_wait_for(weftgaspi.job, &c->with[i].op, weftgaspi_left(until), NULL);
    pthread_mutex_lock(&weftgaspi.lock);
    return weftgaspi_result(status, -1);
}

/* Chooses a number that no group of this rank has; 0: there is none. */
static uint32_t choose(void)
{
    const uint32_t ranks = (uint32_t)weftgaspi.ranks;
    const uint32_t numbers = (WEFT_MESSAGE_GROUPS - FIRST) / ranks;

    for (uint32_t tries = 0; tries < numbers; tries++) {
        const uint32_t number = FIRST + (uint32_t)weftgaspi.rank + ranks * (chosen++ % numbers);
        bool used = false;
        for (int i = 0; i < WEFTGASPI_GROUPS; i++)
            used = used || (groups[i].there && groups[i].number == number);
        if (!used)
            return number;
    }
    return 0;
}

/* Answers for the lowest rank, which has heard all: chooses a number, or finds that they differ,
 * and says so. */
static gaspi_return_t commit_answer(struct weftgaspi_group *g)
{
    struct weftgaspi_commit *const c = g->commit;
    weft_status status = WEFT_OK;
    bool same = true;

    for (int i = 1; i < g->size; i++)
        same = same && c->with[i].message.size == c->own.size &&
               c->with[i].message.ranks == c->own.ranks;
    if (same)
        c->own.number = choose();
    for (int i = 1; i < g->size && status == WEFT_OK; i++)
        status = send(c, i, g->ranks[i], WEFTGASPI_TAG_COMMITTED);
    c->answering = true;
    return weftgaspi_result(status, -1);
}

static gaspi_return_t commit(struct weftgaspi_group *g, double until)
{
    const bool lowest = g->ranks[0] == weftgaspi.rank;

    if (g->commit == NULL)
        TRY(commit_begin(g));
    TRY(commit_wait(g, until));
    if (lowest && !g->commit->answering) {
        TRY(commit_answer(g));
        TRY(commit_wait(g, until));
    }
    const uint32_t number = lowest ? g->commit->own.number : g->commit->with[1].message.number;
    free(g->commit);
    g->commit = NULL;
    return number != 0 ? establish(g, number) : GASPI_ERROR;
}

API(group_commit, (const gaspi_group_t group, const gaspi_timeout_t timeout_ms))
{
    const double until = weftgaspi_until(timeout_ms);
    struct weftgaspi_group *g;

    TRY_OPEN();
    LOCKED;
    TRY(weftgaspi_group_enter(group, until, &g));
    gaspi_return_t code = GASPI_SUCCESS;
    if (g->size == 0 || own_place(g) < 0)
        code = GASPI_ERR_INV_GROUP;
    else if (g->team == NULL)
        code = commit(g, until);
    weftgaspi_group_leave(g);
    return code;
}

/* ---- what programs ask ----------------------------------------------------------------------- */

ASK_LOCKED(group_num, gaspi_number_t, COUNT_THERE(groups))

ASK_OF(group_size, TRY_GROUP, gaspi_group_t, gaspi_number_t, of->size)

API(group_ranks, (const gaspi_group_t group, gaspi_rank_t *const ranks))
{
    TRY_OPEN(ranks);
    LOCKED;
    TRY_GROUP(g, group);
    for (int i = 0; i < g->size; i++)
        ranks[i] = (gaspi_rank_t)g->ranks[i];
    return GASPI_SUCCESS;
}
