/* compat/mpi/group.c - groups: lists of processes. */
#include "win.h"

struct weftmpi_group weftmpi_groups[] = {{.object = {.handle = MPI_GROUP_EMPTY, .references = 1}}};

struct weftmpi_group *weftmpi_group_make(int size, const int processes[])
{
    struct weftmpi_group *group =
        weftmpi_make(WEFTMPI_GROUP, sizeof(*group) + (size_t)size * sizeof(group->processes[0]));

    group->size = size;
    if (processes != NULL)
        memcpy(group->processes, processes, (size_t)size * sizeof(int));
    return group;
}

int weftmpi_group_rank(const struct weftmpi_group *group, int process)
{
    for (int i = 0; i < group->size; i++)
        if (group->processes[i] == process)
            return i;
    return MPI_UNDEFINED;
}

/* GROUP_IN: the group of a handle, in a function of MPI: declares it. */
#define GROUP_IN(name, handle)                                                                     \
    OPEN_IN;                                                                                       \
    OBJECT_IN(name, group, WEFTMPI_GROUP, handle)

/* Gives the handle of a new group of these processes, which the program frees. */
static int give(int size, const int processes[], MPI_Group *handle)
{
    struct weftmpi_group *group = weftmpi_group_make(size, processes);

    TRY(weftmpi_give(group, handle));
    if (size == 0) {
        *handle = MPI_GROUP_EMPTY;
        weftmpi_leave(group);
    }
    return MPI_SUCCESS;
}

#define GIVE(group) give((group)->size, (group)->processes, made)
ON(Comm_group, COMM_IN, (MPI_Comm handle, MPI_Group *made), GIVE(of->group))
ON(Comm_remote_group, INTER_IN, (MPI_Comm handle, MPI_Group *made), GIVE(of->remote))
ON(Win_get_group, WIN_IN, (MPI_Win handle, MPI_Group *made), GIVE(of->comm->group))

ASK(Group_size, GROUP_IN, MPI_Group, int, of->size)
ASK(Group_rank, GROUP_IN, MPI_Group, int, weftmpi_group_own(of))

/* Makes the group of the ranks that are named, in order, or of those that are not (`exclude`). They
 * are ranks, or ranges: first, last and stride. */
static int choose(const struct weftmpi_group *group, int n, const int ranks[], int ranges[][3],
                  bool exclude, MPI_Group *made)
{
    FREED int *chosen = weftmpi_room(NULL, (size_t)group->size * sizeof(*chosen));
    FREED bool *named = weftmpi_zeros((size_t)group->size);
    int size = 0;

    TRY(HOLDS(n >= 0, MPI_ERR_ARG, "%d ranks", n));
    TRY(LISTED(n, ranks != NULL ? (const void *)ranks : ranges));
    for (int i = 0; i < n; i++) {
        const int *range = ranges != NULL ? ranges[i] : (int[]){ranks[i], ranks[i], 1};
        const int first = range[0], last = range[1], step = range[2];
        TRY(HOLDS(step != 0, MPI_ERR_ARG, "range %d: %d to %d by 0", i, first, last));
        for (long r = first; step > 0 ? r <= last : r >= last; r += step) {
            TRY(weftmpi_check_rank((int)r, group->size));
            TRY(HOLDS(!named[r], MPI_ERR_RANK, "rank %ld is named twice", r));
            named[r] = true;
            if (!exclude)
                chosen[size++] = group->processes[r];
        }
    }
    for (int i = 0; exclude && i < group->size; i++)
        if (!named[i])
            chosen[size++] = group->processes[i];
    return give(size, chosen, made);
}

ON(Group_incl, GROUP_IN, (MPI_Group handle, int n, const int ranks[], MPI_Group *made),
   choose(of, n, ranks, NULL, false, made))
ON(Group_excl, GROUP_IN, (MPI_Group handle, int n, const int ranks[], MPI_Group *made),
   choose(of, n, ranks, NULL, true, made))
ON(Group_range_incl, GROUP_IN, (MPI_Group handle, int n, int ranges[][3], MPI_Group *made),
   choose(of, n, NULL, ranges, false, made))
ON(Group_range_excl, GROUP_IN, (MPI_Group handle, int n, int ranges[][3], MPI_Group *made),
   choose(of, n, NULL, ranges, true, made))

/* Makes a group: of a, those that are (`with`), or are not, in b; if `all`, of a, and those of b
 * that are not in a. */
static int combine(const struct weftmpi_group *a, MPI_Group other, bool with, bool all,
                   MPI_Group *made)
{
    OBJECT_IN(b, group, WEFTMPI_GROUP, other);
    FREED int *chosen = weftmpi_room(NULL, ((size_t)a->size + (size_t)b->size) * sizeof(*chosen));
    int size = 0;
    for (int i = 0; i < a->size; i++)
        if (all || (weftmpi_group_rank(b, a->processes[i]) >= 0) == with)
            chosen[size++] = a->processes[i];
    for (int i = 0; all && i < b->size; i++)
        if (weftmpi_group_rank(a, b->processes[i]) < 0)
            chosen[size++] = b->processes[i];
    return give(size, chosen, made);
}

ON(Group_union, GROUP_IN, (MPI_Group handle, MPI_Group other, MPI_Group *made),
   combine(of, other, false, true, made))
ON(Group_intersection, GROUP_IN, (MPI_Group handle, MPI_Group other, MPI_Group *made),
   combine(of, other, true, false, made))
ON(Group_difference, GROUP_IN, (MPI_Group handle, MPI_Group other, MPI_Group *made),
   combine(of, other, false, false, made))

API(Group_translate_ranks,
    (MPI_Group handle_a, int n, const int ranks[], MPI_Group handle_b, int translated[]))
{
    GROUP_IN(a, handle_a);
    TRY(LISTED(n, translated == NULL ? NULL : ranks));
    GROUP_IN(b, handle_b);
    for (int i = 0; i < n; i++) {
        if (ranks[i] == MPI_PROC_NULL) {
            translated[i] = MPI_PROC_NULL;
            continue;
        }
        TRY(weftmpi_check_rank(ranks[i], a->size));
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

GIVE_BACK(Group_free, GROUP_IN, MPI_Group, MPI_GROUP_NULL, false, MPI_SUCCESS)
