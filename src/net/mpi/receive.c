/*
 * net/mpi/receive.c - messages come in, and wait for their turn.
 *
 * A message is taken off MPI's queue whoever sent it, and waits in the list of its sender; only the
 * first of a list is looked at (effect.c). The list is bounded: nobody sends more than
 * WEFT_NET_MPI_WINDOW messages ahead of the acknowledgement.
 */
#include "net/mpi/end.h"

#include "base/say.h"
#include "order/atomic.h"

#include <stdlib.h>

enum { BATCH = 64 }; /* messages taken in a turn */

weft_status weft_net_mpi_failed(struct weft_net *net, const char *way, int process, int error,
                                const char *what)
{
    char text[256];

    net->ops->explain(error, text, sizeof(text));
    return weft_err(WEFT_ERR_NETWORK, "mpi (%s): %s %s process %d: %s", net->ops->name, what, way,
                    process, text);
}

void weft_net_mpi_free_in(struct weft_net *net, struct weft_net_mpi_in *in)
{
    free(in->bounce);
    in->bounce = NULL;
    in->next = net->free_in;
    net->free_in = in;
}

/* ---- a peer's messages --------------------------------------------------------------------- */

static void drop_first(struct weft_net *net, struct weft_net_mpi_peer *peer)
{
    struct weft_net_mpi_in *in = peer->first_in;

    peer->first_in = in->next;
    if (peer->first_in == NULL)
        peer->last_in = NULL;
    peer->waiting--;
    if (in->peer != NULL)
        weft_net_mpi_taken(net, in);
    else
        weft_net_mpi_free_in(net, in);
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
        weft_status status = weft_net_mpi_advance(net, peer, in, &done);
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
        return weft_net_mpi_malformed(peer, bytes, "longer than the eager limit allows");
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
        weft_net_mpi_free_in(net, in);
        return weft_net_mpi_failed(net, "from", peer->process, error, "MPI_Imrecv");
    }
    *(peer->last_in != NULL ? &peer->last_in->next : &peer->first_in) = in;
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
        status = weft_net_mpi_end_batch(net);
    if (status == WEFT_OK)
        status = weft_net_mpi_serve(net, WEFT_NET_MPI_OWING, weft_net_mpi_acknowledge, did);
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
