/* device/cpu/port.c - waiting and ending on the CPU device, and in the host program. */
#include "device/port.h"

#include "base/fiber.h"
#include "base/task.h"

enum { HOST_SPINS = 2000, HOST_SLEEP_NS = 1000000 };

/*
 * The host program has no worker to switch to: it polls a little, then sleeps on the process's
 * bell. Its caller looks again after every round, so prepare in one round and sleep in the next
 * would be one look late: sleeping without the look is made safe by the short timeout.
 */
static void host_wait(struct weft_port *port)
{
    if (port->rounds++ < HOST_SPINS) {
        if (port->rounds % 64 == 0)
            weft_task_yield(true);
        return;
    }
    weft_bell_sleep(port->bell, weft_bell_prepare(port->bell), HOST_SLEEP_NS);
}

void weft_port_wait(struct weft_port *port)
{
    if (weft_model != NULL) {
        weft_model->yield(true);
    } else if (port->host) {
        host_wait(port);
    } else {
        WEFT_PORT_SET(port, waits, true);
        weft_fiber_switch(WEFT_PORT_GET(port, fiber), WEFT_PORT_GET(port, worker));
    }
}

void weft_port_yield(struct weft_port *port)
{
    if (weft_model != NULL) {
        weft_model->yield(false);
    } else if (port->host) {
        weft_task_yield(true);
    } else {
        WEFT_PORT_SET(port, waits, false);
        weft_fiber_switch(WEFT_PORT_GET(port, fiber), WEFT_PORT_GET(port, worker));
    }
}

void weft_port_end(struct weft_port *port)
{
    if (port->host)
        longjmp(port->escape, 1);
    WEFT_PORT_SET(port, ended, true);
    WEFT_PORT_SET(port, waits, false);
    if (weft_model != NULL)
        weft_model->exit();
    weft_fiber_switch(WEFT_PORT_GET(port, fiber), WEFT_PORT_GET(port, worker));
    __builtin_unreachable();
}

uint64_t weft_port_clock(void)
{
    return weft_now_ns();
}
