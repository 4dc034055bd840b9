/*
 * compat/mpi/inter.c - intercommunicators: two groups whose messages have one communicator of all
 * members. Their collectives are exchanges of pieces among these: what a member of one group gives
 * goes to those of the other, and a reduction is made where it arrives.
 */
#include "collective.h"

/* ---- made ------------------------------------------------------------------------------------ */

/* What leaders tell each other, and then their groups. */
struct side {
    int number, size; /* number: of the communicator */
    int processes[];
};

/* Tells the other leader of a leader's group, and learns of that one's. */
static int swap_sides(struct weftmpi_comm *comm, MPI_Comm peers_handle, int remote_leader, int tag,
                      struct side *mine, struct side *theirs, int bytes)
{
    CALLS_BACK;
    COMM_OF(peers, peers_handle);

    mine->number = comm->number;
    mine->size = comm->size;
    memcpy(mine->processes, comm->group->processes, (size_t)comm->size * sizeof(int));
    TRY(weftmpi_check_rank(remote_leader, peers->peers)); /* no MPI_PROC_NULL */
    TRY(weftmpi_check_peer(peers, remote_leader, tag, false));
    return PMPI_Sendrecv(mine, bytes, MPI_BYTE, remote_leader, tag, theirs, bytes, MPI_BYTE,
                         remote_leader, tag, peers_handle, MPI_STATUS_IGNORE);
}

/* Checks that what came under the tag is a group of the job's processes, each once, and none of the
 * own one. */
static int check_side(const struct weftmpi_comm *comm, const struct side *theirs, int processes)
{
    TRY(HOLDS(theirs->number >= 0 && theirs->number < WEFTMPI_NUMBERS && theirs->size >= 1 &&
                  theirs->size <= processes,
              MPI_ERR_COMM, "the other leader's communicator %d has %d processes, of %d",
              theirs->number, theirs->size, processes));
    FREED bool *there = weftmpi_zeros((size_t)processes);
    for (int i = 0; i < theirs->size; i++) {
        const int process = theirs->processes[i];
        TRY(HOLDS(process >= 0 && process < processes && !there[process], MPI_ERR_COMM,
                  "rank %d of the other group is process %d of %d, or twice there", i, process,
                  processes));
        there[process] = true;
        TRY(HOLDS(weftmpi_group_rank(comm->group, process) < 0, MPI_ERR_COMM,
                  "process %d is in both groups", process));
    }
    return MPI_SUCCESS;
}

/* Has all learn of the other group, or that their leader did not. */
static int learn(struct weftmpi_comm *comm, int leader, MPI_Comm peers, int remote_leader, int tag,
                 int *number, struct weftmpi_group **group)
{
    const int processes = weft_numbers_of(weftmpi.job)->processes;
    const size_t bytes = sizeof(struct side) + (size_t)processes * sizeof(int);
    FREED struct side *mine = weftmpi_zeros(2 * bytes);
    struct side *const theirs = (struct side *)((char *)mine + bytes);
    int error = MPI_SUCCESS;

    if (comm->rank == leader)
        error = swap_sides(comm, peers, remote_leader, tag, mine, theirs, (int)bytes);
    if (error != MPI_SUCCESS)
        theirs->size = 0;
    TRY(weftmpi_failed(weft_team_broadcast(comm->team, leader, theirs, bytes, NULL)));
    TRY(error);
    TRY(check_side(comm, theirs, processes));
    *number = theirs->number;
    *group = weftmpi_group_make(theirs->size, theirs->processes);
    return MPI_SUCCESS;
}

API(Intercomm_create,
    (MPI_Comm handle, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm *made))
{
    HELD struct weftmpi_group *group = NULL;
    int number = -1;
    OUT(made);
    BASE_IN(comm, handle);
    TRY(weftmpi_check_rank(leader, comm->size));
    TRY(learn(comm, leader, peers, remote_leader, tag, &number, &group));
    const bool first = comm->group->processes[0] < group->processes[0];
    return weftmpi_comm_new_apart(comm, weftmpi_comm_make(comm, comm->group, group, NULL),
                                  first ? comm->number : number, tag, made);
}

ASK(Comm_remote_size, INTER_IN, MPI_Comm, int, of->peers)

/* Merges both groups: the one that says "high" is last; if both say the same, the one that is first
 * among all members is first. */
