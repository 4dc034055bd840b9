/* tests/mpi/test_mpi_comm.c - groups, communicators, attributes, topologies and neighbours. */
#include "mpi_test.h"

#include <stdbool.h>
#include <sys/resource.h>

static void groups(void)
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
static void apart(void)
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
static void many(void)
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

static int copies, deletes;

static int copy_attribute(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    CHECK(extra == &copies);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    CHECK(extra == &copies);
    deletes++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int key, flag, *number;
    void *value;
    char text[8];
    MPI_Comm copy;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag);
    CHECK(flag && *number >= 32767);
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &copies);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, text);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, text + 1);
    CHECK(deletes == 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_attr(copy, key, &value, &flag);
    CHECK(copies == 1 && flag && value == text + 2);
    MPI_Comm_free(&copy);
    CHECK(deletes == 2);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    CHECK(deletes == 3);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, text);
    MPI_Comm_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID); /* the value goes with MPI_Finalize */
}

enum { LAST = 5 };
static int finals; /* deleted by MPI_Finalize */

static int delete_final(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int finalized, sum, one = 1;

    (void)extra;
    finals++;
    CHECK((intptr_t)value == LAST - finals); /* last first */
    MPI_Finalized(&finalized);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(comm == MPI_COMM_SELF && !finalized && sum == size);
    MPI_Comm_free_keyval(&keyval); /* again: it is there as long as there are values */
    return MPI_SUCCESS;
}

static bool fails;

static int copy_or_fail(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    *flag = 1;
    return fails ? MPI_ERR_OTHER : copy_attribute(comm, keyval, extra, in, out, flag);
}

static int delete_or_fail(MPI_Comm comm, int keyval, void *value, void *extra)
{
    return fails ? MPI_ERR_OTHER : delete_attribute(comm, keyval, value, extra);
}

/* Callbacks that fail, and what a duplicate begins with. */
static void callbacks(void)
{
    MPI_Comm comm, copy;
    MPI_Request request;
    int key, flag, before;
    char text[4];
    void *value;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(copy_or_fail, delete_or_fail, &key, &copies);
    MPI_Comm_set_attr(comm, key, text);
    fails = true;
    CHECK(MPI_Comm_set_attr(comm, key, text + 1) == MPI_ERR_OTHER);
    CHECK(MPI_Comm_delete_attr(comm, key) == MPI_ERR_OTHER);
    CHECK(MPI_Comm_dup(comm, &copy) == MPI_ERR_OTHER && copy == MPI_COMM_NULL);
    CHECK(MPI_Comm_free(&comm) == MPI_ERR_OTHER && comm != MPI_COMM_NULL);
    MPI_Comm_get_attr(comm, key, &value, &flag);
    CHECK(flag && value == text);
    fails = false;
    before = deletes;
    MPI_Comm_idup(comm, &copy, &request);
    MPI_Comm_delete_attr(comm, key); /* after the call: the copy has it */
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_get_attr(copy, key, &value, &flag);
    CHECK(flag && value == text + 1 && deletes == before + 1);
    CHECK(MPI_Send(&flag, 1, MPI_INT, size, 0, copy) == MPI_ERR_RANK);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
    MPI_Comm_free_keyval(&key);
    copies--;
    deletes -= 2;
    for (intptr_t i = 0; i < LAST; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_final, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)i);
        flag = key;
        MPI_Comm_free_keyval(&key);
        CHECK(MPI_Comm_free_keyval(&flag) == MPI_SUCCESS);
    }
}

