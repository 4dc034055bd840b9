/*
 * net/peer/peer.c - what net.h promises: opening and connecting, regions, and what
 * the transport under it can do.
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
        peer->number = peer->acked = peer->made = peer->heard = peer->asked_at = start;
        peer->expected = peer->delivered = peer->told = start;
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
    free(net);
}

weft_status weft_net_open(struct weft_net **net, const struct weft_transport_ops *ops,
                          const struct weft_net_open *open)
{
    struct weft_net *n = calloc(1, sizeof(*n));

    if (n == NULL)
        return weft_err(WEFT_ERR_MEMORY, "%s: no %zu bytes for its state", ops->name, sizeof(*n));
    n->open = *open;
    n->ops = ops;
    n->later = weft_arrive_is_later(open);
    weft_arrive_open(&n->arrive, ops->name, open, n, WEFT_PEER_BATCHES, weft_peer_conclude);
    weft_status status = open_peers(n);
    if (status == WEFT_OK)
        status = ops->open(&n->transport, open, &n->arrive);
    if (status != WEFT_OK) {
        free_net(n);
        return status;
    }
    ops->caps(n->transport, &n->caps);
    *net = n;
    return WEFT_OK;
}

void weft_net_close(struct weft_net *net)
{
    if (net->packets > 0)
        weft_say(WEFT_SAY_INFO, "%s: %llu puts in %llu packets", net->ops->name,
                 (unsigned long long)net->puts, (unsigned long long)net->packets);
    for (void *mr; (mr = weft_arrive_left(&net->arrive)) != NULL;)
        net->ops->dereg(net->transport, mr);
    weft_arrive_close(&net->arrive);
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
    caps->lands_when_asked = !net->caps.acknowledges;
    caps->rows_bytes = packet - WEFT_PACKET_LEAST - sizeof(struct weft_net_rows);
}

weft_status weft_net_address(struct weft_net *net, void *address)
{
    memcpy(address, &net->token, WEFT_PEER_ADDRESS);
    return net->ops->address(net->transport, (unsigned char *)address + WEFT_PEER_ADDRESS);
}

weft_status weft_net_connect(struct weft_net *net, int process, const void *address)
{
    memcpy(&net->peers[process].token, address, WEFT_PEER_ADDRESS);
    return net->ops->connect(net->transport, process,
                             (const unsigned char *)address + WEFT_PEER_ADDRESS);
}

weft_status weft_net_reg(struct weft_net *net, void *base, size_t bytes, bool own, uint64_t *key)
{
    uint64_t place[2] = {0};
    void *mr = NULL;
    weft_status status = weft_arrive_reg(&net->arrive, base, bytes, own, key);

    if (status != WEFT_OK || !net->caps.writes)
        return status;
    status = net->ops->reg(net->transport, base, bytes, place, &mr);
    if (status == WEFT_OK)
        weft_arrive_place(&net->arrive, *key, mr, place);
    else
        weft_arrive_dereg(&net->arrive, *key);
    if (status == WEFT_OK && net->caps.place_is_key && place[0] != 0)
        *key = WEFT_PEER_PLACED | place[0];
    return status;
}

void weft_net_dereg(struct weft_net *net, uint64_t key)
{
    void *mr = weft_arrive_dereg(&net->arrive, weft_peer_region(net, key));

    if (mr != NULL)
        net->ops->dereg(net->transport, mr);
}

void weft_net_place(struct weft_net *net, uint64_t key, uint64_t place[2])
{
    struct weft_exposure region = {0};

    weft_arrive_region(&net->arrive, weft_peer_region(net, key), &region);
    memcpy(place, region.place, sizeof(region.place));
}

struct weft_transport *weft_net_transport(struct weft_net *net)
{
    return net->transport;
}

void *weft_net_registration(struct weft_net *net, const void *memory, size_t bytes)
{
    struct weft_exposure around;

    return weft_arrive_around(&net->arrive, memory, bytes, &around) ? around.mr : NULL;
}

weft_status weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    return side == WEFT_NET_SEND ? weft_peer_progress_send(net, did)
                                 : weft_peer_progress_receive(net, did);
}

struct weft_bell *weft_net_bell(const struct weft_net *net, enum weft_net_side side)
{
    return net->ops->bell != NULL ? net->ops->bell(net->transport, side) : NULL;
}
