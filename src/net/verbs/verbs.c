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
    DATAGRAM_COMPLETIONS = 160, /* receives and sends of connect.c */
    SEND_COMPLETIONS = 8192,    /* for some hundred queues at once */
    ACK_COMPLETIONS = 4096,
    SLOTS = 128,     /* buffers that sources are copied through */
    REFILL_PART = 8, /* receives are posted an eighth of the queue at a time, */
    CREDIT_PART = 4  /* and a sender may have a quarter under way */
};

static weft_status make_address(struct weft_net *net)
{
    struct weft_verbs_address *a = &net->address;
    const bool written =
        net->open.config->verbs_words == WEFT_VERBS_WORDS_AUTO && !net->device.software;

    *a = (struct weft_verbs_address){.magic = WEFT_VERBS_MAGIC,
                                     .buffer = net->buffer_bytes,
                                     .receives = net->receives,
                                     .words = (uint64_t)(uintptr_t)net->words,
                                     .words_key = net->words_mr->rkey,
                                     .sequence = net->start,
                                     .lid = net->device.port_attr.lid,
                                     .transport = WEFT_VERBS_RC,
                                     .mtu = (uint8_t)net->device.port_attr.active_mtu,
                                     .ethernet = net->device.ethernet,
                                     .words_atomically = written};
    memcpy(a->gid, net->device.gid.raw, sizeof(a->gid));
    if (getrandom(&a->token, sizeof(a->token), 0) != (ssize_t)sizeof(a->token))
        return weft_err(WEFT_ERR_SYSTEM, "verbs: getrandom: %s", strerror(errno));
    return WEFT_OK;
}

static struct ibv_cq *make_cq(struct weft_net *net, uint32_t entries, const char *what)
{
    struct ibv_cq *cq = ibv_create_cq(net->device.context, (int)entries, NULL, NULL, 0);

    if (cq == NULL)
        weft_err_say(WEFT_ERR_NETWORK, "verbs: %s gives no queue of %u completions for %s: %s",
                     net->device.name, entries, what, strerror(errno));
    return cq;
}

/* The sizes of everything, from the configuration and from what the device can do. */
static void plan_sizes(struct weft_net *net)
{
    const struct weft_config *config = net->open.config;
    const struct ibv_device_attr *attr = &net->device.attr;
    const int cqes = attr->max_cqe;

    net->start = (uint32_t)config->counter_start;
    net->receives = (uint32_t)weft_verbs_at_most(
        (int)config->verbs_receives,
        weft_verbs_at_most(attr->max_srq_wr, cqes - DATAGRAM_COMPLETIONS));
    net->refill = net->receives / REFILL_PART;
    net->credit = net->receives / CREDIT_PART;
    net->buffer_bytes = (uint32_t)config->verbs_buffer;
    /* Room for a queue that breaks, and as much besides (queue.c: ring). */
    net->send_cq_most = 2 * (uint32_t)config->verbs_sends;
    if (net->send_cq_most < SEND_COMPLETIONS)
        net->send_cq_most = SEND_COMPLETIONS;
    net->send_cq_most = (uint32_t)weft_verbs_at_most((int)net->send_cq_most, cqes);
    net->sends = (uint32_t)weft_verbs_at_most((int)config->verbs_sends, (int)net->send_cq_most / 2);
    net->ack_cq_most = (uint32_t)weft_verbs_at_most(ACK_COMPLETIONS, cqes);
    /* A piece needs a request, or nothing at all; those that have landed late wait for nobody. */
    net->pieces_most = 1;
    while (net->pieces_most < 2 * (net->sends + net->credit))
        net->pieces_most *= 2;
}

/* The memory of this side, and the queues of both. */
static weft_status open_queues(struct weft_net *net)
{
    /* One that the device of each other process writes, then one that is only read. */
    const size_t words = ((size_t)net->open.processes + 1) * sizeof(uint64_t);
    uint64_t *word;

    net->pd = ibv_alloc_pd(net->device.context);
    if (net->pd == NULL)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no protection domain: %s",
                        net->device.name, strerror(errno));
    net->memory.pd = net->pd;
    net->words_mr = weft_verbs_alloc(
        net->pd, words, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
        &net->words);
    net->scratch_mr =
        weft_verbs_alloc(net->pd, sizeof(uint64_t), IBV_ACCESS_LOCAL_WRITE, &net->scratch);
    if (net->words_mr == NULL || net->scratch_mr == NULL)
        return WEFT_ERR_MEMORY;
    word = net->words;
    for (int p = 0; p < net->open.processes; p++)
        word[p] = weft_verbs_ack(net->start);
    net->send_cq = make_cq(net, net->send_cq_most, "puts");
    net->receive_cq = make_cq(net, net->receives + DATAGRAM_COMPLETIONS, "receives");
    net->ack_cq = make_cq(net, net->ack_cq_most, "acknowledgements");
    if (net->send_cq == NULL || net->receive_cq == NULL || net->ack_cq == NULL)
        return WEFT_ERR_NETWORK;
    weft_status status = weft_verbs_slots_open(&net->slots, net->pd, SLOTS, net->buffer_bytes);
    return status == WEFT_OK ? weft_verbs_receive_open(net) : status;
}

