/*
 * rank/state_cuda.h - a rank on a GPU: its state lies in shared memory while its kernel runs.
 */
#ifndef WEFT_RANK_STATE_CUDA_H
#define WEFT_RANK_STATE_CUDA_H

/* The threads of all ranks that are to share a multiprocessor; 0: the kernel promises nothing. */
#ifdef WEFT_MOST_THREADS /* of any kind of constant: the preprocessor takes an enum's for 0 */
enum { WEFT_CROWD = (WEFT_MOST_THREADS) * (WEFT_LEAST_RANKS) };
#else
enum { WEFT_CROWD = 0 };
#endif

/*
 * By the registers that a thread may have. All 255: copies take some in every kernel, and load
 * ahead of what they store. 128 and more: a route is read into registers, all of it at once. With
 * fewer that would be stored on the stack and loaded again, which takes longer.
 */
enum { WEFT_COPY_LARGE = WEFT_CROWD <= 256, WEFT_KEEP_ROUTE = WEFT_CROWD <= 512 };

enum { WEFT_ROUTES = 16 };

/* A route that was found, by handle and target; a communicator's: target is inverted. */
struct __align__(16) weft_cached
{
    uint32_t handle;
    int32_t target;
    struct weft_route route;
};

struct weft_cuda_rank {
    weft_self self; /* first: the API hands it around */
#if defined(WEFT_FAR_LIBRARY) || defined(WEFT_FAR_HERE)
    void *far[WEFT_FAR_COUNT];
#else
    uint64_t zero; /* rank/far.h */
#endif
    unsigned posting, failing;
    struct weft_cached routes[WEFT_ROUTES];
    uint32_t missed;    /* what was not among them last: its handle, */
    int32_t missed_end; /* and the target after those that were found then */
    double sums[32];    /* weft_block_sum: one a warp */
};

/*
 * No handle is like that; if a program makes it up, the host is asked, and refuses it. The other
 * fields stay: a put or notification that is under way reads them after the barrier that clears.
 */
WEFT_INLINE void weft_cached_clear(struct weft_cached *cached)
{
    cached->handle = UINT32_MAX;
    cached->target = INT32_MIN;
    cached->route.way = 0;
    cached->route.bytes = 0;
    cached->route.eager = 0;
}

WEFT_INLINE bool weft_cached_is_clear(const struct weft_cached *cached)
{
    return cached->handle == UINT32_MAX;
}

static_assert(sizeof(weft_self) % 8 == 0, "copied in words of 8 bytes");

/*
 * Takes the block's state from where the host keeps it (rank/state.h: its weft_self). The address
 * that is handed on is an unknown one in shared memory: a known one the compiler computes anew for
 * each use, from a special register that is slow to read.
 */
WEFT_INLINE weft_self *weft_cuda_begin(weft_self *selves)
{
    __shared__ __align__(16) struct weft_cuda_rank rank;
    const uint64_t *from = (const uint64_t *)&selves[blockIdx.x];
    uint64_t *to = (uint64_t *)&rank.self;
    uint32_t here = (uint32_t)__cvta_generic_to_shared(&rank.self);

    weft_for (i, sizeof(rank.self) / 8)
        to[i] = from[i];
    weft_for (i, WEFT_ROUTES)
        weft_cached_clear(&rank.routes[i]);
    if (threadIdx.x == 0) {
#ifdef WEFT_FAR_LIBRARY
        WEFT_FAR_SET(rank.far);
#elif !defined(WEFT_FAR_HERE)
        rank.zero = 0;
#endif
        rank.posting = rank.failing = 0;
        rank.missed = UINT32_MAX;
        rank.missed_end = -1;
    }
    __syncthreads();
    asm volatile("" : "+r"(here));
    return (weft_self *)__cvta_shared_to_generic(here);
}

/* And gives it back. */
WEFT_INLINE void weft_cuda_end(weft_self *self, weft_self *selves)
{
    uint64_t *to = (uint64_t *)&selves[blockIdx.x];
    const uint64_t *from = (const uint64_t *)self;

    __syncthreads();
    weft_for (i, sizeof(*self) / 8)
        to[i] = from[i];
}

#endif
