/*
 * boot/control.h - the control channel of a job: a totally ordered broadcast between processes.
 *
 * Every frame that any process sends is delivered to every process, the sender included, and all
 * see all frames in one order. Bytes from a socket are hostile: a stranger, a wrong secret, a
 * malformed or overlong frame ends that connection with a message, never the job (unless it was a
 * member of it).
 */
#ifndef WEFT_BOOT_CONTROL_H
#define WEFT_BOOT_CONTROL_H

#include "base/config.h"
#include "weft/types.h"

#include <stdbool.h>
#include <stdint.h>

#define WEFT_FRAME_MAX  (1u << 20) /* largest payload */
#define WEFT_FRAME_LOST 0u         /* made by the channel itself: process `source` is gone */

struct weft_frame {
    uint16_t kind; /* WEFT_FRAME_LOST, or the sender's own number, 1..65535 */
    int source;    /* process */
    uint32_t bytes;
    void *payload; /* malloc'ed, owned by the receiver; NULL if bytes is 0 */
};

/* The first member of a back end's state. Does not change. */
struct weft_control {
    const struct weft_control_ops *ops; /* back.h */
    int process, processes;
    bool local; /* the processes are tasks of one address space */
};

/*
 * Joins the job that config describes, whose process is below processes (weft_config_load sees to
 * it). Blocking, collective: returns when all processes are connected, or fails within
 * config->connect_s. Also sets weft_say_process.
 * A process with config->process < 0 outside weft_local_job is a job of one (weft_control_join asks
 * launchers first).
 * Errors: CONFIG, SYSTEM, PEER_LOST, PROTOCOL, TIMEOUT.
 */
weft_status weft_control_open(struct weft_control **control, const struct weft_config *config);

/* Joins a job as weft_control_open does, also where another launcher may have started this process
 * (PMIx's, or an MPI's): fills in process, processes, root and secret first. */
weft_status weft_control_join(struct weft_control **control, struct weft_config *config);

/* Broadcasts a frame; does not wait for receivers. Any thread. Errors: ARGUMENT, PEER_LOST, MEMORY:
 * weft_control_next tells of the loss on all processes, once. */
weft_status weft_control_send(struct weft_control *control, uint16_t kind, const void *payload,
                              size_t bytes);

/*
 * Takes the next frame in the job's order. Waits up to timeout_ns (0: does not wait; random mode:
 * yields). One thread at a time. Returns ERR_TIMEOUT, in silence, when there is none. After a LOST
 * frame the channel still works for the others, unless process 0 is the one lost.
 */
weft_status weft_control_next(struct weft_control *control, struct weft_frame *frame,
                              uint64_t timeout_ns);

/* Makes weft_control_next wait no more, from now on, and a call that waits return at once: before
 * the channel is closed. Any thread. */
void weft_control_wake(struct weft_control *control);

/*
 * Leaves the job and frees the channel. orderly: the others are not told that this process was
 * lost. Otherwise they get LOST. Then process 0 waits, up to 5 s, until the others have left too;
 * in one address space every process does.
 */
void weft_control_close(struct weft_control *control, bool orderly);

#endif
