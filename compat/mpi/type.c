/* compat/mpi/type.c - datatypes: those of the standard, and what all have in common. */
#include "internal.h"

#include <complex.h>
#include <stdio.h>
#include <wchar.h>

#define VALUE(t) sizeof(((struct weftmpi_pair_##t *)0)->value)
#define INDEX(t) offsetof(struct weftmpi_pair_##t, index)
#define PLACE(t) sizeof(((struct weftmpi_pair_##t *)0)->index)

/* By their number, 0x200 less. Of a basic type the bytes are one run; a pair is made of two. */
#define STANDARD(number, type_name, whole, bytes)                                                  \
    .object = {.handle = type_name, .references = 1}, .size = bytes, .upper = sizeof(whole),       \
    .align = _Alignof(whole), .dense = (bytes) == sizeof(whole), .committed = true, .basic = true, \
    .only_basic = &weftmpi_types[number - 0x200]
#define TYPE(number, type_name, ctype, ...)                                                        \
    [number - 0x200] = {STANDARD(number, type_name, ctype, sizeof(ctype)),                         \
                        .name = #type_name,                                                        \
                        .true_upper = sizeof(ctype),                                               \
                        .runs = (struct weftmpi_run[]){{0, sizeof(ctype), sizeof(ctype), 1}},      \
                        .runs_count = 1,                                                           \
                        .elements = 1},
#define PAIR(number, type_name, t, value, place)                                                   \
    [number - 0x200] = {STANDARD(number, type_name, struct weftmpi_pair_##t, VALUE(t) + PLACE(t)), \
                        .name = #type_name,                                                        \
                        .true_upper = INDEX(t) + PLACE(t),                                         \
                        .runs = (struct weftmpi_run[]){{0, VALUE(t), VALUE(t), 1},                 \
                                                       {INDEX(t), PLACE(t), PLACE(t), 1}},         \
                        .runs_count = 2,                                                           \
                        .elements = 2,                                                             \
                        .contents = &(const struct weftmpi_contents){                              \
                            .combiner = MPI_COMBINER_STRUCT,                                       \
                            .integers = (int[]){2, 1, 1},                                          \
                            .types_count = 2,                                                      \
                            .types = (struct weftmpi_type *[]){&weftmpi_types[value - 0x200],      \
                                                               &weftmpi_types[place - 0x200]}}},
struct weftmpi_type weftmpi_types[] = {
#include "types.def"
};

int weftmpi_no_elements(MPI_Count count, MPI_Datatype handle)
{
    OBJECT_IN(type, type, WEFTMPI_TYPE, handle);

    if (!__atomic_load_n(&type->committed, __ATOMIC_RELAXED))
        return weftmpi_fail(MPI_ERR_TYPE, "the datatype %s is not committed", type->name);
    return weftmpi_fail(MPI_ERR_COUNT, "count %lld", (long long)count);
}

/* ---- what programs ask ----------------------------------------------------------------------- */

ASK(Type_size, TYPE_IN, MPI_Datatype, int, of->size > INT32_MAX ? MPI_UNDEFINED : (int)of->size)
ASK(Type_size_c, TYPE_IN, MPI_Datatype, MPI_Count, (MPI_Count)of->size)
SAME(Type_size_x, Type_size_c)

#define EXTENT(name, from, to, number)                                                             \
    API(Type_get_##name, (MPI_Datatype handle, number * lower, number * extent))                   \
    {                                                                                              \
        OUT(lower);                                                                                \
        OUT(extent);                                                                               \
        TYPE_IN(type, handle);                                                                     \
        *lower = type->from;                                                                       \
        *extent = type->to - type->from;                                                           \
        return MPI_SUCCESS;                                                                        \
    }
EXTENT(extent, lower, upper, MPI_Aint)
EXTENT(true_extent, true_lower, true_upper, MPI_Aint)
EXTENT(extent_c, lower, upper, MPI_Count)
EXTENT(true_extent_c, true_lower, true_upper, MPI_Count)
SAME(Type_get_extent_x, Type_get_extent_c)
SAME(Type_get_true_extent_x, Type_get_true_extent_c)

/* Those of MPI 1. */
ASK(Type_extent, TYPE_IN, MPI_Datatype, MPI_Aint, weftmpi_extent(of))
ASK(Type_lb, TYPE_IN, MPI_Datatype, MPI_Aint, of->lower)
ASK(Type_ub, TYPE_IN, MPI_Datatype, MPI_Aint, of->upper)

API(Type_match_size, (int typeclass, int bytes, MPI_Datatype *found))
{
    static const struct {
        int typeclass, bytes;
        MPI_Datatype type;
    } rows[] = {
        {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
        {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
        {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
        {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},
        {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16}, {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
    };

    OUT(found);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].typeclass == typeclass && rows[i].bytes == bytes) {
            *found = rows[i].type;
            return MPI_SUCCESS;
        }
    return weftmpi_fail(MPI_ERR_ARG, "class %d of %d bytes", typeclass, bytes);
}

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
        return weftmpi_fail(MPI_ERR_TYPE, "%s is the standard's", type->name);
    TRY(weftmpi_attributes_delete(&type->object));
    weftmpi_leave(type); /* operations under way may name it still */
    *handle = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}
