/*
 * runtime/service/proxy.c - the host's side of a rank: takes its commands in order, checks them,
 * and makes requests of them (request.c), which go to the network.
 *
 * Nothing is dropped: while the network has no room, the command stays with the proxy of its rank
 * and the other ranks get their turn; so long as it has one, it takes no more from the ring. The
 * rank learns that a put's source may be reused, and that it delivered, through its link.
 */
#include "runtime/job/job.h"

#include "abi/notice.h"
#include "base/say.h"
#include "ring/command.h"
#include "runtime/space/tables.h"

#include <string.h>

enum { AHEAD = 8 /* commands under way of a rank, where the host fetches what they send */ };

/* ---- what a command asks for --------------------------------------------------------------- */

void weft_command_wrong(struct weft_job *job, uint32_t slot, const struct weft_command *command)
{
    weft_job_fail(job, WEFT_ERR_PROTOCOL,
                  "%s sent a command that cannot be: kind %u, object 0x%x, target %u",
                  weft_slot_name(job, slot).text, command->kind, command->object, command->target);
}

/* Whether a command's payload comes with it. */
static bool is_carried(const struct weft_command *command)
{
    return (command->flags & (WEFT_COMMAND_INLINE | WEFT_COMMAND_WITHIN)) != 0;
}

/* Plans a put. Table lock held, as for the next. */
static bool plan_put(const struct weft_job *job, const struct weft_command *command,
                     struct weft_request *plan)
{
    const struct weft_window *window = weft_window_find(&job->space.state, command->object);

    if (window == NULL || command->target >= (uint32_t)window->members || command->height == 0)
        return false;
    const struct weft_window_entry *entry = &window->entry[command->target];
    const struct weft_member to = window->member[command->target];
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
    return weft_inside(command->offset, command->pitch, command->width, command->height,
                       entry->bytes) &&
           (to.process != job->numbers.process || command->width == 0) &&
           (!is_carried(command) || command->height == 1);
}

static bool plan_count(const struct weft_job *job, const struct weft_command *command,
                       struct weft_request *plan)
{
    const struct weft_comm_entry *comm = weft_comm_find(&job->space.state, command->object);

    if (comm == NULL || command->target >= (uint32_t)comm->members)
        return false;
    const struct weft_member to = comm->member[command->target];
    plan->put.process = to.process;
    plan->put.notice = weft_notice(WEFT_NOTICE_COUNT, command->tag, to.slot);
    return to.process != job->numbers.process || job->space.state.hosts_apart;
}

/* False: it cannot be. */
static bool make_plan(struct weft_job *job, const struct weft_command *command,
                      struct weft_request *plan)
{
    plan->rows = 1;
    if (command->kind != WEFT_COMMAND_BARRIER) {
        weft_lock(&job->space.tables);
        const bool good = command->kind == WEFT_COMMAND_PUT ? plan_put(job, command, plan)
                                                            : plan_count(job, command, plan);
        weft_unlock(&job->space.tables);
        return good;
    }
    plan->put.process = (int)command->target;
    /* Host programs' words lie elsewhere than ranks': the tag says whose it is. */
    plan->put.notice =
        weft_notice(WEFT_NOTICE_BARRIER, plan->slot == WEFT_HOST_SLOT, (uint32_t)command->offset);
    return command->target < (uint32_t)job->numbers.processes &&
           plan->put.process != job->numbers.process &&
           command->offset < (uint64_t)job->space.state.comms_count * WEFT_BARRIER_WORDS;
}

/* ---- from the ring ------------------------------------------------------------------------- */

static void take_within(struct weft_request *request, const struct weft_command *command)
{
    const uint64_t words[2] = {command->source, command->source_pitch};

    static_assert(sizeof(words) == WEFT_WITHIN_MOST, "all that a command carries itself");
    memcpy(request->payload, words, request->width);
}

/* Takes a put, a notification or a barrier's notice. */
static enum weft_taken take_put(struct weft_job *job, uint32_t slot,
                                const struct weft_command *command)
{
    struct weft_rank_proxy *proxy = &job->proxy.of_ranks[slot];
    const bool carried = is_carried(command), within = (command->flags & WEFT_COMMAND_WITHIN) != 0;
    const uint32_t payload = carried && !within ? (uint32_t)command->width : 0;

    if (proxy->waiting == (job->proxy.stage != NULL ? AHEAD : 1))
        return WEFT_TAKEN_NOT;
    if (carried &&
        (command->kind != WEFT_COMMAND_PUT || command->width > job->space.state.inline_bytes ||
         (within && (command->width > WEFT_WITHIN_MOST || command->flags & WEFT_COMMAND_INLINE)))) {
        return WEFT_TAKEN_WRONG;
    }
    struct weft_request *request = weft_request_make(job, slot, carried);
    if (request == NULL)
        return WEFT_TAKEN_NOT;
    if (!make_plan(job, command, request)) {
        weft_request_free(job, request);
        return WEFT_TAKEN_WRONG;
    }
    if (!weft_command_payload(&proxy->commands, request->payload, payload)) {
        weft_request_free(job, request);
        return WEFT_TAKEN_NOT;
    }
    if (within)
        take_within(request, command);
    if (carried)
        request->source = request->payload;
    else if (request->width == 0) /* no bytes lie somewhere, too: networks add to it */
        request->source = (const unsigned char *)request;
    else
        weft_request_from_memory(job, request);
    weft_command_pop(&proxy->commands, payload);
    weft_requests_add(job, proxy, request);
    return WEFT_TAKEN;
}

