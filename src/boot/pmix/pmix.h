/* boot/pmix/pmix.h - joins a job that a PMIx launcher has started. */
#ifndef WEFT_BOOT_PMIX_PMIX_H
#define WEFT_BOOT_PMIX_PMIX_H

#include "base/config.h"
#include "base/say.h"

#ifdef WEFT_HAVE_PMIX
enum { WEFT_PMIX_IN = 1 };

/*
 * Fills in process, processes, root, secret and, in process 0, root_fd, a socket that is the
 * caller's. Blocking, collective among the processes of the launcher's job. One thread at a time.
 * Errors: CONFIG (no libpmix), SYSTEM, PROTOCOL.
 */
weft_status weft_pmix_join(struct weft_config *config);
#else
enum { WEFT_PMIX_IN = 0 };

static inline weft_status weft_pmix_join(struct weft_config *config)
{
    (void)config;
    return weft_err(WEFT_ERR_CONFIG,
                    "a PMIx launcher (mpirun, srun) has started this process, but this weft was "
                    "built without PMIx: use weftrun, or WEFT_PMIX=off for jobs of one process");
}
#endif

#endif
