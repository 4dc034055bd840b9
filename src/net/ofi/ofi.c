/*
 * net/ofi/ofi.c - libfabric as a network: the endpoint and all that belongs to it, and the table.
 * Runs while no service does.
 */
#include "base/say.h"
#include "net/ofi/inside.h"
#include "net/peer/packet.h"
#include "order/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What may not be there. */
#define CLOSE(thing) ((void)((thing) != NULL ? fi_close(&(thing)->fid) : 0))

weft_status weft_ofi_failed(const struct weft_transport *t, const char *what, long error)
{
    return weft_err(WEFT_ERR_NETWORK, "ofi: %s, %s: %s",
                    t->info != NULL ? t->info->fabric_attr->prov_name : "libfabric", what,
                    weft_ofi_error(error));
}

/*
 * A descriptor to sleep on costs the provider two system calls a completion: it is not asked for
 * where there are processors to poll with.
 */
static int open_queues(struct weft_transport *t, enum fi_wait_obj wait)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_DATA, .wait_obj = wait};
    int error = 0;

    for (int side = 0; side < 2 && error == 0; side++) {
        attr.size = side == WEFT_NET_SEND ? t->info->tx_attr->size : t->info->rx_attr->size;
        error = fi_cq_open(t->domain, &attr, &t->cq[side], t);
        t->fd[side] = -1;
        if (error == 0 && wait == FI_WAIT_FD)
            error = fi_control(&t->cq[side]->fid, FI_GETWAIT, &t->fd[side]);
    }
    if (error == 0 || wait == FI_WAIT_NONE)
        return error;
    CLOSE(t->cq[WEFT_NET_SEND]);
    CLOSE(t->cq[WEFT_NET_RECEIVE]);
    t->cq[WEFT_NET_SEND] = t->cq[WEFT_NET_RECEIVE] = NULL;
    return open_queues(t, FI_WAIT_NONE);
}

static weft_status open_endpoint(struct weft_transport *t)
{
    struct fi_av_attr av = {.count = (size_t)t->open.processes};
    const char *what = "fabric";
    int error = t->fi->fabric(t->info->fabric_attr, &t->fabric, t);

    if (error == 0)
        what = "domain", error = fi_domain(t->fabric, t->info, &t->domain, t);
    if (error == 0)
        what = "address vector", error = fi_av_open(t->domain, &av, &t->av, t);
    if (error == 0)
        what = "completion queues",
        error = open_queues(t, t->open.polls ? FI_WAIT_NONE : FI_WAIT_FD);
    if (error == 0)
        what = "endpoint", error = fi_endpoint(t->domain, t->info, &t->ep, t);
    if (error == 0 && (error = fi_ep_bind(t->ep, &t->av->fid, 0)) != 0)
        t->ep = NULL; /* ofi_rxm crashes where it closes one without: it is left */
    if (error == 0)
        error = fi_ep_bind(t->ep, &t->cq[WEFT_NET_SEND]->fid, FI_TRANSMIT);
    if (error == 0)
        error = fi_ep_bind(t->ep, &t->cq[WEFT_NET_RECEIVE]->fid, FI_RECV);
    if (error == 0)
        error = fi_enable(t->ep);
    t->enabled = error == 0;
    return error == 0 ? WEFT_OK : weft_ofi_failed(t, what, error);
}

static weft_status take_address(struct weft_transport *t)
{
    t->name_bytes = sizeof(t->name);
    const int error = fi_getname(&t->ep->fid, t->name, &t->name_bytes);
    return error == 0 && t->name_bytes < sizeof(t->name)
               ? WEFT_OK
               : weft_err(WEFT_ERR_NETWORK, "ofi: an address of %zu bytes, of %zu at most: %s",
                          t->name_bytes, sizeof(t->name) - 1, weft_ofi_error(error));
}

