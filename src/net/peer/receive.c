/*
 * net/peer/receive.c - packets that arrive are checked, brought into order and delivered, and their
 * senders are told.
 */
#include "net/peer/inside.h"

#include "base/say.h"
#include "order/atomic.h"

#include <stdlib.h>

weft_status weft_peer_malformed(const struct weft_net *net, int process, const char *wrong)
{
    return weft_err(WEFT_ERR_PROTOCOL, "%s: process %d sent a malformed packet: %s", net->ops->name,
                    process, wrong);
}

/* ---- acknowledgements ------------------------------------------------------------------------ */

void weft_peer_owe(struct weft_net *net, struct weft_peer *peer)
{
    if (peer->owed_since == 0) {
        peer->owed_since = weft_now_ns();
        net->owing++;
    }
}

/* Takes what a packet's head says of the packets that this process has sent. */
static weft_status take_acknowledgement(struct weft_net *net, const struct weft_packet *packet)
{
    struct weft_peer *peer = &net->peers[packet->process];

    if (net->caps.acknowledges)
        return WEFT_OK;
    const uint32_t known = weft_load_relaxed_u32(&peer->acknowledged),
                   news = packet->delivered - known;
    if ((int32_t)news > 0) { /* one that was overtaken may come late */
        if (news > weft_load_relaxed_u32(&peer->made) - known)
            return weft_peer_malformed(net, packet->process,
                                       "an acknowledgement of more than was sent");
        weft_store_release_u32(&peer->acknowledged, packet->delivered, ORDER_ring_credit);
        weft_peer_ring(net, WEFT_NET_SEND);
    }
    peer->asked |= (packet->flags & WEFT_PACKET_ASKS) != 0;
    if (peer->asked) /* also where nothing is new: what it was told may be lost */
        weft_peer_owe(net, peer);
    return packet->kind == WEFT_PACKET_ACK && peer->asked
               ? weft_peer_check_missing(net, packet->process, packet->number)
               : WEFT_OK;
}

/* Sends acknowledgements that are owed. *did is set, too, if there was no buffer, since nothing
 * rings when there is one. */
