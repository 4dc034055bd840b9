/*
 * net/shm/shm.c - processes of one host: opening, connecting, regions. For each ordered pair there
 * is a packet ring in memory that the receiver owns and the sender maps; packets.c moves the data.
 */
#include "base/say.h"
#include "net/shm/inside.h"

#include <stdlib.h>
#include <string.h>

enum {
    STAGE_MOST = 1 << 30, /* of WEFT_STAGE_MEMORY */
    RING_LEAST = 1 << 12,
    RING_MOST = 1 << 30 /* of WEFT_SHM_RING */
};

static size_t inbox_bytes(uint32_t ring_size, int processes)
{
    return sizeof(struct weft_shm_inbox) + (size_t)processes * weft_packet_ring_bytes(ring_size);
}

static struct weft_packet_ring *ring_of(struct weft_shm_inbox *inbox, uint32_t ring_size,
                                        int sender)
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
    uint32_t size = weft_arrive_is_later(open) ? LARGE : SMALL;

    if (open->config->shm_ring != 0)
        return (uint32_t)open->config->shm_ring;
    while (size > SMALL && size > ALL / (uint32_t)open->processes)
        size /= 2;
    return size;
}

static void drop_stage(struct weft_net *net)
{
    weft_share_destroy(net->stage, &net->address.stage);
    net->stage = NULL;
    net->address.stage.bytes = 0;
}

/* Memory of the peer's that is in its own place here is pinned by its owner. */
static bool is_here(const struct weft_net *net, int process)
{
    return net->open.one_address_space || process == net->open.process;
}

static weft_status open_shm(struct weft_net **net, const struct weft_net_open *open)
{
    const size_t processes = (size_t)open->processes;
    const uint32_t ring_size = ring_size_for(open);
    const uint32_t start = (uint32_t)open->config->counter_start & ~15u;
    struct weft_net *n = calloc(1, sizeof(*n));
    struct weft_shm_peer *peers = calloc(processes, sizeof(*peers));
    void *memory = NULL;
    weft_status status;

    if (n == NULL || peers == NULL) {
        status = weft_err(WEFT_ERR_MEMORY, "shm: no memory for %zu peers", processes);
        goto free_state;
    }
    status = weft_share_create(inbox_bytes(ring_size, open->processes), &memory, &n->address.inbox);
    if (status != WEFT_OK)
        goto free_state;
    n->open = *open;
    if (open->stage_bytes != 0)
        status = weft_share_create(open->stage_bytes, (void **)&n->stage, &n->address.stage);
    if (status != WEFT_OK)
        goto free_inbox;
    weft_arrive_open(&n->arrive, "shm", open, n, WEFT_ARRIVE_BATCHES, weft_shm_conclude);
    n->inbox = memory;
    n->address.ring_size = ring_size;
    n->peers = peers;
    for (int p = 0; p < open->processes; p++) {
        struct weft_packet_ring *ring = ring_of(n->inbox, ring_size, p);
        weft_packet_ring_init(ring, start);
        n->peers[p].in = (struct weft_packet_consumer){
            .ring = ring, .size = ring_size, .tail = start, .seen = start};
    }
    weft_arrive_pin(&n->arrive, memory, n->address.inbox.bytes);
    if (n->stage != NULL && !weft_arrive_pin(&n->arrive, n->stage, n->address.stage.bytes))
        drop_stage(n); /* whoever puts has other memory, or ends */
    *net = n;
    return WEFT_OK;

free_inbox:
    weft_share_destroy(memory, &n->address.inbox);
free_state:
    free(peers);
    free(n);
    return status;
}

static void weft_shm_close(struct weft_net *net)
{
    weft_arrive_close(&net->arrive);
    for (int p = 0; p < net->open.processes; p++) {
        struct weft_shm_peer *peer = &net->peers[p];
        if (!is_here(net, p))
            weft_arrive_unpin(&net->arrive, peer->stage);
        if (peer->stage != NULL)
            weft_share_unmap(peer->stage, &peer->address.stage, is_here(net, p));
        if (peer->inbox != NULL)
            weft_share_unmap(peer->inbox, &peer->address.inbox, is_here(net, p));
        free(peer->landings);
    }
    weft_arrive_unpin(&net->arrive, net->stage);
    weft_arrive_unpin(&net->arrive, net->inbox);
    if (net->stage != NULL)
        drop_stage(net);
    weft_share_destroy(net->inbox, &net->address.inbox);
    free(net->peers);
    free(net);
}

