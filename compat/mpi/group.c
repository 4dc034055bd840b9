/* compat/mpi/group.c - groups: lists of processes. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct weftmpi_group weftmpi_groups[] = {{.object = {MPI_GROUP_EMPTY, 1}}};

struct weftmpi_group *weftmpi_group_make(int size)
{
    struct weftmpi_group *group =
        weftmpi_make(WEFTMPI_GROUP, sizeof(*group) + (size_t)size * sizeof(group->processes[0]));

    if (group != NULL)
        group->size = size;
    return group;
}

int weftmpi_group_rank(const struct weftmpi_group *group, int process)
{
    for (int i = 0; i < group->size; i++)
        if (group->processes[i] == process)
            return i;
    return MPI_UNDEFINED;
}

/* The group of a handle, in a function of MPI, or for `call`: declares it. */
#define GROUP_IN(name, handle) GROUP_OF(name, __func__, handle)
#define GROUP_OF(name, call, handle)                                                               \
    TRY(weftmpi_is_open(call));                                                                    \
    OBJECT_IN(name, group, WEFTMPI_GROUP, call, handle)

/* The handle of a group, whose reference it takes. */
static int give(const char *call, struct weftmpi_group *group, MPI_Group *handle)
{
    if (group == NULL || handle == NULL) {
        weftmpi_leave(group);
        return group == NULL ? weftmpi_no_memory(NULL, call) : weftmpi_place_in(call, handle);
    }
    *handle = group->size == 0 ? MPI_GROUP_EMPTY : group->object.handle;
    if (group->size == 0)
        weftmpi_leave(group);
    return MPI_SUCCESS;
}

API(Comm_group, (MPI_Comm handle, MPI_Group *group))
{
    COMM_IN(comm, handle);
    struct weftmpi_group *copy = weftmpi_group_make(comm->size);
    if (copy != NULL)
        memcpy(copy->processes, comm->group->processes,
               (size_t)comm->size * sizeof(copy->processes[0]));
    return give(__func__, copy, group);
}

ASK(Group_size, GROUP_IN, MPI_Group, of->size)
ASK(Group_rank, GROUP_IN, MPI_Group, weftmpi_group_rank(of, weft_numbers_of(weftmpi.job)->process))

/* How often each rank of the group is named, which must be once at most. */
static int mark(const char *call, const struct weftmpi_group *group, int rank, unsigned char *named)
{
    if (rank < 0 || rank >= group->size)
        return weftmpi_fail(NULL, call, MPI_ERR_RANK, "rank %d of %d", rank, group->size);
    if (named[rank]++ != 0)
        return weftmpi_fail(NULL, call, MPI_ERR_RANK, "rank %d is named twice", rank);
    return MPI_SUCCESS;
}

/* The group of the ranks that are named, in order (`ranks`), or of those that are not. */
static int choose(const char *call, MPI_Group handle, int n, const int *ranks, bool exclude,
                  MPI_Group *made)
{
    GROUP_OF(group, call, handle);
    unsigned char *named = calloc((size_t)group->size + 1, 1);
    int error = MPI_SUCCESS, at = 0;

    if (n < 0)
        error = weftmpi_fail(NULL, call, MPI_ERR_ARG, "%d ranks", n);
    for (int i = 0; named != NULL && i < n && error == MPI_SUCCESS; i++)
        error = mark(call, group, ranks[i], named);
    if (error != MPI_SUCCESS) {
        free(named);
        return error;
    }
    struct weftmpi_group *chosen =
        named == NULL ? NULL : weftmpi_group_make(exclude ? group->size - n : n);
    for (int i = 0; chosen != NULL && i < (exclude ? group->size : n); i++)
        if (!exclude)
            chosen->processes[at++] = group->processes[ranks[i]];
        else if (!named[i])
            chosen->processes[at++] = group->processes[i];
    free(named);
    return give(call, chosen, made);
}

CALL(Group_incl, (MPI_Group group, int n, const int ranks[], MPI_Group *made),
     choose(__func__, group, n, ranks, false, made))
CALL(Group_excl, (MPI_Group group, int n, const int ranks[], MPI_Group *made),
     choose(__func__, group, n, ranks, true, made))

