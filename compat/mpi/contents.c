/* compat/mpi/contents.c - what a datatype was made of, as programs ask for it. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct weftmpi_contents {
    int combiner, integers_count, addresses_count, types_count;
    int *integers;
    MPI_Aint *addresses;
    struct weftmpi_type **types; /* with a reference each */
};

bool weftmpi_remember(struct weftmpi_type *type, int combiner, const struct weftmpi_list lists[],
                      int lists_count, const MPI_Aint addresses[], int addresses_count,
                      const MPI_Datatype olds[], int olds_count)
{
    size_t integers = 0;

    for (int i = 0; i < lists_count; i++)
        integers += (size_t)lists[i].count;
    const size_t all = (size_t)addresses_count * sizeof(MPI_Aint) +
                       (size_t)olds_count * sizeof(void *) + integers * sizeof(int);
    struct weftmpi_contents *contents = malloc(sizeof(*contents) + all);
    if (contents == NULL)
        return false;
    *contents = (struct weftmpi_contents){.combiner = combiner,
                                          .integers_count = (int)integers,
                                          .addresses_count = addresses_count,
                                          .types_count = olds_count};
    contents->addresses = (MPI_Aint *)(contents + 1);
    contents->types = (struct weftmpi_type **)(contents->addresses + addresses_count);
    contents->integers = (int *)(contents->types + olds_count);
    for (int i = 0, at = 0; i < lists_count; at += lists[i++].count)
        if (lists[i].count != 0)
            memcpy(contents->integers + at, lists[i].at, (size_t)lists[i].count * sizeof(int));
    if (addresses_count != 0)
        memcpy(contents->addresses, addresses, (size_t)addresses_count * sizeof(MPI_Aint));
    for (int i = 0; i < olds_count; i++)
        contents->types[i] = weftmpi_hold(weftmpi_find(WEFTMPI_TYPE, olds[i]));
    type->contents = contents;
    return true;
}

void weftmpi_forget(struct weftmpi_contents *contents)
{
    for (int i = 0; contents != NULL && i < contents->types_count; i++)
        weftmpi_leave(contents->types[i]);
    free(contents);
}

API(Type_get_envelope,
    (MPI_Datatype handle, int *integers, int *addresses, int *types, int *combiner))
{
    static const struct weftmpi_contents basic = {.combiner = MPI_COMBINER_NAMED};

    TYPE_IN(type, handle);
    const struct weftmpi_contents *contents = type->basic ? &basic : type->contents;
    *integers = contents->integers_count;
    *addresses = contents->addresses_count;
    *types = contents->types_count;
    *combiner = contents->combiner;
    return MPI_SUCCESS;
}

/* A datatype that is told has a reference of the program's, which frees it. */
API(Type_get_contents, (MPI_Datatype handle, int most_integers, int most_addresses, int most_types,
                        int integers[], MPI_Aint addresses[], MPI_Datatype types[]))
{
    TYPE_IN(type, handle);
    if (type->basic)
        return weftmpi_fail(NULL, __func__, MPI_ERR_TYPE, "%s is the standard's", type->name);
    const struct weftmpi_contents *contents = type->contents;
    if (most_integers < contents->integers_count || most_addresses < contents->addresses_count ||
        most_types < contents->types_count)
        return weftmpi_fail(NULL, __func__, MPI_ERR_ARG,
                            "room for %d integers, %d addresses, %d datatypes of %d, %d, %d",
                            most_integers, most_addresses, most_types, contents->integers_count,
                            contents->addresses_count, contents->types_count);
    for (int i = 0; i < contents->integers_count; i++)
        integers[i] = contents->integers[i];
    for (int i = 0; i < contents->addresses_count; i++)
        addresses[i] = contents->addresses[i];
    for (int i = 0; i < contents->types_count; i++) {
        weftmpi_hold(contents->types[i]);
        types[i] = contents->types[i]->object.handle;
    }
    return MPI_SUCCESS;
}
