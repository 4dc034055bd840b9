/*
 * net/null/null.c - the network that reaches nobody but this process itself.
 *
 * It is the template for a back end (docs/adding-a-network.md): every duty of the table in its
 * smallest form. A put lands at once, by memcpy, in a region of this same process; the notice
 * waits in a short queue for the receive side, so that the two threads meet as on a real network.
 */
#include "net/null/null.h"

#include "base/atomic.h"
#include "base/say.h"
#include "base/task.h"

#include <stdlib.h>

enum { REGIONS = 1024, NOTICES = 64 };

struct region {
    unsigned char *base; /* NULL: free */
    size_t bytes;
};

struct weft_net {
    struct weft_net_open open;
    struct weft_lock lock; /* over all below: reg, put and the receive side are three threads */
    struct region regions[REGIONS];
    uint32_t notices[NOTICES];
    uint32_t head, tail;
    struct weft_bell bells[2]; /* by side */
    void *done[NOTICES];       /* cookies of puts whose events are due */
    uint32_t done_count;
};

static weft_status null_open(struct weft_net **net, const struct weft_net_open *open)
{
    struct weft_net *n = calloc(1, sizeof(*n));
    if (n == NULL)
        return weft_err(WEFT_ERR_MEMORY, "null network: no %zu bytes for its state", sizeof(*n));
    n->open = *open;
    *net = n;
    return WEFT_OK;
}

static void null_close(struct weft_net *net)
{
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
    weft_lock(&net->lock);
    for (int i = 0; i < REGIONS; i++) {
        if (net->regions[i].base == NULL) {
            net->regions[i] = (struct region){base, bytes};
            weft_unlock(&net->lock);
            *key = (uint64_t)i;
            return WEFT_OK;
        }
    }
    weft_unlock(&net->lock);
    return weft_err(WEFT_ERR_LIMIT, "null network: all %d regions are in use", REGIONS);
}

static void null_dereg(struct weft_net *net, uint64_t key)
{
    weft_lock(&net->lock);
    net->regions[key].base = NULL;
    weft_unlock(&net->lock);
}

static weft_status null_put(struct weft_net *net, const struct weft_net_put *put)
{
    weft_status status = WEFT_OK;

    weft_lock(&net->lock);
    if (net->done_count == NOTICES || (put->notice != 0 && net->head - net->tail == NOTICES)) {
        status = WEFT_NET_FULL;
    } else if (put->bytes != 0 && (put->key >= REGIONS || net->regions[put->key].base == NULL ||
                                   put->offset > net->regions[put->key].bytes ||
                                   put->bytes > net->regions[put->key].bytes - put->offset)) {
        status = WEFT_ERR_BOUNDS;
    } else {
        if (put->bytes != 0)
            weft_land(net->regions[put->key].base + put->offset, put->source, put->bytes);
        if (put->notice != 0)
            net->notices[net->head++ % NOTICES] = put->notice;
        net->done[net->done_count++] = put->cookie;
    }
    weft_unlock(&net->lock);
    weft_bell_ring(&net->bells[WEFT_NET_RECEIVE]);
    return status;
}

static weft_status null_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    const struct weft_net_events *events = &net->open.events;

    if (side == WEFT_NET_SEND) {
        for (uint32_t i = 0; i < net->done_count; i++) {
            events->sent(events->context, net->done[i]);
            events->landed(events->context, net->done[i]);
            *did = true;
        }
        net->done_count = 0;
        return WEFT_OK;
    }
    for (;;) {
        uint32_t notice = 0;
        weft_lock(&net->lock);
        if (net->tail != net->head)
            notice = net->notices[net->tail++ % NOTICES];
        weft_unlock(&net->lock);
        if (notice == 0)
            return WEFT_OK;
        *did = true;
        if (!events->arrived(events->context, net->open.process, notice))
            return weft_err(WEFT_ERR_PROTOCOL, "null network: malformed notice 0x%08x", notice);
    }
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
