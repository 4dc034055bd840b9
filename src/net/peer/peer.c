/*
 * net/peer/peer.c - opens and connects a network (net.h), keeps its regions, and tells what the
 * transport under it can do.
 */
#include "net/peer/inside.h"

#include "base/say.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static weft_status open_peers(struct weft_net *net)
{
    const uint32_t start = (uint32_t)net->open.config->counter_start;
    const size_t processes = (size_t)net->open.processes;

    net->peers = calloc(processes, sizeof(*net->peers));
    net->busy = calloc(processes, sizeof(*net->busy));
    if (net->peers == NULL || net->busy == NULL)
        return weft_err(WEFT_ERR_MEMORY, "%s: no memory for %zu peers", net->ops->name, processes);
    for (size_t p = 0; p < processes; p++) {
        struct weft_peer *peer = &net->peers[p];
        peer->number = peer->acked = peer->made = peer->acknowledged = peer->asked_at = start;
        peer->expected = peer->delivered = peer->last_ack = start;
        peer->puts = (struct weft_peer_puts){
            .delivered = start, .sent = start, .packed = start, .accepted = start};
    }
    net->taken_count = net->concluded = start;
    if (getrandom(&net->token, sizeof(net->token), 0) != (ssize_t)sizeof(net->token))
        return weft_err(WEFT_ERR_SYSTEM, "%s: no random numbers", net->ops->name);
    return WEFT_OK;
}

static void free_net(struct weft_net *net)
{
    for (int p = 0; p < net->open.processes && net->peers != NULL; p++) {
        free(net->peers[p].puts.ring);
        free(net->peers[p].early);
    }
    free(net->peers);
    free(net->busy);
    free(net->idle);
    free(net->gathers);
    free(net->regions.list);
    free(net);
}

/* Takes what the transport says of itself. */
static weft_status take_caps(struct weft_net *net)
{
    struct weft_transport_caps *caps = &net->caps;

    net->ops->caps(net->transport, caps);
    const size_t bytes = WEFT_PEER_ADDRESS + caps->net.address_bytes;
    if (bytes > WEFT_NET_ADDRESS_MAX)
        return weft_err(WEFT_ERR_NETWORK, "%s: an address of %zu bytes, of %d at most",
                        net->ops->name, bytes, WEFT_NET_ADDRESS_MAX);
    net->idle = caps->buffers != NULL ? malloc(caps->buffer_count * sizeof(*net->idle)) : NULL;
    net->gathers = caps->buffers != NULL ? calloc(caps->buffer_count, sizeof(*net->gathers)) : NULL;
    if (caps->buffers != NULL && (net->idle == NULL || net->gathers == NULL))
        return weft_err(WEFT_ERR_MEMORY, "%s: no memory for %u buffers", net->ops->name,
                        caps->buffer_count);
    while (caps->buffers != NULL && net->idle_count < caps->buffer_count) {
        net->idle[net->idle_count] = net->idle_count;
        net->idle_count++;
    }
    return WEFT_OK;
}

weft_status weft_net_open(struct weft_net **net, const struct weft_transport_ops *ops,
                          const struct weft_net_open *open)
{
    struct weft_net *n = calloc(1, sizeof(*n));

    if (n == NULL)
        return weft_err(WEFT_ERR_MEMORY, "%s: no %zu bytes for its state", ops->name, sizeof(*n));
    n->open = *open;
    n->ops = ops;
    n->later = weft_net_is_later(open);
    weft_status status = open_peers(n);
    if (status == WEFT_OK)
        status = ops->open(&n->transport, &n->open);
    if (status != WEFT_OK) {
        free_net(n);
        return status;
    }
    status = take_caps(n);
    if (status == WEFT_OK)
        *net = n;
    else
        weft_net_close(n);
    return status;
}

