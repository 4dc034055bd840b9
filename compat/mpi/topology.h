/* compat/mpi/topology.h - what grids and graphs share. */
#ifndef WEFTMPI_TOPOLOGY_H
#define WEFTMPI_TOPOLOGY_H

#include "request.h"

/* One of that kind, whose arrays are to be filled; NULL: no memory. */
struct weftmpi_topology *weftmpi_topology_make(int kind, int ndims, int indegree, int outdegree,
                                               int nodes, int edges);
/* A communicator of the first processes of another, with that topology; NULL: this is none. */
int weftmpi_topology_give(const char *call, struct weftmpi_comm *comm, int count,
                          struct weftmpi_topology *topology, MPI_Comm *made);
int weftmpi_check_topology(const char *call, struct weftmpi_comm *comm, int kind);

/* A communicator and its topology, in a function of MPI, or for `call`: declares them. */
#define TOPOLOGY_IN(topology, comm, handle, kind)                                                  \
    TOPOLOGY_OF(topology, comm, __func__, handle, kind)
#define TOPOLOGY_OF(name, comm, call, handle, kind)                                                \
    COMM_OF(comm, call, handle);                                                                   \
    TRY(weftmpi_check_topology(call, comm, kind));                                                 \
    struct weftmpi_topology *const name = comm->topology

#endif
