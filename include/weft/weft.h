/*
 * weft/weft.h - the host API: open a job, prepare a kernel, run it; with host.h, use windows from
 * the host.
 *
 * Unless a prototype says otherwise, the thread that opened the job makes a call. A call returns a
 * status and sets its outputs only on WEFT_OK. When it fails, it has printed one line with the
 * numbers on stderr. A NULL job or other handle is refused (ARGUMENT); calls that return no status
 * return NULL, -1, 0 or NONE. "Collective": every process of the job makes the call, in the same
 * order; none returns successfully before all have entered it. Sizes are in bytes. When a process
 * is lost, every blocking call of the others ends with WEFT_ERR_PEER_LOST.
 */
#ifndef WEFT_H
#define WEFT_H

#include <weft/host.h>
#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_self weft_self; /* a rank, as its kernel sees it (device.h) */

/* The half of a kernel that nvcc compiled; for the library alone. */
typedef struct weft_cuda_kernel {
    int (*function)(void **function); /* gives the kernel's CUfunction; returns a cudaError_t */
    size_t layout;                    /* how nvcc laid out a rank's state (rank/state.h) */
    int queues;                       /* 1: its ranks can drive queues (queue.h) */
} weft_cuda_kernel;

/* A kernel, defined by WEFT_KERNEL(name, ...) in a file that includes device.h. */
typedef struct weft_kernel {
    const char *name;
    void (*cpu)(weft_self *self, void *user);
    const weft_cuda_kernel *cuda; /* NULL when the program was built without nvcc */
    size_t user_bytes;            /* bytes of user data that the kernel expects */
    size_t shared_bytes;          /* bytes of weft_shared that each rank should have */
    size_t shared_least;          /* bytes of weft_shared that each rank must have */
    int collectives;              /* 1: its ranks get memory for the collectives of coll.h */
} weft_kernel;

/* Announces a kernel that another file defines. */
#define WEFT_KERNEL_DECLARE(name) extern const weft_kernel name

typedef struct weft_numbers {
    int ranks;      /* ranks of the whole job; 0 before weft_prepare */
    int ranks_here; /* ranks of this process's device */
    int first_rank; /* world rank of this device's first rank */
    int threads;    /* threads in each rank (on the CPU device 1, or up to WEFT_CPU_THREADS) */
    int processes, process; /* processes of the job; number of this one */
    int devices, device;    /* distinct devices of the job; number of this process's */
    int nodes, node;        /* distinct hosts of the job; number of this process's */
    /* Processes of the job on this host, devices that they drive, and the numbers of this one's. */
    int node_processes, node_process;
    int node_devices, node_device;
} weft_numbers;

/*
 * Opens the job. Collective, blocking. Configuration comes from WEFT_* variables and from options
 * --weft-NAME=VALUE (or --weft-NAME VALUE), which are removed from *argc and argv; argc and argv
 * may be NULL. A process started by weftrun finds the others by itself. One started by hand needs
 * WEFT_PROCESS, WEFT_PROCESSES, WEFT_ROOT and, against strangers, WEFT_SECRET. With none of them
 * the program is a job of one process. A process may open several jobs, also while others are open;
 * all processes do so in the same order. Errors: ARGUMENT, CONFIG, SYSTEM, MEMORY, DEVICE,
 * UNSUPPORTED, NETWORK, PEER_LOST, PROTOCOL, TIMEOUT; *job is then NULL. The job is freed by
 * weft_close.
 *
 * The call sets CUDA_MODULE_LOADING, CUDA_DEVICE_MAX_CONNECTIONS and FI_UNIVERSE_SIZE in the
 * environment if they are not set: no other thread may use it (getenv) meanwhile. A child that the
 * program forks while a job is open must exec or end soon. Until then it holds the job's
 * connections, and nobody learns that its parent was killed. The child's own calls on the job are
 * refused (STATE).
 */
WEFT_API weft_status weft_open(weft_job **job, int *argc, char **argv);

/*
 * Which threads of the program may make calls.
 * - SINGLE: the thread that opened the job. A call of another thread is an error, and is refused
 *   (STATE) where that is cheap to tell.
 * - MULTIPLE: any thread may make the calls weft_host_*, weft_expose, weft_unexpose and
 *   weft_exposed, several at once. A thread that waits in one does not block other threads' calls.
 *   One thread of a process at a time makes collective calls, and calls that are not made while a
 *   kernel runs. What several threads send has no order among them.
 */
