/*
 * compat/mpi/update.c - elements of windows that are updated. An update must not be divided.
 * Aligned elements of 4 and 8 bytes are updated as words, by what weft has for them or by compare
 * and swap; all others under a lock of the target. Which of the two depends on type and place
 * alone, so that all updates of an element are of one kind.
 */
#include "rma.h"

struct update {
    const struct weftmpi_op *op;
    const struct weftmpi_type *basic; /* of every element */
    MPI_Op handle;
    char *old;            /* a row for what was there; NULL: nobody asks */
    const void *expected; /* the update is made where this is there; NULL: always */
    bool known;           /* weft has the operation, under these names */
    weft_type element;
    weft_operation function;
};

/* *old is 0 before: of a word of 4 bytes its lower half is set. */
static weft_status fetch_add(const struct weftmpi_reach *reach, size_t offset, size_t size,
                             uint64_t value, uint64_t *old)
{
    return size == 8 ? weft_host_fetch_add(weftmpi.job, reach->exposure, 0, offset, value, old)
                     : weft_host_fetch_add_u32(weftmpi.job, reach->exposure, 0, offset,
                                               (uint32_t)value, (uint32_t *)old);
}

static weft_status compare_swap(const struct weftmpi_reach *reach, size_t offset, size_t size,
                                uint64_t expected, uint64_t value, uint64_t *old)
{
    return size == 8
               ? weft_host_compare_swap(weftmpi.job, reach->exposure, 0, offset, expected, value,
                                        old)
               : weft_host_compare_swap_u32(weftmpi.job, reach->exposure, 0, offset,
                                            (uint32_t)expected, (uint32_t)value, (uint32_t *)old);
}

static int accumulate_stretch(struct weftmpi_reach *reach, void *state, size_t offset, char *row,
                              size_t bytes)
{
    const struct update *update = state;

    reach->stretches++;
    return weftmpi_failed(weft_host_accumulate_begin(weftmpi.job, reach->exposure, 0, offset, row,
                                                     bytes / update->basic->size, update->element,
                                                     update->function, &reach->last));
}

/* ---- words that are updated by compare and swap, all at once --------------------------------- */

struct word {
    weft_win exposure;
    size_t offset;
    void *here;                /* mapped: this process swaps it itself, as weft does; or NULL */
    uint64_t old, seen, value; /* what was there; what a swap has seen; what is put there */
    bool done;
};
struct words {
    struct word *list;
    size_t count, size; /* size: of each */
};

static int list_stretch(struct weftmpi_reach *reach, void *state, size_t offset, char *row,
                        size_t bytes)
{
    struct words *words = state;
    void *memory;

    (void)row;
    TRY(weftmpi_failed(weft_host_ptr(weftmpi.job, reach->exposure, 0, &memory)));
    for (size_t at = offset; at < offset + bytes; at += words->size)
        words->list[words->count++] =
            (struct word){.exposure = reach->exposure,
                          .offset = at,
                          .here = memory != NULL ? (char *)memory + at : NULL};
    return MPI_SUCCESS;
}

