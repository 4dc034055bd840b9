/* compat/mpi/point.c - point-to-point: sends, receives and probes are weft's messages. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- status ---------------------------------------------------------------------------------- */

void weftmpi_empty_status(MPI_Status *status)
{
    *status = (MPI_Status){.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG};
}

static void set_bytes(MPI_Status *status, size_t bytes)
{
    memcpy(&status->MPI_internal[0], &bytes, sizeof(bytes));
}

size_t weftmpi_status_bytes(const MPI_Status *status)
{
    size_t bytes;

    memcpy(&bytes, &status->MPI_internal[0], sizeof(bytes));
    return bytes;
}

void weftmpi_set_status(MPI_Status *status, const weft_message *message)
{
    status->MPI_SOURCE = message->from;
    status->MPI_TAG = message->tag;
    set_bytes(status, message->bytes);
}

void weftmpi_no_process(MPI_Status *status)
{
    *status = (MPI_Status){.MPI_SOURCE = MPI_PROC_NULL, .MPI_TAG = MPI_ANY_TAG};
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* A request of that call, which is not begun yet. */
static int open_send(struct weftmpi_request *request, enum weftmpi_way way, const char *call,
                     const void *buffer, int count, MPI_Datatype type, int to, int tag,
                     MPI_Comm handle)
{
    struct weftmpi_comm *comm;

    TRY(weftmpi_comm_in(call, handle, &comm));
    weftmpi_request_open(request, way, call, comm);
    TRY(weftmpi_type_in(comm, call, type, count, &request->type));
    if ((to < 0 || to >= comm->size) && to != MPI_PROC_NULL)
        return weftmpi_fail(comm, call, MPI_ERR_RANK, "rank %d of %d in %s", to, comm->size,
                            comm->name);
    if (tag < 0)
        return weftmpi_fail(comm, call, MPI_ERR_TAG, "tag %d", tag);
    request->buffer = (void *)buffer;
    request->count = count;
    request->peer = to;
    request->tag = tag;
    return MPI_SUCCESS;
}

int weftmpi_check_source(struct weftmpi_comm *comm, const char *call, int from, int tag)
{
    if ((from < 0 || from >= comm->size) && from != MPI_PROC_NULL && from != MPI_ANY_SOURCE)
        return weftmpi_fail(comm, call, MPI_ERR_RANK, "rank %d of %d in %s", from, comm->size,
                            comm->name);
    if (tag < 0 && tag != MPI_ANY_TAG)
        return weftmpi_fail(comm, call, MPI_ERR_TAG, "tag %d", tag);
    return MPI_SUCCESS;
}

static int open_receive(struct weftmpi_request *request, const char *call, void *buffer, int count,
                        MPI_Datatype type, int from, int tag, MPI_Comm handle)
{
    struct weftmpi_comm *comm;

    TRY(weftmpi_comm_in(call, handle, &comm));
    weftmpi_request_open(request, WEFTMPI_RECEIVE, call, comm);
    TRY(weftmpi_type_in(comm, call, type, count, &request->type));
    TRY(weftmpi_check_source(comm, call, from, tag));
    request->buffer = buffer;
    request->count = count;
    request->peer = from;
    request->tag = tag;
    return MPI_SUCCESS;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int begin_send(struct weftmpi_request *request)
{
    const size_t count = (size_t)request->count, bytes = request->type->size * count;
    const weft_comm comm = request->comm->messages;
    const void *row;

    TRY(weftmpi_row_in(request, request->buffer, count, request->type, &row));
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
    const size_t count = (size_t)request->count;
    void *row;

    TRY(weftmpi_row_out(request, request->buffer, count, request->type, &row));
    return weftmpi_request_failed(
        request, weft_host_receive_begin(weftmpi.job, request->comm->messages,
                                         request->peer == MPI_ANY_SOURCE ? WEFT_ANY : request->peer,
                                         request->tag == MPI_ANY_TAG ? WEFT_ANY : request->tag, row,
                                         request->type->size * count, &request->op));
}

int weftmpi_point_begin(struct weftmpi_request *request)
{
    if (request->peer != MPI_PROC_NULL)
        return request->way == WEFTMPI_RECEIVE ? begin_receive(request) : begin_send(request);
    if (request->way == WEFTMPI_RECEIVE)
        weftmpi_no_process(&request->status);
    return MPI_SUCCESS;
}

/* ---- sends and receives ---------------------------------------------------------------------- */

#define TO   const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm
#define FROM void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm

static int begun_send(struct weftmpi_request *request, enum weftmpi_way way, const char *call, TO)
{
    TRY(open_send(request, way, call, buffer, count, type, to, tag, comm));
    return weftmpi_point_begin(request);
}

static int begun_receive(struct weftmpi_request *request, const char *call, FROM)
{
    TRY(open_receive(request, call, buffer, count, type, from, tag, comm));
    return weftmpi_point_begin(request);
}

/* The three forms of a send: blocking, non-blocking, persistent. */
#define SEND_FORMS(name, iname, way)                                                               \
    BOTH(name, iname, begun_send(&begun, way, __func__, buffer, count, type, to, tag, comm), TO)   \
    API(name##_init, (TO, MPI_Request * request))                                                  \
    {                                                                                              \
        struct weftmpi_request begun = {.persistent = true};                                       \
        TRY(open_send(&begun, way, __func__, buffer, count, type, to, tag, comm));                 \
        return weftmpi_request_keep(&begun, MPI_SUCCESS, request);                                 \
    }
SEND_FORMS(Send, Isend, WEFTMPI_SEND)
SEND_FORMS(Ssend, Issend, WEFTMPI_SEND_SYNCHRONOUS)
SEND_FORMS(Rsend, Irsend, WEFTMPI_SEND)
SEND_FORMS(Bsend, Ibsend, WEFTMPI_SEND_BUFFERED)

BOTH_TOLD(Recv, Irecv, begun_receive(&begun, __func__, buffer, count, type, from, tag, comm), FROM)

API(Recv_init, (FROM, MPI_Request *request))
{
    struct weftmpi_request begun = {.persistent = true};

    TRY(open_receive(&begun, __func__, buffer, count, type, from, tag, comm));
    return weftmpi_request_keep(&begun, MPI_SUCCESS, request);
}

/* ---- both ways ------------------------------------------------------------------------------- */

/* A receive, and behind it a send, in one request, whose memory is both's. */
static int begin_both(struct weftmpi_request *receive, struct weftmpi_request *send)
{
    TRY(weftmpi_point_begin(receive));
    send->memory = receive->memory;
    send->memory_count = receive->memory_count;
    const int error = weftmpi_point_begin(send);
    receive->memory = send->memory;
    receive->memory_count = send->memory_count;
    receive->way = WEFTMPI_SENDRECV;
    receive->second = send->op;
    return error;
}

static int sendrecv(struct weftmpi_request *both, const char *call, const void *send,
                    int send_count, MPI_Datatype send_type, int to, int send_tag, void *receive,
                    int receive_count, MPI_Datatype receive_type, int from, int receive_tag,
                    MPI_Comm comm)
{
    struct weftmpi_request sent = {0};

    TRY(open_receive(both, call, receive, receive_count, receive_type, from, receive_tag, comm));
    TRY(open_send(&sent, WEFTMPI_SEND, call, send, send_count, send_type, to, send_tag, comm));
    return begin_both(both, &sent);
}

/* The same; what is sent is copied first. */
static int sendrecv_replace(struct weftmpi_request *both, const char *call, void *buffer, int count,
                            MPI_Datatype type, int to, int send_tag, int from, int receive_tag,
                            MPI_Comm comm)
{
    struct weftmpi_request sent = {0};

    TRY(open_receive(both, call, buffer, count, type, from, receive_tag, comm));
    TRY(open_send(&sent, WEFTMPI_SEND, call, buffer, count, type, to, send_tag, comm));
    const size_t bytes = sent.type->size * (size_t)count;
    if (bytes > INT32_MAX)
        return weftmpi_fail(both->comm, call, MPI_ERR_COUNT, "%zu bytes", bytes);
    sent.buffer = weftmpi_request_memory(both, bytes);
    if (sent.buffer == NULL)
        return weftmpi_no_memory(both->comm, call);
    weftmpi_pack(sent.type, (size_t)count, buffer, sent.buffer);
    sent.count = (int)bytes;
    sent.type = WEFTMPI_BYTES;
    return begin_both(both, &sent);
}

BOTH_TOLD(Sendrecv, Isendrecv,
          sendrecv(&begun, __func__, send, send_count, send_type, to, send_tag, receive,
                   receive_count, receive_type, from, receive_tag, comm),
          const void *send, int send_count, MPI_Datatype send_type, int to, int send_tag,
          void *receive, int receive_count, MPI_Datatype receive_type, int from, int receive_tag,
          MPI_Comm comm)
BOTH_TOLD(Sendrecv_replace, Isendrecv_replace,
          sendrecv_replace(&begun, __func__, buffer, count, type, to, send_tag, from, receive_tag,
                           comm),
          void *buffer, int count, MPI_Datatype type, int to, int send_tag, int from,
          int receive_tag, MPI_Comm comm)
