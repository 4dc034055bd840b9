/*
 * net/ofi/ofi.c - libfabric as a network: the endpoint and all that belongs to it, and the table.
 */
#include "base/say.h"
#include "net/ofi/inside.h"
#include "order/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* What may not be there. */
#define CLOSE(thing) ((void)((thing) != NULL ? fi_close(&(thing)->fid) : 0))

static weft_status failed(const struct weft_net *net, const char *what, long error)
{
    return weft_err(WEFT_ERR_NETWORK, "ofi: %s, %s: %s",
                    net->info != NULL ? net->info->fabric_attr->prov_name : "libfabric", what,
                    weft_ofi_error(error));
}

/* The same kind for both sides: with a descriptor to sleep on, if wanted and there is one. */
static weft_status open_queues(struct weft_net *net, bool *descriptors)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_DATA,
                              .wait_obj = *descriptors ? FI_WAIT_FD : FI_WAIT_NONE};
    int error = 0;

    for (int side = 0; side < 2 && error == 0; side++) {
        attr.size = side == WEFT_NET_SEND ? net->info->tx_attr->size : net->info->rx_attr->size;
        error = fi_cq_open(net->domain, &attr, &net->cq[side], net);
    }
    if (error == 0 || !*descriptors)
        return error == 0 ? WEFT_OK : failed(net, "completion queue", error);
    *descriptors = false; /* in silence: without one, then */
    CLOSE(net->cq[WEFT_NET_SEND]);
    net->cq[WEFT_NET_SEND] = NULL;
    return open_queues(net, descriptors);
}

static weft_status open_endpoint(struct weft_net *net, bool *descriptors)
{
    struct fi_av_attr av = {.count = (size_t)net->open.processes};
    const char *what = "fabric";
    int error = net->fi->fabric(net->info->fabric_attr, &net->fabric, net);

    if (error == 0)
        what = "domain", error = fi_domain(net->fabric, net->info, &net->domain, net);
    if (error == 0)
        what = "address vector", error = fi_av_open(net->domain, &av, &net->av, net);
    if (error != 0)
        return failed(net, what, error);
    weft_status status = open_queues(net, descriptors);
    if (status != WEFT_OK)
        return status;
    what = "endpoint", error = fi_endpoint(net->domain, net->info, &net->ep, net);
    if (error == 0 && (error = fi_ep_bind(net->ep, &net->av->fid, 0)) != 0)
        net->ep = NULL; /* ofi_rxm crashes where it closes one without: it is left */
    if (error == 0)
        error = fi_ep_bind(net->ep, &net->cq[WEFT_NET_SEND]->fid, FI_TRANSMIT);
    if (error == 0)
        error = fi_ep_bind(net->ep, &net->cq[WEFT_NET_RECEIVE]->fid, FI_RECV);
    if (error == 0)
        error = fi_enable(net->ep);
    net->enabled = error == 0;
    return error == 0 ? WEFT_OK : failed(net, what, error);
}

