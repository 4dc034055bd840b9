/* device/cpu/port.c - waiting and ending on the CPU device, and in the host program. The rank, or
 * the thread, that waits calls it. */
#include "device/port.h"

#include "base/fiber.h"
#include "base/task.h"
#include "device/cpu/team.h"
#include "weft/host.h"

enum { HOST_SPINS = 2000, HOST_SLEEP_NS = 1000000 };

static _Thread_local const char *caller;

void weft_host_caller(const char *name)
{
    caller = name;
}

static void escape(struct weft_port *port, bool late)
{
    weft_port_waited(port);
    port->call->late = late;
    longjmp(port->call->escape, 1);
}

/*
 * A thread of the host program has no worker to switch to: it polls a little, then sleeps on the
 * process's bell. Its caller looks again after every round: it prepares in one and sleeps in the
 * next.
 */
static void host_rest(struct weft_bell *bell, struct weft_port_call *call)
{
    if (weft_model != NULL) {
        weft_model->yield(call->deadline == 0); /* who may give up is no part of a deadlock */
        return;
    }
    if (call->rounds++ < HOST_SPINS) {
        if (call->rounds % 64 == 0)
            weft_task_yield(true);
        return;
    }
    if (call->prepared)
        weft_bell_sleep(bell, call->ticket, HOST_SLEEP_NS);
    else
        call->ticket = weft_bell_prepare(bell);
    call->prepared = !call->prepared;
}

/* Rests one round of a host program's wait; its other threads have their turn meanwhile. */
static void host_wait(struct weft_port *port)
{
    struct weft_port_call *call = port->call;

    if (call->deadline != 0 && weft_now_ns() >= call->deadline) {
        if (call->late)
            escape(port, true);
        call->late = true; /* it looks once more: it may have had no processor since it looked */
        return;
    }
    WEFT_PORT_SET(port, caller, caller != NULL ? caller : call->caller);
    weft_port_leave(port);
    host_rest(port->bell, call);
    weft_port_enter(port, call);
}

static inline void give_turn(struct weft_port *port, enum weft_doing doing)
{
    WEFT_PORT_SET(port, doing, (uint8_t)doing);
    if (__builtin_expect(port->team != NULL, 0))
        weft_team_rest(port->team);
    else
        weft_fiber_switch(WEFT_PORT_GET(port, fiber), WEFT_PORT_GET(port, worker));
}

void weft_port_wait(struct weft_port *port)
{
    if (port->host)
        host_wait(port);
    else if (weft_model != NULL)
        weft_model->yield(true);
    else
        give_turn(port, WEFT_WAITS);
}

bool weft_port_posted(struct weft_port *port)
{
    if (weft_model != NULL || port->host || !WEFT_PORT_GET(port, helped))
        return false;
    give_turn(port, WEFT_POSTED);
    return true;
}

void weft_port_yield(struct weft_port *port)
{
    if (weft_model != NULL)
        weft_model->yield(false);
    else if (port->host)
        weft_task_yield(true);
    else
        give_turn(port, WEFT_WORKS);
}

/* Lets others run after a look. To the model a poll is work, too: the caller may give up, so it
 * must not count as a deadlock. */
void weft_port_poll(struct weft_port *port)
{
    if (weft_model != NULL || port->host)
        weft_port_yield(port);
    else
        give_turn(port, WEFT_POLLS);
}

void weft_port_end(struct weft_port *port)
{
    if (port->host)
        escape(port, false);
    WEFT_PORT_SET(port, ended, true);
    if (weft_model != NULL && port->team == NULL)
        weft_model->exit();
    if (weft_model != NULL) /* the task goes on on its own stack, and ends */
        weft_model->own()->fiber = WEFT_PORT_GET(port, worker);
    give_turn(port, WEFT_WORKS);
    __builtin_unreachable();
}

uint64_t weft_port_clock(void)
{
    return weft_now_ns();
}
