/* compat/mpi/win.c - makes and frees windows, and tells programs of them. */
#include "win.h"

#include <math.h>
#include <stdio.h>

#include <mpi-ext.h>

/* ---- made ------------------------------------------------------------------------------------ */

/* What members tell each other of their parts. */
struct part {
    int64_t bytes, unit;
    uint64_t home, lock_words;
    uint32_t number;
    int error;
};

static int check(struct weftmpi_comm *comm, MPI_Aint bytes, MPI_Aint unit, const void *base,
                 bool given)
{
    TRY(weftmpi_check_inter(comm, false));
    TRY(HOLDS(bytes >= 0, MPI_ERR_SIZE, "%td bytes", (ptrdiff_t)bytes));
    TRY(HOLDS(unit >= 1, MPI_ERR_DISP, "displacement unit %td", (ptrdiff_t)unit));
    TRY(HOLDS(!given || base != NULL || bytes <= 0, MPI_ERR_BASE, "%td bytes at NULL",
              (ptrdiff_t)bytes));
    return HOLDS(!MPIX_Query_cuda_support(), MPI_ERR_UNSUPPORTED_OPERATION,
                 "one-sided communication of processes that drive a GPU is not "
                 "supported: WEFT_DEVICE=cpu (docs/mpi.md)");
}

/* Makes a window without a part yet, and its communicator. */
static int open_win(struct weftmpi_comm *parent, MPI_Info info, int flavor, MPI_Aint unit,
                    struct weftmpi_win **made)
{
    struct weftmpi_win *const win = *made = weftmpi_make(WEFTMPI_WIN, sizeof(*win));
    MPI_Comm comm;

    win->flavor = flavor;
    win->model = MPI_WIN_UNIFIED;
    win->unit = (int)unit;
    win->slot = -1;
    win->posted = -1;
    win->unnamed = true;
    snprintf(win->name, sizeof(win->name), "window");
    win->targets = weftmpi_zeros((size_t)parent->size * sizeof(*win->targets));
    TRY(weftmpi_info_set(&win->object, true, info));
    TRY(weftmpi_comm_new(parent, weftmpi_comm_make(parent, parent->group, NULL, NULL), &comm));
    win->comm = weftmpi_find(WEFTMPI_COMM, comm);
    weftmpi_leave(win->comm->object.errhandler); /* its errors are the window's */
    win->comm->object.errhandler = &weftmpi_errhandlers[1];
    win->object.errhandler = &weftmpi_errhandlers[0];
    return MPI_SUCCESS;
}

static int learn_target(struct weftmpi_win *win, int rank, const struct part *part)
{
    struct weftmpi_target *target = &win->targets[rank];
    const int process = win->comm->group->processes[rank];

    *target = (struct weftmpi_target){.bytes = part->bytes,
                                      .unit = part->unit,
                                      .home = part->home,
                                      .lock_words = part->lock_words};
    weft_status status =
        weft_exposed(weftmpi.job, process, WEFTMPI_LOCKS_NUMBER, INFINITY, &target->locks);
    if (status == WEFT_OK && part->number != 0)
        status = weft_exposed(weftmpi.job, process, part->number, INFINITY, &target->win);
    return weftmpi_failed(status);
}

/* Computes where each part of a shared window is: in the first member's memory, one behind the
 * other. */
static int place_parts(struct weftmpi_win *win)
{
    const weft_win exposure = win->targets[0].win;
    const uintptr_t home = win->targets[0].home;
    void *memory = win->memory;
    size_t at = 0;

    if (memory == NULL && exposure != WEFT_WIN_NONE)
        TRY(weftmpi_failed(weft_host_ptr(weftmpi.job, exposure, 0, &memory)));
    for (int i = 0; i < win->comm->size; i++) {
        struct weftmpi_target *target = &win->targets[i];
        target->at = at;
        target->home = home + at;
        target->win = exposure;
        target->shared = memory != NULL && target->bytes != 0 ? (char *)memory + at : NULL;
        at += (size_t)target->bytes;
    }
    win->base = win->targets[win->comm->rank].shared;
    return MPI_SUCCESS;
}

