/*
 * boot/local.c - the control channel between processes that are tasks of one address space: one
 * list of frames under one lock, and one bell.
 *
 * A group may open a job again after it has closed one: who comes first waits until the last
 * process has left the job before. And who leaves first waits for the last: the processes write
 * into each other's memory, which is freed after the channel.
 */
#include "boot/local.h"

#include "base/say.h"
#include "base/task.h"
#include "boot/back.h"
#include "boot/history.h"

#include <stdlib.h>

static const uint64_t close_wait = 5000000000; /* ns; as the root's (hub.c) */

struct member {
    struct weft_local *group;
    int process;
};

struct weft_local {
    struct weft_lock lock; /* guards all below, but not the bell */
    struct weft_history history;
    int processes;
    int inside;    /* processes that are in the job */
    int gone;      /* processes that will join no more jobs */
    bool complete; /* all have come, and not all have left yet */
    bool failed;   /* there was no memory for a frame of this job */
    uint32_t over; /* jobs so far that all have left */
    struct weft_bell bell;
    struct member members[]; /* what the tasks' slots point to */
};

struct local {
    struct weft_control control;
    struct weft_local *group;
    struct weft_history_entry *cursor;
    uint32_t job; /* `over` of the group when this process joined */
    bool woken;   /* this process waits for no frame any more; guarded by the group's lock */
    bool told;    /* this process knows that the job has failed */
    bool solo;    /* the group is this channel's own */
};

static const struct weft_control_ops local_ops;

weft_status weft_local_begin(struct weft_local **group, int processes)
{
    struct weft_local *g = calloc(1, sizeof(*g) + (size_t)processes * sizeof(g->members[0]));

    if (g == NULL || !weft_history_begin(&g->history)) {
        free(g);
        return weft_err(WEFT_ERR_MEMORY, "no memory for a local job of %d processes", processes);
    }
    g->processes = processes;
    for (int i = 0; i < processes; i++)
        g->members[i] = (struct member){g, i};
    *group = g;
    return WEFT_OK;
}

void weft_local_enter(struct weft_local *group, int process)
{
    *weft_task_local() = &group->members[process];
}

static void unlock_and_ring(struct weft_local *group)
{
    weft_unlock(&group->lock);
    weft_bell_ring(&group->bell);
}

void weft_local_gone(struct weft_local *group, int processes)
{
    weft_lock(&group->lock);
    group->gone += processes;
    unlock_and_ring(group);
}

void weft_local_end(struct weft_local *group)
{
    if (group->inside > 0) { /* their threads look at the group as long as the program runs */
        weft_say(WEFT_SAY_WARN, "weft_local_job: %d of %d processes returned without weft_close",
                 group->inside, group->processes);
        return;
    }
    weft_history_end(&group->history);
    free(group);
}

bool weft_local_here(void)
{
    return *weft_task_local() != NULL;
}

/* What a process waits for. */
enum event {
    BEFORE_IS_OVER,
    COMPLETE, /* all have come, or one will never come */
    OVER,
    FRAME /* a frame has come or cannot come, or this process waits for none any more */
};

/* Whether a frame is missing, for which others wait, and that was not told. With the lock. */
static bool is_missing_one(const struct local *local)
{
    return local->group->failed && !local->told;
}

/* Whether an event has come. The caller holds the lock. */
static bool has_come(const struct local *local, enum event event)
{
    switch (event) {
    case BEFORE_IS_OVER:
        return !local->group->complete;
    case COMPLETE:
        return local->group->complete || local->group->gone > 0;
    case OVER:
        return local->group->over != local->job;
    default:
        return local->woken || is_missing_one(local) || local->cursor->next != NULL;
    }
}

/* Waits for an event until the deadline. True: it has come, and the caller has the lock. */
static bool await(struct local *local, enum event event, uint64_t deadline)
{
    struct weft_local *const group = local->group;

    for (;;) {
        const uint32_t ticket = weft_bell_prepare(&group->bell);
        weft_lock(&group->lock);
        if (has_come(local, event)) {
            weft_bell_cancel(&group->bell);
            return true;
        }
        weft_unlock(&group->lock);
        const uint64_t now = weft_now_ns();
        if (now >= deadline) {
            weft_bell_cancel(&group->bell);
            return false;
        }
        weft_bell_sleep(&group->bell, ticket, deadline - now);
    }
}

/* Leaves the job; the last one makes way for the group's next. The caller holds the lock. */
static void leave(struct local *local)
{
    struct weft_local *group = local->group;

    weft_history_leave(&group->history, local->cursor);
    if (--group->inside == 0) {
        group->complete = group->failed = false;
        group->over++;
    }
}

