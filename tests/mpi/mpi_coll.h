/*
 * mpi_coll.h - what the tests of collectives share: each against what one process computes,
 * blocking and not, on several communicators, with sizes on both sides of every algorithm's limit.
 */
#ifndef WEFT_TESTS_MPI_COLL_H
#define WEFT_TESTS_MPI_COLL_H

#include "mpi_test.h"

static const int sizes[] = {1, 3, 60, 130, 300, 1000, 2500, 9000};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

static MPI_Comm comm; /* that is tested */
static int me, n;
static int nonblocking; /* whether the I-forms are called */
#ifdef LARGE_COUNTS
enum { FORMS = 3 }; /* the last: the persistent ones */
#else
enum { FORMS = 2 };
#endif

#define CALL(name, ...)                                                                            \
    do {                                                                                           \
        if (nonblocking == 2) {                                                                    \
            MPI_Request request;                                                                   \
            CHECK(MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request) == MPI_SUCCESS);   \
            MPI_Start(&request);                                                                   \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                 \
            MPI_Request_free(&request);                                                            \
        } else if (nonblocking) {                                                                  \
            MPI_Request request;                                                                   \
            CHECK(MPI_I##name(__VA_ARGS__, comm, &request) == MPI_SUCCESS);                        \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                 \
        } else {                                                                                   \
            CHECK(MPI_##name(__VA_ARGS__, comm) == MPI_SUCCESS);                                   \
        }                                                                                          \
    } while (0)
/* The names of both forms differ in a letter's case. */
#define MPI_IBcast                MPI_Ibcast
#define MPI_IReduce               MPI_Ireduce
#define MPI_IAllreduce            MPI_Iallreduce
#define MPI_IReduce_scatter       MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IScan                 MPI_Iscan
#define MPI_IExscan               MPI_Iexscan
#define MPI_IGather               MPI_Igather
#define MPI_IGatherv              MPI_Igatherv
#define MPI_IScatter              MPI_Iscatter
#define MPI_IScatterv             MPI_Iscatterv
#define MPI_IAllgather            MPI_Iallgather
#define MPI_IAllgatherv           MPI_Iallgatherv
#define MPI_IAlltoall             MPI_Ialltoall
#define MPI_IAlltoallv            MPI_Ialltoallv
#define MPI_IAlltoallw            MPI_Ialltoallw

static inline int value(int who, int i)
{
    return (int)(mix((uint32_t)who, (uint32_t)i, 99) % 1000);
}

static inline int *filled(int count, int who)
{
    int *data = memory((size_t)count * sizeof(int));

    for (int i = 0; i < count; i++)
        data[i] = value(who, i);
    return data;
}

static inline void use(MPI_Comm tested)
{
    comm = tested;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
}

/* On all processes, on one, and on halves in reverse order. */
static inline void on_communicators(void (*test)(void))
{
    MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_SELF};

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[2]);
    for (int i = 0; i < 3; i++) {
        use(comms[i]);
        for (nonblocking = 0; nonblocking < FORMS; nonblocking++) {
            MPI_Barrier(comm);
            test();
        }
    }
    MPI_Comm_free(&comms[2]);
}

#endif
