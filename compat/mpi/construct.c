/*
 * compat/mpi/construct.c - datatypes that programs make: each is flattened as it is made, into runs
 * of memory in the order of its type map.
 */
#include "construct.h"

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

struct weftmpi_type *weftmpi_type_make(void)
{
    struct weftmpi_type *type = weftmpi_make(WEFTMPI_TYPE, sizeof(*type));

    type->lower = type->true_lower = INTPTR_MAX;
    type->upper = type->true_upper = INTPTR_MIN;
    type->align = 1;
    return type;
}

static void stretch(MPI_Aint *lower, MPI_Aint *upper, MPI_Aint from, MPI_Aint to)
{
    if (from < *lower)
        *lower = from;
    if (to > *upper)
        *upper = to;
}

void weftmpi_type_add(struct weftmpi_type *type, const struct weftmpi_type *old, size_t count,
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
        stretch(&type->lower, &type->upper, offset + old->lower, offset + old->upper);
        stretch(&type->lower, &type->upper, last + old->lower, last + old->upper);
    }
    if (old->size != 0) {
        stretch(&type->true_lower, &type->true_upper, offset + old->true_lower,
                offset + old->true_upper);
        stretch(&type->true_lower, &type->true_upper, last + old->true_lower,
                last + old->true_upper);
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

void weftmpi_type_bound(struct weftmpi_type *type, MPI_Aint lower, MPI_Aint upper)
{
    type->bounded = true;
    type->lower = lower;
    type->upper = upper;
}

int weftmpi_type_give(struct weftmpi_type *type, MPI_Datatype *handle)
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

int weftmpi_type_old(MPI_Datatype handle, MPI_Count count, struct weftmpi_type **old)
{
    *old = weftmpi_find(WEFTMPI_TYPE, handle);
    if (*old == NULL)
        return weftmpi_no_object(WEFTMPI_TYPE);
    return HOLDS(count >= 0, MPI_ERR_COUNT, "count %lld", (long long)count);
}

/* `count` blocks of elements, of which those of a struct have a datatype each. */
static int blocks(bool large, int combiner, MPI_Count count, struct weftmpi_numbers lengths,
                  struct weftmpi_numbers places, const MPI_Datatype olds[], MPI_Datatype *made)
{
    const bool several = combiner == MPI_COMBINER_STRUCT;
    const bool in_bytes =
        several || combiner == MPI_COMBINER_HINDEXED || combiner == MPI_COMBINER_HINDEXED_BLOCK;
    struct weftmpi_type *old;

    TRY(LISTED(count, lengths.at == NULL || olds == NULL ? NULL : places.at));
    TRY(weftmpi_type_old(several ? MPI_BYTE : olds[0], count, &old));
    for (MPI_Count i = 0; i < count; i++) {
        const MPI_Count length = weftmpi_number(lengths, i);
        if (several)
            TRY(weftmpi_type_old(olds[i], 0, &old));
        TRY(HOLDS(length >= 0, several ? MPI_ERR_COUNT : MPI_ERR_ARG,
                  "block %lld has %lld elements", (long long)i, (long long)length));
    }
    struct weftmpi_type *type = weftmpi_type_make();
    for (MPI_Count i = 0; i < count; i++) {
        const size_t length = (size_t)weftmpi_number(lengths, i);
        old = several ? weftmpi_find(WEFTMPI_TYPE, olds[i]) : old;
        const MPI_Aint extent = weftmpi_extent(old), place = weftmpi_number(places, i);
        weftmpi_type_add(type, old, length, in_bytes ? place : place * extent, extent);
    }
    const struct weftmpi_list lists[] = {
        SCALAR(large, count), {lengths, lengths.same ? 1 : count}, {places, count}};
    weftmpi_remember(type, combiner, large, lists, 3, olds, several ? count : 1);
    return weftmpi_type_give(type, made);
}

static int vector(bool large, int combiner, MPI_Count count, MPI_Count length, MPI_Count stride,
                  MPI_Datatype handle, MPI_Datatype *made)
{
    struct weftmpi_type *old;

    TRY(weftmpi_type_old(handle, count, &old));
    TRY(HOLDS(length >= 0, MPI_ERR_ARG, "blocks of %lld elements", (long long)length));
    const bool in_bytes = combiner == MPI_COMBINER_HVECTOR;
    const MPI_Aint extent = weftmpi_extent(old), step = in_bytes ? stride : stride * extent;
    struct weftmpi_type *type = weftmpi_type_make();
    HELD struct weftmpi_type *block = weftmpi_type_make();
    const struct weftmpi_list lists[] = {SCALAR(large, count), SCALAR(large, length),
                                         SCALAR(large || in_bytes, stride)};
    weftmpi_type_add(block, old, (size_t)length, 0, extent);
    if (length != 0)
        weftmpi_type_add(type, block, (size_t)count, 0, step);
    weftmpi_remember(type, combiner, large, lists, combiner == MPI_COMBINER_CONTIGUOUS ? 1 : 3,
                     &handle, 1);
    return weftmpi_type_give(type, made);
}

/* The same elements between other bounds. */
static int resize(bool large, int combiner, MPI_Datatype handle, MPI_Count lower, MPI_Count extent,
                  MPI_Datatype *made)
{
    const struct weftmpi_list bounds[] = {SCALAR(true, lower), SCALAR(true, extent)};
    struct weftmpi_type *old, *type;

    TRY(weftmpi_type_old(handle, 0, &old));
    type = weftmpi_type_make();
    weftmpi_type_add(type, old, 1, 0, 0);
    weftmpi_remember(type, combiner, large, bounds, combiner == MPI_COMBINER_RESIZED ? 2 : 0,
                     &handle, 1);
    weftmpi_type_bound(type, lower, lower + extent);
    return weftmpi_type_give(type, made);
}

/* N: the type of counts, A: of addresses. */
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

/* Those of MPI 1. */
SAME(Type_hvector, Type_create_hvector)
SAME(Type_hindexed, Type_create_hindexed)
SAME(Type_struct, Type_create_struct)

API(Type_dup, (MPI_Datatype handle, MPI_Datatype *made))
{
    struct weftmpi_type *old, *copy;

    OUT(made);
    TRY(weftmpi_type_old(handle, 0, &old));
    TRY(resize(false, MPI_COMBINER_DUP, handle, old->lower, weftmpi_extent(old), made));
    TRY(weftmpi_type_old(*made, 0, &copy));
    copy->bounded = old->bounded;
    copy->align = old->align;
    copy->committed = old->committed;
    const int error = weftmpi_attributes_copy(&old->object, &copy->object.attributes);
    if (error != MPI_SUCCESS)
        PMPI_Type_free(made);
    return error;
}