/* The same with first, last and stride. */
static int choose_ranges(const char *call, MPI_Group handle, int n, int ranges[][3], bool exclude,
                         MPI_Group *made)
{
    GROUP_OF(group, call, handle);
    int *ranks = malloc(((size_t)group->size + 1) * sizeof(*ranks)), count = 0;
    if (ranks == NULL)
        return weftmpi_no_memory(NULL, call);
    for (int i = 0; i < n; i++) {
        const int first = ranges[i][0], last = ranges[i][1], step = ranges[i][2];
        const bool none = step > 0 ? first > last : first < last;
        const long many = step == 0 || none ? 0 : ((long)last - first) / step + 1;
        if (step == 0 || many > group->size - count) {
            free(ranks);
            return weftmpi_fail(NULL, call, MPI_ERR_ARG,
                                "range %d: %d to %d by %d in a group of %d", i, first, last, step,
                                group->size);
        }
        for (long k = 0; k < many; k++)
            ranks[count++] = first + (int)k * step;
    }
    const int error = choose(call, handle, count, ranks, exclude, made);
    free(ranks);
    return error;
}

CALL(Group_range_incl, (MPI_Group handle, int n, int ranges[][3], MPI_Group *made),
     choose_ranges(__func__, handle, n, ranges, false, made))
CALL(Group_range_excl, (MPI_Group handle, int n, int ranges[][3], MPI_Group *made),
     choose_ranges(__func__, handle, n, ranges, true, made))

/* Those of a that are (`with`), or are not, in b; then those of b that are not in a if `both`. */
static int combine(const char *call, MPI_Group handle_a, MPI_Group handle_b, bool with, bool all,
                   MPI_Group *made)
{
    GROUP_OF(a, call, handle_a);
    GROUP_OF(b, call, handle_b);
    struct weftmpi_group *group = weftmpi_group_make(a->size + b->size);
    int at = 0;
    for (int i = 0; group != NULL && i < a->size; i++)
        if (all || (weftmpi_group_rank(b, a->processes[i]) >= 0) == with)
            group->processes[at++] = a->processes[i];
    for (int i = 0; group != NULL && all && i < b->size; i++)
        if (weftmpi_group_rank(a, b->processes[i]) < 0)
            group->processes[at++] = b->processes[i];
    if (group != NULL)
        group->size = at;
    return give(call, group, made);
}

CALL(Group_union, (MPI_Group a, MPI_Group b, MPI_Group *made),
     combine(__func__, a, b, false, true, made))
CALL(Group_intersection, (MPI_Group a, MPI_Group b, MPI_Group *made),
     combine(__func__, a, b, true, false, made))
CALL(Group_difference, (MPI_Group a, MPI_Group b, MPI_Group *made),
     combine(__func__, a, b, false, false, made))

API(Group_translate_ranks,
    (MPI_Group handle_a, int n, const int ranks[], MPI_Group handle_b, int translated[]))
{
    if (n > 0)
        OUT(translated);
    GROUP_IN(a, handle_a);
    GROUP_IN(b, handle_b);
    for (int i = 0; i < n; i++) {
        if (ranks[i] == MPI_PROC_NULL) {
            translated[i] = MPI_PROC_NULL;
            continue;
        }
        if (ranks[i] < 0 || ranks[i] >= a->size)
            return weftmpi_fail(NULL, __func__, MPI_ERR_RANK, "rank %d of %d", ranks[i], a->size);
        translated[i] = weftmpi_group_rank(b, a->processes[ranks[i]]);
    }
    return MPI_SUCCESS;
}

int weftmpi_group_compare(const struct weftmpi_group *a, const struct weftmpi_group *b)
{
    int result = MPI_IDENT;

    if (a->size != b->size)
        return MPI_UNEQUAL;
    for (int i = 0; i < a->size; i++)
        if (weftmpi_group_rank(b, a->processes[i]) < 0)
            return MPI_UNEQUAL;
        else if (a->processes[i] != b->processes[i])
            result = MPI_SIMILAR;
    return result;
}

API(Group_compare, (MPI_Group handle_a, MPI_Group handle_b, int *result))
{
    OUT(result);
    GROUP_IN(a, handle_a);
    GROUP_IN(b, handle_b);
    *result = weftmpi_group_compare(a, b);
    return MPI_SUCCESS;
}

API(Group_free, (MPI_Group * handle))
{
    GROUP_IN(group, *handle);
    weftmpi_leave(group);
    *handle = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}
