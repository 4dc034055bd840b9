/*
 * compat/mpi/update.c - elements of windows that are updated. An update must not be divided.
 * Aligned words of types that weft knows are updated by weft, with its operations; all others under
 * a lock of the target: got, put together here, and put back. Words are put back undivided, too, so
 * that fetches of them by weft may meet the others. All that is reached by the kernel is updated
 * under the lock.
 */
#include "rma.h"

struct update {
    const struct weftmpi_op *op;
    const struct weftmpi_type *basic; /* of every element */
    MPI_Op handle;
    char *row, *old;      /* rows of operands, and for what was there; NULL: nobody asks */
    const void *expected; /* the update is made where this is there; NULL: always */
    bool words;           /* rows are aligned, and of a type that weft knows */
    weft_type element;    /* the type, where `words` */
    weft_operation function;
};

static int swap_stretch(struct weftmpi_reach *reach, void *state, size_t offset, char *row,
                        size_t bytes)
{
    const struct update *update = state;
    uint64_t put = 0, expected = 0, old = 0;
    uint32_t half = 0;

    memcpy(&put, row, bytes);
    memcpy(&expected, update->expected, bytes);
    TRY(weftmpi_failed(
        bytes == sizeof(old)
            ? weft_host_compare_swap(weftmpi.job, reach->exposure, 0, offset, expected, put, &old)
            : weft_host_compare_swap_u32(weftmpi.job, reach->exposure, 0, offset,
                                         (uint32_t)expected, (uint32_t)put, &half)));
    memcpy(update->old, bytes == sizeof(old) ? (void *)&old : &half, bytes);
    return MPI_SUCCESS;
}

static int update_stretch(struct weftmpi_reach *reach, void *state, size_t offset, char *row,
                          size_t bytes)
{
    const struct update *update = state;
    const size_t count = bytes / update->basic->size;

    reach->stretches++;
    return weftmpi_failed(
        update->old == NULL
            ? weft_host_accumulate_begin(weftmpi.job, reach->exposure, 0, offset, row, count,
                                         update->element, update->function, &reach->last)
            : weft_host_fetch_accumulate_begin(weftmpi.job, reach->exposure, 0, offset, row,
                                               update->old + (row - update->row), count,
                                               update->element, update->function, &reach->last));
}

/* Checks that a stretch is words, each of which is updated by itself; else returns
 * MPI_ERR_OTHER. */
