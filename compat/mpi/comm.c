/* compat/mpi/comm.c - communicators: a group of processes, and groups of messages for it. */
#include "request.h"

#include <stdio.h>

/* What texts of collectives call them; by enum weft_team_kind. */
static const char *const names[WEFT_TEAM_KINDS] = {
    "MPI_Barrier",        "MPI_Bcast",    "MPI_Reduce",      "MPI_Allreduce",
    "MPI_Reduce_scatter", "MPI_Scan",     "MPI_Exscan",      "MPI_Gather",
    "MPI_Gatherv",        "MPI_Scatter",  "MPI_Scatterv",    "MPI_Allgather",
    "MPI_Allgatherv",     "MPI_Alltoall", "MPI_Alltoallv/w", "MPI_Neighbor_*",
};

struct weftmpi_comm weftmpi_comms[] = {
    {.object = {.handle = MPI_COMM_WORLD, .errhandler = &weftmpi_errhandlers[0]},
     .name = "MPI_COMM_WORLD"},
    {.object = {.handle = MPI_COMM_SELF, .errhandler = &weftmpi_errhandlers[0]},
     .name = "MPI_COMM_SELF"},
};

int weftmpi_check_inter(struct weftmpi_comm *comm, bool inter)
{
    return HOLDS((comm->remote != NULL) == inter, MPI_ERR_COMM, "%s is %s intercommunicator",
                 comm->name, inter ? "no" : "an");
}

struct weftmpi_group *weftmpi_group_join(const struct weftmpi_group *a,
                                         const struct weftmpi_group *b)
{
    struct weftmpi_group *both = weftmpi_group_make(a->size + b->size, NULL);

    memcpy(both->processes, a->processes, (size_t)a->size * sizeof(int));
    memcpy(both->processes + a->size, b->processes, (size_t)b->size * sizeof(int));
    return both;
}

struct weftmpi_group *weftmpi_group_both(struct weftmpi_group *a, struct weftmpi_group *b)
{
    if (b == NULL)
        return weftmpi_hold(a);
    return a->processes[0] < b->processes[0] ? weftmpi_group_join(a, b) : weftmpi_group_join(b, a);
}

struct weftmpi_comm *weftmpi_comm_make(struct weftmpi_comm *parent, struct weftmpi_group *group,
                                       struct weftmpi_group *remote,
                                       struct weftmpi_topology *topology)
{
    struct weftmpi_comm *comm = weftmpi_make(WEFTMPI_COMM, sizeof(*comm));

    comm->number = -1;
    comm->object.errhandler = weftmpi_errhandler_of(&parent->object);
    comm->group = weftmpi_hold(group);
    comm->remote = weftmpi_hold(remote);
    comm->topology = weftmpi_hold(topology);
    return comm;
}

bool weftmpi_comm_open(struct weftmpi_comm *comm, int number)
{
    const struct weftmpi_group *group = comm->group, *remote = comm->remote;
    const uint32_t first = (uint32_t)number * WEFTMPI_GROUPS;

    comm->number = number;
    comm->all = weftmpi_group_both(comm->group, comm->remote);
    const int *const processes = comm->all->processes, members = comm->all->size;
    comm->size = group->size;
    comm->rank = weftmpi_group_own(group);
    comm->own = weftmpi_group_own(comm->all);
    comm->peers = remote != NULL ? remote->size : group->size;
    comm->base = remote != NULL && comm->all->processes[0] == group->processes[0] ? group->size : 0;
    comm->unnamed = number >= 2;
    if (comm->unnamed)
        snprintf(comm->name, sizeof(comm->name), "communicator %d", number);
    return weft_message_group_take(weftmpi.job, first, processes, members, &comm->messages) ==
               WEFT_OK &&
           weft_message_group_take(weftmpi.job, first + 1, processes, members,
                                   &comm->collectives) == WEFT_OK &&
           weft_team_open(weftmpi.job, comm->collectives, members, comm->own, comm->name, names,
                          &comm->team) == WEFT_OK;
}

void weftmpi_comm_end(void *object)
{
    struct weftmpi_comm *comm = object;
    weft_comm *const groups[] = {&comm->messages, &comm->collectives};
    const bool is_open = comm->number >= 0;
    bool free_again = is_open; /* nothing is left in one of the groups */

    if (comm->team != NULL)
        free_again = weft_team_close(&comm->team) == WEFT_OK;
    for (int i = 0; i < 2; i++)
        if (is_open && *groups[i] != WEFT_COMM_NONE)
            free_again = weft_message_group_give(weftmpi.job, groups[i]) == WEFT_OK && free_again;
    if (free_again)
        weftmpi_number_give(comm->number);
    weftmpi_leave(comm->topology);
    weftmpi_leave(comm->all);
    weftmpi_leave(comm->remote);
    weftmpi_leave(comm->group);
}

