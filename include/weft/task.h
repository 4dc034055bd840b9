/*
 * weft/task.h - tasks: pieces of work that the ranks of a kernel take, on CPUs and GPUs, until all
 * are done. The file of the bodies includes it instead of weft/device.h; so does the host program.
 *
 *     #define TILES(X) X(relax) X(residual)              a list of bodies, in a header for both
 *     WEFT_TASK_IDS(TILES)                               relax_id, residual_id
 *
 *     WEFT_TASK(relax, struct relax_args, args) { ... }  a body: self, task and args are there
 *     WEFT_TASK_KERNEL(tiles, TILES, struct user)        a kernel whose ranks serve these tasks
 *
 * Host programs begin the kernel, create tasks, and finish. Then every task of the job is done,
 * also those that tasks have spawned. A place is a process with its device. A task belongs to the
 * place where it was created, whoever runs it. Ranks of a place take its tasks by priority. A place
 * without tasks takes half of another place's, over any network. What such a task writes is back
 * before its own place learns that it is done.
 */
#ifndef WEFT_TASK_H
#define WEFT_TASK_H

#include <weft/device.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WEFT_TASK_DATA = 8,       /* pieces of data of a task, at most */
    WEFT_TASK_ARGUMENTS = 96, /* bytes of a task's arguments, at most */
    WEFT_TASK_PRIORITIES = 4, /* priorities are 0 .. WEFT_TASK_PRIORITIES - 1 */
    WEFT_TASK_BODIES = 32,    /* bodies of a list, at most */
    WEFT_TASK_NAME = 32       /* bytes of a body's name with its zero, at most */
};

/* How a body uses data. SCRATCH: memory for the body alone, not initialised; win is not used. */
typedef enum weft_task_mode {
    WEFT_TASK_IN = 1,
    WEFT_TASK_OUT = 2,
    WEFT_TASK_INOUT = 3,
    WEFT_TASK_SCRATCH = 4
} weft_task_mode;

/*
 * A piece of data: `rows` rows of `bytes` bytes, `pitch` bytes apart (0: contiguous), in a window
 * of host programs (weft_host_win_create) at a place. A body that may write a piece may write all
 * of it.
 */
typedef struct weft_task_data_desc {
    weft_win win;
    int32_t place;
    uint64_t offset, bytes, pitch;
    uint32_t rows; /* number of rows; 0: one */
    uint32_t mode; /* a weft_task_mode */
} weft_task_data_desc;

/*
 * Where a task may run. A task for one kind of device is created at a place of that kind; elsewhere
 * it is refused.
 */
enum {
    WEFT_TASK_CPU_ONLY = 1, /* runs only where ranks are fibers of a CPU */
    WEFT_TASK_GPU_ONLY = 2, /* runs only where ranks are thread blocks of a GPU */
    WEFT_TASK_HOLD = 4,     /* never leaves its place */
    WEFT_TASK_FLAGS = 7     /* all flags of a task */
};

/* Describes a task. All zero except body: no arguments, no data, priority 0. */
typedef struct weft_task_desc {
    uint32_t body;     /* id of the body in the list */
    uint32_t flags;    /* any of WEFT_TASK_CPU_ONLY, GPU_ONLY, HOLD */
    uint32_t priority; /* 0 to 3; a task waits while there are tasks of a lower number */
    uint64_t count;    /* calls of the body, one for each index below count; 0: one */
    const void *arguments;
    uint32_t arguments_bytes, datas; /* bytes of the arguments; number of pieces in data */
    weft_task_data_desc data[WEFT_TASK_DATA];
} weft_task_desc;

/* A task that a host program has created, by value. All zero: none. */
typedef struct weft_task_id {
    uint32_t number, generation;
} weft_task_id;

/* What a task does. QUEUED: it has not ended; it waits, runs, or is at another place. */
typedef enum weft_task_status {
    WEFT_TASK_NONE,
    WEFT_TASK_QUEUED,
    WEFT_TASK_DONE,
    WEFT_TASK_CANCELLED
} weft_task_status;

/* ---- the host program -------------------------------------------------------------------------
 * Calls are made as those of weft.h: by the thread that opened the job or, after weft_open_threads,
 * by others too, one at a time in collective calls and weft_tasks_run. They have the same general
 * errors (SYSTEM, PEER_LOST and so on).
 */

/* A kernel of WEFT_TASK_KERNEL. Another file announces it by WEFT_TASK_KERNEL_DECLARE(name). */
typedef struct weft_task_kernel {
    const weft_kernel *kernel;
    const char *const *names; /* names of the bodies, by id */
    uint32_t bodies;          /* number of bodies */
    uint32_t user_bytes;      /* bytes of the user data */
} weft_task_kernel;
#define WEFT_TASK_KERNEL_DECLARE(name) extern const weft_task_kernel name

