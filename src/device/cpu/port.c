/* device/cpu/port.c - waiting and ending on the CPU device, and in the host program. */
#include "device/port.h"

#include "base/fiber.h"
#include "base/task.h"

enum { HOST_SPINS = 2000, HOST_SLEEP_NS = 1000000 };

/*
 * The host program has no worker to switch to: it polls a little, then sleeps on the process's
 * bell. Its caller looks again after every round: it prepares in one and sleeps in the next.
 */
static void host_wait(struct weft_port *port)
{
    if (port->rounds++ < HOST_SPINS) {
        if (port->rounds % 64 == 0)
            weft_task_yield(true);
        return;
    }
    if (port->prepared)
        weft_bell_sleep(port->bell, port->ticket, HOST_SLEEP_NS);
    else
        port->ticket = weft_bell_prepare(port->bell);
    port->prepared = !port->prepared;
}

static void give_turn(struct weft_port *port, enum weft_doing doing)
{
    WEFT_PORT_SET(port, doing, (uint8_t)doing);
    weft_fiber_switch(WEFT_PORT_GET(port, fiber), WEFT_PORT_GET(port, worker));
}

void weft_port_wait(struct weft_port *port)
{
    if (weft_model != NULL)
        weft_model->yield(true);
    else if (port->host)
        host_wait(port);
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

/* To the model a poll is work, too: the caller may give up, so it must not count as a deadlock. */
void weft_port_poll(struct weft_port *port)
{
    if (weft_model != NULL || port->host)
        weft_port_yield(port);
    else
        give_turn(port, WEFT_POLLS);
}

void weft_port_end(struct weft_port *port)
{
    if (port->host) {
        weft_port_waited(port);
        longjmp(port->escape, 1);
    }
    WEFT_PORT_SET(port, ended, true);
    if (weft_model != NULL)
        weft_model->exit();
    give_turn(port, WEFT_WORKS);
    __builtin_unreachable();
}

uint64_t weft_port_clock(void)
{
    return weft_now_ns();
}
