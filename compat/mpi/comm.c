/* compat/mpi/comm.c - communicators: a group of processes, and groups of messages for it. */
#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What texts of collectives call them; by enum weft_team_kind. */
static const char *const names[WEFT_TEAM_KINDS] = {
    "MPI_Barrier",        "MPI_Bcast",    "MPI_Reduce",      "MPI_Allreduce",
    "MPI_Reduce_scatter", "MPI_Scan",     "MPI_Exscan",      "MPI_Gather",
    "MPI_Gatherv",        "MPI_Scatter",  "MPI_Scatterv",    "MPI_Allgather",
    "MPI_Allgatherv",     "MPI_Alltoall", "MPI_Alltoallv/w", "MPI_Neighbor_*",
};

struct weftmpi_comm weftmpi_comms[] = {
    {.object = {MPI_COMM_WORLD, 0}, .name = "MPI_COMM_WORLD"},
    {.object = {MPI_COMM_SELF, 0}, .name = "MPI_COMM_SELF"},
};

int weftmpi_comm_in(const char *call, MPI_Comm handle, struct weftmpi_comm **comm)
{
    TRY(weftmpi_is_open(call));
    *comm = weftmpi_find(WEFTMPI_COMM, handle);
    return *comm != NULL ? MPI_SUCCESS : weftmpi_no_object(NULL, call, WEFTMPI_COMM);
}

static bool take_groups(struct weftmpi_comm *comm)
{
    const uint32_t first = (uint32_t)comm->number * WEFTMPI_GROUPS;
    const int *processes = comm->group->processes;

    return weft_message_group_take(weftmpi.job, first, processes, comm->size, &comm->messages) ==
               WEFT_OK &&
           weft_message_group_take(weftmpi.job, first + 1, processes, comm->size,
                                   &comm->collectives) == WEFT_OK &&
           weft_team_open(weftmpi.job, comm->collectives, comm->size, comm->rank, comm->name, names,
                          &comm->team) == WEFT_OK;
}

/* False: something is left in one, whose number is then not used again. */
static bool give_groups(struct weftmpi_comm *comm)
{
    weft_comm *const groups[] = {&comm->messages, &comm->collectives, &comm->agreements};
    bool free_again = true;

    if (comm->team != NULL)
        free_again = weft_team_close(&comm->team) == WEFT_OK;
    if (comm->agree_team != NULL)
        free_again = weft_team_close(&comm->agree_team) == WEFT_OK && free_again;
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
        if (*groups[i] != WEFT_COMM_NONE)
            free_again = weft_message_group_give(weftmpi.job, groups[i]) == WEFT_OK && free_again;
    return free_again;
}

struct weftmpi_comm *weftmpi_comm_make(struct weftmpi_group *group, int number)
{
    struct weftmpi_comm *comm =
        number < 2 ? &weftmpi_comms[number] : weftmpi_make(WEFTMPI_COMM, sizeof(*comm));

    if (comm == NULL)
        return NULL;
    comm->object.references = 1;
    comm->size = group->size;
    comm->rank = weftmpi_group_rank(group, weft_numbers_of(weftmpi.job)->process);
    comm->number = number;
    comm->errhandler = &weftmpi_errhandlers[0];
    comm->group = group;
    comm->unnamed = number >= 2;
    if (comm->unnamed)
        snprintf(comm->name, sizeof(comm->name), "communicator %d", number);
    if (!take_groups(comm)) {
        comm->group = NULL;
        weftmpi_leave(comm);
        return NULL;
    }
    return comm;
}

void weftmpi_comm_end(void *object)
{
    struct weftmpi_comm *comm = object;

    if (give_groups(comm))
        weftmpi_number_give(comm->number);
    weftmpi_leave(comm->errhandler);
    weftmpi_leave(comm->topology);
    weftmpi_leave(comm->group);
}

/* ---- what programs ask ----------------------------------------------------------------------- */

ASK(Comm_size, COMM_IN, MPI_Comm, of->size)
ASK(Comm_rank, COMM_IN, MPI_Comm, of->rank)
ASK(Comm_test_inter, COMM_IN, MPI_Comm, ((void)of, 0))

NAMES(Comm, COMM_IN, MPI_Comm)

API(Comm_compare, (MPI_Comm handle_a, MPI_Comm handle_b, int *result))
{
    OUT(result);
    COMM_IN(a, handle_a);
    COMM_IN(b, handle_b);
    *result = a == b ? MPI_IDENT : weftmpi_group_compare(a->group, b->group);
    if (a != b && *result == MPI_IDENT)
        *result = MPI_CONGRUENT;
    return MPI_SUCCESS;
}

