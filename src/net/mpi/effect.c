/*
 * net/mpi/effect.c - a message takes effect: its payload goes where it belongs, then it counts.
 *
 * The payload came along, or is a message of its own, which MPI stores to the window itself. The
 * first message of a sender is looked at until it has taken effect; what is behind it waits.
 */
#include "net/mpi/end.h"

#include "base/say.h"
#include "order/atomic.h"

#include <stdlib.h>

enum {
    MARKS = 4,  /* batches of data on their way to the device that are told apart */
    BOUNCES = 2 /* payloads of a peer on their way there; a third is not begun */
};

weft_status weft_mpi_malformed(const struct weft_mpi_peer *peer, size_t bytes, const char *why)
{
    return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d sent a message of %zu bytes: %s",
                    peer->process, bytes, why);
}

/* ---- on the way to the device -------------------------------------------------------------- */

static weft_status not_there(void)
{
    return weft_err(WEFT_ERR_DEVICE, "mpi: data did not reach the device");
}

void weft_mpi_unsettled(struct weft_net *net, struct weft_mpi_in *in)
{
    in->next = NULL;
    *(net->unsettled != NULL ? &net->last_unsettled->next : &net->unsettled) = in;
    net->last_unsettled = in;
    if (net->unmarked == NULL)
        net->unmarked = in;
    in->peer->bounces += in->bounce != NULL;
}

/* One mark for all that has come since the last, unless there are many marks already. */
static weft_status mark_new(struct weft_net *net)
{
    uint64_t mark;

    if (net->unmarked == NULL || net->marks == MARKS)
        return WEFT_OK;
    if (!net->open.events.mark(net->open.events.context, &mark))
        return not_there();
    for (; net->unmarked != NULL; net->unmarked = net->unmarked->next)
        net->unmarked->mark = mark;
    net->marks++;
    return WEFT_OK;
}

weft_status weft_mpi_settle(struct weft_net *net, bool *did)
{
    const struct weft_net_events *events = &net->open.events;
    weft_status status = mark_new(net);

    while (status == WEFT_OK && net->unsettled != net->unmarked) {
        const uint64_t mark = net->unsettled->mark;
        bool there = true;
        *did = true; /* nothing rings when it is there */
        if (!events->settled(events->context, mark, &there))
            return not_there();
        if (!there)
            break;
        while (net->unsettled != net->unmarked && net->unsettled->mark == mark) {
            struct weft_mpi_in *in = net->unsettled;
            net->unsettled = in->next;
            in->peer->bounces -= in->bounce != NULL;
            weft_mpi_publish(net, in->peer, in->taken);
            weft_mpi_free_in(net, in);
        }
        net->marks--;
        status = mark_new(net);
    }
    return status;
}

static weft_status notify(struct weft_net *net, struct weft_mpi_peer *peer, uint32_t notice)
{
    if (notice == 0 || net->closing ||
        net->open.events.arrived(net->open.events.context, peer->process, notice))
        return WEFT_OK;
    return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d sent the malformed notice 0x%08x",
                    peer->process, notice);
}

static weft_status outside(const struct weft_mpi_peer *peer, const struct weft_mpi_message *message)
{
    return weft_err(WEFT_ERR_PROTOCOL,
                    "mpi: process %d put %llu bytes at offset %llu of key 0x%llx, which is no "
                    "region of this process",
                    peer->process, (unsigned long long)message->bytes,
                    (unsigned long long)message->offset, (unsigned long long)message->key);
}

/* ---- a payload of its own ------------------------------------------------------------------ */

/* Whether MPI may store to windows: then it does, else the payload goes through host memory. */
static bool stores(const struct weft_net *net)
{
    return net->open.events.land == NULL && !net->closing;
}

