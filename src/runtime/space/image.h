/*
 * runtime/space/image.h - what ranks see of the job where the host does not share its memory with
 * them: an image of weft_state and its tables in device memory, the counters, and each rank's own
 * lists. On a device with host access there is no image, and every call here does nothing.
 */
#ifndef WEFT_RUNTIME_SPACE_IMAGE_H
#define WEFT_RUNTIME_SPACE_IMAGE_H

#include "runtime/job/job.h"

struct weft_image {
    /* For the whole job: the counters, which other processes map. */
    struct weft_exposed *exposed;
    struct weft_share exposed_share;
    struct weft_image_peer {
        struct weft_exposed *exposed; /* counters of that process; NULL: not mapped */
        struct weft_share share;
    } * peers;                    /* by process */
    uint32_t *counts;             /* what the host stored in its words of the counters */
    uint32_t dirty;               /* not 0: the next run sets all counters of tags anew; atomic */
    struct weft_device_code left; /* left.cu */

    /* For the prepared kernel: offsets in device memory, and bytes of entries. */
    struct weft_image_layout {
        size_t state, processes, windows, comms, entries, members, lists, barriers, bytes;
        size_t entries_each[2], members_each[2]; /* [0]: of what processes share; [1]: of one */
    } at;
    unsigned char *memory; /* NULL: no kernel is prepared */
    struct weft_share share;
    struct weft_seen *seen; /* left.h; then words of the NIC: host_alloc */
};

weft_status weft_image_open(struct weft_job *job);
void weft_image_close(struct weft_job *job);

/* Makes the tables for the ranks of a kernel, with what is in them already. Table lock held. */
weft_status weft_image_prepare(struct weft_job *job);
/* Zero notifications, no barrier under way: before a run, while nobody adds. */
weft_status weft_image_reset(struct weft_job *job);

/* Returns what a tag's count begins with: the sum of three first values. */
static inline uint32_t weft_image_none(const struct weft_job *job)
{
    return 3 * (uint32_t)job->config.counter_start;
}

/* Points a rank's state to the image. */
void weft_image_place(struct weft_job *job, weft_self *self);

/* Writes an entry that was made or dropped. Table lock held; visible to ranks on return. */
void weft_image_comm(struct weft_job *job, weft_comm comm);
void weft_image_window(struct weft_job *job, weft_win win);

/* Adds one to the host's word of a counter, after all that the receive stream copied. */
void weft_image_count(struct weft_job *job, uint32_t index);

/* ---- left.c ---- */

/* Has the device look at the counters (left.h). Blocking, while no kernel runs. */
weft_status weft_image_look(struct weft_job *job);
/* Gives the counters of the tags of all slots, after a run, while nobody counts: by a copy from the
 * device where there is an image, with what NICs counted there. NULL: the device has found nothing
 * in them, or failed. */
const struct weft_counter *weft_image_counters(struct weft_job *job);

#endif
