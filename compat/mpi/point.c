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

/* A message that does not fit has filled the buffer, which is what counts. */
void weftmpi_set_status(MPI_Status *status, const weft_message *message)
{
    status->MPI_SOURCE = message->from;
    status->MPI_TAG = message->tag;
    set_bytes(status, message->bytes);
}

static void set_no_process(MPI_Status *status)
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

static int check_source(struct weftmpi_comm *comm, const char *call, int from, int tag)
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
    TRY(check_source(comm, call, from, tag));
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
static void *into_a_row(struct weftmpi_request *request)
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
    void *row = into_a_row(request);

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
            set_no_process(&request->status);
        return MPI_SUCCESS;
    }
    const weft_status status =
        request->way == WEFTMPI_RECEIVE ? begin_receive(request) : begin_send(request);
    return request->error != MPI_SUCCESS ? request->error
                                         : weftmpi_failed(request->comm, request->call, status);
}

/* ---- buffered sends ---------------------------------------------------------------------------
 */

/* A message that the program has left to the library, in memory that counts against its buffer. */
struct buffered {
    struct buffered *next;
    weft_message_op op;
    size_t bytes;
    char data[];
};

static struct buffered *buffered;
static void *attached;
static size_t attached_bytes, attached_used;

/* Frees those that are sent; `all`: waits for them. */
static void sweep(bool all)
{
    struct buffered **at = &buffered;

    while (*at != NULL) {
        struct buffered *one = *at;
        int done = 1;
        if (all)
            weft_host_message_wait(weftmpi.job, &one->op, NULL);
        else if (weft_host_message_test(weftmpi.job, &one->op, &done, NULL) == WEFT_OK && !done) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        attached_used -= one->bytes;
        free(one);
    }
}

weft_status weftmpi_buffered(struct weftmpi_request *request, const void *row, size_t bytes)
{
    const size_t whole = bytes + MPI_BSEND_OVERHEAD;
    weft_status status = WEFT_OK;

    weftmpi_lock();
    sweep(false);
    struct buffered *one =
        whole <= attached_bytes - attached_used ? malloc(sizeof(*one) + bytes) : NULL;
    if (one == NULL) {
        request->error = weftmpi_fail(request->comm, request->call, MPI_ERR_BUFFER,
                                      "%zu bytes do not fit the attached buffer: %zu of %zu used",
                                      whole, attached_used, attached_bytes);
    } else {
        if (bytes != 0)
            memcpy(one->data, row, bytes);
        *one = (struct buffered){buffered, WEFT_MESSAGE_NONE, whole};
        status = weft_host_send_begin(weftmpi.job, request->comm->messages, request->peer,
                                      request->tag, one->data, bytes, &one->op);
        buffered = one;
        attached_used += whole;
    }
    weftmpi_unlock();
    return status;
}

void weftmpi_buffered_end(void)
{
    sweep(true);
}

API(Buffer_attach, (void *buffer, int bytes))
{
    static const char call[] = "MPI_Buffer_attach";

    TRY(weftmpi_is_open(call));
    if (attached_bytes != 0 || bytes < 0)
        return weftmpi_fail(NULL, call, MPI_ERR_BUFFER, "%d bytes; %zu are attached", bytes,
                            attached_bytes);
    attached = buffer;
    attached_bytes = (size_t)bytes;
    return MPI_SUCCESS;
}

API(Buffer_detach, (void *buffer, int *bytes))
{
    TRY(weftmpi_is_open("MPI_Buffer_detach"));
    sweep(true);
    *(void **)buffer = attached;
    *bytes = (int)attached_bytes;
    attached = NULL;
    attached_bytes = 0;
    return MPI_SUCCESS;
}

/* ---- sends and receives -----------------------------------------------------------------------
 */

