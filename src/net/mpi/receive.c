/*
 * net/mpi/receive.c - messages come in, wait for their turn, and take effect. Receive thread only.
 *
 * A message is taken off MPI's queue whoever sent it, and waits in the list of its sender; only the
 * first of a list is looked at, until it has taken effect. The list is bounded: nobody sends more
 * than WEFT_NET_MPI_WINDOW messages ahead of the acknowledgement.
 *
 * The payload came along, or is a message of its own, which MPI stores to the window itself. What
 * has taken effect is acknowledged by what goes back anyway, or, when nothing does for a moment or
 * much has come together, by a message of its own.
 */
#include "net/mpi/end.h"

#include "base/say.h"
#include "net/receipt.h"
#include "order/atomic.h"

#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 64,          /* messages taken in a turn */
    BOUNCES = 2,         /* payloads of a peer on their way to the device; a third is not begun */
    ACK_WAIT_NS = 20000, /* how long an acknowledgement waits to be taken along */
    ACK_AT = WEFT_NET_MPI_WINDOW / 4
};

static weft_status malformed(const struct weft_net_mpi_peer *peer, size_t bytes, const char *why)
{
    return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d sent a message of %zu bytes: %s",
                    peer->process, bytes, why);
}

static void free_in(struct weft_net *net, struct weft_net_mpi_in *in)
{
    free(in->bounce);
    in->bounce = NULL;
    in->next = net->free_in;
    net->free_in = in;
}

/* ---- acknowledgements ---------------------------------------------------------------------- */

/* What the other end says of this one's puts; it never goes back. */
static weft_status take_ack(struct weft_net_mpi_peer *peer, uint32_t acked)
{
    const uint32_t before = weft_load_relaxed_u32(&peer->acked);

    /* `made` is as new as any message that the other end can have seen. */
    const uint32_t made = weft_load_relaxed_u32(&peer->made);
    const enum weft_receipt receipt = weft_receipt_check(before, made, acked);
    if (receipt == WEFT_RECEIPT_OLD)
        return WEFT_OK;
    if (receipt == WEFT_RECEIPT_FALSE)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "mpi: process %d acknowledges message %u; the last one to it was %u",
                        peer->process, acked, made);
    weft_store_release_u32(&peer->acked, acked, ORDER_ring_credit);
    return WEFT_OK;
}

static weft_status send_ack(struct weft_net *net, struct weft_net_mpi_peer *peer)
{
    const uint32_t applied = weft_load_relaxed_u32(&peer->applied);
    const struct weft_net_mpi_message ack = {.kind = WEFT_NET_MPI_ACK, .acked = applied};

    weft_net_mpi_message_put(peer->ack_wire, &ack);
    const int error = net->ops->isend(&net->comm, peer->ack_wire, sizeof(peer->ack_wire),
                                      peer->rank, WEFT_NET_MPI_TAG_MESSAGE, &peer->ack_request);
    if (error != 0)
        return weft_net_mpi_failed(net, "to", peer->process, error,
                                   "MPI_Isend of an acknowledgement");
    peer->acking = true;
    weft_tell_u32(&peer->told, applied);
    return WEFT_OK;
}

/* One at a time to a peer. */
static weft_status acknowledge(struct weft_net *net, struct weft_net_mpi_peer *peer, bool *keep,
                               bool *did)
{
    /* After a good-bye nothing may follow. */
    const uint32_t owed =
        net->closing ? 0
                     : weft_load_relaxed_u32(&peer->applied) - weft_load_relaxed_u32(&peer->told);
    bool done = true;
    size_t bytes;

    (void)did; /* nobody waits for it */
    *keep = true;
    if (peer->acking) {
        const int error = net->ops->test(&peer->ack_request, &done, &bytes);
        if (error != 0)
            return weft_net_mpi_failed(net, "to", peer->process, error,
                                       "sending an acknowledgement");
        peer->acking = !done;
        if (!done)
            return WEFT_OK;
    }
    *keep = owed != 0;
    return *keep && weft_receipt_due(owed, ACK_AT, weft_now_ns() - peer->owed_since, ACK_WAIT_NS)
               ? send_ack(net, peer)
               : WEFT_OK;
}

/* ---- until its data is there --------------------------------------------------------------- */

static void keep_taken(struct weft_net *net, struct weft_net_mpi_in *in)
{
    in->next = NULL;
    *(net->taken != NULL ? &net->last_taken->next : &net->taken) = in;
    net->last_taken = in;
    in->peer->bounces += in->bounce != NULL;
}

static weft_status end_batch(struct weft_net *net)
{
    if (net->taken == NULL || net->last_ended == net->last_taken ||
        !weft_arrive_has_room(&net->arrive))
        return WEFT_OK;
    net->last_ended = net->last_taken;
    return weft_arrive_batch_end(&net->arrive, (uintptr_t)net->last_taken);
}