/* How a process reaches the others' parts of a window; of several ways the lowest. */
enum way { BY_REQUESTS, BY_KERNEL, MAPPED };

static int find_way(struct weftmpi_win *win, int rank, enum way *all)
{
    struct weftmpi_target *target = &win->targets[rank];
    const bool dynamic = win->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    void *memory = NULL;

    if (rank == win->comm->rank || target->win == WEFT_WIN_NONE)
        return MPI_SUCCESS;
    TRY(weftmpi_failed(weft_host_ptr(weftmpi.job, target->win, 0, &memory)));
    if (memory == NULL || dynamic)
        target->pid = weft_host_pid(weftmpi.job, win->comm->group->processes[rank]);
    const enum way way = memory != NULL && !dynamic ? MAPPED
                         : target->pid != 0         ? BY_KERNEL
                                                    : BY_REQUESTS;
    *all = way < *all ? way : *all;
    return MPI_SUCCESS;
}

/* Agrees on a way of updates. They are undivided if all members make them in one way: all may take
 * turns if each reaches all parts by itself. */
static int agree_on_way(struct weftmpi_win *win)
{
    enum way mine = MAPPED, all = MAPPED;
    FREED enum way *ways;

    for (int i = 0; i < win->comm->size; i++)
        TRY(find_way(win, i, &mine));
    TRY(weftmpi_allgather(win->comm, &mine, sizeof(mine), &ways));
    for (int i = 0; i < win->comm->size; i++) {
        all = ways[i] < all ? ways[i] : all;
        TRY(HOLDS(all == MAPPED || win->flavor != MPI_WIN_FLAVOR_SHARED, MPI_ERR_RMA_SHARED,
                  "memory of rank 0 is not mapped by rank %d (WEFT_PATH, or they are on several "
                  "nodes)",
                  i));
    }
    win->in_turn = all == BY_KERNEL;
    return MPI_SUCCESS;
}

/* Has all learn of all parts; one that could not be made is everybody's error. */
static int meet(struct weftmpi_win *win, struct part mine)
{
    struct weftmpi_comm *comm = win->comm;
    const bool shared = win->flavor == MPI_WIN_FLAVOR_SHARED;
    size_t all = 0; /* bytes of a shared window */
    char last;
    weft_status there = WEFT_OK;
    FREED struct part *parts;

    win->slot = mine.error == MPI_SUCCESS ? weftmpi_locks_take() : -1;
    if (mine.error == MPI_SUCCESS && win->slot < 0)
        mine.error = MPI_ERR_NO_MEM;
    mine.lock_words = (uint64_t)win->slot * WEFTMPI_LOCK_WORDS * sizeof(uint64_t);
    TRY(weftmpi_allgather(comm, &mine, sizeof(mine), &parts));
    TRY(mine.error);
    for (int i = 0; i < comm->size; i++) {
        TRY(HOLDS(parts[i].error == MPI_SUCCESS && parts[i].bytes >= 0 && parts[i].unit >= 1 &&
                      (size_t)parts[i].bytes <= INT64_MAX - all,
                  MPI_ERR_OTHER, "rank %d's part: error %d, %td bytes in units of %td behind %zu",
                  i, parts[i].error, (ptrdiff_t)parts[i].bytes, (ptrdiff_t)parts[i].unit, all));
        all += shared ? (size_t)parts[i].bytes : 0;
    }
    for (int i = 0; i < comm->size; i++)
        TRY(learn_target(win, i, &parts[i]));
    if (shared)
        TRY(place_parts(win));
    if (all != 0) /* whether the first member has as much; before anybody uses it */
        there = weft_host_get(weftmpi.job, win->targets[0].win, 0, all - 1, &last, sizeof(last));
    /* Who is through may use it at once, in a lock of another. */
    TRY(agree_on_way(win));
    return weftmpi_failed(there);
}