/* The target is checked before a byte of the payload is accepted. */
static weft_status begin_payload(struct weft_net *net, struct weft_mpi_peer *peer,
                                 const struct weft_mpi_message *message)
{
    if (!net->closing) {
        peer->landing =
            weft_regions_hold(&net->regions, message->key, message->offset, message->bytes);
        if (peer->landing == NULL)
            return outside(peer, message);
    }
    if (!stores(net)) {
        peer->bounce = malloc(message->bytes);
        if (peer->bounce == NULL)
            return weft_err(WEFT_ERR_MEMORY, "mpi: no memory for %llu bytes from process %d",
                            (unsigned long long)message->bytes, peer->process);
    }
    const int error =
        net->ops->irecv(&net->comm, peer->bounce != NULL ? peer->bounce : peer->landing,
                        message->bytes, peer->rank, WEFT_MPI_TAG_PAYLOAD, &peer->landing_request);
    return error == 0 ? WEFT_OK : weft_mpi_receive_failed(net, peer->process, error, "MPI_Irecv");
}

/* *done: the payload is in the window, or in `in` and on its way there, and nothing is held. */
static weft_status end_payload(struct weft_net *net, struct weft_mpi_peer *peer,
                               const struct weft_mpi_message *message, struct weft_mpi_in *in,
                               bool *done)
{
    size_t bytes = 0;
    const int error = net->ops->test(&peer->landing_request, done, &bytes);

    if (error != 0 && net->ops->truncated(error))
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d announced %llu bytes and sent more",
                        peer->process, (unsigned long long)message->bytes);
    if (error != 0)
        return weft_mpi_receive_failed(net, peer->process, error, "receiving a payload");
    if (!*done)
        return WEFT_OK;
    if (bytes != message->bytes)
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d announced %llu bytes and sent %zu",
                        peer->process, (unsigned long long)message->bytes, bytes);
    if (peer->bounce != NULL && !net->closing &&
        !weft_regions_land(&net->regions, message->key, message->offset, peer->bounce, bytes))
        return outside(peer, message);
    if (peer->landing != NULL)
        weft_regions_let_go(&net->regions, message->key);
    in->bounce = peer->bounce;
    peer->landing = peer->bounce = NULL;
    return WEFT_OK;
}

/* ---- one message --------------------------------------------------------------------------- */

/* A put whose data came along. The message is kept until the data is where it belongs. */
static weft_status apply(struct weft_net *net, struct weft_mpi_peer *peer,
                         const struct weft_mpi_message *message, const struct weft_mpi_in *in)
{
    if (message->bytes != 0 && !net->closing &&
        !weft_regions_land(&net->regions, message->key, message->offset,
                           in->wire + WEFT_MPI_HEADER_BYTES, message->bytes))
        return outside(peer, message);
    return WEFT_OK;
}

weft_status weft_mpi_advance(struct weft_net *net, struct weft_mpi_peer *peer,
                             struct weft_mpi_in *in, bool *done)
{
    struct weft_mpi_message message;
    const char *wrong = weft_mpi_message_get(&message, in->wire, in->bytes);
    weft_status status = WEFT_OK;

    if (wrong != NULL)
        return weft_mpi_malformed(peer, in->bytes, wrong);
    const bool put = message.kind == WEFT_MPI_PUT || message.kind == WEFT_MPI_LARGE;
    if (put && message.sequence != peer->expected)
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: message %u of process %d came as number %u",
                        message.sequence, peer->process, peer->expected);
    *done = true;
    if (message.kind == WEFT_MPI_PUT) {
        status = apply(net, peer, &message, in);
    } else if (message.kind == WEFT_MPI_LARGE) {
        *done = false;
        if (peer->landing == NULL && peer->bounce == NULL) {
            if (peer->bounces == BOUNCES)
                return WEFT_OK;
            status = begin_payload(net, peer, &message);
        }
        if (status == WEFT_OK)
            status = end_payload(net, peer, &message, in, done);
    }
    if (status != WEFT_OK || !*done)
        return status;
    if (put)
        status = notify(net, peer, message.notice);
    if (status == WEFT_OK)
        status = weft_mpi_take_ack(peer, message.acked);
    if (status == WEFT_OK && put) {
        peer->expected++;
        in->peer = peer;
        in->taken = ++peer->taken;
    }
    peer->bye |= message.kind == WEFT_MPI_BYE;
    return status;
}
