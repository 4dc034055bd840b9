/*
 * net/peer/events.c - what the transport says of sending: who is done gives back what he held.
 */
#include "net/peer/inside.h"

#include "base/say.h"

/* Returns the put that a write's cookie names. */
static struct weft_peer_put *put_of(const struct weft_peer_puts *puts, uint64_t cookie)
{
    return &puts->ring[(uint32_t)cookie & (puts->capacity - 1)];
}

/* The source of a put may be reused. */
static void is_read(const struct weft_net *net, struct weft_peer_put *put)
{
    put->source = WEFT_SOURCE_READ;
    net->open.events.sent(net->open.events.context, put->put.cookie);
}

/* The transport has read the source of the write with this cookie. */
static void read_source(struct weft_net *net, uint64_t cookie)
{
    struct weft_peer *peer = &net->peers[cookie >> 32];

    peer->on_way--;
    net->on_way--;
    peer->writes--;
    net->writes--;
    is_read(net, put_of(&peer->puts, cookie));
}

static weft_status refused(struct weft_net *net, const struct weft_transport_event *event)
{
    const struct weft_peer_puts *puts = &net->peers[event->process].puts;
    const struct weft_net_put *put = &put_of(puts, event->value)->put;

    return weft_err(WEFT_ERR_PROTOCOL,
                    "%s: the device of process %d refused %zu bytes at offset %llu of key 0x%llx, "
                    "which is no region of that process",
                    net->ops->name, event->process, put->bytes, (unsigned long long)put->offset,
                    (unsigned long long)put->key);
}

static void sent(struct weft_net *net, const struct weft_transport_event *event)
{
    struct weft_peer *peer = &net->peers[event->process];

    peer->on_way -= event->count;
    net->on_way -= event->count;
    if (net->caps.acknowledges)
        peer->acked += event->count;
    if (net->caps.buffers == NULL)
        return;
    peer->held--;
    net->idle[net->idle_count++] = (uint32_t)event->value;
    if (net->gathers[event->value] == 0)
        return;
    struct weft_peer_put *put = put_of(&peer->puts, net->gathers[event->value]);
    net->gathers[event->value] = 0;
    if (--put->gathered == 0 && put->source == WEFT_SOURCE_WRITTEN)
        is_read(net, put);
}

static weft_status take_event(struct weft_net *net, const struct weft_transport_event *event)
{
    if (event->kind == WEFT_EVENT_SENT)
        sent(net, event);
    if (event->kind == WEFT_EVENT_READ)
        read_source(net, event->value);
    if (event->kind == WEFT_EVENT_LOST)
        weft_peer_lose(net, event->process, event->text);
    return event->kind == WEFT_EVENT_REFUSED ? refused(net, event) : WEFT_OK;
}

weft_status weft_peer_take_events(struct weft_net *net, bool *did)
{
    struct weft_transport_event events[WEFT_PEER_EVENTS];
    weft_status status = WEFT_OK;

    if (net->on_way == 0)
        return WEFT_OK;
    const int count = net->ops->poll[WEFT_NET_SEND](net->transport, events, WEFT_PEER_EVENTS);
    for (int i = 0; i < count && status == WEFT_OK; i++)
        status = take_event(net, &events[i]);
    *did |= count > 0;
    return count < 0 ? (weft_status)-count : status;
}