/*
 * Prepares and starts the kernel (weft_prepare, weft_start). Tasks may be created from then on.
 * Collective, blocking. user: `user_bytes` of the kernel, copied to the device; weft_tasks_end
 * copies them back. Errors: those of these calls; STATE: tasks have begun already; MISMATCH: other
 * bodies; MEMORY (WEFT_TASK_SLOTS, WEFT_TASK_SCRATCH).
 */
WEFT_API weft_status weft_tasks_begin(weft_job *job, const weft_task_kernel *kernel, void *user,
                                      int threads, int max_ranks);

/*
 * Creates a task at this place. What the descriptor points to is copied. May wait for space. *task
 * (may be NULL) names the task until weft_task_wait or weft_task_test has told that it ended, or
 * until weft_tasks_finish. Errors: STATE (tasks have not begun); ARGUMENT (body, flags, priority,
 * mode, place, sizes); LIMIT: 4096 tasks whose end was not asked for. Data outside of their window
 * end the job when the task begins (BOUNDS).
 */
WEFT_API weft_status weft_task_create(weft_job *job, const weft_task_desc *desc,
                                      weft_task_id *task);
/* Creates a task with priority 0, and waits for its end. */
WEFT_API weft_status weft_task_run(weft_job *job, const weft_task_desc *desc);
/*
 * Blocks until the task has ended. *status (may be NULL) is DONE or CANCELLED; if meanwhile another
 * thread's weft_tasks_finish returned, which ends names, it may be DONE for both. Errors: ARGUMENT.
 */
WEFT_API weft_status weft_task_wait(weft_job *job, weft_task_id task, weft_task_status *status);
/* Tests as weft_task_wait, without blocking: *status may also be QUEUED. */
WEFT_API weft_status weft_task_test(weft_job *job, weft_task_id task, weft_task_status *status);
/*
 * Cancels a task: no further call of its body begins at its place. Calls that run go on, unless
 * they look (weft_task_cancelled). So does what another place has taken. Does not block; the task
 * still ends as any other. Errors: ARGUMENT.
 */
WEFT_API weft_status weft_task_cancel(weft_job *job, weft_task_id task);

/* ---- recorded tasks ---------------------------------------------------------------------------
 * A program records tasks once. The ranks of its place then run all of them, epoch after epoch,
 * without the host program. A task waits for each task recorded before it, and each in the epoch
 * before, whose data overlap its own, if either writes. Pieces of different windows do not overlap.
 * In a recording of one place a task's data are where its ranks load and store them: at that place
 * or, on the CPU device, in processes of the same node. In one of all places they are anywhere.
 */
typedef struct weft_recording weft_recording;

/*
 * Begins a recording of this place. weft_tasks_end frees it. Errors: STATE (tasks have not begun),
 * MEMORY.
 */
WEFT_API weft_status weft_tasks_record(weft_job *job, weft_recording **recording);
/*
 * Records a task. What desc points to is copied. Its priority is not used: tasks begin in the order
 * of recording. The calls of a task with a count are not ordered among themselves. Arguments are
 * the same memory in each epoch. Errors name the task's number: STATE (the recording is ready),
 * ARGUMENT, RANK, WINDOW, BOUNDS, UNSUPPORTED (data that its ranks do not reach), LIMIT, MEMORY.
 */
WEFT_API weft_status weft_tasks_add(weft_recording *recording, const weft_task_desc *desc);
/*
 * Begins a recording of all places. Each place records all tasks, in the same order, and then makes
 * weft_tasks_ready and weft_tasks_run, which are collective. All places begin such recordings, and
 * free them, in the same order of calls. Each task runs at one place, its home.
 * weft copies between places what a task reads that another place has or has written. A task writes
 * all bytes of what it has as WEFT_TASK_OUT, and does not write its arguments. Does not block.
 * Errors: as weft_tasks_record.
 */
WEFT_API weft_status weft_tasks_record_all(weft_job *job, weft_recording **recording);
/*
 * Records a task as weft_tasks_add, which takes as home the place of the first data that are
 * written. home: a place, or -1: weft chooses it, by the speed that it measures, or guesses if any
 * place has WEFT_STEAL=off. Tasks of near spots come to one place. Errors also: ARGUMENT (home is
 * no place, or flags forbid it).
 */
WEFT_API weft_status weft_tasks_add_at(weft_recording *recording, const weft_task_desc *desc,
                                       int home, uint64_t spot);
