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

/* The call may be made; the lock is held. Errors: the job's, ARGUMENT, STATE. */
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
/* The same, with a communicator. Errors: COMM, too. */
weft_status weft_msg_begin_in(struct weft_msg_call *call, weft_job *job, const char *name,
                              weft_comm comm);
/* The same, with a member and a tag; wild: WEFT_ANY is one. Errors: RANK, TAG, too. */
weft_status weft_msg_begin_any(struct weft_msg_call *call, weft_job *job, const char *name,
                               weft_comm comm, int member, int tag, bool wild);
/* The same, and quick for what names a member and a tag where the last call was. */
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
/* An error that is said; the lock is given up. */
#define weft_msg_refuse(call, status, format, ...)                                                 \
    ({                                                                                             \
        weft_msg_unlock((call)->m);                                                                \
        weft_refused((call)->m->job, (status), "%s: " format, (call)->name, __VA_ARGS__);          \
    })

/*
 * Who watches waits says by words(of, tag, ...) what a message of the communicator belongs to;
 * NULL: its tag. Monitor only, messages locked. Errors: those of weft_msg_begin_in.
 */
weft_status weft_msg_name_tags(struct weft_job *job, weft_comm comm,
                               void (*words)(const void *of, int tag, char *text, size_t bytes),
                               const void *of);

/* An operation of the program's; NULL: it is none, or a matched message where `matched` is not set,
 * which is said, and the lock is given up. */
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
/* A new one for the call. NULL: no memory; said, the lock is given up. */
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
/* *message, which may be NULL, tells of an operation that is none. */
void weft_msg_tell_none(weft_message *message);
/* *message, which may be NULL, tells of one that is complete. Its status. */
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
/* The same, and the operation is over; that a message did not fit is said. */
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
/* Whether an operation is complete, or none; nothing is looked at for it. Lock free, any task. */
bool weft_msg_is_over(struct weft_messages *m, weft_message_op op);
/* Waits until it is, as weft_msg_wait, and ends it; gives the lock up. */
weft_status weft_msg_finish(struct weft_msg_call *call, struct weft_transfer *transfer,
                            weft_message *message, double seconds);

#endif