/* ---- made and freed -------------------------------------------------------------------------- */

static int duplicate(struct weftmpi_request *request, const char *call, MPI_Comm handle,
                     MPI_Comm *copy)
{
    struct weftmpi_comm *comm;

    TRY(weftmpi_comm_in(call, handle, &comm));
    return weftmpi_agree(request, call, comm, weftmpi_hold(comm->group), true,
                         weftmpi_hold(comm->topology), copy);
}

BOTH(Comm_dup, Comm_idup, duplicate(&begun, __func__, comm, copy), MPI_Comm comm, MPI_Comm *copy)

struct claim {
    int color, key, rank;
};

static int by_key(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;

    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->rank - y->rank;
}

static int split(const char *call, struct weftmpi_comm *comm, int color, int key, MPI_Comm *part)
{
    const struct claim mine = {color, key, comm->rank};
    struct claim *all = malloc((size_t)comm->size * sizeof(*all));
    struct weftmpi_request request = {0};
    struct weftmpi_group *group = NULL;
    int members = 0;

    if (all == NULL)
        return weftmpi_no_memory(comm, call);
    weftmpi_request_open(&request, WEFTMPI_COLLECTIVE, call, comm);
    const weft_status status =
        weft_team_allgather(comm->team, &mine, sizeof(mine), all, &request.collective);
    int error =
        weftmpi_request_wait(&request, weftmpi_request_failed(&request, status), MPI_STATUS_IGNORE);
    for (int i = 0; error == MPI_SUCCESS && i < comm->size; i++)
        if (all[i].color == color)
            all[members++] = all[i];
    if (error == MPI_SUCCESS && color != MPI_UNDEFINED) {
        qsort(all, (size_t)members, sizeof(*all), by_key);
        group = weftmpi_group_make(members);
        for (int i = 0; group != NULL && i < members; i++)
            group->processes[i] = comm->group->processes[all[i].rank];
        if (group == NULL)
            error = weftmpi_no_memory(comm, call);
    }
    free(all);
    return error == MPI_SUCCESS ? weftmpi_agree_now(call, comm, group, NULL, part) : error;
}

API(Comm_split, (MPI_Comm handle, int color, int key, MPI_Comm *part))
{
    OUT(part);
    COMM_IN(comm, handle);
    if (color < 0 && color != MPI_UNDEFINED)
        return weftmpi_fail(comm, __func__, MPI_ERR_ARG, "color %d", color);
    return split(__func__, comm, color, key, part);
}

API(Comm_split_type, (MPI_Comm handle, int type, int key, MPI_Info info, MPI_Comm *part))
{
    (void)info;
    OUT(part);
    COMM_IN(comm, handle);
    if (type != MPI_COMM_TYPE_SHARED && type != MPI_UNDEFINED)
        return weftmpi_fail(comm, __func__, MPI_ERR_ARG, "type %d", type);
    return split(__func__, comm,
                 type == MPI_UNDEFINED ? MPI_UNDEFINED : weft_numbers_of(weftmpi.job)->node, key,
                 part);
}

API(Comm_create, (MPI_Comm handle, MPI_Group group_handle, MPI_Comm *part))
{
    struct weftmpi_group *group = weftmpi_find(WEFTMPI_GROUP, group_handle);
    COMM_IN(comm, handle);
    if (group == NULL)
        return weftmpi_no_object(comm, __func__, WEFTMPI_GROUP);
    for (int i = 0; i < group->size; i++)
        if (weftmpi_group_rank(comm->group, group->processes[i]) < 0)
            return weftmpi_fail(comm, __func__, MPI_ERR_GROUP, "rank %d of the group is not in %s",
                                i, comm->name);
    const bool within = weftmpi_group_rank(group, weft_numbers_of(weftmpi.job)->process) >= 0;
    return weftmpi_agree_now(__func__, comm, within ? weftmpi_hold(group) : NULL, NULL, part);
}

API(Comm_free, (MPI_Comm * handle))
{
    COMM_IN(comm, *handle);
    if (comm->number < 2)
        return weftmpi_fail(comm, __func__, MPI_ERR_COMM, "%s stays", comm->name);
    TRY(weftmpi_attributes_delete(comm));
    weftmpi_drop(*handle);
    *handle = MPI_COMM_NULL;
    weftmpi_leave(comm);
    return MPI_SUCCESS;
}
