/*
 * compat/mpi/construct.c - datatypes that programs make: each is flattened as it is made, into runs
 * of memory in the order of its type map.
 */
#include "internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- runs ------------------------------------------------------------------------------------ */

/* Puts a run behind the last one, or joins them. False: no memory. */
static bool add_run(struct weftmpi_type *type, struct weftmpi_run run)
{
    struct weftmpi_run *last = type->runs_count == 0 ? NULL : &type->runs[type->runs_count - 1];

    if (run.bytes == 0 || run.repeat == 0)
        return true;
    if (run.repeat > 1 && run.stride == (MPI_Aint)run.bytes)
        run = (struct weftmpi_run){run.offset, 0, run.bytes * run.repeat, 1};
    if (last != NULL && run.repeat == 1 && last->repeat == 1 &&
        last->offset + (MPI_Aint)last->bytes == run.offset) {
        last->bytes += run.bytes;
        return true;
    }
    if (last != NULL && last->bytes == run.bytes &&
        (last->repeat == 1 || last->offset + last->stride * (MPI_Aint)last->repeat == run.offset)) {
        const MPI_Aint stride = last->repeat == 1 ? run.offset - last->offset : last->stride;
        if (run.repeat == 1 || run.stride == stride) {
            last->stride = stride;
            last->repeat += run.repeat;
            return true;
        }
    }
    if ((type->runs_count & (type->runs_count - 1)) == 0) { /* a power of two, or none */
        const size_t room = type->runs_count == 0 ? 1 : 2 * type->runs_count;
        struct weftmpi_run *runs = realloc(type->runs, room * sizeof(*runs));
        if (runs == NULL)
            return false;
        type->runs = runs;
    }
    type->runs[type->runs_count++] = run;
    return true;
}

/* The runs of one element. */
static bool add_element(struct weftmpi_type *type, const struct weftmpi_type *old, MPI_Aint offset)
{
    for (size_t i = 0; i < old->runs_count; i++) {
        struct weftmpi_run run = old->runs[i];
        run.offset += offset;
        if (!add_run(type, run))
            return false;
    }
    return true;
}

/* ---- the basic elements ---------------------------------------------------------------------- */

