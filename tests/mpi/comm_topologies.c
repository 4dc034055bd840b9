/* tests/mpi/comm_topologies.c - grids, graphs and neighbours. */
#include "mpi_comm.h"

#include <limits.h>
#include <stdbool.h>

/* A place for a result that is NULL, and a communicator's first name. */
void places(void)
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

void dims(void)
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

void grid(void)
{
    int sides[2] = {0, 0}, periods[2] = {1, 0}, coords[2], got[2], back, from, to, kind, ndims;
    MPI_Comm cart, row;

    MPI_Dims_create(size, 2, sides);
    sides[0] += size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 1, &cart) == MPI_ERR_DIMS);
    CHECK(cart == MPI_COMM_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    sides[0] -= size;
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
    /* As far as a number goes, beyond it from most coordinates. */
    for (int far = INT_MAX, tries = 0; tries < 2; far = INT_MIN, tries++) {
        const long step = (far % (long)sides[0] + sides[0]) % sides[0] * sides[1];
        MPI_Cart_shift(cart, 0, far, &from, &to);
        CHECK(to == (rank + step) % size && from == (rank + size - step) % size);
        MPI_Cart_shift(cart, 1, far, &from, &to);
        CHECK(to == MPI_PROC_NULL && from == MPI_PROC_NULL);
    }
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
void graph(void)
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
