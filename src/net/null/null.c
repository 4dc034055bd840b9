/*
 * net/null/null.c - the network that reaches nobody but this process itself.
 *
 * It is the template for a back end (docs/adding-a-network.md): every duty of the table in its
 * smallest form. A put waits in a short queue, where the receive side finds it and lets it take
 * effect; the send side reports it when that is done. So two threads meet as on a real network.
 */
#include "base/say.h"
#include "net/arrive.h"

#include <stdlib.h>

enum { PUTS = WEFT_ARRIVE_BATCHES };

struct weft_net {
    struct weft_net_open open;
    struct weft_arrive arrive;
    struct weft_bell bells[2]; /* by side */
    uint32_t delivered;        /* the receive side's own */
    struct weft_lock lock;     /* over what follows: each side is a thread */
    struct weft_net_put queue[PUTS];
    uint32_t accepted, landed, reported; /* puts so far: by put, the receive side, the send side */
};

static void set(struct weft_net *net, uint32_t *index, uint32_t value)
{
    weft_lock(&net->lock);
    *index = value;
    weft_unlock(&net->lock);
}

/* Puts up to this one have landed. */
static weft_status null_conclude(struct weft_net *net, uint64_t landed)
{
    set(net, &net->landed, (uint32_t)landed);
    weft_bell_ring(&net->bells[WEFT_NET_SEND]);
    return WEFT_OK;
}

static weft_status null_open(struct weft_net **net, const struct weft_net_open *open)
{
    struct weft_net *n = calloc(1, sizeof(*n));
    if (n == NULL)
        return weft_err(WEFT_ERR_MEMORY, "null network: no %zu bytes for its state", sizeof(*n));
    n->open = *open;
    weft_arrive_open(&n->arrive, "null", open, n, PUTS, null_conclude);
    *net = n;
    return WEFT_OK;
}

static void null_close(struct weft_net *net)
{
    weft_arrive_close(&net->arrive);
    free(net);
}

static void null_caps(const struct weft_net *net, struct weft_net_caps *caps)
{
    (void)net;
    *caps = (struct weft_net_caps){.same_host_only = true, .own_process = true};
}

static weft_status null_address(struct weft_net *net, void *address)
{
    (void)net, (void)address; /* address_bytes is 0 */
    return WEFT_OK;
}

static weft_status null_connect(struct weft_net *net, int process, const void *address)
{
    (void)address;
    if (process != net->open.process)
        return weft_err(WEFT_ERR_UNSUPPORTED, "null network: process %d cannot be reached from %d",
                        process, net->open.process);
    return WEFT_OK;
}

static weft_status null_reg(struct weft_net *net, void *base, size_t bytes, bool own, uint64_t *key)
{
    return weft_arrive_reg(&net->arrive, base, bytes, own, key);
}

static void null_dereg(struct weft_net *net, uint64_t key)
{
    weft_arrive_dereg(&net->arrive, key);
}

static weft_status null_put(struct weft_net *net, const struct weft_net_put *put)
{
    weft_lock(&net->lock);
    const bool full = net->accepted - net->reported == PUTS;
    if (!full)
        net->queue[net->accepted++ % PUTS] = *put;
    weft_unlock(&net->lock);
    if (full)
        return WEFT_NET_FULL;
    weft_bell_ring(&net->bells[WEFT_NET_RECEIVE]);
    return WEFT_OK;
}

/* The put with that number, if it comes before `end`. */
static bool next(struct weft_net *net, uint32_t index, const uint32_t *end,
                 struct weft_net_put *put)
{
    weft_lock(&net->lock);
    const bool there = index != *end;
    if (there)
        *put = net->queue[index % PUTS];
    weft_unlock(&net->lock);
    return there;
}

static weft_status progress_receive(struct weft_net *net, bool *did)
{
    struct weft_net_put put;
    weft_status status = weft_arrive_settle(&net->arrive, did);

    while (status == WEFT_OK && weft_arrive_has_room(&net->arrive) &&
           next(net, net->delivered, &net->accepted, &put)) {
        *did = true;
        status = weft_arrive_deliver(&net->arrive, put.process, put.key, put.offset, put.source,
                                     put.bytes, put.notice);
        if (status == WEFT_OK)
            status = weft_arrive_batch_end(&net->arrive, ++net->delivered);
    }
    return status;
}

static weft_status null_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    const struct weft_net_events *events = &net->open.events;
    struct weft_net_put put;

    if (side == WEFT_NET_RECEIVE)
        return progress_receive(net, did);
    while (next(net, net->reported, &net->landed, &put)) {
        set(net, &net->reported, net->reported + 1);
        *did = true;
        events->sent(events->context, put.cookie);
        events->landed(events->context, put.cookie);
    }
    return WEFT_OK;
}

static struct weft_bell *null_bell(struct weft_net *net, enum weft_net_side side)
{
    return &net->bells[side];
}

const struct weft_net_ops weft_net_null = {
    .name = "null",
    .open = null_open,
    .close = null_close,
    .caps = null_caps,
    .address = null_address,
    .connect = null_connect,
    .reg = null_reg,
    .dereg = null_dereg,
    .put = null_put,
    .progress = null_progress,
    .bell = null_bell,
};