void weft_net_close(struct weft_net *net)
{
    const struct weft_net_device *device = net->open.device;

    if (net->packets > 0)
        weft_say(WEFT_SAY_INFO, "network %s carried %llu puts in %llu packets", net->ops->name,
                 (unsigned long long)net->puts, (unsigned long long)net->packets);
    for (uint32_t i = 0; i < net->regions.count; i++)
        if (net->regions.list[i].used && net->regions.list[i].mr != NULL)
            net->ops->dereg(net->transport, net->regions.list[i].mr);
    /* It may still read what the transport frees next, also after an error, when no batch was
     * ended. A device that fails reads no more. */
    if ((net->batches.waiting > 0 || net->unmarked) && device != NULL && device->settle != NULL)
        device->settle(device->context);
    net->ops->close(net->transport);
    free_net(net);
}

const char *weft_net_name(const struct weft_net *net)
{
    return net != NULL ? net->ops->name : "none";
}

void weft_net_caps(const struct weft_net *net, struct weft_net_caps *caps)
{
    enum { ROWS_MOST = 8192 }; /* copied into a packet, and out of it */
    const size_t packet = net->caps.packet < ROWS_MOST ? net->caps.packet : ROWS_MOST;

    *caps = net->caps.net;
    caps->address_bytes += WEFT_PEER_ADDRESS;
    caps->tells_when_asked = !net->caps.acknowledges;
    caps->rows_bytes = packet - WEFT_PACKET_LEAST - sizeof(struct weft_entry_rows);
}

void weft_net_address(const struct weft_net *net, void *address)
{
    const size_t takes = net->caps.takes != 0 ? net->caps.takes : net->caps.packet;
    struct weft_peer_address mine = {.token = net->token, .packet = (uint32_t)takes};

    memcpy(mine.alike, net->caps.alike, sizeof(mine.alike));
    memcpy(address, &mine, WEFT_PEER_ADDRESS);
    memcpy((unsigned char *)address + WEFT_PEER_ADDRESS, net->caps.address,
           net->caps.net.address_bytes);
}

weft_status weft_net_connect(struct weft_net *net, int process, const void *address)
{
    struct weft_peer *peer = &net->peers[process];
    struct weft_peer_address theirs;

    memcpy(&theirs, address, WEFT_PEER_ADDRESS);
    if (memcmp(theirs.alike, net->caps.alike, WEFT_PEER_ALIKE) != 0)
        return weft_err(WEFT_ERR_CONFIG,
                        "%s must be alike everywhere: process %d has %.*s, this one %s (%s)",
                        net->ops->name, process, WEFT_PEER_ALIKE - 1, theirs.alike, net->caps.alike,
                        net->caps.chosen_by != NULL ? net->caps.chosen_by : "another build");
    if (theirs.packet < WEFT_PACKET_LEAST)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "%s: process %d takes packets of %u bytes, and %d are "
                        "the least",
                        net->ops->name, process, theirs.packet, WEFT_PACKET_LEAST);
    peer->token = theirs.token;
    peer->packet = theirs.packet < net->caps.packet ? theirs.packet : (uint32_t)net->caps.packet;
    peer->takes = theirs.packet < WEFT_ENTRY_MOST ? theirs.packet : WEFT_ENTRY_MOST;
    return net->ops->connect(net->transport, process,
                             (const unsigned char *)address + WEFT_PEER_ADDRESS);
}

/* ---- regions ------------------------------------------------------------------------------- */

/* Finds an unused region of the list, which may grow; NULL: no memory. Lock held. */
static struct weft_peer_region *free_region(struct weft_net *net)
{
    const uint32_t old = net->regions.count, count = old == 0 ? 16 : old * 2;

    for (uint32_t i = 0; i < old; i++)
        if (!net->regions.list[i].used)
            return &net->regions.list[i];
    struct weft_peer_region *list = realloc(net->regions.list, count * sizeof(*list));
    if (list == NULL)
        return NULL;
    memset(list + old, 0, (count - old) * sizeof(*list));
    net->regions.list = list;
    net->regions.count = count;
    return &list[old];
}

