/* msg/send.c - sends. The program's threads, under the lock of messages. */
#include "msg/copy.h"

#include <math.h>
#include <string.h>

/* What is sent. */
struct sending {
    const void *source;
    size_t bytes;
    bool waits; /* until it is complete */
    bool synchronous;
    bool device;    /* source is its memory */
    uint64_t offer; /* where the receiver finds the bytes; 0: nowhere */
};

/* Whether its receiver, which maps the memory, had better copy it itself. */
static bool is_copied_there(const struct weft_msg_call *call, const struct sending *what)
{
    const struct weft_job *job = call->m->job;
    const struct weft_process *to = &job->processes[call->process];

    return what->offer != 0 && what->bytes > WEFT_MSG_BLOCK && to->mapped &&
           to->kind == job->processes[job->numbers.process].kind;
}

/* All of the message, and of its bytes, goes at once. False: it does not. */
static inline bool send_now(struct weft_msg_call *call, const struct sending *what,
                            const struct weft_mail_text *text)
{
    struct weft_messages *m = call->m;
    struct weft_msg_peer *peer = &m->peers[call->process];
    const struct weft_mail_head head = {.kind = WEFT_MAIL_EAGER, .count = (uint16_t)what->bytes};
    const void *payload = what->source;

    if (what->synchronous || what->bytes > peer->eager ||
        (what->device && is_copied_there(call, what)) ||
        !weft_msg_may_keep(m, peer, (uint32_t)what->bytes))
        return false;
    if (what->device) {
        unsigned char *const stage = weft_msg_stage(m, WEFT_MSG_STAGE_EAGER);
        if (!weft_msg_fetch(m, stage, what->source, what->bytes))
            return false;
        payload = stage;
    }
    if (!weft_msg_is_open(peer)) {
        if (!weft_msg_try(m, call->process, head, text, payload))
            return false;
        call->woken = true;
    } else if (!weft_mail_push(&peer->out, head, text, payload)) {
        return false;
    }
    peer->given += weft_mail_need(head.count);
    m->eager++;
    return true;
}

/* It does not: all of it in its turn, or the header alone. */
static void send_later(struct weft_msg_call *call, struct weft_transfer *transfer,
                       const struct sending *what, struct weft_mail_text *text)
{
    struct weft_messages *m = call->m;
    struct weft_msg_peer *peer = &m->peers[call->process];
    const bool eager = !what->device && what->bytes <= peer->eager &&
                       weft_msg_may_keep(m, peer, (uint32_t)what->bytes);
    struct weft_mail_head head = {.kind = WEFT_MAIL_OFFER};

    text->request = weft_transfer_number(transfer);
    if (eager) {
        head = (struct weft_mail_head){.kind = WEFT_MAIL_EAGER,
                                       .count = (uint16_t)what->bytes,
                                       .flags = what->synchronous ? WEFT_MAIL_WANTED : 0};
        peer->given += weft_mail_need(head.count);
        m->eager++;
    } else {
        text->data.offer = what->offer;
        m->offers++;
    }
    transfer->state = WEFT_TRANSFER_SENT; /* before: an answer may come within */
    if (!weft_msg_send(m, call->process, head, text, eager ? what->source : NULL, transfer))
        transfer->state = WEFT_TRANSFER_QUEUED;
    else if (eager && !what->synchronous)
        weft_msg_complete(m, transfer);
    call->woken = true;
}

/*
 * Begins a send. *transfer: NULL: it is complete, but for who must be woken. The lock is held if it
 * returns OK.
 */
static inline weft_status begin_send(struct weft_msg_call *call, struct sending *what,
                                     struct weft_transfer **transfer)
{
    const weft_status status = weft_msg_place(call, what->source, what->bytes, &what->device);

    *transfer = NULL;
    if (status != WEFT_OK)
        return status;
    struct weft_mail_text text = {
        .context = call->context->handle, .tag = call->tag, .bytes = what->bytes};
    what->offer = what->device ? weft_memory_offer(call->m->job, what->source, what->bytes)
                               : (uint64_t)(uintptr_t)what->source;
    const bool gone = send_now(call, what, &text);
    if (gone && weft_model == NULL)
        return WEFT_OK;
    struct weft_transfer *made =
        weft_msg_make(call, gone ? WEFT_TRANSFER_DONE : WEFT_TRANSFER_QUEUED);
    if (made == NULL)
        return WEFT_ERR_MEMORY;
    made->sends = true;
    made->device = what->device;
    made->peer = call->process;
    made->buffer = (unsigned char *)(uintptr_t)what->source;
    made->room = what->bytes;
    if (!gone)
        send_later(call, made, what, &text);
    *transfer = made; /* in random mode also what has gone: its buffer is read until the wait */
    return WEFT_OK;
}

/* op: where the send that goes on is; of one that waits not used. */
static weft_status send(weft_job *job, const char *name, weft_comm comm, int to, int tag,
                        struct sending *what, weft_message_op *op)
{
    struct weft_msg_call call = {0};
    struct weft_transfer *transfer;
    weft_status status = weft_msg_begin_with(&call, job, name, comm, to, tag, false);

    if (status == WEFT_OK && !what->waits && op == NULL)
        return weft_msg_refuse(&call, WEFT_ERR_ARGUMENT, "%s is NULL", "op");
    if (status == WEFT_OK)
        status = begin_send(&call, what, &transfer);
    if (status != WEFT_OK)
        return status;
    if (what->waits && transfer != NULL)
        return weft_msg_finish(&call, transfer, NULL, HUGE_VAL);
    if (!what->waits)
        *op = transfer != NULL ? weft_transfer_op(transfer) : WEFT_MESSAGE_NONE;
    weft_msg_unlock(call.m);
    struct weft_msg_peer *peer = &call.m->peers[call.process];
    if (!call.woken && peer->out.ring != NULL)
        weft_msg_wake(call.m, peer, true);
    return WEFT_OK;
}

weft_status weft_host_send(weft_job *job, weft_comm comm, int to, int tag, const void *source,
                           size_t bytes)
{
    struct sending what = {.source = source, .bytes = bytes, .waits = true};
    return send(job, "weft_host_send", comm, to, tag, &what, NULL);
}

weft_status weft_host_send_synchronous(weft_job *job, weft_comm comm, int to, int tag,
                                       const void *source, size_t bytes)
{
    struct sending what = {.source = source, .bytes = bytes, .waits = true, .synchronous = true};
    return send(job, "weft_host_send_synchronous", comm, to, tag, &what, NULL);
}

weft_status weft_host_send_begin(weft_job *job, weft_comm comm, int to, int tag, const void *source,
                                 size_t bytes, weft_message_op *op)
{
    struct sending what = {.source = source, .bytes = bytes};
    return send(job, "weft_host_send_begin", comm, to, tag, &what, op);
}

weft_status weft_host_send_synchronous_begin(weft_job *job, weft_comm comm, int to, int tag,
                                             const void *source, size_t bytes, weft_message_op *op)
{
    struct sending what = {.source = source, .bytes = bytes, .synchronous = true};
    return send(job, "weft_host_send_synchronous_begin", comm, to, tag, &what, op);
}
