/* msg/complete.c - tests operations, waits for them, takes them back. For the program's threads. */
#include "msg/call.h"

#include <math.h>

/* Begins a call with one operation. OK: the lock is held; *transfer is NULL if *op is none. */
static weft_status begin_call(struct weft_msg_call *call, weft_job *job, const char *name,
                              const weft_message_op *op, struct weft_transfer **transfer)
{
    const weft_status status = weft_msg_begin(call, job, name);

    *transfer = NULL;
    if (status != WEFT_OK)
        return status;
    if (op == NULL)
        return weft_msg_refuse(call, WEFT_ERR_ARGUMENT, "%s is NULL", "op");
    if (weft_msg_is_none(*op))
        return WEFT_OK;
    *transfer = weft_msg_find(call, *op, false);
    return *transfer != NULL ? WEFT_OK : WEFT_ERR_ARGUMENT;
}

static weft_status wait(weft_job *job, const char *name, weft_message_op *op, double seconds,
                        weft_message *message)
{
    struct weft_msg_call call = {0};
    struct weft_transfer *transfer;

    WEFT_TRY(begin_call(&call, job, name, op, &transfer));
    if (transfer == NULL) {
        weft_msg_unlock(call.m);
        weft_msg_tell_none(message);
        return WEFT_OK;
    }
    weft_status status = weft_msg_finish(&call, transfer, message, seconds);
    if (status == WEFT_OK || status == WEFT_ERR_BOUNDS) /* it is over */
        *op = WEFT_MESSAGE_NONE;
    return status;
}

weft_status weft_host_message_wait(weft_job *job, weft_message_op *op, weft_message *message)
{
    return wait(job, "weft_host_message_wait", op, HUGE_VAL, message);
}

weft_status weft_host_message_wait_for(weft_job *job, weft_message_op *op, double seconds,
                                       weft_message *message)
{
    return wait(job, "weft_host_message_wait_for", op, seconds, message);
}

/* Whether a transfer (NULL: yes) is complete; does a round first if it was not. */
static bool is_complete(struct weft_msg_call *call, struct weft_transfer *transfer)
{
    if (transfer == NULL || transfer->state == WEFT_TRANSFER_DONE)
        return true;
    weft_msg_glance(call->m);
    return transfer->state == WEFT_TRANSFER_DONE;
}

/* Tells in *done whether *op is complete, without blocking; ends: a complete operation is ended. */
static weft_status test(weft_job *job, const char *name, weft_message_op *op, bool ends, int *done,
                        weft_message *message)
{
    struct weft_msg_call call = {0};
    struct weft_transfer *transfer;

    WEFT_TRY(begin_call(&call, job, name, op, &transfer));
    if (done == NULL)
        return weft_msg_refuse(&call, WEFT_ERR_ARGUMENT, "%s is NULL", "done");
    *done = is_complete(&call, transfer);
    weft_status status = WEFT_OK;
    if (transfer == NULL) {
        weft_msg_tell_none(message);
    } else if (*done && !ends) {
        status = weft_msg_tell(transfer, message);
    } else if (*done) {
        status = weft_msg_end(&call, transfer, message);
        *op = WEFT_MESSAGE_NONE;
    }
    weft_msg_unlock(call.m);
    if (!*done)
        weft_msg_idle(call.m);
    return status;
}

weft_status weft_host_message_test(weft_job *job, weft_message_op *op, int *done,
                                   weft_message *message)
{
    return test(job, "weft_host_message_test", op, true, done, message);
}

weft_status weft_host_message_look(weft_job *job, weft_message_op op, int *done,
                                   weft_message *message)
{
    return test(job, "weft_host_message_look", &op, false, done, message);
}

weft_status weft_host_message_cancel(weft_job *job, weft_message_op *op, int *cancelled)
{
    struct weft_msg_call call = {0};
    struct weft_transfer *transfer;

    WEFT_TRY(begin_call(&call, job, "weft_host_message_cancel", op, &transfer));
    if (cancelled == NULL)
        return weft_msg_refuse(&call, WEFT_ERR_ARGUMENT, "%s is NULL", "cancelled");
    const enum weft_transfer_state state = transfer != NULL ? transfer->state : WEFT_TRANSFER_DONE;
    *cancelled = state == WEFT_TRANSFER_WAITS || state == WEFT_TRANSFER_QUEUED;
    if (state == WEFT_TRANSFER_WAITS)
        weft_match_cancel(&transfer->context->match, &transfer->posted);
    else if (state == WEFT_TRANSFER_QUEUED)
        weft_msg_unqueue(call.m, transfer);
    else if (state == WEFT_TRANSFER_SENT && !transfer->recalled)
        weft_msg_recall(call.m, transfer);
    if (*cancelled) {
        weft_msg_end(&call, transfer, NULL);
        *op = WEFT_MESSAGE_NONE;
    }
    weft_msg_unlock(call.m);
    return WEFT_OK;
}

