/*
 * net/verbs/port.c - what the device tells of besides completions.
 *
 * A port that is down may come back: who is cut off by it for longer than the retries last is lost,
 * and the send side says so. But a device may forget to retry while its port is down (soft-RoCE):
 * then nobody else says so. It gets twice as long as the retries last, and some seconds.
 */
#include "base/say.h"
#include "net/verbs/state.h"

#include <poll.h>

static const uint64_t PORT_NS = 3000000000;

void weft_verbs_look_around(struct weft_net *net)
{
    struct pollfd fd = {.fd = net->device.context->async_fd, .events = POLLIN};
    struct ibv_async_event event;

    while (poll(&fd, 1, 0) == 1 && ibv_get_async_event(net->device.context, &event) == 0) {
        const bool quiet = event.event_type == IBV_EVENT_COMM_EST ||
                           event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED ||
                           event.event_type == IBV_EVENT_GID_CHANGE;
        weft_say(quiet ? WEFT_SAY_DEBUG : WEFT_SAY_WARN, "verbs: %s: %s", net->device.name,
                 ibv_event_type_str(event.event_type));
        if (event.event_type == IBV_EVENT_PORT_ERR &&
            event.element.port_num == net->device.port) /* a device may have another one */
            net->down_since = weft_now_ns();
        else if (event.event_type == IBV_EVENT_PORT_ACTIVE &&
                 event.element.port_num == net->device.port)
            net->down_since = 0;
        ibv_ack_async_event(&event);
    }
}

weft_status weft_verbs_look_at_port(const struct weft_net *net)
{
    const uint64_t retries = (uint64_t)(WEFT_VERBS_RETRIES + 1)
                             << (net->open.config->verbs_timeout + 12); /* 4.096 us * 2^timeout */
    const uint64_t down = net->down_since != 0 ? weft_now_ns() - net->down_since : 0;

    if (down < PORT_NS + 2 * retries)
        return WEFT_OK;
    for (int p = 0; p < net->open.processes; p++)
        if (p != net->open.process && weft_verbs_state_of(&net->peers[p]) == WEFT_VERBS_READY)
            return weft_err(WEFT_ERR_PEER_LOST,
                            "verbs: process %d cannot be reached any more: %s has been down for "
                            "%.1f s",
                            p, net->device.name, (double)down * 1e-9);
    return WEFT_OK;
}