/* Enters the group's next job and waits for the other processes. */
static weft_status join(struct local *local, double connect_s)
{
    struct weft_local *group = local->group;
    const uint64_t deadline = weft_deadline((uint64_t)(connect_s * 1e9));

    if (!await(local, BEFORE_IS_OVER, deadline))
        return weft_err(WEFT_ERR_TIMEOUT, "the group's earlier job was not over after %g s",
                        connect_s);
    local->cursor = weft_history_join(&group->history);
    local->job = group->over;
    if (++group->inside == group->processes)
        group->complete = true;
    unlock_and_ring(group);

    const bool waited = await(local, COMPLETE, deadline);
    if (!waited)
        weft_lock(&group->lock);
    if (!group->complete) { /* it may be, although time was over */
        const bool never = group->gone > 0;
        leave(local);
        unlock_and_ring(group);
        if (never)
            return weft_err(WEFT_ERR_PEER_LOST,
                            "one of %d processes has ended, or never began, and not opened the job",
                            group->processes);
        return weft_err(WEFT_ERR_TIMEOUT, "not all of %d processes opened the job within %g s",
                        group->processes, connect_s);
    }
    weft_unlock(&group->lock);
    return WEFT_OK;
}

static weft_status open_in(struct weft_control **control, struct weft_local *group, int process,
                           bool solo, double connect_s)
{
    struct local *local = malloc(sizeof(*local));

    if (local == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a control channel");
    *local = (struct local){
        .control = {&local_ops, process, group->processes, true}, .group = group, .solo = solo};
    weft_status status = join(local, connect_s);
    if (status != WEFT_OK) {
        free(local);
        return status;
    }
    *control = &local->control;
    return WEFT_OK;
}

weft_status weft_local_open(struct weft_control **control, const struct weft_config *config)
{
    const struct member *member = *weft_task_local();

    return open_in(control, member->group, member->process, false, config->connect_s);
}

weft_status weft_local_solo(struct weft_control **control, const struct weft_config *config)
{
    struct weft_local *group = NULL;

    WEFT_TRY(weft_local_begin(&group, 1));
    const weft_status status = open_in(control, group, 0, true, config->connect_s);
    if (status != WEFT_OK)
        weft_local_end(group);
    return status;
}

static weft_status local_send(struct weft_control *control, uint16_t kind, const void *payload,
                              size_t bytes)
{
    struct local *local = (struct local *)control;
    const struct weft_header header = {.bytes = (uint32_t)bytes,
                                       .kind = kind,
                                       .source = (uint16_t)control->process,
                                       .op = WEFT_OP_FRAME};

    weft_lock(&local->group->lock);
    const bool appended = weft_history_append(&local->group->history, &header, payload);
    local->group->failed |= !appended;
    unlock_and_ring(local->group);
    if (!appended)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a control frame of %zu bytes", bytes);
    return WEFT_OK;
}

static weft_status local_next(struct weft_control *control, struct weft_frame *frame,
                              uint64_t timeout_ns)
{
    struct local *local = (struct local *)control;
    struct weft_local *group = local->group;
    const uint64_t deadline = timeout_ns == 0 ? 0 : weft_deadline(timeout_ns);

    const bool awake = await(local, FRAME, deadline);
    weft_status status = WEFT_ERR_TIMEOUT;
    if (awake && is_missing_one(local)) {
        local->told = true;
        status = weft_err(WEFT_ERR_MEMORY, "a control frame had no memory");
    } else if (awake && local->cursor->next != NULL) {
        const struct weft_history_entry *entry = local->cursor->next;
        status = weft_frame_fill(frame, entry->header.kind, entry->header.source,
                                 entry->wire + WEFT_HEADER_BYTES, entry->header.bytes);
        if (status == WEFT_OK)
            weft_history_pass(&group->history, &local->cursor);
    }
    if (awake)
        weft_unlock(&group->lock);
    if (status == WEFT_ERR_TIMEOUT && timeout_ns == 0 && weft_model != NULL)
        weft_task_yield(true);
    return status;
}

static void local_wake(struct weft_control *control)
{
    struct local *local = (struct local *)control;

    weft_lock(&local->group->lock);
    local->woken = true;
    unlock_and_ring(local->group);
}

static void local_close(struct weft_control *control, bool orderly)
{
    struct local *local = (struct local *)control;
    struct weft_local *group = local->group;
    const struct weft_header lost = {
        .kind = WEFT_FRAME_LOST, .source = (uint16_t)control->process, .op = WEFT_OP_FRAME};
    bool told = true;

    weft_lock(&group->lock);
    if (!orderly)
        told = weft_history_append(&group->history, &lost, NULL);
    leave(local);
    unlock_and_ring(group);
    if (!told)
        weft_err(WEFT_ERR_MEMORY, "no memory to tell that process %d is lost", control->process);
    if (await(local, OVER, weft_deadline(close_wait)))
        weft_unlock(&group->lock);
    if (local->solo)
        weft_local_end(group);
    free(local);
}

static const struct weft_control_ops local_ops = {
    .send = local_send, .next = local_next, .wake = local_wake, .close = local_close};
