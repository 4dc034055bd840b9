/*
 * compat/mpi/construct.c - datatypes that programs make: each is flattened as it is made, into runs
 * of memory in the order of its type map. Parts of arrays are rows of rows.
 */
#include "internal.h"

#include <stdint.h>

/* ---- runs ------------------------------------------------------------------------------------ */

/* Puts a run behind the last one, or joins them. */
static void add_run(struct weftmpi_type *type, struct weftmpi_run run)
{
    struct weftmpi_run *last = type->runs_count == 0 ? NULL : &type->runs[type->runs_count - 1];

    if (run.bytes == 0 || run.repeat == 0)
        return;
    if (run.repeat > 1 && run.stride == (MPI_Aint)run.bytes)
        run = (struct weftmpi_run){
            .offset = run.offset, .bytes = run.bytes * run.repeat, .repeat = 1};
    if (last != NULL && run.repeat == 1 && last->repeat == 1 &&
        last->offset + (MPI_Aint)last->bytes == run.offset) {
        last->bytes += run.bytes;
        return;
    }
    if (last != NULL && last->bytes == run.bytes &&
        (last->repeat == 1 || last->offset + last->stride * (MPI_Aint)last->repeat == run.offset)) {
        const MPI_Aint stride = last->repeat == 1 ? run.offset - last->offset : last->stride;
        if (run.repeat == 1 || run.stride == stride) {
            last->stride = stride;
            last->repeat += run.repeat;
            return;
        }
    }
    if ((type->runs_count & (type->runs_count - 1)) == 0) { /* a power of two, or none */
        const size_t room = type->runs_count == 0 ? 1 : 2 * type->runs_count;
        type->runs = weftmpi_room(type->runs, room * sizeof(run));
    }
    type->runs[type->runs_count++] = run;
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Makes an empty datatype. */
static struct weftmpi_type *type_make(void)
{
    struct weftmpi_type *type = weftmpi_make(WEFTMPI_TYPE, sizeof(*type));

    type->lower = type->true_lower = INTPTR_MAX;
    type->upper = type->true_upper = INTPTR_MIN;
    type->align = 1;
    return type;
}

static void widen(MPI_Aint *lower, MPI_Aint *upper, MPI_Aint from, MPI_Aint to)
{
    if (from < *lower)
        *lower = from;
    if (to > *upper)
        *upper = to;
}

/* Adds, behind what is there, `count` elements of old, `stride` apart, the first at offset. */
static void type_add(struct weftmpi_type *type, const struct weftmpi_type *old, size_t count,
                     MPI_Aint offset, MPI_Aint stride)
{
    if (count == 0)
        return;
    const size_t before = type->elements;
    type->elements += count * old->elements;
    if (before == 0)
        type->only_basic = old->only_basic;
    else if (type->elements != before && type->only_basic != old->only_basic)
        type->only_basic = NULL;
    const MPI_Aint last = offset + stride * (MPI_Aint)(count - 1);
    if (old->bounded && !type->bounded) {
        type->bounded = true;
        type->lower = INTPTR_MAX;
        type->upper = INTPTR_MIN;
    }
    if (old->bounded == type->bounded) {
        widen(&type->lower, &type->upper, offset + old->lower, offset + old->upper);
        widen(&type->lower, &type->upper, last + old->lower, last + old->upper);
    }
    if (old->size != 0) {
        widen(&type->true_lower, &type->true_upper, offset + old->true_lower,
              offset + old->true_upper);
        widen(&type->true_lower, &type->true_upper, last + old->true_lower, last + old->true_upper);
    }
    type->size += old->size * count;
    if (old->align > type->align)
        type->align = old->align;
    if (old->runs_count == 1 && old->runs[0].repeat == 1)
        add_run(type, (struct weftmpi_run){.offset = offset + old->runs[0].offset,
                                           .stride = stride,
                                           .bytes = old->runs[0].bytes,
                                           .repeat = count});
    else
        for (size_t i = 0; i < count; i++, offset += stride)
            for (size_t r = 0; r < old->runs_count; r++) {
                struct weftmpi_run run = old->runs[r];
                run.offset += offset;
                add_run(type, run);
            }
}

/* Gives a datatype the bounds that the program sets. */
static void type_bound(struct weftmpi_type *type, MPI_Aint lower, MPI_Aint upper)
{
    type->bounded = true;
    type->lower = lower;
    type->upper = upper;
}

/* Completes a datatype, which it takes: *handle is the program's. */
static int type_give(struct weftmpi_type *type, MPI_Datatype *handle)
{
    if (type->size == 0)
        type->true_lower = type->true_upper = 0;
    if (type->lower == INTPTR_MAX) /* there is nothing in it */
        type->lower = type->upper = 0;
    if (!type->bounded) { /* as a compiler pads a struct */
        const MPI_Aint align = (MPI_Aint)type->align, rest = weftmpi_extent(type) % align;
        type->upper += rest == 0 ? 0 : align - rest;
    }
    type->dense = type->size == 0 || (type->runs_count == 1 && type->runs[0].repeat == 1 &&
                                      (MPI_Aint)type->size == weftmpi_extent(type));
    return weftmpi_give(type, handle);
}

/* Finds the datatype of which another one is made, and checks the count. */
static int type_old(MPI_Datatype handle, MPI_Count count, struct weftmpi_type **old)
{
    *old = weftmpi_find(WEFTMPI_TYPE, handle);
    if (*old == NULL)
        return weftmpi_no_object(WEFTMPI_TYPE);
    return HOLDS(count >= 0, MPI_ERR_COUNT, "count %lld", (long long)count);
}

/* Makes a datatype of `count` blocks of elements, of which those of a struct have a datatype
 * each. */
static int blocks(bool large, int combiner, MPI_Count count, struct weftmpi_numbers lengths,
                  struct weftmpi_numbers places, const MPI_Datatype olds[], MPI_Datatype *made)
{
    const bool several = combiner == MPI_COMBINER_STRUCT;
    const bool in_bytes =
        several || combiner == MPI_COMBINER_HINDEXED || combiner == MPI_COMBINER_HINDEXED_BLOCK;
    struct weftmpi_type *old;

    TRY(LISTED(count, lengths.at == NULL || olds == NULL ? NULL : places.at));
    TRY(type_old(several ? MPI_BYTE : olds[0], count, &old));
    for (MPI_Count i = 0; i < count; i++) {
        const MPI_Count length = weftmpi_number(lengths, i);
        if (several)
            TRY(type_old(olds[i], 0, &old));
        TRY(HOLDS(length >= 0, several ? MPI_ERR_COUNT : MPI_ERR_ARG,
                  "block %lld has %lld elements", (long long)i, (long long)length));
    }
    struct weftmpi_type *type = type_make();
    for (MPI_Count i = 0; i < count; i++) {
        const size_t length = (size_t)weftmpi_number(lengths, i);
        old = several ? weftmpi_find(WEFTMPI_TYPE, olds[i]) : old;
        const MPI_Aint extent = weftmpi_extent(old), place = weftmpi_number(places, i);
        type_add(type, old, length, in_bytes ? place : place * extent, extent);
    }
    const struct weftmpi_list lists[] = {
        SCALAR(large, count), {lengths, lengths.same ? 1 : count}, {places, count}};
    weftmpi_remember(type, combiner, large, lists, 3, olds, several ? count : 1);
    return type_give(type, made);
}

static int vector(bool large, int combiner, MPI_Count count, MPI_Count length, MPI_Count stride,
                  MPI_Datatype handle, MPI_Datatype *made)
{
    struct weftmpi_type *old;

    TRY(type_old(handle, count, &old));
    TRY(HOLDS(length >= 0, MPI_ERR_ARG, "blocks of %lld elements", (long long)length));
    const bool in_bytes = combiner == MPI_COMBINER_HVECTOR;
    const MPI_Aint extent = weftmpi_extent(old), step = in_bytes ? stride : stride * extent;
    struct weftmpi_type *type = type_make();
    HELD struct weftmpi_type *block = type_make();
    const struct weftmpi_list lists[] = {SCALAR(large, count), SCALAR(large, length),
                                         SCALAR(large || in_bytes, stride)};
    type_add(block, old, (size_t)length, 0, extent);
    if (length != 0)
        type_add(type, block, (size_t)count, 0, step);
    weftmpi_remember(type, combiner, large, lists, combiner == MPI_COMBINER_CONTIGUOUS ? 1 : 3,
                     &handle, 1);
    return type_give(type, made);
}

/* Makes a datatype of the same elements between other bounds. */
static int resize(bool large, int combiner, MPI_Datatype handle, MPI_Count lower, MPI_Count extent,
                  MPI_Datatype *made)
{
    const struct weftmpi_list bounds[] = {SCALAR(true, lower), SCALAR(true, extent)};
    struct weftmpi_type *old, *type;

    TRY(type_old(handle, 0, &old));
    type = type_make();
    type_add(type, old, 1, 0, 0);
    weftmpi_remember(type, combiner, large, bounds, combiner == MPI_COMBINER_RESIZED ? 2 : 0,
                     &handle, 1);
    type_bound(type, lower, lower + extent);
    return type_give(type, made);
}

/* Defines the constructors. N: the type of counts, A: of addresses. */
#define LARGE(N)       (sizeof(N) != sizeof(int))
#define ONE(N, length) ((struct weftmpi_numbers){&(length), LARGE(N), true})
#define CONSTRUCTORS(c, N, A)                                                                      \
    CALL(Type_contiguous##c, (N count, MPI_Datatype old, MPI_Datatype * made),                     \
         vector(LARGE(N), MPI_COMBINER_CONTIGUOUS, count, 1, 1, old, made))                        \
    CALL(Type_vector##c, (N count, N length, N stride, MPI_Datatype old, MPI_Datatype * made),     \
         vector(LARGE(N), MPI_COMBINER_VECTOR, count, length, stride, old, made))                  \
    CALL(Type_create_hvector##c,                                                                   \
         (N count, N length, A stride, MPI_Datatype old, MPI_Datatype * made),                     \
         vector(LARGE(N), MPI_COMBINER_HVECTOR, count, length, stride, old, made))                 \
    CALL(Type_indexed##c,                                                                          \
         (N count, const N lengths[], const N offsets[], MPI_Datatype old, MPI_Datatype *made),    \
         blocks(LARGE(N), MPI_COMBINER_INDEXED, count, NUMBERS(lengths), NUMBERS(offsets), &old,   \
                made))                                                                             \
    CALL(Type_create_hindexed##c,                                                                  \
         (N count, const N lengths[], const A offsets[], MPI_Datatype old, MPI_Datatype *made),    \
         blocks(LARGE(N), MPI_COMBINER_HINDEXED, count, NUMBERS(lengths), NUMBERS(offsets), &old,  \
                made))                                                                             \
    CALL(Type_create_indexed_block##c,                                                             \
         (N count, N length, const N offsets[], MPI_Datatype old, MPI_Datatype *made),             \
         blocks(LARGE(N), MPI_COMBINER_INDEXED_BLOCK, count, ONE(N, length), NUMBERS(offsets),     \
                &old, made))                                                                       \
    CALL(Type_create_hindexed_block##c,                                                            \
         (N count, N length, const A offsets[], MPI_Datatype old, MPI_Datatype *made),             \
         blocks(LARGE(N), MPI_COMBINER_HINDEXED_BLOCK, count, ONE(N, length), NUMBERS(offsets),    \
                &old, made))                                                                       \
    CALL(Type_create_struct##c,                                                                    \
         (N count, const N lengths[], const A offsets[], const MPI_Datatype olds[],                \
          MPI_Datatype *made),                                                                     \
         blocks(LARGE(N), MPI_COMBINER_STRUCT, count, NUMBERS(lengths), NUMBERS(offsets), olds,    \
                made))                                                                             \
    CALL(Type_create_resized##c, (MPI_Datatype old, A lower, A extent, MPI_Datatype * made),       \
         resize(LARGE(N), MPI_COMBINER_RESIZED, old, lower, extent, made))
TWINS(CONSTRUCTORS)

/* Functions of MPI 1 under their old names. */
SAME(Type_hvector, Type_create_hvector)
SAME(Type_hindexed, Type_create_hindexed)
SAME(Type_struct, Type_create_struct)

API(Type_dup, (MPI_Datatype handle, MPI_Datatype *made))
{
    struct weftmpi_type *old, *copy;

    OUT(made);
    TRY(type_old(handle, 0, &old));
    TRY(resize(false, MPI_COMBINER_DUP, handle, old->lower, weftmpi_extent(old), made));
    TRY(type_old(*made, 0, &copy));
    copy->bounded = old->bounded;
    copy->align = old->align;
    copy->committed = old->committed;
    const int error = weftmpi_attributes_copy(&old->object, &copy->object.attributes);
    if (error != MPI_SUCCESS)
        PMPI_Type_free(made);
    return error;
}

/* ---- parts of arrays ------------------------------------------------------------------------- */

/* What of one dimension belongs to it: so many from `first` on, and again `step` further. */
struct stretch {
    MPI_Count first, count, step;
};

/* Makes a part of an array, dimension by dimension, the one that varies fastest first: rows of
 * rows. */
static int array(int ndims, struct weftmpi_numbers sizes, const struct stretch of[], int order,
                 MPI_Datatype handle, int combiner, const struct weftmpi_list lists[],
                 int lists_count, MPI_Datatype *made)
{
    struct weftmpi_type *old;

    TRY(type_old(handle, ndims, &old));
    const MPI_Aint extent = weftmpi_extent(old);
    MPI_Aint step = extent;
    struct weftmpi_type *row = type_make();
    type_add(row, old, 1, 0, extent);
    for (int k = 0; k < ndims; k++) {
        const int i = order == MPI_ORDER_C ? ndims - 1 - k : k;
        struct weftmpi_type *rows = type_make();
        const MPI_Count size = weftmpi_number(sizes, i);
        for (MPI_Count at = of[i].first; at < size; at += of[i].step)
            type_add(rows, row, (size_t)(of[i].count < size - at ? of[i].count : size - at),
                     at * step, step);
        weftmpi_leave(row);
        row = rows;
        step *= size;
    }
    weftmpi_remember(row, combiner, sizes.wide, lists, lists_count, &handle, 1);
    type_bound(row, 0, step);
    return type_give(row, made);
}

static int check_array(int ndims, int order)
{
    return HOLDS(ndims >= 1 && (order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN), MPI_ERR_ARG,
                 "%d dimensions, order %d", ndims, order);
}

static int subarray(int ndims, struct weftmpi_numbers sizes, struct weftmpi_numbers subsizes,
                    struct weftmpi_numbers starts, int order, MPI_Datatype handle,
                    MPI_Datatype *made)
{
    TRY(check_array(ndims, order));
    TRY(LISTED(ndims, sizes.at == NULL || subsizes.at == NULL ? NULL : starts.at));
    struct stretch of[ndims];
    for (int i = 0; i < ndims; i++) {
        const MPI_Count size = weftmpi_number(sizes, i), part = weftmpi_number(subsizes, i);
        const MPI_Count start = weftmpi_number(starts, i);
        TRY(HOLDS(size >= 1 && part >= 1 && start >= 0 && start <= size - part, MPI_ERR_ARG,
                  "dimension %d: %lld from %lld on, of %lld", i, (long long)part, (long long)start,
                  (long long)size));
        of[i] = (struct stretch){start, part, size};
    }
    const struct weftmpi_list lists[] = {SCALAR(false, ndims),
                                         {sizes, ndims},
                                         {subsizes, ndims},
                                         {starts, ndims},
                                         SCALAR(false, order)};
    return array(ndims, sizes, of, order, handle, MPI_COMBINER_SUBARRAY, lists, 5, made);
}

/* Tells what of a dimension of `size` has the process at that place among `n`. */
static int distribute(MPI_Count size, int how, int argument, int n, int at, struct stretch *of)
{
    const bool whole = how == MPI_DISTRIBUTE_NONE, cyclic = how == MPI_DISTRIBUTE_CYCLIC;
    const MPI_Count least = (size + n - 1) / n;
    MPI_Count block = argument;

    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        block = cyclic ? 1 : least;
    TRY(HOLDS(size >= 1 && n >= 1 && block >= 1 && (!whole || n == 1) &&
                  (how != MPI_DISTRIBUTE_BLOCK || block >= least) &&
                  (whole || cyclic || how == MPI_DISTRIBUTE_BLOCK),
              MPI_ERR_ARG, "%lld elements over %d processes, distribution %d, argument %d",
              (long long)size, n, how, argument));
    if (whole)
        block = size;
    /* One whose first lies behind the end has none. */
    const MPI_Count first = at * block;
    *of = (struct stretch){first < size ? first : size, block, n * block};
    return MPI_SUCCESS;
}

static int darray(int size, int rank, int ndims, struct weftmpi_numbers sizes,
                  const int distributions[], const int arguments[], const int grid[], int order,
                  MPI_Datatype handle, MPI_Datatype *made)
{
    long cells = 1;

    TRY(check_array(ndims, order));
    TRY(LISTED(ndims,
               sizes.at == NULL || distributions == NULL || arguments == NULL ? NULL : grid));
    struct stretch of[ndims];
    for (int i = 0; i < ndims; i++)
        cells *= grid[i];
    TRY(HOLDS(cells == size && rank >= 0 && rank < size, MPI_ERR_ARG,
              "rank %d of %d in a grid of %ld", rank, size, cells));
    for (int i = ndims - 1, rest = rank; i >= 0; rest /= grid[i--]) /* as MPI numbers grids */
        TRY(distribute(weftmpi_number(sizes, i), distributions[i], arguments[i], grid[i],
                       rest % grid[i], &of[i]));
    const struct weftmpi_list lists[] = {SCALAR(false, size),
                                         SCALAR(false, rank),
                                         SCALAR(false, ndims),
                                         {sizes, ndims},
                                         {NUMBERS(distributions), ndims},
                                         {NUMBERS(arguments), ndims},
                                         {NUMBERS(grid), ndims},
                                         SCALAR(false, order)};
    return array(ndims, sizes, of, order, handle, MPI_COMBINER_DARRAY, lists, 8, made);
}

/* Defines the calls for parts of arrays. N: the type of sizes. */
#define ARRAY_TYPES(c, N, A)                                                                       \
    CALL(Type_create_subarray##c,                                                                  \
         (int ndims, const N sizes[], const N subsizes[], const N starts[], int order,             \
          MPI_Datatype old, MPI_Datatype *made),                                                   \
         subarray(ndims, NUMBERS(sizes), NUMBERS(subsizes), NUMBERS(starts), order, old, made))    \
    CALL(Type_create_darray##c,                                                                    \
         (int size, int rank, int ndims, const N sizes[], const int distributions[],               \
          const int arguments[], const int grid[], int order, MPI_Datatype old,                    \
          MPI_Datatype *made),                                                                     \
         darray(size, rank, ndims, NUMBERS(sizes), distributions, arguments, grid, order, old,     \
                made))
TWINS(ARRAY_TYPES)
