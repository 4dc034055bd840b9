/*
 * net/shm/packets.c - puts, cut into packets, and what becomes of them at both ends of a ring. The
 * progress task owns the sending ends of rings and what is under way, the receive task the
 * receiving ends.
 */
#include "net/shm/inside.h"

#include "base/say.h"
#include "order/atomic.h"

#include <stdlib.h>
#include <string.h>

enum {
    REFER_FROM = 1024,
    BATCHES = 8, /* of one sender's packets that wait for the device: a mark for each takes time */
    BATCH = 64,  /* packets taken from one ring before the others get their turn */
    LINE = 64
};

static bool remember_landing(struct weft_shm_peer *peer, struct weft_shm_landing landing)
{
    if (peer->count == peer->capacity) {
        uint32_t capacity = peer->capacity == 0 ? 64 : peer->capacity * 2;
        struct weft_shm_landing *landings = malloc(capacity * sizeof(*landings));
        if (landings == NULL)
            return false;
        for (uint32_t i = 0; i < peer->count; i++)
            landings[i] = peer->landings[(peer->first + i) % peer->capacity];
        free(peer->landings);
        peer->landings = landings;
        peer->capacity = capacity;
        peer->first = 0;
    }
    peer->landings[(peer->first + peer->count++) % peer->capacity] = landing;
    return true;
}

/* A put whose source the receiver is to read where it lies: not worth it for the shortest. */
static bool refers(const struct weft_net *net, const struct weft_net_put *put)
{
    const uintptr_t begin = (uintptr_t)net->stage, at = (uintptr_t)put->source;

    return net->stage != NULL && put->bytes >= REFER_FROM && put->bytes < WEFT_PACKET_REFERS &&
           at >= begin && at - begin < net->address.stage.bytes;
}

/*
 * What the next packet takes of the rest of a put: a quarter of the ring at most, so that some are
 * written while others are read, and equal parts, so that no short one is left over.
 */
static uint32_t packet_bytes(uint32_t ring_size, size_t left)
{
    const size_t most = weft_packet_max(ring_size / 2) - sizeof(struct weft_packet);
    const size_t parts = (left + most - 1) / most;
    const size_t bytes =
        left <= most ? left : ((left + parts - 1) / parts + LINE - 1) / LINE * LINE;

    return (uint32_t)(bytes < most ? bytes : most);
}

/* The next packet of the current put into the ring. False: there is no room. */
static bool push(const struct weft_net *net, struct weft_shm_peer *peer, bool refer, uint32_t bytes,
                 uint32_t *end)
{
    const struct weft_net_put *put = &peer->current;
    const unsigned char *source = (const unsigned char *)put->source + peer->done;
    const uint64_t place = refer ? (uint64_t)(source - net->stage) : 0;
    const struct weft_packet packet = {.bytes = refer ? bytes | WEFT_PACKET_REFERS : bytes,
                                       .notice = bytes == put->bytes - peer->done ? put->notice : 0,
                                       .key = put->key,
                                       .offset = put->offset + peer->done};

    if (refer)
        return weft_packet_push(&peer->out, &packet, sizeof(packet), &place, sizeof(place), end);
    weft_used_shared(source, bytes); /* before it is published: an answer's source is free then */
    return weft_packet_push(&peer->out, &packet, sizeof(packet), source, bytes, end);
}

/* All of the current put is in the ring. */
static weft_status pumped(struct weft_net *net, struct weft_shm_peer *peer, bool refer,
                          uint32_t end)
{
    void *const cookie = peer->current.cookie;

    peer->active = false;
    if (!remember_landing(peer, (struct weft_shm_landing){end, refer, cookie}))
        return weft_err(WEFT_ERR_MEMORY, "shm: no memory for %u puts under way", peer->count);
    if (!refer)
        net->open.events.sent(net->open.events.context, cookie);
    return WEFT_OK;
}

/* Moves as much of the current put into the ring as fits, and rings. */
static weft_status pump(struct weft_net *net, struct weft_shm_peer *peer, bool *did)
{
    const struct weft_net_put *put = &peer->current;
    weft_status status = WEFT_OK;
    bool pushed = false;

    while (peer->active && status == WEFT_OK) {
        const size_t left = put->bytes - peer->done;
        const bool refer = refers(net, put);
        const uint32_t bytes = refer ? (uint32_t)left : packet_bytes(peer->out.size, left);
        uint32_t end;

        if (!push(net, peer, refer, bytes, &end)) {
            const uint32_t before = peer->out.seen;
            if (!weft_packet_refresh(&peer->out))
                status = weft_err(WEFT_ERR_PROTOCOL, "shm: process %d published a bad ring credit",
                                  put->process);
            else if (peer->out.seen == before)
                break;
            continue;
        }
        pushed = true;
        peer->done += bytes;
        if (bytes == left)
            status = pumped(net, peer, refer, end);
    }
    if (pushed) {
        *did = true;
        weft_bell_ring(&peer->inbox->bells[WEFT_NET_RECEIVE]);
    }
    return status;
}

