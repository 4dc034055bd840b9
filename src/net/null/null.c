/*
 * net/null/null.c - the network that reaches nobody but this process itself.
 *
 * It is the template for a transport (docs/adding-a-network.md): every function of the table in its
 * smallest form. A packet waits in a short queue, where the receive side finds it; when that has
 * released it, the send side says so. So two threads meet as on a real network.
 */
#include "base/say.h"
#include "net/transport.h"

#include <stdlib.h>

enum { PACKETS = 8, BYTES = 32768 };

struct weft_transport {
    int process;
    struct weft_bell bells[2]; /* by side */
    uint32_t taken, said;      /* packets: by the receive side, by the send side */
    struct weft_lock lock;     /* over what follows: each side is a thread */
    uint32_t sent, released;
    size_t lengths[PACKETS];
    _Alignas(8) unsigned char packets[PACKETS][BYTES];
};

static weft_status null_open(struct weft_transport **t, const struct weft_net_open *open)
{
    *t = calloc(1, sizeof(**t));
    if (*t == NULL)
        return weft_err(WEFT_ERR_MEMORY, "null network: no %zu bytes for its state", sizeof(**t));
    (*t)->process = open->process;
    return WEFT_OK;
}

static void null_close(struct weft_transport *t)
{
    free(t);
}

static void null_caps(const struct weft_transport *t, struct weft_transport_caps *caps)
{
    (void)t;
    *caps = (struct weft_transport_caps){.net = {.same_host_only = true, .own_process = true},
                                         .packet = BYTES,
                                         .depth = 2,
                                         .ordered = true,
                                         .acknowledges = true};
}

static weft_status null_address(struct weft_transport *t, void *address)
{
    (void)t, (void)address; /* address_bytes is 0 */
    return WEFT_OK;
}

static weft_status null_connect(struct weft_transport *t, int process, const void *address)
{
    (void)address;
    if (process != t->process)
        return weft_err(WEFT_ERR_UNSUPPORTED, "null network: process %d cannot be reached from %d",
                        process, t->process);
    return WEFT_OK;
}

static unsigned char *null_begin(struct weft_transport *t, int process, size_t *room)
{
    (void)process;
    weft_lock(&t->lock);
    const bool full = t->sent - t->released == PACKETS;
    weft_unlock(&t->lock);
    *room = BYTES;
    return full ? NULL : t->packets[t->sent % PACKETS];
}

static weft_status null_commit(struct weft_transport *t, int process, size_t bytes)
{
    (void)process;
    weft_lock(&t->lock);
    t->lengths[t->sent++ % PACKETS] = bytes;
    weft_unlock(&t->lock);
    weft_bell_ring(&t->bells[WEFT_NET_RECEIVE]);
    return WEFT_OK;
}

static int poll_send(struct weft_transport *t, struct weft_transport_event *event)
{
    weft_lock(&t->lock);
    *event = (struct weft_transport_event){
        .kind = WEFT_EVENT_SENT, .process = t->process, .count = t->released - t->said};
    weft_unlock(&t->lock);
    t->said += event->count;
    return event->count != 0;
}

static int null_poll(struct weft_transport *t, enum weft_net_side side,
                     struct weft_transport_event *events, int most)
{
    int count = 0;

    if (side == WEFT_NET_SEND)
        return poll_send(t, events);
    weft_lock(&t->lock);
    for (; count < most && t->taken != t->sent; count++, t->taken++)
        events[count] = (struct weft_transport_event){.kind = WEFT_EVENT_PACKET,
                                                      .process = t->process,
                                                      .bytes = t->packets[t->taken % PACKETS],
                                                      .length = t->lengths[t->taken % PACKETS]};
    weft_unlock(&t->lock);
    return count;
}

static void null_release(struct weft_transport *t, int process, uint64_t packet)
{
    (void)process, (void)packet; /* it is the oldest */
    weft_lock(&t->lock);
    t->released++;
    weft_unlock(&t->lock);
    weft_bell_ring(&t->bells[WEFT_NET_SEND]);
}

static struct weft_bell *null_bell(struct weft_transport *t, enum weft_net_side side)
{
    return &t->bells[side];
}

const struct weft_transport_ops weft_transport_null = {
    .name = "null",
    .open = null_open,
    .close = null_close,
    .caps = null_caps,
    .address = null_address,
    .connect = null_connect,
    .bell = null_bell,
    .begin = null_begin,
    .commit = null_commit,
    .poll = null_poll,
    .release = null_release,
};
