/* compat/mpi/point.c - point-to-point: sends, receives and probes are weft's messages. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- status -----------------------------------------------------------------------------------
 */

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

/* ---- checks -----------------------------------------------------------------------------------
 */

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

/* ---- beginning --------------------------------------------------------------------------------
 */

/* The elements in a row: where they are, or packed. */
static const void *in_a_row(struct weftmpi_request *request, const void *buffer, int count,
                            const struct weftmpi_type *type)
{
    if (type->dense)
        return (const char *)buffer + type->true_lower;
    void *packed = weftmpi_request_memory(request, type->size * (size_t)count);
    if (packed != NULL)
        weftmpi_pack(type, (size_t)count, buffer, packed);
    return packed;
}

/* Where their bytes may arrive. */
void *weftmpi_receive_row(struct weftmpi_request *request)
{
    struct weftmpi_type *type = request->type;
    const size_t bytes = type->size * (size_t)request->count;

    if (type->dense)
        return (char *)request->buffer + type->true_lower;
    void *packed = weftmpi_request_memory(request, bytes);
    return packed != NULL && weftmpi_request_unpack(request, packed, request->buffer, type, bytes)
               ? packed
               : NULL;
}

static weft_status begin_send(struct weftmpi_request *request)
{
    const size_t bytes = request->type->size * (size_t)request->count;
    const void *row = in_a_row(request, request->buffer, request->count, request->type);

    if (row == NULL && bytes != 0 && !request->type->dense)
        return WEFT_ERR_MEMORY;
    if (request->way == WEFTMPI_SEND_SYNCHRONOUS)
        return weft_host_send_synchronous_begin(weftmpi.job, request->comm->messages, request->peer,
                                                request->tag, row, bytes, &request->op);
    if (request->way == WEFTMPI_SEND_BUFFERED)
        return weftmpi_buffered(request, row, bytes);
    return weft_host_send_begin(weftmpi.job, request->comm->messages, request->peer, request->tag,
                                row, bytes, &request->op);
}

static weft_status begin_receive(struct weftmpi_request *request)
{
    const size_t bytes = request->type->size * (size_t)request->count;
    void *row = weftmpi_receive_row(request);

    if (row == NULL && bytes != 0 && !request->type->dense)
        return WEFT_ERR_MEMORY;
    return weft_host_receive_begin(weftmpi.job, request->comm->messages,
                                   request->peer == MPI_ANY_SOURCE ? WEFT_ANY : request->peer,
                                   request->tag == MPI_ANY_TAG ? WEFT_ANY : request->tag, row,
                                   bytes, &request->op);
}

int weftmpi_point_begin(struct weftmpi_request *request)
{
    if (request->peer == MPI_PROC_NULL) {
        if (request->way == WEFTMPI_RECEIVE)
            weftmpi_no_process(&request->status);
        return MPI_SUCCESS;
    }
    const weft_status status =
        request->way == WEFTMPI_RECEIVE ? begin_receive(request) : begin_send(request);
    return request->error != MPI_SUCCESS ? request->error
                                         : weftmpi_failed(request->comm, request->call, status);
}

/* ---- sends and receives -----------------------------------------------------------------------
 */

/* The three forms of a send: blocking, non-blocking, persistent. */
#define SEND_FORMS(name, iname, way)                                                               \
    API(name, (const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm))  \
    {                                                                                              \
        struct weftmpi_request begun;                                                              \
        TRY(open_send(&begun, way, __func__, buffer, count, type, to, tag, comm));                 \
        return weftmpi_request_wait(&begun, weftmpi_point_begin(&begun), MPI_STATUS_IGNORE);       \
    }                                                                                              \
    API(iname, (const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,  \
                MPI_Request *request))                                                             \
    {                                                                                              \
        struct weftmpi_request begun;                                                              \
        TRY(open_send(&begun, way, __func__, buffer, count, type, to, tag, comm));                 \
        return weftmpi_request_keep(&begun, weftmpi_point_begin(&begun), request);                 \
    }                                                                                              \
    API(name##_init, (const void *buffer, int count, MPI_Datatype type, int to, int tag,           \
                      MPI_Comm comm, MPI_Request *request))                                        \
    {                                                                                              \
        struct weftmpi_request begun;                                                              \
        TRY(open_send(&begun, way, __func__, buffer, count, type, to, tag, comm));                 \
        begun.persistent = true;                                                                   \
        return weftmpi_request_keep(&begun, MPI_SUCCESS, request);                                 \
    }
SEND_FORMS(Send, Isend, WEFTMPI_SEND)
SEND_FORMS(Ssend, Issend, WEFTMPI_SEND_SYNCHRONOUS)
SEND_FORMS(Rsend, Irsend, WEFTMPI_SEND)
SEND_FORMS(Bsend, Ibsend, WEFTMPI_SEND_BUFFERED)

API(Recv, (void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
           MPI_Status *status))
{
    struct weftmpi_request begun;

    TRY(open_receive(&begun, __func__, buffer, count, type, from, tag, comm));
    return weftmpi_request_wait(&begun, weftmpi_point_begin(&begun), status);
}