static int check_words(struct weftmpi_reach *reach, void *state, size_t offset, char *row,
                       size_t bytes)
{
    const size_t size = ((const struct update *)state)->basic->size;

    (void)row;
    return bytes % size == 0 && (reach->home + offset) % size == 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Does into = from op into, of elements in rows of bytes. */
static void combine(const struct update *update, const char *from, char *into, size_t bytes)
{
    const struct weftmpi_type *basic = update->basic;
    const size_t count = bytes / basic->size, whole = count * (size_t)weftmpi_extent(basic);

    if (update->handle == MPI_REPLACE) {
        memcpy(into, from, bytes);
        return;
    }
    FREED char *a = weftmpi_room(NULL, 2 * whole); /* where they are aligned, with their gaps */
    weftmpi_unpack(basic, bytes, from, a);
    weftmpi_unpack(basic, bytes, into, a + whole);
    weftmpi_operate(update->op, basic, a, a + whole, count);
    weftmpi_pack(basic, count, a + whole, into);
}

static int put_back(struct weftmpi_reach *reach, const struct update *update, char *now)
{
    struct update replaces = {
        .basic = update->basic, .element = update->element, .function = WEFT_REPLACE};

    return update->words && !reach->win->in_turn
               ? weftmpi_reach_each(reach, now, update_stretch, &replaces)
               : weftmpi_reach_move(reach, true, now);
}

static int get_and_put(struct weftmpi_reach *reach, const struct update *update, char *now)
{
    const size_t bytes = reach->elements.bytes;

    TRY(weftmpi_reach_move(reach, false, now));
    TRY(weftmpi_reach_flush(reach));
    if (update->old != NULL)
        memcpy(update->old, now, bytes);
    if (update->handle == MPI_NO_OP ||
        (update->expected != NULL && memcmp(update->expected, now, bytes) != 0))
        return MPI_SUCCESS;
    combine(update, update->row, now, bytes);
    TRY(put_back(reach, update, now));
    return weftmpi_reach_flush(reach);
}

static int update_locked(struct weftmpi_reach *reach, const struct update *update)
{
    FREED char *now = weftmpi_room(NULL, reach->elements.bytes);

    if (reach->target->pid != 0) /* what weft still updates comes first */
        TRY(weftmpi_flush_target(reach->win, reach->target));
    TRY(weftmpi_updates_lock(reach->target));
    const int error = get_and_put(reach, update, now);
    const int end = weftmpi_updates_unlock(reach->target);
    return error != MPI_SUCCESS ? error : end;
}

/* Makes an update with the rows that it has by now. */
static int run_update(struct weftmpi_reach *reach, struct update *update)
{
    const bool moves = update->handle == MPI_REPLACE || update->handle == MPI_NO_OP;
    const struct weftmpi_type *basic = update->basic;

    update->words =
        basic->size >= sizeof(uint32_t) &&
        weftmpi_know(&weftmpi_ops[1], basic, &update->element, &update->function) /* its sums */ &&
        weftmpi_reach_each(reach, update->row, check_words, update) == MPI_SUCCESS;
    if (reach->win->in_turn || !update->words ||
        (!moves && !weftmpi_know(update->op, basic, &update->element, &update->function)))
        return update_locked(reach, update);
    if (moves) {
        update->element = basic->size == sizeof(uint64_t) ? WEFT_U64 : WEFT_U32;
        update->function = update->handle == MPI_REPLACE ? WEFT_REPLACE : WEFT_OR;
    }
    if (update->handle == MPI_NO_OP) /* an OR with 0 */
        memset(update->row, 0, reach->elements.bytes);
    return weftmpi_reach_each(reach, update->row,
                              update->expected != NULL ? swap_stretch : update_stretch, update);
}

static int update_in(struct weftmpi_reach *reach, MPI_Op handle, bool fetches,
                     struct update *update)
{
    const struct weftmpi_op *op = weftmpi_find(WEFTMPI_OP, handle);

    TRY(HOLDS(op != NULL && op->function == NULL && (handle != MPI_NO_OP || fetches), MPI_ERR_OP,
              "no operation of the standard's for an update"));
    *update = (struct update){.op = op, .handle = handle};
    if (reach->target == NULL)
        return MPI_SUCCESS;
    update->basic = reach->elements.type->only_basic;
    TRY(HOLDS(update->basic != NULL, MPI_ERR_TYPE, "elements of several basic datatypes in %s",
              reach->elements.type->name));
    return HOLDS(handle == MPI_REPLACE || handle == MPI_NO_OP ||
                     weftmpi_can_operate(op, update->basic),
                 MPI_ERR_OP, "no operation for %s", update->basic->name);
}

/* Begins an update. fetches: what was there goes to old, where it is when a blocking call
 * returns. */
static int begin_update(struct weftmpi_request *request, FROM(MPI_Count), bool fetches,
                        OLD(MPI_Count), MPI_Op op, const void *expected, MPI_Win win, TO(MPI_Count))
{
    struct weftmpi_elements elements, result;
    struct update update;
    struct weftmpi_reach reach;
    void *row, *old_row = NULL;

    TRY(weftmpi_reach_in(request, &reach, GIVEN));
    TRY(update_in(&reach, op, fetches, &update));
    if (fetches)
        TRY(weftmpi_reach_open(request, &reach, old, old_count, old_type, &result));
    if (op != MPI_NO_OP)
        TRY(weftmpi_reach_open(request, &reach, from, count, type, &elements));
    if (reach.target == NULL)
        return MPI_SUCCESS;
    if (fetches)
        TRY(weftmpi_row(request, &result, WEFTMPI_FILL, &old_row));
    row = old_row;
    if (op != MPI_NO_OP)
        TRY(weftmpi_row(request, &elements, WEFTMPI_TAKE, &row));
    update.row = row;
    update.old = old_row;
    update.expected = expected;
    TRY(run_update(&reach, &update));
    if (fetches && request->waits)
        TRY(weftmpi_failed(weft_host_op_wait(weftmpi.job, reach.last, WEFT_LOCAL)));
    return weftmpi_reach_leave(request, &reach);
}

#define ACCUMULATE(N)     FROM(N), TO(N), MPI_Op op
#define GET_ACCUMULATE(N) FROM(N), OLD(N), TO(N), MPI_Op op
RMA(Accumulate, Raccumulate,
    begin_update(begun, from, count, type, false, NULL, 0, type, op, NULL, GIVEN), ACCUMULATE)
RMA(Get_accumulate, Rget_accumulate,
    begin_update(begun, from, count, type, true, old, old_count, old_type, op, NULL, GIVEN),
    GET_ACCUMULATE)

/* ---- one element, of the standard's types ---------------------------------------------------- */

static int update_one(const void *from, void *old, MPI_Datatype type, MPI_Op op,
                      const void *expected, int to, MPI_Aint offset, MPI_Win win)
{
    struct weftmpi_request request = {.waits = true};
    const struct weftmpi_type *found = weftmpi_find(WEFTMPI_TYPE, type);
    WIN_OF(on, win);

    TRY(HOLDS(found == NULL || found->basic, MPI_ERR_TYPE, "%s is not the standard's",
              found->name));
    TRY(HOLDS(expected == NULL || found == NULL || type == MPI_CHARACTER ||
                  weftmpi_can_operate(weftmpi_find(WEFTMPI_OP, MPI_BAND), found) ||
                  weftmpi_can_operate(weftmpi_find(WEFTMPI_OP, MPI_LAND), found),
              MPI_ERR_TYPE, "%s is no integer", found->name));
    const int error = begin_update(&request, from, 1, type, true, old, 1, type, op, expected, win,
                                   to, offset, 1, type);
    return weftmpi_request_wait(&request, error, MPI_STATUS_IGNORE);
}

CALL(Fetch_and_op,
     (const void *from, void *old, MPI_Datatype type, int to, MPI_Aint offset, MPI_Op op,
      MPI_Win win),
     update_one(from, old, type, op, NULL, to, offset, win))
CALL(Compare_and_swap,
     (const void *from, const void *expected, void *old, MPI_Datatype type, int to, MPI_Aint offset,
      MPI_Win win),
     INTO(expected, update_one(from, old, type, MPI_REPLACE, expected, to, offset, win)))