/* The memory of packets, and the receives posted. */
static weft_status open_ops(struct weft_transport *t)
{
    WEFT_TRY(weft_ofi_pool_open(t, WEFT_OFI_SEND, WEFT_OFI_SENDS, NULL));
    t->packets = t->pools;
    if (t->can.data_bits != 0)
        WEFT_TRY(weft_ofi_pool_open(t, WEFT_OFI_WRITE, WEFT_OFI_WRITES, &t->writes));
    return weft_ofi_post(t);
}

/*
 * Takes what has come since the receive side stopped; nobody sends any more (all_stopped).
 * Without this ofi_rxm 1.17 over verbs crashes: a connection that it closes with a message in its
 * queue gets that message's buffer back, after it is gone.
 */
static void take_the_rest(struct weft_transport *t)
{
    struct fi_cq_data_entry entries[WEFT_OFI_BATCH];

    while (t->enabled && fi_cq_read(t->cq[WEFT_NET_RECEIVE], entries, WEFT_OFI_BATCH) > 0)
        ;
}

/*
 * Where others may still send, or a connection broke with something under way, closing the endpoint
 * may crash: it stays, and all that it uses. Nobody writes the job's memory any more, since no
 * registration of it is left; but what is under way is read.
 */
static bool leave_behind(const struct weft_transport *t)
{
    const struct weft_net_events *events = &t->open.events;

    if (!t->enabled || events->all_stopped == NULL || events->all_stopped(events->context))
        return false;
    if (events->keeps_memory != NULL &&
        (t->outstanding > 0 || t->info->domain_attr->data_progress == FI_PROGRESS_AUTO))
        events->keeps_memory(events->context);
    return true;
}

void weft_ofi_close(struct weft_transport *t)
{
    if (leave_behind(t))
        return;
    take_the_rest(t);
    if (t->can.bind_mr) /* they belong to the endpoint */
        weft_ofi_pools_unregister(t);
    CLOSE(t->ep);
    if (!t->can.bind_mr)
        weft_ofi_pools_unregister(t);
    CLOSE(t->cq[WEFT_NET_SEND]);
    CLOSE(t->cq[WEFT_NET_RECEIVE]);
    CLOSE(t->av);
    CLOSE(t->domain);
    CLOSE(t->fabric);
    if (t->info != NULL)
        t->fi->freeinfo(t->info);
    weft_ofi_pools_close(t);
    free(t->addresses);
    free(t);
}

static void say_choice(const struct weft_transport *t)
{
    const char *writes = "packets only, no writes";

    if (t->can.data_bits != 0)
        writes = weft_net_is_later(&t->open) ? "packets only for the device's memory"
                 : t->can.ordered_writes     ? "ordered writes"
                                             : "writes, their order kept by the sender";
    weft_say(WEFT_SAY_INFO, "ofi: provider %s, domain %s, fabric %s: %s, %s",
             t->info->fabric_attr->prov_name, t->info->domain_attr->name,
             t->info->fabric_attr->name, writes,
             t->fd[WEFT_NET_RECEIVE] >= 0 ? "sleeps on its queues" : "polled");
}

/* Returns the bytes of the longest packet that comes. */
static uint32_t longest(const struct weft_transport *t)
{
    if (!weft_net_is_later(&t->open))
        return WEFT_OFI_PACKET;
    if (t->can.gathers)
        return WEFT_OFI_GATHERED;
    return t->info->ep_attr->max_msg_size >= WEFT_OFI_LONG ? WEFT_OFI_LONG : WEFT_OFI_PACKET;
}

static weft_status open_ofi(struct weft_transport **t, const struct weft_net_open *open)
{
    if (weft_model != NULL)
        return weft_err(WEFT_ERR_CONFIG,
                        "network ofi: random mode has no libfabric, which has threads and sockets");
    struct weft_transport *n = calloc(1, sizeof(*n));
    fi_addr_t *addresses = calloc((size_t)open->processes, sizeof(*addresses));
    if (n == NULL || addresses == NULL) {
        free(addresses);
        free(n);
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory for %d processes", open->processes);
    }
    n->open = *open;
    n->addresses = addresses;
    weft_status status = weft_ofi_choose(n);
    if (status == WEFT_OK) {
        n->takes = longest(n);
        n->packet = n->can.gathers ? WEFT_OFI_PACKET : n->takes;
        status = open_endpoint(n);
    }
    if (status == WEFT_OK)
        status = take_address(n);
    if (status == WEFT_OK)
        status = open_ops(n);
    if (status != WEFT_OK) {
        weft_ofi_close(n);
        return status;
    }
    say_choice(n);
    *t = n;
    return WEFT_OK;
}

