/*
 * msg/copy.h - buffers in memory of the process's device: how they are recognised, and what moves
 * their bytes to host memory and from there.
 *
 * Copiers are a table, from which one is chosen for each copy. There is one so far.
 */
#ifndef WEFT_MSG_COPY_H
#define WEFT_MSG_COPY_H

#include "msg/call.h"

enum { WEFT_MSG_STAGE = 1 << 19 /* bytes of host memory for what is on its way */ };

/* Blocking, while a kernel runs or not. Lock held. False: the device failed, and so does the job.
 */
struct weft_msg_copier {
    const char *name;
    bool (*fetch)(struct weft_messages *m, void *host, const void *device, size_t bytes);
    bool (*land)(struct weft_messages *m, void *device, const void *host, size_t bytes);
};

/*
 * Whether a buffer is memory of the device. Errors, said, and the lock given up: ARGUMENT: it is
 * NULL, or memory of another device, or of a GPU in a job on the CPU device.
 */
weft_status weft_msg_place(struct weft_msg_call *call, const void *memory, size_t bytes,
                           bool *device);

bool weft_msg_fetch(struct weft_messages *m, void *host, const void *device, size_t bytes);
bool weft_msg_land(struct weft_messages *m, void *device, const void *host, size_t bytes);

/* The memory for what is on its way, where there is a device to fetch from. Errors: MEMORY. */
weft_status weft_msg_open_copiers(struct weft_messages *m);
void weft_msg_close_copiers(struct weft_messages *m);

#endif
