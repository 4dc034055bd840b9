/*
 * Datatypes with gaps in memory of the process's device: messages, collectives and packing move
 * their stretches, and leave what lies between as it was. Then reductions of a communicator whose
 * program asserts where its memory is. Where the device is the CPU it is host
 * memory; test_far_mpi_device has the stand-in for a GPU, whose copies are counted.
 */
#include "mpi_test.h"

#include "../../compat/mpi/internal.h"
#include "support/far_device.h"

enum { BLOCKS = 40, LENGTH = 3, STRIDE = 5, ELEMENTS = 2, INTS = BLOCKS * STRIDE * ELEMENTS };

extern struct far_watch far_watch __attribute__((weak));
static int copies;

static bool count_copy(const struct far_copy *copy)
{
    (void)copy;
    __atomic_add_fetch(&copies, 1, __ATOMIC_RELAXED);
    return true;
}

static MPI_Datatype type;

/* ints of a buffer on the device: key + i. */
static void fill(int *device, int key)
{
    int host[INTS];

    for (int i = 0; i < INTS; i++)
        host[i] = key + i;
    CHECK(weft_copy(weftmpi.job, device, host, sizeof(host)) == WEFT_OK);
}

/* The stretches are those of `key`, the gaps those of `before`. */
static void check(const int *device, int key, int before)
{
    int host[INTS];

    CHECK(weft_copy(weftmpi.job, host, device, sizeof(host)) == WEFT_OK);
    for (int i = 0; i < INTS; i++)
        CHECK(host[i] == (i % STRIDE < LENGTH ? key : before) + i);
}

/* Something was copied by the device since the last time, where it is one of its own. */
static void copied(void)
{
    CHECK(&far_watch == NULL || __atomic_exchange_n(&copies, 0, __ATOMIC_RELAXED) > 0);
}

static void messages(int *out, int *in)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;

    fill(out, rank * 1000);
    fill(in, -5000);
    copied();
    MPI_Sendrecv(out, ELEMENTS, type, to, 1, in, ELEMENTS, type, from, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    copied();
    check(in, from * 1000, -5000);
}

static void collectives(int *out, int *in)
{
    fill(in, rank == 0 ? 7000 : -6000);
    MPI_Bcast(in, ELEMENTS, type, 0, MPI_COMM_WORLD);
    check(in, 7000, rank == 0 ? 7000 : -6000);
    fill(out, 10 * rank);
    fill(in, 0);
    int *all = weft_malloc(weftmpi.job, (size_t)size * INTS * sizeof(int));
    CHECK(all != NULL);
    for (int p = 0; p < size; p++)
        fill(all + (size_t)p * INTS, -70);
    MPI_Gather(out, ELEMENTS, type, all, ELEMENTS, type, size - 1, MPI_COMM_WORLD);
    for (int p = 0; p < size && rank == size - 1; p++)
        check(all + (size_t)p * INTS, 10 * p, -70);
    weft_free(weftmpi.job, all);
}

static void packing(int *out, int *in)
{
    static char packed[INTS * sizeof(int)];
    int position = 0;

    fill(out, 300);
    fill(in, -9);
    MPI_Pack(out, ELEMENTS, type, packed, sizeof(packed), &position, MPI_COMM_WORLD);
    CHECK(position == BLOCKS * LENGTH * ELEMENTS * (int)sizeof(int));
    position = 0;
    MPI_Unpack(packed, sizeof(packed), &position, in, ELEMENTS, type, MPI_COMM_WORLD);
    check(in, 300, -9);
}

static int summand(int process, int i)
{
    return process * 7919 + i * 31;
}

/* At `in`: what members 0 to size - 1 gave from element `first` on, added up. */
static void check_sums(const int *in, int first, int count)
{
    int host[INTS];

    CHECK(weft_copy(weftmpi.job, host, in, (size_t)count * sizeof(int)) == WEFT_OK);
    for (int i = 0; i < count; i++)
        CHECK(host[i] == size * (size - 1) / 2 * 7919 + size * (first + i) * 31);
}

/* The key of MPI 4.1. */
static void asserted(int *out, int *in)
{
    enum { EACH = 5 };
    int host[INTS], taken;
    MPI_Info info;
    MPI_Comm comm;
    MPI_Request request;

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "cuda:device");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, info, &comm);
    MPI_Info_free(&info);
    const struct weftmpi_comm *const of = weftmpi_find(WEFTMPI_COMM, comm);
    CHECK(weft_team_device(of->team, 1, &taken) == WEFT_OK && (&far_watch == NULL || taken));
    for (int i = 0; i < INTS; i++)
        host[i] = summand(rank, i);
    CHECK(weft_copy(weftmpi.job, out, host, sizeof(host)) == WEFT_OK);
    MPI_Allreduce(out, in, INTS, MPI_INT, MPI_SUM, comm);
    check_sums(in, 0, INTS);
    CHECK(weft_copy(weftmpi.job, in, host, sizeof(host)) == WEFT_OK);
    MPI_Iallreduce(MPI_IN_PLACE, in, INTS, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sums(in, 0, INTS);
    CHECK(weft_copy(weftmpi.job, in, host, sizeof(host)) == WEFT_OK);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : in, rank == 0 ? in : NULL, INTS, MPI_INT, MPI_SUM, 0,
               comm);
    if (rank == 0)
        check_sums(in, 0, INTS);
    MPI_Reduce_scatter_block(out, in, EACH, MPI_INT, MPI_SUM, comm);
    check_sums(in, EACH * rank, EACH);
    MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, comm);
    CHECK(weft_copy(weftmpi.job, host, in, sizeof(int)) == WEFT_OK);
    CHECK(host[0] == rank * (rank + 1) / 2 * 7919);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Datatype vector;

    if (&far_watch != NULL)
        far_watch.begun = count_copy;
    begin(&argc, &argv);
    MPI_Type_vector(BLOCKS, LENGTH, STRIDE, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, BLOCKS * STRIDE * (MPI_Aint)sizeof(int), &type);
    MPI_Type_commit(&type);
    int *out = weft_malloc(weftmpi.job, INTS * sizeof(int));
    int *in = weft_malloc(weftmpi.job, INTS * sizeof(int));
    CHECK(out != NULL && in != NULL);
    messages(out, in);
    collectives(out, in);
    packing(out, in);
    asserted(out, in);
    weft_free(weftmpi.job, out);
    weft_free(weftmpi.job, in);
    MPI_Type_free(&vector);
    MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}
