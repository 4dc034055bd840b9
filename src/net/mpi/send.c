/*
 * net/mpi/send.c - puts become messages, and messages requests of MPI.
 *
 * A put up to the eager limit is copied behind its header: one message, and its source is free at
 * once. A larger one is cut into pieces; each is a header, and right after it the payload, read by
 * MPI from the source itself. MPI keeps the order of what one thread sends to one process in one
 * communicator under one tag, and one thread posts, so headers arrive in the order in which puts
 * were accepted, and so do payloads. The rest of the order is the receiver's (receive.c).
 */
#include "net/mpi/end.h"

#include "base/say.h"
#include "order/atomic.h"

#include <stdlib.h>

enum {
    OUT_MOST = 1024, /* messages that may wait or be with MPI, to all peers */
    LOOKS = 32       /* of them, how many are looked at in a turn */
};

static void list_add(struct weft_net_mpi_out_list *list, struct weft_net_mpi_out *out)
{
    out->next = NULL;
    *(list->first != NULL ? &list->last->next : &list->first) = out;
    list->last = out;
}

static struct weft_net_mpi_out *list_take(struct weft_net_mpi_out_list *list)
{
    struct weft_net_mpi_out *out = list->first;

    if (out != NULL)
        list->first = out->next;
    return out;
}

static struct weft_net_mpi_out *take_locked(struct weft_net *net,
                                            struct weft_net_mpi_out_list *list)
{
    weft_lock(&net->lock);
    struct weft_net_mpi_out *out = list_take(list);
    weft_unlock(&net->lock);
    return out;
}

static void add_locked(struct weft_net *net, struct weft_net_mpi_out_list *list,
                       struct weft_net_mpi_out *out)
{
    weft_lock(&net->lock);
    list_add(list, out);
    weft_unlock(&net->lock);
}

/* ---- post: what was made goes to MPI ------------------------------------------------------- */

static weft_status post(struct weft_net *net, struct weft_net_mpi_out *out)
{
    struct weft_net_mpi_peer *peer = &net->peers[out->process];
    const bool inside = out->message.kind != WEFT_NET_MPI_LARGE;
    const size_t bytes = WEFT_NET_MPI_HEADER_BYTES + (inside ? out->message.bytes : 0);

    /* What this says has landed lies in the memory of this process: the load orders the target's
     * stores before all that the other end does once it hears of it. */
    out->message.acked = weft_load_acquire_u32(&peer->applied, ORDER_ring_space);
    weft_net_mpi_message_put(out->wire, &out->message);
    int error = net->ops->isend(&net->comm, out->wire, bytes, peer->rank, WEFT_NET_MPI_TAG_MESSAGE,
                                &out->header_request);
    if (error != 0)
        return weft_net_mpi_failed(net, "to", out->process, error, "MPI_Isend");
    weft_tell_u32(&peer->told, out->message.acked);
    if (out->payload == NULL)
        return WEFT_OK;
    error = net->ops->isend(&net->comm, out->payload, out->payload_bytes, peer->rank,
                            WEFT_NET_MPI_TAG_PAYLOAD, &out->payload_request);
    return error == 0
               ? WEFT_OK
               : weft_net_mpi_failed(net, "to", out->process, error, "MPI_Isend of a payload");
}

static weft_status test_one(struct weft_net *net, struct weft_net_mpi_out *out,
                            struct weft_mpi_handle *request, bool *done)
{
    size_t bytes;
    const int error = *done ? 0 : net->ops->test(request, done, &bytes);

    return error == 0 ? WEFT_OK : weft_net_mpi_failed(net, "to", out->process, error, "sending");
}

/* Whether MPI has done with a message, both parts of it. */
static weft_status test(struct weft_net *net, struct weft_net_mpi_out *out, bool *done)
{
    weft_status status = test_one(net, out, &out->header_request, &out->header_done);

    if (status == WEFT_OK)
        status = test_one(net, out, &out->payload_request, &out->payload_done);
    *done = out->header_done && out->payload_done;
    return status;
}