typedef enum weft_thread_level { WEFT_THREAD_SINGLE, WEFT_THREAD_MULTIPLE } weft_thread_level;

/* Opens the job for a choice of threads. weft_open is SINGLE, and has no lock on any call. */
WEFT_API weft_status weft_open_threads(weft_job **job, int *argc, char **argv,
                                       weft_thread_level level);

/*
 * Closes the job and frees all that it holds. Collective unless the job has failed. A kernel that
 * weft_finish has not ended makes the job fail (STATE), and is ended. Returns the first error that
 * the job met or a call of this process returned, so that a program can return it. NULL from
 * weft_malloc is such an error. WEFT_ERR_SYSTEM also means that standard output refused what ranks
 * logged (a full disk; not a reader that has left). If job is NULL, because weft_open has failed
 * and said why, it returns ARGUMENT and prints nothing.
 */
WEFT_API weft_status weft_close(weft_job *job);

/*
 * Gives one line of text: the job's error if it has failed, otherwise the calling thread's last
 * error in any job; "" if none. job may be NULL (weft_open has failed). Valid until the thread's
 * next error, or weft_close. Any thread.
 */
WEFT_API const char *weft_error(const weft_job *job);

/*
 * Ends the job in error on every process. Running kernels stop at their next call, and weft_run
 * returns WEFT_ERR_USER everywhere. That takes a moment: the next call may still succeed, here and
 * elsewhere. Any thread; does not block; reason is copied.
 */
WEFT_API void weft_abort(weft_job *job, const char *reason);

/*
 * Chooses the kernel to run next, the same on all processes. Collective, blocking. threads: of each
 * rank; on the CPU device at most WEFT_CPU_THREADS, by default 1. max_ranks: the most ranks on this
 * device; 0: as many as a GPU holds, or 16 on the CPU device; may differ between processes. On
 * return weft_numbers_of tells the ranks. Errors: ARGUMENT, MISMATCH (of kernels), LIMIT, MEMORY,
 * DEVICE, PEER_LOST.
 */
WEFT_API weft_status weft_prepare(weft_job *job, const weft_kernel *kernel, int threads,
                                  int max_ranks);

/*
 * Limits the part of its kernel's WEFT_SHARED_BYTES that a rank gets, from the next weft_prepare
 * on. A rank always gets WEFT_SHARED_LEAST; that is all of it unless the kernel defines it. Use it
 * for a problem that needs no more: on a GPU the rest of the on-chip memory is cache, or room for
 * more ranks. At first SIZE_MAX: all of it. Local, does not block; job may be NULL (nothing
 * happens).
 */
WEFT_API void weft_limit_shared(weft_job *job, size_t bytes);

/*
 * Takes `count` tags in a row, *first and those after it, that no other part of the program has
 * taken. It is for a library that does not know which tags others use. It takes the highest free
 * tags, since programs number theirs from 0 on. Local, does not block: processes that make the same
 * calls in the same order get the same tags. One thread at a time. Errors: ARGUMENT, LIMIT (not so
 * many in a row are left).
 */
WEFT_API weft_status weft_tags_take(weft_job *job, int count, int *first);
/*
 * Gives back tags of weft_tags_take, all or some. All processes do so, when no notification with
 * them is under way or waited for. Errors: ARGUMENT (they were not taken).
 */
WEFT_API weft_status weft_tags_give(weft_job *job, int first, int count);

/*
 * Gives the first process that the job lost (PEER_LOST); -1: none, or no job. Any thread; does not
 * block.
 */
WEFT_API int weft_lost(const weft_job *job);

/* Gives the numbers of the job, valid until weft_close; NULL if job is NULL. Any thread. */
WEFT_API const weft_numbers *weft_numbers_of(const weft_job *job);

/*
 * Give the world rank of a process's first rank, and its number of ranks; -1 for a bad process, or
 * if job is NULL.
 */
WEFT_API int weft_first_rank_of(const weft_job *job, int process);
WEFT_API int weft_ranks_of(const weft_job *job, int process);

/*
 * Give the kind of device that a process drives, and its number among the job's devices; for a bad
 * process, or if job is NULL, NONE and -1. One job may have processes on GPUs and on CPUs. Known
 * when weft_open returns, the same on all processes. Any thread; does not block.
 */
