/*
 * net/verbs/verbs.c - InfiniBand and RoCE through libibverbs: opening, closing, the table. Opening
 * and closing run while no service does.
 */
#include "base/say.h"
#include "net/verbs/dc/dc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    DATAGRAM_COMPLETIONS = 192, /* receives and sends of connect.c */
    SEND_COMPLETIONS = 8192,    /* for some hundred queues at once */
    REFILL_PART = 8,            /* receives are posted an eighth of the queue at a time */
    DEPTH = 8,                  /* packets on their way beyond which puts gather */
    WRITE_FROM = 4096           /* bytes: copying less is quicker than a message of its own */
};

static weft_status make_address(struct weft_transport *t)
{
    struct weft_verbs_address *a = &t->address;

    *a = (struct weft_verbs_address){.magic = WEFT_VERBS_MAGIC,
                                     .lid = t->device.port_attr.lid,
                                     .transport = WEFT_VERBS_RC,
                                     .mtu = (uint8_t)t->device.port_attr.active_mtu,
                                     .ethernet = t->device.ethernet};
    memcpy(a->gid, t->device.gid.raw, sizeof(a->gid));
    if (getrandom(&a->token, sizeof(a->token), 0) != (ssize_t)sizeof(a->token))
        return weft_err(WEFT_ERR_SYSTEM, "verbs: getrandom: %s", strerror(errno));
    return WEFT_OK;
}

static struct ibv_cq *make_cq(struct weft_transport *t, uint32_t entries, const char *what)
{
    struct ibv_cq *cq = ibv_create_cq(t->device.context, (int)entries, NULL, NULL, 0);

    if (cq == NULL)
        weft_err_say(WEFT_ERR_NETWORK, "verbs: %s gives no queue of %u completions for %s: %s",
                     t->device.name, entries, what, strerror(errno));
    return cq;
}

/* The sizes of everything, from the configuration and from what the device can do. */
static void plan_sizes(struct weft_transport *t)
{
    const struct weft_config *config = t->open.config;
    const struct ibv_device_attr *attr = &t->device.attr;
    const int cqes = attr->max_cqe;

    t->start = (uint32_t)config->counter_start;
    t->receives = (uint32_t)weft_verbs_at_most(
        (int)config->verbs_receives,
        weft_verbs_at_most(attr->max_srq_wr, cqes - DATAGRAM_COMPLETIONS));
    t->refill = t->receives / REFILL_PART;
    /* Room for a queue that breaks, and as much besides (send.c: find_queue). */
    t->send_cq_most = 2 * (uint32_t)config->verbs_sends;
    if (t->send_cq_most < SEND_COMPLETIONS)
        t->send_cq_most = SEND_COMPLETIONS;
    t->send_cq_most = (uint32_t)weft_verbs_at_most((int)t->send_cq_most, cqes);
    t->sends = (uint32_t)weft_verbs_at_most((int)config->verbs_sends, (int)t->send_cq_most / 2);
}

static weft_status open_queues(struct weft_transport *t)
{
    t->pd = ibv_alloc_pd(t->device.context);
    if (t->pd == NULL)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no protection domain: %s",
                        t->device.name, strerror(errno));
    t->send_cq = make_cq(t, t->send_cq_most, "requests");
    t->receive_cq = make_cq(t, t->receives + DATAGRAM_COMPLETIONS, "receives");
    if (t->send_cq == NULL || t->receive_cq == NULL)
        return WEFT_ERR_NETWORK;
    t->slots.mr = weft_verbs_alloc(t->pd, WEFT_VERBS_SLOTS * WEFT_VERBS_LONGEST,
                                   IBV_ACCESS_LOCAL_WRITE, &t->slots.memory);
    if (t->slots.mr == NULL)
        return WEFT_ERR_MEMORY;
    for (; t->slots.left < WEFT_VERBS_SLOTS; t->slots.left++)
        t->slots.free[t->slots.left] =
            (unsigned char *)t->slots.memory + (size_t)t->slots.left * WEFT_VERBS_LONGEST;
    return weft_verbs_receive_open(t);
}

/* RC, unless DC is asked for: no code is chosen by itself that has never run. */
static weft_status open_connections(struct weft_transport *t)
{
    const int transport = t->open.config->verbs_transport;
    const char *missing = weft_verbs_dc_missing(&t->device);

    if (transport == WEFT_VERBS_TRANSPORT_DC && missing != NULL)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_VERBS_TRANSPORT=dc: %s has none: %s", t->device.name,
                        missing);
    if (transport == WEFT_VERBS_TRANSPORT_DC) {
        t->address.transport = WEFT_VERBS_DC;
        return weft_verbs_dc_open(t);
    }
    t->queues_count = (uint32_t)t->open.processes;
    t->queues = calloc(t->queues_count, sizeof(struct weft_verbs_queue *));
    return t->queues != NULL
               ? WEFT_OK
               : weft_err(WEFT_ERR_MEMORY, "verbs: no memory for %u queues", t->queues_count);
}

