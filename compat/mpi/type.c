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
                            .numbers = (MPI_Count[]){2, 1, 1},                                     \
                            .types_count = 2,                                                      \
                            .types = (struct weftmpi_type *[]){&weftmpi_types[value - 0x200],      \
                                                               &weftmpi_types[place - 0x200]}}},
struct weftmpi_type weftmpi_types[] = {
#include "types.def"
};

int weftmpi_no_elements(MPI_Count count, MPI_Datatype handle, struct weftmpi_elements *elements)
{
    if (count == 0 && handle == MPI_DATATYPE_NULL) { /* as other libraries have it */
        elements->type = WEFTMPI_BYTES;
        return MPI_SUCCESS;
    }
    OBJECT_IN(type, type, WEFTMPI_TYPE, handle);

    TRY(HOLDS(__atomic_load_n(&type->committed, __ATOMIC_RELAXED), MPI_ERR_TYPE,
              "the datatype %s is not committed", type->name));
    if (elements->user == MPI_IN_PLACE && count == 0)
        return MPI_SUCCESS;
    TRY(HOLDS(elements->user != MPI_IN_PLACE || count < 0, MPI_ERR_BUFFER,
              "MPI_IN_PLACE does not stand for this buffer"));
    return weftmpi_fail(MPI_ERR_COUNT, "count %lld, of %zu bytes each", (long long)count,
                        type->size);
}

/* ---- what programs ask ----------------------------------------------------------------------- */

ASK(Type_size, TYPE_IN, MPI_Datatype, int, of->size > INT32_MAX ? MPI_UNDEFINED : (int)of->size)
ASK(Type_size_c, TYPE_IN, MPI_Datatype, MPI_Count, (MPI_Count)of->size)
SAME(Type_size_x, Type_size_c)

