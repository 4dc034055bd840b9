/* task/report.c - what to say of tasks: in the watchdog's lines, of failures, in the timeline. */
#include "task/tasks.h"

#include <stdio.h>

static const char *name_of(const struct weft_job *job, uint32_t body)
{
    const weft_task_kernel *kernel = job->tasks != NULL ? job->tasks->kernel : NULL;

    return body == WEFT_TASK_COPY                    ? "copy"
           : kernel != NULL && body < kernel->bodies ? kernel->names[body]
                                                     : "?";
}

static void waits_for_recorded(const struct weft_job *job, const struct weft_wait_seen *wait,
                               char *text, size_t bytes)
{
    uint32_t number, other;
    int place, home;
    const char *const name =
        weft_recorded_name(job->tasks, (uint32_t)(wait->a >> 32), &number, &home);
    const char *const before = weft_recorded_name(job->tasks, (uint32_t)wait->a, &other, &place);

    snprintf(text, bytes,
             "for recorded task %u \"%s\" of place %d, which has done %llu of %llu epochs, to run "
             "task %u \"%s\"",
             other, before, place, (unsigned long long)wait->have, (unsigned long long)wait->need,
             number, name);
}

/* Names the last task that went to another place. */
static void waits_for(const struct weft_job *job, const struct weft_wait_seen *wait, char *text,
                      size_t bytes)
{
    const uint32_t by = (uint32_t)(wait->a >> 8) & 0xffffff;

    if (wait->kind == WEFT_WAIT_RECORD) {
        waits_for_recorded(job, wait, text, bytes);
        return;
    }
    snprintf(text, bytes,
             "for tasks: place %d: %u tasks away; the last of them \"%s\" %u is at place %u, made "
             "by %s",
             job->numbers.process, (uint32_t)wait->have, name_of(job, (uint32_t)wait->a & 0xff),
             (uint32_t)(wait->a >> 32), (uint32_t)wait->need,
             weft_slot_name(job, by < weft_job_slots(job) ? by : WEFT_HOST_SLOT).text);
}

/* See weft_task_work. */
static void works_on(const struct weft_job *job, uint64_t work, char *text, size_t bytes)
{
    snprintf(text, bytes, "; in task \"%s\" %u of place %u",
             name_of(job, (uint32_t)(work >> 32) & 0xff), (uint32_t)work,
             (uint32_t)(work >> 40) - 1);
}

/* See weft_task_mark. */
static void done(const struct weft_job *job, const struct weft_trace_event *event, char *name,
                 size_t name_bytes, char *args, size_t args_bytes)
{
    const bool by_rank = event->tag != WEFT_HOST_SLOT && event->process >= 0 &&
                         event->process < job->numbers.processes;
    const int by = !by_rank
                       ? event->process
                       : job->space.state.process_table[event->process].first_rank + event->tag - 1;

    snprintf(name, name_bytes, "%s", name_of(job, event->amount & 0xff));
    snprintf(args, args_bytes, "\"task\":%u,\"place\":%d,\"%s\":%d", event->slot, event->process,
             by_rank ? "made_by" : "made_by_host", by);
}

const struct weft_service weft_tasks_service = {
    .owns[WEFT_OWNS_WAITS] = WEFT_KIND(WEFT_WAIT_TASKS) | WEFT_KIND(WEFT_WAIT_RECORD),
    .works_on = works_on,
    .work_done = done,
    .waits_for = waits_for,
};