static void leave_pattern(struct weftmpi_pattern *pattern)
{
    if (pattern == NULL || __atomic_sub_fetch(&pattern->references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    for (size_t i = 0; i < pattern->count; i++)
        leave_pattern(pattern->parts[i].of);
    free(pattern->parts);
    free(pattern);
}

/* Behind what is there, those of `times` elements of old. False: no memory. */
static bool add_part(struct weftmpi_type *type, const struct weftmpi_type *old, size_t times)
{
    struct weftmpi_pattern *pattern = type->pattern;
    struct weftmpi_part *parts =
        realloc(pattern->parts, (pattern->count + 1) * sizeof(*pattern->parts));

    if (parts == NULL)
        return false;
    __atomic_add_fetch(&old->pattern->references, 1, __ATOMIC_RELAXED);
    pattern->parts = parts;
    parts[pattern->count++] = (struct weftmpi_part){old->pattern, times};
    pattern->bytes += old->pattern->bytes * times;
    pattern->elements += old->pattern->elements * times;
    return true;
}

/* ---- types ----------------------------------------------------------------------------------- */

static struct weftmpi_type *make(void)
{
    struct weftmpi_type *type = weftmpi_make(WEFTMPI_TYPE, sizeof(*type));
    struct weftmpi_pattern *pattern = calloc(1, sizeof(*pattern));

    if (type == NULL || pattern == NULL) {
        free(pattern);
        weftmpi_leave(type);
        return NULL;
    }
    type->lower = type->true_lower = INTPTR_MAX;
    type->upper = type->true_upper = INTPTR_MIN;
    type->align = 1;
    type->pattern = pattern;
    pattern->references = 1;
    return type;
}

void weftmpi_type_end(void *object)
{
    const struct weftmpi_type *type = object;

    free(type->runs);
    leave_pattern(type->pattern);
}

static void stretch(MPI_Aint *lower, MPI_Aint *upper, MPI_Aint from, MPI_Aint to)
{
    if (from < *lower)
        *lower = from;
    if (to > *upper)
        *upper = to;
}

/* Behind what is there, `count` elements of old, `stride` apart, the first at offset. */
static bool add(struct weftmpi_type *type, const struct weftmpi_type *old, size_t count,
                MPI_Aint offset, MPI_Aint stride)
{
    if (count == 0)
        return true;
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
        return add_run(type, (struct weftmpi_run){offset + old->runs[0].offset, stride,
                                                  old->runs[0].bytes, count});
    for (size_t i = 0; i < count; i++)
        if (!add_element(type, old, offset + stride * (MPI_Aint)i))
            return false;
    return true;
}

/* The type is complete (or, if not, there was no memory): *handle. Takes it. */
static int give(const char *call, struct weftmpi_type *type, bool complete, MPI_Datatype *handle)
{
    if (!complete || handle == NULL) {
        weftmpi_leave(type);
        return complete ? weftmpi_place_in(call, handle) : weftmpi_no_memory(NULL, call);
    }
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
    *handle = type->object.handle;
    return MPI_SUCCESS;
}

static int old_in(const char *call, MPI_Datatype handle, int count, struct weftmpi_type **old)
{
    *old = weftmpi_find(WEFTMPI_TYPE, handle);
    if (*old == NULL)
        return weftmpi_no_object(NULL, call, WEFTMPI_TYPE);
    return count >= 0 ? MPI_SUCCESS : weftmpi_fail(NULL, call, MPI_ERR_COUNT, "count %d", count);
}

/* `count` blocks of lengths elements (all `length` if lengths is NULL) at offsets in bytes. */
static int blocks(const char *call, int count, const int *lengths, int length,
                  const MPI_Aint *offsets, const int *places, MPI_Datatype handle,
                  MPI_Datatype *made)
{
    struct weftmpi_type *old;

    TRY(old_in(call, handle, count, &old));
    for (int i = 0; i < count; i++)
        if ((lengths != NULL ? lengths[i] : length) < 0)
            return weftmpi_fail(NULL, call, MPI_ERR_ARG, "block %d has %d elements", i,
                                lengths != NULL ? lengths[i] : length);
    const MPI_Aint extent = weftmpi_extent(old);
    struct weftmpi_type *type = make();
    bool complete = type != NULL;
    size_t all = 0;
    for (int i = 0; i < count && complete; i++) {
        const size_t many = (size_t)(lengths != NULL ? lengths[i] : length);
        complete = add(type, old, many, offsets != NULL ? offsets[i] : places[i] * extent, extent);
        all += many;
    }
    return give(call, type, complete && add_part(type, old, all), made);
}

static int vector(const char *call, int count, int length, MPI_Aint stride, MPI_Datatype handle,
                  bool in_elements, MPI_Datatype *made)
{
    struct weftmpi_type *old;

    TRY(old_in(call, handle, count, &old));
    if (length < 0)
        return weftmpi_fail(NULL, call, MPI_ERR_ARG, "blocks of %d elements", length);
    const MPI_Aint extent = weftmpi_extent(old), step = in_elements ? stride * extent : stride;
    struct weftmpi_type *type = make(), *block = make();
    bool complete = type != NULL && block != NULL && add(block, old, (size_t)length, 0, extent) &&
                    (length == 0 || add(type, block, (size_t)count, 0, step)) &&
                    add_part(type, old, (size_t)count * (size_t)length);
    weftmpi_leave(block);
    return give(call, type, complete, made);
}

CALL(Type_contiguous, (int count, MPI_Datatype old, MPI_Datatype *made),
     vector(__func__, count, 1, 1, old, true, made))
CALL(Type_vector, (int count, int length, int stride, MPI_Datatype old, MPI_Datatype *made),
     vector(__func__, count, length, stride, old, true, made))
CALL(Type_create_hvector,
     (int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made),
     vector(__func__, count, length, stride, old, false, made))
CALL(Type_indexed,
     (int count, const int lengths[], const int offsets[], MPI_Datatype handle, MPI_Datatype *made),
     blocks(__func__, count, lengths, 0, NULL, offsets, handle, made))
CALL(Type_create_hindexed,
     (int count, const int lengths[], const MPI_Aint offsets[], MPI_Datatype handle,
      MPI_Datatype *made),
     blocks(__func__, count, lengths, 0, offsets, NULL, handle, made))
CALL(Type_create_indexed_block,
     (int count, int length, const int offsets[], MPI_Datatype handle, MPI_Datatype *made),
     blocks(__func__, count, NULL, length, NULL, offsets, handle, made))

API(Type_create_struct, (int count, const int lengths[], const MPI_Aint offsets[],
                         const MPI_Datatype olds[], MPI_Datatype *made))
{
    struct weftmpi_type *old;

    TRY(old_in(__func__, MPI_BYTE, count, &old));
    for (int i = 0; i < count; i++)
        TRY(old_in(__func__, olds[i], lengths[i], &old));
    struct weftmpi_type *type = make();
    bool complete = type != NULL;
    for (int i = 0; i < count && complete; i++) {
        old = weftmpi_find(WEFTMPI_TYPE, olds[i]);
        complete = add(type, old, (size_t)lengths[i], offsets[i], weftmpi_extent(old)) &&
                   add_part(type, old, (size_t)lengths[i]);
    }
    return give(__func__, type, complete, made);
}

API(Type_create_resized, (MPI_Datatype handle, MPI_Aint lower, MPI_Aint extent, MPI_Datatype *made))
{
    struct weftmpi_type *old, *type;

    TRY(old_in(__func__, handle, 0, &old));
    type = make();
    const bool complete = type != NULL && add(type, old, 1, 0, 0) && add_part(type, old, 1);
    if (complete) {
        type->bounded = true;
        type->lower = lower;
        type->upper = lower + extent;
    }
    return give(__func__, type, complete, made);
}

API(Type_dup, (MPI_Datatype handle, MPI_Datatype *made))
{
    struct weftmpi_type *old, *copy;

    OUT(made);
    TRY(old_in(__func__, handle, 0, &old));
    TRY(PMPI_Type_create_resized(handle, old->lower, weftmpi_extent(old), made));
    TRY(old_in(__func__, *made, 0, &copy));
    copy->bounded = old->bounded;
    copy->committed = old->committed;
    return MPI_SUCCESS;
}

/* Dimension by dimension, the one that varies fastest first: rows of rows. */
API(Type_create_subarray, (int ndims, const int sizes[], const int subsizes[], const int starts[],
                           int order, MPI_Datatype handle, MPI_Datatype *made))
{
    struct weftmpi_type *old;

    TRY(old_in(__func__, handle, ndims, &old));
    if (ndims < 1 || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN))
        return weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "%d dimensions, order %d", ndims, order);
    for (int i = 0; i < ndims; i++)
        if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
            return weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "dimension %d: %d from %d on, of %d",
                                i, subsizes[i], starts[i], sizes[i]);
    const MPI_Aint extent = weftmpi_extent(old);
    MPI_Aint step = extent, offset = 0;
    size_t elements = 1;
    struct weftmpi_type *row = make();
    bool complete = row != NULL && add(row, old, 1, 0, extent);
    for (int k = 0; k < ndims; k++) {
        const int i = order == MPI_ORDER_C ? ndims - 1 - k : k;
        struct weftmpi_type *rows = make();
        complete = complete && rows != NULL && add(rows, row, (size_t)subsizes[i], 0, step);
        weftmpi_leave(row);
        row = rows;
        offset += starts[i] * step;
        step *= sizes[i];
        elements *= (size_t)subsizes[i];
    }
    for (size_t i = 0; complete && i < row->runs_count; i++)
        row->runs[i].offset += offset;
    if (complete) {
        row->true_lower += offset;
        row->true_upper += offset;
        row->bounded = true;
        row->lower = 0;
        row->upper = step;
    }
    return give(__func__, row, complete && add_part(row, old, elements), made);
}
