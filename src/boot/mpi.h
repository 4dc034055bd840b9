/* boot/mpi.h - the place of this process in a job that an MPI's launcher has started. */
#ifndef WEFT_BOOT_MPI_H
#define WEFT_BOOT_MPI_H

#include "base/config.h"

/*
 * If weftrun has not started this process but an MPI's launcher has, with others, and PMIx does not
 * know the job already or WEFT_NET is mpi: fills process,
 * processes, root, root_fd and secret, as weftrun would have set them. Blocking, collective, the
 * first time; later jobs of the process get the same. Errors: CONFIG, NETWORK, SYSTEM, TIMEOUT.
 */
weft_status weft_boot_mpi(struct weft_config *config);

#endif