static void swap_here(size_t size, struct word *word)
{
    uint32_t half = (uint32_t)word->old;

    word->seen = word->old;
    if (size == 8)
        __atomic_compare_exchange_n((uint64_t *)word->here, &word->seen, word->value, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    else if (!__atomic_compare_exchange_n((uint32_t *)word->here, &half, (uint32_t)word->value,
                                          false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        word->seen = half;
}

static weft_status begin_swap(size_t size, struct word *word)
{
    weft_op op;

    if (word->here != NULL) {
        swap_here(size, word);
        return WEFT_OK;
    }
    if (size == 8)
        return weft_host_compare_swap_begin(weftmpi.job, word->exposure, 0, word->offset, word->old,
                                            word->value, &word->seen, &op);
    return weft_host_compare_swap_u32_begin(weftmpi.job, word->exposure, 0, word->offset,
                                            (uint32_t)word->old, (uint32_t)word->value,
                                            (uint32_t *)&word->seen, &op);
}

/* Swaps all that are not done. Who has seen what it expected is done then; *left are the others. */
static int swap_words(const struct weftmpi_reach *reach, const struct words *words, size_t *left)
{
    weft_status status = weft_host_batch_begin(weftmpi.job);

    for (size_t i = 0; i < words->count && status == WEFT_OK; i++) {
        const weft_win before = i == 0 ? WEFT_WIN_NONE : words->list[i - 1].exposure;
        if (before != WEFT_WIN_NONE && before != words->list[i].exposure)
            status = weft_host_flush(weftmpi.job, before);
        if (status == WEFT_OK && !words->list[i].done)
            status = begin_swap(words->size, &words->list[i]);
    }
    weft_host_batch_end(weftmpi.job);
    TRY(weftmpi_failed(status));
    TRY(weftmpi_reach_flush(reach));
    *left = 0;
    for (size_t i = 0; i < words->count; i++) {
        struct word *word = &words->list[i];
        word->done |= word->seen == word->old;
        *left += !word->done;
        word->old = word->done ? word->old : word->seen;
    }
    return MPI_SUCCESS;
}

/* Each is expected to be 0 at first, and then what a swap has seen, which others do not divide. */
static int update_words(struct weftmpi_reach *reach, const struct update *update, char *row)
{
    const size_t size = update->basic->size, count = reach->elements.bytes / size;
    FREED struct word *list = calloc(count, sizeof(*list));
    struct words words = {.list = list, .size = size};
    size_t left;

    TRY(weftmpi_memory_in(list));
    TRY(weftmpi_reach_each(reach, row, list_stretch, &words));
    do {
        for (size_t i = 0; i < count; i++) {
            struct word *word = &list[i];
            word->value = word->old;
            if (update->handle == MPI_REPLACE)
                memcpy(&word->value, row + i * size, size);
            else if (update->handle != MPI_NO_OP && !word->done)
                weftmpi_operate(update->op, update->basic, row + i * size, &word->value, 1);
        }
        TRY(swap_words(reach, &words, &left));
    } while (left != 0 && update->handle != MPI_NO_OP);
    for (size_t i = 0; i < count && update->old != NULL; i++)
        memcpy(update->old + i * size, &list[i].old, size);
    return MPI_SUCCESS;
}

/* Whether a stretch is words, each of which is updated by itself; in vain: MPI_ERR_OTHER. */
static int check_words(struct weftmpi_reach *reach, void *state, size_t offset, char *row,
                       size_t bytes)
{
    const struct weftmpi_type *basic = ((const struct update *)state)->basic;
    const size_t size = basic->size;

    (void)row;
    return (size == 4 || size == 8) && basic->dense && bytes % size == 0 &&
                   (reach->home + offset) % size == 0
               ? MPI_SUCCESS
               : MPI_ERR_OTHER;
}

/* into = from op into, of elements in rows of bytes. */
static int combine(const struct update *update, const char *from, char *into, size_t bytes)
{
    const struct weftmpi_type *basic = update->basic;
    const size_t count = bytes / basic->size, whole = count * (size_t)weftmpi_extent(basic);

    if (update->handle == MPI_REPLACE) {
        memcpy(into, from, bytes);
        return MPI_SUCCESS;
    }
    FREED char *a = malloc(2 * whole); /* where they are aligned, with their gaps */
    TRY(weftmpi_memory_in(a));
    weftmpi_unpack(basic, bytes, from, a);
    weftmpi_unpack(basic, bytes, into, a + whole);
    weftmpi_operate(update->op, basic, a, a + whole, count);
    weftmpi_pack(basic, count, a + whole, into);
    return MPI_SUCCESS;
}

static int get_and_put(struct weftmpi_reach *reach, const struct update *update, char *row,
                       char *now)
{
    const size_t bytes = reach->elements.bytes;

    TRY(weftmpi_reach_move(reach, false, now));
    TRY(weftmpi_reach_flush(reach));
    if (update->old != NULL)
        memcpy(update->old, now, bytes);
    if (update->handle == MPI_NO_OP ||
        (update->expected != NULL && memcmp(update->expected, now, bytes) != 0))
        return MPI_SUCCESS;
    TRY(combine(update, row, now, bytes));
    TRY(weftmpi_reach_move(reach, true, now));
    return weftmpi_reach_flush(reach);
}

/* Under the target's lock: got, put together here, and put back. */
static int update_locked(struct weftmpi_reach *reach, const struct update *update, char *row)
{
    FREED char *now = malloc(reach->elements.bytes);

    TRY(weftmpi_memory_in(now));
    TRY(weftmpi_take_turn(reach->target, WEFTMPI_UPDATING, WEFTMPI_UPDATED));
    const int error = get_and_put(reach, update, row, now);
    const int end = weftmpi_next_turn(reach->target, WEFTMPI_UPDATED);
    return error != MPI_SUCCESS ? error : end;
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
    TRY(HOLDS(handle == MPI_REPLACE || handle == MPI_NO_OP ||
                  weftmpi_can_operate(op, update->basic),
              MPI_ERR_OP, "no operation for %s", update->basic->name));
    update->known = weftmpi_know(op, update->basic, &update->element, &update->function);
    return MPI_SUCCESS;
}

static int run_update(struct weftmpi_reach *reach, struct update *update, char *row)
{
    const size_t size = update->basic->size;
    const bool counts =
        update->known && update->function == WEFT_SUM && update->element < WEFT_F32; /* integers */
    uint64_t value = 0, was = 0;

    if (reach->win->in_turn || weftmpi_reach_each(reach, row, check_words, update) != MPI_SUCCESS)
        return update_locked(reach, update, row);
    if (update->old == NULL && update->known)
        return weftmpi_reach_each(reach, row, accumulate_stretch, update);
    if ((!counts && update->handle != MPI_NO_OP) || reach->elements.bytes != size ||
        !reach->elements.type->dense)
        return update_words(reach, update, row);
    if (counts) /* one counter: in one crossing */
        memcpy(&value, row, size);
    TRY(weftmpi_failed(fetch_add(reach, weftmpi_reach_place(reach), size, value, &was)));
    if (update->old != NULL)
        memcpy(update->old, &was, size);
    return MPI_SUCCESS;
}

/* fetches: what was there goes to old, and all is over when it returns. */
static int begin_update(struct weftmpi_request *request, FROM(MPI_Count), bool fetches,
                        OLD(MPI_Count), MPI_Op op, MPI_Win win, TO(MPI_Count))
{
    struct weftmpi_elements elements, result;
    struct update update;
    struct weftmpi_reach reach;
    void *row, *old_row = NULL;

    TRY(weftmpi_reach_in(&reach, GIVEN));
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
    update.old = old_row;
    TRY(run_update(&reach, &update, row));
    if (!fetches)
        return weftmpi_reach_leave(request, &reach);
    weftmpi_request_until(request);
    return MPI_SUCCESS;
}

#define ACCUMULATE(N)     FROM(N), TO(N), MPI_Op op
#define GET_ACCUMULATE(N) FROM(N), OLD(N), TO(N), MPI_Op op
RMA(Accumulate, Raccumulate,
    begin_update(begun, from, count, type, false, NULL, 0, type, op, GIVEN), ACCUMULATE)
RMA(Get_accumulate, Rget_accumulate,
    begin_update(begun, from, count, type, true, old, old_count, old_type, op, GIVEN),
    GET_ACCUMULATE)

/* ---- one element ----------------------------------------------------------------------------- */

API(Fetch_and_op, (const void *from, void *old, MPI_Datatype type, int to, MPI_Aint offset,
                   MPI_Op op, MPI_Win win))
{
    struct weftmpi_request request = {.waits = true};
    const struct weftmpi_type *found = weftmpi_find(WEFTMPI_TYPE, type);
    ENTER;
    TRY(HOLDS(found == NULL || found->basic, MPI_ERR_TYPE, "%s is not the standard's",
              found->name));
    const int error =
        begin_update(&request, from, 1, type, true, old, 1, type, op, win, to, offset, 1, type);
    return weftmpi_request_wait(&request, error, MPI_STATUS_IGNORE);
}

API(Compare_and_swap, (const void *from, const void *expected, void *old, MPI_Datatype type, int to,
                       MPI_Aint offset, MPI_Win handle))
{
    uint64_t put = 0, compared = 0, seen = 0;
    struct weftmpi_reach reach;
    struct update update;
    ENTER;
    TRY(weftmpi_reach_in(&reach, handle, to, offset, 1, type));
    TRY(update_in(&reach, MPI_REPLACE, true, &update));
    if (reach.target == NULL)
        return MPI_SUCCESS;
    const struct weftmpi_type *basic = update.basic;
    const size_t size = basic->size;
    TRY(HOLDS(reach.elements.type->basic && basic->dense &&
                  (weftmpi_can_operate(&weftmpi_ops[0x28 - 0x20], basic) ||
                   weftmpi_can_operate(&weftmpi_ops[0x30 - 0x20], basic) || type == MPI_CHARACTER),
              MPI_ERR_TYPE, "%s is no integer", basic->name));
    memcpy(&put, from, size);
    update.old = old;
    update.expected = expected;
    if (reach.win->in_turn ||
        weftmpi_reach_each(&reach, (char *)&put, check_words, &update) != MPI_SUCCESS)
        return update_locked(&reach, &update, (char *)&put);
    memcpy(&compared, expected, size);
    TRY(weftmpi_failed(
        compare_swap(&reach, weftmpi_reach_place(&reach), size, compared, put, &seen)));
    memcpy(old, &seen, size);
    return MPI_SUCCESS;
}