/*
 * Finds the dependences, and gives the recording to the device. Blocking. For one of all places the
 * kernel pauses: the call waits until all tasks of all places are done, as weft_tasks_finish, ends
 * the kernel (weft_finish), makes memory for words and copies, and starts it again. Notifications
 * to ranks, what they measured (weft_intervals) and windows that they made end with it; tasks that
 * other threads create meanwhile run before or after. Runs that try other homes pause the kernel,
 * too; homes stay as they are if there is no memory or no window (WEFT_WINDOWS) for others. Errors:
 * STATE, MEMORY, WINDOW (one was freed); of a recording of all places also ARGUMENT (flags keep a
 * task from all places), MISMATCH, with the first task that is not the same at all places, and
 * those of weft_host_win_create.
 */
WEFT_API weft_status weft_tasks_ready(weft_recording *recording);
/*
 * Runs a recording: blocks until all its tasks have run `epochs` times, of one of all places at all
 * of them. What they wrote is then in its window, visible to host programs and ranks. They have
 * seen what those had put and flushed before the call. It may run again. It does not wait for tasks
 * that bodies spawn (weft_tasks_finish does). One recording runs at a time. Errors: STATE (not
 * ready), WINDOW (one was freed); PEER_LOST, then what was recorded is of no use any more. All
 * places give the same number of epochs; else they wait for each other for ever.
 */
WEFT_API weft_status weft_tasks_run(weft_recording *recording, uint64_t epochs);
/*
 * Frees a recording; *recording is not used any more. Does not block. What a GPU has of it, and
 * what others map, is free for others when the kernel pauses (weft_tasks_ready) or ends.
 */
WEFT_API weft_status weft_tasks_free(weft_recording **recording);

typedef struct weft_recording_numbers {
    uint64_t tasks, edges; /* tasks recorded; dependences, also of a task on its last epoch */
    uint64_t steps;  /* steps of an epoch: each is a task, or some calls of one with a count */
    uint64_t epochs; /* epochs that have run */
    uint64_t waited; /* steps that had to wait, of all recordings of this place */
    uint64_t copies; /* copies that this place makes for others in an epoch */
    uint64_t copied; /* bytes of an epoch's copies */
    uint64_t plans;  /* how often homes have been chosen */
} weft_recording_numbers;
/* Errors: ARGUMENT. */
WEFT_API weft_status weft_tasks_recorded(weft_recording *recording,
                                         weft_recording_numbers *numbers);

/*
 * Waits until all tasks of all places are done, and what they wrote is visible. Tasks that other
 * threads create meanwhile are not waited for: the next call does. Collective, blocking.
 */
WEFT_API weft_status weft_tasks_finish(weft_job *job);
/*
 * Finishes as weft_tasks_finish, then ends the kernel. Every weft_tasks_begin that returned WEFT_OK
 * needs its end, also when the job has failed. Collective.
 */
WEFT_API weft_status weft_tasks_end(weft_job *job);

/* What a place has done between weft_tasks_begin and weft_tasks_end. */
typedef struct weft_task_numbers {
    uint64_t executed; /* calls of bodies by this place's ranks */
    uint64_t taken;    /* tasks that this place took from others */
    uint64_t given;    /* tasks that others took from this place */
    uint64_t bytes;    /* bytes moved for tasks that this place took, both ways */
} weft_task_numbers;
/* Gives the numbers of this place, after weft_tasks_end. Errors: STATE. */
WEFT_API weft_status weft_tasks_numbers(weft_job *job, weft_task_numbers *numbers);

/* ---- bodies -----------------------------------------------------------------------------------
 * All threads of a rank call a body. It may make all calls of device.h as in any kernel, but does
 * not wait for another task: recorded tasks do that before they begin.
 */
typedef struct weft_task_self weft_task_self;

/*
 * Returns the address of the i-th piece of data for this rank; NULL: there is none. Its rows are
 * weft_task_pitch bytes apart. A piece outside its window ends the job before the call (BOUNDS).
 */
WEFT_FN void *weft_task_data(const weft_task_self *task, int i);
WEFT_FN uint64_t weft_task_pitch(const weft_task_self *task, int i);
/* Names that piece for tasks on parts of it: window, place and offset, wherever the task runs.
 * NULL: there is none, or the task is recorded. It holds until the body returns. */
WEFT_FN const weft_task_data_desc *weft_task_piece(const weft_task_self *task, int i);
WEFT_FN uint64_t weft_task_index(const weft_task_self *task); /* which call this is, of `count` */
WEFT_FN void *weft_task_user(const weft_task_self *task);     /* the place's user data */
/* Returns the place that created the task. Its data may be another's (weft_task_piece), as what a
 * body spawns belongs to the place where the body runs. */
