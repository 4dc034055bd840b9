/* compat/mpi/group.c - groups: lists of processes. */
#include "win.h"

#include <stdlib.h>
#include <string.h>

struct weftmpi_group weftmpi_groups[] = {{.object = {.handle = MPI_GROUP_EMPTY, .references = 1}}};

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
    TRY(weftmpi_give(call, group, handle));
    if (group->size == 0) {
        *handle = MPI_GROUP_EMPTY;
        weftmpi_leave(group);
    }
    return MPI_SUCCESS;
}

/* One of an object's, which the program frees by itself. */
static int give_copy(const char *call, const struct weftmpi_group *group, MPI_Group *handle)
{
    struct weftmpi_group *copy = weftmpi_group_make(group->size);

    if (copy != NULL)
        memcpy(copy->processes, group->processes, (size_t)group->size * sizeof(copy->processes[0]));
    return give(call, copy, handle);
}

ON(Comm_group, COMM_IN, (MPI_Comm handle, MPI_Group *group), give_copy(__func__, of->group, group))
ON(Comm_remote_group, INTER_IN, (MPI_Comm handle, MPI_Group *group),
   give_copy(__func__, of->remote, group))
ON(Win_get_group, WIN_IN, (MPI_Win handle, MPI_Group *group),
   give_copy(__func__, of->comm->group, group))

ASK(Group_size, GROUP_IN, MPI_Group, int, of->size)
ASK(Group_rank, GROUP_IN, MPI_Group, int,
    weftmpi_group_rank(of, weft_numbers_of(weftmpi.job)->process))

/* How often each rank of the group is named, which must be once at most. */
static int mark(const char *call, const struct weftmpi_group *group, int rank, unsigned char *named)
{
    if (rank < 0 || rank >= group->size)
        return weftmpi_fail(NULL, call, MPI_ERR_RANK, "rank %d of %d", rank, group->size);
    if (named[rank]++ != 0)
        return weftmpi_fail(NULL, call, MPI_ERR_RANK, "rank %d is named twice", rank);
    return MPI_SUCCESS;
}

/*
 * The group of the ranks that are named, in order, or of those that are not (`exclude`). They are
 * ranks, or ranges: first, last and stride.
 */
static int choose(const char *call, MPI_Group handle, int n, const int ranks[], int ranges[][3],
                  bool exclude, MPI_Group *made)
{
    GROUP_OF(group, call, handle);
    struct weftmpi_group *chosen = weftmpi_group_make(group->size);
    unsigned char *named = calloc((size_t)group->size + 1, 1);
    int at = 0;

    int error = named == NULL || chosen == NULL ? weftmpi_no_memory(NULL, call) : MPI_SUCCESS;
    if (n < 0 && error == MPI_SUCCESS)
        error = weftmpi_fail(NULL, call, MPI_ERR_ARG, "%d ranks", n);
    for (int i = 0; i < n && error == MPI_SUCCESS; i++) {
        const int *range = ranges != NULL ? ranges[i] : (int[]){ranks[i], ranks[i], 1};
        const int first = range[0], last = range[1], step = range[2];
        if (step == 0)
            error =
                weftmpi_fail(NULL, call, MPI_ERR_ARG, "range %d: %d to %d by 0", i, first, last);
        for (long r = first; error == MPI_SUCCESS && (step > 0 ? r <= last : r >= last);
             r += step) {
            error = mark(call, group, (int)r, named);
            if (error == MPI_SUCCESS && !exclude)
                chosen->processes[at++] = group->processes[r];
        }
    }
    for (int i = 0; exclude && i < group->size && error == MPI_SUCCESS; i++)
        if (!named[i])
            chosen->processes[at++] = group->processes[i];
    free(named);
    if (error != MPI_SUCCESS) {
        weftmpi_leave(chosen);
        return error;
    }
    chosen->size = at;
    return give(call, chosen, made);
}

CALL(Group_incl, (MPI_Group group, int n, const int ranks[], MPI_Group *made),
     choose(__func__, group, n, ranks, NULL, false, made))
CALL(Group_excl, (MPI_Group group, int n, const int ranks[], MPI_Group *made),
     choose(__func__, group, n, ranks, NULL, true, made))
CALL(Group_range_incl, (MPI_Group handle, int n, int ranges[][3], MPI_Group *made),
     choose(__func__, handle, n, NULL, ranges, false, made))
CALL(Group_range_excl, (MPI_Group handle, int n, int ranges[][3], MPI_Group *made),
     choose(__func__, handle, n, NULL, ranges, true, made))

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
