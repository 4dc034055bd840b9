/* compat/mpi/topology.h - what grids and graphs share. */
#ifndef WEFTMPI_TOPOLOGY_H
#define WEFTMPI_TOPOLOGY_H

#include "request.h"

/* One of that kind, whose arrays are to be filled. */
struct weftmpi_topology *weftmpi_topology_make(int kind, int ndims, int indegree, int outdegree,
                                               int nodes, int edges);
/* A communicator of those that have a topology. */
int weftmpi_topology_give(struct weftmpi_comm *comm, struct weftmpi_topology *topology,
                          MPI_Comm *made);
int weftmpi_check_topology(struct weftmpi_comm *comm, int kind);

/* A communicator and its topology: declares them. _IN: enters the call. */
#define TOPOLOGY_IN(topology, comm, handle, kind)                                                  \
    ENTER;                                                                                         \
    TOPOLOGY_OF(topology, comm, handle, kind)
#define TOPOLOGY_OF(name, comm, handle, kind)                                                      \
    COMM_OF(comm, handle);                                                                         \
    TRY(weftmpi_check_topology(comm, kind));                                                       \
    struct weftmpi_topology *const name = comm->topology

#endif
