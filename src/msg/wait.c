/*
 * msg/wait.c - a thread of the program waits: it looks at what arrives, for a while as fast as it
 * can, then as any call of the host program waits.
 */
#include "msg/msg.h"

#include "host/host.h"
#include "rank/host.h"
#include "rank/parts.h"

enum { LOOKS = 256 };

/* The network needs rounds, which its tasks would do later. */
static void help(struct weft_job *job)
{
    if (weft_model == NULL && weft_load_relaxed_u32(&job->space.state.signals->proxied) != 0)
        weft_services_help(job, weft_now_ns());
}

void weft_msg_idle(struct weft_messages *m)
{
    if (weft_model != NULL)
        weft_task_yield(false); /* who may give up is no part of a deadlock */
    else if (__atomic_add_fetch(&m->vain, 1, __ATOMIC_RELAXED) % 64 == 0)
        weft_task_yield(true);
    help(m->job);
}

/* As a call of the host program. The lock is free before. */
static weft_status wait_long(struct weft_messages *m, const char *call,
                             bool (*ready)(struct weft_messages *m, void *what), void *what,
                             uint64_t number, double seconds)
{
    struct weft_job *job = m->job;
    struct weft_port_call host_call = {.deadline = weft_host_deadline(seconds)};
    weft_status status;
    uint32_t rounds = 0;
    weft_self *const self = weft_host_enter(job, call, &host_call, &status);

    if (self == NULL)
        return status;
    if (setjmp(host_call.escape) != 0)
        return weft_host_escaped(job);
    for (;;) {
        weft_msg_lock(m);
        weft_msg_round(m);
        if (ready(m, what))
            break;
        weft_msg_unlock(m);
        help(job);
        weft_wait_round(self, &rounds, WEFT_WAIT_MESSAGE, number, 0, 0);
    }
    weft_wait_over(self, rounds);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_msg_wait(struct weft_messages *m, const char *call,
                          bool (*ready)(struct weft_messages *m, void *what), void *what,
                          uint64_t number, double seconds)
{
    const int looks = weft_model == NULL && m->mapped_count != 0 ? LOOKS : 0;
    weft_status status;

    if (ready(m, what))
        return WEFT_OK;
    weft_msg_attend(m);
    for (int i = 0; i < looks; i++) {
        weft_msg_round(m);
        if (ready(m, what)) {
            weft_msg_leave(m);
            return WEFT_OK;
        }
    }
    weft_msg_unlock(m);
    status = wait_long(m, call, ready, what, number, seconds);
    if (status != WEFT_OK)
        weft_msg_lock(m);
    weft_msg_leave(m);
    if (status != WEFT_OK)
        weft_msg_unlock(m);
    return status;
}