/* Opens this process's part: `room` bytes at *base, or allocated, exposed under a number. */
static int open_part(struct weftmpi_win *win, size_t room, void **base)
{
    LOCKED; /* one thread at a time allocates and exposes memory */
    if (win->flavor == MPI_WIN_FLAVOR_ALLOCATE ||
        (win->flavor != MPI_WIN_FLAVOR_CREATE && room != 0)) {
        *base = win->memory = weft_malloc(weftmpi.job, room + 1);
        TRY(HOLDS(*base != NULL, MPI_ERR_NO_MEM, "no memory for %zu bytes", room));
    }
    if (room == 0)
        return MPI_SUCCESS;
    const uint32_t number = weftmpi_exposure_number();
    TRY(weftmpi_failed(weft_expose(weftmpi.job, *base, room, number)));
    win->number = number;
    return MPI_SUCCESS;
}

/* Makes a window of `bytes` at base; of the other flavors they are allocated, and *allocated says
 * where. */
static int create(void *base, MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm handle,
                  int flavor, void **allocated, MPI_Win *made)
{
    const bool shared = flavor == MPI_WIN_FLAVOR_SHARED, dynamic = flavor == MPI_WIN_FLAVOR_DYNAMIC;
    HELD struct weftmpi_win *win = NULL;
    size_t room = (size_t)bytes;

    TRY(PLACES(made, allocated));
    COMM_OF(comm, handle);
    TRY(check(comm, bytes, unit, base, flavor == MPI_WIN_FLAVOR_CREATE));
    if (shared) { /* of all parts */
        CALLS_BACK;
        TRY(PMPI_Allreduce(&bytes, &room, 1, MPI_AINT, MPI_SUM, handle));
    }
    if (shared && comm->rank != 0)
        room = 0;
    if (dynamic)
        room = sizeof(*win->table);
    TRY(open_win(comm, info, flavor, unit, &win));
    win->bytes = bytes;
    struct part mine = {.bytes = dynamic ? INT64_MAX : bytes, .unit = unit};
    mine.error = open_part(win, room, &base);
    mine.home = (uintptr_t)base;
    mine.number = win->number;
    if (dynamic)
        win->table = base;
    else
        win->base = base;
    TRY(meet(win, mine));
    *allocated = win->base;
    *made = win->object.handle;
    win = NULL;
    return MPI_SUCCESS;
}

/* Tells of a rank's part of a shared window. MPI_PROC_NULL: the first with any bytes. */
static int shared_query(MPI_Win handle, int rank, MPI_Aint *bytes, MPI_Aint *unit, void **base)
{
    TRY(PLACES(bytes, base));
    WIN_OF(win, handle);
    TRY(HOLDS(win->flavor == MPI_WIN_FLAVOR_SHARED, MPI_ERR_RMA_FLAVOR,
              "the window is not shared"));
    if (rank == MPI_PROC_NULL)
        for (rank = 0; rank < win->comm->size - 1 && win->targets[rank].bytes == 0;)
            rank++;
    TRY(weftmpi_check_rank(rank, win->comm->size));
    *bytes = win->targets[rank].bytes;
    *unit = win->targets[rank].unit;
    *base = win->targets[rank].shared;
    return MPI_SUCCESS;
}

/* Defines calls that take or tell a displacement unit, of type U. */
#define UNITS(c, U)                                                                                \
    CALL(Win_create##c,                                                                            \
         (void *base, MPI_Aint bytes, U unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),         \
         create(base, bytes, unit, info, comm, MPI_WIN_FLAVOR_CREATE, (void *[1]){NULL}, win))     \
    CALL(Win_allocate##c,                                                                          \
         (MPI_Aint bytes, U unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),         \
         create(NULL, bytes, unit, info, comm, MPI_WIN_FLAVOR_ALLOCATE, base, win))                \
    CALL(Win_allocate_shared##c,                                                                   \
         (MPI_Aint bytes, U unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),         \
         create(NULL, bytes, unit, info, comm, MPI_WIN_FLAVOR_SHARED, base, win))                  \
    API(Win_shared_query##c, (MPI_Win win, int rank, MPI_Aint *bytes, U *unit, void *base))        \
    {                                                                                              \
        MPI_Aint wide;                                                                             \
        OUT(unit);                                                                                 \
        TRY(shared_query(win, rank, bytes, &wide, base));                                          \
        *unit = (U)wide;                                                                           \
        return MPI_SUCCESS;                                                                        \
    }
UNITS(, int)
UNITS(_c, MPI_Aint)

CALL(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win),
     create(NULL, 0, 1, info, comm, MPI_WIN_FLAVOR_DYNAMIC, (void *[1]){NULL}, win))

