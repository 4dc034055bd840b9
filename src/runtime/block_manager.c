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

enum {
    BATCH = 32,             /* commands in a turn */
    STAGE_BYTES = 256 << 10 /* of a put that the network cannot read where it lies */
};

/* How much a request with a payload has room for. */
static size_t payload_room(const struct weft_job *job)
{
    return job->device_ops->host_access ? job->state.inline_bytes : STAGE_BYTES;
}

/* Most requests are notices and large puts, which have no payload of their own. */
static struct weft_request *new_request(struct weft_job *job, bool with_payload)
{
    struct weft_request *request = job->free_requests[with_payload];

    if (request != NULL) {
        job->free_requests[with_payload] = request->next_free;
        return request;
    }
    request = malloc(sizeof(*request) + (with_payload ? payload_room(job) : 0));
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
    struct weft_link *link = job->selves[request->slot]->link;
    weft_store_release_u32(&link->landed, weft_load_relaxed_u32(&link->landed) + 1,
                           ORDER_done_remote);
    count(job, &link->done_remote[request->process], ORDER_done_remote);
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
    bool staged;    /* the host fetches the data before the network can have it, */
    uint64_t piece; /* at most so many bytes at once */
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

/*
 * The piece of a put that is next: a row, or, where the host must fetch it from the device, as much
 * of a row as a request holds. False: its source cannot be had yet, or not at all.
 */
static bool next_piece(struct weft_job *job, struct weft_manager *manager, const struct plan *plan,
                       struct weft_net_put *put)
{
    struct weft_request *request = manager->request;
    const uint64_t left = plan->width - manager->done;
    const unsigned char *source = plan->source + manager->row * plan->source_pitch + manager->done;

    *put = plan->put;
    put->cookie = request;
    put->offset += manager->row * plan->pitch + manager->done;
    put->source = source;
    put->bytes = left < plan->piece ? left : plan->piece;
    if (manager->row + 1 != plan->rows || put->bytes != left)
        put->notice = 0;
    if (!plan->staged)
        return true;
    put->source = request->payload;
    if (manager->fetched)
        return true;
    if (request->unsent != request->unissued)
        return false; /* the piece before is still in there */
    if (job->device_ops->copy(job->device, WEFT_LANE_SEND, request->payload, source, put->bytes) !=
            WEFT_OK ||
        job->device_ops->wait(job->device, WEFT_LANE_SEND) != WEFT_OK) {
        weft_job_fail(job, WEFT_ERR_DEVICE, "process %d cannot fetch %zu bytes: %s",
                      job->numbers.process, put->bytes, weft_err_last());
        return false;
    }
    manager->fetched = true;
    return true;
}

/* Hands what is left to the network. True: all of it is accepted. */
static bool issue(struct weft_job *job, struct weft_manager *manager, const struct plan *plan)
{
    struct weft_request *request = manager->request;

    while (request->unissued > 0) {
        struct weft_net_put put;
        if (!next_piece(job, manager, plan, &put))
            return false;
        request->unissued--; /* before: the network may report it from within put */
        weft_status status = job->net_ops->put(job->net, &put);
        if (status != WEFT_OK)
            request->unissued++;
        if (status == WEFT_NET_FULL)
            return false;
        if (status != WEFT_OK) {
            weft_job_fail(job, status, "process %d cannot put %zu bytes to process %d: %s",
                          job->numbers.process, put.bytes, put.process, weft_err_last());
            return false;
        }
        weft_trace_net(job, WEFT_NET_SEND, put.process, put.notice, put.bytes);
        manager->fetched = false;
        manager->done += put.bytes;
        if (manager->done == plan->width) {
            manager->done = 0;
            manager->row++;
        }
    }
    return true;
}

/* A request for the command at the tail; NULL: not yet, or the job has failed. */
static struct weft_request *begin_request(struct weft_job *job, uint32_t slot,
                                          const struct plan *plan, uint32_t payload)
{
    struct weft_manager *manager = &job->managers[slot];
    struct weft_request *request = new_request(job, payload != 0 || plan->staged);

    if (request == NULL) {
        weft_job_fail(job, WEFT_ERR_MEMORY, "no memory for a request of %zu bytes",
                      sizeof(*request) + payload_room(job));
        return NULL;
    }
    if (!weft_command_payload(&manager->commands, request->payload, payload)) {
        free_request(job, request);
        return NULL;
    }
    request->slot = slot;
    request->process = plan->put.process;
    request->unissued = plan->rows * (plan->width / plan->piece + (plan->width % plan->piece != 0));
    if (plan->width == 0)
        request->unissued = plan->rows;
    request->unsent = request->unlanded = request->unissued;
    manager->row = manager->done = 0;
    manager->fetched = false;
    return request;
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
    plan.staged = !job->device_ops->host_access && !inside && plan.width != 0;
    plan.piece = plan.staged ? STAGE_BYTES : UINT64_MAX;
    if (manager->request == NULL)
        manager->request = begin_request(job, slot, &plan, payload);
    if (manager->request == NULL)
        return false;
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
