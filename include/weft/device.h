/*
 * weft/device.h - all that a kernel includes. A kernel is written once, in the common subset of
 * C17 and CUDA C, and compiled by the C compiler for the CPU device and by nvcc for GPUs.
 *
 *     WEFT_KERNEL(hello, struct hello_data, data)
 *     {
 *         weft_enter(self);
 *         weft_log(self, "rank %d of %d", weft_rank(self, WEFT_COMM_WORLD),
 *                  weft_size(self, WEFT_COMM_WORLD));
 *         weft_leave(self);
 *     }
 *
 * Every rank is one thread block. Unless a prototype says otherwise, a call is made by all
 * threads of the rank together (it contains block barriers), with the same arguments.
 *
 * No call returns an error: a bad argument (a rank, tag, window, communicator or range that does
 * not exist) is reported with rank, call and numbers, stops the run on every process and comes
 * back as weft_run's status. After that, or when a process is lost, no call returns to the kernel.
 */
#ifndef WEFT_DEVICE_H
#define WEFT_DEVICE_H

#include <weft/types.h>
#include <weft/weft.h>

#include <assert.h>
#include <string.h>

#ifdef __CUDACC__
#define WEFT_DEVICE_FN static __device__
#define WEFT_FN        static __device__ inline /* compiled into every kernel */
#else
#define WEFT_DEVICE_FN static
#define WEFT_FN        extern WEFT_API
#endif

/*
 * WEFT_KERNEL(name, type, user) { ... } defines a kernel. Inside, `self` is the calling rank and
 * `user` points to the device's copy of the user data, shared by all its ranks. Functions that a
 * kernel calls are declared WEFT_DEVICE_FN. WEFT_SHARED(type, name, count); inside a kernel, or a
 * function with a `self`, makes `name` point to `count` elements that are one array for the whole
 * rank, and not initialised. WEFT_MOST_THREADS, defined before this header is included, promises
 * that no rank of the file's kernels has more threads: nvcc then keeps to the registers for so
 * many. WEFT_LEAST_RANKS, defined beside it, asks for so many ranks on each multiprocessor (default
 * 1): nvcc then keeps to the registers for all of them.
 *
 * WEFT_SHARED_BYTES, defined before this header is included, gives each rank of the file's kernels
 * so many bytes more that its threads share (weft_shared). On a GPU this is fast on-chip memory.
 * WEFT_SHARED takes 48 KB of it at most; WEFT_SHARED_BYTES takes up to what a multiprocessor has
 * for all its ranks together, 227 KB on H100 and H200. A rank that cannot have all gets what there
 * is, if that is WEFT_SHARED_LEAST or more (default: all); else weft_prepare refuses.
 * weft_shared_bytes says how many it got. The host program can choose fewer (weft_limit_shared). On
 * the CPU device they are on the stack.
 */
#ifndef WEFT_SHARED_BYTES
#define WEFT_SHARED_BYTES 0
#endif
#ifndef WEFT_SHARED_LEAST
#define WEFT_SHARED_LEAST WEFT_SHARED_BYTES
#endif
#define WEFT_COLLECTIVES 0 /* weft/coll.h makes it 1 */
#ifdef __CUDACC__
extern "C" {
extern const int weft_program_has_cuda; /* the library looks whether any object defines it */
__attribute__((weak)) const int weft_program_has_cuda = 1;
}
#define WEFT_SHARED(type, name, count)                                                             \
    __shared__ type name##_of_rank[count];                                                         \
    type *const name = name##_of_rank
