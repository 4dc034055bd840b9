/*
 * net/shm/shm.c - processes of one host: for each ordered pair a packet ring in memory that the
 * receiver owns and the sender maps.
 *
 * Everything goes through the ring, data included, cut into packets; the receiver's thread copies
 * it into the registered region. One FIFO for all is what makes the order trivially right, and the
 * receiver, which knows its own regions, is the one that checks the bounds. What has landed is
 * read off the ring's credit. A put that does not fit waits as `current` until there is room.
 */
#include "net/shm/shm.h"

#include "base/atomic.h"
#include "base/say.h"
#include "base/share.h"
#include "base/task.h"
#include "net/regions.h"
#include "queue/packet_ring.h"
#include "wire/packet.h"

#include <assert.h>
#include <stdlib.h>

enum {
    BATCH = 64,  /* packets taken from one ring before the others get their turn */
    SETTLING = 4 /* batches from one ring whose data is on its way to the device */
};

/* The start of a receiver's shared memory; its rings follow, one a sender. */
struct inbox {
    struct weft_bell bells[2]; /* by side: its receive thread's, its progress thread's */
    unsigned char pad[64 - 2 * sizeof(struct weft_bell)];
};
static_assert(sizeof(struct inbox) == 64, "the rings behind it begin at a line");

struct landing {
    uint32_t end;
    void *cookie;
};

struct peer {
    struct inbox *inbox; /* the peer's, mapped */
    struct weft_share share;
    struct weft_packet_producer out;
    struct weft_packet_consumer in;
    struct weft_settling {
        uint32_t end;     /* packets up to here were passed, */
        uint64_t mark;    /* and are there when the device has come here */
    } settling[SETTLING]; /* a FIFO */
    uint32_t settling_first, settling_count;

    struct weft_net_put current; /* accepted, not all in the ring yet */
    size_t done;                 /* bytes of it that are */
    bool active;

    struct landing *landings; /* sent, not yet landed: a FIFO */
    uint32_t capacity, first, count;
};

struct weft_net {
    struct weft_net_open open;
    struct inbox *inbox; /* this process's own */
    struct weft_share share;
    uint32_t ring_size;
    struct peer *peers;
    struct weft_regions regions;
};

static struct weft_packet_ring *ring_of(struct inbox *inbox, uint32_t ring_size, int sender)
{
    return (void *)((unsigned char *)(inbox + 1) +
                    (size_t)sender * weft_packet_ring_bytes(ring_size));
}

static weft_status open_shm(struct weft_net **net, const struct weft_net_open *open)
{
    const size_t processes = (size_t)open->processes;
    const uint32_t ring_size = (uint32_t)open->config->shm_ring;
    const uint32_t start = (uint32_t)open->config->counter_start & ~15u;
    struct weft_net *n = calloc(1, sizeof(*n));
    struct peer *peers = calloc(processes, sizeof(*peers));
    void *memory = NULL;
    weft_status status;

    if (n == NULL || peers == NULL) {
        status = weft_err(WEFT_ERR_MEMORY, "shm: no memory for %zu peers", processes);
        goto free_state;
    }
    status = weft_share_create(sizeof(struct inbox) + processes * weft_packet_ring_bytes(ring_size),
                               &memory, &n->share);
    if (status != WEFT_OK)
        goto free_state;
    n->open = *open;
    n->regions.events = &n->open.events;
    n->inbox = memory;
    n->ring_size = ring_size;
    n->peers = peers;
    for (int p = 0; p < open->processes; p++) {
        struct weft_packet_ring *ring = ring_of(n->inbox, ring_size, p);
        weft_packet_ring_init(ring, start);
        n->peers[p].in = (struct weft_packet_consumer){
            .ring = ring, .size = ring_size, .tail = start, .seen = start};
    }
    if (open->events.pin != NULL)
        open->events.pin(open->events.context, memory, n->share.bytes);
    *net = n;
    return WEFT_OK;

free_state:
    free(peers);
    free(n);
    return status;
}

static void shm_close(struct weft_net *net)
{
    for (int p = 0; p < net->open.processes; p++) {
        if (net->peers[p].inbox != NULL)
            weft_share_unmap(net->peers[p].inbox, &net->peers[p].share,
                             net->open.one_address_space || p == net->open.process);
        free(net->peers[p].landings);
    }
    if (net->open.events.unpin != NULL)
        net->open.events.unpin(net->open.events.context, net->inbox);
    weft_share_destroy(net->inbox, &net->share);
    free(net->peers);
    weft_regions_free(&net->regions);
    free(net);
}

