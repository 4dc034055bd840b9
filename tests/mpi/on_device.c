/*
 * tests/mpi/on_device.c - puts itself before MPI's collectives: the blocks of a program (memory of
 * mpi_test.h) that a call sends from or receives into are moved to memory of the device first, and
 * back when it is complete. By turns, and unlike in neighbours: none, the one, the other or both.
 */
#include "mpi_test.h"

#include "../../compat/mpi/internal.h"

enum { BLOCKS = 1024, ARENA = 32 << 20 };

static struct block {
    char *at;
    size_t bytes;
} blocks[BLOCKS];
static struct side {
    char *arena; /* memory of the device */
    const struct block *block;
} sides[2];
static unsigned turn;

void on_device_block(void *memory, size_t bytes)
{
    char *const at = memory;
    struct block *place = NULL;

    for (struct block *b = blocks; b < blocks + BLOCKS;
         b++) { /* those that it overlaps are freed */
        if (b->at != NULL && b->at < at + bytes && at < b->at + b->bytes)
            b->at = NULL;
        if (b->at == NULL)
            place = b;
    }
    CHECK(place != NULL);
    *place = (struct block){at, bytes};
}

static void copy(void *into, const void *from, size_t bytes)
{
    CHECK(weft_copy(weftmpi.job, into, from, bytes) == WEFT_OK);
}

static const struct block *find(const void *buffer)
{
    const char *const at = buffer;

    for (const struct block *b = blocks; b < blocks + BLOCKS; b++)
        if (b->at != NULL && at >= b->at && at < b->at + b->bytes)
            return b;
    return NULL;
}

/* Where a call finds the buffer. Two of one block stay there, which some calls refuse. */
static void *there(const void *buffer, const void *other, int which)
{
    struct side *const side = &sides[which];
    const struct block *const block = find(buffer);

    if (block == NULL || block == find(other) || ((turn + (unsigned)rank) >> which & 1) == 0)
        return (void *)buffer;
    if (side->arena == NULL)
        side->arena = weft_malloc(weftmpi.job, ARENA);
    CHECK(side->arena != NULL && block->bytes < ARENA);
    copy(side->arena, block->at, block->bytes);
    side->block = block;
    return side->arena + ((const char *)buffer - block->at);
}

static int back(int error)
{
    for (int i = 0; i < 2; i++) {
        if (sides[i].block != NULL)
            copy(sides[i].block->at, sides[i].arena, sides[i].block->bytes);
        sides[i].block = NULL;
    }
    turn++;
    return error;
}

#define FROM      there(send, receive, 0)
#define INTO      there(receive, send, 1)
#define LIST(...) __VA_ARGS__
/* Both forms of a collective; the second is complete when it returns. */
#define ON_DEVICE(name, iname, arguments, ...)                                                     \
    int MPI_##name(__VA_ARGS__, MPI_Comm comm)                                                     \
    {                                                                                              \
        return back(PMPI_##name(LIST arguments, comm));                                            \
    }                                                                                              \
    int MPI_##iname(__VA_ARGS__, MPI_Comm comm, MPI_Request *request)                              \
    {                                                                                              \
        const int error = PMPI_##iname(LIST arguments, comm, request);                             \
        return back(error != MPI_SUCCESS ? error : PMPI_Wait(request, MPI_STATUS_IGNORE));         \
    }

#define ELEMENTS const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op
#define SEND     const void *send, int out, MPI_Datatype out_type
#define SENDS    const void *send, const int outs[], const int out_at[], MPI_Datatype out_type
#define RECEIVE  void *receive, int in, MPI_Datatype in_type
#define RECEIVES void *receive, const int ins[], const int in_at[], MPI_Datatype in_type

ON_DEVICE(Bcast, Ibcast, (there(receive, NULL, 1), count, type, root), void *receive, int count,
          MPI_Datatype type, int root)
ON_DEVICE(Reduce, Ireduce, (FROM, INTO, count, type, op, root), ELEMENTS, int root)
ON_DEVICE(Allreduce, Iallreduce, (FROM, INTO, count, type, op), ELEMENTS)
ON_DEVICE(Scan, Iscan, (FROM, INTO, count, type, op), ELEMENTS)
ON_DEVICE(Exscan, Iexscan, (FROM, INTO, count, type, op), ELEMENTS)
ON_DEVICE(Reduce_scatter_block, Ireduce_scatter_block, (FROM, INTO, count, type, op), ELEMENTS)
ON_DEVICE(Reduce_scatter, Ireduce_scatter, (FROM, INTO, counts, type, op), const void *send,
          void *receive, const int counts[], MPI_Datatype type, MPI_Op op)
ON_DEVICE(Gather, Igather, (FROM, out, out_type, INTO, in, in_type, root), SEND, RECEIVE, int root)
ON_DEVICE(Gatherv, Igatherv, (FROM, out, out_type, INTO, ins, in_at, in_type, root), SEND, RECEIVES,
          int root)
ON_DEVICE(Scatter, Iscatter, (FROM, out, out_type, INTO, in, in_type, root), SEND, RECEIVE,
          int root)
ON_DEVICE(Scatterv, Iscatterv, (FROM, outs, out_at, out_type, INTO, in, in_type, root), SENDS,
          RECEIVE, int root)
ON_DEVICE(Allgather, Iallgather, (FROM, out, out_type, INTO, in, in_type), SEND, RECEIVE)
ON_DEVICE(Allgatherv, Iallgatherv, (FROM, out, out_type, INTO, ins, in_at, in_type), SEND, RECEIVES)
ON_DEVICE(Alltoall, Ialltoall, (FROM, out, out_type, INTO, in, in_type), SEND, RECEIVE)
ON_DEVICE(Alltoallv, Ialltoallv, (FROM, outs, out_at, out_type, INTO, ins, in_at, in_type), SENDS,
          RECEIVES)
ON_DEVICE(Alltoallw, Ialltoallw, (FROM, outs, out_at, out_types, INTO, ins, in_at, in_types),
          const void *send, const int outs[], const int out_at[], const MPI_Datatype out_types[],
          void *receive, const int ins[], const int in_at[], const MPI_Datatype in_types[])