API(Irecv, (void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
            MPI_Request *request))
{
    struct weftmpi_request begun;

    TRY(open_receive(&begun, __func__, buffer, count, type, from, tag, comm));
    return weftmpi_request_keep(&begun, weftmpi_point_begin(&begun), request);
}

API(Recv_init, (void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                MPI_Request *request))
{
    struct weftmpi_request begun;

    TRY(open_receive(&begun, __func__, buffer, count, type, from, tag, comm));
    begun.persistent = true;
    return weftmpi_request_keep(&begun, MPI_SUCCESS, request);
}

/* ---- both ways --------------------------------------------------------------------------------
 */

/* A receive, and behind it a send, in one request. */
static int begin_both(struct weftmpi_request *receive, struct weftmpi_request *send)
{
    TRY(weftmpi_point_begin(receive));
    const int error = weftmpi_point_begin(send);
    receive->way = WEFTMPI_SENDRECV;
    receive->second = send->op;
    if (send->memory_count != 0) { /* lives as long as the receive does */
        void **list =
            realloc(receive->memory, (receive->memory_count + send->memory_count) * sizeof(*list));
        if (list == NULL)
            return weftmpi_fail(receive->comm, receive->call, MPI_ERR_NO_MEM, "no memory");
        receive->memory = list;
        for (size_t i = 0; i < send->memory_count; i++)
            list[receive->memory_count++] = send->memory[i];
        free(send->memory);
    }
    return error;
}

static int sendrecv(struct weftmpi_request *both, const char *call, const void *send,
                    int send_count, MPI_Datatype send_type, int to, int send_tag, void *receive,
                    int receive_count, MPI_Datatype receive_type, int from, int receive_tag,
                    MPI_Comm comm)
{
    struct weftmpi_request sent;

    TRY(open_receive(both, call, receive, receive_count, receive_type, from, receive_tag, comm));
    TRY(open_send(&sent, WEFTMPI_SEND, call, send, send_count, send_type, to, send_tag, comm));
    return begin_both(both, &sent);
}

/* The same; what is sent is copied first. */
static int sendrecv_replace(struct weftmpi_request *both, const char *call, void *buffer, int count,
                            MPI_Datatype type, int to, int send_tag, int from, int receive_tag,
                            MPI_Comm comm)
{
    struct weftmpi_request sent;

    TRY(open_receive(both, call, buffer, count, type, from, receive_tag, comm));
    TRY(open_send(&sent, WEFTMPI_SEND, call, buffer, count, type, to, send_tag, comm));
    const size_t bytes = sent.type->size * (size_t)count;
    void *copy = weftmpi_request_memory(&sent, bytes);
    if (copy == NULL)
        return weftmpi_fail(both->comm, call, MPI_ERR_NO_MEM, "no memory for %zu bytes", bytes);
    weftmpi_pack(sent.type, (size_t)count, buffer, copy);
    sent.buffer = copy;
    sent.count = (int)bytes;
    sent.type = weftmpi_type_of(MPI_BYTE);
    if (bytes > INT32_MAX)
        return weftmpi_fail(both->comm, call, MPI_ERR_COUNT, "%zu bytes", bytes);
    return begin_both(both, &sent);
}

API(Sendrecv, (const void *send, int send_count, MPI_Datatype send_type, int to, int send_tag,
               void *receive, int receive_count, MPI_Datatype receive_type, int from,
               int receive_tag, MPI_Comm comm, MPI_Status *status))
{
    struct weftmpi_request both;
    const int error = sendrecv(&both, __func__, send, send_count, send_type, to, send_tag, receive,
                               receive_count, receive_type, from, receive_tag, comm);

    return error != MPI_SUCCESS ? error : weftmpi_request_wait(&both, error, status);
}

API(Isendrecv, (const void *send, int send_count, MPI_Datatype send_type, int to, int send_tag,
                void *receive, int receive_count, MPI_Datatype receive_type, int from,
                int receive_tag, MPI_Comm comm, MPI_Request *request))
{
    struct weftmpi_request both;

    TRY(sendrecv(&both, __func__, send, send_count, send_type, to, send_tag, receive, receive_count,
                 receive_type, from, receive_tag, comm));
    return weftmpi_request_keep(&both, MPI_SUCCESS, request);
}

API(Sendrecv_replace, (void *buffer, int count, MPI_Datatype type, int to, int send_tag, int from,
                       int receive_tag, MPI_Comm comm, MPI_Status *status))
{
    struct weftmpi_request both;
    const int error = sendrecv_replace(&both, __func__, buffer, count, type, to, send_tag, from,
                                       receive_tag, comm);

    return error != MPI_SUCCESS ? error : weftmpi_request_wait(&both, error, status);
}

API(Isendrecv_replace, (void *buffer, int count, MPI_Datatype type, int to, int send_tag, int from,
                        int receive_tag, MPI_Comm comm, MPI_Request *request))
{
    struct weftmpi_request both;

    TRY(sendrecv_replace(&both, __func__, buffer, count, type, to, send_tag, from, receive_tag,
                         comm));
    return weftmpi_request_keep(&both, MPI_SUCCESS, request);
}
