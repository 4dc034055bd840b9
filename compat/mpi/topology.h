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
int weftmpi_topology_in(const char *call, MPI_Comm handle, int kind, struct weftmpi_comm **comm,
                        struct weftmpi_topology **topology);
/* A communicator that a topology can be made over. */
int weftmpi_topology_base(const char *call, MPI_Comm handle, struct weftmpi_comm **comm);

/* The same for a function of MPI: declares it. */
#define BASE_IN(comm, handle)                                                                      \
    struct weftmpi_comm *comm;                                                                     \
    TRY(weftmpi_topology_base(__func__, handle, &(comm)))

/* Both of a communicator's handle, in a function of MPI: declares them. */
#define TOPOLOGY_IN(topology, comm, handle, kind)                                                  \
    struct weftmpi_topology *topology;                                                             \
    struct weftmpi_comm *comm;                                                                     \
    TRY(weftmpi_topology_in(__func__, handle, kind, &(comm), &(topology)))

#endif
