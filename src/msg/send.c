/* msg/send.c - sends. Threads of the program call it; it takes the lock. */
#include "msg/copy.h"

#include "abi/errand.h"

#include <math.h>

/* What is sent. */
struct sending {
    const void *source;
    size_t bytes;
    bool waits; /* the call waits until the send is complete */
    bool synchronous;
    bool device; /* source is memory of the device */
};

/* Fetches device memory that is sent; returns it in host memory. NULL: the device failed, or the
 * receiver, which maps it, had better copy it: by one errand, where fetching and storing are
 * two. */
static const void *fetched(const struct weft_msg_call *call, const void *source, size_t bytes)
{
    struct weft_job *job = call->m->job;
    const struct weft_process *to = &job->processes[call->process];
    unsigned char *const stage = weft_msg_stage(call->m, WEFT_MSG_STAGE_EAGER);

    if (bytes > WEFT_ERRAND_BYTES && to->mapped &&
        to->kind == job->processes[job->numbers.process].kind &&
        weft_memory_offer(job, source, bytes) != 0)
        return NULL;
    return weft_msg_fetch(call->m, stage, source, bytes) ? stage : NULL;
}

/* Sends a message at once, with all its bytes. False: it does not go so; nothing was sent. */
WEFT_HOT bool send_now(const struct weft_msg_call *call, struct weft_msg_peer *peer,
                       struct sending what)
{
    struct weft_messages *m = call->m;
    const struct weft_mail_head head = {.kind = WEFT_MAIL_EAGER, .count = (uint16_t)what.bytes};
    const struct weft_mail_text text = {
        .context = call->context->handle, .tag = call->tag, .bytes = what.bytes};
    const uint32_t need = weft_mail_need(head.count);
    const void *payload = what.source;

    if (what.synchronous || what.bytes > peer->eager || !weft_msg_may_keep(m, peer, need) ||
        (what.device && (payload = fetched(call, what.source, what.bytes)) == NULL) ||
        !(weft_msg_is_open(peer) ? weft_mail_push(&peer->out, head, &text, payload)
                                 : weft_msg_try(m, call->process, head, &text, payload)))
        return false;
    peer->given += need;
    m->eager++;
    return true;
}

/* Sends a message that did not go at once: all of it in its turn, or an offer without its bytes. */
static void send_later(const struct weft_msg_call *call, struct weft_transfer *transfer,
                       const struct sending *what)
{
    struct weft_messages *m = call->m;
    struct weft_msg_peer *peer = &m->peers[call->process];
    struct weft_mail_head head = {.kind = WEFT_MAIL_OFFER};
    struct weft_mail_text text = {.context = call->context->handle,
                                  .tag = call->tag,
                                  .bytes = what->bytes,
                                  .request = weft_transfer_number(transfer)};
    const bool eager = !what->device && what->bytes <= peer->eager &&
                       weft_msg_may_keep(m, peer, weft_mail_need((uint32_t)what->bytes));

    if (eager) {
        head = (struct weft_mail_head){.kind = WEFT_MAIL_EAGER,
                                       .count = (uint16_t)what->bytes,
                                       .flags = what->synchronous ? WEFT_MAIL_WANTED : 0};
        peer->given += weft_mail_need(head.count);
        m->eager++;
    } else {
        text.data.offer = what->device ? weft_memory_offer(m->job, what->source, what->bytes)
                                       : (uint64_t)(uintptr_t)what->source; /* 0: nowhere */
        m->offers++;
    }
    transfer->state = WEFT_TRANSFER_SENT; /* before: an answer may come within */
    if (!weft_msg_send(m, call->process, head, &text, eager ? what->source : NULL, transfer))
        transfer->state = WEFT_TRANSFER_QUEUED;
    else if (eager && !what->synchronous)
        weft_msg_complete(m, transfer);
}

/* Makes the transfer of a send that goes on, or, in random mode, has gone: its buffer is read until
 * the wait. NULL: no memory; that is said, and the lock is given up. */
static struct weft_transfer *keep(struct weft_msg_call *call, struct sending what, bool gone)
{
    struct weft_transfer *transfer = weft_msg_make(call, WEFT_TRANSFER_DONE);

    if (transfer == NULL)
        return NULL;
    transfer->sends = true;
    transfer->device = what.device;
    transfer->message = (weft_message){0};
    transfer->peer = call->process;
    transfer->buffer = (unsigned char *)(uintptr_t)what.source;
    transfer->room = what.bytes;
    if (!gone)
        send_later(call, transfer, &what);
    return transfer;
}

/* Does what all sends do. *op becomes the operation; it is not used by a send that waits. */
WEFT_HOT weft_status send(weft_job *job, const char *name, weft_comm comm, int to, int tag,
                          struct sending what, weft_message_op *op)
{
    struct weft_msg_call call;
    struct weft_transfer *transfer = NULL;
    weft_status status = weft_msg_begin_with(&call, job, name, comm, to, tag, false);

    if (status == WEFT_OK && !what.waits && op == NULL)
        return weft_msg_refuse(&call, WEFT_ERR_ARGUMENT, "%s is NULL", "op");
    if (status == WEFT_OK)
        status = weft_msg_place(&call, what.source, what.bytes, &what.device);
    if (status != WEFT_OK)
        return status;
    struct weft_msg_peer *const peer = &call.m->peers[call.process];
    const bool gone = send_now(&call, peer, what);
    if ((!gone || WEFT_UNLIKELY(weft_model != NULL)) &&
        (transfer = keep(&call, what, gone)) == NULL)
        return WEFT_ERR_MEMORY;
    if (what.waits && transfer != NULL)
        return weft_msg_finish(&call, transfer, NULL, HUGE_VAL);
    if (!what.waits)
        *op = transfer != NULL ? weft_transfer_op(transfer) : WEFT_MESSAGE_NONE;
    weft_msg_unlock(call.m);
    if (transfer == NULL && peer->out.ring != NULL)
        weft_msg_wake(call.m, peer, true);
    return WEFT_OK;
}

weft_status weft_host_send(weft_job *job, weft_comm comm, int to, int tag, const void *source,
                           size_t bytes)
{
    const struct sending what = {.source = source, .bytes = bytes, .waits = true};
    return send(job, "weft_host_send", comm, to, tag, what, NULL);
}

weft_status weft_host_send_synchronous(weft_job *job, weft_comm comm, int to, int tag,
                                       const void *source, size_t bytes)
{
    const struct sending what = {
        .source = source, .bytes = bytes, .waits = true, .synchronous = true};
    return send(job, "weft_host_send_synchronous", comm, to, tag, what, NULL);
}

weft_status weft_host_send_begin(weft_job *job, weft_comm comm, int to, int tag, const void *source,
                                 size_t bytes, weft_message_op *op)
{
    const struct sending what = {.source = source, .bytes = bytes};
    return send(job, "weft_host_send_begin", comm, to, tag, what, op);
}

weft_status weft_host_send_synchronous_begin(weft_job *job, weft_comm comm, int to, int tag,
                                             const void *source, size_t bytes, weft_message_op *op)
{
    const struct sending what = {.source = source, .bytes = bytes, .synchronous = true};
    return send(job, "weft_host_send_synchronous_begin", comm, to, tag, what, op);
}
