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

#if WEFT_WARPS
/* Calls by one warp, or one thread (rank/warp.h). */
struct weft_scopes {
    unsigned lock;               /* who has it acts for the rank */
    unsigned alone;              /* the thread that has the lock, + 1 */
    uint32_t turns[32];          /* of each warp, as weft_port.turn */
    struct weft_cached kept[32]; /* of each warp: the route that it found last */
};
#endif

struct weft_cuda_rank {
    weft_self self; /* first: the API hands it around */
    uint64_t zero;  /* weft_far */
    unsigned posting, failing;
    struct weft_cached routes[WEFT_ROUTES];
    uint32_t missed;    /* the handle that was not among the routes last */
    int32_t missed_end; /* the target after those that were found then */
    double sums[32];    /* weft_block_sum: one a warp */
#if WEFT_WARPS
    struct weft_scopes scopes;
#endif
#ifdef WEFT_LINES
    const char *place; /* of its last call in the program */
#endif
};

#ifdef WEFT_LINES
WEFT_INLINE weft_self *weft_at(weft_self *self, const char *place)
{
    ((struct weft_cuda_rank *)self)->place = place;
    return self;
}
#endif

/*
 * weft_far(self, function)(arguments) calls what is never on the way of a message. A function that
 * a kernel calls directly is given registers beyond those that its callers hold, so the kernel
 * takes the sum along its deepest chain. This call goes by a pointer to which a 0 is added that no
 * compiler sees: it keeps to the ABI, and its registers are its own. What is called so calls
 * nothing so itself: of two levels nvcc cannot tell the stack.
 */
template <class F> static __device__ __forceinline__ F weft_far(const weft_self *self, F function)
{
    return (F)((uint64_t)function + ((const volatile struct weft_cuda_rank *)self)->zero);
}

/* Whether the calling thread is, for the time of a call, all of its rank. */
#if WEFT_WARPS
WEFT_INLINE bool weft_alone(const weft_self *self)
{
    const volatile struct weft_cuda_rank *const rank = (const volatile struct weft_cuda_rank *)self;
    return rank->scopes.alone == threadIdx.x + 1;
}
#else
#define weft_alone(self) false
#endif

/* Whether it drives queues: without weft/queue.h none does, and no code of theirs is there. */
#define weft_has_queues(self) (WEFT_QUEUES && (self)->queues != NULL)

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

/* What warps keep for themselves. All threads. */
#if WEFT_WARPS
WEFT_INLINE void weft_scopes_clear(weft_self *self)
{
    weft_for (i, 32)
        weft_cached_clear(&((struct weft_cuda_rank *)self)->scopes.kept[i]);
}
#else
#define weft_scopes_clear(self) ((void)(self))
#endif

/* Words of 8 bytes in a state: in the part that lasts, and in all that is before `consumed`. */
enum {
    WEFT_SELF_LASTS = offsetof(weft_self, meeting) / 8,
    WEFT_SELF_ANEW = offsetof(weft_self, consumed) / 8
};
static_assert(offsetof(weft_self, meeting) % 8 == 0 && offsetof(weft_self, consumed) % 8 == 0,
              "copied in words of 8 bytes");

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

    weft_for (i, WEFT_SELF_ANEW)
        to[i] = i < WEFT_SELF_LASTS ? from[i] : 0;
    weft_for (i, WEFT_ROUTES)
        weft_cached_clear(&rank.routes[i]);
#if WEFT_WARPS
    weft_scopes_clear(&rank.self);
    weft_for (i, 32)
        rank.scopes.turns[i] = 0;
    if (threadIdx.x == 0)
        rank.scopes.lock = rank.scopes.alone = 0;
#endif
    if (threadIdx.x == 0) {
        rank.zero = 0;
        rank.posting = rank.failing = 0;
        rank.missed = UINT32_MAX;
        rank.missed_end = -1;
    }
    __syncthreads();
    weft_for (i, WEFT_TAGS)
        rank.self.consumed[i] = rank.self.none;
    __syncthreads();
    asm volatile("" : "+r"(here));
    return (weft_self *)__cvta_shared_to_generic(here);
}

/* Subtracts what the rank consumed from its counters, whose values nobody reads again before the
 * kernel has ended. All threads. */
WEFT_COLD void weft_cuda_take_consumed(weft_self *self)
{
    weft_for (tag, WEFT_TAGS)
        if (self->consumed[tag] != self->none)
            weft_add_relaxed_device_u32(
                &self->counters[weft_count_index(self->slot, (uint32_t)tag)].local,
                self->none - self->consumed[tag]);
}

/* Gives the state back, as far as it lasts. All threads. */
WEFT_INLINE void weft_cuda_end(weft_self *self, weft_self *selves)
{
    uint64_t *to = (uint64_t *)&selves[blockIdx.x];
    const uint64_t *from = (const uint64_t *)self;

    __syncthreads();
    weft_for (i, WEFT_SELF_LASTS)
        to[i] = from[i];
    weft_cuda_take_consumed(self);
}

#endif
