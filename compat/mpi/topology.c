/* compat/mpi/topology.c - topologies; grids of processes. */
#include "internal.h"

#include <math.h>

struct weftmpi_topology *weftmpi_topology_make(int kind, int ndims, int indegree, int outdegree,
                                               int nodes, int edges)
{
    const size_t count = 3 * (size_t)ndims + 2 * ((size_t)indegree + (size_t)outdegree) +
                         (size_t)nodes + (size_t)edges;
    struct weftmpi_topology *topology =
        weftmpi_make(WEFTMPI_TOPOLOGY, sizeof(*topology) + count * sizeof(int));

    topology->kind = kind;
    topology->ndims = ndims;
    topology->indegree = indegree;
    topology->outdegree = outdegree;
    topology->dims = topology->numbers;
    topology->periods = topology->dims + ndims;
    topology->coords = topology->periods + ndims;
    topology->sources = topology->coords + ndims;
    topology->source_weights = topology->sources + indegree;
    topology->targets = topology->source_weights + indegree;
    topology->target_weights = topology->targets + outdegree;
    topology->nodes = nodes;
    topology->index = topology->target_weights + outdegree;
    topology->edges = topology->index + nodes;
    return topology;
}

int weftmpi_check_topology(struct weftmpi_comm *comm, int kind)
{
    return HOLDS(comm->topology != NULL && comm->topology->kind == kind, MPI_ERR_TOPOLOGY,
                 "%s has no %s", comm->name, kind == MPI_CART ? "grid" : "graph");
}

#define GRID_IN(grid, handle) TOPOLOGY_IN(grid, comm, handle, MPI_CART)

ASK(Topo_test, COMM_IN, MPI_Comm, int, of->topology == NULL ? MPI_UNDEFINED : of->topology->kind)

/* ---- grids ----------------------------------------------------------------------------------- */

/* A number is cut into n factors, which ascend: the cut at hand, and the best so far. */
struct cuts {
    int n, *now, *best, apart; /* apart: largest less smallest factor of the best */
};

/* Goes through the cuts of what is left, each with the largest small factors first. */
static void cut(struct cuts *c, int left, int at)
{
    int *const now = c->now, others = c->n - 1 - at, least = at == 0 ? 1 : now[at - 1];

    now[at] = left;
    if (others == 0 && left >= least && left - now[0] < c->apart) {
        c->apart = left - now[0];
        memcpy(c->best, now, (size_t)c->n * sizeof(*now));
    }
    for (int factor = (int)pow(left, 1.0 / (others + 1)) + 1; others != 0 && factor >= least;
         factor--) {
        now[at] = factor;
        if (left % factor == 0)
            cut(c, left / factor, at + 1);
    }
}

/*
 * Cuts `left` for the dimensions that are 0; the largest first. The largest and the smallest are as
 * near each other as can be; of several such cuts it is the one with the largest smallest.
 */
static void divide(int left, int ndims, int dims[], int zeros)
{
    int now[zeros], best[zeros];
    struct cuts c = {.n = zeros, .now = now, .best = best, .apart = left};

    cut(&c, left, 0);
    for (int i = 0; i < ndims; i++)
        if (dims[i] == 0)
            dims[i] = best[--zeros];
}

API(Dims_create, (int nodes, int ndims, int dims[]))
{
    int left = nodes, zeros = 0;
    ENTER;
    TRY(LISTED(ndims, dims));
    for (int i = 0; i < ndims; i++) {
        TRY(HOLDS(dims[i] >= 0 && (dims[i] <= 0 || left % dims[i] == 0), MPI_ERR_DIMS,
                  "dimension %d is %d, of %d nodes", i, dims[i], nodes));
        zeros += dims[i] == 0;
        left /= dims[i] == 0 ? 1 : dims[i];
    }
    TRY(HOLDS(nodes >= 1 && (zeros != 0 || left == 1), MPI_ERR_DIMS,
              "%d nodes do not fill the dimensions", nodes));
    if (zeros != 0)
        divide(left, ndims, dims, zeros);
    return MPI_SUCCESS;
}

static void coords_of(const struct weftmpi_topology *grid, int rank, int coords[])
{
    for (int i = grid->ndims - 1; i >= 0; i--) {
        coords[i] = rank % grid->dims[i];
        rank /= grid->dims[i];
    }
}

/* Returns the rank at coordinates, of which periodic ones wrap; MPI_PROC_NULL: they are outside. */
static int rank_near(const struct weftmpi_topology *grid, const int coords[], int moved, long by)
{
    int rank = 0;

    for (int i = 0; i < grid->ndims; i++) {
        const int n = grid->dims[i];
        long at = coords[i] + (i == moved ? by : 0);
        if (grid->periods[i])
            at = (at % n + n) % n;
        if (at < 0 || at >= n)
            return MPI_PROC_NULL;
        rank = rank * n + (int)at;
    }
    return rank;
}

/* Makes a grid, as the member of that rank sees it; its neighbours are those down and up of each
 * way. */
