/* compat/mpi/win.c - windows: made, freed, and what programs ask of them. */
#include "win.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int weftmpi_win_in(const char *call, MPI_Win handle, struct weftmpi_win **win)
{
    TRY(weftmpi_is_open(call));
    *win = weftmpi_find(WEFTMPI_WIN, handle);
    return *win != NULL ? MPI_SUCCESS : weftmpi_no_object(NULL, call, WEFTMPI_WIN);
}

/* ---- made ------------------------------------------------------------------------------------ */

/* What members tell each other of their parts. */
struct part {
    int64_t bytes;
    uint64_t home, lock_words, at;
    uint32_t number;
    int32_t unit, exposer, error; /* exposer: the process whose exposure it is in */
};

static int check(const char *call, struct weftmpi_comm *comm, MPI_Aint bytes, int unit,
                 const void *base, bool given)
{
    if (comm->remote != NULL)
        return weftmpi_fail(comm, call, MPI_ERR_COMM, "%s is an intercommunicator", comm->name);
    if (bytes < 0)
        return weftmpi_fail(comm, call, MPI_ERR_SIZE, "%td bytes", (ptrdiff_t)bytes);
    if (unit < 1)
        return weftmpi_fail(comm, call, MPI_ERR_DISP, "displacement unit %d", unit);
    if (given && base == NULL && bytes > 0)
        return weftmpi_fail(comm, call, MPI_ERR_BASE, "%td bytes at NULL", (ptrdiff_t)bytes);
    if (weft_process_kind(weftmpi.job, weft_numbers_of(weftmpi.job)->process) == WEFT_KIND_CUDA)
        return weftmpi_fail(comm, call, MPI_ERR_UNSUPPORTED_OPERATION,
                            "one-sided communication of processes that drive a GPU is not "
                            "supported: WEFT_DEVICE=cpu (docs/mpi.md)");
    return MPI_SUCCESS;
}

/* A window without a part yet, and its communicator. */
static int open_win(const char *call, struct weftmpi_comm *parent, MPI_Info info, int flavor,
                    int unit, struct weftmpi_win **made)
{
    struct weftmpi_win *win = weftmpi_make(WEFTMPI_WIN, sizeof(*win));
    MPI_Comm comm;

    if (win == NULL ||
        (win->targets = calloc((size_t)parent->size, sizeof(*win->targets))) == NULL) {
        weftmpi_leave(win);
        return weftmpi_no_memory(parent, call);
    }
    win->flavor = flavor;
    win->model = MPI_WIN_UNIFIED;
    win->unit = unit;
    win->slot = -1;
    win->posted = -1;
    win->unnamed = true;
    snprintf(win->name, sizeof(win->name), "window");
    int error = weftmpi_info_set(call, &win->object, true, info);
    if (error == MPI_SUCCESS)
        error = weftmpi_agree_now(
            call, parent, (struct weftmpi_making){.group = weftmpi_hold(parent->group)}, &comm);
    if (error != MPI_SUCCESS) {
        weftmpi_leave(win);
        return error;
    }
    win->comm = weftmpi_find(WEFTMPI_COMM, comm);
    win->object.errhandler = &weftmpi_errhandlers[0];
    *made = win;
    return MPI_SUCCESS;
}

/* This process's memory is announced under a number; errors are said, and told by it. */
static int expose(struct weftmpi_win *win, const char *call, void *base, size_t bytes)
{
    if (bytes == 0)
        return MPI_SUCCESS;
    win->number = weftmpi_exposure_number();
    LOCKED; /* one thread at a time exposes memory */
    TRY(weftmpi_failed(win->comm, call, weft_expose(weftmpi.job, base, bytes, win->number)));
    win->exposed = true;
    return MPI_SUCCESS;
}

static int learn_target(struct weftmpi_win *win, const char *call, int rank,
                        const struct part *part)
{
    struct weftmpi_target *target = &win->targets[rank];

    *target = (struct weftmpi_target){.at = part->at,
                                      .bytes = part->bytes,
                                      .unit = part->unit,
                                      .home = part->home,
                                      .lock_words = part->lock_words};
    TRY(weftmpi_locks_of(call, win->comm, win->comm->group->processes[rank], &target->locks));
    if (part->number == 0)
        return MPI_SUCCESS;
    return weftmpi_failed(
        win->comm, call,
        weft_exposed(weftmpi.job, part->exposer, part->number, INFINITY, &target->win));
}

