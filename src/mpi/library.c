/*
 * mpi/library.c - the MPI of this process: one, from the first job that wants it until exit.
 *
 * An MPI can be initialised once. So it stays when a job is closed, and MPI_Finalize, which waits
 * for all processes, comes at exit: unless the program itself initialised MPI, or communication was
 * left unfinished by a job that failed. Then the launcher sees a process end without it, and ends
 * those that are left.
 */
#include "mpi/library.h"

#include "base/launcher.h"
#include "base/say.h"
#include "base/task.h"
#include "mpi/load.h"

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

    for (;;) {
        const int error = ops->test(request, &done, &bytes);
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

/* ---- the end -------------------------------------------------------------------------------- */

static struct {
    struct weft_bell bell;
    uint32_t over;
    double patience_s; /* 0: for ever */
} finalizing;

/* MPI_Finalize waits for all processes, and nothing can end it: so at least it is said. */
static void watch_finalize(void *unused)
{
    const uint64_t deadline = weft_now_ns() + (uint64_t)(finalizing.patience_s * 1e9);

    (void)unused;
    while (__atomic_load_n(&finalizing.over, __ATOMIC_ACQUIRE) == 0) {
        const uint64_t now = weft_now_ns();
        if (now >= deadline) {
            weft_say(WEFT_SAY_WARN,
                     "%s: process %d of %d has waited %g s in MPI_Finalize, which waits for all "
                     "processes of the launch",
                     here.ops->name, here.rank, here.size, finalizing.patience_s);
            return;
        }
        const uint32_t ticket = weft_bell_prepare(&finalizing.bell);
        if (__atomic_load_n(&finalizing.over, __ATOMIC_ACQUIRE) == 0)
            weft_bell_sleep(&finalizing.bell, ticket, deadline - now);
        else
            weft_bell_cancel(&finalizing.bell);
    }
}

static void finalize_watched(void)
{
    struct weft_task watch;
    const bool watched = finalizing.patience_s > 0 &&
                         weft_task_start(&watch, "weft finalize", watch_finalize, NULL) == WEFT_OK;

    here.ops->finalize();
    __atomic_store_n(&finalizing.over, 1, __ATOMIC_RELEASE);
    weft_bell_ring(&finalizing.bell);
    if (watched)
        weft_task_join(&watch);
}

static void finalize_at_exit(void)
{
    if (abandoned)
        weft_say(WEFT_SAY_WARN,
                 "%s: communication was left unfinished, so MPI_Finalize is left out",
                 here.ops->name);
    else if (!here.ops->finalized())
        finalize_watched();
}

/* ---- the start ------------------------------------------------------------------------------ */

static const char *level_name(enum weft_mpi_level level)
{
    static const char *const names[] = {"SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE"};
    return names[level];
}

/* MPI runs, at whatever level: by the program, or now by weft. */
static weft_status initialise(const struct weft_mpi_ops *ops, enum weft_mpi_level wanted)
{
    if (ops->finalized())
        return weft_err(WEFT_ERR_CONFIG, "%s: the program has finalized MPI already", ops->name);
    if (ops->initialized())
        return WEFT_OK;
    const int error = ops->init(wanted);
    if (error != 0)
        return weft_mpi_failed(ops, error, "MPI_Init_thread");
    here.ops = ops;
    if (atexit(finalize_at_exit) != 0)
        return weft_err(WEFT_ERR_MEMORY, "%s: no memory to remember MPI_Finalize", ops->name);
    return WEFT_OK;
}

/* A communicator of weft's own: messages and collectives of the program's never meet its. */
static weft_status join_world(struct weft_mpi_library *library, const struct weft_config *config)
{
    const struct weft_mpi_ops *ops = library->ops;
    struct weft_mpi_handle request;
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
                        ops->name, level_name(library->level));
    const struct weft_launcher launcher = weft_launcher();
    if (launcher.processes > 0 && launcher.processes != library->size)
        return weft_err(WEFT_ERR_CONFIG,
                        "%s started %d processes, but %s sees %d: it is not the MPI of this "
                        "launcher (WEFT_MPI_LIBRARY)",
                        launcher.name, launcher.processes, ops->name, library->size);
    error = ops->duplicate(NULL, &library->comm, &request);
    if (error != 0)
        return weft_mpi_failed(ops, error, "MPI_Comm_idup of the world");
    weft_status status = weft_mpi_await(ops, &request, config->connect_s, "MPI_Comm_idup");
    if (status != WEFT_OK)
        return status;
    error = ops->return_errors(&library->comm);
    return error == 0 ? WEFT_OK : weft_mpi_failed(ops, error, "MPI_Comm_set_errhandler");
}

weft_status weft_mpi_start(const struct weft_mpi_library **library,
                           const struct weft_config *config)
{
    struct weft_mpi_library found = {0};
    char version[128];

    if (!started) {
        weft_status status = weft_mpi_load(&found.ops, config);
        if (status == WEFT_OK)
            status = initialise(found.ops, config->mpi_threads == WEFT_MPI_THREADS_MULTI
                                               ? WEFT_MPI_LEVEL_MULTIPLE
                                               : WEFT_MPI_LEVEL_SERIALIZED);
        if (status == WEFT_OK)
            status = join_world(&found, config);
        if (status != WEFT_OK)
            return status;
        here = found;
        started = true;
        finalizing.patience_s = config->stall_s;
        here.ops->describe(version, sizeof(version));
        weft_say(WEFT_SAY_INFO, "MPI: %s, MPI_THREAD_%s, process %d of %d", version,
                 level_name(here.level), here.rank, here.size);
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