WEFT_API weft_kind weft_process_kind(const weft_job *job, int process);
WEFT_API int weft_device_of(const weft_job *job, int process);

/*
 * Runs the prepared kernel once on all its ranks. Collective, blocking. user: user_bytes bytes,
 * which the ranks of this device share. They are copied to the device before, and copied back
 * after. user may be NULL if user_bytes is 0; the kernel then gets NULL. *milliseconds (may be
 * NULL) is the kernel's time on this device. Windows and communicators that the kernel leaves
 * behind are freed. Notifications that it leaves are dropped, and said in one line a process.
 *
 * Errors: those of any rank of any process, the same status on all. After an error ranks end at
 * their next call. A rank that computes on without a call keeps weft_run from returning. A failed
 * job cannot end while the network's library does not return from a call: after 5 s the process
 * says so and ends (flushed, exit status 1). That holds for all calls.
 */
WEFT_API weft_status weft_run(weft_job *job, void *user, size_t user_bytes, double *milliseconds);

/*
 * Run the kernel in two parts. Between them the kernel runs in a task of its own, and the host
 * program goes on. All calls are then legal except those "not while a kernel runs". Both are
 * collective and blocking; some processes may call weft_run instead. weft_start returns when all
 * processes are ready and this one's kernel is on its way. weft_finish returns when the kernel has
 * ended everywhere. user belongs to the job until then. Every weft_start that returned WEFT_OK
 * needs its weft_finish, also when the job has failed since. Errors: those of weft_run; STATE: no
 * kernel was started.
 */
WEFT_API weft_status weft_start(weft_job *job, void *user, size_t user_bytes);
WEFT_API weft_status weft_finish(weft_job *job, double *milliseconds);

/*
 * Returns 1 while ranks of this device run, else 0. Any thread; does not block. job may be NULL
 * (0).
 */
WEFT_API int weft_running(const weft_job *job);

/*
 * Gives the intervals that weft_timer_stop appended during the last weft_run on this device, in
 * milliseconds. *list belongs to the job and is valid until the next weft_run or weft_close.
 */
WEFT_API weft_status weft_intervals(const weft_job *job, const double **list, size_t *count);

/* ---- memory ------------------------------------------------------------------------------- */

/*
 * Allocates device memory, zeroed, aligned to 256 bytes. Ranks of other processes reach it without
 * the host where the machine allows. Returns NULL if none is left; weft_error has the reason. Not
 * collective. Not while a kernel runs.
 */
WEFT_API void *weft_malloc(weft_job *job, size_t bytes);
/*
 * Frees memory of weft_malloc; NULL is ignored. Memory in which a window lies stays, and weft_error
 * says so.
 */
WEFT_API void weft_free(weft_job *job, void *memory);

/*
 * Makes the program's own memory usable in windows; other processes reach it through the host. A
 * GPU takes what it has access to, for example from cudaMalloc on it or cudaMallocHost. Refused
 * with ARGUMENT: on a GPU memory unknown to CUDA, on the CPU device memory that is not mapped. Not
 * collective. Not while a kernel runs. A window over memory that is neither allocated nor
 * registered registers it when it is created. Memory in which a window lies cannot be unregistered
 * (STATE).
 */
WEFT_API weft_status weft_register(weft_job *job, void *base, size_t bytes);
WEFT_API weft_status weft_unregister(weft_job *job, void *base);

/* Copies between host and device memory, in any direction. Blocking. Not while a kernel runs. */
WEFT_API weft_status weft_copy(weft_job *job, void *target, const void *source, size_t bytes);

/* ---- processes as threads ------------------------------------------------------------------ */

/*
 * Runs program(argument) `processes` times at once inside this process, each as one process of a
 * job, which its weft_open joins. For tests and debuggers: ThreadSanitizer sees all of it. With
 * WEFT_CPU_SCHEDULE=random:SEED one thread runs everything in a repeatable order. The processes
 * share static data, and in random mode thread-local data, too. Keep what belongs to one process on
 * program's stack, or in memory that it allocates. Only on the CPU device. Blocking. Returns the
 * first non-zero result of program, else 0. If it cannot start them, it returns a weft_status:
 * ARGUMENT, CONFIG, MEMORY, SYSTEM. A process that returns without weft_close is named; its threads
 * go on.
 */
WEFT_API int weft_local_job(int processes, int (*program)(void *argument), void *argument);

#ifdef __cplusplus
}
#endif
#endif
