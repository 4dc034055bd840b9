/* compat/mpi/type.c - datatypes: those of the standard, and what all have in common. */
#include "internal.h"

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Of one element, by its size. */
#define ELEMENT(size) [size] = {.references = 1, .bytes = size, .elements = 1}
static struct weftmpi_pattern singles[] = {ELEMENT(1), ELEMENT(2),  ELEMENT(4),
                                           ELEMENT(8), ELEMENT(16), ELEMENT(32)};

/* Of a basic type the bytes are one run, and one element; of a pair two. */
#define STANDARD(type_name, whole, bytes)                                                          \
    .object = {type_name, 1}, .size = bytes, .upper = sizeof(whole), .align = _Alignof(whole),     \
    .dense = (bytes) == sizeof(whole), .committed = true, .basic = true
#define TYPE(number, type_name, ctype, ...)                                                        \
    [number - 0x200] = {STANDARD(type_name, ctype, sizeof(ctype)),                                 \
                        .name = #type_name,                                                        \
                        .true_upper = sizeof(ctype),                                               \
                        .runs = (struct weftmpi_run[]){{0, sizeof(ctype), sizeof(ctype), 1}},      \
                        .runs_count = 1,                                                           \
                        .pattern = &singles[sizeof(ctype)]},
#define VALUE(t) sizeof(((struct weftmpi_pair_##t *)0)->value)
#define INDEX(t) offsetof(struct weftmpi_pair_##t, index)
#define PAIR(number, type_name, t)                                                                 \
    [number - 0x200] = {                                                                           \
        STANDARD(type_name, struct weftmpi_pair_##t, VALUE(t) + sizeof(int)),                      \
        .name = #type_name,                                                                        \
        .true_upper = INDEX(t) + sizeof(int),                                                      \
        .runs = (struct weftmpi_run[]){{0, VALUE(t), VALUE(t), 1},                                 \
                                       {INDEX(t), sizeof(int), sizeof(int), 1}},                   \
        .runs_count = 2,                                                                           \
        .pattern = &(struct weftmpi_pattern){                                                      \
            1, VALUE(t) + sizeof(int), 2, 2,                                                       \
            (struct weftmpi_part[]){{&singles[VALUE(t)], 1}, {&singles[sizeof(int)], 1}}}},
struct weftmpi_type weftmpi_types[] = {
#include "types.def"
};

int weftmpi_elements_in(struct weftmpi_comm *comm, const char *call, const void *user, int count,
                        MPI_Datatype handle, struct weftmpi_elements *elements)
{
    struct weftmpi_type *type = weftmpi_find(WEFTMPI_TYPE, handle);

    if (type == NULL)
        return weftmpi_no_object(comm, call, WEFTMPI_TYPE);
    if (!__atomic_load_n(&type->committed, __ATOMIC_RELAXED))
        return weftmpi_fail(comm, call, MPI_ERR_TYPE, "the datatype %s is not committed",
                            type->name);
    if (count < 0)
        return weftmpi_fail(comm, call, MPI_ERR_COUNT, "count %d", count);
    *elements =
        (struct weftmpi_elements){(void *)user, (size_t)count, (size_t)count * type->size, type};
    return MPI_SUCCESS;
}

/* ---- what programs ask ----------------------------------------------------------------------- */

ASK(Type_size, TYPE_IN, MPI_Datatype, of->size > INT32_MAX ? MPI_UNDEFINED : (int)of->size)

#define EXTENT(name, from, to)                                                                     \
    API(Type_get_##name, (MPI_Datatype handle, MPI_Aint * lower, MPI_Aint * extent))               \
    {                                                                                              \
        OUT(lower);                                                                                \
        OUT(extent);                                                                               \
        TYPE_IN(type, handle);                                                                     \
        *lower = type->from;                                                                       \
        *extent = type->to - type->from;                                                           \
        return MPI_SUCCESS;                                                                        \
    }
EXTENT(extent, lower, upper)
EXTENT(true_extent, true_lower, true_upper)
NAMES(Type, TYPE_IN, MPI_Datatype)

API(Type_commit, (MPI_Datatype * handle))
{
    TYPE_IN(type, *handle);
    __atomic_store_n(&type->committed, true, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

API(Type_free, (MPI_Datatype * handle))
{
    TYPE_IN(type, *handle);
    if (type->basic)
        return weftmpi_fail(NULL, __func__, MPI_ERR_TYPE, "%s is the standard's", type->name);
    weftmpi_leave(type); /* operations under way may name it still */
    *handle = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}
