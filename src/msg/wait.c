/*
 * msg/wait.c - a thread of the program waits. It looks at what arrives as fast as it can, for as
 * long as an idle worker polls (WEFT_SPIN_US), then waits like any call of the host program.
 */
#include "msg/msg.h"

#include "host/host.h"
#include "msg/call.h"
#include "rank/host.h"
#include "rank/path/dispatch.h"

#include <math.h>

enum {
    LOOKS = 64,     /* looks between two readings of the clock */
    YIELD_NS = 4000 /* ns of looks in vain, after which a thread lets others run */
};

/* Whether some process is reached through the network. */
static bool is_proxied(const struct weft_job *job)
{
    return weft_load_relaxed_u32(&job->space.state.signals->proxied) != 0;
}

/* Does rounds of the network, which its tasks would do later. */
static void help(struct weft_job *job, uint64_t now)
{
    if (weft_model == NULL && is_proxied(job))
        weft_services_help(job, now);
}

void weft_msg_idle(struct weft_messages *m)
{
    weft_msg_drive(m, false);
    if (weft_model != NULL)
        weft_task_yield(false); /* who may give up is no part of a deadlock */
    else if (__atomic_add_fetch(&m->vain, 1, __ATOMIC_RELAXED) % 64 == 0)
        weft_task_yield(true);
    help(m->job, weft_now_ns());
}

/* 1 + the only process that can end the wait for a transfer; 0: any may. */
static uint64_t ender(const struct weft_transfer *transfer)
{
    const int process = transfer->sends ? transfer->peer : transfer->posted.from;

    return process == WEFT_ANY ? 0 : (uint64_t)process + 1;
}

/* Waits as other calls of the host program do. The lock is free before, and held if it returns
 * OK. */
static weft_status wait_long(struct weft_messages *m, const char *call,
                             bool (*ready)(struct weft_messages *m, void *what), void *what,
                             uint64_t number, double seconds)
{
    struct weft_job *job = m->job;
    struct weft_port_call host_call = {.deadline = weft_host_deadline(seconds)};
    weft_status status;
    uint32_t rounds = 0;
    const uint64_t ends = ready == weft_msg_is_done ? ender(what) : 0;
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
        weft_msg_drive(m, false);
        help(job, weft_now_ns());
        weft_wait_round(self, &rounds, WEFT_WAIT_MESSAGE, number, ends, 0);
    }
    weft_wait_over(self, rounds);
    return weft_host_leave(job, WEFT_OK);
}

bool weft_msg_spin(struct weft_messages *m, bool (*ready)(struct weft_messages *m, void *what),
                   void *what, double seconds)
{
    const uint64_t spin_ns = m->job->proxy.spin_ns;
    const uint64_t most =
        seconds * 1e9 < (double)spin_ns ? (uint64_t)(fmax(seconds, 0) * 1e9) : spin_ns;
    const int looks = is_proxied(m->job) ? 1 : LOOKS;
    uint64_t begin = 0, last = 0, now = 0; /* last: anything came */

    if (weft_model != NULL)
        return false;
    do {
        bool came = false;
        for (int i = 0; i < looks && !(came && weft_msg_has_plans(m)); i++) {
            came |= weft_msg_round(m);
            if (ready(m, what))
                return true;
        }
        weft_msg_unlock(m);
        weft_msg_drive(m, false);
        now = weft_now_ns();
        begin = begin == 0 ? now : begin;
        last = came || last == 0 ? now : last;
        help(m->job, now);
        if (now - last > YIELD_NS)
            weft_task_yield(true);
        weft_msg_lock(m);
    } while (now - begin < most && !weft_job_is_failing(m->job));
    return ready(m, what);
}

weft_status weft_msg_wait(struct weft_messages *m, const char *call,
                          bool (*ready)(struct weft_messages *m, void *what), void *what,
                          uint64_t number, double seconds)
{
    weft_status status = WEFT_OK;

    if (ready(m, what))
        return WEFT_OK;
    weft_msg_attend(m);
    if (!weft_msg_spin(m, ready, what, seconds)) {
        weft_msg_unlock(m);
        status = wait_long(m, call, ready, what, number, seconds);
    }
    if (status != WEFT_OK)
        weft_msg_lock(m);
    weft_msg_leave(m);
    if (status != WEFT_OK)
        weft_msg_unlock(m);
    return status;
}
