/* tests/mpi/comm_groups.c - groups, communicators, and many of these at once. */
#include "mpi_comm.h"

#include <sys/resource.h>

void groups(void)
{
    MPI_Group world, odd, even, both, made;
    int ranks[64], n = 0, result, got, translated[2], first[2] = {0, MPI_PROC_NULL};
    int ranges[1][3] = {{1, size - 1, 2}};

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 1; i < size; i += 2)
        ranks[n++] = i;
    MPI_Group_incl(world, n, ranks, &odd);
    MPI_Group_excl(world, n, ranks, &even);
    MPI_Group_size(even, &got);
    CHECK(got == size - n);
    MPI_Group_rank(odd, &got);
    CHECK(got == (rank % 2 == 1 ? rank / 2 : MPI_UNDEFINED));
    if (size > 1) {
        MPI_Group_range_incl(world, 1, ranges, &made);
        MPI_Group_compare(made, odd, &result);
        CHECK(result == MPI_IDENT);
        MPI_Group_free(&made);
        MPI_Group_range_excl(world, 1, ranges, &made);
        MPI_Group_compare(made, even, &result);
        CHECK(result == MPI_IDENT);
        MPI_Group_free(&made);
    }
    MPI_Group_union(odd, even, &both);
    MPI_Group_compare(both, world, &result);
    CHECK(result == (size > 1 ? MPI_SIMILAR : MPI_IDENT));
    MPI_Group_intersection(odd, even, &made);
    CHECK(made == MPI_GROUP_EMPTY);
    MPI_Group_free(&made);
    MPI_Group_difference(world, even, &made);
    MPI_Group_compare(made, odd, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&made);
    MPI_Group_translate_ranks(even, 2, first, both, translated);
    CHECK(translated[0] == n && translated[1] == MPI_PROC_NULL);
    MPI_Group_free(&both);
    MPI_Group_free(&odd);
    MPI_Group_free(&even);
    MPI_Group_free(&world);
    CHECK(world == MPI_GROUP_NULL);
}

/* Messages of one communicator are not seen on another; each has its own ranks. */
void apart(void)
{
    MPI_Comm half, copy, none, created;
    MPI_Group group;
    int me, n, in = -1, out, result, ranks[1] = {0}, length, flag;
    char name[MPI_MAX_OBJECT_NAME];

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, size - rank, &half);
    MPI_Comm_rank(half, &me);
    MPI_Comm_size(half, &n);
    CHECK(n == (size + 1 - rank % 2) / 2 && me == n - 1 - rank / 2);
    MPI_Comm_dup(half, &copy);
    MPI_Comm_compare(half, copy, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_compare(half, MPI_COMM_WORLD, &result);
    CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
    MPI_Request requests[2];
    int a = 10 + me, b = 20 + me, got[2];
    MPI_Isend(&a, 1, MPI_INT, (me + 1) % n, 5, copy, &requests[0]);
    MPI_Isend(&b, 1, MPI_INT, (me + 1) % n, 5, half, &requests[1]);
    MPI_Recv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, half, MPI_STATUS_IGNORE);
    MPI_Recv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE);
    CHECK(got[0] == 10 + (me + n - 1) % n && got[1] == 20 + (me + n - 1) % n);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_set_name(copy, "a copy");
    MPI_Comm_get_name(copy, name, &length);
    CHECK(strcmp(name, "a copy") == 0 && length == 6);
    MPI_Comm_free(&copy);
    CHECK(copy == MPI_COMM_NULL);
    MPI_Comm_free(&half);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &none);
    CHECK((none == MPI_COMM_NULL) == (rank == 0));
    if (none != MPI_COMM_NULL)
        MPI_Comm_free(&none);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Group_incl(group, 1, ranks, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &created);
    CHECK((created == MPI_COMM_NULL) == (rank != 0));
    if (created != MPI_COMM_NULL)
        MPI_Comm_free(&created);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &none);
    MPI_Comm_size(none, &n);
    CHECK(n >= 1 && n <= size);
    MPI_Comm_test_inter(none, &flag);
    CHECK(!flag);
    out = rank;
    MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(in == size - 1);
    MPI_Comm_free(&none);
    MPI_Group_free(&group);
}

/* Many communicators at once, made and freed; numbers come back. */
void many(void)
{
    enum { MANY = 40 };
    MPI_Comm comms[MANY];
    MPI_Request requests[MANY];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            MPI_Comm_idup(i % 4 == 3 ? MPI_COMM_SELF : MPI_COMM_WORLD, &comms[i], &requests[i]);
        /* Another collective in between, and waits in another order. */
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < MANY; i++)
            MPI_Wait(&requests[rank % 2 == 0 ? i : MANY - 1 - i], MPI_STATUS_IGNORE);
        for (int i = 0; i < MANY; i++) {
            int sum, one = 1, n;
            MPI_Comm_size(comms[i], &n);
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
            CHECK(sum == n && n == (i % 4 == 3 ? 1 : size));
            MPI_Comm_free(&comms[i]);
        }
    }
}

/* Calls that find all there, or that only look, do not sleep. */
void no_sleep(void)
{
    enum { TIMES = 2000 };
    struct rusage before, after;
    int flag, data;
    MPI_Request request;
    MPI_Message message;
    MPI_Comm comm;

    MPI_Irecv(&data, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request);
    getrusage(RUSAGE_THREAD, &before);
    for (int i = 0; i < TIMES; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Improbe(0, 7, MPI_COMM_SELF, &flag, &message, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        MPI_Comm_free(&comm);
        MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm);
        MPI_Comm_free(&comm);
    }
    getrusage(RUSAGE_THREAD, &after);
    CHECK(after.ru_nvcsw - before.ru_nvcsw < TIMES / 2); /* waits for locks aside */
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
