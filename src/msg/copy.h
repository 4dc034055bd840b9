/*
 * msg/copy.h - buffers in memory of the process's device: how they are recognised, and what moves
 * their bytes to host memory and from there.
 *
 * Two do that: the copy engine, whose start alone takes some microseconds, and the service block
 * (device_ops->serve), for small messages that follow each other soon (WEFT_MSG_COPIER).
 */
#ifndef WEFT_MSG_COPY_H
#define WEFT_MSG_COPY_H

#include "msg/call.h"

/* Parts of the host memory through which bytes of the device go, and the size of a part. */
enum {
    WEFT_MSG_STAGE_EAGER,    /* bytes that are sent at once, or copied within the device */
    WEFT_MSG_STAGE_PIECES,   /* the next bytes of a send in pieces */
    WEFT_MSG_STAGE_DELIVER,  /* bytes that go to the device */
    WEFT_MSG_STAGES,         /* number of parts */
    WEFT_MSG_STAGE = 1 << 19 /* bytes of a part */
};

/* Most bytes that the service block copies: with more the copy engine is quicker (H200). */
enum { WEFT_MSG_BLOCK = 4096 };
/* Least bytes of the program's memory that are worth being registered. Fewer go through the stage:
 * the block reaches no memory of the program's, and the copy engine is slow there. */
enum { WEFT_MSG_HOLD = 32768 };

static inline unsigned char *weft_msg_stage(const struct weft_messages *m, int part)
{
    return m->stage + (size_t)part * WEFT_MSG_STAGE;
}

enum { WEFT_MSG_LOOK_FROM = 8192 /* bytes of a buffer for which a CUDA driver is looked for */ };

/* Whether a buffer of so many bytes is the host's, as far as the job alone tells. */
static inline bool weft_msg_is_near(const struct weft_job *job, size_t bytes)
{
    return bytes == 0 || (bytes < WEFT_MSG_LOOK_FROM &&
                          !__atomic_load_n(&weft_device_foreign_known, __ATOMIC_RELAXED) &&
                          job->device_ops->whose == NULL);
}
/* Whether a buffer is memory of the device. NULL, or what its bytes "are" that no message takes. */
const char *weft_msg_whose(const struct weft_job *job, const void *memory, size_t bytes,
                           bool *device);
/* Finds for a call whether a buffer is memory of the device. Errors, said, with the lock given up:
 * ARGUMENT: it is NULL, or memory of another device, or of a GPU in a job on the CPU device. */
weft_status weft_msg_place_any(struct weft_msg_call *call, const void *memory, size_t bytes,
                               bool *device);
static inline weft_status weft_msg_place(struct weft_msg_call *call, const void *memory,
                                         size_t bytes, bool *device)
{
    *device = false;
    return (bytes == 0 || memory != NULL) && weft_msg_is_near(call->m->job, bytes)
               ? WEFT_OK
               : weft_msg_place_any(call, memory, bytes, device);
}

/* Copies device memory to a part of the stage. Blocking, while a kernel runs or not. Lock held.
 * False: the device failed, and so does the job. */
bool weft_msg_fetch(struct weft_messages *m, unsigned char *stage, const void *device,
                    size_t bytes);
/* Copies host memory, a stage's part at most, to the device. On return `host` was read; last: all
 * that was delivered has arrived, too. Lock held. False: the device failed, and so does the job. */
bool weft_msg_deliver(struct weft_messages *m, void *device, const void *host, size_t bytes,
                      bool last);
/* Blocks until all that was delivered has arrived. False: the device failed; the job fails. */
bool weft_msg_settle(struct weft_messages *m);
/* Copies the next bytes of a receive from mapped device memory, or of a send into it; the other end
 * is any memory. Returns how many, `bytes` at most; 0: it failed, and so does the job. */
size_t weft_msg_copy_mapped(struct weft_messages *m, const struct weft_transfer *transfer,
                            size_t bytes);
/* Reads another process's host memory into `here`, or writes `here` to it. Returns how many bytes;
 * 0: none, errno says why. */
size_t weft_msg_copy_between(const struct weft_messages *m, int process, bool writes, void *here,
                             uint64_t there, size_t bytes);
/* Copies between any memories of this process; takes the lock, for some milliseconds at a time. */
bool weft_msg_copy(struct weft_messages *m, void *target, const void *source, size_t bytes);

#endif