#define EXTENT(name, from, to, number)                                                             \
    API(Type_get_##name, (MPI_Datatype handle, number * lower, number * extent))                   \
    {                                                                                              \
        OUT(lower, extent);                                                                        \
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

/* Functions of MPI 1 under their old names. */
ASK(Type_extent, TYPE_IN, MPI_Datatype, MPI_Aint, weftmpi_extent(of))
ASK(Type_lb, TYPE_IN, MPI_Datatype, MPI_Aint, of->lower)
ASK(Type_ub, TYPE_IN, MPI_Datatype, MPI_Aint, of->upper)

API(Type_match_size, (int typeclass, int bytes, MPI_Datatype *found))
{
    static const char *const classes[] = {"INTEGER", "REAL", "COMPLEX"};
    const bool known = typeclass >= MPI_TYPECLASS_INTEGER && typeclass <= MPI_TYPECLASS_COMPLEX;
    char name[MPI_MAX_OBJECT_NAME];

    OUT(found);
    snprintf(name, sizeof(name), "MPI_%s%d",
             known ? classes[typeclass - MPI_TYPECLASS_INTEGER] : "", bytes);
    for (size_t i = 0; i < sizeof(weftmpi_types) / sizeof(*weftmpi_types); i++)
        if (strcmp(weftmpi_types[i].name, name) == 0) {
            *found = weftmpi_types[i].object.handle;
            return MPI_SUCCESS;
        }
    return weftmpi_fail(MPI_ERR_ARG, "class %d of %d bytes", typeclass, bytes);
}

NAMES(Type, TYPE_IN, MPI_Datatype)

API(Type_commit, (MPI_Datatype * handle))
{
    OUT(handle);
    TYPE_IN(type, *handle);
    __atomic_store_n(&type->committed, true, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

GIVE_BACK(Type_free, TYPE_IN, MPI_Datatype, MPI_DATATYPE_NULL, true,
          HOLDS(!of->basic, MPI_ERR_TYPE, "%s is the standard's", of->name))

/* ---- what a datatype was made of ------------------------------------------------------------- */

void weftmpi_remember(struct weftmpi_type *type, int combiner, bool large,
                      const struct weftmpi_list lists[], int lists_count, const MPI_Datatype olds[],
                      MPI_Count olds_count)
{
    MPI_Count counts[2] = {0, 0}; /* of integers, of wide ones */

    for (int i = 0; i < lists_count; i++)
        counts[lists[i].numbers.wide] += lists[i].count;
    struct weftmpi_contents *contents =
        weftmpi_room(NULL, sizeof(*contents) + (size_t)(counts[0] + counts[1]) * sizeof(MPI_Count) +
                               (size_t)olds_count * sizeof(void *));
    *contents = (struct weftmpi_contents){.combiner = combiner,
                                          .large = large,
                                          .integers = counts[0],
                                          .wides = counts[1],
                                          .types_count = olds_count,
                                          .numbers = (MPI_Count *)(contents + 1)};
    contents->types = (struct weftmpi_type **)(contents->numbers + counts[0] + counts[1]);
    MPI_Count *at[2] = {contents->numbers, contents->numbers + counts[0]};
    for (int i = 0; i < lists_count; i++)
        for (MPI_Count k = 0; k < lists[i].count; k++)
            *at[lists[i].numbers.wide]++ = weftmpi_number(lists[i].numbers, k);
    for (MPI_Count i = 0; i < olds_count; i++)
        contents->types[i] = weftmpi_hold(weftmpi_find(WEFTMPI_TYPE, olds[i]));
    type->contents = contents;
}

void weftmpi_type_end(void *object)
{
    struct weftmpi_type *type = object;
    const struct weftmpi_contents *contents = type->contents;

    free(type->runs);
    for (MPI_Count i = 0; contents != NULL && i < contents->types_count; i++)
        weftmpi_leave(contents->types[i]);
    free((void *)contents);
}

const struct weftmpi_type *weftmpi_part(const struct weftmpi_type *type, MPI_Count i, size_t *times)
{
    const struct weftmpi_contents *of = type->contents;

    if (of == NULL || i >= of->types_count)
        return NULL;
    if (of->combiner == MPI_COMBINER_STRUCT) /* whose lengths stand behind their number */
        *times = (size_t)of->numbers[i + 1];
    else
        *times = of->types[i]->size == 0 ? 0 : type->size / of->types[i]->size;
    return of->types[i];
}

/* Finds what a datatype was made of; large: the call can tell large counts. */
static int contents_in(MPI_Datatype handle, bool large, const struct weftmpi_contents **contents)
{
    static const struct weftmpi_contents basic = {.combiner = MPI_COMBINER_NAMED};
    OBJECT_IN(type, type, WEFTMPI_TYPE, handle);

    *contents = type->basic ? &basic : type->contents;
    return HOLDS(large || !(*contents)->large, MPI_ERR_TYPE, "%s was made with large counts",
                 type->name);
}

API(Type_get_envelope,
    (MPI_Datatype handle, int *integers, int *addresses, int *types, int *combiner))
{
    const struct weftmpi_contents *contents = NULL;
    OUT(integers, addresses, types, combiner);
    TRY(contents_in(handle, false, &contents));
    *integers = (int)contents->integers;
    *addresses = (int)contents->wides;
    *types = (int)contents->types_count;
    *combiner = contents->combiner;
    return MPI_SUCCESS;
}

API(Type_get_envelope_c, (MPI_Datatype handle, MPI_Count *integers, MPI_Count *addresses,
                          MPI_Count *counts, MPI_Count *types, int *combiner))
{
    const struct weftmpi_contents *contents = NULL;
    OUT(integers, addresses, counts, types, combiner);
    TRY(contents_in(handle, true, &contents));
    *integers = contents->integers;
    *addresses = contents->large ? 0 : contents->wides;
    *counts = contents->large ? contents->wides : 0;
    *types = contents->types_count;
    *combiner = contents->combiner;
    return MPI_SUCCESS;
}

/* Tells what a datatype was made of. A datatype that is told has a reference of the program's,
 * which frees it. */
static int tell(MPI_Datatype handle, bool large, MPI_Count most_integers, MPI_Count most_addresses,
                MPI_Count most_counts, MPI_Count most_types, int integers[], MPI_Aint addresses[],
                MPI_Count counts[], MPI_Datatype types[])
{
    const struct weftmpi_contents *contents = NULL;

    TRY(contents_in(handle, large, &contents));
    TRY(HOLDS(contents->combiner != MPI_COMBINER_NAMED, MPI_ERR_TYPE,
              "the datatype is the standard's"));
    TRY(HOLDS(most_integers >= contents->integers &&
                  (contents->large ? most_counts : most_addresses) >= contents->wides &&
                  most_types >= contents->types_count,
              MPI_ERR_ARG, "no room for %lld integers, %lld %s, %lld datatypes",
              (long long)contents->integers, (long long)contents->wides,
              contents->large ? "counts" : "addresses", (long long)contents->types_count));
    TRY(LISTED(contents->integers, integers));
    TRY(LISTED(contents->wides, contents->large ? (const void *)counts : addresses));
    TRY(LISTED(contents->types_count, types));
    for (MPI_Count i = 0; i < contents->integers; i++)
        integers[i] = (int)contents->numbers[i];
    for (MPI_Count i = 0; i < contents->wides; i++)
        *(contents->large ? &counts[i] : &addresses[i]) = contents->numbers[contents->integers + i];
    for (MPI_Count i = 0; i < contents->types_count; i++) {
        weftmpi_hold(contents->types[i]);
        types[i] = contents->types[i]->object.handle;
    }
    return MPI_SUCCESS;
}

CALL(Type_get_contents,
     (MPI_Datatype type, int most_integers, int most_addresses, int most_types, int integers[],
      MPI_Aint addresses[], MPI_Datatype types[]),
     tell(type, false, most_integers, most_addresses, 0, most_types, integers, addresses, NULL,
          types))
CALL(Type_get_contents_c,
     (MPI_Datatype type, MPI_Count most_integers, MPI_Count most_addresses, MPI_Count most_counts,
      MPI_Count most_types, int integers[], MPI_Aint addresses[], MPI_Count counts[],
      MPI_Datatype types[]),
     tell(type, true, most_integers, most_addresses, most_counts, most_types, integers, addresses,
          counts, types))
