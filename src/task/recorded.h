/*
 * task/recorded.h - what a host program has recorded, and which of its tasks wait for which.
 */
#ifndef WEFT_TASK_RECORDED_H
#define WEFT_TASK_RECORDED_H

#include "device/device.h"
#include "task/place.h"
#include "weft/task.h"

#include <stdbool.h>
#include <stdlib.h>

/* Steps of all tasks, one task's after the other's, as ranks read them. */
struct weft_recorded {
    struct weft_task_step *step;
    weft_task_data_desc *data;
    struct weft_task_part *part; /* where its ranks have the data */
    unsigned char *arguments;
    weft_win *win;  /* of its data, each once */
    uint32_t *edge; /* by weft_edges_find */
    uint64_t steps, edges;
    uint32_t tasks, datas, wins, arguments_bytes; /* arguments: in pieces of 16 */
};

/* Room for one more in a list of `count`, which has room for 256, or to the next power of two. */
static inline bool weft_recorded_grow(void **list, uint64_t count, size_t bytes)
{
    if (count != 0 && (count < 256 || (count & (count - 1)) != 0))
        return true;
    const uint64_t more = count == 0 ? 256 : 2 * count;
    void *const grown = more > UINT32_MAX ? NULL : realloc(*list, more * bytes);
    if (grown != NULL)
        *list = grown;
    return grown != NULL;
}

/* Finds what tasks wait for: each step names some of the edges, which are tasks; with
 * WEFT_TASK_BEFORE, in the epoch before. Every pair of accesses that overlap, one of which writes,
 * is in order. Errors: MEMORY, which is not said. */
weft_status weft_edges_find(struct weft_recorded *recorded);

struct weft_recording {
    weft_job *job;
    struct weft_recording *next; /* of the job's */
    struct weft_recorded recorded;
    uint64_t epochs; /* that have run */
    bool ready;
    unsigned char *memory; /* device memory: the tables */
    struct weft_share share;
};

/* Makes the tables. Errors: MEMORY, DEVICE, which are not said. */
weft_status weft_recording_tables(struct weft_recording *r);

#endif
