/*
 * gda/rdma/check.h - tries queues on RDMA devices; in every build.
 */
#ifndef WEFT_GDA_RDMA_CHECK_H
#define WEFT_GDA_RDMA_CHECK_H

#include "base/config.h"

#include <stdio.h>

/* What this build has of mlx5. */
const char *weft_rdma_about(void);

/*
 * Sends each kind of request between two queues of the devices that WEFT_VERBS_DEVICE names, and
 * prints what was right. Blocks, 10 s a request at most. Errors: CONFIG, NETWORK (no device),
 * PROTOCOL (a request was wrong).
 */
weft_status weft_rdma_check(const struct weft_config *config, FILE *file);

#endif