static void shm_caps(const struct weft_net *net, struct weft_net_caps *caps)
{
    (void)net;
    *caps =
        (struct weft_net_caps){.same_host_only = true, .address_bytes = sizeof(struct weft_share)};
}

static weft_status shm_address(struct weft_net *net, void *address)
{
    memcpy(address, &net->share, sizeof(net->share));
    return WEFT_OK;
}

static weft_status shm_connect(struct weft_net *net, int process, const void *address)
{
    struct peer *peer = &net->peers[process];
    const bool here = net->open.one_address_space || process == net->open.process;
    const uint32_t start = (uint32_t)net->open.config->counter_start & ~15u;
    const char *reason = NULL;
    struct weft_share share;

    memcpy(&share, address, sizeof(share));
    if (share.bytes != net->share.bytes)
        return weft_err(WEFT_ERR_CONFIG,
                        "shm: process %d has rings of other sizes (%llu bytes in all, %llu here): "
                        "WEFT_SHM_RING must be the same everywhere",
                        process, (unsigned long long)share.bytes,
                        (unsigned long long)net->share.bytes);
    void *memory = weft_share_map(&share, here, &reason);
    if (memory == NULL)
        return weft_err(WEFT_ERR_NETWORK, "shm: cannot map the rings of process %d (pid %d): %s",
                        process, (int)share.pid, reason);
    peer->inbox = memory;
    peer->share = share;
    peer->out = (struct weft_packet_producer){
        .ring = ring_of(peer->inbox, net->ring_size, net->open.process),
        .size = net->ring_size,
        .head = start,
        .seen = start};
    return WEFT_OK;
}

static weft_status shm_reg(struct weft_net *net, void *base, size_t bytes, uint64_t *key)
{
    return weft_regions_add(&net->regions, base, bytes, key);
}

static void shm_dereg(struct weft_net *net, uint64_t key)
{
    weft_regions_drop(&net->regions, key);
}

static bool remember_landing(struct peer *peer, uint32_t end, void *cookie)
{
    if (peer->count == peer->capacity) {
        uint32_t capacity = peer->capacity == 0 ? 64 : peer->capacity * 2;
        struct landing *landings = malloc(capacity * sizeof(*landings));
        if (landings == NULL)
            return false;
        for (uint32_t i = 0; i < peer->count; i++)
            landings[i] = peer->landings[(peer->first + i) % peer->capacity];
        free(peer->landings);
        peer->landings = landings;
        peer->capacity = capacity;
        peer->first = 0;
    }
    peer->landings[(peer->first + peer->count++) % peer->capacity] = (struct landing){end, cookie};
    return true;
}

/* Moves as much of the current put into the ring as fits. */
static weft_status pump(struct weft_net *net, struct peer *peer, bool *did)
{
    const uint32_t most = weft_packet_max(net->ring_size) - (uint32_t)sizeof(struct weft_packet);
    const struct weft_net_put *put = &peer->current;

    while (peer->active) {
        const size_t left = put->bytes - peer->done;
        const uint32_t bytes = left < most ? (uint32_t)left : most;
        const bool last = bytes == left;
        const struct weft_packet packet = {.bytes = bytes,
                                           .notice = last ? put->notice : 0,
                                           .key = put->key,
                                           .offset = put->offset + peer->done};
        const unsigned char *source = (const unsigned char *)put->source + peer->done;
        uint32_t end;

        if (!weft_packet_push(&peer->out, &packet, sizeof(packet), source, bytes, &end)) {
            const uint32_t before = peer->out.seen;
            if (!weft_packet_refresh(&peer->out))
                return weft_err(WEFT_ERR_PROTOCOL, "shm: process %d published a bad ring credit",
                                put->process);
            if (peer->out.seen == before)
                return WEFT_OK;
            continue;
        }
        weft_used_shared(source, bytes);
        *did = true;
        peer->done += bytes;
        if (last) {
            peer->active = false;
            if (!remember_landing(peer, end, put->cookie))
                return weft_err(WEFT_ERR_MEMORY, "shm: no memory for %u puts under way",
                                peer->count);
            net->open.events.sent(net->open.events.context, put->cookie);
        }
    }
    return WEFT_OK;
}

static weft_status shm_put(struct weft_net *net, const struct weft_net_put *put)
{
    struct peer *peer = &net->peers[put->process];
    bool did = false;

    if (peer->active)
        return WEFT_NET_FULL;
    peer->current = *put;
    peer->done = 0;
    peer->active = true;
    weft_status status = pump(net, peer, &did);
    if (did)
        weft_bell_ring(&peer->inbox->bells[WEFT_NET_RECEIVE]);
    return status;
}