/* ---- what programs ask ----------------------------------------------------------------------- */

ASK(Comm_size, COMM_IN, MPI_Comm, int, of->size)
ASK(Comm_rank, COMM_IN, MPI_Comm, int, of->rank)
ASK(Comm_test_inter, COMM_IN, MPI_Comm, int, of->remote != NULL)

NAMES(Comm, COMM_IN, MPI_Comm)

API(Comm_compare, (MPI_Comm handle_a, MPI_Comm handle_b, int *result))
{
    OUT(result);
    COMM_IN(a, handle_a);
    COMM_IN(b, handle_b);
    *result = MPI_UNEQUAL;
    if ((a->remote == NULL) != (b->remote == NULL))
        return MPI_SUCCESS;
    const int own = weftmpi_group_compare(a->group, b->group);
    const int remote = a->remote != NULL ? weftmpi_group_compare(a->remote, b->remote) : MPI_IDENT;
    *result = remote > own ? remote : own; /* the numbers ascend so */
    if (a != b && *result == MPI_IDENT)
        *result = MPI_CONGRUENT;
    return MPI_SUCCESS;
}

/* ---- made and freed -------------------------------------------------------------------------- */

/* Begins to duplicate a communicator. info_handle NULL: with the original's hints. */
static int duplicate(struct weftmpi_request *request, MPI_Comm handle, const MPI_Info *info_handle,
                     MPI_Comm *copy)
{
    TRY(PLACES(copy));
    COMM_OF(comm, handle);
    struct weftmpi_comm *made = weftmpi_comm_make(comm, comm->group, comm->remote, comm->topology);
    int error = MPI_SUCCESS;

    weftmpi_lock();
    if (info_handle == NULL)
        made->object.info = weftmpi_info_copy(comm->object.info);
    weftmpi_unlock();
    if (info_handle != NULL)
        error = weftmpi_info_set(&made->object, false, *info_handle);
    if (error == MPI_SUCCESS)
        error = weftmpi_attributes_copy(&comm->object, &made->object.attributes);
    weftmpi_agree(request, comm, made, error, copy);
    return MPI_SUCCESS;
}

BOTH(Comm_dup, Comm_idup, duplicate(begun, comm, NULL, copy), MPI_Comm comm, MPI_Comm *copy)
BOTH(Comm_dup_with_info, Comm_idup_with_info, duplicate(begun, comm, &info, copy), MPI_Comm comm,
     MPI_Info info, MPI_Comm *copy)

struct claim {
    int color, key, rank; /* rank: among all */
};

static int by_key(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;

    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->rank - y->rank;
}

bool weftmpi_is_remote(const struct weftmpi_comm *comm, int member)
{
    return comm->remote != NULL && member >= comm->base && member < comm->base + comm->peers;
}

/* Returns the group of those of a colour on one side, in order. Sorts the claims. */
static struct weftmpi_group *gather_claims(const struct weftmpi_comm *comm, struct claim *claims,
                                           int color, bool remote)
{
    const int n = comm->all->size;
    struct weftmpi_group *group = weftmpi_group_make(n, NULL);

    qsort(claims, (size_t)n, sizeof(*claims), by_key);
    group->size = 0;
    for (int i = 0; i < n; i++)
        if (claims[i].color == color && weftmpi_is_remote(comm, claims[i].rank) == remote)
            group->processes[group->size++] = comm->all->processes[claims[i].rank];
    return group;
}

int weftmpi_allgather(struct weftmpi_comm *comm, const void *mine, size_t bytes, void *all)
{
    void *const memory = weftmpi_room(NULL, (size_t)comm->all->size * bytes);

    memcpy(all, &memory, sizeof(memory));
    return weftmpi_failed(weft_team_allgather(comm->team, mine, bytes, memory, NULL));
}

int weftmpi_barrier(struct weftmpi_comm *comm)
{
    return weftmpi_failed(weft_team_barrier(comm->team, NULL));
}

