/*
 * net/mpi/receive.c - messages come in, and take effect in the order in which they were sent.
 *
 * A message is taken off MPI's queue whoever sent it, and waits in the list of its sender; only the
 * first of a list is looked at. So while the payload of a large put is still under way, into the
 * window itself, what its sender sent later waits behind it, and all other senders go on. The list
 * is bounded: nobody sends more than WEFT_MPI_WINDOW messages ahead of the acknowledgement.
 *
 * What has taken effect is acknowledged by what goes back anyway; or, when nothing does for a
 * moment or much has come together, by a message of its own.
 */
#include "net/mpi/end.h"

#include "base/atomic.h"
#include "base/say.h"

#include <stdlib.h>

enum {
    BATCH = 64,          /* messages taken in a turn */
    ACK_WAIT_NS = 20000, /* how long an acknowledgement waits to be taken along */
    ACK_AT = WEFT_MPI_WINDOW / 4
};

static weft_status failed(struct weft_net *net, int process, int error, const char *what)
{
    char text[256];

    net->ops->explain(error, text, sizeof(text));
    if (process < 0)
        return weft_err(WEFT_ERR_NETWORK, "mpi (%s): %s: %s", net->ops->name, what, text);
    return weft_err(WEFT_ERR_NETWORK, "mpi (%s): %s from process %d: %s", net->ops->name, what,
                    process, text);
}

/* ---- what has taken effect --------------------------------------------------------------------
 */

/* Tells post, and by it the peer, that all taken so far is there. */
static void publish(struct weft_net *net, struct weft_mpi_peer *peer)
{
    weft_store_release_u32(&peer->applied, peer->taken, ORDER_ring_credit);
    if (!peer->is_owing) {
        peer->is_owing = true;
        peer->owed_since = weft_now_ns();
        peer->next_owing = net->owing;
        net->owing = peer;
    }
}

static void free_in(struct weft_net *net, struct weft_mpi_in *in)
{
    in->next = net->free_in;
    net->free_in = in;
}

/* Where data lands later than it is applied: all of it is there when this returns. */
static weft_status settle(struct weft_net *net)
{
    if (net->unsettled == NULL)
        return WEFT_OK;
    if (!net->open.events.settle(net->open.events.context))
        return weft_err(WEFT_ERR_DEVICE, "mpi: data did not reach the device");
    while (net->unsettled != NULL) {
        struct weft_mpi_in *in = net->unsettled;
        net->unsettled = in->next;
        free_in(net, in);
    }
    for (int p = 0; p < net->open.processes; p++) {
        struct weft_mpi_peer *peer = &net->peers[p];
        if (peer->taken != weft_load_relaxed_u32(&peer->applied))
            publish(net, peer);
    }
    return WEFT_OK;
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

/* ---- a payload of its own ---------------------------------------------------------------------
 */

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
    return error == 0 ? WEFT_OK : failed(net, peer->process, error, "MPI_Irecv");
}

/* *done: the payload is in the window, and nothing is held any more. */
static weft_status end_payload(struct weft_net *net, struct weft_mpi_peer *peer,
                               const struct weft_mpi_message *message, bool *done)
{
    size_t bytes = 0;
    const int error = net->ops->test(&peer->landing_request, done, &bytes);

    if (error != 0 && net->ops->truncated(error))
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d announced %llu bytes and sent more",
                        peer->process, (unsigned long long)message->bytes);
    if (error != 0)
        return failed(net, peer->process, error, "receiving a payload");
    if (!*done)
        return WEFT_OK;
    if (bytes != message->bytes)
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d announced %llu bytes and sent %zu",
                        peer->process, (unsigned long long)message->bytes, bytes);
    if (peer->bounce != NULL && !net->closing) {
        /* There before the memory it came through is freed. */
        if (!weft_regions_land(&net->regions, message->key, message->offset, peer->bounce, bytes))
            return outside(peer, message);
        if (!net->open.events.settle(net->open.events.context))
            return weft_err(WEFT_ERR_DEVICE, "mpi: data did not reach the device");
    }
    if (peer->landing != NULL)
        weft_regions_let_go(&net->regions, message->key);
    free(peer->bounce);
    peer->landing = peer->bounce = NULL;
    return WEFT_OK;
}

/* ---- one message ------------------------------------------------------------------------------
 */

static weft_status malformed(const struct weft_mpi_peer *peer, size_t bytes, const char *why)
{
    return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d sent a message of %zu bytes: %s",
                    peer->process, bytes, why);
}

