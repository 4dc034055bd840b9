/* boot/mpi.h - finds the place of this process in a job that an MPI's launcher has started. */
#ifndef WEFT_BOOT_MPI_H
#define WEFT_BOOT_MPI_H

#include "base/config.h"

/*
 * If an MPI's launcher, and not weftrun, has started this process with others, and WEFT_NET is mpi
 * or PMIx does not know the job: fills process, processes, root, root_fd and secret, as weftrun
 * would have set them. Blocking and collective the first time; later jobs of the process get the
 * same. Errors: CONFIG, NETWORK, SYSTEM, TIMEOUT.
 */
weft_status weft_boot_mpi(struct weft_config *config);

#endif
