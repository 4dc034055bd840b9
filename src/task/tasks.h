/*
 * task/tasks.h - tasks as the host program has them: between weft_tasks_begin and weft_tasks_end.
 */
#ifndef WEFT_TASK_TASKS_H
#define WEFT_TASK_TASKS_H

#include "host/host.h"
#include "task/place.h"

struct weft_tasks {
    const weft_task_kernel *kernel;
    struct weft_task_place place; /* as it was copied to the device */
    unsigned char *memory;        /* the place, in device memory */
    unsigned char *scratch;
    void *data;      /* what the kernel gets: where the place is, and the user data */
    void *user;      /* the program's own */
    uint32_t posted; /* entries */
    uint32_t phase, gates;
    uint32_t next; /* number of a host's task to look at first for a free one */
    uint32_t generation[WEFT_TASK_STATES];
    bool begun; /* the kernel was started */
    weft_task_numbers numbers;
    bool counted; /* numbers are known */
};

/* Of this job, if tasks have begun; NULL, and an error said. */
struct weft_tasks *weft_tasks_of(weft_job *job, const char *call);

/* Tells the ranks of this place; may wait for space. record: NULL, or what to create, of
 * which `a` bytes matter. */
void weft_tasks_post(weft_job *job, weft_self *self, enum weft_task_what what, uint32_t a,
                     uint32_t b, const struct weft_task_record *record);

/* Forgets the names of all tasks: they are done. */
void weft_tasks_forget(struct weft_tasks *tasks);

extern const struct weft_service weft_tasks_service; /* report.c */

#endif