/* All learn of all parts; one that could not be made is everybody's error. Ends the window then. */
static int meet(struct weftmpi_win *win, const char *call, struct part mine, MPI_Win *handle)
{
    struct weftmpi_comm *comm = win->comm;
    struct part *parts = malloc((size_t)comm->size * sizeof(*parts));
    int error;

    win->slot = mine.error == MPI_SUCCESS ? weftmpi_locks_take(call, comm) : -1;
    if (mine.error == MPI_SUCCESS && (win->slot < 0 || parts == NULL))
        mine.error = MPI_ERR_NO_MEM;
    mine.lock_words = (uint64_t)win->slot * WEFTMPI_LOCK_WORDS * sizeof(uint64_t);
    error = parts == NULL ? weftmpi_no_memory(comm, call)
                          : weftmpi_allgather(call, comm, &mine, sizeof(mine), parts);
    for (int i = 0; i < comm->size && error == MPI_SUCCESS; i++)
        error = parts[i].error;
    for (int i = 0; i < comm->size && error == MPI_SUCCESS; i++)
        error = learn_target(win, call, i, &parts[i]);
    free(parts);
    if (error == MPI_SUCCESS) /* the program may use it at once, in a lock of another */
        error = weftmpi_barrier(call, comm);
    if (error != MPI_SUCCESS) {
        weftmpi_leave(win);
        return error;
    }
    *handle = win->object.handle;
    return MPI_SUCCESS;
}

/* Of `bytes` at base; base NULL: they are allocated. */
static int create(const char *call, void *base, MPI_Aint bytes, int unit, MPI_Info info,
                  MPI_Comm handle, int flavor, void **allocated, MPI_Win *made)
{
    struct weftmpi_comm *comm;
    struct weftmpi_win *win;

    TRY(weftmpi_place_in(call, made));
    TRY(weftmpi_comm_in(call, handle, &comm));
    TRY(check(call, comm, bytes, unit, base, flavor == MPI_WIN_FLAVOR_CREATE));
    TRY(open_win(call, comm, info, flavor, unit, &win));
    struct part mine = {
        .bytes = bytes, .unit = unit, .exposer = weft_numbers_of(weftmpi.job)->process};
    if (flavor == MPI_WIN_FLAVOR_ALLOCATE) {
        LOCKED;
        base = win->memory = weft_malloc(weftmpi.job, (size_t)bytes + 1);
        if (base == NULL)
            mine.error = weftmpi_no_memory(comm, call);
    }
    win->base = base;
    win->bytes = bytes;
    if (mine.error == MPI_SUCCESS)
        mine.error = expose(win, call, base, (size_t)bytes);
    mine.home = (uintptr_t)base;
    mine.number = win->exposed ? win->number : 0;
    TRY(meet(win, call, mine, made));
    if (allocated != NULL)
        *allocated = base;
    return MPI_SUCCESS;
}