/* ---- memory that is attached to dynamic windows ---------------------------------------------- */

/* DYNAMIC_IN: the dynamic window of a handle, in a function of MPI: declares it. */
#define DYNAMIC_IN(win, handle)                                                                    \
    WIN_IN(win, handle);                                                                           \
    TRY(HOLDS((win)->flavor == MPI_WIN_FLAVOR_DYNAMIC, MPI_ERR_RMA_FLAVOR,                         \
              "the window is not dynamic"))

static void set(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE); /* origins may get the row meanwhile */
}

API(Win_attach, (MPI_Win handle, void *base, MPI_Aint bytes))
{
    DYNAMIC_IN(win, handle);
    TRY(HOLDS(bytes >= 0 && (base != NULL || bytes <= 0), MPI_ERR_ARG, "%td bytes at %p",
              (ptrdiff_t)bytes, base));
    LOCKED;
    struct weftmpi_table *table = win->table;
    struct weftmpi_region *row = NULL;
    if (bytes == 0)
        return MPI_SUCCESS;
    for (int i = WEFTMPI_REGIONS - 1; i >= 0; i--) {
        struct weftmpi_region *r = &table->regions[i];
        if (r->bytes == 0)
            row = r;
        else if ((uintptr_t)base < r->base + r->bytes && r->base < (uintptr_t)base + (size_t)bytes)
            return weftmpi_fail(MPI_ERR_RMA_ATTACH, "%td bytes at %p overlap what is attached",
                                (ptrdiff_t)bytes, base);
    }
    TRY(HOLDS(row != NULL, MPI_ERR_RMA_ATTACH, "%d regions are attached", WEFTMPI_REGIONS));
    const uint32_t number = weftmpi_exposure_number();
    TRY(weftmpi_failed(weft_expose(weftmpi.job, base, (size_t)bytes, number)));
    set(&row->base, (uintptr_t)base);
    set(&row->number, number);
    set(&row->bytes, (uint64_t)bytes);
    if ((uint64_t)(row - table->regions) >= table->used)
        set(&table->used, (uint64_t)(row - table->regions) + 1);
    return MPI_SUCCESS;
}

static int detach(struct weftmpi_region *row)
{
    const uint32_t number = (uint32_t)row->number;

    set(&row->bytes, 0);
    return weftmpi_failed(weft_unexpose(weftmpi.job, number));
}

API(Win_detach, (MPI_Win handle, const void *base))
{
    DYNAMIC_IN(win, handle);
    LOCKED;
    for (int i = 0; i < WEFTMPI_REGIONS; i++) {
        struct weftmpi_region *row = &win->table->regions[i];
        if (row->bytes != 0 && row->base == (uintptr_t)base)
            return detach(row);
    }
    return HOLDS(base == NULL, MPI_ERR_RMA_ATTACH, "nothing is attached at %p", base);
}

/* ---- freed ----------------------------------------------------------------------------------- */

void weftmpi_win_end(void *object)
{
    struct weftmpi_win *win = object;

    LOCKED;
    for (int i = 0; win->table != NULL && i < WEFTMPI_REGIONS; i++)
        if (win->table->regions[i].bytes != 0)
            detach(&win->table->regions[i]);
    if (win->number != 0)
        weft_unexpose(weftmpi.job, win->number);
    weft_free(weftmpi.job, win->memory);
    if (win->slot >= 0)
        weftmpi_locks_give(win->slot);
    free(win->targets);
    weftmpi_leave(win->comm);
}

/* Ends all access to a window, before it is freed: no epoch is open, and all members meet. */
static int rest(struct weftmpi_win *win)
{
    TRY(HOLDS(win->epoch != WEFTMPI_STARTED && !weftmpi_win_is_locked(win) && win->posted < 0,
              MPI_ERR_RMA_SYNC, "an epoch is open"));
    TRY(weftmpi_win_flush_all(win));
    return weftmpi_barrier(win->comm);
}

GIVE_BACK(Win_free, WIN_IN, MPI_Win, MPI_WIN_NULL, false, rest(of))

NAMES(Win, WIN_IN, MPI_Win)