static weft_status acknowledge(struct weft_net *net, bool *did)
{
    const uint64_t now = weft_now_ns();
    const bool all = weft_peer_sleeps(net, WEFT_NET_RECEIVE);
    weft_status status = WEFT_OK;

    for (int p = 0; p < net->open.processes && net->owing > 0 && status == WEFT_OK; p++) {
        struct weft_peer *peer = &net->peers[p];
        const uint32_t owed =
            weft_load_relaxed_u32(&peer->delivered) - weft_load_relaxed_u32(&peer->last_ack);
        bool went = owed == 0 && !peer->asked; /* with a packet that went anyway */

        if (peer->owed_since == 0)
            continue;
        if (!went && (all || peer->asked || owed >= WEFT_PEER_ACK_EVERY ||
                      now - peer->owed_since >= WEFT_PEER_ACK_NS)) {
            weft_peer_lock(net);
            status = weft_peer_send_head(net, p, &went);
            const bool scarce = net->caps.buffers != NULL && peer->held >= net->idle_count;
            weft_peer_unlock(net);
            if (scarce) /* only the send side gets buffers back, and it may sleep */
                weft_peer_ring(net, WEFT_NET_SEND);
            *did |= scarce && !went;
        }
        if (!went)
            continue;
        peer->asked = false;
        peer->owed_since = 0;
        net->owing--;
    }
    return status;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Parses a packet. WEFT_OK also for a stranger's packet, which *stranger tells. */
static weft_status parse(struct weft_net *net, int process, const unsigned char *bytes,
                         size_t length, struct weft_packet *packet, bool *stranger)
{
    const char *wrong = NULL;
    const enum weft_packet_parse result = weft_packet_parse(
        bytes, length, net->token, net->open.processes, packet, net->entries, &wrong);

    *stranger = result == WEFT_PACKET_STRANGER && process < 0;
    if (result == WEFT_PACKET_MALFORMED)
        return weft_peer_malformed(net, process, wrong);
    if (result == WEFT_PACKET_STRANGER && process >= 0)
        return weft_peer_malformed(net, process, "it is not of this job");
    if (!*stranger && process >= 0 && packet->process != process)
        return weft_peer_malformed(net, process, "it says that another sent it");
    return WEFT_OK;
}

static weft_status keep_early(struct weft_net *net, int process, uint32_t number,
                              struct weft_peer_early early)
{
    struct weft_peer *peer = &net->peers[process];

    if (peer->early == NULL && !net->caps.ordered)
        peer->early = calloc(WEFT_PEER_WINDOW, sizeof(*peer->early));
    if (peer->early == NULL && !net->caps.ordered)
        return weft_err(WEFT_ERR_MEMORY, "%s: no memory for packets of process %d", net->ops->name,
                        process);
    if (net->caps.ordered || number - peer->expected >= WEFT_PEER_WINDOW ||
        peer->early[number % WEFT_PEER_WINDOW].used)
        return weft_err(WEFT_ERR_PROTOCOL, "%s: process %d sent packet %u, and number %u was next",
                        net->ops->name, process, number, peer->expected);
    peer->early[number % WEFT_PEER_WINDOW] = early;
    return WEFT_OK;
}

/* Delivers what came before its turn, which has come now. */
static weft_status deliver_early(struct weft_net *net, int process)
{
    struct weft_peer *peer = &net->peers[process];
    weft_status status = WEFT_OK;

    while (status == WEFT_OK && peer->early != NULL) {
        struct weft_peer_early *place = &peer->early[peer->expected % WEFT_PEER_WINDOW];
        const struct weft_peer_early early = *place;
        struct weft_packet packet;
        bool stranger;
        if (!early.used)
            break;
        place->used = false;
        if (early.written) {
            status = weft_peer_deliver_written(net, process, (uint32_t)early.handle);
            continue;
        }
        status = parse(net, process, early.bytes, early.length, &packet, &stranger);
        if (status == WEFT_OK)
            status = weft_peer_deliver_packet(net, &packet, early.handle);
    }
    return status;
}

static weft_status take_written(struct weft_net *net, int process, uint64_t immediate)
{
    const uint32_t expected = net->peers[process].expected;
    uint32_t notice;
    const uint32_t number = weft_peer_number_of(net, immediate, expected, &notice);

    if (number != expected)
        return keep_early(
            net, process, number,
            (struct weft_peer_early){.used = true, .written = true, .handle = notice});
    WEFT_TRY(weft_peer_deliver_written(net, process, notice));
    return deliver_early(net, process);
}

static weft_status take_packet(struct weft_net *net, const struct weft_transport_event *event)
{
    struct weft_packet packet;
    bool stranger;

    weft_status status =
        parse(net, event->process, event->bytes, event->length, &packet, &stranger);
    if (stranger && !net->warned)
        weft_say(WEFT_SAY_WARN, "%s: a message that is not of this job was ignored",
                 net->ops->name);
    net->warned |= stranger;
    if (status == WEFT_OK && !stranger)
        status = take_acknowledgement(net, &packet);
    if (status != WEFT_OK)
        return status;
    if (stranger || packet.kind == WEFT_PACKET_ACK) {
        net->ops->release(net->transport, event->process, event->value);
        return WEFT_OK;
    }
    if (packet.number != net->peers[packet.process].expected)
        return keep_early(net, packet.process, packet.number,
                          (struct weft_peer_early){.used = true,
                                                   .bytes = event->bytes,
                                                   .length = event->length,
                                                   .handle = event->value});
    status = weft_peer_deliver_packet(net, &packet, event->value);
    return status == WEFT_OK && net->peers[packet.process].early != NULL
               ? deliver_early(net, packet.process)
               : status;
}

/* ---- a turn ---------------------------------------------------------------------------------- */

static weft_status take_event(struct weft_net *net, const struct weft_transport_event *event)
{
    if (event->kind == WEFT_EVENT_PACKET)
        return take_packet(net, event);
    if (event->kind == WEFT_EVENT_WRITTEN)
        return take_written(net, event->process, event->value);
    if (event->kind == WEFT_EVENT_LOST) {
        weft_peer_lock(net);
        weft_peer_lose(net, event->process, event->text);
        weft_peer_unlock(net);
    }
    return WEFT_OK;
}

/* Takes events. Each packet is a batch; where a device fetches the data, all that are there are
 * one. */
static weft_status take_events(struct weft_net *net, bool *did)
{
    struct weft_transport_event events[WEFT_PEER_EVENTS];
    const uint32_t before = net->taken_count;
    weft_status status = WEFT_OK;

    if (net->batches.waiting == WEFT_PEER_BATCHES ||
        before - net->concluded > WEFT_PEER_DELIVERED - WEFT_PEER_EVENTS - WEFT_PEER_WINDOW)
        return WEFT_OK;
    const int count = net->ops->poll[WEFT_NET_RECEIVE](net->transport, events, WEFT_PEER_EVENTS);
    if (count < 0)
        return (weft_status)-count;
    for (int i = 0; i < count && status == WEFT_OK; i++)
        status = take_event(net, &events[i]);
    *did |= count > 0;
    return status == WEFT_OK && net->later && net->taken_count != before ? weft_peer_batch_end(net)
                                                                         : status;
}

/* Makes progress with sending, for a transport of which one thread makes all calls. */
static weft_status drive(struct weft_net *net)
{
    bool moved = false;

    weft_peer_lock(net);
    const weft_status status = weft_peer_drive(net, &moved);
    weft_peer_unlock(net);
    if (moved)
        weft_peer_ring(net, WEFT_NET_SEND);
    return status;
}

weft_status weft_peer_progress_receive(struct weft_net *net, bool *did)
{
    WEFT_TRY(weft_peer_settle(net, did));
    WEFT_TRY(take_events(net, did));
    if (net->caps.one_thread)
        WEFT_TRY(drive(net));
    if (net->owing > 0)
        WEFT_TRY(acknowledge(net, did));
    return WEFT_OK;
}
