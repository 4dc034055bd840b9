/* msg/group.c - groups that a front end numbers. Each call takes the lock. */
#include "msg/call.h"

/* Checks members: processes of the job, each once, this one among them. An error frees the lock. */
static weft_status check_members(struct weft_msg_call *call, const int *processes, int members)
{
    const int n = call->m->job->numbers.processes, me = call->m->job->numbers.process;
    bool here = false;

    if (processes == NULL || members < 1)
        return weft_msg_refuse(call, WEFT_ERR_ARGUMENT, "%d members%s", members,
                               processes == NULL ? " at NULL" : "");
    for (int i = 0; i < members; i++) {
        if (processes[i] < 0 || processes[i] >= n)
            return weft_msg_refuse(call, WEFT_ERR_RANK, "process %d is not one of %d", processes[i],
                                   n);
        for (int j = 0; j < i; j++)
            if (processes[j] == processes[i])
                return weft_msg_refuse(call, WEFT_ERR_ARGUMENT, "process %d is member %d and %d",
                                       processes[i], j, i);
        here |= processes[i] == me;
    }
    if (!here)
        return weft_msg_refuse(call, WEFT_ERR_ARGUMENT, "process %d itself is not among %d members",
                               me, members);
    return WEFT_OK;
}

weft_status weft_message_group_take(weft_job *job, uint32_t number, const int *processes,
                                    int members, weft_comm *group)
{
    struct weft_msg_call call = {0};

    WEFT_TRY(weft_msg_begin(&call, job, "weft_message_group_take"));
    if (number >= WEFT_MESSAGE_GROUPS || group == NULL)
        return weft_msg_refuse(&call, WEFT_ERR_ARGUMENT, "number %u, of 0..%d%s", number,
                               WEFT_MESSAGE_GROUPS - 1, group == NULL ? ", group is NULL" : "");
    WEFT_TRY(check_members(&call, processes, members));
    const weft_comm handle = weft_group_handle(number);
    struct weft_msg_context *context = weft_context_find(&call.m->contexts, handle);
    if (context != NULL && context->members != 0)
        return weft_msg_refuse(&call, WEFT_ERR_STATE, "number %u is in use", number);
    if (context == NULL)
        context = weft_context_make(&call.m->contexts, handle);
    if (context == NULL || !weft_context_know(context, processes, members, job->numbers.processes))
        return weft_msg_refuse(&call, WEFT_ERR_MEMORY, "no memory for %d members", members);
    *group = handle;
    weft_msg_unlock(call.m);
    return WEFT_OK;
}

weft_status weft_message_group_give(weft_job *job, weft_comm *group)
{
    struct weft_msg_call call = {0};

    if (group == NULL || !weft_group_is(*group)) {
        WEFT_TRY(weft_job_ready(job, "weft_message_group_give"));
        return weft_refused(job, WEFT_ERR_COMM, "weft_message_group_give: 0x%x is no group",
                            group != NULL ? *group : WEFT_COMM_NONE);
    }
    WEFT_TRY(weft_msg_begin_in(&call, job, "weft_message_group_give", *group));
    if (!weft_match_empty(&call.context->match) ||
        weft_transfer_uses(&call.m->transfers, call.context))
        return weft_msg_refuse(&call, WEFT_ERR_STATE,
                               "a receive, a send or a message of group 0x%x is left", *group);
    weft_context_drop(&call.m->contexts, call.context);
    *group = WEFT_COMM_NONE;
    weft_msg_unlock(call.m);
    return WEFT_OK;
}

weft_status weft_msg_name_tags(struct weft_job *job, weft_comm comm,
                               void (*words)(const void *of, int tag, char *text, size_t bytes),
                               const void *of)
{
    struct weft_msg_call call = {.m = job->messages};

    if (words != NULL) {
        WEFT_TRY(weft_msg_begin_in(&call, job, "weft_team_open", comm));
    } else { /* also of a job that has failed */
        weft_msg_lock(call.m);
        call.context = weft_context_find(&call.m->contexts, comm);
    }
    if (call.context != NULL) {
        call.context->words = words;
        call.context->words_of = of;
    }
    weft_msg_unlock(call.m);
    return WEFT_OK;
}
