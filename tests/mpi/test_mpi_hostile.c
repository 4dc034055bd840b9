/*
 * tests/mpi/test_mpi_hostile.c - what members tell each other may be wrong: counts, ranks and sizes
 * are refused with their numbers before they are used, or are not needed. The program stands
 * between the library and its collectives (the linker's --wrap), and changes what arrives at all
 * members.
 */
#include "mpi_test.h"

#include <weft/team.h>

/* What the next collective gives: `bytes` of a value, at a place of the result. */
static struct {
    uint64_t value;
    size_t at, bytes;
} lie;

static void lie_of(uint64_t value, size_t at, size_t bytes)
{
    lie.value = value;
    lie.at = at;
    lie.bytes = bytes;
}

static void tell_lie(void *result)
{
    memcpy((char *)result + lie.at, &lie.value, lie.bytes);
    lie.bytes = 0;
}

weft_status __real_weft_team_broadcast(weft_team *, int, void *, size_t, weft_team_op **);
weft_status __wrap_weft_team_broadcast(weft_team *team, int root, void *data, size_t bytes,
                                       weft_team_op **op)
{
    const weft_status status = __real_weft_team_broadcast(team, root, data, bytes, op);

    tell_lie(data);
    return status;
}

weft_status __real_weft_team_allgather(weft_team *, const void *, size_t, void *, weft_team_op **);
weft_status __wrap_weft_team_allgather(weft_team *team, const void *source, size_t bytes,
                                       void *target, weft_team_op **op)
{
    const weft_status status = __real_weft_team_allgather(team, source, bytes, target, op);

    tell_lie(target);
    return status;
}

weft_status __real_weft_team_allgather_sizes(weft_team *, const void *, void *, const size_t[],
                                             const size_t[], weft_team_op **);
weft_status __wrap_weft_team_allgather_sizes(weft_team *team, const void *source, void *target,
                                             const size_t sizes[], const size_t offsets[],
                                             weft_team_op **op)
{
    const weft_status status =
        __real_weft_team_allgather_sizes(team, source, target, sizes, offsets, op);

    tell_lie(target);
    return status;
}

/* A call whose collective is told that value, of that type, `place` bytes behind the begin. */
#define LIED(error_class, type, number, place, call)                                               \
    do {                                                                                           \
        lie_of((uint64_t)(type)(number), place, sizeof(type));                                     \
        FAILS(error_class, call);                                                                  \
        CHECK(lie.bytes == 0);                                                                     \
    } while (0)

/* The number of the leader's communicator, how many processes it has, and which. */
static void groups(void)
{
    const int first = rank == 0, wrong_numbers[] = {-1, 1 << 14, INT32_MAX};
    const int wrong_sizes[] = {-1, 0, size + 1, INT32_MAX}, wrong_processes[] = {-1, size, 1 << 30};
    MPI_Comm local, inter;

    MPI_Comm_split(MPI_COMM_WORLD, first, rank, &local);
    for (int i = 0; i < 3; i++)
        LIED(MPI_ERR_COMM, int, wrong_numbers[i], 0,
             MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first, 1, &inter));
    for (int i = 0; i < 4; i++)
        LIED(MPI_ERR_COMM, int, wrong_sizes[i], sizeof(int),
             MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first, 1, &inter));
    for (int i = 0; i < 3; i++)
        LIED(MPI_ERR_COMM, int, wrong_processes[i], 2 * sizeof(int),
             MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first, 1, &inter));
    LIED(MPI_ERR_COMM, int, rank, 2 * sizeof(int), /* this process is on both sides */
         MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first, 1, &inter));
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first, 1, &inter);
    MPI_Barrier(inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

/* The leader's message meets one of the program; and one leader has no peer. */
static void leaders(void)
{
    char bytes[4096];
    MPI_Comm local, inter;

    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &local);
    memset(bytes, 0x7f, sizeof(bytes));
    if (rank == 0)
        MPI_Sendrecv(bytes, 2 * sizeof(int), MPI_BYTE, 1, 1, bytes, sizeof(bytes), MPI_BYTE, 1, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        FAILS(MPI_ERR_COMM, MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 0, 1, &inter));
    FAILS(rank < 2 ? MPI_ERR_RANK : MPI_ERR_COMM, /* the leader's error, and what others hear */
          MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, size, 1, &inter));
    MPI_Comm_free(&local);
}

/* The rank of who gives a color is known. */
static void colors(void)
{
    MPI_Comm part;
    int n;

    LIED(MPI_SUCCESS, int, 1 << 29, 2 * sizeof(int),
         MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &part));
    MPI_Comm_compare(MPI_COMM_WORLD, part, &n);
    CHECK(n == MPI_CONGRUENT);
    MPI_Comm_free(&part);
}

static void edges(void)
{
    const int next = (rank + 1) % size, one = 1;
    MPI_Comm graph;

#define GRAPH                                                                                      \
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &next, &one, MPI_INFO_NULL, 0, &graph)
    LIED(MPI_ERR_ARG, size_t, SIZE_MAX - 3, sizeof(size_t), GRAPH); /* with others less than all */
    LIED(MPI_ERR_ARG, size_t, 13, sizeof(size_t), GRAPH);
    LIED(MPI_ERR_ARG, size_t, (size_t)1 << 40, 0, GRAPH);
    FAILS(MPI_ERR_ARG, /* one process's error is everybody's */
          MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, rank == 1 ? &size : &next, &one,
                                MPI_INFO_NULL, 0, &graph));
}

/* Sizes, units and errors of parts of a window, in the library's 40 bytes each. */
static void windows(void)
{
    enum { PART = 40, UNIT = 8, ERROR = 36 };
    MPI_Win win;
    void *base;

#define SHARED MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win)
#define OWN    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win)
    LIED(MPI_ERR_OTHER, int64_t, -1, PART, OWN);
    LIED(MPI_ERR_OTHER, int64_t, 0, PART + UNIT, OWN);
    LIED(MPI_ERR_OTHER, int, -7, PART + ERROR, OWN);
    LIED(MPI_ERR_OTHER, int64_t, INT64_MAX, PART, SHARED);
    lie_of((uint64_t)1 << 20, PART, sizeof(int64_t)); /* more than rank 0 has for all */
    CHECK(SHARED != MPI_SUCCESS);                     /* or its memory has gone already */
    FAILS(MPI_SUCCESS, SHARED);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    groups();
    leaders();
    colors();
    edges();
    windows();
    MPI_Finalize();
    return 0;
}
