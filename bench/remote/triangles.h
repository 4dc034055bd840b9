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

enum { STRIPE = 16384 };

/* Nodes whose edges begin with edge i, among `edges` sorted ones, and those without edges before
 * them, begin at `at`. */
STEP void starts_step(int i, int at, const struct edge *edge, int edges, int *starts, int nodes)
{
    const int before = i == 0 ? -1 : edge[i - 1].from, here = i == edges ? nodes : edge[i].from;

    for (int node = before + 1; node <= here; node++)
        starts[node] = at;
}

STEP int is_kept(int from, int to, const int *starts)
{
    const int a = starts[from + 1] - starts[from], b = starts[to + 1] - starts[to];

    return a < b || (a == b && from < to);
}

/*
 * Edge i, before which `at` are kept: if it is kept, its ends go to their places, apart. And where
 * the kept edges of each node begin. i == edges: of the nodes behind the last one.
 */
STEP void keep_step(int i, int at, const struct edge *edge, int edges, const int *starts, int nodes,
                    int *from, int *to, int *places)
{
    starts_step(i, at, edge, edges, places, nodes);
    if (i < edges && is_kept(edge[i].from, edge[i].to, starts)) {
        from[at] = edge[i].from;
        to[at] = edge[i].to;
    }
}

/* The i-th edge of part `part` of `parts`, which take stripes in turn: so all have hubs. */
STEP int striped(int i, int part, int parts)
{
    return (i / STRIPE * parts + part) * STRIPE + i % STRIPE;
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