/* Looks at some of what MPI has; those that are not done go behind the others. */
static weft_status look_at_sends(struct weft_net *net, bool *did)
{
    struct weft_net_mpi_out *last = net->posted.last;

    for (int n = 0; n < LOOKS && net->posted.first != NULL; n++) {
        struct weft_net_mpi_out *out = list_take(&net->posted);
        bool done = false;
        weft_status status = test(net, out, &done);
        if (done)
            add_locked(net, &net->finished, out);
        else
            list_add(&net->posted, out);
        if (status != WEFT_OK)
            return status;
        *did |= done;
        if (out == last)
            break;
    }
    return WEFT_OK;
}

static weft_status post_all(struct weft_net *net, bool *did)
{
    struct weft_net_mpi_out *out;

    while ((out = take_locked(net, &net->made)) != NULL) {
        weft_status status = post(net, out);
        list_add(&net->posted, out);
        if (status != WEFT_OK)
            return weft_net_mpi_broken(net, status);
        *did = true;
    }
    return WEFT_OK;
}

weft_status weft_net_mpi_post_turn(struct weft_net *net, bool *did)
{
    weft_status status = post_all(net, did);

    if (status == WEFT_OK)
        status = look_at_sends(net, did);
    return status == WEFT_OK ? WEFT_OK : weft_net_mpi_broken(net, status);
}

/* ---- put: from puts to messages, and back to what is reported ------------------------------ */

/* *out NULL: so many are under way that this one has to wait. */
static weft_status new_out(struct weft_net *net, struct weft_net_mpi_out **out)
{
    const size_t bytes = sizeof(**out) + WEFT_NET_MPI_HEADER_BYTES + net->eager;

    *out = net->free_out;
    if (*out != NULL)
        net->free_out = (*out)->next;
    else if (net->made_out == OUT_MOST)
        return WEFT_OK;
    else if ((*out = malloc(bytes)) != NULL)
        net->made_out++;
    if (*out == NULL)
        return weft_err(WEFT_ERR_MEMORY, "mpi: no memory for a message of %zu bytes", bytes);
    return WEFT_OK;
}

/* One part of a put's source less that MPI may read; the last one frees it. */
static void read_part(struct weft_net *net, struct weft_net_mpi_put *put)
{
    if (--put->unread > 0)
        return;
    put->told = true;
    net->open.events.sent(net->open.events.context, put->cookie);
}

/* The next message of the current put. */
static void make_message(struct weft_net *net, struct weft_net_mpi_peer *peer,
                         struct weft_net_mpi_out *out)
{
    const struct weft_net_put *put = &peer->current;
    struct weft_net_mpi_put *record =
        &peer->puts[(peer->first + peer->count - 1) % WEFT_NET_MPI_WINDOW];
    const unsigned char *source = (const unsigned char *)put->source + peer->done;
    const size_t left = put->bytes - peer->done;
    const size_t bytes = left < WEFT_NET_MPI_PIECE ? left : WEFT_NET_MPI_PIECE;
    const bool rows = put->rows > 1, eager = rows || bytes <= net->eager, last = bytes == left;

    *out = (struct weft_net_mpi_out){
        .process = put->process,
        .payload_done = eager,
        .message = {.kind = rows    ? WEFT_NET_MPI_ROWS
                            : eager ? WEFT_NET_MPI_PUT
                                    : WEFT_NET_MPI_LARGE,
                    .sequence = ++peer->sequence,
                    .notice = last ? put->notice : 0,
                    .key = put->key,
                    .offset = put->offset + peer->done,
                    .bytes = bytes},
    };
    if (bytes == 0) {
        /* A notice alone: there may be no source. */
    } else if (rows) {
        out->message.bytes =
            (uint32_t)weft_net_rows_pack(out->wire + WEFT_NET_MPI_HEADER_BYTES, put);
    } else if (eager) {
        weft_read_shared(out->wire + WEFT_NET_MPI_HEADER_BYTES, source, bytes);
    } else {
        out->put = record;
        out->payload = source;
        out->payload_bytes = bytes;
        record->unread++;
    }
    peer->done += bytes;
    peer->active = !last;
    record->end = peer->sequence;
    weft_store_relaxed_u32(&peer->made, peer->sequence);
    add_locked(net, &net->made, out);
    if (last)
        read_part(net, record);
}

