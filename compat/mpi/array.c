/* compat/mpi/array.c - datatypes of parts of arrays. */
#include "construct.h"

/* What of one dimension belongs to it: so many from `first` on, and again `step` further. */
struct stretch {
    MPI_Count first, count, step;
};

/* Dimension by dimension, the one that varies fastest first: rows of rows. */
static int array(int ndims, struct weftmpi_numbers sizes, const struct stretch of[], int order,
                 MPI_Datatype handle, int combiner, const struct weftmpi_list lists[],
                 int lists_count, MPI_Datatype *made)
{
    struct weftmpi_type *old;

    TRY(weftmpi_type_old(handle, ndims, &old));
    const MPI_Aint extent = weftmpi_extent(old);
    MPI_Aint step = extent;
    struct weftmpi_type *row = weftmpi_type_make();
    weftmpi_type_add(row, old, 1, 0, extent);
    for (int k = 0; k < ndims; k++) {
        const int i = order == MPI_ORDER_C ? ndims - 1 - k : k;
        struct weftmpi_type *rows = weftmpi_type_make();
        const MPI_Count size = weftmpi_number(sizes, i);
        for (MPI_Count at = of[i].first; at < size; at += of[i].step)
            weftmpi_type_add(rows, row, (size_t)(of[i].count < size - at ? of[i].count : size - at),
                             at * step, step);
        weftmpi_leave(row);
        row = rows;
        step *= size;
    }
    weftmpi_remember(row, combiner, sizes.wide, lists, lists_count, &handle, 1);
    weftmpi_type_bound(row, 0, step);
    return weftmpi_type_give(row, made);
}

static int check_array(int ndims, int order)
{
    return HOLDS(ndims >= 1 && (order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN), MPI_ERR_ARG,
                 "%d dimensions, order %d", ndims, order);
}

static int subarray(int ndims, struct weftmpi_numbers sizes, struct weftmpi_numbers subsizes,
                    struct weftmpi_numbers starts, int order, MPI_Datatype handle,
                    MPI_Datatype *made)
{
    TRY(check_array(ndims, order));
    TRY(LISTED(ndims, sizes.at == NULL || subsizes.at == NULL ? NULL : starts.at));
    struct stretch of[ndims];
    for (int i = 0; i < ndims; i++) {
        const MPI_Count size = weftmpi_number(sizes, i), part = weftmpi_number(subsizes, i);
        const MPI_Count start = weftmpi_number(starts, i);
        TRY(HOLDS(size >= 1 && part >= 1 && start >= 0 && start <= size - part, MPI_ERR_ARG,
                  "dimension %d: %lld from %lld on, of %lld", i, (long long)part, (long long)start,
                  (long long)size));
        of[i] = (struct stretch){start, part, size};
    }
    const struct weftmpi_list lists[] = {SCALAR(false, ndims),
                                         {sizes, ndims},
                                         {subsizes, ndims},
                                         {starts, ndims},
                                         SCALAR(false, order)};
    return array(ndims, sizes, of, order, handle, MPI_COMBINER_SUBARRAY, lists, 5, made);
}

/* What of a dimension of `size` has the process at that place among `n`. */
static int distribute(MPI_Count size, int how, int argument, int n, int at, struct stretch *of)
{
    const bool whole = how == MPI_DISTRIBUTE_NONE, cyclic = how == MPI_DISTRIBUTE_CYCLIC;
    const MPI_Count least = (size + n - 1) / n;
    MPI_Count block = argument;

    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        block = cyclic ? 1 : least;
    TRY(HOLDS(size >= 1 && n >= 1 && block >= 1 && (!whole || n == 1) &&
                  (how != MPI_DISTRIBUTE_BLOCK || block >= least) &&
                  (whole || cyclic || how == MPI_DISTRIBUTE_BLOCK),
              MPI_ERR_ARG, "%lld elements over %d processes, distribution %d, argument %d",
              (long long)size, n, how, argument));
    if (whole)
        block = size;
    /* One whose first lies behind the end has none. */
    const MPI_Count first = at * block;
    *of = (struct stretch){first < size ? first : size, block, n * block};
    return MPI_SUCCESS;
}

static int darray(int size, int rank, int ndims, struct weftmpi_numbers sizes,
                  const int distributions[], const int arguments[], const int grid[], int order,
                  MPI_Datatype handle, MPI_Datatype *made)
{
    long cells = 1;

    TRY(check_array(ndims, order));
    TRY(LISTED(ndims,
               sizes.at == NULL || distributions == NULL || arguments == NULL ? NULL : grid));
    struct stretch of[ndims];
    for (int i = 0; i < ndims; i++)
        cells *= grid[i];
    TRY(HOLDS(cells == size && rank >= 0 && rank < size, MPI_ERR_ARG,
              "rank %d of %d in a grid of %ld", rank, size, cells));
    for (int i = ndims - 1, rest = rank; i >= 0; rest /= grid[i--]) /* as MPI numbers grids */
        TRY(distribute(weftmpi_number(sizes, i), distributions[i], arguments[i], grid[i],
                       rest % grid[i], &of[i]));
    const struct weftmpi_list lists[] = {SCALAR(false, size),
                                         SCALAR(false, rank),
                                         SCALAR(false, ndims),
                                         {sizes, ndims},
                                         {NUMBERS(distributions), ndims},
                                         {NUMBERS(arguments), ndims},
                                         {NUMBERS(grid), ndims},
                                         SCALAR(false, order)};
    return array(ndims, sizes, of, order, handle, MPI_COMBINER_DARRAY, lists, 8, made);
}

/* N: the type of sizes. */
#define ARRAY_TYPES(c, N, A)                                                                       \
    CALL(Type_create_subarray##c,                                                                  \
         (int ndims, const N sizes[], const N subsizes[], const N starts[], int order,             \
          MPI_Datatype old, MPI_Datatype *made),                                                   \
         subarray(ndims, NUMBERS(sizes), NUMBERS(subsizes), NUMBERS(starts), order, old, made))    \
    CALL(Type_create_darray##c,                                                                    \
         (int size, int rank, int ndims, const N sizes[], const int distributions[],               \
          const int arguments[], const int grid[], int order, MPI_Datatype old,                    \
          MPI_Datatype *made),                                                                     \
         darray(size, rank, ndims, NUMBERS(sizes), distributions, arguments, grid, order, old,     \
                made))
TWINS(ARRAY_TYPES)