/* A place for a result that is NULL, and a communicator's first name. */
static void places(void)
{
    MPI_Group group;
    MPI_Comm comm;
    char name[MPI_MAX_OBJECT_NAME];
    int length, zero = 0, range[1][3] = {{0, 0, 1}};

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_get_name(comm, name, &length);
    CHECK(length == 0 && name[0] == '\0');
    MPI_Comm_group(comm, &group);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_size(comm, NULL) == MPI_ERR_ARG && MPI_Comm_rank(comm, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_dup(comm, NULL) == MPI_ERR_ARG && MPI_Comm_group(comm, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_create(comm, group, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_split(comm, 0, 0, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_compare(comm, comm, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Group_size(group, NULL) == MPI_ERR_ARG && MPI_Group_rank(group, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Group_union(group, group, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Group_incl(group, 1, &zero, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Group_incl(group, -1, &zero, &group) == MPI_ERR_ARG);
    CHECK(MPI_Group_range_excl(group, 1, range, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Group_translate_ranks(group, 1, &zero, group, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, NULL, NULL) ==
          MPI_ERR_ARG);
    CHECK(MPI_Ibarrier(comm, NULL) == MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
}

static void dims(void)
{
    static const struct {
        int nodes, ndims, before[4], after[4];
    } cases[] = {
        {12, 2, {0, 0, 0}, {4, 3, 0}},
        {8, 3, {0, 0, 0}, {2, 2, 2}},
        {24, 3, {0, 0, 0}, {4, 3, 2}},
        {6, 2, {0, 0, 0}, {3, 2, 0}},
        {7, 2, {0, 0, 0}, {7, 1, 0}},
        {6, 3, {0, 3, 0}, {2, 3, 1}},
        {16, 3, {0, 0, 0}, {4, 2, 2}},
        {1, 2, {0, 0, 0}, {1, 1, 0}},
        {36, 2, {0, 0, 0}, {6, 6, 0}},
        {64, 3, {0, 0, 0}, {4, 4, 4}},
        {936, 3, {0, 0, 0}, {13, 9, 8}},
        {2088, 3, {0, 0, 0}, {29, 9, 8}},
        {2088, 4, {0, 0, 0, 0}, {29, 6, 4, 3}},
        {720, 2, {0, 0}, {30, 24}},
        {360, 4, {0, 5, 0, 0}, {6, 5, 4, 3}},
        {2147483647, 2, {0, 0}, {2147483647, 1}},
        {1000000000, 3, {0, 0, 0}, {1000, 1000, 1000}},
        {2095133040, 3, {0, 0, 0}, {1292, 1287, 1260}},
        {5040, 3, {0, 0, 0}, {21, 16, 15}}, /* not 20, 18, 14 */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int got[4];
        memcpy(got, cases[i].before, sizeof(got));
        MPI_Dims_create(cases[i].nodes, cases[i].ndims, got);
        CHECK(memcmp(got, cases[i].after, (size_t)cases[i].ndims * sizeof(int)) == 0);
    }
    /* Of all cuts into three the one whose sides are nearest each other; then the largest last. */
    for (int nodes = 1; nodes <= 800; nodes++) {
        int got[3] = {0, 0, 0}, apart = nodes, least = 1;
        for (int a = 1; a <= nodes; a++)
            for (int b = 1; nodes % a == 0 && b <= a; b++) {
                const int c = nodes / a / b;
                if (nodes / a % b != 0 || c > b || a - c > apart)
                    continue;
                apart = a - c;
                least = c; /* a ascends */
            }
        MPI_Dims_create(nodes, 3, got);
        CHECK(got[0] * got[1] * got[2] == nodes && got[0] >= got[1] && got[1] >= got[2]);
        CHECK(got[2] == least && got[0] - got[2] == apart);
    }
}

static void grid(void)
{
    int sides[2] = {0, 0}, periods[2] = {1, 0}, coords[2], got[2], back, from, to, kind, ndims;
    MPI_Comm cart, row;

    MPI_Dims_create(size, 2, sides);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 1, &cart);
    MPI_Topo_test(cart, &kind);
    MPI_Cartdim_get(cart, &ndims);
    CHECK(kind == MPI_CART && ndims == 2);
    MPI_Cart_get(cart, 2, got, periods, coords);
    CHECK(got[0] == sides[0] && got[1] == sides[1] && periods[0] == 1 && periods[1] == 0);
    MPI_Cart_coords(cart, rank, 2, got);
    CHECK(got[0] == rank / sides[1] && got[1] == rank % sides[1]);
    MPI_Cart_rank(cart, got, &back);
    CHECK(back == rank);
    MPI_Cart_shift(cart, 0, 1, &from, &to);
    CHECK(to == (rank + sides[1]) % size && from == (rank + size - sides[1]) % size);
    MPI_Cart_shift(cart, 1, 1, &from, &to);
    CHECK(to == (got[1] + 1 < sides[1] ? rank + 1 : MPI_PROC_NULL));
    CHECK(from == (got[1] > 0 ? rank - 1 : MPI_PROC_NULL));
    /* Each direction's block arrives from the other side, also where both sides are one process. */
    int out[4] = {rank * 4, rank * 4 + 1, rank * 4 + 2, rank * 4 + 3}, in[4] = {-1, -1, -1, -1};
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, cart);
    for (int d = 0; d < 2; d++) {
        MPI_Cart_shift(cart, d, 1, &from, &to);
        CHECK(in[2 * d] == (from == MPI_PROC_NULL ? -1 : from * 4 + 2 * d + 1));
        CHECK(in[2 * d + 1] == (to == MPI_PROC_NULL ? -1 : to * 4 + 2 * d));
    }
    int remain[2] = {0, 1}, n;
    MPI_Cart_sub(cart, remain, &row);
    MPI_Comm_size(row, &n);
    MPI_Cart_get(row, 1, got, periods, coords);
    CHECK(n == sides[1] && got[0] == sides[1] && coords[0] == rank % sides[1]);
    MPI_Comm_free(&row);
    MPI_Comm_free(&cart);
}

/* Each receives from the two before it, and from itself; v- and w-forms with unlike pieces. */
static void graph(void)
{
    int sources[3] = {(rank + size - 1) % size, (rank + size - 2 + size) % size, rank};
    int targets[3] = {(rank + 1) % size, (rank + 2) % size, rank}, weights[3] = {1, 2, 3};
    int got[3], got_weights[3], more[3], more_weights[3], in, out, weighted;
    MPI_Comm graph;

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, weights, 3, targets, weights,
                                   MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 3 && out == 3 && weighted);
    MPI_Dist_graph_neighbors(graph, 3, got, got_weights, 3, more, more_weights);
    CHECK(memcmp(got, sources, sizeof(got)) == 0 && memcmp(more, targets, sizeof(more)) == 0 &&
          got_weights[2] == 3);
    int mine[6], all[24];
    count_t counts[3] = {1, 2, 3};
    place_t offsets[3] = {9, 5, 0}, starts[3] = {0, 1, 3};
    MPI_Aint places[3] = {36, 20, 0}, from[3] = {0, 4, 12};
    MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    MPI_Request request;
    for (int i = 0; i < 6; i++)
        mine[i] = rank * 10 + i;
    MPI_Neighbor_allgather(mine, 2, MPI_INT, all, 2, MPI_INT, graph);
    for (int k = 0; k < 3; k++)
        CHECK(all[2 * k] == sources[k] * 10 && all[2 * k + 1] == sources[k] * 10 + 1);
    MPI_Ineighbor_allgather(mine, 2, MPI_INT, all, 2, MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(all[2] == sources[1] * 10);
    MPI_Neighbor_alltoall(mine, 2, MPI_INT, all, 2, MPI_INT, graph);
    for (int k = 0; k < 3; k++)
        CHECK(size < 3 || (all[2 * k] == sources[k] * 10 + 2 * k));
    for (int w = 0; w < 2; w++) {
        memset(all, 0xff, sizeof(all));
        if (w)
            MPI_Neighbor_alltoallw(mine, counts, from, types, all, counts, places, types, graph);
        else
            MPI_Neighbor_alltoallv(mine, counts, starts, MPI_INT, all, counts, offsets, MPI_INT,
                                   graph);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < counts[k]; i++)
                CHECK(size < 3 || all[offsets[k] + i] == sources[k] * 10 + starts[k] + i);
    }
    counts[0] = counts[1] = counts[2] = 2;
    MPI_Neighbor_allgatherv(mine, 2, MPI_INT, all, counts, offsets, MPI_INT, graph);
    for (int k = 0; k < 3; k++)
        CHECK(all[offsets[k]] == sources[k] * 10);
    MPI_Comm_free(&graph);
}

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm != MPI_COMM_NULL && *code == MPI_ERR_RANK);
    handled++;
}

static void handlers(void)
{
    MPI_Errhandler mine, got;
    MPI_Comm copy;
    int data = 0;

    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_errhandler(copy, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&got);
    MPI_Comm_set_errhandler(copy, mine);
    MPI_Errhandler_free(&mine);
    CHECK(mine == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Send(&data, 1, MPI_INT, size, 0, copy) == MPI_ERR_RANK && handled == 1);
    MPI_Comm_free(&copy);
}

/* Calls that find all there, or that only look, do not sleep. */
static void no_sleep(void)
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

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    groups();
    no_sleep();
    apart();
    many();
    attributes();
    callbacks();
    places();
    dims();
    grid();
    graph();
    handlers();
    MPI_Finalize();
    CHECK(deletes == 4 && finals == LAST);
    return 0;
}