WEFT_FN int weft_task_place(const weft_task_self *task);

/*
 * Creates a task of this rank's place. Returns 1; or 0 if there is no room (WEFT_TASK_SLOTS), and
 * the body does the work itself. desc: the same for all threads. All threads. A bad one ends the
 * job (ARGUMENT).
 *
 * A body may spawn tasks on parts of its own data that it leaves alone from then on. The new task
 * may begin at once, and sees what the body has written before. If other threads wrote it,
 * weft_sync comes between. If the body's rank does not reach the data and writes to copies, the new
 * task begins when the body has ended and all of its data are back.
 */
WEFT_FN int weft_task_spawn(weft_self *self, weft_task_self *task, const weft_task_desc *desc);
/*
 * Returns whether the task's cancellation was asked for. May read a word from its place. All
 * threads.
 */
WEFT_FN int weft_task_cancelled(weft_self *self, weft_task_self *task);

/* WEFT_TASK_KERNEL alone uses what follows. */
struct weft_tasks_begun {
    void *place, *unused; /* place: a weft_task_place of task/place.h, in device memory */
};
typedef void weft_task_bodies(weft_self *self, weft_task_self *task, uint32_t body,
                              void *arguments);
WEFT_FN void weft_tasks_serve(weft_self *self, struct weft_tasks_begun *begun, void *user,
                              weft_task_bodies *bodies);

#ifdef __cplusplus
}
#endif

#define WEFT_TASK_ID(name)  name##_id,
#define WEFT_TASK_IDS(LIST) enum { LIST(WEFT_TASK_ID) };

#ifdef __CUDACC__
#define WEFT_TASK_FN static __device__ __noinline__ /* its registers are its own */
#else
#define WEFT_TASK_FN static
#endif
#define WEFT_TASK_MAYBE __attribute__((unused)) /* a body need not use all that it is given */
#define WEFT_TASK(name, type, args)                                                                \
    WEFT_TASK_FN void name##_body(weft_self *self, weft_task_self *task, type *args);              \
    WEFT_TASK_FN void name##_task(weft_self *self, weft_task_self *task, void *args)               \
    {                                                                                              \
        name##_body(self, task, (type *)args);                                                     \
    }                                                                                              \
    WEFT_TASK_FN void name##_body(weft_self *self WEFT_TASK_MAYBE,                                 \
                                  weft_task_self *task WEFT_TASK_MAYBE,                            \
                                  type *args WEFT_TASK_MAYBE)

#define WEFT_TASK_NAMED(name) #name,
#define WEFT_TASK_CALL(name)                                                                       \
    if (body == at++)                                                                              \
        name##_task(self, task, arguments);
#ifdef __CUDACC__
#define WEFT_TASK_TABLE(kernel, LIST, user_type)
#else
#define WEFT_TASK_TABLE(name, LIST, user_type)                                                     \
    static const char *const name##_names[] = {LIST(WEFT_TASK_NAMED)};                             \
    WEFT_TASK_KERNEL_DECLARE(name);                                                                \
    const weft_task_kernel name = {&name##_kernel, name##_names,                                   \
                                   sizeof(name##_names) / sizeof(name##_names[0]),                 \
                                   sizeof(user_type)};
#endif
#define WEFT_TASK_KERNEL(name, LIST, user_type)                                                    \
    struct name##_data {                                                                           \
        struct weft_tasks_begun begun;                                                             \
        user_type user;                                                                            \
    };                                                                                             \
    WEFT_DEVICE_FN void name##_call(weft_self *self, weft_task_self *task, uint32_t body,          \
                                    void *arguments)                                               \
    {                                                                                              \
        uint32_t at = 0;                                                                           \
        (void)self;                                                                                \
        LIST(WEFT_TASK_CALL)                                                                       \
    }                                                                                              \
    WEFT_KERNEL(name##_kernel, struct name##_data, data)                                           \
    {                                                                                              \
        weft_tasks_serve(self, &data->begun, &data->user, name##_call);                            \
    }                                                                                              \
    WEFT_TASK_TABLE(name, LIST, user_type)

#ifdef __CUDACC__
#ifdef WEFT_LINES
#undef WEFT_AT
#define WEFT_AT(self) self
#endif
#include "task/api.h"
#ifdef WEFT_LINES
#define WEFT_LINES_OF_TASK
#include <weft/lines.h>
#endif
#endif
#endif
