/*
 * weft/weft.h - the host API: open a job, prepare a kernel, run it; with host.h, use windows from
 * the host.
 *
 * Unless a prototype says otherwise, the thread that opened the job makes a call. It returns a
 * status and sets its outputs only on WEFT_OK. When it fails, it has printed one line with the
 * numbers on stderr. A job, or another handle, that is NULL is refused (ARGUMENT), or the call
 * answers as where there is none (NULL, -1, 0, NONE). "Collective" means that every process of the
 * job makes the call, in the same order, and that none returns successfully before all have entered
 * it. Sizes are in bytes. A process that is lost ends every blocking call of the others with
 * WEFT_ERR_PEER_LOST.
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
    int (*function)(void **function); /* gets its CUfunction; returns a cudaError_t */
    size_t self_bytes;                /* size of a rank's state, as that compiler saw it */
    int queues;                       /* whether its ranks can drive some (queue.h) */
} weft_cuda_kernel;

/* A kernel, defined by WEFT_KERNEL(name, ...) in a file that includes device.h. */
typedef struct weft_kernel {
    const char *name;
    void (*cpu)(weft_self *self, void *user);
    const weft_cuda_kernel *cuda; /* NULL when the program was built without nvcc */
    size_t user_bytes;            /* size of the user data that the kernel expects */
    size_t shared_bytes;          /* bytes of weft_shared that each rank should have */
    size_t shared_least;          /* bytes of weft_shared that each rank must have */
    int collectives;              /* whether its ranks get memory for those of coll.h */
} weft_kernel;

/* Announces a kernel that another file defines. */
#define WEFT_KERNEL_DECLARE(name) extern const weft_kernel name

typedef struct weft_numbers {
    int ranks;      /* ranks of the whole job; 0 before weft_prepare */
    int ranks_here; /* ranks of this process's device */
    int first_rank; /* world rank of the first of them */
    int threads;    /* threads in each rank (on the CPU device 1, or up to WEFT_CPU_THREADS) */
    int processes, process; /* how many, and which one this is */
    int devices, device;    /* distinct devices of the job, and the one this process drives */
    int nodes, node;        /* distinct hosts of the job, and this one */
    /* Of this node: the job's processes, distinct devices that they drive, and which these are. */
    int node_processes, node_process;
    int node_devices, node_device;
} weft_numbers;

/*
 * Opens the job. Collective, blocking. Configuration comes from WEFT_* variables and from options
 * --weft-NAME=VALUE (or --weft-NAME VALUE), which are removed from *argc and argv; argc and argv
 * may be NULL. A process started by weftrun finds the others by itself; one started by hand needs
 * WEFT_PROCESS, WEFT_PROCESSES, WEFT_ROOT and, against strangers, WEFT_SECRET. With none of them
 * the program is a job of one process. A process may open several jobs, also while others are open:
 * all processes do so in the same order. Errors: ARGUMENT, CONFIG, SYSTEM, MEMORY, DEVICE,
 * UNSUPPORTED, NETWORK, PEER_LOST, PROTOCOL, TIMEOUT; *job is NULL then. The job is freed by
 * weft_close.
 *
 * CUDA_MODULE_LOADING, CUDA_DEVICE_MAX_CONNECTIONS and FI_UNIVERSE_SIZE are set in the environment
 * if they are not: no other thread may use it (getenv) meanwhile. A child that the program forks
 * while a job is open must exec or end soon. Until then it holds the job's connections, and nobody
 * learns that its parent was killed. What it calls of the job itself is refused (STATE).
 */
WEFT_API weft_status weft_open(weft_job **job, int *argc, char **argv);

/*
 * Which threads of the program may make calls. SINGLE: the one that opens the job; a call of
 * another is refused (STATE) where that is cheap to tell, and is an error always. MULTIPLE: any
 * thread may make the calls weft_host_*, weft_expose, weft_unexpose and weft_exposed, several at
 * once: a thread that waits in one keeps no other from its own. Collective calls, and those that
 * are not made while a kernel runs, are still made by one thread of a process at a time. What
 * several threads send has no order among them.
 */
typedef enum weft_thread_level { WEFT_THREAD_SINGLE, WEFT_THREAD_MULTIPLE } weft_thread_level;

