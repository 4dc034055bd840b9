/*
 * triangles.cu - counts the triangles of a graph on all GPUs, or on as many as asked for. Plain
 * CUDA: nothing of weft is in it. The first GPU prepares the graph, the others get it by
 * cudaMemcpyPeer, and each counts a share of the edges.
 *
 *   triangles [-d DEVICES] [-c] FILE.mtx | -r LOGN
 *
 * FILE: Matrix Market, pattern; direction and loops do not matter. -r: an R-MAT graph of 2^LOGN
 * nodes and 48 edges a node, always the same. -c: compares with a count by the processor. The times
 * are those of table 7 of the rCUDA paper.
 */
#include "triangles.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum { BLOCK = 256, SCAN = 1024, MOST = 64, CHUNK = 4096 /* edges of a block */ };

extern "C" __global__ void triangles_starts(const struct edge *edge, int edges, int *starts,
                                            int nodes)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i <= edges)
        starts_step(i, i, edge, edges, starts, nodes);
}

/* How many edges of each chunk are kept. */
extern "C" __global__ void triangles_kept(const struct edge *edge, int edges, const int *starts,
                                          int *kept)
{
    const int begin = blockIdx.x * CHUNK, end = min(begin + CHUNK, edges);
    int count = 0;

    if (threadIdx.x == 0)
        kept[blockIdx.x] = 0;
    __syncthreads();
    for (int i = begin + threadIdx.x; i < end; i += BLOCK)
        count += is_kept(edge[i].from, edge[i].to, starts);
    atomicAdd(&kept[blockIdx.x], count);
}

/* Sums of what comes before, in place; one block, a stretch a thread. */
extern "C" __global__ void triangles_scan(int *value, int count)
{
    __shared__ int sums[SCAN];
    const int stretch = (count + SCAN - 1) / SCAN, t = threadIdx.x, begin = min(t * stretch, count),
              end = min(begin + stretch, count);
    int sum = 0;

    for (int i = begin; i < end; i++)
        sum += value[i];
    sums[t] = sum;
    __syncthreads();
    for (int reach = 1; reach < SCAN; reach *= 2) {
        const int add = t >= reach ? sums[t - reach] : 0;
        __syncthreads();
        sums[t] += add;
        __syncthreads();
    }
    int before = sums[t] - sum;
    for (int i = begin; i < end; i++) {
        const int here = value[i];
        value[i] = before;
        before += here;
    }
    if (t == SCAN - 1)
        value[count] = sums[t];
}

/* kept: of all chunks before each. */
extern "C" __global__ void triangles_keep(const struct edge *edge, int edges, const int *starts,
                                          const int *kept, int nodes, int *from, int *to,
                                          int *places)
{
    __shared__ int of_warp[BLOCK / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, begin = blockIdx.x * CHUNK;
    int at = kept[blockIdx.x];

    for (int round = begin; round < begin + CHUNK && round <= edges; round += BLOCK) {
        const int i = round + threadIdx.x;
        const unsigned lanes =
            __ballot_sync(~0u, i < edges && is_kept(edge[i].from, edge[i].to, starts));
        if (lane == 0)
            of_warp[warp] = __popc(lanes);
        __syncthreads();
        int before = at + __popc(lanes & ((1u << lane) - 1));
        for (int w = 0; w < BLOCK / 32; w++) {
            before += w < warp ? of_warp[w] : 0;
            at += of_warp[w];
        }
        if (i <= edges)
            keep_step(i, before, edge, edges, starts, nodes, from, to, places);
        __syncthreads();
    }
}

extern "C" __global__ void triangles_count(const int *from, const int *to, const int *places,
                                           int kept, int part, int parts, unsigned long long *total)
{
    const int i = striped(blockIdx.x * blockDim.x + threadIdx.x, part, parts);
    int count = i < kept ? count_step(i, from, to, places) : 0;

    for (int lane = 16; lane > 0; lane /= 2)
        count += __shfl_down_sync(0xffffffff, count, lane);
    if (threadIdx.x % 32 == 0 && count != 0)
        atomicAdd(total, (unsigned long long)count);
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "triangles: %s: %s\n", what, cudaGetErrorString(error));
    std::exit(EXIT_FAILURE);
}

/* ---- the graph ------------------------------------------------------------------------------- */

struct graph {
    int nodes = 0;
    std::vector<edge> edges; /* both ways, sorted, each once */
};

