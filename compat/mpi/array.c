/* compat/mpi/array.c - datatypes of parts of arrays. */
#include "construct.h"

/* What of one dimension belongs to it: so many from `first` on, and again `step` further. */
struct stretch {
    int first, count, step;
};

/* Dimension by dimension, the one that varies fastest first: rows of rows. */
static int array(const char *call, int ndims, const int sizes[], const struct stretch of[],
                 int order, MPI_Datatype handle, int combiner, const struct weftmpi_list lists[],
                 int lists_count, MPI_Datatype *made)
{
    struct weftmpi_type *old;

    TRY(weftmpi_type_old(call, handle, ndims, &old));
    const MPI_Aint extent = weftmpi_extent(old);
    MPI_Aint step = extent;
    size_t elements = 1;
    struct weftmpi_type *row = weftmpi_type_make();
    bool complete = row != NULL && weftmpi_type_add(row, old, 1, 0, extent);
    for (int k = 0; k < ndims; k++) {
        const int i = order == MPI_ORDER_C ? ndims - 1 - k : k;
        struct weftmpi_type *rows = weftmpi_type_make();
        size_t all = 0;
        complete = complete && rows != NULL;
        for (long at = of[i].first; complete && at < sizes[i]; at += of[i].step) {
            const size_t some = (size_t)(of[i].count < sizes[i] - at ? of[i].count : sizes[i] - at);
            complete = weftmpi_type_add(rows, row, some, at * step, step);
            all += some;
        }
        weftmpi_leave(row);
        row = rows;
        step *= sizes[i];
        elements *= all;
    }
    complete = complete && weftmpi_type_add_part(row, old, elements) &&
               weftmpi_remember(row, combiner, lists, lists_count, NULL, 0, &handle, 1);
    if (complete) {
        row->bounded = true;
        row->lower = 0;
        row->upper = step;
    }
    return weftmpi_type_give(call, row, complete, made);
}

static int check_array(const char *call, int ndims, int order)
{
    if (ndims < 1 || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN))
        return weftmpi_fail(NULL, call, MPI_ERR_ARG, "%d dimensions, order %d", ndims, order);
    return MPI_SUCCESS;
}

API(Type_create_subarray, (int ndims, const int sizes[], const int subsizes[], const int starts[],
                           int order, MPI_Datatype handle, MPI_Datatype *made))
{
    TRY(check_array(__func__, ndims, order));
    struct stretch of[ndims];
    for (int i = 0; i < ndims; i++) {
        if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
            return weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "dimension %d: %d from %d on, of %d",
                                i, subsizes[i], starts[i], sizes[i]);
        of[i] = (struct stretch){starts[i], subsizes[i], sizes[i]};
    }
    const struct weftmpi_list lists[] = {
        {&ndims, 1}, {sizes, ndims}, {subsizes, ndims}, {starts, ndims}, {&order, 1}};
    return array(__func__, ndims, sizes, of, order, handle, MPI_COMBINER_SUBARRAY, lists, 5, made);
}

/* What of a dimension of `size` has the process at that place among `n`. */
static int distribute(const char *call, int size, int how, int argument, int n, int at,
                      struct stretch *of)
{
    const bool whole = how == MPI_DISTRIBUTE_NONE, cyclic = how == MPI_DISTRIBUTE_CYCLIC;
    const int least = (size + n - 1) / n;
    int block = argument;

    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        block = cyclic ? 1 : least;
    if (size < 1 || n < 1 || block < 1 || (whole && n != 1) ||
        (how == MPI_DISTRIBUTE_BLOCK && block < least) ||
        (!whole && !cyclic && how != MPI_DISTRIBUTE_BLOCK))
        return weftmpi_fail(NULL, call, MPI_ERR_ARG,
                            "%d elements over %d processes, distribution %d, argument %d", size, n,
                            how, argument);
    if (whole)
        block = size;
    /* One whose first lies behind the end has none. */
    const long first = (long)at * block, step = (long)n * block;
    *of = (struct stretch){first < size ? (int)first : size, block,
                           step < INT32_MAX ? (int)step : INT32_MAX};
    return MPI_SUCCESS;
}

API(Type_create_darray,
    (int size, int rank, int ndims, const int sizes[], const int distributions[],
     const int arguments[], const int grid[], int order, MPI_Datatype handle, MPI_Datatype *made))
{
    long cells = 1;

    TRY(check_array(__func__, ndims, order));
    struct stretch of[ndims];
    for (int i = 0; i < ndims; i++)
        cells *= grid[i];
    if (cells != size || rank < 0 || rank >= size)
        return weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "rank %d of %d in a grid of %ld", rank,
                            size, cells);
    for (int i = ndims - 1, rest = rank; i >= 0; rest /= grid[i--]) /* as MPI numbers grids */
        TRY(distribute(__func__, sizes[i], distributions[i], arguments[i], grid[i], rest % grid[i],
                       &of[i]));
    const struct weftmpi_list lists[] = {
        {&size, 1},         {&rank, 1},    {&ndims, 1}, {sizes, ndims}, {distributions, ndims},
        {arguments, ndims}, {grid, ndims}, {&order, 1}};
    return array(__func__, ndims, sizes, of, order, handle, MPI_COMBINER_DARRAY, lists, 8, made);
}