/* What the other end says of this one's puts; it never goes back. */
static weft_status take_ack(struct weft_mpi_peer *peer, uint32_t acked)
{
    const uint32_t before = weft_load_relaxed_u32(&peer->acked);

    /* Two threads of the other end send acknowledgements: the older may come later. */
    if ((int32_t)(acked - before) <= 0)
        return WEFT_OK;
    /* `made` is as new as any message that the other end can have seen. */
    const uint32_t made = weft_load_relaxed_u32(&peer->made);
    if ((int32_t)(acked - made) > 0)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "mpi: process %d acknowledges message %u; the last one to it was %u",
                        peer->process, acked, made);
    weft_store_release_u32(&peer->acked, acked, ORDER_ring_credit);
    return WEFT_OK;
}

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

/* The first of a peer's messages. *done: it has taken effect, or is on its way to the device. */
static weft_status advance(struct weft_net *net, struct weft_mpi_peer *peer,
                           const struct weft_mpi_in *in, bool *done)
{
    struct weft_mpi_message message;
    const char *wrong = weft_mpi_message_get(&message, in->wire, in->bytes);
    weft_status status = WEFT_OK;

    if (wrong != NULL)
        return malformed(peer, in->bytes, wrong);
    const bool put = message.kind == WEFT_MPI_PUT || message.kind == WEFT_MPI_LARGE;
    if (put && message.sequence != peer->expected)
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: message %u of process %d came as number %u",
                        message.sequence, peer->process, peer->expected);
    *done = true;
    if (message.kind == WEFT_MPI_PUT) {
        status = apply(net, peer, &message, in);
    } else if (message.kind == WEFT_MPI_LARGE) {
        if (peer->landing == NULL && peer->bounce == NULL)
            status = begin_payload(net, peer, &message);
        *done = false;
        if (status == WEFT_OK)
            status = end_payload(net, peer, &message, done);
    }
    if (status != WEFT_OK || !*done)
        return status;
    if (put)
        status = notify(net, peer, message.notice);
    if (status == WEFT_OK)
        status = take_ack(peer, message.acked);
    if (status == WEFT_OK && put) {
        peer->expected++;
        peer->taken++;
    }
    peer->bye |= message.kind == WEFT_MPI_BYE;
    return status;
}

/* ---- a peer's messages ------------------------------------------------------------------------
 */

static void drop_first(struct weft_net *net, struct weft_mpi_peer *peer)
{
    struct weft_mpi_in *in = peer->first_in;

    peer->first_in = in->next;
    if (peer->first_in == NULL)
        peer->last_in = NULL;
    peer->waiting--;
    if (net->open.events.settle == NULL || net->closing) {
        free_in(net, in);
        if (peer->taken != weft_load_relaxed_u32(&peer->applied))
            publish(net, peer);
    } else {
        in->next = net->unsettled;
        net->unsettled = in;
    }
}

/* All of them that can take effect now. */
static weft_status serve_peer(struct weft_net *net, struct weft_mpi_peer *peer, bool *did)
{
    struct weft_mpi_in *in;

    while ((in = peer->first_in) != NULL) {
        bool done = false;
        size_t bytes = 0;
        const int error = in->received ? 0 : net->ops->test(&in->request, &in->received, &bytes);
        if (error != 0)
            return failed(net, peer->process, error, "receiving");
        if (!in->received)
            return WEFT_OK;
        weft_status status = advance(net, peer, in, &done);
        if (status != WEFT_OK)
            return status;
        if (!done)
            return WEFT_OK;
        drop_first(net, peer);
        *did = true;
    }
    return WEFT_OK;
}

static weft_status serve_waiting(struct weft_net *net, bool *did)
{
    struct weft_mpi_peer **place = &net->waiting;

    while (*place != NULL) {
        struct weft_mpi_peer *peer = *place;
        weft_status status = serve_peer(net, peer, did);
        if (status != WEFT_OK)
            return status;
        if (peer->first_in != NULL) {
            place = &peer->next_waiting;
        } else {
            *place = peer->next_waiting;
            peer->is_waiting = false;
        }
    }
    return WEFT_OK;
}

/* A message that MPI has matched goes into its sender's list. */
static weft_status enlist(struct weft_net *net, struct weft_mpi_peer *peer, size_t bytes,
                          struct weft_mpi_handle *matched)
{
    const size_t most = WEFT_MPI_HEADER_BYTES + net->eager;
    struct weft_mpi_in *in = net->free_in;

    if (bytes > most)
        return malformed(peer, bytes, "longer than the eager limit allows");
    /* Besides puts: two kinds of acknowledgements on their way, and a good-bye. */
    if (peer->waiting >= 2 * WEFT_MPI_WINDOW)
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d sends more than %u messages ahead",
                        peer->process, peer->waiting);
    if (in != NULL)
        net->free_in = in->next;
    else
        in = malloc(sizeof(*in) + most);
    if (in == NULL)
        return weft_err(WEFT_ERR_MEMORY, "mpi: no memory for a message of %zu bytes", most);
    *in = (struct weft_mpi_in){.bytes = bytes};
    const int error = net->ops->imrecv(matched, in->wire, bytes, &in->request);
    if (error != 0) {
        free_in(net, in);
        return failed(net, peer->process, error, "MPI_Imrecv");
    }
    *(peer->last_in != NULL ? &peer->last_in->next : &peer->first_in) = in;
    peer->last_in = in;
    peer->waiting++;
    if (!peer->is_waiting) {
        peer->is_waiting = true;
        peer->next_waiting = net->waiting;
        net->waiting = peer;
    }
    return WEFT_OK;
}