API(Intercomm_merge, (MPI_Comm handle, int high, MPI_Comm *merged))
{
    OUT(merged);
    INTER_IN(comm, handle);
    const int n = comm->all->size, mine = high != 0;
    HELD struct weftmpi_group *group = NULL;
    FREED int *all;
    TRY(weftmpi_allgather(comm, &mine, sizeof(mine), &all));
    const int theirs = all[comm->base];
    for (int i = 0; i < n; i++)
        TRY(HOLDS(all[i] == (weftmpi_is_remote(comm, i) ? theirs : mine), MPI_ERR_ARG,
                  "a group says high %d and %d", all[i], 1 - all[i]));
    if (mine != theirs ? theirs != 0 : comm->base != 0)
        group = weftmpi_group_join(comm->group, comm->remote);
    else
        group = weftmpi_group_join(comm->remote, comm->group);
    return weftmpi_comm_new(comm, weftmpi_comm_make(comm, group, NULL, NULL), merged);
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* Finds whom of the other group a member sends to, or receives from. */
static int who_of(const struct weftmpi_request *request, int root, bool root_sends,
                  struct weftmpi_peers *to, struct weftmpi_peers *from)
{
    const struct weftmpi_comm *comm = request->comm;
    const struct weftmpi_peers nobody = {.count = 0}, all = *to;
    const struct weftmpi_peers one = {.first = comm->base + root, .count = 1};

    *to = *from = nobody;
    if (root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    TRY(HOLDS(root == MPI_ROOT || (root >= 0 && root < comm->peers), MPI_ERR_ROOT,
              "root %d of %d in %s", root, comm->peers, comm->name));
    if (root == MPI_ROOT)
        *(root_sends ? to : from) = all;
    else
        *(root_sends ? from : to) = one;
    return MPI_SUCCESS;
}

/* What collectives are between two groups; 0: they are not. */
enum { EXCHANGED = 1, REDUCED = 2, ROOTED = 4, ROOT_SENDS = 8, SENDS_ONE = 16, RECEIVES_ONE = 32 };
static const int between[WEFT_TEAM_KINDS] = {
    [WEFT_TEAM_BROADCAST] = EXCHANGED | ROOTED | ROOT_SENDS | SENDS_ONE | RECEIVES_ONE,
    [WEFT_TEAM_SCATTER] = EXCHANGED | ROOTED | ROOT_SENDS | RECEIVES_ONE,
    [WEFT_TEAM_SCATTER_SIZES] = EXCHANGED | ROOTED | ROOT_SENDS | RECEIVES_ONE,
    [WEFT_TEAM_GATHER] = EXCHANGED | ROOTED | SENDS_ONE,
    [WEFT_TEAM_GATHER_SIZES] = EXCHANGED | ROOTED | SENDS_ONE,
    [WEFT_TEAM_ALLGATHER] = EXCHANGED | SENDS_ONE,
    [WEFT_TEAM_ALLGATHER_SIZES] = EXCHANGED | SENDS_ONE,
    [WEFT_TEAM_ALLTOALL] = EXCHANGED,
    [WEFT_TEAM_ALLTOALL_SIZES] = EXCHANGED,
    [WEFT_TEAM_REDUCE] = REDUCED | ROOTED,
    [WEFT_TEAM_ALLREDUCE] = REDUCED,
    [WEFT_TEAM_REDUCE_SCATTER] = REDUCED,
};

int weftmpi_inter(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    const int how = between[given->kind];
    struct weftmpi_peers to = {.first = request->comm->base, .count = request->comm->peers};
    struct weftmpi_peers from = to;
    struct weftmpi_side receive = given->receive;
    struct weftmpi_side send = given->kind == WEFT_TEAM_BROADCAST ? receive : given->send;

    request->finish = NULL;
    if (given->kind == WEFT_TEAM_BARRIER)
        return given->begin(request, given);
    if (how == 0)
        return weftmpi_check_inter(request->comm, false);
    if ((how & ROOTED) != 0)
        TRY(who_of(request, given->root, (how & ROOT_SENDS) != 0, &to, &from));
    if ((how & REDUCED) != 0 && to.count + from.count != 0) /* else no argument counts */
        return weftmpi_reduce_between(request, given, to, from);
    send.same = (how & SENDS_ONE) != 0;
    receive.same = (how & RECEIVES_ONE) != 0;
    return weftmpi_exchange(request, given->kind, &send, to, &receive, from);
}