/* weft_open, which is SINGLE and has no lock on any call, for a choice of threads. */
WEFT_API weft_status weft_open_threads(weft_job **job, int *argc, char **argv,
                                       weft_thread_level level);

/*
 * Closes the job and frees all that it holds. Collective unless the job has failed. A kernel that
 * weft_finish has not ended makes the job fail (STATE), and is ended. Returns the
 * first error that the job met, or that a call of this process returned (weft_malloc's NULL is
 * one), so that a program can return it; WEFT_ERR_SYSTEM also where standard output refused what
 * ranks logged (a full disk; not a reader that has left). Where job is NULL, since weft_open has
 * failed and said why, it returns ARGUMENT and says nothing.
 */
WEFT_API weft_status weft_close(weft_job *job);

/*
 * One line: the job's error if it has failed; else, or when job is NULL (weft_open has failed), the
 * calling thread's last error in any job; "" if none. Valid until the thread's next error, or
 * weft_close. Any thread.
 */
WEFT_API const char *weft_error(const weft_job *job);

/*
 * Ends the job in error on every process: running kernels stop at their next call, and weft_run
 * returns WEFT_ERR_USER everywhere. That takes a moment: the next call may still succeed, here and
 * elsewhere. Any thread; does not block; reason is copied.
 */
WEFT_API void weft_abort(weft_job *job, const char *reason);

/*
 * Chooses the kernel to run next, the same on all processes, with `threads` threads a rank (on
 * the CPU device at most WEFT_CPU_THREADS, by default 1) and at most max_ranks ranks on this device
 * (0: as many as a GPU holds, 16 on the CPU device; may differ between processes). Collective,
 * blocking. On return weft_numbers_of tells the ranks. Errors: ARGUMENT, MISMATCH (of kernels),
 * LIMIT, MEMORY, DEVICE, PEER_LOST.
 */
WEFT_API weft_status weft_prepare(weft_job *job, const weft_kernel *kernel, int threads,
                                  int max_ranks);

/*
 * From the next weft_prepare on, a rank gets at most so many bytes of its kernel's
 * WEFT_SHARED_BYTES. It always gets WEFT_SHARED_LEAST, which is all of it unless the kernel defines
 * it. For a problem that has no use for more: on a GPU the rest of the on-chip memory is cache, or
 * room for more ranks. At first SIZE_MAX: all of it. Local, does not block; job may be NULL
 * (nothing happens).
 */
WEFT_API void weft_limit_shared(weft_job *job, size_t bytes);

/*
 * Takes `count` tags in a row, *first and those after it, that no other part of the program has
 * taken. It is for a library that does not know which tags others use. They are the highest free
 * ones, so that tags that a program numbers from 0 on are met last. Local, does not block:
 * processes that make the same calls in the same order get the same tags. One thread at a time.
 * Errors: ARGUMENT, LIMIT (not so many in a row are left).
 */
WEFT_API weft_status weft_tags_take(weft_job *job, int count, int *first);
/*
 * Gives back tags of weft_tags_take, all or some: on all processes, when no notification of them is
 * under way or waited for. Errors: ARGUMENT (they were not taken).
 */
WEFT_API weft_status weft_tags_give(weft_job *job, int first, int count);

/* The first process that the job lost (PEER_LOST); -1: none, or no job. Any thread; does not block.
 */
WEFT_API int weft_lost(const weft_job *job);

/* The numbers of the job; valid until weft_close. NULL where job is NULL. Any thread. */
WEFT_API const weft_numbers *weft_numbers_of(const weft_job *job);

/* World rank of the first rank of a process, and its number of ranks; -1 for a bad process, or
 * where job is NULL. */
WEFT_API int weft_first_rank_of(const weft_job *job, int process);
WEFT_API int weft_ranks_of(const weft_job *job, int process);

/*
 * What a process drives, and its number among the job's devices; NONE, -1 as above. One
 * job may have processes on GPUs and on CPUs. Known when weft_open returns, the same on all
 * processes. Any thread; does not block.
 */
WEFT_API weft_kind weft_process_kind(const weft_job *job, int process);
WEFT_API int weft_device_of(const weft_job *job, int process);

