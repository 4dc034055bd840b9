/*
 * net/peer/write.c - puts that the transport writes straight to their windows.
 *
 * A write has a number, as a packet has, and its notice takes effect in its turn. But its data is
 * there earlier: maybe before data of packets that were sent before it, or of other writes where
 * the transport keeps no order. So a put whose data could meet theirs is not written: a short one
 * is packed, a long one waits until they are acknowledged.
 *
 * The immediate is the notice, and above it the low bits of the number where writes come out of
 * order. If it has no room for both it is the number, and the notice follows in a packet. Where
 * there is none the write has no number either: the packet behind it says that it is there.
 */
#include "net/peer/inside.h"

#include "order/atomic.h"

enum {
    COPY = 8192, /* bytes of the longest put that is copied where it cannot be written */
    LOOKS = 64,  /* puts under way that a put is compared with */
    NOTICE_BITS = 32,
    SPREAD = 2 * WEFT_PEER_WINDOW - 1, /* the low bits that tell a number in the window */
    SPREAD_BITS = 7
};
static_assert(1 << SPREAD_BITS == SPREAD + 1, "so many bits");

bool weft_peer_brings_notice(const struct weft_net *net)
{
    return (net->caps.ordered && net->caps.immediate != 0) ||
           net->caps.immediate >= NOTICE_BITS + SPREAD_BITS;
}

uint32_t weft_peer_number_of(const struct weft_net *net, uint64_t immediate, uint32_t expected,
                             uint32_t *notice)
{
    const bool brings = weft_peer_brings_notice(net);
    const uint32_t low = (uint32_t)(brings ? immediate >> NOTICE_BITS : immediate);

    *notice = brings ? (uint32_t)immediate : 0;
    return net->caps.ordered ? expected : expected + ((low - expected) & SPREAD);
}

/* Whether data of one put could change what the other's does. */
static bool meet(const struct weft_net_put *a, const struct weft_net_put *b)
{
    const uint64_t end_a = a->offset + a->bytes;
    const uint64_t end_b =
        b->offset + (b->rows > 1 ? (b->rows - 1) * b->pitch + b->bytes : b->bytes);

    return b->bytes != 0 && (a->key != b->key || (a->offset < end_b && b->offset < end_a));
}

/* Whether a put's data, if written, could be there before earlier data of the same place. */
static bool could_overtake(const struct weft_net *net, const struct weft_peer *peer,
                           const struct weft_net_put *put)
{
    const struct weft_peer_puts *puts = &peer->puts;

    for (uint32_t i = puts->delivered, looks = 0; i != puts->packed; i++) {
        const struct weft_peer_put *under = &puts->ring[i & (puts->capacity - 1)];
        if (under->written && (net->caps.ordered || net->caps.writes_ordered))
            continue;
        if (++looks > LOOKS || meet(put, &under->put))
            return true;
    }
    return false;
}

/* Returns what is needed to write the put's region; zero: it is not known. */
static uint64_t place_of(const struct weft_net_put *put)
{
    return (put->key & WEFT_PEER_PLACED) != 0 ? put->key & ~WEFT_PEER_PLACED : put->place[0];
}

static bool can_be_written(const struct weft_net *net, const struct weft_net_put *put)
{
    return net->caps.writes && put->rows <= 1 && (place_of(put) | put->place[1]) != 0 &&
           put->bytes >= net->caps.write_from && put->bytes <= net->caps.write_most &&
           put->bytes > sizeof(uint64_t); /* words stay undivided: the receiver stores them */
}

bool weft_peer_reads(struct weft_net *net, const struct weft_net_put *put)
{
    return can_be_written(net, put) && weft_net_registration(net, put->source, put->bytes) != NULL;
}

/* Has the transport write a put, and returns its status. */
static weft_status issue(struct weft_net *net, int process, const struct weft_net_put *put)
{
    const struct weft_peer *peer = &net->peers[process];
    const uint64_t low = net->caps.ordered ? 0 : peer->number & SPREAD;
    const struct weft_transport_write write = {
        .process = process,
        .place = {place_of(put), put->place[1]},
        .offset = put->offset,
        .source = put->source,
        .bytes = put->bytes,
        .mr = weft_net_registration(net, put->source, put->bytes),
        .immediate = weft_peer_brings_notice(net) ? low << NOTICE_BITS | put->notice : low,
        .cookie = (uint64_t)process << 32 | peer->puts.packed};

    return net->ops->write(net->transport, &write);
}

weft_status weft_peer_write(struct weft_net *net, int process, struct weft_peer_put *next,
                            enum weft_peer_way *way)
{
    struct weft_peer *peer = &net->peers[process];
    const struct weft_net_put *put = &next->put;
    const bool packable = put->bytes <= COPY && !put->device;
    weft_status status = WEFT_OK;

    *way = WEFT_WAY_PACKED;
    if (peer->done != 0 || !can_be_written(net, put) ||
        (packable && (peer->open.entries > 0 || peer->on_way >= net->caps.depth)))
        return WEFT_OK;
    if (could_overtake(net, peer, put)) {
        if (!packable)
            weft_peer_ask(peer);
        *way = packable ? WEFT_WAY_PACKED : WEFT_WAY_WAITS;
        return WEFT_OK;
    }
    if (peer->open.at != NULL && peer->open.entries > 0) /* what is before it goes before it */
        status = weft_peer_send_head(net, process, &(bool){false});
    if (status == WEFT_OK && (peer->open.sealed || weft_peer_is_full(net, peer) ||
                              peer->writes >= net->caps.write_count - net->writes))
        status = WEFT_NET_FULL; /* as with buffers: it leaves as many to the others */
    if (status == WEFT_OK) {
        weft_tell_u32(&peer->made, peer->number + (net->caps.immediate != 0)); /* before it is
                                                                                  acknowledged */
        status = issue(net, process, put);
    }
    if (status != WEFT_OK)
        weft_tell_u32(&peer->made, peer->number); /* nothing has gone */
    if (status == WEFT_NET_FULL || (status == WEFT_NET_STAGE && put->device)) {
        *way = WEFT_WAY_WAITS;
        return WEFT_OK;
    }
    if (status != WEFT_OK)
        return status == WEFT_NET_STAGE ? WEFT_OK : status;
    *way = WEFT_WAY_WRITTEN;
    next->written = true;
    next->source = WEFT_SOURCE_WRITTEN;
    next->last = peer->number;
    peer->number += net->caps.immediate != 0;
    peer->on_way++;
    net->on_way++;
    peer->writes++;
    net->writes++;
    return WEFT_OK;
}