/* Makes messages of the current put while there is room. */
static weft_status pump(struct weft_net *net, struct weft_net_mpi_peer *peer, bool *did)
{
    const uint32_t acked = weft_load_acquire_u32(&peer->acked, ORDER_ring_space);

    while (peer->active && peer->sequence - acked < WEFT_NET_MPI_WINDOW) {
        struct weft_net_mpi_out *out;
        weft_status status = new_out(net, &out);
        if (status != WEFT_OK || out == NULL)
            return status;
        make_message(net, peer, out);
        *did = true;
    }
    return WEFT_OK;
}

weft_status weft_net_mpi_put(struct weft_net *net, const struct weft_net_put *put)
{
    struct weft_net_mpi_peer *peer = &net->peers[put->process];
    bool did = false;

    if (peer->active || peer->count == WEFT_NET_MPI_WINDOW)
        return WEFT_NET_FULL;
    if (peer->puts == NULL)
        peer->puts = calloc(WEFT_NET_MPI_WINDOW, sizeof(*peer->puts));
    if (peer->puts == NULL)
        return weft_err(WEFT_ERR_MEMORY, "mpi: no memory for %d puts to process %d",
                        WEFT_NET_MPI_WINDOW, put->process);
    peer->puts[(peer->first + peer->count++) % WEFT_NET_MPI_WINDOW] =
        (struct weft_net_mpi_put){.cookie = put->cookie, .unread = 1};
    peer->current = *put;
    peer->done = 0;
    peer->active = true;
    weft_net_mpi_enlist(net, WEFT_NET_MPI_BUSY, peer);
    weft_status status = pump(net, peer, &did);
    if (status != WEFT_OK)
        return weft_net_mpi_broken(net, status);
    return net->single ? WEFT_OK : post_all(net, &did);
}

/* Reports what has landed at a peer, in order. */
static void report(struct weft_net *net, struct weft_net_mpi_peer *peer, bool *did)
{
    const uint32_t acked = weft_load_acquire_u32(&peer->acked, ORDER_ring_space);

    while (peer->count > 0) {
        const struct weft_net_mpi_put *put = &peer->puts[peer->first % WEFT_NET_MPI_WINDOW];
        void *cookie = put->cookie;
        if (!put->told || (int32_t)(acked - put->end) < 0)
            break;
        peer->first++;
        peer->count--;
        *did = true;
        net->open.events.landed(net->open.events.context, cookie);
    }
}

static weft_status serve_peer(struct weft_net *net, struct weft_net_mpi_peer *peer, bool *keep,
                              bool *did)
{
    report(net, peer, did);
    weft_status status = pump(net, peer, did);
    *keep = peer->active || peer->count > 0;
    return status == WEFT_OK ? WEFT_OK : weft_net_mpi_broken(net, status);
}

weft_status weft_net_mpi_send_turn(struct weft_net *net, bool *did)
{
    struct weft_net_mpi_out *out;
    weft_status status = net->single ? WEFT_OK : weft_net_mpi_post_turn(net, did);

    if (status != WEFT_OK)
        return status;
    while ((out = take_locked(net, &net->finished)) != NULL) {
        if (out->put != NULL)
            read_part(net, out->put);
        out->next = net->free_out;
        net->free_out = out;
        *did = true;
    }
    return weft_net_mpi_serve(net, WEFT_NET_MPI_BUSY, serve_peer, did);
}

/* ---- the end ------------------------------------------------------------------------------- */

weft_status weft_net_mpi_say_bye(struct weft_net *net, struct weft_net_mpi_peer *peer)
{
    struct weft_net_mpi_out *out = calloc(1, sizeof(*out) + WEFT_NET_MPI_HEADER_BYTES + net->eager);

    if (out == NULL)
        return WEFT_ERR_MEMORY;
    out->process = peer->process;
    out->payload_done = true;
    out->message.kind = WEFT_NET_MPI_BYE;
    list_add(&net->made, out);
    return WEFT_OK;
}

static void free_list(struct weft_net_mpi_out *out)
{
    while (out != NULL) {
        struct weft_net_mpi_out *next = out->next;
        free(out);
        out = next;
    }
}

void weft_net_mpi_send_close(struct weft_net *net)
{
    free_list(net->free_out);
    free_list(net->made.first);
    free_list(net->finished.first);
    free_list(net->posted.first);
    for (int p = 0; p < net->open.processes; p++)
        free(net->peers[p].puts);
}
