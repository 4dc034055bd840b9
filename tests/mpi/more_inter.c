/* tests/mpi/more_inter.c - intercommunicators and their collectives. */
#include "mpi_more.h"

/* Even and odd ranks on its two sides. */
static MPI_Comm make_inter(MPI_Comm *local)
{
    MPI_Comm inter;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, local);
    MPI_Intercomm_create(*local, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
    return inter;
}

/* Keeps the lower member's. */
static void keep_lower(void *in, void *inout, count_t *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < (int)*count; i++)
        ((int *)inout)[2 * i] = ((int *)in)[2 * i];
}

/* Of elements with gaps, by an operation that does not commute; in parts of one and two. */
static void check_gaps(MPI_Comm inter, int me, int n, int remote)
{
    const int first = rank % 2 == 0 ? 1 : 0; /* of the other side, in the world */
    int send[128], all[128];
    count_t counts[64];
    MPI_Datatype wide;
    MPI_Op op;

    MPI_Type_create_resized(MPI_INT, 0, 8, &wide);
    MPI_Type_commit(&wide);
    MPI_Op_create(keep_lower, 0, &op);
    for (int i = 0; i < 128; i++) {
        send[i] = rank * 1000 + i;
        all[i] = -1;
    }
    MPI_Allreduce(send, all, 3, wide, op, inter);
    for (int i = 0; i < 6; i++)
        CHECK(all[i] == (i % 2 == 0 ? first * 1000 + i : -1));
    /* Both sides give as many: n * remote. */
    for (int i = 0; i < n; i++)
        counts[i] = remote;
    MPI_Reduce_scatter(send, all, counts, wide, op, inter);
    for (int i = 0; i < 2 * remote; i++)
        CHECK(all[i] == (i % 2 == 0 ? first * 1000 + 2 * me * remote + i : -1));
    MPI_Op_free(&op);
    MPI_Type_free(&wide);
}

/* Of who is not the root on its side no argument but the root counts, whatever it is. */
static void check_no_arguments(MPI_Comm inter, int me)
{
    const MPI_Datatype none = MPI_DATATYPE_NULL;
    const int even = rank % 2 == 0, root = even ? (me == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    int value = 1, all[64];
    count_t counts[64];
    place_t offsets[64];

    for (int i = 0; i < 64; i++) {
        all[i] = i;
        counts[i] = 1;
        offsets[i] = i;
    }
    if (root == MPI_PROC_NULL) {
        MPI_Bcast(NULL, -1, none, root, inter);
        MPI_Gather(NULL, -1, none, NULL, -1, none, root, inter);
        MPI_Gatherv(NULL, -1, none, NULL, NULL, NULL, none, root, inter);
        MPI_Scatter(NULL, -1, none, NULL, -1, none, root, inter);
        MPI_Scatterv(NULL, NULL, NULL, none, NULL, -1, none, root, inter);
        MPI_Reduce(NULL, NULL, -1, none, MPI_OP_NULL, root, inter);
        MPI_Reduce(NULL, NULL, 0, MPI_BYTE, MPI_SUM, root, inter);
    } else {
        MPI_Bcast(&value, 1, MPI_INT, root, inter);
        MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, root, inter);
        MPI_Gatherv(&value, 1, MPI_INT, all, counts, offsets, MPI_INT, root, inter);
        MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, root, inter);
        MPI_Scatterv(all, counts, offsets, MPI_INT, &value, 1, MPI_INT, root, inter);
        MPI_Reduce(&value, all, 1, MPI_INT, MPI_SUM, root, inter);
        MPI_Reduce(&value, all, 1, MPI_INT, MPI_SUM, root, inter);
    }
}

