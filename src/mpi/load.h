/* mpi/load.h - which MPI's module a process needs, and loading it. */
#ifndef WEFT_MPI_LOAD_H
#define WEFT_MPI_LOAD_H

#include "mpi/library.h"

/* Whether an MPI is loaded in this process already (the program is linked with it) and has been
 * initialised. */
bool weft_mpi_in_use(void);

/*
 * The table of the MPI that this process has or should have, in this order: the one that is loaded
 * already, the one that WEFT_MPI_LIBRARY names, the launcher's, the only one there is. Errors:
 * CONFIG: none, the wrong one, or not weft's.
 */
weft_status weft_mpi_load(const struct weft_mpi_ops **ops, const struct weft_config *config);

#endif