weft_status weft_net_mpi_conclude(struct weft_net *net, uint64_t last)
{
    const struct weft_net_mpi_in *in;

    do {
        struct weft_net_mpi_in *first = net->taken;
        in = first;
        net->taken = first->next;
        if (net->last_ended == first)
            net->last_ended = NULL;
        first->peer->bounces -= first->bounce != NULL;
        /* Tells post, and by it the peer, that so many of its puts are there. */
        weft_store_release_u32(&first->peer->applied, first->taken, ORDER_ring_credit);
        if (!first->peer->links[WEFT_NET_MPI_OWING].in)
            first->peer->owed_since = weft_now_ns();
        weft_net_mpi_enlist(net, WEFT_NET_MPI_OWING, first->peer);
        free_in(net, first);
    } while ((uintptr_t)in != last);
    return WEFT_OK;
}

/* ---- a payload of its own ------------------------------------------------------------------ */

/* The target is checked before a byte of the payload is accepted. */
static weft_status begin_payload(struct weft_net *net, struct weft_net_mpi_peer *peer,
                                 const struct weft_net_mpi_message *message)
{
    if (!net->closing) {
        weft_status status = weft_arrive_hold(&net->arrive, peer->process, message->key,
                                              message->offset, message->bytes, &peer->landing);
        if (status != WEFT_OK)
            return status;
    }
    /* Else MPI stores to the window itself. */
    if (weft_arrive_is_later(&net->open) || net->closing) {
        peer->bounce = malloc(message->bytes);
        if (peer->bounce == NULL)
            return weft_err(WEFT_ERR_MEMORY, "mpi: no memory for %llu bytes from process %d",
                            (unsigned long long)message->bytes, peer->process);
    }
    const int error = net->ops->irecv(
        &net->comm, peer->bounce != NULL ? peer->bounce : peer->landing, message->bytes, peer->rank,
        WEFT_NET_MPI_TAG_PAYLOAD, &peer->landing_request);
    return error == 0 ? WEFT_OK
                      : weft_net_mpi_failed(net, "from", peer->process, error, "MPI_Irecv");
}

/* *done: the payload is in the window, or in `in`, and nothing is held. */
static weft_status end_payload(struct weft_net *net, struct weft_net_mpi_peer *peer,
                               const struct weft_net_mpi_message *message,
                               struct weft_net_mpi_in *in, bool *done)
{
    size_t bytes = 0;
    const int error = net->ops->test(&peer->landing_request, done, &bytes);

    if (error != 0 && net->ops->truncated(error))
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d announced %llu bytes and sent more",
                        peer->process, (unsigned long long)message->bytes);
    if (error != 0)
        return weft_net_mpi_failed(net, "from", peer->process, error, "receiving a payload");
    if (!*done)
        return WEFT_OK;
    if (bytes != message->bytes)
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d announced %llu bytes and sent %zu",
                        peer->process, (unsigned long long)message->bytes, bytes);
    if (peer->landing != NULL)
        weft_arrive_let_go(&net->arrive, message->key);
    in->bounce = peer->bounce;
    peer->landing = peer->bounce = NULL;
    return WEFT_OK;
}

/* ---- one message --------------------------------------------------------------------------- */

/* A put whose data came along, or is in `bounce`, or in the window already. */
static weft_status apply(struct weft_net *net, const struct weft_net_mpi_peer *peer,
                         const struct weft_net_mpi_message *message,
                         const struct weft_net_mpi_in *in)
{
    const unsigned char *const along = in->wire + WEFT_NET_MPI_HEADER_BYTES;
    const void *data = message->kind == WEFT_NET_MPI_PUT ? along : in->bounce;
    struct weft_net_rows rows;

    if (net->closing)
        return WEFT_OK;
    if (message->kind == WEFT_NET_MPI_ROWS) {
        memcpy(&rows, along, sizeof(rows));
        return weft_arrive_rows(&net->arrive, peer->process, message->key, message->offset, &rows,
                                along + sizeof(rows), message->bytes - sizeof(rows),
                                message->notice);
    }
    return weft_arrive_deliver(&net->arrive, peer->process, message->key, message->offset, data,
                               data != NULL ? message->bytes : 0, message->notice);
}

static weft_status advance(struct weft_net *net, struct weft_net_mpi_peer *peer,
                           struct weft_net_mpi_in *in, bool *done)
{
    struct weft_net_mpi_message message;
    const char *wrong = weft_net_mpi_message_get(&message, in->wire, in->bytes);
    weft_status status = WEFT_OK;

    if (wrong != NULL)
        return malformed(peer, in->bytes, wrong);
    const bool put = message.kind == WEFT_NET_MPI_PUT || message.kind == WEFT_NET_MPI_LARGE ||
                     message.kind == WEFT_NET_MPI_ROWS;
    if (put && message.sequence != peer->expected)
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: message %u of process %d came as number %u",
                        message.sequence, peer->process, peer->expected);
    *done = true;
    if (message.kind == WEFT_NET_MPI_LARGE) {
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
        status = apply(net, peer, &message, in);
    if (status == WEFT_OK)
        status = take_ack(peer, message.acked);
    if (status == WEFT_OK && put) {
        peer->expected++;
        in->peer = peer;
        in->taken = ++peer->taken;
    }
    peer->bye |= message.kind == WEFT_NET_MPI_BYE;
    return status;
}

