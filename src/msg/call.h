/*
 * msg/call.h - how the calls of weft/message.h begin, and how operations end.
 */
#ifndef WEFT_MSG_CALL_H
#define WEFT_MSG_CALL_H

#include "msg/msg.h"

/* What a call names: checked, and the lock held, or an error that is said, and the lock free. */
struct weft_msg_call {
    const char *name;
    struct weft_messages *m;
    struct weft_msg_context *context;
    int process, tag; /* of the other side; WEFT_ANY */
};

/* Begins a call. OK: the job is ready, and the lock is held. Errors: the job's, ARGUMENT, STATE. */
static inline weft_status weft_msg_begin(struct weft_msg_call *call, weft_job *job,
                                         const char *name)
{
    const weft_status status = weft_job_ready(job, name);

    if (status != WEFT_OK)
        return status;
    call->name = name;
    call->m = job->messages;
    weft_msg_lock(call->m);
    return WEFT_OK;
}
/* Begins a call that names a communicator. Errors: those of weft_msg_begin, COMM. */
weft_status weft_msg_begin_in(struct weft_msg_call *call, weft_job *job, const char *name,
                              weft_comm comm);
/* Begins a call that names a member and a tag; wild: WEFT_ANY will do. More errors: RANK, TAG. */
weft_status weft_msg_begin_any(struct weft_msg_call *call, weft_job *job, const char *name,
                               weft_comm comm, int member, int tag, bool wild);
/* Does what weft_msg_begin_any does, and is quick if the last call named the same communicator. */
WEFT_HOT weft_status weft_msg_begin_with(struct weft_msg_call *call, weft_job *job,
                                         const char *name, weft_comm comm, int member, int tag,
                                         bool wild)
{
    if (!weft_job_is_ready(job) || !(comm == WEFT_COMM_HOST || weft_group_is(comm)) || tag < 0)
        return weft_msg_begin_any(call, job, name, comm, member, tag, wild);
    call->name = name;
    call->m = job->messages;
    call->tag = tag;
    weft_msg_lock(call->m);
    call->context = call->m->contexts.last;
    if (call->context == NULL || call->context->handle != comm ||
        (uint32_t)member >= (uint32_t)call->context->members) {
        weft_unlock(&call->m->lock);
        return weft_msg_begin_any(call, job, name, comm, member, tag, wild);
    }
    call->process = weft_context_process(call->context, member);
    return WEFT_OK;
}
/* Says why a call is refused, gives the lock up, and returns the status. */
#define weft_msg_refuse(call, status, format, ...)                                                 \
    ({                                                                                             \
        weft_msg_unlock((call)->m);                                                                \
        weft_refused((call)->m->job, (status), "%s: " format, (call)->name, __VA_ARGS__);          \
    })

/* Names messages of a communicator for people: explain.c calls words(of, tag, ...) with the lock
 * held; words NULL: it names the tag. Errors: those of weft_msg_begin_in. */
weft_status weft_msg_name_tags(struct weft_job *job, weft_comm comm,
                               void (*words)(const void *of, int tag, char *text, size_t bytes),
                               const void *of);

/* weft_msg_find: the transfer of an operation, a matched message if and only if `matched`. NULL: it
 * is none; weft_msg_not_found has said so, and has given the lock up. */
struct weft_transfer *weft_msg_not_found(struct weft_msg_call *call, weft_message_op op,
                                         bool matched);
static inline struct weft_transfer *weft_msg_find(struct weft_msg_call *call, weft_message_op op,
                                                  bool matched)
{
    struct weft_transfer *transfer = weft_transfer_find(&call->m->transfers, weft_op_number(op));

    return transfer != NULL && (transfer->state == WEFT_TRANSFER_MATCHED) == matched
               ? transfer
               : weft_msg_not_found(call, op, matched);
}
/* weft_msg_make: a new transfer. NULL: no memory; that was said, and the lock given up. */
struct weft_transfer *weft_msg_not_made(struct weft_msg_call *call);
static inline struct weft_transfer *weft_msg_make(struct weft_msg_call *call,
                                                  enum weft_transfer_state state)
{
    struct weft_transfer *transfer = weft_transfer_take(&call->m->transfers, state);

    if (transfer == NULL)
        return weft_msg_not_made(call);
    transfer->call = call->name;
    transfer->context = call->context;
    transfer->posted.from = call->process;
    transfer->posted.tag = call->tag;
    return transfer;
}

static inline bool weft_msg_is_none(weft_message_op op)
{
    return op.index == 0 && op.generation == 0;
}
/* Fills *message, which may be NULL, for an operation that is WEFT_MESSAGE_NONE. */
void weft_msg_tell_none(weft_message *message);
/* Fills *message, which may be NULL, from a transfer that is complete; returns its status. */
static inline weft_status weft_msg_tell(const struct weft_transfer *transfer, weft_message *message)
{
    if (message != NULL) {
        *message = transfer->message;
        message->from = transfer->sends
                            ? WEFT_ANY
                            : weft_context_member(transfer->context, transfer->message.from);
    }
    return transfer->message.status;
}
/* weft_msg_end: tells *message, frees the transfer; says if the buffer was too small. */
void weft_msg_does_not_fit(struct weft_msg_call *call, const struct weft_transfer *transfer);
static inline weft_status weft_msg_end(struct weft_msg_call *call, struct weft_transfer *transfer,
                                       weft_message *message)
{
    const weft_status status = weft_msg_tell(transfer, message);

    if (WEFT_UNLIKELY(status == WEFT_ERR_BOUNDS))
        weft_msg_does_not_fit(call, transfer);
    if (transfer->sends)
        weft_msg_reuse(&call->m->peers[transfer->posted.from]);
    weft_transfer_give(&call->m->transfers, transfer);
    return status;
}
/* For weft_msg_wait: whether a transfer is complete. */
bool weft_msg_is_done(struct weft_messages *m, void *transfer);
/* Whether an operation is complete, or none, without a round. It takes the lock; any task calls. */
bool weft_msg_is_over(struct weft_messages *m, weft_message_op op);
/* Blocks, as weft_msg_wait, until a transfer is complete, and ends it; gives the lock up. */
weft_status weft_msg_finish(struct weft_msg_call *call, struct weft_transfer *transfer,
                            weft_message *message, double seconds);

#endif