static weft_status take_new(struct weft_net *net, bool *did)
{
    for (int n = 0; n < BATCH; n++) {
        struct weft_mpi_handle matched;
        bool found;
        int rank;
        size_t bytes;
        const int error =
            net->ops->improbe(&net->comm, WEFT_MPI_TAG_MESSAGE, &found, &rank, &bytes, &matched);
        if (error != 0)
            return failed(net, -1, error, "MPI_Improbe");
        if (!found)
            return WEFT_OK;
        if (rank < 0 || rank >= net->open.processes || net->process_of[rank] < 0)
            return weft_err(WEFT_ERR_PROTOCOL, "mpi: a message of rank %d, which is no process",
                            rank);
        weft_status status = enlist(net, &net->peers[net->process_of[rank]], bytes, &matched);
        if (status != WEFT_OK)
            return status;
        *did = true;
    }
    return WEFT_OK;
}

/* ---- acknowledgements -------------------------------------------------------------------------
 */

static weft_status send_ack(struct weft_net *net, struct weft_mpi_peer *peer)
{
    const uint32_t applied = weft_load_relaxed_u32(&peer->applied);
    const struct weft_mpi_message ack = {.kind = WEFT_MPI_ACK, .acked = applied};

    weft_mpi_message_put(peer->ack_wire, &ack);
    const int error = net->ops->isend(&net->comm, peer->ack_wire, sizeof(peer->ack_wire),
                                      peer->rank, WEFT_MPI_TAG_MESSAGE, &peer->ack_request);
    if (error != 0)
        return failed(net, peer->process, error, "MPI_Isend of an acknowledgement");
    peer->acking = true;
    weft_tell_u32(&peer->told, applied);
    return WEFT_OK;
}

/* One at a time to a peer. *owing: it has to be looked at again. */
static weft_status acknowledge(struct weft_net *net, struct weft_mpi_peer *peer, uint64_t now,
                               bool *owing)
{
    /* After a good-bye nothing may follow. */
    const uint32_t owed =
        net->closing ? 0
                     : weft_load_relaxed_u32(&peer->applied) - weft_load_relaxed_u32(&peer->told);
    bool done = true;
    size_t bytes;

    *owing = true;
    if (peer->acking) {
        const int error = net->ops->test(&peer->ack_request, &done, &bytes);
        if (error != 0)
            return failed(net, peer->process, error, "sending an acknowledgement");
        peer->acking = !done;
        if (!done)
            return WEFT_OK;
    }
    if (owed == 0)
        *owing = false;
    else if (owed >= ACK_AT || now - peer->owed_since >= ACK_WAIT_NS)
        return send_ack(net, peer);
    return WEFT_OK;
}

static weft_status serve_owing(struct weft_net *net)
{
    const uint64_t now = net->owing != NULL ? weft_now_ns() : 0;
    struct weft_mpi_peer **place = &net->owing;

    while (*place != NULL) {
        struct weft_mpi_peer *peer = *place;
        bool owing;
        weft_status status = acknowledge(net, peer, now, &owing);
        if (status != WEFT_OK)
            return status;
        if (owing) {
            place = &peer->next_owing;
        } else {
            *place = peer->next_owing;
            peer->is_owing = false;
        }
    }
    return WEFT_OK;
}

/* ---- a turn -----------------------------------------------------------------------------------
 */

weft_status weft_mpi_receive_turn(struct weft_net *net, bool *did)
{
    weft_status status = take_new(net, did);

    if (status == WEFT_OK)
        status = serve_waiting(net, did);
    if (status == WEFT_OK)
        status = settle(net);
    if (status == WEFT_OK)
        status = serve_owing(net);
    return status == WEFT_OK ? WEFT_OK : weft_mpi_broken(net, status);
}

static void free_list(struct weft_mpi_in *in)
{
    while (in != NULL) {
        struct weft_mpi_in *next = in->next;
        free(in);
        in = next;
    }
}

void weft_mpi_receive_close(struct weft_net *net)
{
    free_list(net->free_in);
    free_list(net->unsettled);
    for (int p = 0; p < net->open.processes; p++) {
        free_list(net->peers[p].first_in);
        free(net->peers[p].bounce);
    }
}
