/* msg/call.c - see the header. Threads of the program call it; a call begins by taking the lock. */
#include "msg/call.h"

#include "runtime/space/tables.h"

#include <stdlib.h>

/* Drops contexts of communicators that had the same place in the table before, if nothing is left
 * in them. Only a call of the program leads here, not a frame: other processes may name any
 * handle. */
static void drop_earlier(struct weft_messages *m, weft_comm comm)
{
    struct weft_msg_context *next = *weft_context_bin(&m->contexts, comm), *context;

    while ((context = next) != NULL) {
        next = context->next;
        if (context->handle != comm &&
            weft_handle_index(context->handle) == weft_handle_index(comm) &&
            weft_match_empty(&context->match) && !weft_transfer_uses(&m->transfers, context))
            weft_context_drop(&m->contexts, context);
    }
}

/* Finds or makes the context of a group of weft_host_split, whose members become known at its first
 * use. NULL: this process is not in it, or (*memory false) memory is missing. The caller has locked
 * tables and messages. */
static struct weft_msg_context *context_of_group(struct weft_messages *m, weft_comm comm,
                                                 bool *memory)
{
    const struct weft_comm_entry *entry = weft_comm_find(&m->job->space.state, comm);
    int *process;

    *memory = true;
    if (entry == NULL || !weft_comm_is_host(entry) || entry->rank_of_slot[WEFT_HOST_SLOT] < 0)
        return NULL;
    struct weft_msg_context *context = weft_context_find(&m->contexts, comm);
    if (context == NULL)
        context = weft_context_make(&m->contexts, comm);
    if (context == NULL || context->members != 0) {
        *memory = context != NULL;
        return context;
    }
    drop_earlier(m, comm);
    process = malloc((size_t)entry->members * sizeof(*process));
    for (int i = 0; process != NULL && i < entry->members; i++)
        process[i] = entry->member[i].process;
    *memory = process != NULL &&
              weft_context_know(context, process, entry->members, m->job->numbers.processes);
    free(process);
    return *memory ? context : NULL;
}

static weft_status no_group(struct weft_msg_call *call, weft_comm comm)
{
    return weft_msg_refuse(call, WEFT_ERR_COMM,
                           "0x%x is no communicator of host programs with process %d", comm,
                           call->m->job->numbers.process);
}

static weft_status begin_in_group(struct weft_msg_call *call, weft_job *job, const char *name,
                                  weft_comm comm)
{
    bool memory = true;

    weft_lock(&job->space.tables);
    const weft_status status = weft_msg_begin(call, job, name);
    if (status == WEFT_OK)
        call->context = context_of_group(call->m, comm, &memory);
    weft_unlock(&job->space.tables);
    if (status != WEFT_OK || call->context != NULL)
        return status;
    if (!memory)
        return weft_msg_refuse(call, WEFT_ERR_MEMORY, "no memory for communicator 0x%x", comm);
    return no_group(call, comm);
}

weft_status weft_msg_begin_in(struct weft_msg_call *call, weft_job *job, const char *name,
                              weft_comm comm)
{
    if (comm != WEFT_COMM_HOST && !weft_group_is(comm)) {
        WEFT_TRY(weft_job_ready(job, name));
        return begin_in_group(call, job, name, comm);
    }
    WEFT_TRY(weft_msg_begin(call, job, name));
    call->context = weft_context_find(&call->m->contexts, comm);
    if (call->context != NULL && call->context->members != 0)
        return WEFT_OK;
    return no_group(call, comm); /* messages may be there, but the group was not taken */
}

weft_status weft_msg_begin_any(struct weft_msg_call *call, weft_job *job, const char *name,
                               weft_comm comm, int member, int tag, bool wild)
{
    WEFT_TRY(weft_msg_begin_in(call, job, name, comm));
    if ((member < 0 && (!wild || member != WEFT_ANY)) || member >= call->context->members)
        return weft_msg_refuse(call, WEFT_ERR_RANK, "process %d is not one of %d", member,
                               call->context->members);
    if (tag < 0 && (!wild || tag != WEFT_ANY))
        return weft_msg_refuse(call, WEFT_ERR_TAG, "tag %d is not in 0..%d", tag, WEFT_TAG_MOST);
    call->process = member == WEFT_ANY ? WEFT_ANY : weft_context_process(call->context, member);
    call->tag = tag;
    return WEFT_OK;
}

struct weft_transfer *weft_msg_not_found(struct weft_msg_call *call, weft_message_op op,
                                         bool matched)
{
    const bool over = weft_transfer_find(&call->m->transfers, weft_op_number(op)) == NULL;

    weft_msg_refuse(call, WEFT_ERR_ARGUMENT, "operation %u, %u of process %d %s", op.index,
                    op.generation, call->m->job->numbers.process,
                    over      ? "is none, or is over"
                    : matched ? "is no matched message"
                              : "is a matched message, to be received");
    return NULL;
}

struct weft_transfer *weft_msg_not_made(struct weft_msg_call *call)
{
    weft_msg_refuse(call, WEFT_ERR_MEMORY, "no memory for more than %u operations",
                    call->m->transfers.used);
    return NULL;
}

/* ---- the end --------------------------------------------------------------------------------- */

void weft_msg_tell_none(weft_message *message)
{
    if (message != NULL)
        *message = (weft_message){.from = WEFT_ANY, .tag = WEFT_ANY};
}

void weft_msg_does_not_fit(struct weft_msg_call *call, const struct weft_transfer *transfer)
{
    weft_refused(call->m->job, WEFT_ERR_BOUNDS,
                 "%s: %zu bytes from process %d, tag %d, do not fit %zu bytes", transfer->call,
                 transfer->message.bytes,
                 weft_context_member(transfer->context, transfer->message.from),
                 transfer->message.tag, transfer->room);
}

bool weft_msg_is_done(struct weft_messages *m, void *transfer)
{
    (void)m;
    return ((const struct weft_transfer *)transfer)->state == WEFT_TRANSFER_DONE;
}

bool weft_msg_is_over(struct weft_messages *m, weft_message_op op)
{
    weft_msg_lock(m);
    const struct weft_transfer *transfer = weft_transfer_find(&m->transfers, weft_op_number(op));
    const bool over = transfer == NULL || transfer->state == WEFT_TRANSFER_DONE;
    weft_msg_unlock(m);
    return over;
}

weft_status weft_msg_finish(struct weft_msg_call *call, struct weft_transfer *transfer,
                            weft_message *message, double seconds)
{
    weft_status status = weft_msg_wait(call->m, call->name, weft_msg_is_done, transfer,
                                       weft_transfer_number(transfer), seconds);

    if (status != WEFT_OK)
        return status;
    status = weft_msg_end(call, transfer, message);
    weft_msg_unlock(call->m);
    return status;
}
