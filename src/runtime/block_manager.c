/*
 * runtime/block_manager.c - the host's side of a rank: takes its commands in order, checks them,
 * and hands them to the network.
 *
 * Nothing is dropped: while the network has no room, the command stays at the tail of its ring and
 * the other ranks get their turn. A command's lines are freed when all of it is accepted; the rank
 * learns that a put's source may be reused, and that it landed, through its link.
 */
#include "runtime/job.h"

#include "base/say.h"
#include "queue/command_ring.h"
#include "window/tables.h"
#include "wire/notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32 }; /* commands in a turn */

/* Most requests are notices and large puts, which have no payload of their own. */
static struct weft_request *new_request(struct weft_job *job, bool with_payload)
{
    struct weft_request *request = job->free_requests[with_payload];

    if (request != NULL) {
        job->free_requests[with_payload] = request->next_free;
        return request;
    }
    request = malloc(sizeof(*request) + (with_payload ? job->state.inline_bytes : 0));
    if (request == NULL)
        return NULL;
    request->payload = with_payload ? (unsigned char *)(request + 1) : NULL;
    request->next_made = job->made_requests;
    job->made_requests = request;
    return request;
}

static void free_request(struct weft_job *job, struct weft_request *request)
{
    struct weft_request **list = &job->free_requests[request->payload != NULL];

    request->next_free = *list;
    *list = request;
}

/* The link's words have one writer, the progress task: a load and a release store are an add. */
static void count(struct weft_job *job, uint32_t *word, enum weft_order label)
{
    weft_store_release_u32(word, weft_load_relaxed_u32(word) + 1, label);
    weft_bell_ring(&job->state.exposed->bell);
}

void weft_request_sent(void *context, void *cookie)
{
    struct weft_job *job = context;
    struct weft_request *request = cookie;

    if (--request->unsent == 0)
        count(job, &job->selves[request->slot]->link->done_local, ORDER_done_local);
}

void weft_request_landed(void *context, void *cookie)
{
    struct weft_job *job = context;
    struct weft_request *request = cookie;

    if (--request->unlanded > 0)
        return;
    count(job, &job->selves[request->slot]->link->done_remote[request->process], ORDER_done_remote);
    free_request(job, request);
}

/* Those still under way go too: the network, which would report them, stands still. */
void weft_manager_close(struct weft_job *job)
{
    while (job->made_requests != NULL) {
        struct weft_request *request = job->made_requests;
        job->made_requests = request->next_made;
        free(request);
    }
}

static void bad_command(struct weft_job *job, uint32_t slot, const struct weft_command *command)
{
    char name[40];
    weft_slot_name(job, slot, name, sizeof(name));
    weft_job_fail(job, WEFT_ERR_PROTOCOL,
                  "%s sent a command that cannot be: kind %u, object 0x%x, target %u", name,
                  command->kind, command->object, command->target);
}

/* What a command becomes: the target's process, the put's fixed part, and its rows. */
struct plan {
    struct weft_net_put put;
    const unsigned char *source;
    uint64_t rows, width, pitch, source_pitch;
};

static bool plan_put(struct weft_job *job, const struct weft_command *command, struct plan *plan)
{
    bool good = false;

    weft_lock(&job->tables);
    const struct weft_window *window = weft_window_find(&job->state, command->object);
    if (window != NULL && command->target < (uint32_t)window->members && command->height > 0) {
        const struct weft_window_entry *entry = &window->entry[command->target];
        const struct weft_member to = window->member[command->target];
        good = weft_inside(command->offset, command->pitch, command->width, command->height,
                           entry->bytes) &&
               to.process != job->numbers.process &&
               (!(command->flags & WEFT_COMMAND_INLINE) || command->height == 1);
        plan->put.process = to.process;
        plan->put.key = entry->key;
        plan->put.offset = entry->key_offset + command->offset;
        if (command->flags & WEFT_COMMAND_NOTIFY)
            plan->put.notice = weft_notice(WEFT_NOTICE_COUNT, command->tag, to.slot);
        plan->source = (const unsigned char *)(uintptr_t)command->source;
        plan->rows = command->height;
        plan->width = command->width;
        plan->pitch = command->pitch;
        plan->source_pitch = command->source_pitch;
    }
    weft_unlock(&job->tables);
    return good;
}

static bool plan_count(struct weft_job *job, const struct weft_command *command, struct plan *plan)
{
    bool good = false;

    weft_lock(&job->tables);
    const struct weft_comm_entry *comm = weft_comm_find(&job->state, command->object);
    if (comm != NULL && command->target < (uint32_t)comm->members) {
        const struct weft_member to = comm->member[command->target];
        plan->put.process = to.process;
        plan->put.notice = weft_notice(WEFT_NOTICE_COUNT, command->tag, to.slot);
        good = to.process != job->numbers.process;
    }
    weft_unlock(&job->tables);
    return good;
}