/* Adds a region, which *key then names. Error: MEMORY. */
static weft_status add_region(struct weft_net *net, const struct weft_peer_region *region,
                              uint64_t *key)
{
    weft_lock(&net->regions.lock);
    struct weft_peer_region *free = free_region(net);
    if (free != NULL) {
        const uint32_t generation = (free->generation + 1) & UINT32_MAX >> 1;
        *free = *region;
        free->generation = generation;
        *key = (uint64_t)generation << 32 | (uint64_t)(free - net->regions.list);
    }
    weft_unlock(&net->regions.lock);
    return free != NULL ? WEFT_OK
                        : weft_err(WEFT_ERR_MEMORY, "%s: no memory for more than %u regions",
                                   net->ops->name, net->regions.count);
}

weft_status weft_net_reg(struct weft_net *net, void *base, size_t bytes, bool own, uint64_t *key)
{
    struct weft_peer_region region = {.base = base, .bytes = bytes, .used = true, .own = own};

    if (net->caps.writes)
        WEFT_TRY(net->ops->reg(net->transport, base, bytes, region.place, &region.mr));
    const weft_status status = add_region(net, &region, key);
    if (status != WEFT_OK && region.mr != NULL)
        net->ops->dereg(net->transport, region.mr);
    if (status == WEFT_OK && net->caps.place_is_key && region.place[0] != 0)
        *key = WEFT_PEER_PLACED | region.place[0];
    return status;
}

weft_status weft_net_lend(struct weft_net *net, void *base, size_t bytes, bool own, uint64_t *key)
{
    const struct weft_peer_region region = {.base = base, .bytes = bytes, .used = true, .own = own};

    return add_region(net, &region, key);
}

/* Forgets a region. When it returns, nothing is written there any more. */
void weft_net_dereg(struct weft_net *net, uint64_t key)
{
    weft_lock(&net->regions.lock);
    struct weft_peer_region *region = weft_peer_find(net, key, 0, 0);
    void *mr = region != NULL ? region->mr : NULL;
    if (region != NULL)
        region->used = false;
    weft_unlock(&net->regions.lock);
    if (mr != NULL)
        net->ops->dereg(net->transport, mr);
}

void weft_net_place(struct weft_net *net, uint64_t key, uint64_t place[2])
{
    weft_lock(&net->regions.lock);
    const struct weft_peer_region *region = weft_peer_find(net, key, 0, 0);
    place[0] = region != NULL ? region->place[0] : 0;
    place[1] = region != NULL ? region->place[1] : 0;
    weft_unlock(&net->regions.lock);
}

unsigned char *weft_net_memory(struct weft_net *net, uint64_t key, size_t *bytes)
{
    unsigned char *base = NULL;

    weft_lock(&net->regions.lock);
    const struct weft_peer_region *region = weft_peer_find(net, key, 0, 0);
    if (region != NULL && !region->own) {
        base = region->base;
        *bytes = region->bytes;
    }
    weft_unlock(&net->regions.lock);
    return base;
}

void *weft_net_registration(struct weft_net *net, const void *memory, size_t bytes)
{
    const uintptr_t at = (uintptr_t)memory;
    void *mr = NULL;

    weft_lock(&net->regions.lock);
    for (uint32_t i = 0; i < net->regions.count && mr == NULL; i++) {
        const struct weft_peer_region *region = &net->regions.list[i];
        const uintptr_t base = (uintptr_t)region->base;
        if (region->used && at >= base && at - base <= region->bytes &&
            bytes <= region->bytes - (at - base))
            mr = region->mr;
    }
    weft_unlock(&net->regions.lock);
    return mr;
}

struct weft_transport *weft_net_transport(struct weft_net *net)
{
    return net->transport;
}

/* ---- a side's turn --------------------------------------------------------------------------- */

weft_status weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    return side == WEFT_NET_SEND ? weft_peer_progress_send(net, did)
                                 : weft_peer_progress_receive(net, did);
}

bool weft_net_sleep(struct weft_net *net, uint64_t ns)
{
    return net->ops->sleep != NULL && net->ops->sleep(net->transport, ns);
}

struct weft_bell *weft_net_bell(const struct weft_net *net, enum weft_net_side side)
{
    return net->caps.bell[side];
}
