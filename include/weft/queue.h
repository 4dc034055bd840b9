/*
 * weft/queue.h - lets the ranks of a file's kernels drive queues on GPUs (WEFT_GDA). Included
 * before weft/device.h, or instead of it. If the kernel of any process was compiled without it, the
 * job's ranks go through the host, and weft_prepare refuses WEFT_PATH=queue (STATE).
 */
#ifndef WEFT_QUEUE_H
#define WEFT_QUEUE_H

#ifdef WEFT_DEVICE_H
#error "include weft/queue.h before weft/device.h"
#endif
#define WEFT_QUEUES 1
#include <weft/device.h>

#endif