static bool before(const edge &a, const edge &b)
{
    return a.from != b.from ? a.from < b.from : a.to < b.to;
}

static bool same(const edge &a, const edge &b)
{
    return a.from == b.from && a.to == b.to;
}

static void add(graph &g, int from, int to)
{
    if (from == to)
        return;
    g.edges.push_back({from, to});
    g.edges.push_back({to, from});
}

static bool read(graph &g, const char *name)
{
    std::FILE *file = std::fopen(name, "r");
    char line[4096];
    long entries = 0, rows = 0, columns = 0;

    if (file == nullptr)
        return false;
    while (std::fgets(line, sizeof(line), file) != nullptr)
        if (line[0] != '%')
            break;
    bool good = std::sscanf(line, "%ld %ld %ld", &rows, &columns, &entries) == 3 && rows > 0 &&
                rows < INT32_MAX && columns <= rows;
    for (long i = 0, from, to; i < entries && good; i++) {
        good = std::fgets(line, sizeof(line), file) != nullptr &&
               std::sscanf(line, "%ld %ld", &from, &to) == 2 && from >= 1 && from <= rows &&
               to >= 1 && to <= rows;
        if (good)
            add(g, (int)from - 1, (int)to - 1);
    }
    std::fclose(file);
    g.nodes = (int)rows;
    return good;
}

/* R-MAT with the parameters of Graph 500; an edge's bits come from one generator. */
static void make(graph &g, int logn)
{
    uint64_t state = 1;

    g.nodes = 1 << logn;
    for (long e = 0; e < 48L << logn; e++) {
        int from = 0, to = 0;
        for (int bit = 0; bit < logn; bit++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const unsigned p = (unsigned)(state >> 33) % 100;
            from = from * 2 + (p >= 76);
            to = to * 2 + ((p >= 57 && p < 76) || p >= 95);
        }
        add(g, from, to);
    }
}

static void tidy(graph &g)
{
    std::sort(g.edges.begin(), g.edges.end(), before);
    g.edges.erase(std::unique(g.edges.begin(), g.edges.end(), same), g.edges.end());
    if (g.edges.size() < INT32_MAX)
        return;
    std::fprintf(stderr, "triangles: %zu edges are too many\n", g.edges.size());
    std::exit(EXIT_FAILURE);
}

/* By the processor, straight from the definition: common neighbours a < b < c of each edge. */
static unsigned long long count_here(const graph &g)
{
    std::vector<size_t> starts(g.nodes + 1, 0);
    unsigned long long count = 0;

    for (const edge &e : g.edges)
        starts[e.from + 1]++;
    for (int i = 0; i < g.nodes; i++)
        starts[i + 1] += starts[i];
    for (const edge &e : g.edges) {
        if (e.from > e.to)
            continue;
        size_t a = starts[e.from], b = starts[e.to];
        while (a < starts[e.from + 1] && b < starts[e.to + 1]) {
            const int x = g.edges[a].to, y = g.edges[b].to;
            count += x == y && x > e.to;
            a += x <= y;
            b += y <= x;
        }
    }
    return count;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static std::chrono::steady_clock::time_point begun;
static double whole;

static void stage(const char *name)
{
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - begun).count();

    std::printf("%-24s %10.2f ms\n", name, ms);
    whole += ms;
    begun = std::chrono::steady_clock::now();
}

/* What is on a device. */
struct share {
    int *from, *to, *places;
    unsigned long long *total, count;
};

template <typename T> static void allocate(T *&memory, size_t count)
{
    must(cudaMalloc((void **)&memory, count * sizeof(T) + 16), "memory");
}

static unsigned blocks(int count)
{
    return (unsigned)((count + BLOCK - 1) / BLOCK);
}

