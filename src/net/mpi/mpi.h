/* net/mpi/mpi.h - messages of an MPI, which weft loads at run time. */
#ifndef WEFT_NET_MPI_MPI_H
#define WEFT_NET_MPI_MPI_H

#include "net/net.h"

extern const struct weft_net_ops weft_net_mpi;

#endif
