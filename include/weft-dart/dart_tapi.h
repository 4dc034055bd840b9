/*
 * dart_tapi.h - DART's TaskAPI: tasks that ranks of CPUs and GPUs run, over weft's (weft/task.h).
 * Included after dash/dart/if/dart.h, or alone; then it includes dart_2014.h. Only the name
 * dart_tapi_task_create was published; the other names are weft's own.
 *
 *     #define WORK(X) X(square)                    a list of bodies
 *     DART_TAPI_BODIES(WORK)                       square_id
 *     DART_TAPI_TASK(square, call) { ... }         call->in, call->out; self for weft_for
 *     DART_TAPI_KERNEL(work, WORK)                 for dart_tapi_begin
 *
 * The C compiler compiles the file for CPUs, nvcc for GPUs, as any kernel. All threads of a rank
 * call a body, which does not wait for another task.
 */
#ifndef DART_TAPI_H
#define DART_TAPI_H

#ifndef DART_GLOBMEM_H
#include <dart_2014.h>
#define DART_TAPI_2014(name) DART_2014(name)
#else
#define DART_TAPI_2014(name)
#endif
#include <weft/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a body gets. in, out: addresses for this rank; NULL if there are 0 bytes. */
typedef struct dart_tapi_call {
    const void *in;
    void *out;
    size_t in_bytes, out_bytes;
    uint64_t index, calls; /* which call of its task's this is, and of how many */
} dart_tapi_call;

enum { /* where a task may run; 0: anywhere. A unit makes none that its own device may not run. */
       DART_TAPI_CPU = WEFT_TASK_CPU_ONLY,
       DART_TAPI_GPU = WEFT_TASK_GPU_ONLY,
       DART_TAPI_STAY = WEFT_TASK_HOLD /* with the unit that has created it */
};
typedef struct dart_tapi_config {
    uint64_t calls; /* of the body, which ranks share out among themselves; 0: one */
    uint32_t where;
} dart_tapi_config_t;

/* A task, by value. All zero: none, or it has ended. */
typedef weft_task_id dart_tapi_task_t;

/*
 * Begin and end a time in which tasks may be created. end waits for all tasks. Collective over all
 * units. threads: of a rank on a GPU. In between no segments, locks or allocators are created or
 * freed.
 */
dart_ret_t dart_tapi_begin(const weft_task_kernel *kernel, int threads);
dart_ret_t dart_tapi_end(void);

/*
 * Creates a task of this unit, which runs where there is time. body: its id. in, out: memory of any
 * unit, from dart_memalloc or a segment; of adopted memory only that of DART_TEAM_ALL. What the
 * task writes is there when it has ended. config may be NULL. sync: the task runs before all
 * others, and the call waits for its end. task may be NULL. Errors also: NOMEM: too many tasks
 * whose end was not asked for.
 */
dart_ret_t dart_tapi_task_create(uint32_t body, dart_gptr_t in, size_t in_bytes, dart_gptr_t out,
                                 size_t out_bytes, const dart_tapi_config_t *config, int sync,
                                 dart_tapi_task_t *task) DART_TAPI_2014(tapi_task_create);
/*
 * Wait for a task, or test it. wait blocks; test sets *finished and does not block. Once the task
 * has ended, *task is zero. *cancelled, which may be NULL, is 1 if it ended by
 * dart_tapi_task_cancel.
 */
dart_ret_t dart_tapi_task_wait(dart_tapi_task_t *task, int32_t *cancelled);
dart_ret_t dart_tapi_task_test(dart_tapi_task_t *task, int32_t *finished, int32_t *cancelled);
/* Cancels a task: no further call of its body begins at its unit. It still has to be waited for. */
dart_ret_t dart_tapi_task_cancel(dart_tapi_task_t task);

#ifdef __cplusplus
}
#endif

/* Used by the macros alone. */
struct dart_tapi_arguments {
    uint64_t in_bytes, out_bytes, calls;
};

#define DART_TAPI_BODIES(LIST)       WEFT_TASK_IDS(LIST)
#define DART_TAPI_KERNEL(name, LIST) WEFT_TASK_KERNEL(name, LIST, struct dart_tapi_arguments)
#define DART_TAPI_TASK(name, call)                                                                 \
    WEFT_TASK_FN void name##_tapi(weft_self *self, const dart_tapi_call *call);                    \
    WEFT_TASK(name, struct dart_tapi_arguments, args)                                              \
    {                                                                                              \
        const int has_in = args->in_bytes != 0;                                                    \
        dart_tapi_call made;                                                                       \
        made.in = has_in ? weft_task_data(task, 0) : NULL;                                         \
        made.out = args->out_bytes != 0 ? weft_task_data(task, has_in) : NULL;                     \
        made.in_bytes = args->in_bytes;                                                            \
        made.out_bytes = args->out_bytes;                                                          \
        made.index = weft_task_index(task);                                                        \
        made.calls = args->calls;                                                                  \
        name##_tapi(self, &made);                                                                  \
    }                                                                                              \
    WEFT_TASK_FN void name##_tapi(weft_self *self WEFT_TASK_MAYBE,                                 \
                                  const dart_tapi_call *call WEFT_TASK_MAYBE)

#endif
