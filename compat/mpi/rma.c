/*
 * compat/mpi/rma.c - what is put into windows and got from them: weft's puts and gets, one for each
 * stretch of memory of the target's datatype.
 */
#include "rma.h"

#include <errno.h>
#include <math.h>
#include <sys/uio.h>

/* ---- where an operation goes ----------------------------------------------------------------- */

/* Computes what of the target's memory elements at a displacement touch, and where that is. False:
 * it is beyond all addresses. */
static bool span_of(const struct weftmpi_elements *e, MPI_Aint offset, MPI_Aint unit, MPI_Aint *at,
                    MPI_Aint *low, MPI_Aint *high)
{
    MPI_Aint last;

    return !__builtin_mul_overflow(weftmpi_extent(e->type), e->count - 1, &last) &&
           !__builtin_mul_overflow(offset, unit, at) &&
           !__builtin_add_overflow(*at, e->type->true_lower, low) &&
           !__builtin_add_overflow(*low, last < 0 ? last : 0, low) &&
           !__builtin_add_overflow(*at, e->type->true_upper, high) &&
           !__builtin_add_overflow(*high, last > 0 ? last : 0, high);
}

/* Reads what the target has attached, into memory of the request. */
static int learn_regions(struct weftmpi_request *request, struct weftmpi_reach *reach)
{
    enum { SOME = 16 };
    const weft_win win = reach->target->win;
    const size_t some = offsetof(struct weftmpi_table, regions[SOME]);
    struct weftmpi_table *table = weftmpi_request_memory(request, sizeof(*table));

    reach->table = table;
    weft_status status = weft_host_get(weftmpi.job, win, 0, 0, table, some);
    TRY(HOLDS(status != WEFT_OK || table->used <= WEFTMPI_REGIONS, MPI_ERR_RMA_RANGE,
              "%zu attached regions", (size_t)table->used));
    if (status == WEFT_OK && table->used > SOME)
        status = weft_host_get(weftmpi.job, win, 0, some, &table->regions[SOME],
                               ((size_t)table->used - SOME) * sizeof(table->regions[0]));
    return weftmpi_failed(status);
}

/* Finds the region that has an address of the target, and its exposure. */
static int find_region(struct weftmpi_reach *reach, uintptr_t at,
                       const struct weftmpi_region **region)
{
    const int process = reach->win->comm->group->processes[reach->target - reach->win->targets];
    const struct weftmpi_region *r = reach->table->regions;
    const struct weftmpi_region *const end = r + reach->table->used;

    while (r != end && !(at >= r->base && at < r->base + r->bytes))
        r++;
    TRY(HOLDS(r != end, MPI_ERR_RMA_RANGE, "nothing is attached at 0x%zx", (size_t)at));
    *region = r;
    if (r->base == reach->home)
        return MPI_SUCCESS;
    if (reach->stretches != 0)
        TRY(weftmpi_reach_flush(reach)); /* the last flush ends the last one's alone */
    reach->home = r->base;
    return weftmpi_failed(
        weft_exposed(weftmpi.job, process, (uint32_t)r->number, INFINITY, &reach->exposure));
}

int weftmpi_reach_in(struct weftmpi_request *request, struct weftmpi_reach *reach, MPI_Win handle,
                     int to, MPI_Aint offset, MPI_Count count, MPI_Datatype type)
{
    MPI_Aint at = 0, low = 0, high = 0;
    WIN_OF(win, handle);

    *reach = (struct weftmpi_reach){.win = win};
    TRY(weftmpi_elements_in(NULL, count, type, &reach->elements));
    if (to == MPI_PROC_NULL)
        return MPI_SUCCESS;
    TRY(weftmpi_check_rank(to, win->comm->size));
    struct weftmpi_target *target = &win->targets[to];
    TRY(HOLDS(win->epoch == WEFTMPI_FENCE || target->lock != 0 ||
                  (win->epoch == WEFTMPI_STARTED && target->started),
              MPI_ERR_RMA_SYNC, "no epoch is open for rank %d", to));
    TRY(HOLDS(win->flavor == MPI_WIN_FLAVOR_DYNAMIC || offset >= 0, MPI_ERR_DISP,
              "displacement %td", (ptrdiff_t)offset));
    if (reach->elements.bytes == 0)
        return MPI_SUCCESS;
    reach->target = target;
    reach->at = (size_t)offset;
    if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return learn_regions(request, reach);
    TRY(HOLDS(span_of(&reach->elements, offset, target->unit, &at, &low, &high), MPI_ERR_RMA_RANGE,
              "%zu elements at displacement %td, of rank %d", reach->elements.count,
              (ptrdiff_t)offset, to));
    TRY(HOLDS(low >= 0 && high <= target->bytes, MPI_ERR_RMA_RANGE,
              "bytes %td to %td of %td at rank %d", (ptrdiff_t)low, (ptrdiff_t)high,
              (ptrdiff_t)target->bytes, to));
    reach->exposure = target->win;
    reach->home = target->home - target->at;
    reach->at = target->at + (size_t)at;
    return MPI_SUCCESS;
}