static void weft_shm_caps(const struct weft_net *net, struct weft_net_caps *caps)
{
    *caps = (struct weft_net_caps){.same_host_only = true,
                                   .address_bytes = sizeof(struct weft_shm_address),
                                   .stage = net->stage};
}

static weft_status weft_shm_address(struct weft_net *net, void *address)
{
    memcpy(address, &net->address, sizeof(net->address));
    return WEFT_OK;
}

/* Maps memory of another process. */
static weft_status map(const struct weft_net *net, int process, const struct weft_share *share,
                       void **memory)
{
    const char *reason = NULL;

    *memory = weft_share_map(share, is_here(net, process), &reason);
    return *memory != NULL
               ? WEFT_OK
               : weft_err(WEFT_ERR_NETWORK,
                          "shm: cannot map %llu bytes of process %d (pid %d): %s "
                          "(WEFT_NET=ofi maps none)",
                          (unsigned long long)share->bytes, process, (int)share->pid, reason);
}

/* Whether the inbox holds rings of the size that its owner says. A device has larger ones. */
static bool is_inbox(const struct weft_shm_address *address, int processes)
{
    const uint64_t size = address->ring_size;

    return size >= RING_LEAST && size <= RING_MOST && (size & (size - 1)) == 0 &&
           inbox_bytes((uint32_t)size, processes) <= address->inbox.bytes;
}

static weft_status weft_shm_connect(struct weft_net *net, int process, const void *address)
{
    struct weft_shm_peer *peer = &net->peers[process];
    const uint32_t start = (uint32_t)net->open.config->counter_start & ~15u;
    struct weft_shm_address there;
    void *memory = NULL;

    memcpy(&there, address, sizeof(there));
    if (!is_inbox(&there, net->open.processes))
        return weft_err(WEFT_ERR_PROTOCOL,
                        "shm: process %d announces %d rings of %llu bytes in %llu bytes", process,
                        net->open.processes, (unsigned long long)there.ring_size,
                        (unsigned long long)there.inbox.bytes);
    if (there.stage.bytes > STAGE_MOST)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "shm: process %d announces %llu bytes of staging memory, and %d are the "
                        "most (WEFT_STAGE_MEMORY)",
                        process, (unsigned long long)there.stage.bytes, STAGE_MOST);
    weft_status status = map(net, process, &there.inbox, &memory);
    if (status != WEFT_OK)
        return status;
    peer->inbox = memory;
    peer->address = there;
    peer->out = (struct weft_packet_producer){
        .ring = ring_of(peer->inbox, (uint32_t)there.ring_size, net->open.process),
        .size = (uint32_t)there.ring_size,
        .head = start,
        .seen = start};
    if (there.stage.bytes == 0)
        return WEFT_OK;
    status = map(net, process, &there.stage, &memory);
    if (status != WEFT_OK)
        return status;
    peer->stage = memory;
    if (!is_here(net, process))
        weft_arrive_pin(&net->arrive, memory, there.stage.bytes);
    return WEFT_OK;
}

static weft_status weft_shm_reg(struct weft_net *net, void *base, size_t bytes, bool own,
                                uint64_t *key)
{
    return weft_arrive_reg(&net->arrive, base, bytes, own, key);
}

static void weft_shm_dereg(struct weft_net *net, uint64_t key)
{
    weft_arrive_dereg(&net->arrive, key);
}

static struct weft_bell *weft_shm_bell(struct weft_net *net, enum weft_net_side side)
{
    return &net->inbox->bells[side];
}

const struct weft_net_ops weft_net_shm = {
    .name = "shm",
    .open = open_shm,
    .close = weft_shm_close,
    .caps = weft_shm_caps,
    .address = weft_shm_address,
    .connect = weft_shm_connect,
    .reg = weft_shm_reg,
    .dereg = weft_shm_dereg,
    .put = weft_shm_put,
    .progress = weft_shm_progress,
    .bell = weft_shm_bell,
};