/* The three forms of a send: blocking, non-blocking, persistent. */
#define SEND_FORMS(name, iname, way)                                                               \
    API(name, (const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm))  \
    {                                                                                              \
        struct weftmpi_request begun;                                                              \
        TRY(open_send(&begun, way, "MPI_" #name, buffer, count, type, to, tag, comm));             \
        return weftmpi_request_wait(&begun, weftmpi_point_begin(&begun), MPI_STATUS_IGNORE);       \
    }                                                                                              \
    API(iname, (const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,  \
                MPI_Request *request))                                                             \
    {                                                                                              \
        struct weftmpi_request begun;                                                              \
        TRY(open_send(&begun, way, "MPI_" #iname, buffer, count, type, to, tag, comm));            \
        return weftmpi_request_keep(&begun, weftmpi_point_begin(&begun), request);                 \
    }                                                                                              \
    API(name##_init, (const void *buffer, int count, MPI_Datatype type, int to, int tag,           \
                      MPI_Comm comm, MPI_Request *request))                                        \
    {                                                                                              \
        struct weftmpi_request begun;                                                              \
        TRY(open_send(&begun, way, "MPI_" #name "_init", buffer, count, type, to, tag, comm));     \
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

    TRY(open_receive(&begun, "MPI_Recv", buffer, count, type, from, tag, comm));
    return weftmpi_request_wait(&begun, weftmpi_point_begin(&begun), status);
}

API(Irecv, (void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
            MPI_Request *request))
{
    struct weftmpi_request begun;

    TRY(open_receive(&begun, "MPI_Irecv", buffer, count, type, from, tag, comm));
    return weftmpi_request_keep(&begun, weftmpi_point_begin(&begun), request);
}

API(Recv_init, (void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                MPI_Request *request))
{
    struct weftmpi_request begun;

    TRY(open_receive(&begun, "MPI_Recv_init", buffer, count, type, from, tag, comm));
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
    const int error = sendrecv(&both, "MPI_Sendrecv", send, send_count, send_type, to, send_tag,
                               receive, receive_count, receive_type, from, receive_tag, comm);

    return error != MPI_SUCCESS ? error : weftmpi_request_wait(&both, error, status);
}

API(Isendrecv, (const void *send, int send_count, MPI_Datatype send_type, int to, int send_tag,
                void *receive, int receive_count, MPI_Datatype receive_type, int from,
                int receive_tag, MPI_Comm comm, MPI_Request *request))
{
    struct weftmpi_request both;

    TRY(sendrecv(&both, "MPI_Isendrecv", send, send_count, send_type, to, send_tag, receive,
                 receive_count, receive_type, from, receive_tag, comm));
    return weftmpi_request_keep(&both, MPI_SUCCESS, request);
}

API(Sendrecv_replace, (void *buffer, int count, MPI_Datatype type, int to, int send_tag, int from,
                       int receive_tag, MPI_Comm comm, MPI_Status *status))
{
    struct weftmpi_request both;
    const int error = sendrecv_replace(&both, "MPI_Sendrecv_replace", buffer, count, type, to,
                                       send_tag, from, receive_tag, comm);

    return error != MPI_SUCCESS ? error : weftmpi_request_wait(&both, error, status);
}

API(Isendrecv_replace, (void *buffer, int count, MPI_Datatype type, int to, int send_tag, int from,
                        int receive_tag, MPI_Comm comm, MPI_Request *request))
{
    struct weftmpi_request both;

    TRY(sendrecv_replace(&both, "MPI_Isendrecv_replace", buffer, count, type, to, send_tag, from,
                         receive_tag, comm));
    return weftmpi_request_keep(&both, MPI_SUCCESS, request);
}

/* ---- probes -----------------------------------------------------------------------------------
 */

struct matched {
    weft_message_op op;
    struct weftmpi_comm *comm;
};

/* Looks once, or until there is one (`there` NULL). matched: takes the message. */
static int probe(const char *call, int from, int tag, MPI_Comm handle, int *there,
                 struct matched *matched, MPI_Status *status)
{
    struct weftmpi_comm *comm;
    weft_message message;
    weft_status result;
    int found = 0;

    TRY(weftmpi_comm_in(call, handle, &comm));
    TRY(check_source(comm, call, from, tag));
    if (from == MPI_PROC_NULL) {
        if (status != MPI_STATUS_IGNORE)
            set_no_process(status);
        if (there != NULL)
            *there = 1;
        return MPI_SUCCESS;
    }
    if (matched != NULL)
        matched->comm = comm;
    from = from == MPI_ANY_SOURCE ? WEFT_ANY : from;
    tag = tag == MPI_ANY_TAG ? WEFT_ANY : tag;
    const bool sleeps = there == NULL && !weftmpi_drive() && weftmpi.level != MPI_THREAD_MULTIPLE;
    do {
        if (sleeps && matched != NULL)
            result = weft_host_probe_match_wait(weftmpi.job, comm->messages, from, tag,
                                                &matched->op, &message);
        else if (sleeps)
            result = weft_host_probe_wait(weftmpi.job, comm->messages, from, tag, &message);
        else if (matched != NULL)
            result = weft_host_probe_match(weftmpi.job, comm->messages, from, tag, &found,
                                           &matched->op, &message);
        else
            result = weft_host_probe(weftmpi.job, comm->messages, from, tag, &found, &message);
        found |= sleeps && result == WEFT_OK;
        if (!found && result == WEFT_OK)
            weftmpi_pause();
    } while (result == WEFT_OK && !found && there == NULL);
    if (there != NULL)
        *there = found;
    if (found && status != MPI_STATUS_IGNORE)
        weftmpi_set_status(status, &message);
    return weftmpi_failed(comm, call, result);
}

API(Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status))
{
    return probe("MPI_Probe", from, tag, comm, NULL, NULL, status);
}

API(Iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status))
{
    return probe("MPI_Iprobe", from, tag, comm, flag, NULL, status);
}

static int matched_probe(const char *call, int from, int tag, MPI_Comm comm, int *there,
                         MPI_Message *handle, MPI_Status *status)
{
    struct matched *matched = calloc(1, sizeof(*matched));
    int found = 1, error = MPI_ERR_NO_MEM;

    *handle = from == MPI_PROC_NULL ? MPI_MESSAGE_NO_PROC : MPI_MESSAGE_NULL;
    if (matched == NULL)
        return weftmpi_fail(NULL, call, error, "no memory");
    const uint64_t number = weftmpi_handle_make(WEFTMPI_MESSAGE, matched);
    error = number == 0
                ? weftmpi_fail(NULL, call, error, "no memory")
                : probe(call, from, tag, comm, there == NULL ? NULL : &found, matched, status);
    if (there != NULL)
        *there = found;
    if (error != MPI_SUCCESS || !found || from == MPI_PROC_NULL) {
        weftmpi_handle_drop(number);
        free(matched);
        return error;
    }
    *handle = (MPI_Message)(uintptr_t)number;
    return MPI_SUCCESS;
}

API(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status))
{
    return matched_probe("MPI_Mprobe", from, tag, comm, NULL, message, status);
}

API(Improbe,
    (int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status))
{
    return matched_probe("MPI_Improbe", from, tag, comm, flag, message, status);
}

/* Begins to receive a matched message. */
static int begin_matched(struct weftmpi_request *request, const char *call, void *buffer, int count,
                         MPI_Datatype type, MPI_Message *handle)
{
    struct matched *matched = weftmpi_handle_find(WEFTMPI_MESSAGE, WEFTMPI_NUMBER(*handle));

    TRY(weftmpi_is_open(call));
    if (*handle != MPI_MESSAGE_NO_PROC && matched == NULL)
        return weftmpi_fail(NULL, call, MPI_ERR_REQUEST, "no message, or it was received");
    weftmpi_request_open(request, WEFTMPI_RECEIVE, call,
                         matched == NULL ? weftmpi.world : matched->comm);
    TRY(weftmpi_type_in(request->comm, call, type, count, &request->type));
    if (matched == NULL) {
        set_no_process(&request->status);
        *handle = MPI_MESSAGE_NULL;
        return MPI_SUCCESS;
    }
    request->buffer = buffer;
    request->count = count;
    void *row = into_a_row(request);
    if (row == NULL && !request->type->dense)
        return weftmpi_fail(request->comm, call, MPI_ERR_NO_MEM, "no memory");
    const weft_status status = weft_host_receive_matched_begin(
        weftmpi.job, &matched->op, row, request->type->size * (size_t)count, &request->op);
    weftmpi_handle_drop(WEFTMPI_NUMBER(*handle));
    free(matched);
    *handle = MPI_MESSAGE_NULL;
    return weftmpi_failed(request->comm, call, status);
}

API(Mrecv, (void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status))
{
    struct weftmpi_request request;
    const int error = begin_matched(&request, "MPI_Mrecv", buffer, count, type, message);

    return error != MPI_SUCCESS ? error : weftmpi_request_wait(&request, error, status);
}

API(Imrecv,
    (void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request))
{
    struct weftmpi_request begun;

    TRY(begin_matched(&begun, "MPI_Imrecv", buffer, count, type, message));
    return weftmpi_request_keep(&begun, MPI_SUCCESS, request);
}
