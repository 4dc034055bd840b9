/*
 * weft/queue.h - lets the ranks of a file's kernels drive queues on GPUs (WEFT_GDA). Included
 * before weft/device.h, or instead of it. Where a process's kernel was compiled without, the ranks
 * of the job go through the host, and WEFT_PATH=queue is refused by weft_prepare (STATE).
 */
#ifndef WEFT_QUEUE_H
#define WEFT_QUEUE_H

#ifdef WEFT_DEVICE_H
#error "include weft/queue.h before weft/device.h"
#endif
#define WEFT_QUEUES 1
#include <weft/device.h>

#endif
