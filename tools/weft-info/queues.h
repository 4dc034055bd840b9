/*
 * weft-info/queues.h - tries queues of ranks on RDMA devices: queues.c, or queues_none.c in a build
 * without libibverbs.
 */
#ifndef WEFT_INFO_QUEUES_H
#define WEFT_INFO_QUEUES_H

#include "base/config.h"

#include <stdio.h>

/* What this build has of mlx5. */
const char *queues_about(void);

/*
 * Sends each kind of request between two queues of the devices that WEFT_VERBS_DEVICE names, and
 * prints what was right. Blocks, 10 s a request at most. Errors: CONFIG, NETWORK (no device),
 * PROTOCOL (a request was wrong).
 */
weft_status queues_check(const struct weft_config *config, FILE *file);

#endif