/*
 * Runs the prepared kernel once on all its ranks. Collective, blocking. user_bytes bytes at user
 * are copied to the device before, shared by its ranks, and copied back after; user may be NULL
 * if user_bytes is 0, and the kernel's is then NULL, too. *milliseconds (may be NULL) is the
 * kernel's time on this device. Windows and communicators that the kernel leaves behind are freed;
 * notifications that it leaves are dropped (WEFT_LOG=info lists them on the CPU device). Errors:
 * those of any rank of any process, the same status on all of them. After an error ranks end at
 * their next call; one that computes on without calling weft keeps weft_run from returning. Nor can
 * the job be ended while the network's library does not return from a call: after 5 s of that the
 * process says so and ends (flushed, exit status 1), here as in any other call.
 */
WEFT_API weft_status weft_run(weft_job *job, void *user, size_t user_bytes, double *milliseconds);

/*
 * weft_run in two parts: between them the kernel runs, on this device's ranks, in a task of its
 * own, and the host program goes on. Both collective and blocking; all processes call weft_run, or
 * all these two (or some of them the one, others the other). weft_start returns when all processes
 * are ready and this one's kernel is on its way; weft_finish when it has ended everywhere. user
 * stays the job's from the one to the other. Every weft_start that returned WEFT_OK has its
 * weft_finish, also when the job has failed since. Errors: those of weft_run; STATE: no kernel was
 * started.
 *
 * In between all calls are legal but those that say "not while a kernel runs".
 */
WEFT_API weft_status weft_start(weft_job *job, void *user, size_t user_bytes);
WEFT_API weft_status weft_finish(weft_job *job, double *milliseconds);

/* 1 while ranks of this device run, else 0. Any thread; does not block. job may be NULL (0). */
WEFT_API int weft_running(const weft_job *job);

/*
 * The intervals that weft_timer_stop appended during the last weft_run on this device, in
 * milliseconds. *list belongs to the job and is valid until the next weft_run or weft_close.
 */
WEFT_API weft_status weft_intervals(const weft_job *job, const double **list, size_t *count);

/* ---- memory ------------------------------------------------------------------------------- */

/*
 * Device memory, zeroed, aligned to 256 bytes, that the ranks of other processes reach without
 * the host where the machine allows. NULL when there is none left (the reason is in weft_error).
 * Not collective. Not while a kernel runs.
 */
WEFT_API void *weft_malloc(weft_job *job, size_t bytes);
/* NULL is ignored. Memory in which a window lies stays, and weft_error says so. */
WEFT_API void weft_free(weft_job *job, void *memory);

/*
 * Makes memory of the program's own usable in windows; on other processes it is reached through
 * the host. A GPU takes what it has access to, for example by cudaMalloc on it or cudaMallocHost;
 * memory unknown to CUDA is refused with ARGUMENT. The CPU device so refuses memory that is not
 * mapped. Not collective. Not while a kernel runs.
 * Windows over memory that is neither allocated nor registered register it themselves, at their
 * creation. Memory in which a window lies cannot be unregistered (STATE).
 */
WEFT_API weft_status weft_register(weft_job *job, void *base, size_t bytes);
WEFT_API weft_status weft_unregister(weft_job *job, void *base);

/* Copies between host and device memory, any direction, blocking. Not while a kernel runs. */
WEFT_API weft_status weft_copy(weft_job *job, void *target, const void *source, size_t bytes);

/* ---- processes as threads ------------------------------------------------------------------ */

/*
 * Runs program(argument) `processes` times at once inside this process, each call as one process of
 * a job: its weft_open joins that job. For tests and debuggers: ThreadSanitizer sees all of it, and
 * with WEFT_CPU_SCHEDULE=random:SEED one thread runs everything in a repeatable order. So the
 * processes share static data, and in random mode thread-local data, too. Keep what belongs to one
 * process on program's stack, or in memory that it allocates. Only on the CPU device. Blocking;
 * returns the first non-zero result of program, else 0; or, if it cannot start them, a weft_status:
 * ARGUMENT, CONFIG, MEMORY, SYSTEM. A process that returns without weft_close is named; its threads
 * go on.
 */
WEFT_API int weft_local_job(int processes, int (*program)(void *argument), void *argument);

#ifdef __cplusplus
}
#endif
#endif
