/* compat/mpi/graph.c - graphs of processes. */
#include "internal.h"

/* ---- graphs that all know -------------------------------------------------------------------- */

static int check_graph(struct weftmpi_comm *comm, int nodes, const int index[], const int edges[])
{
    TRY(HOLDS(nodes >= 0 && nodes <= comm->size, MPI_ERR_ARG, "%d nodes; %s has %d processes",
              nodes, comm->name, comm->size));
    TRY(LISTED(nodes, index));
    for (int i = 0; i < nodes; i++)
        TRY(HOLDS(index[i] >= (i == 0 ? 0 : index[i - 1]), MPI_ERR_ARG, "index %d is %d", i,
                  index[i]));
    TRY(LISTED(nodes > 0 ? index[nodes - 1] : 0, edges));
    for (int i = 0; nodes > 0 && i < index[nodes - 1]; i++)
        TRY(HOLDS(edges[i] >= 0 && edges[i] < nodes, MPI_ERR_ARG, "edge %d leads to node %d of %d",
                  i, edges[i], nodes));
    return MPI_SUCCESS;
}

/* Returns where the edges of a node begin; of the one behind the last: how many there are. */
static int first_edge(const int index[], int node)
{
    return node == 0 ? 0 : index[node - 1];
}

API(Graph_create,
    (MPI_Comm handle, int nodes, const int index[], const int edges[], int reorder, MPI_Comm *made))
{
    struct weftmpi_topology *graph = NULL;
    (void)reorder;
    OUT(made);
    BASE_IN(comm, handle);
    TRY(check_graph(comm, nodes, index, edges));
    if (comm->rank < nodes) {
        const int first = first_edge(index, comm->rank), degree = index[comm->rank] - first;
        graph = weftmpi_topology_make(MPI_GRAPH, 0, degree, degree, nodes, index[nodes - 1]);
        memcpy(graph->index, index, (size_t)nodes * sizeof(int));
        memcpy(graph->edges, edges, (size_t)index[nodes - 1] * sizeof(int));
        memcpy(graph->sources, edges + first, (size_t)degree * sizeof(int));
        memcpy(graph->targets, edges + first, (size_t)degree * sizeof(int));
    }
    return weftmpi_topology_give(comm, graph, made);
}

