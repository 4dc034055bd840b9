/*
 * mpi/library.c - the MPI of this process: one, from the first job that wants it until exit. A
 * thread of its own starts and ends MPI; the process owns the one MPI.
 *
 * An MPI can be initialised once. So it stays when a job is closed, and MPI_Finalize, which waits
 * for all processes, comes at exit: unless the program itself initialised MPI, or communication was
 * left unfinished by a job that failed. Then the launcher sees a process end without it, and ends
 * those that are left.
 */
#include "mpi/library.h"

#include "base/fork.h"
#include "base/launcher.h"
#include "base/say.h"
#include "base/task.h"

#include <stdio.h>
#include <stdlib.h>

static struct weft_mpi_library here;
static bool started, abandoned;

bool weft_mpi_launched(int *size)
{
    const struct weft_launcher launcher = weft_launcher();

    *size = launcher.processes;
    return launcher.name != NULL || weft_mpi_in_use();
}

void weft_mpi_abandon(void)
{
    __atomic_store_n(&abandoned, true, __ATOMIC_RELAXED);
}

weft_status weft_mpi_failed(const struct weft_mpi_ops *ops, int error, const char *what)
{
    char text[256];

    ops->explain(error, text, sizeof(text));
    return weft_err(WEFT_ERR_NETWORK, "%s: %s: %s", ops->name, what, text);
}

weft_status weft_mpi_await(const struct weft_mpi_ops *ops, struct weft_mpi_handle *request,
                           double seconds, const char *what)
{
    const uint64_t deadline = weft_now_ns() + (uint64_t)(seconds * 1e9);
    bool done = false;
    size_t bytes;
    int from;

    for (;;) {
        const int error = ops->test(request, &done, &bytes, &from);
        if (error != 0)
            return weft_mpi_failed(ops, error, what);
        if (done)
            return WEFT_OK;
        if (weft_now_ns() > deadline) {
            weft_mpi_abandon();
            return weft_err(WEFT_ERR_TIMEOUT,
                            "%s: not all processes of the launch came to the same call within %g "
                            "s: %s",
                            ops->name, seconds, what);
        }
        weft_task_yield(true);
    }
}

weft_status weft_mpi_duplicate(const struct weft_mpi_ops *ops, const struct weft_mpi_handle *from,
                               struct weft_mpi_handle *comm, double seconds)
{
    struct weft_mpi_handle request;
    int error = ops->duplicate(from, comm, &request);

    if (error != 0)
        return weft_mpi_failed(ops, error, "MPI_Comm_idup");
    WEFT_TRY(weft_mpi_await(ops, &request, seconds, "MPI_Comm_idup"));
    error = ops->return_errors(comm);
    return error == 0 ? WEFT_OK : weft_mpi_failed(ops, error, "MPI_Comm_set_errhandler");
}

/* ---- the thread that starts and ends MPI ---------------------------------------------------- */

/*
 * MPI_Init_thread and MPI_Finalize wait for all processes of the launch, and nothing can end them.
 * So a thread of its own calls both (MPI wants one and the same), and others wait for it as long as
 * they like. In random mode there is none, and the caller waits itself.
 */
enum { STARTS, RUNS, ENDS, OVER };
static struct {
    const struct weft_mpi_ops *ops;
    enum weft_mpi_level wanted;
    int error;      /* what MPI_Init_thread returned */
    uint32_t stage; /* STARTS, RUNS, ENDS or OVER */
    struct weft_bell bell;
    struct weft_task task;
    bool is_thread, stuck; /* a thread calls MPI; nobody waits any more for MPI_Init_thread */
    uint32_t forks;        /* weft_forks when MPI was initialised */
    double patience_s;     /* seconds in MPI_Finalize before a warning; 0: none */
} life;

static void enter(uint32_t stage)
{
    __atomic_store_n(&life.stage, stage, __ATOMIC_RELEASE);
    weft_bell_ring(&life.bell);
}

/* Whether the stage was reached in time. seconds: 0 for ever. */
static bool await_stage(uint32_t stage, double seconds)
{
    const uint64_t deadline = seconds > 0 ? weft_now_ns() + (uint64_t)(seconds * 1e9) : UINT64_MAX;

    return weft_bell_await(&life.bell, &life.stage, stage, deadline);
}

static void live(void *unused)
{
    (void)unused;
    life.error = life.ops->init(life.wanted);
    enter(RUNS);
    await_stage(ENDS, 0);
    if (life.error == 0)
        life.ops->finalize();
    enter(OVER);
}