int weftmpi_split(struct weftmpi_comm *comm, int color, int key, struct weftmpi_topology *topology,
                  MPI_Comm *part)
{
    const struct claim mine = {.color = color, .key = key};
    HELD struct weftmpi_topology *of = topology;
    HELD struct weftmpi_group *group = NULL, *remote = NULL;
    FREED struct claim *all;

    TRY(weftmpi_allgather(comm, &mine, sizeof(mine), &all));
    for (int i = 0; i < comm->all->size; i++)
        all[i].rank = i;
    if (color == MPI_UNDEFINED)
        return weftmpi_comm_new(comm, NULL, part);
    group = gather_claims(comm, all, color, false);
    if (comm->remote != NULL)
        remote = gather_claims(comm, all, color, true);
    const bool alone = remote != NULL && remote->size == 0; /* there is nobody over there */
    return weftmpi_comm_new(comm, alone ? NULL : weftmpi_comm_make(comm, group, remote, of), part);
}

API(Comm_split, (MPI_Comm handle, int color, int key, MPI_Comm *part))
{
    OUT(part);
    COMM_IN(comm, handle);
    TRY(HOLDS(color >= 0 || color == MPI_UNDEFINED, MPI_ERR_ARG, "color %d", color));
    return weftmpi_split(comm, color, key, NULL, part);
}

/* Has what the info asserts of memory hold for the communicator from now on. Collective. */
static int assert_memory(MPI_Comm handle, MPI_Info info)
{
    char kinds[MPI_MAX_INFO_VAL] = "";
    int found, taken;
    COMM_OF(comm, handle);

    if (comm->remote != NULL)
        return MPI_SUCCESS;
    CALLS_BACK;
    if (info != MPI_INFO_NULL)
        TRY(PMPI_Info_get(info, "mpi_assert_memory_alloc_kinds", sizeof(kinds) - 1, kinds, &found));
    return weftmpi_failed(weft_team_device(comm->team, strcmp(kinds, "cuda:device") == 0, &taken));
}

/* Splits by type: of hardware below a node nothing is known. */
API(Comm_split_type, (MPI_Comm handle, int type, int key, MPI_Info info, MPI_Comm *part))
{
    const weft_numbers *numbers = weft_numbers_of(weftmpi.job);
    OUT(part);
    COMM_IN(comm, handle);
    TRY(HOLDS(type == MPI_UNDEFINED ||
                  (type >= MPI_COMM_TYPE_SHARED && type <= MPI_COMM_TYPE_HW_GUIDED),
              MPI_ERR_ARG, "type %d", type));
    const bool nodes =
        type == MPI_COMM_TYPE_SHARED || (type == MPI_COMM_TYPE_HW_UNGUIDED && numbers->nodes > 1);
    TRY(weftmpi_split(comm, nodes ? numbers->node : MPI_UNDEFINED, key, NULL, part));
    return *part != MPI_COMM_NULL ? assert_memory(*part, info) : MPI_SUCCESS;
}

/* Makes a communicator of a group's members. apart: they alone take part. */
static int create(struct weftmpi_comm *comm, MPI_Group handle, bool apart, int tag, MPI_Comm *part)
{
    TRY(PLACES(part));
    OBJECT_IN(group, group, WEFTMPI_GROUP, handle);
    const int own = weftmpi_group_own(group);

    for (int i = 0; i < group->size; i++)
        TRY(HOLDS(weftmpi_group_rank(comm->group, group->processes[i]) >= 0, MPI_ERR_GROUP,
                  "rank %d of the group is not in %s", i, comm->name));
    TRY(HOLDS(tag >= 0, MPI_ERR_TAG, "tag %d", tag));
    if (apart) {
        *part = MPI_COMM_NULL;
        return own < 0 ? MPI_SUCCESS
                       : weftmpi_comm_new_apart(comm, weftmpi_comm_make(comm, group, NULL, NULL),
                                                comm->number, tag, part);
    }
    /* Groups of one call have no member in common; members do not know the remote one. */
    const int color = comm->remote != NULL || own < 0 ? 0 : group->processes[0];
    return weftmpi_split(comm, own >= 0 ? color : MPI_UNDEFINED, own, NULL, part);
}

ON(Comm_create, COMM_IN, (MPI_Comm handle, MPI_Group group, MPI_Comm *part),
   create(of, group, false, 0, part))
ON(Comm_create_group, COMM_IN, (MPI_Comm handle, MPI_Group group, int tag, MPI_Comm *part),
   create(of, group, true, tag, part))

GIVE_BACK(Comm_free, COMM_IN, MPI_Comm, MPI_COMM_NULL, false,
          HOLDS(of->number >= 2, MPI_ERR_COMM, "%s stays", of->name))

/* Nobody joined this job: to disconnect is to free. */
SAME(Comm_disconnect, Comm_free)

/* Tells that there is no parent: MPI starts no processes here. */
TELL(Comm_get_parent, (MPI_Comm * parent), weftmpi_is_open(), parent, MPI_COMM_NULL)
