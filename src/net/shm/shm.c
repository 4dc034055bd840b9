/*
 * net/shm/shm.c - processes of one host: for each ordered pair a packet ring in memory that the
 * receiver owns and the sender maps.
 *
 * Everything goes through the ring, data included, cut into packets; the receiver's thread copies
 * it into the registered region. One FIFO for all is what makes the order trivially right, and the
 * receiver, which knows its own regions, is the one that checks the bounds. What has landed is
 * read off the ring's credit. A put that does not fit waits as `current` until there is room.
 * Here: opening, connecting, regions; packets.c moves the data.
 */
#include "net/shm/shm.h"

#include "base/say.h"
#include "net/shm/inside.h"

#include <stdlib.h>
#include <string.h>

static struct weft_packet_ring *ring_of(struct shm_inbox *inbox, uint32_t ring_size, int sender)
{
    return (void *)((unsigned char *)(inbox + 1) +
                    (size_t)sender * weft_packet_ring_bytes(ring_size));
}

/*
 * A small ring stays in the cache between two processors. Where a device fetches what arrives, that
 * takes its time, and more must be under way: 4 MiB is what weft-info --tune took on two H200.
 */
static uint32_t ring_size_for(const struct weft_net_open *open)
{
    enum { SMALL = 256 << 10, LARGE = 4 << 20, ALL = 32 << 20 };
    uint32_t size = open->events.land != NULL ? LARGE : SMALL;

    if (open->config->shm_ring != 0)
        return (uint32_t)open->config->shm_ring;
    while (size > SMALL && size > ALL / (uint32_t)open->processes)
        size /= 2;
    return size;
}

static weft_status open_shm(struct weft_net **net, const struct weft_net_open *open)
{
    const size_t processes = (size_t)open->processes;
    const uint32_t ring_size = ring_size_for(open);
    const uint32_t start = (uint32_t)open->config->counter_start & ~15u;
    struct weft_net *n = calloc(1, sizeof(*n));
    struct shm_peer *peers = calloc(processes, sizeof(*peers));
    void *memory = NULL;
    weft_status status;

    if (n == NULL || peers == NULL) {
        status = weft_err(WEFT_ERR_MEMORY, "shm: no memory for %zu peers", processes);
        goto free_state;
    }
    status =
        weft_share_create(sizeof(struct shm_inbox) + processes * weft_packet_ring_bytes(ring_size),
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
    struct shm_peer *peer = &net->peers[process];
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