API(Graph_map, (MPI_Comm handle, int nodes, const int index[], const int edges[], int *rank))
{
    OUT(rank);
    BASE_IN(comm, handle);
    TRY(check_graph(comm, nodes, index, edges));
    *rank = comm->rank < nodes ? comm->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

API(Graphdims_get, (MPI_Comm handle, int *nodes, int *edges))
{
    OUT(nodes, edges);
    TOPOLOGY_IN(graph, comm, handle, MPI_GRAPH);
    *nodes = graph->nodes;
    *edges = first_edge(graph->index, graph->nodes);
    return MPI_SUCCESS;
}

API(Graph_get, (MPI_Comm handle, int most_index, int most_edges, int index[], int edges[]))
{
    TOPOLOGY_IN(graph, comm, handle, MPI_GRAPH);
    TRY(LISTED(most_index, index));
    TRY(LISTED(most_edges, edges));
    for (int i = 0; i < graph->nodes && i < most_index; i++)
        index[i] = graph->index[i];
    for (int i = 0; i < first_edge(graph->index, graph->nodes) && i < most_edges; i++)
        edges[i] = graph->edges[i];
    return MPI_SUCCESS;
}

/* Lists the neighbours of a rank, `most` at most (NULL: none), and tells how many there are. */
static int neighbours(const struct weftmpi_topology *graph, int rank, int *count, int most,
                      int list[])
{
    TRY(PLACES(count));
    TRY(weftmpi_check_rank(rank, graph->nodes));
    TRY(LISTED(most, list));
    const int first = first_edge(graph->index, rank);
    *count = graph->index[rank] - first;
    for (int i = 0; i < *count && i < most; i++)
        list[i] = graph->edges[first + i];
    return MPI_SUCCESS;
}

#define GRAPH_IN(graph, handle) TOPOLOGY_IN(graph, comm, handle, MPI_GRAPH)
ON(Graph_neighbors_count, GRAPH_IN, (MPI_Comm handle, int rank, int *count),
   neighbours(of, rank, count, 0, NULL))
ON(Graph_neighbors, GRAPH_IN, (MPI_Comm handle, int rank, int most, int list[]),
   neighbours(of, rank, &(int){0}, most, list))

/* ---- graphs of which each knows its part ----------------------------------------------------- */

/* Copies ranks, and weights, which either side may lack. */
static void copy_edges(int n, const int ranks[], const int weights[], int ranks_to[],
                       int weights_to[])
{
    for (int i = 0; i < n; i++) {
        ranks_to[i] = ranks[i];
        if (weights_to != MPI_UNWEIGHTED)
            weights_to[i] = weights != MPI_UNWEIGHTED ? weights[i] : 1;
    }
}

API(Dist_graph_create_adjacent,
    (MPI_Comm handle, int indegree, const int sources[], const int source_weights[], int outdegree,
     const int targets[], const int target_weights[], MPI_Info info, int reorder, MPI_Comm *graph))
{
    (void)info;
    (void)reorder;
    OUT(graph);
    BASE_IN(comm, handle);
    TRY(HOLDS(indegree >= 0 && outdegree >= 0, MPI_ERR_ARG, "degrees %d and %d", indegree,
              outdegree));
    TRY(LISTED(indegree, source_weights == NULL ? NULL : sources));
    TRY(LISTED(outdegree, target_weights == NULL ? NULL : targets));
    for (int i = 0; i < indegree; i++)
        TRY(weftmpi_check_rank(sources[i], comm->size));
    for (int i = 0; i < outdegree; i++)
        TRY(weftmpi_check_rank(targets[i], comm->size));
    struct weftmpi_topology *made =
        weftmpi_topology_make(MPI_DIST_GRAPH, 0, indegree, outdegree, 0, 0);
    made->weighted = source_weights != MPI_UNWEIGHTED;
    copy_edges(indegree, sources, source_weights, made->sources, made->source_weights);
    copy_edges(outdegree, targets, target_weights, made->targets, made->target_weights);
    return weftmpi_topology_give(comm, made, graph);
}

struct edge {
    int from, to, weight;
};

/* Picks the edges that begin and end at a rank into the graph, in which there is room for all. */
static void pick_edges(const struct edge *edges, size_t count, int rank,
                       struct weftmpi_topology *graph)
{
    int in = 0, out = 0;

    for (size_t i = 0; i < count; i++) {
        if (edges[i].to == rank) {
            graph->sources[in] = edges[i].from;
            graph->source_weights[in++] = edges[i].weight;
        }
        if (edges[i].from == rank) {
            graph->targets[out] = edges[i].to;
            graph->target_weights[out++] = edges[i].weight;
        }
    }
    graph->indegree = in;
    graph->outdegree = out;
}

/* Gathers all edges of all members, one after the other, checked; blocking. */
static int share_edges(struct weftmpi_comm *comm, const struct edge *mine, size_t count,
                       struct edge **edges, size_t *all)
{
    const size_t n = (size_t)comm->size, bytes = count * sizeof(*mine);
    const size_t most = INT32_MAX * sizeof(*mine);
    FREED size_t *sizes, *offsets = weftmpi_room(NULL, n * sizeof(*offsets));
    size_t at = 0;

    TRY(weftmpi_allgather(comm, &bytes, sizeof(bytes), &sizes));
    for (size_t i = 0; i < n; at += sizes[i++]) {
        TRY(HOLDS(sizes[i] <= most - at && sizes[i] % sizeof(*mine) == 0, MPI_ERR_ARG,
                  "%zu bytes of edges from rank %zu behind %zu", sizes[i], i, at));
        offsets[i] = at;
    }
    *all = at / sizeof(*mine);
    *edges = weftmpi_room(NULL, at);
    TRY(weftmpi_failed(weft_team_allgather_sizes(comm->team, mine, *edges, sizes, offsets, NULL)));
    for (const struct edge *e = *edges; e != *edges + *all; e++)
        TRY(HOLDS(e->from >= 0 && e->from < comm->size && e->to >= 0 && e->to < comm->size &&
                      e->weight >= 0,
                  MPI_ERR_ARG, "an edge from %d to %d of %d, with weight %d", e->from, e->to,
                  comm->size, e->weight));
    return MPI_SUCCESS;
}

/* Lists the edges that a member gives: each source with so many targets. */
static int list_edges(int n, const int sources[], const int degrees[], const int targets[],
                      const int weights[], struct edge **edges, size_t *count)
{
    size_t all = 0, at = 0;

    TRY(HOLDS(n >= 0, MPI_ERR_ARG, "%d sources", n));
    TRY(LISTED(n, sources == NULL ? NULL : degrees));
    for (int i = 0; i < n; i++) {
        TRY(HOLDS(degrees[i] >= 0, MPI_ERR_ARG, "degree %d", degrees[i]));
        all += (size_t)degrees[i];
    }
    TRY(LISTED(all, targets == NULL ? NULL : weights));
    *edges = weftmpi_room(NULL, all * sizeof(**edges));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < degrees[i]; k++, at++)
            (*edges)[at] =
                (struct edge){sources[i], targets[at], weights != MPI_UNWEIGHTED ? weights[at] : 1};
    *count = all;
    return MPI_SUCCESS;
}