/*
 * Not ordered: ofi_rxm lets the remote data of a write pass packets that wait for buffers. What can
 * be injected is quicker as a packet than as a write.
 */
static void weft_ofi_caps(struct weft_transport *t, struct weft_transport_caps *caps)
{
    const size_t heads = WEFT_PACKET_HEAD + WEFT_ENTRY_HEAD, from = t->open.config->ofi_write_from;
    const size_t at_once = t->can.inject > heads ? t->can.inject - heads : 0;

    *caps = (struct weft_transport_caps){
        .net = {.closes_together = true,
                .same_host_only = strcmp(t->info->fabric_attr->prov_name, "shm") == 0,
                .address_bytes = sizeof(t->name)},
        .address = t->name,
        .chosen_by = "WEFT_OFI_PROVIDER, WEFT_OFI_DOMAIN, WEFT_OFI_WRITES, WEFT_INTERFACE",
        .bell = {&t->bells[WEFT_NET_SEND],
                 t->fd[WEFT_NET_RECEIVE] >= 0 ? &t->bells[WEFT_NET_RECEIVE] : NULL},
        .packet = t->packet,
        .takes = t->takes,
        .gather_from = t->can.gathers ? WEFT_OFI_GATHER_FROM : 0,
        .buffers = t->packets->memory,
        .buffer_count = WEFT_OFI_SENDS,
        .depth = 2,
        .writes = t->can.data_bits != 0,
        .place_is_key = t->can.own_keys && !t->can.virtual_addresses,
        .writes_ordered = t->can.ordered_writes,
        .write_count = WEFT_OFI_WRITES,
        .write_from = from != 0 ? from : at_once + 1,
        .write_most = t->info->ep_attr->max_msg_size,
        .immediate = t->can.data_bits - WEFT_OFI_PROCESS_BITS,
    };
    snprintf(caps->alike, sizeof(caps->alike), "%.29s, %u bits beside a write, addresses %u:%zu",
             t->info->fabric_attr->prov_name, t->can.data_bits, t->info->addr_format,
             t->info->addr_format == FI_ADDR_STR ? 0 : t->name_bytes); /* texts differ in length */
    snprintf(caps->net.about, sizeof(caps->net.about), "libfabric provider %s on %s",
             t->info->fabric_attr->prov_name, t->info->domain_attr->name);
}

static weft_status weft_ofi_connect(struct weft_transport *t, int process, const void *address)
{
    _Alignas(8) unsigned char name[sizeof(t->name)];

    memcpy(name, address, sizeof(name));
    if (memchr(name, 0, sizeof(name)) == NULL)
        return weft_err(WEFT_ERR_PROTOCOL, "ofi: the address of process %d has no end", process);
    return fi_av_insert(t->av, name, 1, &t->addresses[process], 0, NULL) == 1
               ? WEFT_OK
               : weft_err(WEFT_ERR_NETWORK, "ofi: %s does not take the address of process %d",
                          t->info->fabric_attr->prov_name, process);
}

const struct weft_transport_ops weft_transport_ofi = {
    .name = "ofi",
    .open = open_ofi,
    .close = weft_ofi_close,
    .caps = weft_ofi_caps,
    .connect = weft_ofi_connect,
    .reg = weft_ofi_reg,
    .dereg = weft_ofi_dereg,
    .commit = weft_ofi_commit,
    .gather = weft_ofi_gather,
    .write = weft_ofi_write,
    .poll = {weft_ofi_poll_send, weft_ofi_poll_receive},
    .release = weft_ofi_release,
    .sleep = weft_ofi_sleep,
};
