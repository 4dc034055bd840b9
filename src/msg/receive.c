/* msg/receive.c - receives and probes. Threads of the program call it; it takes the lock. */
#include "msg/copy.h"

#include <math.h>

/* ---- receives -------------------------------------------------------------------------------- */

/* What is received, and how the call ends. */
struct receiving {
    bool of_matched;          /* receives the message of *matched; else the first that fits */
    weft_message_op *matched; /* set to WEFT_MESSAGE_NONE */
    void *target;
    size_t most;
    bool waits; /* until complete, and fills *message; else *op is the operation */
    weft_message *message;
    weft_message_op *op;
};

/* A receive takes the first message kept that fits; if there is none, it waits. */
static inline void match(struct weft_msg_call *call, struct weft_transfer *transfer)
{
    struct weft_match *of = &call->context->match;
    struct weft_kept *kept =
        TAILQ_EMPTY(&of->arrived) ? NULL : weft_match_find(of, call->process, call->tag);

    if (kept == NULL) {
        weft_match_post(of, &transfer->posted);
        return;
    }
    weft_match_take(of, kept);
    weft_msg_receive_kept(call->m, transfer, (struct weft_unexpected *)(void *)kept);
}

/* Does what all receives do. comm, from and tag are not used for a matched message. */
WEFT_HOT weft_status receive(weft_job *job, const char *name, weft_comm comm, int from, int tag,
                             const struct receiving *what)
{
    struct weft_msg_call call = {0};
    bool device;
    weft_status status = what->of_matched
                             ? weft_msg_begin(&call, job, name)
                             : weft_msg_begin_with(&call, job, name, comm, from, tag, true);

    if (status != WEFT_OK)
        return status;
    if ((!what->waits && what->op == NULL) || (what->of_matched && what->matched == NULL))
        return weft_msg_refuse(&call, WEFT_ERR_ARGUMENT, "%s is NULL",
                               !what->waits && what->op == NULL ? "op" : "matched");
    status = weft_msg_place(&call, what->target, what->most, &device);
    if (status != WEFT_OK)
        return status;
    struct weft_transfer *transfer = what->of_matched ? weft_msg_find(&call, *what->matched, true)
                                                      : weft_msg_make(&call, WEFT_TRANSFER_WAITS);
    if (transfer == NULL)
        return what->of_matched ? WEFT_ERR_ARGUMENT : WEFT_ERR_MEMORY;
    transfer->device = device;
    transfer->buffer = what->target;
    transfer->room = what->most;
    if (what->of_matched) {
        *what->matched = WEFT_MESSAGE_NONE;
        transfer->call = call.name;
        weft_msg_receive_kept(call.m, transfer, transfer->matched);
    } else {
        match(&call, transfer);
    }
    if (what->waits)
        return weft_msg_finish(&call, transfer, what->message, HUGE_VAL);
    *what->op = weft_transfer_op(transfer);
    weft_msg_unlock(call.m);
    return WEFT_OK;
}

weft_status weft_host_receive(weft_job *job, weft_comm comm, int from, int tag, void *target,
                              size_t most, weft_message *message)
{
    const struct receiving what = {
        .target = target, .most = most, .waits = true, .message = message};
    return receive(job, "weft_host_receive", comm, from, tag, &what);
}

weft_status weft_host_receive_begin(weft_job *job, weft_comm comm, int from, int tag, void *target,
                                    size_t most, weft_message_op *op)
{
    const struct receiving what = {.target = target, .most = most, .op = op};
    return receive(job, "weft_host_receive_begin", comm, from, tag, &what);
}

weft_status weft_host_receive_matched(weft_job *job, weft_message_op *matched, void *target,
                                      size_t most, weft_message *message)
{
    const struct receiving what = {.of_matched = true,
                                   .matched = matched,
                                   .target = target,
                                   .most = most,
                                   .waits = true,
                                   .message = message};
    return receive(job, "weft_host_receive_matched", WEFT_COMM_NONE, 0, 0, &what);
}

weft_status weft_host_receive_matched_begin(weft_job *job, weft_message_op *matched, void *target,
                                            size_t most, weft_message_op *op)
{
    const struct receiving what = {
        .of_matched = true, .matched = matched, .target = target, .most = most, .op = op};
    return receive(job, "weft_host_receive_matched_begin", WEFT_COMM_NONE, 0, 0, &what);
}

/* ---- probes ---------------------------------------------------------------------------------- */

static void tell_kept(const struct weft_msg_call *call, const struct weft_unexpected *kept,
                      weft_message *message)
{
    if (message != NULL)
        *message = (weft_message){.from = weft_context_member(call->context, kept->kept.from),
                                  .tag = kept->kept.tag,
                                  .bytes = (size_t)kept->text.bytes};
}

