/* compat/mpi/point.c - point-to-point: sends, receives and probes are weft's messages. */
#include "request.h"

#include <stdlib.h>
#include <string.h>

/* ---- status ---------------------------------------------------------------------------------- */

void weftmpi_set_status(MPI_Status *status, int source, int tag, size_t bytes)
{
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    memset(status->MPI_internal, 0, sizeof(status->MPI_internal));
    memcpy(&status->MPI_internal[0], &bytes, sizeof(bytes));
}

size_t weftmpi_status_bytes(const MPI_Status *status)
{
    size_t bytes;

    memcpy(&bytes, &status->MPI_internal[0], sizeof(bytes));
    return bytes;
}

/* ---- checks ---------------------------------------------------------------------------------- */

int weftmpi_check_peer(struct weftmpi_comm *comm, const char *call, int peer, int tag, bool any)
{
    if ((peer < 0 || peer >= comm->size) && peer != MPI_PROC_NULL &&
        !(any && peer == MPI_ANY_SOURCE))
        return weftmpi_fail(comm, call, MPI_ERR_RANK, "rank %d of %d in %s", peer, comm->size,
                            comm->name);
    if (tag < 0 && !(any && tag == MPI_ANY_TAG))
        return weftmpi_fail(comm, call, MPI_ERR_TAG, "tag %d", tag);
    return MPI_SUCCESS;
}

/* A request of that call, which is not begun yet. */
static int open(struct weftmpi_request *request, enum weftmpi_way way, const char *call,
                const void *buffer, int count, MPI_Datatype type, int peer, int tag,
                MPI_Comm handle)
{
    struct weftmpi_comm *comm;

    TRY(weftmpi_comm_in(call, handle, &comm));
    weftmpi_request_open(request, way, call, comm);
    TRY(weftmpi_elements_in(comm, call, buffer, count, type, &request->elements));
    TRY(weftmpi_check_peer(comm, call, peer, tag, way == WEFTMPI_RECEIVE));
    request->peer = peer;
    request->tag = tag;
    return MPI_SUCCESS;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int begin_send(struct weftmpi_request *request)
{
    const size_t bytes = request->elements.bytes;
    const weft_comm comm = request->comm->messages;
    void *row;

    TRY(weftmpi_row(request, &request->elements, WEFTMPI_TAKE, &row));
    if (request->way == WEFTMPI_SEND_BUFFERED)
        return weftmpi_buffered(request, row, bytes);
    return weftmpi_request_failed(
        request, request->way == WEFTMPI_SEND_SYNCHRONOUS
                     ? weft_host_send_synchronous_begin(weftmpi.job, comm, request->peer,
                                                        request->tag, row, bytes, &request->op)
                     : weft_host_send_begin(weftmpi.job, comm, request->peer, request->tag, row,
                                            bytes, &request->op));
}

static int begin_receive(struct weftmpi_request *request)
{
    const int from = request->peer == MPI_ANY_SOURCE ? WEFT_ANY : request->peer;
    const int tag = request->tag == MPI_ANY_TAG ? WEFT_ANY : request->tag;
    void *row;

    TRY(weftmpi_row(request, &request->elements, WEFTMPI_FILL, &row));
    return weftmpi_request_failed(
        request, weft_host_receive_begin(weftmpi.job, request->comm->messages, from, tag, row,
                                         request->elements.bytes, &request->op));
}

int weftmpi_point_begin(struct weftmpi_request *request)
{
    if (request->peer != MPI_PROC_NULL)
        return request->way == WEFTMPI_RECEIVE ? begin_receive(request) : begin_send(request);
    if (request->way == WEFTMPI_RECEIVE)
        weftmpi_set_status(&request->status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    return MPI_SUCCESS;
}

/* ---- sends and receives ---------------------------------------------------------------------- */

#define GIVEN buffer, count, type, peer, tag, comm
#define TO    const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm
#define FROM  void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm

static int begin(struct weftmpi_request *request, enum weftmpi_way way, const char *call, TO)
{
    TRY(open(request, way, call, GIVEN));
    return weftmpi_point_begin(request);
}

/* The persistent form. */
#define INIT(name, way, ...)                                                                       \
    API(name##_init, (__VA_ARGS__, MPI_Request * request))                                         \
    {                                                                                              \
        OUT(request);                                                                              \
        struct weftmpi_request begun = {.persistent = true};                                       \
        TRY(open(&begun, way, __func__, GIVEN));                                                   \
        return weftmpi_request_keep(&begun, MPI_SUCCESS, request);                                 \
    }
#define SEND_FORMS(name, iname, way)                                                               \
    BOTH(name, iname, begin(&begun, way, __func__, GIVEN), TO)                                     \
    INIT(name, way, TO)

SEND_FORMS(Send, Isend, WEFTMPI_SEND)
SEND_FORMS(Ssend, Issend, WEFTMPI_SEND_SYNCHRONOUS)
SEND_FORMS(Rsend, Irsend, WEFTMPI_SEND)
SEND_FORMS(Bsend, Ibsend, WEFTMPI_SEND_BUFFERED)
BOTH_TOLD(Recv, Irecv, begin(&begun, WEFTMPI_RECEIVE, __func__, GIVEN), FROM)
INIT(Recv, WEFTMPI_RECEIVE, FROM)

/* ---- both ways ------------------------------------------------------------------------------- */

/*
 * A receive, and behind it a send, in one request, whose memory is both's. Where they have one
 * buffer, what is sent is copied first.
 */
static int sendrecv(struct weftmpi_request *both, const char *call, const void *send,
                    int send_count, MPI_Datatype send_type, int to, int send_tag, void *receive,
                    int receive_count, MPI_Datatype receive_type, int from, int receive_tag,
                    MPI_Comm comm)
{
    struct weftmpi_request sent = {0};

    TRY(open(both, WEFTMPI_RECEIVE, call, receive, receive_count, receive_type, from, receive_tag,
             comm));
    TRY(open(&sent, WEFTMPI_SEND, call, send, send_count, send_type, to, send_tag, comm));
    if (send == receive) {
        const size_t bytes = sent.elements.bytes;
        void *copy;
        TRY(weftmpi_row(both, &sent.elements, WEFTMPI_COPY, &copy));
        sent.elements = (struct weftmpi_elements){copy, bytes, bytes, WEFTMPI_BYTES};
    }
    TRY(weftmpi_point_begin(both));
    sent.memory = both->memory;
    const int error = weftmpi_point_begin(&sent);
    both->memory = sent.memory;
    both->way = WEFTMPI_SENDRECV;
    both->second = sent.op;
    return error;
}

BOTH_TOLD(Sendrecv, Isendrecv,
          sendrecv(&begun, __func__, send, send_count, send_type, to, send_tag, receive,
                   receive_count, receive_type, from, receive_tag, comm),
          const void *send, int send_count, MPI_Datatype send_type, int to, int send_tag,
          void *receive, int receive_count, MPI_Datatype receive_type, int from, int receive_tag,
          MPI_Comm comm)
BOTH_TOLD(Sendrecv_replace, Isendrecv_replace,
          sendrecv(&begun, __func__, buffer, count, type, to, send_tag, buffer, count, type, from,
                   receive_tag, comm),
          void *buffer, int count, MPI_Datatype type, int to, int send_tag, int from,
          int receive_tag, MPI_Comm comm)
