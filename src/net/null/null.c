/*
 * net/null/null.c - the network that reaches nobody but this process itself.
 *
 * It is the template for a back end (docs/adding-a-network.md): every duty of the table in its
 * smallest form. A put lands at once, in a region of this same process. Its notice waits in a short
 * queue for the receive side, so that the two threads meet as on a real network; the put has landed
 * when its notice has been taken, too.
 */
#include "net/null/null.h"

#include "base/say.h"
#include "net/regions.h"

#include <stdlib.h>

enum { PUTS = 64 };

struct accepted {
    uint32_t notice;
    void *cookie;
};

struct weft_net {
    struct weft_net_open open;
    struct weft_regions regions;
    struct weft_bell bells[2]; /* by side */
    struct weft_lock lock;     /* over what follows: each side is a thread */
    struct accepted queue[PUTS];
    uint32_t accepted, taken, reported; /* puts so far: by put, the receive side, the send side */
};

static weft_status null_open(struct weft_net **net, const struct weft_net_open *open)
{
    struct weft_net *n = calloc(1, sizeof(*n));
    if (n == NULL)
        return weft_err(WEFT_ERR_MEMORY, "null network: no %zu bytes for its state", sizeof(*n));
    n->open = *open;
    n->regions.events = &n->open.events;
    *net = n;
    return WEFT_OK;
}

static void null_close(struct weft_net *net)
{
    weft_regions_free(&net->regions);
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

static weft_status null_reg(struct weft_net *net, void *base, size_t bytes, uint64_t *key)
{
    return weft_regions_add(&net->regions, base, bytes, key);
}

static void null_dereg(struct weft_net *net, uint64_t key)
{
    weft_regions_drop(&net->regions, key);
}

static bool settle(struct weft_net *net)
{
    return net->open.events.settle == NULL || net->open.events.settle(net->open.events.context);
}

static weft_status null_put(struct weft_net *net, const struct weft_net_put *put)
{
    weft_status status = WEFT_OK;

    weft_lock(&net->lock);
    if (net->accepted - net->reported == PUTS)
        status = WEFT_NET_FULL;
    else if (put->bytes != 0 &&
             !weft_regions_land(&net->regions, put->key, put->offset, put->source, put->bytes))
        status =
            weft_err(WEFT_ERR_PROTOCOL,
                     "null network: %zu bytes at offset %llu of key 0x%llx, which is no region",
                     put->bytes, (unsigned long long)put->offset, (unsigned long long)put->key);
    else if (!settle(net))
        status = weft_err(WEFT_ERR_DEVICE, "null network: data did not reach the device");
    else
        net->queue[net->accepted++ % PUTS] = (struct accepted){put->notice, put->cookie};
    weft_unlock(&net->lock);
    if (status != WEFT_OK)
        return status;
    net->open.events.sent(net->open.events.context, put->cookie);
    weft_bell_ring(&net->bells[WEFT_NET_RECEIVE]);
    return WEFT_OK;
}

/* The next put that is behind one index and not yet behind another; false: none. */
static bool next(struct weft_net *net, uint32_t *index, const uint32_t *end, struct accepted *put)
{
    weft_lock(&net->lock);
    const bool there = *index != *end;
    if (there)
        *put = net->queue[*index % PUTS];
    weft_unlock(&net->lock);
    return there;
}

static void pass(struct weft_net *net, uint32_t *index)
{
    weft_lock(&net->lock);
    ++*index;
    weft_unlock(&net->lock);
}

static weft_status progress_receive(struct weft_net *net, bool *did)
{
    const struct weft_net_events *events = &net->open.events;
    struct accepted put;

    while (next(net, &net->taken, &net->accepted, &put)) {
        if (put.notice != 0 && !events->arrived(events->context, net->open.process, put.notice))
            return weft_err(WEFT_ERR_PROTOCOL, "null network: malformed notice 0x%08x", put.notice);
        pass(net, &net->taken);
        *did = true;
        weft_bell_ring(&net->bells[WEFT_NET_SEND]);
    }
    return WEFT_OK;
}

static weft_status null_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    const struct weft_net_events *events = &net->open.events;
    struct accepted put;

    if (side == WEFT_NET_RECEIVE)
        return progress_receive(net, did);
    while (next(net, &net->reported, &net->taken, &put)) {
        pass(net, &net->reported);
        *did = true;
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