/* On the first device: the kept edges. Returns how many. */
static int prepare(const graph &g, share &s)
{
    const int edges = (int)g.edges.size(), chunks = edges / CHUNK + 1; /* with what is behind */
    edge *edge_there;
    int *starts, *before, kept = 0;

    must(cudaSetDevice(0), "device");
    allocate(edge_there, edges);
    allocate(starts, g.nodes + 1);
    allocate(before, chunks + 1);
    allocate(s.places, g.nodes + 1);
    must(cudaMemcpy(edge_there, g.edges.data(), edges * sizeof(edge), cudaMemcpyHostToDevice),
         "edges");
    stage("edges to the device");
    triangles_starts<<<blocks(edges + 1), BLOCK>>>(edge_there, edges, starts, g.nodes);
    must(cudaDeviceSynchronize(), "starts");
    stage("node array, two-way");
    triangles_kept<<<chunks, BLOCK>>>(edge_there, edges, starts, before);
    triangles_scan<<<1, SCAN>>>(before, chunks);
    must(cudaMemcpy(&kept, before + chunks, sizeof(kept), cudaMemcpyDeviceToHost), "scan");
    stage("node array, one-way");
    allocate(s.from, kept);
    allocate(s.to, kept);
    triangles_keep<<<chunks, BLOCK>>>(edge_there, edges, starts, before, g.nodes, s.from, s.to,
                                      s.places);
    must(cudaDeviceSynchronize(), "keep");
    must(cudaFree(edge_there), "free");
    must(cudaFree(starts), "free");
    must(cudaFree(before), "free");
    stage("backward edges removed");
    return kept;
}

static void hand_on(const share &first, share &s, int device, int nodes, int kept)
{
    must(cudaSetDevice(device), "device");
    allocate(s.from, kept);
    allocate(s.to, kept);
    allocate(s.places, nodes + 1);
    must(cudaMemcpyPeer(s.from, device, first.from, 0, kept * sizeof(int)), "from");
    must(cudaMemcpyPeer(s.to, device, first.to, 0, kept * sizeof(int)), "to");
    must(cudaMemcpyPeer(s.places, device, first.places, 0, (nodes + 1) * sizeof(int)), "places");
}

static unsigned long long count_there(share *s, int devices, int kept)
{
    unsigned long long count = 0;

    for (int d = 0; d < devices; d++) {
        const int all = (kept + STRIPE - 1) / STRIPE, stripes = (all - d + devices - 1) / devices;
        must(cudaSetDevice(d), "device");
        allocate(s[d].total, 1);
        must(cudaMemsetAsync(s[d].total, 0, sizeof(*s[d].total), nullptr), "total");
        if (stripes == 0)
            continue;
        triangles_count<<<blocks(stripes * STRIPE), BLOCK>>>(s[d].from, s[d].to, s[d].places, kept,
                                                             d, devices, s[d].total);
        must(cudaGetLastError(), "count");
    }
    for (int d = 0; d < devices; d++) {
        must(cudaSetDevice(d), "device");
        must(cudaMemcpy(&s[d].count, s[d].total, sizeof(s[d].count), cudaMemcpyDeviceToHost),
             "count");
        count += s[d].count;
    }
    return count;
}

int main(int argc, char **argv)
{
    share shares[MOST] = {};
    graph g;
    int devices = 0, wanted = MOST, logn = 0;
    bool check = false;
    const char *file = nullptr;

    for (int i = 1; i < argc; i++)
        if (std::strcmp(argv[i], "-d") == 0 && i + 1 < argc)
            wanted = std::atoi(argv[++i]);
        else if (std::strcmp(argv[i], "-r") == 0 && i + 1 < argc)
            logn = std::atoi(argv[++i]);
        else if (std::strcmp(argv[i], "-c") == 0)
            check = true;
        else
            file = argv[i];
    if ((file == nullptr) == (logn < 1 || logn > 22) || wanted < 1) {
        std::fprintf(stderr, "usage: triangles [-d DEVICES] [-c] FILE.mtx | -r 1..22\n");
        return 2;
    }
    begun = std::chrono::steady_clock::now();
    if (file == nullptr)
        make(g, logn);
    else if (!read(g, file)) {
        std::fprintf(stderr, "triangles: %s is no graph\n", file);
        return EXIT_FAILURE;
    }
    tidy(g);
    stage("graph");
    must(cudaGetDeviceCount(&devices), "devices");
    devices = std::min({devices, wanted, (int)MOST});
    for (int d = 0; d < devices; d++) {
        must(cudaSetDevice(d), "device");
        must(cudaFree(nullptr), "context");
    }
    stage("contexts");
    const int kept = prepare(g, shares[0]);
    for (int d = 1; d < devices; d++)
        hand_on(shares[0], shares[d], d, g.nodes, kept);
    stage("copies between devices");
    const unsigned long long count = count_there(shares, devices, kept);
    stage("triangles");
    std::printf("%-24s %10.2f ms\n%d nodes, %d edges, %d devices\n%llu triangles\n", "all", whole,
                g.nodes, kept, devices, count);
    if (check && count != count_here(g)) {
        std::fprintf(stderr, "triangles: the processor counts %llu\n", count_here(g));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
