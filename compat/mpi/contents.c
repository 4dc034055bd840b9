/* compat/mpi/contents.c - what a datatype was made of, as programs ask for it. */
#include "internal.h"

#include <limits.h>

void weftmpi_remember(struct weftmpi_type *type, int combiner, bool large,
                      const struct weftmpi_list lists[], int lists_count, const MPI_Datatype olds[],
                      MPI_Count olds_count)
{
    MPI_Count counts[2] = {0, 0}; /* of integers, of wide ones */

    for (int i = 0; i < lists_count; i++)
        counts[lists[i].numbers.wide] += lists[i].count;
    struct weftmpi_contents *contents =
        malloc(sizeof(*contents) + (size_t)counts[1] * sizeof(MPI_Count) +
               (size_t)olds_count * sizeof(void *) + (size_t)counts[0] * sizeof(int));
    if (type == NULL || contents == NULL) {
        free(contents);
        if (type != NULL)
            type->no_memory = true;
        return;
    }
    *contents = (struct weftmpi_contents){.combiner = combiner,
                                          .large = large,
                                          .integers_count = counts[0],
                                          .wides_count = counts[1],
                                          .types_count = olds_count};
    contents->wides = (MPI_Count *)(contents + 1);
    contents->types = (struct weftmpi_type **)(contents->wides + counts[1]);
    contents->integers = (int *)(contents->types + olds_count);
    counts[0] = counts[1] = 0;
    for (int i = 0; i < lists_count; i++)
        for (MPI_Count k = 0; k < lists[i].count; k++) {
            const MPI_Count number = weftmpi_number(lists[i].numbers, k);
            if (lists[i].numbers.wide)
                contents->wides[counts[1]++] = number;
            else
                contents->integers[counts[0]++] = (int)number;
        }
    for (MPI_Count i = 0; i < olds_count; i++)
        contents->types[i] = weftmpi_hold(weftmpi_find(WEFTMPI_TYPE, olds[i]));
    type->contents = contents;
}

void weftmpi_forget(const struct weftmpi_contents *contents)
{
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
        *times = (size_t)(of->large ? of->wides[i + 1] : of->integers[i + 1]);
    else
        *times = of->types[i]->size == 0 ? 0 : type->size / of->types[i]->size;
    return of->types[i];
}

/* Those of a datatype; large: the call can tell large counts. */
static int contents_in(MPI_Datatype handle, bool large, const struct weftmpi_contents **contents)
{
    static const struct weftmpi_contents basic = {.combiner = MPI_COMBINER_NAMED};
    OBJECT_IN(type, type, WEFTMPI_TYPE, handle);

    *contents = type->basic ? &basic : type->contents;
    return large || !(*contents)->large
               ? MPI_SUCCESS
               : weftmpi_fail(MPI_ERR_TYPE, "%s was made with large counts", type->name);
}

API(Type_get_envelope,
    (MPI_Datatype handle, int *integers, int *addresses, int *types, int *combiner))
{
    const struct weftmpi_contents *contents = NULL;
    ENTER;
    TRY(contents_in(handle, false, &contents));
    *integers = (int)contents->integers_count;
    *addresses = (int)contents->wides_count;
    *types = (int)contents->types_count;
    *combiner = contents->combiner;
    return MPI_SUCCESS;
}

API(Type_get_envelope_c, (MPI_Datatype handle, MPI_Count *integers, MPI_Count *addresses,
                          MPI_Count *counts, MPI_Count *types, int *combiner))
{
    const struct weftmpi_contents *contents = NULL;
    ENTER;
    TRY(contents_in(handle, true, &contents));
    *integers = contents->integers_count;
    *addresses = contents->large ? 0 : contents->wides_count;
    *counts = contents->large ? contents->wides_count : 0;
    *types = contents->types_count;
    *combiner = contents->combiner;
    return MPI_SUCCESS;
}

/* A datatype that is told has a reference of the program's, which frees it. */
static int tell(MPI_Datatype handle, bool large, MPI_Count most_integers, MPI_Count most_addresses,
                MPI_Count most_counts, MPI_Count most_types, int integers[], MPI_Aint addresses[],
                MPI_Count counts[], MPI_Datatype types[])
{
    const struct weftmpi_contents *contents = NULL;

    TRY(contents_in(handle, large, &contents));
    if (contents->combiner == MPI_COMBINER_NAMED)
        return weftmpi_fail(MPI_ERR_TYPE, "the datatype is the standard's");
    if (most_integers < contents->integers_count ||
        (contents->large ? most_counts : most_addresses) < contents->wides_count ||
        most_types < contents->types_count)
        return weftmpi_fail(MPI_ERR_ARG, "no room for %lld integers, %lld %s, %lld datatypes",
                            (long long)contents->integers_count, (long long)contents->wides_count,
                            contents->large ? "counts" : "addresses",
                            (long long)contents->types_count);
    for (MPI_Count i = 0; i < contents->integers_count; i++)
        integers[i] = contents->integers[i];
    for (MPI_Count i = 0; i < contents->wides_count; i++)
        if (contents->large)
            counts[i] = contents->wides[i];
        else
            addresses[i] = contents->wides[i];
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