weft_status weft_shm_put(struct weft_net *net, const struct weft_net_put *put)
{
    struct weft_shm_peer *peer = &net->peers[put->process];
    bool did = false;

    if (peer->active)
        return WEFT_NET_FULL;
    peer->current = *put;
    peer->done = 0;
    peer->active = true;
    return pump(net, peer, &did);
}

static weft_status progress_send(struct weft_net *net, struct weft_shm_peer *peer, bool *did)
{
    if (!peer->active && peer->count == 0)
        return WEFT_OK;
    if (!weft_packet_refresh(&peer->out))
        return weft_err(WEFT_ERR_PROTOCOL, "shm: process %d published a bad ring credit",
                        (int)(peer - net->peers));
    while (peer->count > 0 && weft_packet_landed(&peer->out, peer->landings[peer->first].end)) {
        const struct weft_shm_landing landing = peer->landings[peer->first];
        peer->first = (peer->first + 1) % peer->capacity;
        peer->count--;
        *did = true;
        if (landing.unsent)
            net->open.events.sent(net->open.events.context, landing.cookie);
        net->open.events.landed(net->open.events.context, landing.cookie);
    }
    return pump(net, peer, did);
}

/* Where a packet's data lies: behind it, or in the sender's staging memory. NULL: nowhere. */
static const unsigned char *data_of(const struct weft_shm_peer *peer, struct weft_packet *packet,
                                    const unsigned char *content, uint32_t bytes)
{
    uint64_t place;

    if ((packet->bytes & WEFT_PACKET_REFERS) == 0)
        return packet->bytes == bytes ? content : NULL;
    packet->bytes &= ~WEFT_PACKET_REFERS;
    if (bytes != sizeof(place) || peer->stage == NULL)
        return NULL;
    memcpy(&place, content, sizeof(place));
    if (place > peer->address.stage.bytes || packet->bytes > peer->address.stage.bytes - place)
        return NULL;
    weft_used_shared(peer->stage + place, packet->bytes);
    return peer->stage + place;
}

/* Checks and applies one packet. */
static weft_status apply(struct weft_net *net, int sender, const unsigned char *content,
                         uint32_t bytes)
{
    struct weft_packet packet;

    if (bytes < sizeof(packet))
        return weft_err(WEFT_ERR_PROTOCOL, "shm: a packet of %u bytes from process %d", bytes,
                        sender);
    memcpy(&packet, content, sizeof(packet));
    const uint32_t behind = bytes - (uint32_t)sizeof(packet);
    const unsigned char *data =
        data_of(&net->peers[sender], &packet, content + sizeof(packet), behind);
    if (data == NULL)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "shm: process %d announced %u bytes, which are not where it said (%u "
                        "bytes behind the header)",
                        sender, packet.bytes, behind);
    return weft_arrive_deliver(&net->arrive, sender, packet.key, packet.offset, data, packet.bytes,
                               packet.notice);
}

static weft_status end_batch(struct weft_net *net, int sender)
{
    net->peers[sender].batches++;
    return weft_arrive_batch_end(&net->arrive, (uint64_t)sender << 32 | net->peers[sender].in.tail);
}

weft_status weft_shm_conclude(struct weft_net *net, uint64_t cookie)
{
    struct weft_shm_peer *peer = &net->peers[cookie >> 32];

    weft_packet_release_to(&peer->in, (uint32_t)cookie);
    peer->batches--;
    peer->released = true;
    return WEFT_OK;
}

/* Where a device fetches the data all packets are one batch, else each is one. */
static weft_status progress_receive(struct weft_net *net, int sender, bool *did)
{
    struct weft_shm_peer *peer = &net->peers[sender];
    const bool later = weft_arrive_is_later(&net->open);
    weft_status status = WEFT_OK;
    int taken = 0;

    while (taken < BATCH && peer->batches < BATCHES && weft_arrive_has_room(&net->arrive)) {
        const unsigned char *content;
        uint32_t bytes;
        enum weft_packet_result result = weft_packet_peek(&peer->in, &content, &bytes);
        if (result == WEFT_PACKET_NONE)
            break;
        if (result == WEFT_PACKET_BROKEN)
            return weft_err(WEFT_ERR_PROTOCOL, "shm: process %d wrote a broken ring (length %u)",
                            sender, bytes);
        status = apply(net, sender, content, bytes);
        if (status != WEFT_OK)
            break; /* it stays where it is: its sender must not take it for landed */
        weft_packet_pass(&peer->in);
        *did = true;
        taken++;
        if (!later)
            status = end_batch(net, sender);
    }
    if (taken > 0 && later && status == WEFT_OK)
        status = end_batch(net, sender);
    if (peer->released) {
        peer->released = false;
        weft_bell_ring(&peer->inbox->bells[WEFT_NET_SEND]);
    }
    return status;
}

weft_status weft_shm_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    weft_status status = side == WEFT_NET_RECEIVE ? weft_arrive_settle(&net->arrive, did) : WEFT_OK;

    for (int p = 0; p < net->open.processes && status == WEFT_OK; p++)
        status = side == WEFT_NET_SEND ? progress_send(net, &net->peers[p], did)
                                       : progress_receive(net, p, did);
    return status;
}
