/*
 * net/verbs/verbs.c - InfiniBand and RoCE through libibverbs: opening, closing, the table. Opening
 * and closing run while no service does.
 */
#include "base/say.h"
#include "net/verbs/dc/dc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    DEPTH = 8,        /* packets on their way beyond which puts gather */
    WRITE_FROM = 4096 /* bytes: copying less is quicker than a message of its own */
};

static weft_status make_address(struct weft_transport *t)
{
    struct weft_verbs_address *a = &t->address;

    a->lid = t->device.port_attr.lid;
    a->mtu = (uint8_t)t->device.port_attr.active_mtu;
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

/* Allocates and registers the memory of packets. */
static weft_status open_memory(struct weft_transport *t)
{
    const size_t bytes = (t->receives + 1 + WEFT_VERBS_PACKETS) * WEFT_VERBS_LONGEST;

    t->memory = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), bytes);
    if (t->memory != NULL)
        t->mr = ibv_reg_mr(t->pd, memset(t->memory, 0, bytes), bytes, IBV_ACCESS_LOCAL_WRITE);
    if (t->mr == NULL)
        return weft_err(WEFT_ERR_MEMORY,
                        "verbs: no %zu bytes of memory for buffers: %s (RLIMIT_MEMLOCK is %llu)",
                        bytes, strerror(errno), (unsigned long long)weft_verbs_locked_limit());
    weft_net_pin(&t->open, "verbs", t->memory, bytes);
    return WEFT_OK;
}

static weft_status open_queues(struct weft_transport *t)
{
    t->pd = ibv_alloc_pd(t->device.context);
    if (t->pd == NULL)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no protection domain: %s",
                        t->device.name, strerror(errno));
    t->send_cq = make_cq(t, WEFT_VERBS_PACKETS + WEFT_VERBS_WRITES, "requests");
    t->receive_cq = make_cq(t, t->receives + WEFT_VERBS_DATAGRAMS, "receives");
    if (t->send_cq == NULL || t->receive_cq == NULL)
        return WEFT_ERR_NETWORK;
    WEFT_TRY(open_memory(t));
    return weft_verbs_receive_open(t);
}

/* Opens RC, unless DC is asked for: no code is chosen by itself that has never run. */
static weft_status open_connections(struct weft_transport *t)
{
    const int transport = t->open.config->verbs_transport;
    const char *missing = weft_verbs_dc_missing(&t->device);

    if (transport == WEFT_VERBS_TRANSPORT_DC && missing != NULL)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_VERBS_TRANSPORT=dc: %s has none: %s", t->device.name,
                        missing);
    if (transport == WEFT_VERBS_TRANSPORT_DC)
        return weft_verbs_dc_open(t);
    for (int p = 0; p < t->open.processes; p++)
        t->peers[p].queue = &t->peers[p].own;
    return weft_verbs_table_open(t);
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
    const int most = weft_verbs_at_most(t->device.attr.max_srq_wr,
                                        t->device.attr.max_cqe - WEFT_VERBS_DATAGRAMS);
    t->receives = (uint32_t)weft_verbs_at_most((int)config->verbs_receives, most);
    t->sends = (uint32_t)config->verbs_sends;
    t->peers = calloc(processes, sizeof(*t->peers));
    if (t->peers == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for %zu peers", processes);
    WEFT_TRY(open_queues(t));
    WEFT_TRY(make_address(t));
    WEFT_TRY(weft_verbs_connect_open(t));
    t->inline_most = weft_verbs_rc_inline(t);
    status = open_connections(t);
    if (status == WEFT_OK)
        weft_say(WEFT_SAY_INFO, "verbs: %s, %s, %s, %u bytes inline, %u receives of %d bytes",
                 t->device.name, t->device.ethernet ? "Ethernet" : "InfiniBand",
                 t->dc != NULL ? "DC (which has never run on hardware)" : "RC", t->inline_most,
                 t->receives, WEFT_VERBS_LONGEST);
    return status;
}

/* Closes queue pairs first: what else there is may be in use by them. */
static void verbs_close(struct weft_transport *t)
{
    if (t->dc != NULL)
        t->dc_ops->close(t);
    WEFT_VERBS_CLOSE(ibv_destroy_qp, t->control.qp);
    for (int p = 0; t->peers != NULL && p < t->open.processes; p++) {
        WEFT_VERBS_CLOSE(ibv_destroy_qp, t->peers[p].own.qp);
        WEFT_VERBS_CLOSE(ibv_destroy_ah, t->peers[p].way);
    }
    WEFT_VERBS_CLOSE(ibv_destroy_srq, t->srq);
    weft_net_unpin(&t->open, t->memory);
    WEFT_VERBS_CLOSE(ibv_dereg_mr, t->mr);
    WEFT_VERBS_CLOSE(ibv_destroy_cq, t->send_cq);
    WEFT_VERBS_CLOSE(ibv_destroy_cq, t->receive_cq);
    WEFT_VERBS_CLOSE(ibv_dealloc_pd, t->pd);
    weft_verbs_device_close(&t->device);
    free(t->memory);
    free(t->by_qpn);
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
        .chosen_by = "WEFT_VERBS_TRANSPORT, WEFT_VERBS_DEVICE",
        .packet = WEFT_VERBS_LONGEST,
        .buffers = weft_verbs_buffer(t, t->receives + 1),
        .buffer_count = WEFT_VERBS_PACKETS,
        .depth = DEPTH,
        .ordered = true,
        .writes = true,
        .place_is_key = true,
        .write_count = WEFT_VERBS_WRITES,
        .write_from = WRITE_FROM,
        .write_most = t->device.port_attr.max_msg_sz,
        .immediate = t->dc != NULL ? 0 : 32, /* a target of DC cannot tell who wrote */
    };
    snprintf(caps->alike, sizeof(caps->alike), "%s over %s", t->dc != NULL ? "DC" : "RC",
             t->device.ethernet ? "Ethernet" : "InfiniBand");
}

/* Only remembers the address: connections are made when they are needed. */
static weft_status verbs_connect(struct weft_transport *t, int process, const void *address)
{
    struct weft_verbs_address *theirs = &t->peers[process].address;

    return weft_verbs_parse_address(address, theirs)
               ? WEFT_OK
               : weft_err(WEFT_ERR_PROTOCOL, "verbs: process %d has the path unit %d, of 1 to 5",
                          process, theirs->mtu);
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
    .commit = weft_verbs_commit,
    .write = weft_verbs_write,
    .poll = {weft_verbs_poll_send, weft_verbs_poll_receive},
    .release = weft_verbs_give_back,
};