static size_t fewer(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The buffers of both directions, in one piece of memory, and the receives posted. */
static weft_status open_buffers(struct weft_net *net)
{
    const size_t sends = fewer(WEFT_OFI_SEND_BUFFERS, net->info->tx_attr->size);
    const size_t receives = fewer(WEFT_OFI_RECEIVE_BUFFERS, net->info->rx_attr->size);
    const size_t count = sends + receives, bytes = count * WEFT_OFI_MESSAGE_BYTES;
    ssize_t error = 0;

    net->memory = aligned_alloc(4096, bytes);
    net->buffers = calloc(count, sizeof(*net->buffers));
    if (net->memory == NULL || net->buffers == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no %zu bytes for buffers", bytes);
    weft_arrive_pin(&net->arrive, net->memory, bytes);
    if (net->can.local_mr)
        error = weft_ofi_register(net, net->memory, bytes, FI_SEND | FI_RECV, 0, &net->memory_mr);
    for (size_t i = 0; i < count && error == 0; i++) {
        struct weft_ofi_buffer *buffer = &net->buffers[i];
        buffer->bytes = net->memory + i * WEFT_OFI_MESSAGE_BYTES;
        buffer->context.what = i < sends ? WEFT_OFI_SEND_BUFFER : WEFT_OFI_RECEIVE_BUFFER;
        if (i >= sends) {
            error = weft_ofi_post_receive(net, buffer);
        } else {
            buffer->next = net->free_sends;
            net->free_sends = buffer;
        }
    }
    return error == 0 ? WEFT_OK : failed(net, "buffers", error);
}

static weft_status open_peers(struct weft_net *net)
{
    const uint32_t start = (uint32_t)net->open.config->counter_start;

    net->peers = calloc((size_t)net->open.processes, sizeof(*net->peers));
    if (net->peers == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory for %d processes", net->open.processes);
    for (int p = 0; p < net->open.processes; p++) {
        struct weft_ofi_peer *peer = &net->peers[p];
        peer->last = &peer->first;
        peer->events = peer->received = start;
        peer->expected = peer->applied = peer->told = start;
    }
    if (getrandom(&net->token, sizeof(net->token), 0) != (ssize_t)sizeof(net->token))
        return weft_err(WEFT_ERR_SYSTEM, "ofi: no random numbers");
    return WEFT_OK;
}

/*
 * Takes what has come since the receive side stopped; nobody sends any more (all_stopped).
 * Without this ofi_rxm 1.17 over verbs crashes: a connection that it closes with a message in its
 * queue gets that message's buffer back, after it is gone.
 */
static void take_the_rest(struct weft_net *net)
{
    struct fi_cq_data_entry entries[WEFT_OFI_BATCH];

    while (net->enabled && fi_cq_read(net->cq[WEFT_NET_RECEIVE], entries, WEFT_OFI_BATCH) > 0)
        ;
}

/*
 * Where others may still send, or a connection broke with something under way, closing the endpoint
 * may crash: it stays, and all that it uses. Nobody writes the job's memory any more, since no
 * registration of it is left; but what is under way is read.
 */
static bool leave_behind(const struct weft_net *net)
{
    const struct weft_net_events *events = &net->open.events;

    if (!net->enabled || events->all_stopped == NULL || events->all_stopped(events->context))
        return false;
    if (events->lingers != NULL &&
        (net->outstanding > 0 || net->info->domain_attr->data_progress == FI_PROGRESS_AUTO))
        events->lingers(events->context);
    return true;
}

static void weft_ofi_close(struct weft_net *net)
{
    weft_ofi_watch_close(net);
    weft_ofi_memory_close(net);
    weft_arrive_close(&net->arrive);
    if (net->writes + net->docked + net->messages > 0)
        weft_say(WEFT_SAY_INFO,
                 "ofi: %llu puts were written, %llu went by docks, %llu travelled as messages",
                 net->writes, net->docked, net->messages);
    if (leave_behind(net))
        return;
    take_the_rest(net);
    CLOSE(net->dock.mr);
    if (net->can.bind_mr) /* it belongs to the endpoint */
        CLOSE(net->memory_mr);
    CLOSE(net->ep);
    if (!net->can.bind_mr)
        CLOSE(net->memory_mr);
    CLOSE(net->cq[WEFT_NET_SEND]);
    CLOSE(net->cq[WEFT_NET_RECEIVE]);
    CLOSE(net->av);
    CLOSE(net->domain);
    CLOSE(net->fabric);
    if (net->info != NULL)
        net->fi->freeinfo(net->info);
    weft_ofi_receive_close(net);
    weft_ofi_dock_close(net);
    weft_ofi_close_ops(net);
    free(net->buffers);
    weft_arrive_unpin(&net->arrive, net->memory);
    free(net->memory);
    free(net->peers);
    free(net);
}

static void say_choice(const struct weft_net *net)
{
    static const char *const forms[] = {"messages only, no writes",
                                        "writes with 4 bytes of remote data",
                                        "writes with 8 bytes of remote data"};
    const struct fi_domain_attr *domain = net->info->domain_attr;

    const char *device = "";

    if (!net->can.direct)
        device = net->dock.memory != NULL ? "; long puts for the device's memory go by a dock"
                                          : "; long puts for the device's memory are messages, "
                                            "slower";
    weft_say(WEFT_SAY_INFO, "ofi: provider %s, domain %s, fabric %s: %s, %s, %s%s",
             net->info->fabric_attr->prov_name, domain->name, net->info->fabric_attr->name,
             forms[net->can.form], net->can.ordered_writes ? "ordered" : "order kept by the sender",
             net->watch != NULL ? "sleeps on its queues" : "polled", device);
}

static weft_status weft_ofi_open(struct weft_net **net, const struct weft_net_open *open)
{
    struct weft_net *n;
    bool descriptors = !open->polls;

    if (weft_model != NULL)
        return weft_err(WEFT_ERR_CONFIG,
                        "network ofi: random mode has no libfabric, which has threads and sockets");
    n = calloc(1, sizeof(*n));
    if (n == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no %zu bytes for its state", sizeof(*n));
    n->open = *open;
    weft_arrive_open(&n->arrive, "ofi", open, n, WEFT_OFI_BATCHES, weft_ofi_conclude);
    weft_status status = open_peers(n);
    if (status == WEFT_OK)
        status = weft_ofi_choose(n);
    if (status == WEFT_OK)
        status = open_endpoint(n, &descriptors);
    if (status == WEFT_OK)
        status = open_buffers(n);
    if (status == WEFT_OK)
        status = weft_ofi_dock_open(n);
    if (status == WEFT_OK && descriptors)
        status = weft_ofi_watch_open(n);
    if (status != WEFT_OK) {
        weft_ofi_close(n);
        return status;
    }
    say_choice(n);
    *net = n;
    return WEFT_OK;
}

static void weft_ofi_caps(const struct weft_net *net, struct weft_net_caps *caps)
{
    *caps = (struct weft_net_caps){.lands_when_asked = true,
                                   .closes_together = true,
                                   .rows_bytes = WEFT_OFI_PAYLOAD - sizeof(struct weft_net_rows),
                                   .same_host_only =
                                       strcmp(net->info->fabric_attr->prov_name, "shm") == 0,
                                   .address_bytes = sizeof(struct weft_ofi_hello)};
    snprintf(caps->about, sizeof(caps->about), "libfabric provider %s on %s",
             net->info->fabric_attr->prov_name, net->info->domain_attr->name);
}

static weft_status weft_ofi_address(struct weft_net *net, void *address)
{
    struct weft_ofi_hello hello = {.token = net->token,
                                   .message_bytes = WEFT_OFI_MESSAGE_BYTES,
                                   .form = net->can.form,
                                   .writes = net->open.config->ofi_writes != 0,
                                   .name_format = net->info->addr_format};
    size_t bytes = sizeof(hello.name);

    snprintf(hello.provider, sizeof(hello.provider), "%s", net->info->fabric_attr->prov_name);
    const int error = fi_getname(&net->ep->fid, hello.name, &bytes);
    if (error != 0 || bytes > sizeof(hello.name))
        return weft_err(WEFT_ERR_NETWORK, "ofi: an address of %zu bytes, of %zu at most: %s", bytes,
                        sizeof(hello.name), weft_ofi_error(error));
    hello.name_bytes = (uint32_t)bytes;
    memcpy(address, &hello, sizeof(hello));
    return WEFT_OK;
}

static weft_status weft_ofi_connect(struct weft_net *net, int process, const void *address)
{
    struct weft_ofi_peer *peer = &net->peers[process];
    struct weft_ofi_hello hello, mine;
    const char *reason;
    weft_status status = weft_ofi_address(net, &mine);

    if (status != WEFT_OK)
        return status;
    memcpy(&hello, address, sizeof(hello));
    if (hello.writes != mine.writes)
        return weft_err(WEFT_ERR_CONFIG,
                        "WEFT_OFI_WRITES must be the same everywhere: %s in process %d, %s here",
                        hello.writes != 0 ? "on" : "off", process, mine.writes != 0 ? "on" : "off");
    if (!weft_ofi_hello_fits(&mine, &hello, net->info->addr_format == FI_ADDR_STR, &reason))
        return weft_err(WEFT_ERR_CONFIG,
                        "ofi: process %d and this one differ in %s: provider %.*s with addresses "
                        "of %u bytes there, %s with %u here (WEFT_OFI_PROVIDER, WEFT_OFI_DOMAIN, "
                        "WEFT_INTERFACE)",
                        process, reason, (int)sizeof(hello.provider) - 1, hello.provider,
                        hello.name_bytes, mine.provider, mine.name_bytes);
    if (fi_av_insert(net->av, hello.name, 1, &peer->address, 0, NULL) != 1)
        return weft_err(WEFT_ERR_NETWORK, "ofi: %s does not take the address of process %d",
                        mine.provider, process);
    peer->token = hello.token;
    return WEFT_OK;
}

static weft_status weft_ofi_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    return side == WEFT_NET_SEND ? weft_ofi_progress_send(net, did)
                                 : weft_ofi_progress_receive(net, did);
}

const struct weft_net_ops weft_net_ofi = {
    .name = "ofi",
    .open = weft_ofi_open,
    .close = weft_ofi_close,
    .caps = weft_ofi_caps,
    .address = weft_ofi_address,
    .connect = weft_ofi_connect,
    .reg = weft_ofi_reg,
    .dereg = weft_ofi_dereg,
    .place = weft_ofi_where,
    .put = weft_ofi_put,
    .flush = weft_ofi_flush,
    .progress = weft_ofi_progress,
    .bell = weft_ofi_bell,
};