static weft_status open_steps(struct weft_transport *t)
{
    const struct weft_config *config = t->open.config;
    const size_t processes = (size_t)t->open.processes;

    if (weft_model != NULL)
        return weft_err(WEFT_ERR_CONFIG, "verbs: a device's time is its own: there are no random "
                                         "schedules over it (WEFT_CPU_SCHEDULE)");
    weft_status status = weft_verbs_device_open(&t->device, config->verbs_device, t->open.process);
    if (status != WEFT_OK)
        return status;
    fcntl(t->device.context->async_fd, F_SETFL,
          fcntl(t->device.context->async_fd, F_GETFL) | O_NONBLOCK);
    t->dmabuf = config->verbs_dmabuf != 0 && weft_net_has_dmabuf(&t->open);
    plan_sizes(t);
    t->peers = calloc(processes, sizeof(*t->peers));
    if (t->peers == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for %zu peers", processes);
    status = open_queues(t);
    if (status == WEFT_OK)
        status = make_address(t);
    if (status == WEFT_OK)
        status = weft_verbs_connect_open(t);
    if (status != WEFT_OK)
        return status;
    t->counts.queue_pairs++;
    t->inline_most = weft_verbs_rc_inline(t);
    status = open_connections(t);
    if (status == WEFT_OK)
        weft_say(WEFT_SAY_INFO, "verbs: %s, %s, %s, %u bytes inline, %u receives of %d bytes",
                 t->device.name, t->device.ethernet ? "Ethernet" : "InfiniBand",
                 t->dc != NULL ? "DC (which has never run on hardware)" : "RC", t->inline_most,
                 t->receives, WEFT_VERBS_LONGEST);
    return status;
}

/* Queue pairs first: what else there is may be in use by them. */
static void verbs_close(struct weft_transport *t)
{
    const struct weft_verbs_counts *c = &t->counts;

    if (c->requests + c->receives > 0)
        weft_say(WEFT_SAY_INFO,
                 "verbs: %llu requests, %llu of them inline, %llu completions; %llu receives, "
                 "refilled %llu times; %llu queue pairs",
                 c->requests, c->inlined, c->completions, c->receives, c->refills, c->queue_pairs);
    for (uint32_t i = 0; t->queues != NULL && i < t->queues_count; i++)
        weft_verbs_queue_close(t->queues[i]);
    if (t->dc != NULL)
        t->dc_ops->close(t);
    weft_verbs_connect_close(t);
    for (int p = 0; t->peers != NULL && p < t->open.processes; p++)
        WEFT_VERBS_CLOSE(ibv_destroy_ah, t->peers[p].way);
    weft_verbs_receive_close(t);
    weft_verbs_release(t->slots.mr, t->slots.memory);
    WEFT_VERBS_CLOSE(ibv_destroy_cq, t->send_cq);
    WEFT_VERBS_CLOSE(ibv_destroy_cq, t->receive_cq);
    WEFT_VERBS_CLOSE(ibv_dealloc_pd, t->pd);
    weft_verbs_device_close(&t->device);
    free(t->queues);
    free(t->peers);
    free(t);
}

static weft_status verbs_open(struct weft_transport **t, const struct weft_net_open *open)
{
    struct weft_transport *n = calloc(1, sizeof(*n));

    if (n == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no %zu bytes for its state", sizeof(*n));
    n->open = *open;
    const weft_status status = open_steps(n);
    if (status == WEFT_OK)
        *t = n;
    else
        verbs_close(n);
    return status;
}

static void verbs_caps(struct weft_transport *t, struct weft_transport_caps *caps)
{
    *caps = (struct weft_transport_caps){
        .net = {.reads_device = t->dmabuf, .address_bytes = sizeof(struct weft_verbs_address)},
        .address = &t->address,
        .packet = WEFT_VERBS_LONGEST,
        .depth = DEPTH,
        .ordered = true,
        .writes = true,
        .place_is_key = true,
        .write_from = WRITE_FROM,
        .write_most = t->device.port_attr.max_msg_sz,
        .immediate = 32,
    };
}

/* Only remembers the address: connections are made when they are needed. */
static weft_status verbs_connect(struct weft_transport *t, int process, const void *address)
{
    struct weft_verbs_peer *peer = &t->peers[process];
    const char *wrong = weft_verbs_parse_address(address, sizeof(peer->address), &peer->address);

    if (wrong != NULL)
        return weft_err(WEFT_ERR_PROTOCOL, "verbs: the address of process %d: %s", process, wrong);
    if (peer->address.transport != t->address.transport)
        return weft_err(WEFT_ERR_CONFIG,
                        "verbs: process %d uses %s, this one %s: WEFT_VERBS_TRANSPORT must be the "
                        "same everywhere",
                        process, peer->address.transport == WEFT_VERBS_DC ? "DC" : "RC",
                        t->dc != NULL ? "DC" : "RC");
    if (peer->address.ethernet != t->address.ethernet)
        return weft_err(WEFT_ERR_CONFIG,
                        "verbs: process %d is on %s, %s here on %s: WEFT_VERBS_DEVICE chooses",
                        process, peer->address.ethernet ? "Ethernet" : "InfiniBand", t->device.name,
                        t->device.ethernet ? "Ethernet" : "InfiniBand");
    peer->known = true;
    return WEFT_OK;
}

static int verbs_poll(struct weft_transport *t, enum weft_net_side side,
                      struct weft_transport_event *events, int most)
{
    return side == WEFT_NET_SEND ? weft_verbs_poll_send(t, events, most)
                                 : weft_verbs_poll_receive(t, events, most);
}

const struct weft_transport_ops weft_transport_verbs = {
    .name = "verbs",
    .here = weft_verbs_here,
    .open = verbs_open,
    .close = verbs_close,
    .caps = verbs_caps,
    .connect = verbs_connect,
    .reg = weft_verbs_reg,
    .dereg = weft_verbs_dereg,
    .begin = weft_verbs_begin,
    .commit = weft_verbs_commit,
    .write = weft_verbs_write,
    .poll = verbs_poll,
    .release = weft_verbs_give_back,
};