/* ---- a peer's messages --------------------------------------------------------------------- */

static void drop_first(struct weft_net *net, struct weft_net_mpi_peer *peer)
{
    struct weft_net_mpi_in *in = peer->first_in;

    peer->first_in = in->next;
    peer->waiting--;
    if (in->peer != NULL)
        keep_taken(net, in);
    else
        free_in(net, in);
}

/* All of them that can take effect now. */
static weft_status serve_peer(struct weft_net *net, struct weft_net_mpi_peer *peer, bool *keep,
                              bool *did)
{
    struct weft_net_mpi_in *in;

    *keep = true;
    while ((in = peer->first_in) != NULL) {
        bool done = false;
        size_t bytes = 0;
        const int error = in->received ? 0 : net->ops->test(&in->request, &in->received, &bytes);
        if (error != 0)
            return weft_net_mpi_failed(net, "from", peer->process, error, "receiving");
        if (!in->received)
            return WEFT_OK;
        weft_status status = advance(net, peer, in, &done);
        if (status != WEFT_OK || !done)
            return status;
        drop_first(net, peer);
        *did = true;
    }
    *keep = false;
    return WEFT_OK;
}

/* A message that MPI has matched goes into its sender's list. */
static weft_status take_in(struct weft_net *net, struct weft_net_mpi_peer *peer, size_t bytes,
                           struct weft_mpi_handle *matched)
{
    const size_t most = WEFT_NET_MPI_HEADER_BYTES + net->eager;
    struct weft_net_mpi_in *in = net->free_in;

    if (bytes > most)
        return malformed(peer, bytes, "longer than the eager limit allows");
    /* Besides puts: two kinds of acknowledgements on their way, and a good-bye. */
    if (peer->waiting >= 2 * WEFT_NET_MPI_WINDOW)
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d sends more than %u messages ahead",
                        peer->process, peer->waiting);
    if (in != NULL)
        net->free_in = in->next;
    else
        in = malloc(sizeof(*in) + most);
    if (in == NULL)
        return weft_err(WEFT_ERR_MEMORY, "mpi: no memory for a message of %zu bytes", most);
    *in = (struct weft_net_mpi_in){.bytes = bytes};
    const int error = net->ops->imrecv(matched, in->wire, bytes, &in->request);
    if (error != 0) {
        free_in(net, in);
        return weft_net_mpi_failed(net, "from", peer->process, error, "MPI_Imrecv");
    }
    *(peer->first_in != NULL ? &peer->last_in->next : &peer->first_in) = in;
    peer->last_in = in;
    peer->waiting++;
    weft_net_mpi_enlist(net, WEFT_NET_MPI_WAITING, peer);
    return WEFT_OK;
}

static weft_status take_new(struct weft_net *net, bool *did)
{
    for (int n = 0; n < BATCH; n++) {
        struct weft_mpi_handle matched;
        bool found;
        int rank;
        size_t bytes;
        const int error = net->ops->improbe(&net->comm, WEFT_NET_MPI_TAG_MESSAGE, &found, &rank,
                                            &bytes, &matched);
        if (error != 0)
            return weft_mpi_failed(net->ops, error, "MPI_Improbe");
        if (!found)
            return WEFT_OK;
        if (rank < 0 || rank >= net->open.processes || net->process_of[rank] < 0)
            return weft_err(WEFT_ERR_PROTOCOL, "mpi: a message of rank %d, which is no process",
                            rank);
        weft_status status = take_in(net, &net->peers[net->process_of[rank]], bytes, &matched);
        if (status != WEFT_OK)
            return status;
        *did = true;
    }
    return WEFT_OK;
}

/* ---- a turn -------------------------------------------------------------------------------- */

weft_status weft_net_mpi_receive_turn(struct weft_net *net, bool *did)
{
    weft_status status = take_new(net, did);

    if (status == WEFT_OK)
        status = weft_net_mpi_serve(net, WEFT_NET_MPI_WAITING, serve_peer, did);
    if (status == WEFT_OK)
        status = weft_arrive_settle(&net->arrive, did);
    if (status == WEFT_OK)
        status = end_batch(net);
    if (status == WEFT_OK)
        status = weft_net_mpi_serve(net, WEFT_NET_MPI_OWING, acknowledge, did);
    return status == WEFT_OK ? WEFT_OK : weft_net_mpi_broken(net, status);
}

static void free_list(struct weft_net_mpi_in *in)
{
    while (in != NULL) {
        struct weft_net_mpi_in *next = in->next;
        free(in->bounce);
        free(in);
        in = next;
    }
}

void weft_net_mpi_receive_close(struct weft_net *net)
{
    weft_arrive_close(&net->arrive);
    free_list(net->free_in);
    free_list(net->taken);
    for (int p = 0; p < net->open.processes; p++) {
        free_list(net->peers[p].first_in);
        free(net->peers[p].bounce);
    }
}
