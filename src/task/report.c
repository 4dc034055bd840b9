/* task/report.c - what to say of ranks that wait for tasks which gates hold, and of failures. */
#include "task/tasks.h"

#include <stdio.h>

static void waits_for(const struct weft_job *job, const struct weft_wait_seen *wait, char *text,
                      size_t bytes)
{
    const uint32_t body = (uint32_t)(wait->a >> 32), count = (uint32_t)(wait->need >> 32);
    const weft_task_kernel *kernel = job->tasks != NULL ? job->tasks->kernel : NULL;

    snprintf(text, bytes,
             "for tasks: place %d: %u tasks held by gates, the last of them \"%s\" %u waits for %u "
             "of %u",
             job->numbers.process, (uint32_t)wait->have,
             kernel != NULL && body < kernel->bodies ? kernel->names[body] : "?", (uint32_t)wait->a,
             (uint32_t)wait->need, count);
}

/* See weft_task_work. */
static void works_on(const struct weft_job *job, uint64_t work, char *text, size_t bytes)
{
    const uint32_t body = (uint32_t)(work >> 32) & 0xff;
    const weft_task_kernel *kernel = job->tasks != NULL ? job->tasks->kernel : NULL;

    snprintf(text, bytes, "; in task \"%s\" %u of place %u",
             kernel != NULL && body < kernel->bodies ? kernel->names[body] : "?", (uint32_t)work,
             (uint32_t)(work >> 40) - 1);
}

const struct weft_service weft_tasks_service = {
    .owns[WEFT_OWNS_WAITS] = WEFT_KIND(WEFT_WAIT_TASKS),
    .works_on = works_on,
    .waits_for = waits_for,
};