/* Calls `each` for a stretch. One of a dynamic window may be in several regions: one after the
 * other. */
static int stretch(struct weftmpi_reach *reach, weftmpi_each *each, void *state, size_t at,
                   char *row, size_t bytes)
{
    const struct weftmpi_region *region;

    if (reach->table == NULL)
        return each(reach, state, at, row, bytes);
    for (size_t some; bytes != 0; at += some, row += some, bytes -= some) {
        TRY(find_region(reach, at, &region));
        some =
            region->base + region->bytes - at < bytes ? region->base + region->bytes - at : bytes;
        TRY(each(reach, state, at - region->base, row, some));
    }
    return MPI_SUCCESS;
}

int weftmpi_reach_each(struct weftmpi_reach *reach, char *row, weftmpi_each *each, void *state)
{
    const struct weftmpi_elements *e = &reach->elements;
    const struct weftmpi_type *type = e->type;
    size_t at = reach->at;

    if (type->dense)
        return stretch(reach, each, state, at + (size_t)type->true_lower, row, e->bytes);
    for (size_t i = 0; i < e->count; i++, at += (size_t)weftmpi_extent(type))
        for (size_t r = 0; r < type->runs_count; r++) {
            const struct weftmpi_run *run = &type->runs[r];
            for (size_t k = 0; k < run->repeat; k++, row += run->bytes)
                TRY(stretch(reach, each, state,
                            at + (size_t)(run->offset + run->stride * (MPI_Aint)k), row,
                            run->bytes));
        }
    return MPI_SUCCESS;
}

int weftmpi_reach_flush(const struct weftmpi_reach *reach)
{
    return weftmpi_failed(weft_host_flush(weftmpi.job, reach->exposure));
}

/* ---- by the kernel --------------------------------------------------------------------------- */

/* Stretches that are copied together; their bytes here are a row. */
struct kernel_copy {
    bool puts;
    char *row;
    size_t bytes, count;
    struct iovec there[64];
};

/* Checks that the job has not failed: else a number may be that of another process by now. */
static int check_job(void)
{
    return weftmpi_failed(weft_host_op_test(weftmpi.job, (weft_op){0}, WEFT_LOCAL, &(int){0}));
}

static int copy_now(const struct weftmpi_reach *reach, struct kernel_copy *copy)
{
    enum { LOOKS_MOST = 100000 }; /* some seconds */
    const struct iovec here = {copy->row, copy->bytes}, *there = copy->there;

    TRY(check_job());
    const ssize_t some = (copy->puts ? process_vm_writev : process_vm_readv)(
        reach->target->pid, &here, 1, there, copy->count, 0);

    /* A process that has ended: weft says soon which it was. */
    for (int i = 0; some < 0 && errno == ESRCH && i < LOOKS_MOST; i++) {
        weftmpi_pause();
        TRY(check_job());
        errno = ESRCH;
    }
    TRY(HOLDS(some == (ssize_t)copy->bytes, MPI_ERR_RMA_RANGE, "%zu bytes at 0x%zx of rank %td: %s",
              copy->bytes, (size_t)there->iov_base, reach->target - reach->win->targets,
              some < 0 ? strerror(errno) : "not all are there"));
    copy->row += copy->bytes;
    copy->bytes = copy->count = 0;
    return MPI_SUCCESS;
}

static int copy_stretch(struct weftmpi_reach *reach, void *state, size_t offset, char *row,
                        size_t bytes)
{
    enum { MOST = 1 << 30 }; /* at once; the kernel takes a little less than 2 GiB */
    struct kernel_copy *copy = state;

    (void)row;
    for (size_t some; bytes != 0; offset += some, bytes -= some) {
        some = bytes < MOST ? bytes : MOST;
        if (copy->count == sizeof(copy->there) / sizeof(copy->there[0]) ||
            copy->bytes + some > MOST)
            TRY(copy_now(reach, copy));
        copy->bytes += some;
        copy->there[copy->count++] = (struct iovec){(void *)(reach->home + offset), some};
    }
    return MPI_SUCCESS;
}

