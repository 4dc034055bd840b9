/*
 * task/tasks.h - tasks as the host program has them: between weft_tasks_begin and weft_tasks_end.
 */
#ifndef WEFT_TASK_TASKS_H
#define WEFT_TASK_TASKS_H

#include "host/host.h"
#include "task/place.h"

enum { WEFT_TASK_BOOKS_NONE = 2 /* books of a name whose task is not posted yet */ };

struct weft_tasks {
    const weft_task_kernel *kernel;
    struct weft_task_place place; /* the place as it was copied to the device */
    unsigned char *memory; /* memory of the device: the place, and its ranks' scratch memory */
    void *data;            /* what the kernel gets: where the place is, then the user data */
    void *user;            /* user data in the program's memory */
    uint32_t posted;       /* entries posted to the ranks */
    uint32_t phase;
    uint32_t runs; /* runs of recorded tasks */
    struct weft_recording *recordings, *running;
    uint32_t next;                   /* number at which the search for a free name begins */
    uint8_t books[WEFT_TASK_STATES]; /* by number of a task: the books that it is in */
    struct weft_task_place *image;   /* memory for copies of the place and its ranks */
    bool begun;                      /* the kernel was started */
    weft_task_numbers numbers;
    bool counted; /* 1: `numbers` is known */
};

/* Finds the tasks of this job, if they have begun; else STATE, and an error said. */
weft_status weft_tasks_of(weft_job *job, const char *call, struct weft_tasks **tasks);

/* Checks that it is a task of this place; else ARGUMENT, and an error said. */
weft_status weft_task_check(weft_job *job, const struct weft_tasks *tasks, const char *call,
                            const weft_task_desc *desc);

/* Gives the next entry for this place's ranks; may wait for space. weft_tasks_posted posts it. */
struct weft_task_entry *weft_tasks_entry(weft_job *job, weft_self *self);
void weft_tasks_posted(weft_job *job, enum weft_task_what what, uint32_t a);

/* Names the body of a task of the recording that runs; its number, and its place. */
const char *weft_recorded_name(const struct weft_tasks *tasks, uint32_t task, uint32_t *number,
                               int *home);
/* Whether ranks of this place load and store in a window at a place as they do in their own. */
bool weft_task_reaches(const weft_job *job, weft_win win, int place);
/* Whether a task of these flags may run at a place. */
bool weft_task_may_run(const weft_job *job, uint32_t flags, int place);
/* Frees all recordings, or those that the program has freed; no kernel runs. Collective, unless the
 * job has failed. */
void weft_recordings_free(struct weft_tasks *tasks, bool all);

/*
 * Ends the kernel when all tasks of all places are done; and starts it again, with all that ranks
 * have counted. In between memory may be made, mapped by others, and freed. Collective, blocking;
 * not within a call of the host program (WEFT_HOST_BEGIN).
 */
weft_status weft_tasks_pause(weft_job *job);
weft_status weft_tasks_resume(weft_job *job);

/* Takes `bytes` at `at`, which moves on; memory NULL: only that. */
static inline void *weft_task_carve(unsigned char *memory, size_t *at, size_t bytes)
{
    void *const part = memory != NULL ? memory + *at : NULL;

    *at += (bytes + 63) & ~(size_t)63;
    return part;
}

#endif