static bool make_plan(struct weft_job *job, const struct weft_command *command, struct plan *plan)
{
    *plan = (struct plan){.rows = 1};
    switch (command->kind) {
    case WEFT_COMMAND_PUT:
        return plan_put(job, command, plan);
    case WEFT_COMMAND_COUNT:
        return plan_count(job, command, plan);
    default:
        plan->put.process = (int)command->target;
        plan->put.notice = weft_notice(WEFT_NOTICE_BARRIER, 0, (uint32_t)command->offset);
        return command->target < (uint32_t)job->numbers.processes &&
               plan->put.process != job->numbers.process &&
               command->offset < (uint64_t)job->state.comms_count * WEFT_BARRIER_WORDS;
    }
}

/* Hands the rows that are left to the network. True: all of them are accepted. */
static bool issue(struct weft_job *job, struct weft_manager *manager, const struct plan *plan)
{
    struct weft_request *request = manager->request;

    for (; manager->row < plan->rows; manager->row++) {
        const bool last = manager->row + 1 == plan->rows;
        struct weft_net_put put = plan->put;
        put.offset += manager->row * plan->pitch;
        put.source = plan->source + manager->row * plan->source_pitch;
        put.bytes = plan->width;
        put.notice = last ? plan->put.notice : 0;
        put.cookie = request;
        weft_status status = job->net_ops->put(job->net, &put);
        if (status == WEFT_NET_FULL)
            return false;
        if (status != WEFT_OK) {
            weft_job_fail(job, status, "process %d cannot put %zu bytes to process %d: %s",
                          job->numbers.process, put.bytes, put.process, weft_err_last());
            return false;
        }
    }
    return true;
}

/* A put, a notification or a barrier's notice. False: not finished, look again later. */
static bool serve_put(struct weft_job *job, uint32_t slot, const struct weft_command *command)
{
    struct weft_manager *manager = &job->managers[slot];
    const bool inside = (command->flags & WEFT_COMMAND_INLINE) != 0;
    const uint32_t payload = inside ? (uint32_t)command->width : 0;
    struct plan plan;

    if ((inside && command->width > job->state.inline_bytes) || !make_plan(job, command, &plan)) {
        bad_command(job, slot, command);
        return false;
    }
    if (manager->request == NULL) {
        struct weft_request *request = new_request(job, payload != 0);
        if (request == NULL) {
            weft_job_fail(job, WEFT_ERR_MEMORY, "no memory for a request of %zu bytes",
                          sizeof(*request) + payload);
            return false;
        }
        if (!weft_command_payload(&manager->commands, request->payload, payload)) {
            free_request(job, request);
            return false;
        }
        request->slot = slot;
        request->process = plan.put.process;
        request->unsent = request->unlanded = plan.rows;
        manager->request = request;
        manager->row = 0;
    }
    if (payload != 0)
        plan.source = manager->request->payload;
    if (!issue(job, manager, &plan))
        return false;
    manager->request = NULL;
    weft_command_pop(&manager->commands, payload);
    return true;
}

static bool serve_text(struct weft_job *job, uint32_t slot, const struct weft_command *command)
{
    struct weft_manager *manager = &job->managers[slot];
    unsigned char payload[WEFT_LOG_TEXT + WEFT_LOG_ARGS * sizeof(weft_log_arg)];
    char name[40], text[WEFT_TEXT_BYTES];

    if (command->width > sizeof(payload) || command->offset > command->width) {
        bad_command(job, slot, command);
        return false;
    }
    if (!weft_command_payload(&manager->commands, payload, (uint32_t)command->width))
        return false;
    weft_log_format(text, sizeof(text), payload, (uint32_t)command->offset,
                    (uint32_t)command->width, command->height);
    weft_slot_name(job, slot, name, sizeof(name));
    if (command->kind == WEFT_COMMAND_FAIL)
        weft_job_fail(
            job, command->tag < WEFT_STATUS_COUNT ? (weft_status)command->tag : WEFT_ERR_PROTOCOL,
            "%s: %s", name, text);
    else if (!weft_device_log(job, name, text))
        return false;
    weft_command_pop(&manager->commands, (uint32_t)command->width);
    return true;
}

static bool serve(struct weft_job *job, uint32_t slot, const struct weft_command *command)
{
    switch (command->kind) {
    case WEFT_COMMAND_PUT:
    case WEFT_COMMAND_COUNT:
    case WEFT_COMMAND_BARRIER:
        return serve_put(job, slot, command);
    case WEFT_COMMAND_COLLECTIVE:
        weft_collective_ask(job, slot, command);
        weft_command_pop(&job->managers[slot].commands, 0);
        return true;
    case WEFT_COMMAND_LOG:
    case WEFT_COMMAND_FAIL:
        return serve_text(job, slot, command);
    default:
        bad_command(job, slot, command);
        return false;
    }
}

bool weft_manager_serve(struct weft_job *job, uint32_t slot)
{
    struct weft_command command;
    bool did = false;

    if (weft_job_is_failing(job))
        return false;
    for (int n = 0; n < BATCH; n++) {
        if (!weft_command_peek(&job->managers[slot].commands, &command) ||
            !serve(job, slot, &command))
            break;
        did = true;
    }
    return did;
}