static weft_status progress_send(struct weft_net *net, struct peer *peer, bool *did)
{
    bool pushed = false;

    if (!peer->active && peer->count == 0)
        return WEFT_OK;
    if (!weft_packet_refresh(&peer->out))
        return weft_err(WEFT_ERR_PROTOCOL, "shm: process %d published a bad ring credit",
                        (int)(peer - net->peers));
    while (peer->count > 0 && weft_packet_landed(&peer->out, peer->landings[peer->first].end)) {
        void *cookie = peer->landings[peer->first].cookie;
        peer->first = (peer->first + 1) % peer->capacity;
        peer->count--;
        *did = true;
        net->open.events.landed(net->open.events.context, cookie);
    }
    weft_status status = pump(net, peer, &pushed);
    if (pushed) {
        *did = true;
        weft_bell_ring(&peer->inbox->bells[WEFT_NET_RECEIVE]);
    }
    return status;
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
    if (packet.bytes != bytes - sizeof(packet))
        return weft_err(WEFT_ERR_PROTOCOL, "shm: process %d announced %u bytes and sent %zu",
                        sender, packet.bytes, bytes - sizeof(packet));
    if (packet.bytes != 0 && !weft_regions_land(&net->regions, packet.key, packet.offset,
                                                content + sizeof(packet), packet.bytes))
        return weft_err(WEFT_ERR_PROTOCOL,
                        "shm: process %d put %u bytes at offset %llu of key 0x%llx, which is no "
                        "region of this process",
                        sender, packet.bytes, (unsigned long long)packet.offset,
                        (unsigned long long)packet.key);
    if (packet.notice != 0 &&
        !net->open.events.arrived(net->open.events.context, sender, packet.notice))
        return weft_err(WEFT_ERR_PROTOCOL, "shm: process %d sent the malformed notice 0x%08x",
                        sender, packet.notice);
    return WEFT_OK;
}

static weft_status unsettled(void)
{
    return weft_err(WEFT_ERR_DEVICE, "shm: data did not reach the device");
}

/*
 * Where data lands later than it is applied: gives back the batches that are there, and goes on
 * reading while others are on their way. Their sender must not take them for landed before.
 */
static weft_status look_at_settling(struct weft_net *net, struct peer *peer, bool *did)
{
    const struct weft_net_events *events = &net->open.events;
    bool there = true;

    while (peer->settling_count > 0) {
        const struct weft_settling *first = &peer->settling[peer->settling_first];
        *did = true; /* no bell rings when they are there */
        if (!events->settled(events->context, first->mark, &there))
            return unsettled();
        if (!there)
            break;
        weft_packet_release_to(&peer->in, first->end);
        peer->settling_first = (peer->settling_first + 1) % SETTLING;
        peer->settling_count--;
        weft_bell_ring(&peer->inbox->bells[WEFT_NET_SEND]);
    }
    return WEFT_OK;
}

static weft_status add_settling(struct weft_net *net, struct peer *peer)
{
    const struct weft_net_events *events = &net->open.events;
    struct weft_settling *next =
        &peer->settling[(peer->settling_first + peer->settling_count) % SETTLING];

    next->end = peer->in.tail;
    if (!events->mark(events->context, &next->mark))
        return unsettled();
    peer->settling_count++;
    return WEFT_OK;
}

static weft_status progress_receive(struct weft_net *net, int sender, bool *did)
{
    struct peer *peer = &net->peers[sender];
    weft_status status = look_at_settling(net, peer, did);
    int taken = 0;

    if (status != WEFT_OK || peer->settling_count == SETTLING)
        return status;

    while (taken < BATCH) {
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
        if (net->open.events.mark == NULL)
            weft_packet_release(&peer->in);
        taken++;
    }
    if (taken == 0)
        return status;
    *did = true;
    if (net->open.events.mark == NULL)
        weft_bell_ring(&peer->inbox->bells[WEFT_NET_SEND]);
    else if (status == WEFT_OK)
        status = add_settling(net, peer);
    return status;
}

static weft_status shm_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    weft_status status = WEFT_OK;

    for (int p = 0; p < net->open.processes && status == WEFT_OK; p++)
        status = side == WEFT_NET_SEND ? progress_send(net, &net->peers[p], did)
                                       : progress_receive(net, p, did);
    return status;
}

static struct weft_bell *shm_bell(struct weft_net *net, enum weft_net_side side)
{
    return &net->inbox->bells[side];
}

const struct weft_net_ops weft_net_shm = {
    .name = "shm",
    .open = open_shm,
    .close = shm_close,
    .caps = shm_caps,
    .address = shm_address,
    .connect = shm_connect,
    .reg = shm_reg,
    .dereg = shm_dereg,
    .put = shm_put,
    .progress = shm_progress,
    .bell = shm_bell,
};