/* ---- several --------------------------------------------------------------------------------- */

struct all {
    const weft_message_op *ops;
    size_t count, at; /* of ops; those before `at` need no wait: complete, or no operations */
};

/* Whether to wait for an operation: no, if it is none, complete, or an (illegal) matched
 * message. */
static bool goes_on(const struct weft_messages *m, weft_message_op op)
{
    const struct weft_transfer *transfer = weft_transfer_find(&m->transfers, weft_op_number(op));

    return transfer != NULL && transfer->state != WEFT_TRANSFER_DONE &&
           transfer->state != WEFT_TRANSFER_MATCHED;
}

static bool all_are_done(struct weft_messages *m, void *what)
{
    struct all *all = what;

    while (all->at < all->count && !goes_on(m, all->ops[all->at]))
        all->at++;
    return all->at == all->count;
}

/* For weft_msg_wait: whether one of the operations needs no wait; then `at` is its index. */
static bool any_is_done(struct weft_messages *m, void *what)
{
    struct all *any = what;

    for (any->at = 0; any->at < any->count; any->at++)
        if (!weft_msg_is_none(any->ops[any->at]) && !goes_on(m, any->ops[any->at]))
            return true;
    return false;
}

/* Blocks until all are complete; the thread attends all the time. Locks as weft_msg_wait does. */
static weft_status wait_for_all(struct weft_msg_call *call, struct all *all)
{
    weft_status status = WEFT_OK;

    if (all_are_done(call->m, all))
        return WEFT_OK;
    weft_msg_attend(call->m);
    weft_msg_spin(call->m, all_are_done, all, HUGE_VAL);
    while (status == WEFT_OK && !all_are_done(call->m, all)) {
        const uint64_t number = weft_op_number(all->ops[all->at]);
        status = weft_msg_wait(call->m, call->name, weft_msg_is_done,
                               weft_transfer_find(&call->m->transfers, number), number, HUGE_VAL);
    }
    if (status != WEFT_OK)
        weft_msg_lock(call->m);
    weft_msg_leave(call->m);
    if (status != WEFT_OK)
        weft_msg_unlock(call->m);
    return status;
}

weft_status weft_host_message_wait_all(weft_job *job, weft_message_op *ops, size_t count,
                                       weft_message *messages)
{
    struct weft_msg_call call = {0};
    struct all all = {.ops = ops, .count = count};
    weft_status first = WEFT_OK;

    WEFT_TRY(weft_msg_begin(&call, job, "weft_host_message_wait_all"));
    if (ops == NULL && count != 0)
        return weft_msg_refuse(&call, WEFT_ERR_ARGUMENT, "%zu operations at NULL", count);
    WEFT_TRY(wait_for_all(&call, &all));
    for (size_t i = 0; i < count; i++) {
        weft_message *message = messages != NULL ? &messages[i] : NULL;
        weft_status status = WEFT_ERR_ARGUMENT;
        struct weft_transfer *transfer;
        if (weft_msg_is_none(ops[i])) {
            weft_msg_tell_none(message);
            continue;
        }
        if ((transfer = weft_msg_find(&call, ops[i], false)) != NULL) {
            ops[i] = WEFT_MESSAGE_NONE;
            status = weft_msg_end(&call, transfer, message);
        } else {
            weft_msg_lock(call.m);
        }
        first = first == WEFT_OK ? status : first;
    }
    weft_msg_unlock(call.m);
    return first;
}

weft_status weft_host_message_wait_any(weft_job *job, weft_message_op *ops, size_t count,
                                       int *index, weft_message *message)
{
    struct weft_msg_call call = {0};
    struct all any = {.ops = ops, .count = count};
    size_t first = 0; /* of those that it waits for */

    WEFT_TRY(weft_msg_begin(&call, job, "weft_host_message_wait_any"));
    if ((ops == NULL && count != 0) || index == NULL)
        return weft_msg_refuse(&call, WEFT_ERR_ARGUMENT, "%zu operations at %p, index at %p", count,
                               (void *)ops, (void *)index);
    while (first < count && weft_msg_is_none(ops[first]))
        first++;
    if (first == count) {
        weft_msg_unlock(call.m);
        *index = -1;
        weft_msg_tell_none(message);
        return WEFT_OK;
    }
    WEFT_TRY(
        weft_msg_wait(call.m, call.name, any_is_done, &any, weft_op_number(ops[first]), HUGE_VAL));
    struct weft_transfer *found = weft_msg_find(&call, ops[any.at], false);
    if (found == NULL)
        return WEFT_ERR_ARGUMENT;
    *index = (int)any.at;
    ops[any.at] = WEFT_MESSAGE_NONE;
    weft_status status = weft_msg_end(&call, found, message);
    weft_msg_unlock(call.m);
    return status;
}
