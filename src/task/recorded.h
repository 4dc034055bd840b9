/*
 * task/recorded.h - what a host program has recorded, and which of its tasks wait for which.
 */
#ifndef WEFT_TASK_RECORDED_H
#define WEFT_TASK_RECORDED_H

#include "weft/task.h"

/* data, arguments: where its own are in the lists of all. */
struct weft_recorded_task {
    uint64_t count;
    uint32_t body, data, datas;
    uint32_t arguments, arguments_bytes;
};

struct weft_recorded {
    struct weft_recorded_task *task;
    weft_task_data_desc *data;
    unsigned char *arguments;
    uint32_t tasks, datas, arguments_bytes;
};

/* edge[first[t]] to edge[first[t + 1] - 1]: the tasks that task t waits for; with WEFT_TASK_BEFORE,
 * in the epoch before. Every pair of accesses that overlap, one of which writes, is in order. */
struct weft_edges {
    uint32_t *first, *edge;
};

/* Finds them; `edges` is freed by weft_edges_free, also after an error. Errors: MEMORY, which is
 * not said. */
weft_status weft_edges_find(const struct weft_recorded *recorded, struct weft_edges *edges);
void weft_edges_free(struct weft_edges *edges);

#endif