/* RC, unless DC is asked for: no code is chosen by itself that has never run. */
static weft_status open_transport(struct weft_net *net)
{
    const int transport = net->open.config->verbs_transport;
    const char *missing = weft_verbs_dc_missing(&net->device);

    if (transport == WEFT_VERBS_TRANSPORT_DC && missing != NULL)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_VERBS_TRANSPORT=dc: %s has none: %s",
                        net->device.name, missing);
    if (transport == WEFT_VERBS_TRANSPORT_DC) {
        net->address.transport = WEFT_VERBS_DC;
        return weft_verbs_dc_open(net);
    }
    net->queues_count = (uint32_t)net->open.processes;
    net->queues = calloc(net->queues_count, sizeof(struct weft_verbs_queue *));
    return net->queues != NULL
               ? WEFT_OK
               : weft_err(WEFT_ERR_MEMORY, "verbs: no memory for %u queues", net->queues_count);
}

static weft_status open_steps(struct weft_net *net)
{
    const struct weft_config *config = net->open.config;
    const size_t processes = (size_t)net->open.processes;

    if (weft_model != NULL)
        return weft_err(WEFT_ERR_CONFIG, "verbs: a device's time is its own: there are no random "
                                         "schedules over it (WEFT_CPU_SCHEDULE)");
    weft_status status =
        weft_verbs_device_open(&net->device, config->verbs_device, net->open.process);
    if (status != WEFT_OK)
        return status;
    fcntl(net->device.context->async_fd, F_SETFL,
          fcntl(net->device.context->async_fd, F_GETFL) | O_NONBLOCK);
    net->memory.device = &net->device;
    if (config->gda == WEFT_GDA_ON || config->gda == WEFT_GDA_ASSIST) /* runtime/gda/assist.c */
        net->memory.access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    net->memory.by_message = weft_arrive_is_later(&net->open);
    net->memory.dmabuf = config->verbs_dmabuf != 0 && weft_arrive_has_dmabuf(&net->arrive);
    plan_sizes(net);
    net->peers = calloc(processes, sizeof(*net->peers));
    net->busy = calloc(processes, sizeof(*net->busy));
    if (net->peers == NULL || net->busy == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for %zu peers", processes);
    status = open_queues(net);
    if (status == WEFT_OK)
        status = make_address(net);
    if (status == WEFT_OK)
        status = weft_verbs_connect_open(net);
    if (status != WEFT_OK)
        return status;
    net->counts.queue_pairs++;
    net->inline_most = weft_verbs_rc_inline(net, (uint32_t)config->verbs_inline);
    net->request_bytes =
        (uint32_t)(sizeof(struct weft_verbs_request) + net->inline_most + 63) / 64 * 64;
    status = open_transport(net);
    if (status == WEFT_OK)
        weft_say(WEFT_SAY_INFO,
                 "verbs: %s, %s, %s, %u bytes inline, %u receives of %u bytes, aligned words %s",
                 net->device.name, net->device.ethernet ? "Ethernet" : "InfiniBand",
                 net->dc != NULL ? "DC (which has never run on hardware)" : "RC", net->inline_most,
                 net->receives, net->buffer_bytes,
                 net->address.words_atomically ? "written" : "by message");
    return status;
}

static void close_peer(struct weft_net *net, struct weft_verbs_peer *peer)
{
    struct weft_verbs_responder *responder = peer->responder;

    WEFT_VERBS_CLOSE(ibv_destroy_qp, peer->qp);
    if (responder != NULL) {
        WEFT_VERBS_CLOSE(ibv_destroy_qp, responder->qp);
        WEFT_VERBS_CLOSE(ibv_destroy_ah, responder->ah);
        free(responder);
    }
    weft_verbs_sender_close(net, peer->sender);
    WEFT_VERBS_CLOSE(ibv_destroy_ah, peer->control);
}

static void say_counts(const struct weft_net *net)
{
    const struct weft_verbs_counts *c = &net->counts;

    if (c->puts + c->receives > 0)
        weft_say(WEFT_SAY_INFO,
                 "verbs: %llu puts, %llu with a notice: %llu requests, %llu fences, %llu markers, "
                 "%llu doorbells, %llu completions; %llu receives, refilled %llu times, %llu "
                 "acknowledgements; %llu queue pairs",
                 c->puts, c->notified, c->requests, c->fences, c->markers, c->doorbells,
                 c->completions, c->receives, c->refills, c->acks, c->queue_pairs);
}

/* Queue pairs first: what else there is may be in use by them. */
static void verbs_close(struct weft_net *net)
{
    say_counts(net);
    for (uint32_t i = 0; net->queues != NULL && i < net->queues_count; i++)
        weft_verbs_queue_close(net->queues[i]);
    for (int p = 0; net->peers != NULL && p < net->open.processes; p++)
        close_peer(net, &net->peers[p]);
    if (net->dc != NULL)
        net->dc_ops->close(net);
    weft_verbs_connect_close(net);
    weft_verbs_memory_free(&net->memory);
    weft_arrive_close(&net->arrive);
    weft_verbs_receive_close(net);
    weft_verbs_slots_close(&net->slots);
    WEFT_VERBS_CLOSE(ibv_destroy_cq, net->send_cq);
    WEFT_VERBS_CLOSE(ibv_destroy_cq, net->receive_cq);
    WEFT_VERBS_CLOSE(ibv_destroy_cq, net->ack_cq);
    weft_verbs_release(net->words_mr, net->words);
    weft_verbs_release(net->scratch_mr, net->scratch);
    WEFT_VERBS_CLOSE(ibv_dealloc_pd, net->pd);
    weft_verbs_device_close(&net->device);
    free(net->queues);
    free(net->peers);
    free(net->busy);
    free(net);
}

static weft_status verbs_open(struct weft_net **net, const struct weft_net_open *open)
{
    struct weft_net *n = calloc(1, sizeof(*n));

    if (n == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no %zu bytes for its state", sizeof(*n));
    n->open = *open;
    weft_arrive_open(&n->arrive, "verbs", open, n, WEFT_VERBS_BATCHES, weft_verbs_conclude);
    n->memory.arrive = &n->arrive;
    weft_status status = open_steps(n);
    if (status == WEFT_OK)
        *net = n;
    else
        verbs_close(n);
    return status;
}

static void verbs_caps(const struct weft_net *net, struct weft_net_caps *caps)
{
    *caps = (struct weft_net_caps){.reads_device = net->memory.dmabuf,
                                   .address_bytes = sizeof(struct weft_verbs_address)};
}

static weft_status verbs_address(struct weft_net *net, void *address)
{
    memcpy(address, &net->address, sizeof(net->address));
    return WEFT_OK;
}

/* Only remembers the address: connections are made when they are needed. */
static weft_status verbs_connect(struct weft_net *net, int process, const void *address)
{
    struct weft_verbs_peer *peer = &net->peers[process];
    const char *wrong = weft_verbs_parse_address(address, sizeof(peer->address), &peer->address);

    if (wrong != NULL)
        return weft_err(WEFT_ERR_PROTOCOL, "verbs: the address of process %d: %s", process, wrong);
    if (peer->address.transport != net->address.transport)
        return weft_err(WEFT_ERR_CONFIG,
                        "verbs: process %d uses %s, this one %s: WEFT_VERBS_TRANSPORT must be the "
                        "same everywhere",
                        process, peer->address.transport == WEFT_VERBS_DC ? "DC" : "RC",
                        net->dc != NULL ? "DC" : "RC");
    if (peer->address.ethernet != net->address.ethernet)
        return weft_err(WEFT_ERR_CONFIG,
                        "verbs: process %d is on %s, %s here on %s: WEFT_VERBS_DEVICE chooses",
                        process, peer->address.ethernet ? "Ethernet" : "InfiniBand",
                        net->device.name, net->device.ethernet ? "Ethernet" : "InfiniBand");
    /* Of the other's receives this process takes the same part as of its own. */
    if (peer->address.receives / CREDIT_PART < net->credit)
        net->credit = peer->address.receives / CREDIT_PART;
    if (net->credit == 0)
        net->credit = 1;
    peer->known = true;
    return WEFT_OK;
}

static weft_status verbs_reg(struct weft_net *net, void *base, size_t bytes, bool own,
                             uint64_t *key)
{
    return weft_verbs_memory_add(&net->memory, base, bytes, own, key);
}

static void verbs_dereg(struct weft_net *net, uint64_t key)
{
    weft_verbs_memory_drop(&net->memory, key);
}

static weft_status verbs_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    return side == WEFT_NET_SEND ? weft_verbs_progress_send(net, did)
                                 : weft_verbs_progress_receive(net, did);
}

const struct weft_net_ops weft_net_verbs = {
    .name = "verbs",
    .here = weft_verbs_here,
    .open = verbs_open,
    .close = verbs_close,
    .caps = verbs_caps,
    .address = verbs_address,
    .connect = verbs_connect,
    .reg = verbs_reg,
    .dereg = verbs_dereg,
    .put = weft_verbs_put,
    .progress = verbs_progress,
};