void weft_flush_process(struct weft_job *job, int process)
{
    const weft_status status = weft_net_flush(job->proxy.net, process);

    if (status != WEFT_OK)
        weft_job_cannot(job, status, "flush");
}

static enum weft_taken take_flush(struct weft_job *job, uint32_t slot,
                                  const struct weft_command *command)
{
    if (command->target >= (uint32_t)job->numbers.processes)
        return WEFT_TAKEN_WRONG;
    weft_flush_process(job, (int)command->target);
    weft_command_pop(&job->proxy.of_ranks[slot].commands, 0);
    return WEFT_TAKEN;
}

static enum weft_taken put_command(struct weft_job *job, uint32_t slot,
                                   const struct weft_command *command, bool alone)
{
    if (command->kind != WEFT_COMMAND_FLUSH)
        return take_put(job, slot, command);
    return alone ? take_flush(job, slot, command) : WEFT_TAKEN_NOT;
}

/* False: nothing more can be taken now. */
static bool take_command(struct weft_job *job, uint32_t slot, const struct weft_command *command)
{
    const struct weft_service *owner = weft_service_owner(WEFT_OWNS_COMMANDS, command->kind);
    enum weft_taken taken = WEFT_TAKEN_WRONG;

    if (owner != NULL)
        taken = owner->command(job, slot, command, job->proxy.of_ranks[slot].waiting == 0);
    if (taken == WEFT_TAKEN_WRONG)
        weft_command_wrong(job, slot, command);
    return taken == WEFT_TAKEN;
}

bool weft_proxy_serve(struct weft_job *job, uint32_t slot)
{
    struct weft_rank_proxy *proxy = &job->proxy.of_ranks[slot];
    struct weft_command command;

    if (weft_job_is_failing(job) || weft_mutation == DRAIN_commands)
        return false;
    bool did = weft_requests_proceed(job, proxy);
    for (int n = 0; n < WEFT_COMMANDS_A_TURN; n++) {
        if (!weft_command_peek(&proxy->commands, &command) || !take_command(job, slot, &command))
            break;
        did = true;
    }
    return did;
}

enum { FAR = 6, NEAR = 2, LINES = 7 }; /* ranks ahead; lines of a payload */
/* Ranks served between two looks at the network: a packet to another host is a system call. */
enum { TURNS = 16, FAR_TURNS = 128 };

/* Takes commands of all ranks, and does the flush that the main thread waits for. Progress task. */
static bool manager_round(struct weft_job *job)
{
    const uint32_t slots = weft_job_slots(job);
    const uint32_t turns = job->proxy.caps.same_host_only ? TURNS : FAR_TURNS;
    uint32_t served = 0;
    bool did = false;

    for (uint32_t slot = 0; slot < slots; slot++) {
        if (job->ranks.image != NULL && slot + FAR < slots) { /* a device wrote it */
            weft_command_expect(&job->proxy.of_ranks[slot + FAR].commands, 0);
            weft_command_expect(&job->proxy.of_ranks[slot + NEAR].commands, LINES);
        }
        if (!weft_proxy_serve(job, slot))
            continue;
        did = true;
        if (++served % turns == 0) /* what is merged goes while more is merged */
            weft_services_drive(job, WEFT_NET_SEND);
    }
    if (__atomic_load_n(&job->proxy.flush_all, __ATOMIC_RELAXED) != 0) {
        __atomic_store_n(&job->proxy.flush_all, 0, __ATOMIC_RELAXED);
        for (int p = 0; p < job->numbers.processes; p++)
            weft_flush_process(job, p);
    }
    return did;
}

const struct weft_service weft_proxy_service = {
    .meet = weft_requests_open,
    .close = weft_requests_close,
    .round = {[WEFT_NET_SEND] = manager_round},
    .owns[WEFT_OWNS_COMMANDS] = WEFT_KIND(WEFT_COMMAND_PUT) | WEFT_KIND(WEFT_COMMAND_COUNT) |
                                WEFT_KIND(WEFT_COMMAND_BARRIER) | WEFT_KIND(WEFT_COMMAND_FLUSH),
    .command = put_command,
};
