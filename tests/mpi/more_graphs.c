/* tests/mpi/more_graphs.c - graphs of processes, and communicators that a group makes alone. */
#include "mpi_more.h"

/* A ring as a graph of both kinds: what neighbours send each other arrives. */
void graphs(void)
{
    int *index = memory((size_t)size * sizeof(int)),
        *edges = memory((size_t)size * 2 * sizeof(int));
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int got[4] = {-1, -1, -1, -1}, near[4], nodes, count, kind, in, out, weighted, weights[2];
    MPI_Comm graph;

    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    MPI_Topo_test(graph, &kind);
    CHECK(kind == MPI_GRAPH);
    MPI_Graphdims_get(graph, &nodes, &count);
    CHECK(nodes == size && count == 2 * size);
    int *is = memory((size_t)size * sizeof(int)), *to = memory((size_t)size * 2 * sizeof(int));
    MPI_Graph_get(graph, size, 2 * size, is, to);
    CHECK(memcmp(is, index, (size_t)size * sizeof(int)) == 0);
    CHECK(memcmp(to, edges, (size_t)size * 2 * sizeof(int)) == 0);
    MPI_Graph_neighbors_count(graph, rank, &count);
    MPI_Graph_neighbors(graph, rank, 4, near);
    CHECK(count == 2 && near[0] == left && near[1] == right);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, graph);
    CHECK(got[0] == left && got[1] == right);
    MPI_Comm_free(&graph);
    MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &nodes);
    CHECK(nodes == rank);
    MPI_Graph_map(MPI_COMM_WORLD, 0, index, edges, &nodes);
    CHECK(nodes == MPI_UNDEFINED);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, size + 1, index, edges, 0, &graph));
    edges[0] = size;
    FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    /* The first gives all edges, each to the next one on. */
    int n = rank == 0 ? size : 0, *sources = is, *degrees = index;
    for (int i = 0; i < size; i++) {
        sources[i] = i;
        degrees[i] = 1;
        to[i] = (i + 1) % size;
        edges[i] = 10 + i;
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, to, edges, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 1 && out == 1 && weighted);
    MPI_Dist_graph_neighbors(graph, 1, near, weights, 1, near + 1, weights + 1);
    CHECK(near[0] == left && near[1] == right && weights[0] == 10 + left &&
          weights[1] == 10 + rank);
    MPI_Neighbor_alltoall(&rank, 1, MPI_INT, got, 1, MPI_INT, graph);
    CHECK(got[0] == left);
    MPI_Comm_free(&graph);
    const int dims[] = {size}, periods[] = {0};
    MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &nodes);
    CHECK(nodes == rank);
    free(index);
    free(edges);
    free(is);
    free(to);
}

void of_groups(void)
{
    MPI_Group world, some;
    MPI_Comm comm, dup;
    int n, me, sum = 0;
    int *ranks = memory((size_t)size * sizeof(int));

    /* Those of equal parity, the last first; both at once, and each with several. */
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    n = 0;
    for (int i = size - 1; i >= 0; i--)
        if (i % 2 == rank % 2)
            ranks[n++] = i;
    MPI_Group_incl(world, n, ranks, &some);
    for (int round = 0; round < 3; round++) {
        MPI_Comm_create_group(MPI_COMM_WORLD, some, round, &comm);
        MPI_Comm_rank(comm, &me);
        CHECK(ranks[me] == rank);
        MPI_Comm_dup(comm, &dup);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, dup);
        int expected = 0;
        for (int i = 0; i < n; i++)
            expected += ranks[i];
        CHECK(sum == expected);
        MPI_Comm_free(&dup);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&some);
    MPI_Group_excl(world, 1, &rank, &some); /* without this one */
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &comm);
    CHECK(comm == MPI_COMM_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_TAG, MPI_Comm_create_group(MPI_COMM_WORLD, some, -1, &comm));
    FAILS(MPI_ERR_GROUP, MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 0, &comm));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (some != MPI_GROUP_EMPTY)
        MPI_Group_free(&some);
    MPI_Group_free(&world);
    free(ranks);
}