static void check_collectives(MPI_Comm inter, int me, int n, int remote)
{
    const int even = rank % 2 == 0, first_root = even ? (me == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    int value = even && me == 0 ? 42 : -1, all[64], send[64], sum = -1;
    count_t counts[64];
    place_t offsets[64];

    MPI_Bcast(&value, 1, MPI_INT, first_root, inter);
    CHECK(value == (even && me != 0 ? -1 : 42));
    for (int i = 0; i < 64; i++) {
        all[i] = -1;
        send[i] = rank * 64 + i;
        counts[i] = 1;
        offsets[i] = 63 - i;
    }
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, first_root, inter);
    for (int i = 0; i < remote && first_root == MPI_ROOT; i++)
        CHECK(all[i] == 2 * i + 1);
    MPI_Gatherv(&rank, 1, MPI_INT, all, counts, offsets, MPI_INT, first_root, inter);
    for (int i = 0; i < remote && first_root == MPI_ROOT; i++)
        CHECK(all[63 - i] == 2 * i + 1);
    MPI_Scatter(send, 1, MPI_INT, &value, 1, MPI_INT, first_root, inter);
    CHECK(even || value == me);
    MPI_Scatterv(send, counts, offsets, MPI_INT, &value, 1, MPI_INT, first_root, inter);
    CHECK(even || value == 63 - me);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[i] == 2 * i + even);
    MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, offsets, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[63 - i] == 2 * i + even);
    MPI_Alltoall(send, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[i] == (2 * i + even) * 64 + me);
    MPI_Alltoallv(send, counts, offsets, MPI_INT, all, counts, offsets, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[63 - i] == (2 * i + even) * 64 + 63 - me);
    int expected = 0;
    for (int i = 0; i < remote; i++)
        expected += 2 * i + even;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == expected);
    sum = -1;
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, first_root, inter);
    CHECK(sum == (first_root == MPI_ROOT ? expected : -1));
    /* n * remote elements, of which each member of a side gets its part. */
    for (int i = 0; i < n * remote; i++)
        send[i] = rank + i;
    MPI_Reduce_scatter_block(send, all, remote, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[i] == expected + remote * (me * remote + i));
    for (int i = 0; i < n; i++)
        counts[i] = remote;
    MPI_Reduce_scatter(send, all, counts, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[i] == expected + remote * (me * remote + i));
    check_gaps(inter, me, n, remote);
    check_no_arguments(inter, me);
    MPI_Request request;
    MPI_Ibarrier(inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(inter);
}

void intercommunicators(void)
{
    MPI_Comm local, inter, dup, merged, part;
    MPI_Group group;
    MPI_Status status;
    int me, n, remote, flag, value, result;

    if (size < 2)
        return;
    inter = make_inter(&local);
    MPI_Comm_test_inter(inter, &flag);
    CHECK(flag);
    MPI_Comm_size(inter, &n);
    MPI_Comm_rank(inter, &me);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(n == (size + 1 - rank % 2) / 2 && me == rank / 2 && n + remote == size);
    MPI_Comm_remote_group(inter, &group);
    MPI_Group_size(group, &value);
    CHECK(value == remote);
    MPI_Group_rank(group, &value);
    CHECK(value == MPI_UNDEFINED);
    MPI_Group_free(&group);
    MPI_Comm_dup(inter, &dup);
    MPI_Comm_compare(inter, dup, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_compare(inter, local, &result);
    CHECK(result == MPI_UNEQUAL);
    /* Ranks of messages are those of the other group. */
    for (int to = 0; to < remote; to++) {
        MPI_Request request;
        MPI_Isend(&rank, 1, MPI_INT, to, 3, dup, &request);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < remote; i++) {
        MPI_Probe(MPI_ANY_SOURCE, 3, dup, &status);
        MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 3, dup, &status);
        CHECK(value == 2 * status.MPI_SOURCE + 1 - rank % 2);
    }
    check_collectives(inter, me, n, remote);
    check_collectives(dup, me, n, remote);
    for (int high = 0; high < 3; high++) {
        MPI_Intercomm_merge(inter, high == 2 ? 0 : high == rank % 2, &merged);
        MPI_Comm_rank(merged, &value);
        CHECK(value == (high == 0 ? (rank % 2 == 1 ? me : remote + me)
                                  : (rank % 2 == 0 ? me : remote + me)) ||
              high == 2);
        MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, merged);
        CHECK(value == size * (size - 1) / 2);
        MPI_Comm_free(&merged);
    }
    /* The first of both sides; the others have no part. */
    MPI_Comm_split(inter, me == 0 ? 1 : MPI_UNDEFINED, 0, &part);
    CHECK((part == MPI_COMM_NULL) == (me != 0));
    if (me == 0) {
        MPI_Comm_remote_size(part, &value);
        CHECK(value == 1);
        MPI_Comm_free(&part);
    }
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, remote, 0, inter));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, remote, inter));
    FAILS(MPI_ERR_COMM, MPI_Scan(&value, &result, 1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, &result, 1, MPI_INT, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, &result, 1, MPI_INT, inter));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_COMM, MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &merged));
    FAILS(MPI_ERR_COMM, MPI_Comm_remote_size(MPI_COMM_WORLD, &value));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}