/* Puts or gets by the kernel. The copy is over when it returns. */
static int move_by_kernel(struct weftmpi_reach *reach, bool puts, char *row)
{
    struct kernel_copy copy;

    copy.puts = puts;
    copy.row = row;
    copy.bytes = copy.count = 0;
    TRY(weftmpi_reach_each(reach, row, copy_stretch, &copy));
    return copy_now(reach, &copy);
}

/* ---- how a call ends ------------------------------------------------------------------------- */

int weftmpi_reach_leave(struct weftmpi_request *request, struct weftmpi_reach *reach)
{
    if (reach->target->pid != 0 && reach->last.sequence == 0)
        return MPI_SUCCESS;
    if (request->memory != NULL || reach->win->flavor == MPI_WIN_FLAVOR_DYNAMIC ||
        (!request->waits && reach->stretches > 1)) {
        TRY(weftmpi_reach_flush(reach));
        weftmpi_request_until(request);
        return MPI_SUCCESS;
    }
    if (weftmpi.level != MPI_THREAD_MULTIPLE)
        reach->target->dirty = true;
    if (!request->waits)
        request->update = reach->last;
    return MPI_SUCCESS;
}

bool weftmpi_rma_poll(struct weftmpi_request *request, double seconds)
{
    int done = 1;

    if (request->update.kind == 0 && request->update.sequence == 0)
        return true;
    const weft_status status =
        seconds > 0 ? weft_host_op_wait_for(weftmpi.job, request->update, WEFT_LOCAL, seconds)
                    : weft_host_op_test(weftmpi.job, request->update, WEFT_LOCAL, &done);
    if (status == WEFT_ERR_TIMEOUT || (status == WEFT_OK && !done))
        return false;
    request->error = weftmpi_request_failed(request, status);
    return true;
}

int weftmpi_reach_open(struct weftmpi_request *request, const struct weftmpi_reach *reach,
                       const void *user, MPI_Count count, MPI_Datatype type,
                       struct weftmpi_elements *elements)
{
    weftmpi_request_open(request, WEFTMPI_RMA, reach->win->comm);
    request->call.on = NULL; /* MPI_COMM_WORLD's error: the window may be gone when it completes */
    TRY(weftmpi_elements_in(user, count, type, elements));
    return HOLDS(reach->target == NULL || elements->bytes == reach->elements.bytes, MPI_ERR_TYPE,
                 "%zu bytes here, and %zu at the target", elements->bytes, reach->elements.bytes);
}

/* ---- put and get ----------------------------------------------------------------------------- */

/* Begins to put or get a stretch. state: whether it is put. */
static int move_stretch(struct weftmpi_reach *reach, void *state, size_t offset, char *row,
                        size_t bytes)
{
    const bool *puts = state;

    reach->stretches++;
    return weftmpi_failed(*puts ? weft_host_put_begin(weftmpi.job, reach->exposure, 0, offset, row,
                                                      bytes, &reach->last)
                                : weft_host_get_begin(weftmpi.job, reach->exposure, 0, offset, row,
                                                      bytes, &reach->last));
}

/* Puts or gets all stretches; many leave together. */
int weftmpi_reach_move(struct weftmpi_reach *reach, bool puts, char *row)
{
    if (reach->target->pid != 0)
        return move_by_kernel(reach, puts, row);
    if (reach->elements.type->dense && reach->table == NULL) /* there is one */
        return weftmpi_reach_each(reach, row, move_stretch, &puts);
    TRY(weftmpi_failed(weft_host_batch_begin(weftmpi.job)));
    const int error = weftmpi_reach_each(reach, row, move_stretch, &puts);
    const int end = weftmpi_failed(weft_host_batch_end(weftmpi.job));
    return error != MPI_SUCCESS ? error : end;
}

static int put_or_get(struct weftmpi_request *request, bool puts, const void *user, MPI_Count count,
                      MPI_Datatype type, MPI_Win win, TO(MPI_Count))
{
    struct weftmpi_elements elements;
    struct weftmpi_reach reach;
    void *row;

    TRY(weftmpi_reach_in(request, &reach, GIVEN));
    TRY(weftmpi_reach_open(request, &reach, user, count, type, &elements));
    if (reach.target == NULL)
        return MPI_SUCCESS;
    TRY(weftmpi_row(request, &elements, puts ? WEFTMPI_TAKE : WEFTMPI_FILL, &row));
    TRY(weftmpi_reach_move(&reach, puts, row));
    return weftmpi_reach_leave(request, &reach);
}

#define PUT(N) FROM(N), TO(N)
#define GET(N) void *into, N count, MPI_Datatype type, TO(N)
RMA(Put, Rput, put_or_get(begun, true, from, count, type, GIVEN), PUT)
RMA(Get, Rget, put_or_get(begun, false, into, count, type, GIVEN), GET)