#ifndef WEFT_LEAST_RANKS
#define WEFT_LEAST_RANKS 1 /* nvcc has to be told: else it may spill to make room for more */
#endif
#ifdef WEFT_MOST_THREADS
#define WEFT_BOUNDS __launch_bounds__(WEFT_MOST_THREADS, WEFT_LEAST_RANKS)
#else
#define WEFT_BOUNDS
#endif
#define WEFT_KERNEL(name, type, user)                                                              \
    static_assert((WEFT_SHARED_LEAST) <= (WEFT_SHARED_BYTES), "least is not most");                \
    static __device__ void name##_body(weft_self *self, type *user);                               \
    static __global__ void WEFT_BOUNDS name##_global(weft_self *selves, void *data)                \
    {                                                                                              \
        if (selves == NULL) /* weft_prepare: so that no launch is the first */                     \
            return;                                                                                \
        weft_self *const self = weft_cuda_begin(selves);                                           \
        weft_begin(self, NULL);                                                                    \
        name##_body(self, (type *)data);                                                           \
        weft_end(self);                                                                            \
        weft_cuda_end(self, selves);                                                               \
    }                                                                                              \
    static int name##_function(void **function)                                                    \
    {                                                                                              \
        return (int)cudaGetFuncBySymbol((cudaFunction_t *)function, (const void *)name##_global);  \
    }                                                                                              \
    extern "C" {                                                                                   \
    extern const weft_cuda_kernel name##_cuda;                                                     \
    const weft_cuda_kernel name##_cuda = {name##_function, sizeof(weft_self)};                     \
    }                                                                                              \
    static __device__ void name##_body(weft_self *self, type *user)
#else
#define WEFT_SHARED(type, name, count)                                                             \
    static const char name##_key = 0;                                                              \
    type name##_of_thread[count];                                                                  \
    type *const name = (type *)(weft_threads(self) == 1                                            \
                                    ? name##_of_thread                                             \
                                    : weft_share(self, &name##_key, sizeof(name##_of_thread)))
#define WEFT_KERNEL(name, type, user)                                                              \
    static_assert((WEFT_SHARED_LEAST) <= (WEFT_SHARED_BYTES), "least is not most");                \
    static void name##_body(weft_self *self, type *user);                                          \
    static void name##_cpu(weft_self *self, void *data)                                            \
    {                                                                                              \
        unsigned char shared[(WEFT_SHARED_BYTES) + 1] __attribute__((aligned(64)));                \
        weft_begin(self, shared);                                                                  \
        name##_body(self, (type *)data);                                                           \
        weft_end(self);                                                                            \
    }                                                                                              \
    extern const weft_cuda_kernel name##_cuda __attribute__((weak));                               \
    extern const weft_kernel name;                                                                 \
    const weft_kernel name = {#name,           name##_cpu,        &name##_cuda,                    \
                              sizeof(type),    WEFT_SHARED_BYTES, WEFT_SHARED_LEAST,               \
                              WEFT_COLLECTIVES};                                                   \
    static void name##_body(weft_self *self, type *user)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * On the CPU device a rank has one thread, or WEFT_CPU_THREADS, of which one runs at a time. Then
 * whatever its threads do not do together, as a GPU would need it, ends the job: see README.md.
 */
#ifndef __CUDACC__
struct weft_strand {
    int thread, threads; /* which thread runs, of how many of its rank */
    int rank;            /* world rank; -1: none, but the host program, or the library */
};
/* For what follows alone. */
extern WEFT_API __thread struct weft_strand weft_strand __attribute__((tls_model("initial-exec")));

/* For WEFT_SHARED: memory that is the same for all threads which name the key. Any thread. */
WEFT_FN void *weft_share(weft_self *self, const void *key, size_t bytes);
#endif

/* ---- work inside a rank (any thread) -------------------------------------------------------- */

/*
 * weft_for (i, n) runs its body for i (a size_t) = 0 .. n-1, spread over the rank's threads. No
 * barrier at its end: weft_sync where the threads need each other's results.
 */
#ifdef __CUDACC__
#define weft_for(i, n) for (size_t i = threadIdx.x; i < (size_t)(n); i += blockDim.x)
static __device__ inline int weft_thread(const weft_self *self)
{
    (void)self;
    return (int)threadIdx.x;
}
static __device__ inline int weft_threads(const weft_self *self)
{
    (void)self;
    return (int)blockDim.x;
}
static __device__ inline void weft_sync(const weft_self *self)
{
    (void)self;
    __syncthreads();
}
#else
static inline int weft_thread(const weft_self *self) /* 0 .. weft_threads - 1 */
{
    (void)self;
    return __atomic_load_n(&weft_strand.thread, __ATOMIC_RELAXED);
}
static inline int weft_threads(const weft_self *self)
{
    (void)self;
    return __atomic_load_n(&weft_strand.threads, __ATOMIC_RELAXED);
}
/*
 * By strides of the rank's threads. One thread has it all in one stretch, so that the inner loop is
 * a plain one; a `break` in it ends the outer one, too.
 */
#define weft_for(i, n)                                                                             \
    for (struct weft_stretch i##_in = weft_stretch_first((size_t)(n)); i##_in.begin < i##_in.all;  \
         weft_stretch_next(&i##_in))                                                               \
        for (size_t i = i##_in.begin; i < i##_in.end || weft_stretch_done(&i##_in); i++)
struct weft_stretch {
    size_t begin, end, all;
    int done;
};
static inline struct weft_stretch weft_stretch_first(size_t all)
{
    struct weft_stretch in = {0, all, all, 0};
    if (weft_threads(NULL) != 1) {
        in.begin = (size_t)weft_thread(NULL);
        in.end = in.begin + 1;
    }
    return in;
}
static inline int weft_stretch_done(struct weft_stretch *in) /* the inner loop's end: 0 */
{
    in->done = 1;
    return 0;
}
static inline void weft_stretch_next(struct weft_stretch *in)
{
    in->begin =
        in->done && weft_threads(NULL) != 1 ? in->begin + (size_t)weft_threads(NULL) : in->all;
    in->end = in->begin + 1;
    in->done = 0;
}
WEFT_FN void weft_sync_threads(const weft_self *self);
static inline void weft_sync(const weft_self *self) /* a barrier of the rank's threads */
{
    if (weft_threads(self) != 1)
        weft_sync_threads(self);
}
#endif

/*
 * The rank's own weft_shared_bytes bytes while the kernel runs, aligned to 16 and not initialised:
 * WEFT_SHARED_BYTES where the device has so many and the host program set no limit. They can lie in
 * no window and be no put's source: the kernel copies what it sends to device memory first. The CPU
 * device refuses such a put (ARGUMENT).
 */
#ifdef __CUDACC__
static __device__ inline void *weft_shared(const weft_self *self)
{
    extern __shared__ double2 weft_shared_memory[];
    (void)self;
    return weft_shared_memory;
}
static __device__ inline size_t weft_shared_bytes(const weft_self *self)
{
    unsigned bytes;
    (void)self;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
}
#else
WEFT_FN void *weft_shared(const weft_self *self);
WEFT_FN size_t weft_shared_bytes(const weft_self *self);
#endif

/* The sum of `value` over the rank's threads, the same on all of them. All threads. */
WEFT_FN double weft_block_sum(weft_self *self, double value);

/*
 * The sum over each group of `lanes` consecutive threads, the same on all of the group. lanes: 1,
 * 2, 4, 8, 16 or 32, and a divisor of the rank's threads. All threads.
 */
WEFT_FN double weft_lane_sum(weft_self *self, double value, int lanes);

/* ---- who and where (any thread, no communication) ------------------------------------------- */

WEFT_FN int weft_size(weft_self *self, weft_comm comm);
WEFT_FN int weft_rank(weft_self *self, weft_comm comm); /* -1 if not a member */

/* The number of processes, this process, and the first world rank and number of ranks of each. */
WEFT_FN int weft_processes(weft_self *self);
WEFT_FN int weft_process(weft_self *self);
WEFT_FN int weft_process_first(weft_self *self, int process);
WEFT_FN int weft_process_ranks(weft_self *self, int process);

/* ---- communicators (collective over the parent) ---------------------------------------------- */

/* For WEFT_KERNEL alone, which calls them before and after the body. */
WEFT_FN void weft_begin(weft_self *self, void *shared);
WEFT_FN void weft_end(weft_self *self);

/*
 * Barriers of WEFT_COMM_WORLD at the beginning and the end of the kernel's communication, which
 * timelines and stall reports call by these names. weft itself needs neither.
 */
WEFT_FN void weft_enter(weft_self *self);
WEFT_FN void weft_leave(weft_self *self);

/*
 * Members with the same color form a new communicator, ordered by key, then by rank in the parent.
 * A negative color gives WEFT_COMM_NONE, as does a failure (see weft_failure).
 */
WEFT_FN weft_comm weft_comm_split(weft_self *self, weft_comm parent, int color, int key);
/* Collective over *comm; sets it to WEFT_COMM_NONE. Its windows must have been freed. */
WEFT_FN void weft_comm_free(weft_self *self, weft_comm *comm);

/*
 * Nobody leaves before all have entered; then all see what each had stored itself before, through
 * weft_ptr, too. Orders no puts by itself: flush them first.
 */
WEFT_FN void weft_barrier(weft_self *self, weft_comm comm);

/* ---- windows (collective over the communicator) -------------------------------------------- */

/*
 * Exposes `bytes` bytes at base (NULL if bytes is 0). Both may differ between members, so members
 * that create two windows in different orders mix them up unnoticed. Windows may overlap. base:
 * what weft_register takes (weft.h). All members get the same handle, or WEFT_WIN_NONE when it
 * failed on any of them.
 */
WEFT_FN weft_win weft_win_create(weft_self *self, weft_comm comm, void *base, size_t bytes);
/* Flushes this rank's puts; waits until all members have entered. *win becomes WEFT_WIN_NONE. */
WEFT_FN void weft_win_free(weft_self *self, weft_win *win);

/* Why the rank's last win_create or comm_split failed; WEFT_OK if it did not. Any thread. */
WEFT_FN weft_status weft_failure(weft_self *self);

/*
 * Where this rank may load and store another member's window directly, or NULL. Such stores are
 * the program's own: weft_fence orders them before the next weft_notify_relaxed, weft_notify
 * orders them by itself. A GPU so reaches a process on a CPU, and not the reverse; there it must
 * use no atomic operations of its own. Any thread.
 */
WEFT_FN void *weft_ptr(weft_self *self, weft_win win, int target);

/* ---- data ---------------------------------------------------------------------------------- */
/*
 * One-sided: no matching call at the target. A call may wait for space, and serves the rank's own
 * mailboxes meanwhile. All that one rank sends to another takes effect in the order sent.
 * target: the rank in the window's communicator. offset, bytes: in the target's window, in bytes.
 * The source may be any device memory and may be reused after flush_local (or flush), or when a
 * notification has come back from the target that was sent after this put was consumed. On a GPU
 * that is no local variable of a kernel, nor shared memory: other threads of the rank, or the host,
 * copy it. The CPU device, where both are on the rank's stack, refuses it (ARGUMENT).
 */

/* Lands without any call by the target. Aligned puts of 1, 2, 4 or 8 bytes arrive undivided. */
WEFT_FN void weft_put(weft_self *self, weft_win win, int target, size_t offset, const void *source,
                      size_t bytes);
/*
 * Puts, and adds one to the target's count of the tag, as one message. Who consumes it sees the
 * data, and all that this rank put to that target before. This rank is then done with all that it
 * loaded before. A small one (WEFT_EAGER) to a pair that often has them may land only while the
 * target waits, tests, polls by weft_wait_until, or has left its kernel. Other stores of this rank,
 * and what it was told by others, are ordered by weft_notify and weft_fence only.
 */
WEFT_FN void weft_put_notify(weft_self *self, weft_win win, int target, size_t offset,
                             const void *source, size_t bytes, int tag);
/*
 * weft_put_notify of each of `count` items, in no order among them. On a GPU, by ranks of whole
 * warps, most of those to mapped memory go at once, and their releases wait together. items: the
 * same for all threads, and unchanged until all have returned. To poll for such a value
 * (weft_wait_until) orders nothing.
 */
WEFT_FN void weft_put_notify_many(weft_self *self, weft_win win, const weft_put_item *items,
                                  int count);
/* height rows of `width` bytes, `pitch` bytes (at least width) apart, as one message. */
WEFT_FN void weft_put_2d(weft_self *self, weft_win win, int target, size_t offset, size_t pitch,
                         const void *source, size_t source_pitch, size_t width, size_t height);
WEFT_FN void weft_put_2d_notify(weft_self *self, weft_win win, int target, size_t offset,
                                size_t pitch, const void *source, size_t source_pitch, size_t width,
                                size_t height, int tag);

/* weft_put; the operation says when its source may be reused (LOCAL), and when it is visible. */
WEFT_FN weft_op weft_put_begin(weft_self *self, weft_win win, int target, size_t offset,
                               const void *source, size_t bytes);

/*
 * Fetches `bytes` bytes from offset of another member's window, without any call by it. They show
 * all that this rank put there before. On return all threads see them in `to`, which is device
 * memory, as for a put's source. A word of 4 or 8 bytes, aligned at both ends, is fetched
 * undivided, and orders nothing. Blocking.
 */
WEFT_FN void weft_get(weft_self *self, weft_win win, int from, size_t offset, void *to,
                      size_t bytes);
/*
 * The same, non-blocking: `to` is this call's until the operation, or a flush, is done. Until then
 * what this rank puts to the same place may show, or not. A kernel may end before: weft_run returns
 * when all operations are done.
 */
WEFT_FN weft_op weft_get_begin(weft_self *self, weft_win win, int from, size_t offset, void *to,
                               size_t bytes);
/* height rows of `width` bytes, pitch apart in the window, to_pitch in `to`; each at least width.
 */
WEFT_FN weft_op weft_get_2d_begin(weft_self *self, weft_win win, int from, size_t offset,
                                  size_t pitch, void *to, size_t to_pitch, size_t width,
                                  size_t height);
/* weft_get_begin, and one more of this rank's own count of the tag when the data is there. */
WEFT_FN void weft_get_notify(weft_self *self, weft_win win, int from, size_t offset, void *to,
                             size_t bytes, int tag);

/*
 * Updates of one aligned word of a member's window, undivided among all that ranks and host
 * programs make by these calls; they do not mix with stores and puts there. They take effect in the
 * order of this rank's puts to that target. Who updates the word next sees all that this rank did
 * before. They return the old value, and block, but for those that say otherwise. Errors, which end
 * the job: BOUNDS, ARGUMENT (not aligned), WINDOW, RANK.
 */
WEFT_FN uint64_t weft_fetch_add(weft_self *self, weft_win win, int target, size_t offset,
                                uint64_t value);
WEFT_FN uint64_t weft_swap(weft_self *self, weft_win win, int target, size_t offset,
                           uint64_t value);
/* The word becomes `desired` if it was `expected`. */
WEFT_FN uint64_t weft_compare_swap(weft_self *self, weft_win win, int target, size_t offset,
                                   uint64_t expected, uint64_t desired);
WEFT_FN uint32_t weft_fetch_add_u32(weft_self *self, weft_win win, int target, size_t offset,
                                    uint32_t value);
WEFT_FN uint32_t weft_swap_u32(weft_self *self, weft_win win, int target, size_t offset,
                               uint32_t value);
WEFT_FN uint32_t weft_compare_swap_u32(weft_self *self, weft_win win, int target, size_t offset,
                                       uint32_t expected, uint32_t desired);
/* Non-blocking: *old (may be NULL) is written when the operation is done. */
WEFT_FN weft_op weft_fetch_add_begin(weft_self *self, weft_win win, int target, size_t offset,
                                     uint64_t value, uint64_t *old);
/* Non-blocking, without a result. */
WEFT_FN void weft_add(weft_self *self, weft_win win, int target, size_t offset, uint64_t value);
/*
 * Each of `count` elements at source is put together with the one at its place in the window, each
 * by itself undivided. Non-blocking; the source may be reused on return.
 */
WEFT_FN weft_op weft_accumulate_begin(weft_self *self, weft_win win, int target, size_t offset,
                                      const void *source, size_t count, weft_type type,
                                      weft_operation operation);

/*
 * Whether the operation, and so each before it of the same kind to the same process, has come so
 * far; test returns 0 or 1 and does not block. An operation of another rank or job ends the job
 * (ARGUMENT).
 */
WEFT_FN int weft_op_test(weft_self *self, weft_op op, weft_progress how);
WEFT_FN void weft_op_wait(weft_self *self, weft_op op, weft_progress how);

/*
 * What this rank begins between the two (puts, gets, updates and notifications) may leave together:
 * the host is told once of many commands. Batches may lie within each other; the outermost counts.
 * Nothing else changes: order, and when an operation is done. What has begun leaves at the latest
 * when the rank waits, finds an operation or notification not there, ends its batch, or ends its
 * kernel. This saves a wake-up of the host on the CPU device, for what goes through the host. The
 * host of a GPU polls: there a batch saves nothing. Non-blocking. Error: an end without a beginning
 * ends the job (STATE).
 */
WEFT_FN void weft_batch_begin(weft_self *self);
WEFT_FN void weft_batch_end(weft_self *self);

/* The sources of all earlier puts on the window may be reused; all that was fetched is there. */
WEFT_FN void weft_flush_local(weft_self *self, weft_win win);
/* All earlier puts and updates of the window are visible, their sources free, and fetches done. */
WEFT_FN void weft_flush(weft_self *self, weft_win win);
/*
 * Orders this rank's earlier stores and puts before its later puts and relaxed notifies. Puts are
 * ordered for each target by itself: what must be seen by one rank before another is told needs
 * weft_flush.
 */
WEFT_FN void weft_fence(weft_self *self);

/* ---- notifications --------------------------------------------------------------------------- */

/*
 * Adds one to the target's count of the tag, as a release of all that this rank's threads did
 * before, loads included. The relaxed form promises no order and is cheaper. target: rank in comm.
 */
WEFT_FN void weft_notify(weft_self *self, weft_comm comm, int target, int tag);
WEFT_FN void weft_notify_relaxed(weft_self *self, weft_comm comm, int target, int tag);
/*
 * weft_notify to each of `count` targets, in no order among them; on a GPU their releases wait
 * together. targets: the same numbers for all threads, and unchanged until all have returned; a
 * rank may occur several times.
 */
WEFT_FN void weft_notify_many(weft_self *self, weft_comm comm, const int *targets, int count,
                              int tag);

/* Blocks until `count` notifications of the tag are there, and consumes them. */
WEFT_FN void weft_wait(weft_self *self, int tag, uint32_t count);
/* Consumes them and returns 1 only if they are there; else returns 0 and consumes none. */
WEFT_FN int weft_test(weft_self *self, int tag, uint32_t count);

/*
 * Blocks until the aligned value at address compares true with `value`. All threads then see what
 * the writer had fenced, flushed or notified before it wrote. Polls, yields, serves mailboxes.
 */
WEFT_FN void weft_wait_until(weft_self *self, const uint64_t *address, weft_compare how,
                             uint64_t value);
WEFT_FN void weft_wait_until_u32(weft_self *self, const uint32_t *address, weft_compare how,
                                 uint32_t value);

/* ---- time and text ------------------------------------------------------------------------- */

/*
 * Collective over WEFT_COMM_DEVICE. Each stop appends an interval that weft_intervals returns. More
 * than WEFT_TIMER_INTERVALS in a run end the job (LIMIT), and so does a stop without a start
 * (STATE).
 *
 * Both are barriers of the device's ranks, after which its first rank reads a clock. That is the
 * host's monotonic clock on the CPU device, to the nanosecond. On a GPU it is the GPU's own
 * nanosecond clock (%globaltimer), which no adjustment of the host's time moves; it goes in steps,
 * of 32 ns on an H200. The barrier of the stop is in the interval: 1.2 us there for 52 ranks.
 * bench_gpu_dcuda prints the step, what a pair takes, and that by the host's clock.
 */
WEFT_FN void weft_timer_start(weft_self *self);
WEFT_FN void weft_timer_stop(weft_self *self);

/*
 * weft_log(self, format, ...): printed by the host at once, as one line, while the kernel runs. Up
 * to 8 arguments: integers, floating point, pointers, and text (%s), which is copied and may be
 * reused on return. The compiler checks them as printf's; no width or precision is an argument (*).
 * One call a rank (thread 0 speaks). Waits for room only where the rank's earlier lines are not
 * printed yet; a line holds up no put.
 */
typedef struct weft_log_arg {
    uint64_t bits;
    uint32_t kind; /* a weft_log_kind */
    uint32_t unused;
} weft_log_arg;

typedef enum weft_log_kind {
    WEFT_LOG_INT,
    WEFT_LOG_UINT,
    WEFT_LOG_REAL,
    WEFT_LOG_PTR,
    WEFT_LOG_COMM,  /* weft's own: a communicator, by its name for %s */
    WEFT_LOG_STRING /* bits: its address; on the way to the host, how many bytes it has */
} weft_log_kind;

#define WEFT_LOG_ARGS 8
#define WEFT_LOG_TEXT 320 /* longest format together with its text arguments; more is cut */

WEFT_FN void weft_log_values(weft_self *self, const char *format, int count,
                             const weft_log_arg *args);

#ifdef __cplusplus
}
#endif

#include <weft/log_args.h>
#ifdef __CUDACC__
#include "rank/api.h"
#endif
#endif