static struct weftmpi_topology *make_grid(int ndims, const int dims[], const int periods[],
                                          int rank)
{
    struct weftmpi_topology *grid =
        weftmpi_topology_make(MPI_CART, ndims, 2 * ndims, 2 * ndims, 0, 0);

    for (int i = 0; i < ndims; i++) {
        grid->dims[i] = dims[i];
        grid->periods[i] = periods[i] != 0;
    }
    coords_of(grid, rank, grid->coords);
    for (int i = 0; i < 2 * ndims; i++)
        grid->sources[i] = grid->targets[i] =
            rank_near(grid, grid->coords, i / 2, i % 2 == 0 ? -1 : 1);
    return grid;
}

/* Counts the processes of a grid, which a communicator has to have. */
static int cells_of(struct weftmpi_comm *comm, int ndims, const int dims[], int *cells)
{
    long product = 1;

    TRY(LISTED(ndims, dims));
    TRY(HOLDS(ndims >= 0, MPI_ERR_DIMS, "%d dimensions", ndims));
    for (int i = 0; i < ndims; i++) {
        product *= dims[i];
        TRY(HOLDS(dims[i] >= 1 && product <= comm->size, MPI_ERR_DIMS,
                  "dimension %d is %d; %s has %d processes", i, dims[i], comm->name, comm->size));
    }
    *cells = (int)product;
    return MPI_SUCCESS;
}

int weftmpi_topology_give(struct weftmpi_comm *comm, struct weftmpi_topology *topology,
                          MPI_Comm *made)
{
    return weftmpi_split(comm, topology != NULL ? 0 : MPI_UNDEFINED, comm->rank, topology, made);
}

API(Cart_create, (MPI_Comm handle, int ndims, const int dims[], const int periods[], int reorder,
                  MPI_Comm *cart))
{
    int cells;
    (void)reorder; /* ranks stay */
    OUT(cart);
    *cart = MPI_COMM_NULL; /* also of an error */
    BASE_IN(comm, handle);
    TRY(LISTED(ndims, periods));
    TRY(cells_of(comm, ndims, dims, &cells));
    return weftmpi_topology_give(
        comm, comm->rank < cells ? make_grid(ndims, dims, periods, comm->rank) : NULL, cart);
}

API(Cart_map, (MPI_Comm handle, int ndims, const int dims[], const int periods[], int *rank))
{
    int cells;
    (void)periods;
    OUT(rank);
    BASE_IN(comm, handle);
    TRY(cells_of(comm, ndims, dims, &cells));
    *rank = comm->rank < cells ? comm->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

ASK(Cartdim_get, GRID_IN, MPI_Comm, int, of->ndims)

API(Cart_get, (MPI_Comm handle, int most, int dims[], int periods[], int coords[]))
{
    GRID_IN(grid, handle);
    TRY(LISTED(most, dims == NULL || periods == NULL ? NULL : coords));
    for (int i = 0; i < grid->ndims && i < most; i++) {
        dims[i] = grid->dims[i];
        periods[i] = grid->periods[i];
        coords[i] = grid->coords[i];
    }
    return MPI_SUCCESS;
}

API(Cart_coords, (MPI_Comm handle, int rank, int most, int coords[]))
{
    GRID_IN(grid, handle);
    TRY(weftmpi_check_rank(rank, comm->size));
    TRY(LISTED(grid->ndims, coords));
    TRY(HOLDS(most >= grid->ndims, MPI_ERR_ARG, "room for %d of %d", most, grid->ndims));
    coords_of(grid, rank, coords);
    return MPI_SUCCESS;
}

API(Cart_rank, (MPI_Comm handle, const int coords[], int *rank))
{
    OUT(rank);
    GRID_IN(grid, handle);
    TRY(LISTED(grid->ndims, coords));
    const int found = rank_near(grid, coords, -1, 0);
    TRY(HOLDS(found != MPI_PROC_NULL, MPI_ERR_ARG, "coordinates outside of the grid"));
    *rank = found;
    return MPI_SUCCESS;
}

API(Cart_shift, (MPI_Comm handle, int direction, int distance, int *from, int *to))
{
    OUT(from, to);
    GRID_IN(grid, handle);
    TRY(HOLDS(direction >= 0 && direction < grid->ndims, MPI_ERR_DIMS, "direction %d of %d",
              direction, grid->ndims));
    *from = rank_near(grid, grid->coords, direction, -(long)distance);
    *to = rank_near(grid, grid->coords, direction, distance);
    return MPI_SUCCESS;
}

API(Cart_sub, (MPI_Comm handle, const int remain[], MPI_Comm *part))
{
    OUT(part);
    GRID_IN(grid, handle);
    TRY(LISTED(grid->ndims, remain));
    int dims[grid->ndims + 1], periods[grid->ndims + 1];
    int ndims = 0, own = 0, others = 0; /* of the part; and the other coordinates' place */
    for (int i = 0; i < grid->ndims; i++) {
        if (!remain[i]) {
            others = others * grid->dims[i] + grid->coords[i];
            continue;
        }
        dims[ndims] = grid->dims[i];
        periods[ndims++] = grid->periods[i];
        own = own * grid->dims[i] + grid->coords[i];
    }
    struct weftmpi_topology *sub = make_grid(ndims, dims, periods, own);
    return weftmpi_split(comm, others, own, sub, part);
}