static weft_status start_thread(const struct weft_mpi_ops *ops, const struct weft_config *config)
{
    life.ops = ops;
    life.wanted = config->mpi_threads == WEFT_MPI_THREADS_MULTI ? WEFT_MPI_LEVEL_MULTIPLE
                                                                : WEFT_MPI_LEVEL_SERIALIZED;
    life.patience_s = config->stall_s;
    if (weft_model != NULL) {
        life.error = ops->init(life.wanted);
        return WEFT_OK;
    }
    WEFT_TRY(weft_task_start(&life.task, "weft mpi", live, NULL));
    life.is_thread = true;
    life.stuck = !await_stage(RUNS, config->connect_s);
    return life.stuck ? weft_err(WEFT_ERR_TIMEOUT,
                                 "%s: MPI_Init_thread has not returned within %g s: it waits for "
                                 "all processes of the launch, and one may have failed before it",
                                 ops->name, config->connect_s)
                      : WEFT_OK;
}

static void finalize(void)
{
    if (!life.is_thread) {
        life.ops->finalize();
        return;
    }
    enter(ENDS);
    if (!await_stage(OVER, life.patience_s))
        weft_say(WEFT_SAY_WARN,
                 "%s: process %d of %d has waited %g s in MPI_Finalize, which waits for all "
                 "processes of the launch",
                 life.ops->name, here.rank, here.size, life.patience_s);
    weft_task_join(&life.task);
}

static void finalize_at_exit(void)
{
    if (life.forks != weft_forks) /* a child: MPI is its parent's */
        return;
    if (abandoned)
        weft_say(WEFT_SAY_WARN,
                 "%s: communication was left unfinished, so MPI_Finalize is left out",
                 life.ops->name);
    else if (!life.ops->finalized())
        finalize();
}

/* ---- the start ------------------------------------------------------------------------------ */

static const char *const level_names[] = {"SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE"};

/* MPI runs, at whatever level: by the program, or now by weft. */
static weft_status initialise(const struct weft_mpi_ops *ops, const struct weft_config *config)
{
    if (life.stuck)
        return weft_err(WEFT_ERR_TIMEOUT, "%s: MPI_Init_thread still waits, since an earlier job",
                        ops->name);
    if (ops->finalized())
        return weft_err(WEFT_ERR_CONFIG, "%s: the program has finalized MPI already", ops->name);
    if (ops->initialized())
        return WEFT_OK;
    WEFT_TRY(start_thread(ops, config));
    if (life.error != 0)
        return weft_mpi_failed(ops, life.error, "MPI_Init_thread");
    life.forks = weft_forks;
    if (atexit(finalize_at_exit) != 0)
        return weft_err(WEFT_ERR_MEMORY, "%s: no memory to remember MPI_Finalize", ops->name);
    return WEFT_OK;
}

/* A communicator of weft's own: messages and collectives of the program's never meet its. */
static weft_status join_world(struct weft_mpi_library *library, const struct weft_config *config)
{
    const struct weft_mpi_ops *ops = library->ops;
    int error = ops->level(&library->level);

    if (error == 0)
        error = ops->world(&library->rank, &library->size);
    if (error != 0)
        return weft_mpi_failed(ops, error, "MPI_COMM_WORLD");
    if (library->level < WEFT_MPI_LEVEL_SERIALIZED)
        return weft_err(WEFT_ERR_CONFIG,
                        "%s gives MPI_THREAD_%s; weft calls it from threads of its own and needs "
                        "MPI_THREAD_MULTIPLE, or SERIALIZED if the program itself makes no MPI "
                        "calls while a job is open (MPI_Init_thread, before weft_open)",
                        ops->name, level_names[library->level]);
    const struct weft_launcher launcher = weft_launcher();
    if (launcher.processes > 0 && launcher.processes != library->size)
        return weft_err(WEFT_ERR_CONFIG,
                        "%s started %d processes, but %s sees %d: it is not the MPI of this "
                        "launcher (WEFT_MPI_LIBRARY)",
                        launcher.name, launcher.processes, ops->name, library->size);
    return weft_mpi_duplicate(ops, NULL, &library->comm, config->connect_s);
}

weft_status weft_mpi_start(const struct weft_mpi_library **library,
                           const struct weft_config *config)
{
    struct weft_mpi_library found = {0};
    char version[128];

    if (!started) {
        WEFT_TRY(weft_mpi_load(&found.ops, config));
        WEFT_TRY(initialise(found.ops, config));
        WEFT_TRY(join_world(&found, config));
        here = found;
        started = true;
        here.ops->describe(version, sizeof(version));
        weft_say(WEFT_SAY_INFO, "MPI: %s, MPI_THREAD_%s, process %d of %d", version,
                 level_names[here.level], here.rank, here.size);
    }
    if (__atomic_load_n(&abandoned, __ATOMIC_RELAXED))
        return weft_err(WEFT_ERR_NETWORK,
                        "%s: an earlier job left communication unfinished; MPI cannot be used any "
                        "more in this process",
                        here.ops->name);
    if (here.ops->finalized())
        return weft_err(WEFT_ERR_CONFIG, "%s: the program has finalized MPI already",
                        here.ops->name);
    *library = &here;
    return WEFT_OK;
}