CALL(Win_create, (void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
     create(__func__, base, bytes, unit, info, comm, MPI_WIN_FLAVOR_CREATE, NULL, win))

API(Win_allocate,
    (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win))
{
    OUT(base);
    return create(__func__, NULL, bytes, unit, info, comm, MPI_WIN_FLAVOR_ALLOCATE, base, win);
}

/* ---- shared: the first member's memory, the parts one behind the other --------------------------
 */

/* Where each part is; that this process maps them all is said by `mapped`. */
static int place_parts(struct weftmpi_win *win, const char *call, const int64_t sizes[],
                       int32_t *mapped)
{
    const weft_win exposure = win->targets[0].win;
    const uintptr_t home = win->targets[0].home;
    void *memory = win->memory;
    size_t at = 0;

    if (memory == NULL && exposure != WEFT_WIN_NONE)
        TRY(weftmpi_failed(win->comm, call, weft_host_ptr(weftmpi.job, exposure, 0, &memory)));
    *mapped = memory != NULL || exposure == WEFT_WIN_NONE;
    for (int i = 0; i < win->comm->size; at += (size_t)sizes[i++]) {
        struct weftmpi_target *target = &win->targets[i];
        target->at = at;
        target->home = home + at;
        target->bytes = sizes[i];
        target->win = exposure;
        target->shared = memory != NULL && sizes[i] != 0 ? (char *)memory + at : NULL;
    }
    win->base = win->targets[win->comm->rank].shared;
    return MPI_SUCCESS;
}

/* One that cannot is everybody's error. */
static int map_parts(struct weftmpi_win *win, const char *call, const int64_t sizes[])
{
    const int n = win->comm->size;
    int32_t mapped = 1, *all = malloc((size_t)n * sizeof(*all));
    int error = all == NULL ? weftmpi_no_memory(win->comm, call) : MPI_SUCCESS;

    if (error == MPI_SUCCESS)
        error = place_parts(win, call, sizes, &mapped);
    if (error == MPI_SUCCESS)
        error = weftmpi_allgather(call, win->comm, &mapped, sizeof(mapped), all);
    for (int i = 0; i < n && error == MPI_SUCCESS; i++)
        if (!all[i])
            error = weftmpi_fail(win->comm, call, MPI_ERR_RMA_SHARED,
                                 "memory of rank 0 is not mapped by rank %d (WEFT_PATH, or they "
                                 "are on several nodes)",
                                 i);
    free(all);
    return error;
}

/* Ends the window where that fails. */
static int share(struct weftmpi_win *win, const char *call, int64_t sizes[], MPI_Win *made)
{
    const int64_t own = win->bytes;
    struct part mine = {
        .bytes = win->bytes, .unit = win->unit, .exposer = weft_numbers_of(weftmpi.job)->process};
    size_t all = 0;

    TRY(weftmpi_allgather(call, win->comm, &own, sizeof(own), sizes));
    for (int i = 0; i < win->comm->size; i++)
        all += (size_t)sizes[i];
    if (win->comm->rank == 0 && all != 0) {
        LOCKED;
        win->memory = weft_malloc(weftmpi.job, all);
        mine.error = win->memory == NULL ? weftmpi_no_memory(win->comm, call)
                                         : expose(win, call, win->memory, all);
        mine.home = (uintptr_t)win->memory;
        mine.number = win->exposed ? win->number : 0;
    }
    TRY(meet(win, call, mine, made));
    const int error = map_parts(win, call, sizes);
    if (error != MPI_SUCCESS) {
        weftmpi_leave(win);
        *made = MPI_WIN_NULL;
    }
    return error;
}

API(Win_allocate_shared,
    (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm handle, void *base, MPI_Win *made))
{
    struct weftmpi_win *win;
    OUT(base);
    OUT(made);
    COMM_IN(comm, handle);
    TRY(check(__func__, comm, bytes, unit, NULL, false));
    TRY(open_win(__func__, comm, info, MPI_WIN_FLAVOR_SHARED, unit, &win));
    win->bytes = bytes;
    int64_t *sizes = malloc((size_t)comm->size * sizeof(*sizes));
    const int error =
        sizes == NULL ? weftmpi_no_memory(comm, __func__) : share(win, __func__, sizes, made);
    free(sizes);
    if (error == MPI_SUCCESS)
        *(void **)base = win->base;
    return error;
}

/* MPI_PROC_NULL: the first with any bytes. */
API(Win_shared_query, (MPI_Win handle, int rank, MPI_Aint *bytes, int *unit, void *base))
{
    OUT(bytes);
    OUT(unit);
    OUT(base);
    WIN_IN(win, handle);
    if (win->flavor != MPI_WIN_FLAVOR_SHARED)
        return weftmpi_fail(win, __func__, MPI_ERR_RMA_FLAVOR, "the window is not shared");
    const int n = win->comm->size, asked = rank;
    if (rank == MPI_PROC_NULL)
        for (rank = 0; rank < n - 1 && win->targets[rank].bytes == 0;)
            rank++;
    if (rank < 0 || rank >= n)
        return weftmpi_fail(win, __func__, MPI_ERR_RANK, "rank %d of %d", asked, n);
    *bytes = win->targets[rank].bytes;
    *unit = win->targets[rank].unit;
    *(void **)base = win->targets[rank].shared;
    return MPI_SUCCESS;
}

/* ---- dynamic --------------------------------------------------------------------------------- */

API(Win_create_dynamic, (MPI_Info info, MPI_Comm handle, MPI_Win *made))
{
    struct weftmpi_win *win;
    OUT(made);
    COMM_IN(comm, handle);
    TRY(check(__func__, comm, 0, 1, NULL, false));
    TRY(open_win(__func__, comm, info, MPI_WIN_FLAVOR_DYNAMIC, 1, &win));
    struct part mine = {.unit = 1, .exposer = weft_numbers_of(weftmpi.job)->process};
    {
        LOCKED;
        win->memory = win->table = weft_malloc(weftmpi.job, sizeof(*win->table));
    }
    mine.error = win->table == NULL ? weftmpi_no_memory(comm, __func__)
                                    : expose(win, __func__, win->table, sizeof(*win->table));
    mine.number = win->exposed ? win->number : 0;
    mine.bytes = INT64_MAX;
    return meet(win, __func__, mine, made);
}

/* ---- freed ----------------------------------------------------------------------------------- */

void weftmpi_win_end(void *object)
{
    struct weftmpi_win *win = object;

    LOCKED;
    for (int i = 0; win->table != NULL && i < WEFTMPI_REGIONS; i++)
        if (win->table->regions[i].bytes != 0)
            weftmpi_win_detach(win, "MPI_Win_free", &win->table->regions[i]);
    if (win->exposed)
        weft_unexpose(weftmpi.job, win->number);
    weft_free(weftmpi.job, win->memory);
    if (win->slot >= 0)
        weftmpi_locks_give(win->slot);
    free(win->targets);
    weftmpi_leave(win->comm);
}

API(Win_free, (MPI_Win * handle))
{
    WIN_IN(win, *handle);
    if (win->epoch == WEFTMPI_STARTED || win->epoch == WEFTMPI_LOCKED_ALL || win->locks != 0 ||
        win->posted >= 0)
        return weftmpi_fail(win, __func__, MPI_ERR_RMA_SYNC, "an epoch is open");
    TRY(weftmpi_attributes_delete(__func__, &win->object));
    TRY(weftmpi_win_flush_all(win, __func__));
    TRY(weftmpi_barrier(__func__, win->comm));
    weftmpi_drop(*handle);
    *handle = MPI_WIN_NULL;
    weftmpi_leave(win);
    return MPI_SUCCESS;
}

/* ---- what programs ask ----------------------------------------------------------------------- */

const void *weftmpi_win_attribute(struct weftmpi_object *object, int keyval)
{
    const struct weftmpi_win *win = (struct weftmpi_win *)object;

    switch (keyval) {
    case MPI_WIN_BASE:
        return win->base;
    case MPI_WIN_SIZE:
        return &win->bytes;
    case MPI_WIN_DISP_UNIT:
        return &win->unit;
    case MPI_WIN_CREATE_FLAVOR:
        return &win->flavor;
    case MPI_WIN_MODEL:
        return &win->model;
    default:
        return NULL;
    }
}

NAMES(Win, WIN_IN, MPI_Win)
ATTRIBUTES(Win, WEFTMPI_WIN, WIN_IN, MPI_Win)

API(Win_get_group, (MPI_Win handle, MPI_Group *group))
{
    WIN_IN(win, handle);
    return weftmpi_group_give(__func__, win->comm->group, group);
}

API(Win_set_info, (MPI_Win handle, MPI_Info info))
{
    WIN_IN(win, handle);
    return weftmpi_info_set(__func__, &win->object, true, info);
}

API(Win_get_info, (MPI_Win handle, MPI_Info *info))
{
    WIN_IN(win, handle);
    return weftmpi_info_get(__func__, &win->object, info);
}

CALL(Win_create_errhandler, (MPI_Win_errhandler_function * function, MPI_Errhandler *handle),
     weftmpi_errhandler_make(__func__, WEFTMPI_WIN, (void (*)(void))function, handle))

API(Win_set_errhandler, (MPI_Win handle, MPI_Errhandler errhandler))
{
    WIN_IN(win, handle);
    return weftmpi_errhandler_set(__func__, &win->object, WEFTMPI_WIN, errhandler);
}

API(Win_get_errhandler, (MPI_Win handle, MPI_Errhandler *errhandler))
{
    OUT(errhandler);
    WIN_IN(win, handle);
    *errhandler = weftmpi_errhandler_of(&win->object)->object.handle;
    return MPI_SUCCESS;
}

API(Win_call_errhandler, (MPI_Win handle, int code))
{
    WIN_IN(win, handle);
    return weftmpi_errhandler_call(__func__, &win->object, code);
}