static struct weft_unexpected *find_unexpected(const struct weft_msg_call *call)
{
    return (struct weft_unexpected *)(void *)weft_match_find(&call->context->match, call->process,
                                                             call->tag);
}

static bool is_there(struct weft_messages *m, void *call)
{
    (void)m;
    return find_unexpected(call) != NULL;
}

/* Blocks until a message fits. A transfer stands for the probe meanwhile, for the watchdog. */
static weft_status await(struct weft_msg_call *call)
{
    struct weft_transfer *stands = weft_msg_make(call, WEFT_TRANSFER_PROBES);

    if (stands == NULL)
        return WEFT_ERR_MEMORY;
    const weft_status status =
        weft_msg_wait(call->m, call->name, is_there, call, weft_transfer_number(stands), HUGE_VAL);
    if (status == WEFT_OK)
        weft_transfer_give(&call->m->transfers, stands);
    return status;
}

/* Takes the message found out of matching: *matched becomes the operation that stands for it. */
static weft_status take_matched(struct weft_msg_call *call, weft_message_op *matched,
                                weft_message *message)
{
    struct weft_unexpected *kept = find_unexpected(call);
    struct weft_transfer *transfer = weft_msg_make(call, WEFT_TRANSFER_MATCHED);

    if (transfer == NULL)
        return WEFT_ERR_MEMORY;
    weft_match_take(&call->context->match, &kept->kept);
    transfer->matched = kept;
    transfer->posted.from = kept->kept.from;
    transfer->posted.tag = kept->kept.tag;
    tell_kept(call, kept, message);
    *matched = weft_transfer_op(transfer);
    weft_msg_unlock(call->m);
    return WEFT_OK;
}

/* What a probe does, and where it answers. */
struct probing {
    bool waits, takes; /* waits for a message, else looks once; takes it, else leaves it */
    int *there;
    weft_message_op *matched;
    weft_message *message;
};

static weft_status look_or_wait(struct weft_msg_call *call, const struct probing *what)
{
    if (what->waits)
        return await(call);
    if (find_unexpected(call) == NULL)
        weft_msg_glance(call->m);
    return WEFT_OK;
}

static weft_status probe(weft_job *job, const char *name, weft_comm comm, int from, int tag,
                         const struct probing *what)
{
    struct weft_msg_call call = {0};
    weft_status status = weft_msg_begin_with(&call, job, name, comm, from, tag, true);

    if (status != WEFT_OK)
        return status;
    if ((what->there == NULL && !what->waits) || (what->matched == NULL && what->takes))
        return weft_msg_refuse(&call, WEFT_ERR_ARGUMENT, "%s is NULL",
                               what->there == NULL && !what->waits ? "there" : "matched");
    status = look_or_wait(&call, what);
    if (status != WEFT_OK)
        return status;
    const struct weft_unexpected *kept = find_unexpected(&call);
    if (!what->waits)
        *what->there = kept != NULL;
    if (kept == NULL) {
        weft_msg_unlock(call.m);
        weft_msg_idle(call.m);
        return WEFT_OK;
    }
    if (what->takes)
        return take_matched(&call, what->matched, what->message);
    tell_kept(&call, kept, what->message);
    weft_msg_unlock(call.m);
    return WEFT_OK;
}

weft_status weft_host_probe(weft_job *job, weft_comm comm, int from, int tag, int *there,
                            weft_message *message)
{
    const struct probing what = {.there = there, .message = message};
    return probe(job, "weft_host_probe", comm, from, tag, &what);
}

weft_status weft_host_probe_wait(weft_job *job, weft_comm comm, int from, int tag,
                                 weft_message *message)
{
    const struct probing what = {.waits = true, .message = message};
    return probe(job, "weft_host_probe_wait", comm, from, tag, &what);
}

weft_status weft_host_probe_match(weft_job *job, weft_comm comm, int from, int tag, int *there,
                                  weft_message_op *matched, weft_message *message)
{
    const struct probing what = {
        .takes = true, .there = there, .matched = matched, .message = message};
    return probe(job, "weft_host_probe_match", comm, from, tag, &what);
}

weft_status weft_host_probe_match_wait(weft_job *job, weft_comm comm, int from, int tag,
                                       weft_message_op *matched, weft_message *message)
{
    const struct probing what = {
        .waits = true, .takes = true, .matched = matched, .message = message};
    return probe(job, "weft_host_probe_match_wait", comm, from, tag, &what);
}
