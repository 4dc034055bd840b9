/*
 * triangles.h - counting triangles, step by step of one index each: for GPUs (triangles.cu) and,
 * where a driver in host memory runs the kernels, for processors (triangles_host.c).
 *
 * The graph is undirected; its edges are given twice, sorted. Each edge is kept in one direction,
 * from the node of fewer neighbours to that of more (ties: by number), so that no list is long. A
 * triangle is then two lists with a common node. After A. Polak, Counting triangles in large graphs
 * on GPU.
 */
#ifndef BENCH_REMOTE_TRIANGLES_H
#define BENCH_REMOTE_TRIANGLES_H

#ifdef __CUDACC__
#define STEP static __device__ __forceinline__
#else
#define STEP static inline
#endif

struct edge {
    int from, to;
};

/* Where the edges of each node begin, among `edges` sorted ones; nodes without edges, too. */
STEP void starts_step(int i, const struct edge *edge, int edges, int *starts, int nodes)
{
    const int before = i == 0 ? -1 : edge[i - 1].from, here = i == edges ? nodes : edge[i].from;

    for (int node = before + 1; node <= here; node++)
        starts[node] = i;
}

STEP int is_kept(int from, int to, const int *starts)
{
    const int a = starts[from + 1] - starts[from], b = starts[to + 1] - starts[to];

    return a < b || (a == b && from < to);
}

/* How many edges of a node are kept. */
STEP void kept_step(int node, const struct edge *edge, const int *starts, int *kept)
{
    int count = 0;

    for (int i = starts[node]; i < starts[node + 1]; i++)
        count += is_kept(node, edge[i].to, starts);
    kept[node] = count;
}

/* They, to their places: both ends apart. */
STEP void keep_step(int node, const struct edge *edge, const int *starts, const int *places,
                    int *from, int *to)
{
    int at = places[node];

    for (int i = starts[node]; i < starts[node + 1]; i++)
        if (is_kept(node, edge[i].to, starts)) {
            from[at] = node;
            to[at++] = edge[i].to;
        }
}

/* Triangles of a kept edge: nodes that both its ends lead to. */
STEP int count_step(int i, const int *from, const int *to, const int *places)
{
    int a = places[from[i]], b = places[to[i]], count = 0;
    const int a_end = places[from[i] + 1], b_end = places[to[i] + 1];

    while (a < a_end && b < b_end) {
        const int x = to[a], y = to[b];
        count += x == y;
        a += x <= y;
        b += y <= x;
    }
    return count;
}

#endif
