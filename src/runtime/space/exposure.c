/*
 * runtime/space/exposure.c - windows with one member: memory of one process, announced to all under
 * a number that it chooses. Any task; the list lies under the table lock.
 *
 * Nobody agrees on anything: one control frame says it, and every process of the job does the same
 * to its tables at that point of the control channel's order, so that the window has one handle.
 * Its member is the host program of the process.
 */
#include "runtime/space/collective.h"

#include "runtime/space/image.h"
#include "runtime/space/tables.h"

#include <stdlib.h>

/* Whose memory is registered while its frame is under way: no communicator's handle. */
#define CLAIM UINT32_MAX

struct exposure_frame {
    uint32_t number, unused;
    struct weft_contribution from;
};

/* Table lock held. */
static struct weft_announced *find_announced(const struct weft_job *job, int process,
                                             uint32_t number)
{
    for (uint32_t i = 0; i < job->space.announced_count; i++) {
        struct weft_announced *a = &job->space.announced[i];
        if (a->process == process && (process < 0 || a->number == number))
            return a;
    }
    return NULL;
}

/* Finds a free place; NULL: no memory. Table lock held. */
static struct weft_announced *new_place(struct weft_job *job)
{
    const uint32_t count = job->space.announced_count;
    struct weft_announced *place = find_announced(job, -1, 0);

    if (place != NULL)
        return place;
    place = realloc(job->space.announced, (count + 1) * sizeof(*place));
    if (place == NULL)
        return NULL;
    job->space.announced = place;
    job->space.announced_count = count + 1;
    return &place[count];
}

bool weft_announced_find(struct weft_job *job, int process, uint32_t number,
                         struct weft_announced *found)
{
    weft_lock(&job->space.tables);
    const struct weft_announced *a = find_announced(job, process, number);
    if (a != NULL)
        *found = *a;
    weft_unlock(&job->space.tables);
    return a != NULL;
}

bool weft_announced_is(const struct weft_job *job, weft_win win)
{
    for (uint32_t i = 0; i < job->space.announced_count; i++)
        if (job->space.announced[i].process >= 0 && job->space.announced[i].win == win)
            return true;
    return false;
}

void weft_announced_forget(struct weft_job *job, uint32_t number)
{
    weft_lock(&job->space.tables);
    struct weft_announced *a = find_announced(job, job->numbers.process, number);
    if (a != NULL)
        a->process = -1;
    weft_unlock(&job->space.tables);
}

weft_status weft_announce(struct weft_job *job, void *base, size_t bytes, uint32_t number)
{
    struct exposure_frame frame = {.number = number, .from.member = job->numbers.process};

    weft_lock(&job->space.tables);
    weft_contribution_place(job, CLAIM, (uintptr_t)base, bytes, &frame.from);
    weft_unlock(&job->space.tables);
    if (frame.from.a != WEFT_OK)
        return (weft_status)frame.from.a;
    return weft_control_send(job->control, WEFT_FRAME_EXPOSE, &frame, sizeof(frame));
}

weft_status weft_renounce(struct weft_job *job, uint32_t number)
{
    const struct exposure_frame frame = {.number = number};
    return weft_control_send(job->control, WEFT_FRAME_UNEXPOSE, &frame, sizeof(frame));
}

/* Makes the window, the same in every process; `status` is for the one that announced it. */
static weft_status make_exposure(struct weft_job *job, int process,
                                 const struct weft_contribution *c, weft_win *win)
{
    struct weft_comm_entry *hosts = weft_comm_find(&job->space.state, WEFT_COMM_HOST);
    struct weft_window_entry *entry = calloc(1, sizeof(*entry));

    if (entry == NULL)
        return WEFT_ERR_MEMORY;
    const bool alone = job->numbers.processes == 1;
    weft_status status = weft_entry_check(job, alone, c);
    if (status == WEFT_OK)
        status = weft_window_make(&job->space.state, false, WEFT_COMM_HOST, entry, win);
    if (status != WEFT_OK) {
        free(entry);
        return status;
    }
    weft_entry_fill(job, hosts->member[process], alone, true, c, entry);
    struct weft_window *window = weft_window_find(&job->space.state, *win);
    window->members = 1;
    window->member = &hosts->member[process];
    weft_image_window(job, *win);
    return WEFT_OK;
}

static void expose(struct weft_job *job, int process, const struct exposure_frame *frame)
{
    const bool here = process == job->numbers.process;
    struct weft_announced *place = new_place(job);
    struct weft_announced made = {.process = process, .number = frame->number};

    if (place != NULL)
        place->process = -1;
    made.status =
        place != NULL ? make_exposure(job, process, &frame->from, &made.win) : WEFT_ERR_MEMORY;
    if (made.status == WEFT_ERR_MEMORY) { /* its tables would be others than those of the rest */
        weft_job_fail(job, WEFT_ERR_MEMORY,
                      "process %d has no memory for an exposure of process %d",
                      job->numbers.process, process);
        return;
    }
    if (here)
        weft_memory_adopt(job, CLAIM, made.win);
    if (made.status == WEFT_OK || here)
        *place = made;
}

static void exposure_frame(struct weft_job *job, const struct weft_frame *frame)
{
    const struct exposure_frame *f = frame->payload;

    weft_lock(&job->space.tables);
    struct weft_announced *known = find_announced(job, frame->source, f->number);
    if ((known == NULL) != (frame->kind == WEFT_FRAME_EXPOSE)) {
        weft_job_fail(job, WEFT_ERR_PROTOCOL, "process %d announced number %u in the wrong order",
                      frame->source, f->number);
    } else if (frame->kind == WEFT_FRAME_EXPOSE) {
        expose(job, frame->source, f);
    } else {
        weft_window_drop(job, known->win);
        known->process = -1;
    }
    weft_unlock(&job->space.tables);
    weft_bell_ring(&job->space.state.exposed->bell);
}

static void exposure_close(struct weft_job *job)
{
    free(job->space.announced);
}

const struct weft_service weft_exposure_service = {
    .close = exposure_close,
    .owns[WEFT_OWNS_FRAMES] = WEFT_KIND(WEFT_FRAME_EXPOSE) | WEFT_KIND(WEFT_FRAME_UNEXPOSE),
    .frame_bytes = sizeof(struct exposure_frame),
    .frame = exposure_frame,
};