API(Dist_graph_create,
    (MPI_Comm handle, int n, const int sources[], const int degrees[], const int targets[],
     const int weights[], MPI_Info info, int reorder, MPI_Comm *made))
{
    FREED struct edge *mine = NULL, *all = NULL;
    size_t count = 0, all_count = 0;
    (void)info;
    (void)reorder;
    OUT(made);
    BASE_IN(comm, handle);
    TRY(list_edges(n, sources, degrees, targets, weights, &mine, &count));
    TRY(share_edges(comm, mine, count, &all, &all_count));
    struct weftmpi_topology *graph =
        weftmpi_topology_make(MPI_DIST_GRAPH, 0, (int)all_count, (int)all_count, 0, 0);
    graph->weighted = weights != MPI_UNWEIGHTED;
    pick_edges(all, all_count, comm->rank, graph);
    return weftmpi_topology_give(comm, graph, made);
}

API(Dist_graph_neighbors_count, (MPI_Comm handle, int *indegree, int *outdegree, int *weighted))
{
    OUT(indegree, outdegree, weighted);
    TOPOLOGY_IN(graph, comm, handle, MPI_DIST_GRAPH);
    *indegree = graph->indegree;
    *outdegree = graph->outdegree;
    *weighted = graph->weighted;
    return MPI_SUCCESS;
}

API(Dist_graph_neighbors, (MPI_Comm handle, int most_in, int sources[], int source_weights[],
                           int most_out, int targets[], int target_weights[]))
{
    TOPOLOGY_IN(graph, comm, handle, MPI_DIST_GRAPH);
    TRY(LISTED(most_in, graph->weighted && source_weights == NULL ? NULL : sources));
    TRY(LISTED(most_out, graph->weighted && target_weights == NULL ? NULL : targets));
    const int in = graph->indegree < most_in ? graph->indegree : most_in;
    const int out = graph->outdegree < most_out ? graph->outdegree : most_out;
    copy_edges(in, graph->sources, graph->source_weights, sources,
               graph->weighted ? source_weights : MPI_UNWEIGHTED);
    copy_edges(out, graph->targets, graph->target_weights, targets,
               graph->weighted ? target_weights : MPI_UNWEIGHTED);
    return MPI_SUCCESS;
}
