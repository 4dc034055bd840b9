/* compat/mpi/point.c - point-to-point: sends, receives and probes are weft's messages. */
#include "request.h"

#include <math.h>

/* ---- checks ---------------------------------------------------------------------------------- */

int weftmpi_no_peer(struct weftmpi_comm *comm, const char *call, int peer, int tag, bool any)
{
    if ((peer < 0 || peer >= comm->peers) && peer != MPI_PROC_NULL &&
        !(any && peer == MPI_ANY_SOURCE))
        return weftmpi_fail(comm, call, MPI_ERR_RANK, "rank %d of %d in %s", peer, comm->peers,
                            comm->name);
    if (tag < 0 && !(any && tag == MPI_ANY_TAG))
        return weftmpi_fail(comm, call, MPI_ERR_TAG, "tag %d", tag);
    return MPI_SUCCESS;
}

/* A request of that call, which is not begun yet. */
static int open(struct weftmpi_request *request, enum weftmpi_way way, const char *call,
                const void *buffer, MPI_Count count, MPI_Datatype type, int peer, int tag,
                MPI_Comm handle)
{
    COMM_OF(comm, call, handle);

    weftmpi_request_open(request, way, call, comm);
    TRY(weftmpi_elements_in(comm, call, buffer, count, type, &request->elements));
    TRY(weftmpi_check_peer(comm, call, peer, tag, way == WEFTMPI_RECEIVE));
    request->peer = peer;
    request->tag = tag;
    return MPI_SUCCESS;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* As weft has them. */
static inline int other_of(const struct weftmpi_comm *comm, int peer)
{
    return peer == MPI_ANY_SOURCE ? WEFT_ANY : comm->base + peer;
}
static inline int tag_of(int tag)
{
    return tag == MPI_ANY_TAG ? WEFT_ANY : tag;
}

/* A message of bytes in a row is begun. */
static inline weft_status post(enum weftmpi_way way, const struct weftmpi_comm *comm, void *row,
                               size_t bytes, int peer, int tag, weft_message_op *op)
{
    const weft_comm messages = comm->messages;
    const int other = other_of(comm, peer);

    if (way == WEFTMPI_RECEIVE)
        return weft_host_receive_begin(weftmpi.job, messages, other, tag_of(tag), row, bytes, op);
    if (way == WEFTMPI_SEND_SYNCHRONOUS)
        return weft_host_send_synchronous_begin(weftmpi.job, messages, other, tag, row, bytes, op);
    return weft_host_send_begin(weftmpi.job, messages, other, tag, row, bytes, op);
}

int weftmpi_point_begin(struct weftmpi_request *request)
{
    const bool receives = request->way == WEFTMPI_RECEIVE;
    const size_t bytes = request->elements.bytes;
    void *row;

    if (request->peer == MPI_PROC_NULL) {
        if (receives)
            weftmpi_set_status(&request->status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        return MPI_SUCCESS;
    }
    TRY(weftmpi_row(request, &request->elements, receives ? WEFTMPI_FILL : WEFTMPI_TAKE, &row));
    if (request->way == WEFTMPI_SEND_BUFFERED)
        return weftmpi_buffered(request, row, bytes);
    return weftmpi_request_failed(request, post(request->way, request->comm, row, bytes,
                                                request->peer, request->tag, &request->op));
}

/* ---- sends and receives ---------------------------------------------------------------------- */

#define GIVEN buffer, count, type, peer, tag, comm
/* N: the type of counts. */
#define TO(N)   const void *buffer, N count, MPI_Datatype type, int peer, int tag, MPI_Comm comm
#define FROM(N) void *buffer, N count, MPI_Datatype type, int peer, int tag, MPI_Comm comm

/* Of a blocking call. A receive that nothing has to be driven beside is over at once. */
static int begin(struct weftmpi_request *request, enum weftmpi_way way, const char *call,
                 TO(MPI_Count))
{
    weft_message message;
    void *row;

    TRY(open(request, way, call, GIVEN));
    if (way != WEFTMPI_RECEIVE || peer == MPI_PROC_NULL || !isinf(weftmpi_meanwhile()))
        return weftmpi_point_begin(request);
    TRY(weftmpi_row(request, &request->elements, WEFTMPI_FILL, &row));
    const weft_status status =
        weft_host_receive(weftmpi.job, request->comm->messages, other_of(request->comm, peer),
                          tag_of(tag), row, request->elements.bytes, &message);
    weftmpi_message_ended(request, status, &message);
    return MPI_SUCCESS;
}

/* The same for a request that the program gets. */
static int start_request(enum weftmpi_way way, const char *call, struct weftmpi_comm *comm,
                         const struct weftmpi_elements *elements, int peer, int tag,
                         MPI_Request *handle)
{
    MAKE(request, handle);

    weftmpi_request_open(request, way, call, comm);
    request->elements = *elements;
    request->peer = peer;
    request->tag = tag;
    return weftmpi_request_keep(request, weftmpi_point_begin(request), handle);
}

/*
 * The same, and quick, in each call: what is in a row is begun first, and has a request only if it
 * is not complete then.
 */
static inline __attribute__((always_inline)) int start(enum weftmpi_way way, const char *call,
                                                       TO(MPI_Count), MPI_Request *handle)
{
    struct weftmpi_elements e;
    weft_message_op op;

    TRY(weftmpi_place_in(call, handle));
    *handle = MPI_REQUEST_NULL;
    COMM_OF(in, call, comm);
    TRY(weftmpi_elements_in(in, call, buffer, count, type, &e));
    TRY(weftmpi_check_peer(in, call, peer, tag, way == WEFTMPI_RECEIVE));
    if (peer == MPI_PROC_NULL || way == WEFTMPI_SEND_BUFFERED || !weftmpi_is_row(&e))
        return start_request(way, call, in, &e, peer, tag, handle);
    TRY(weftmpi_failed(in, call, post(way, in, weftmpi_begin_of(&e), e.bytes, peer, tag, &op)));
    *handle = WEFTMPI_REQUEST_DONE;
    if (op.generation == 0)
        return MPI_SUCCESS;
    struct weftmpi_request *request = weftmpi_make(WEFTMPI_REQUEST, sizeof(*request));
    if (request == NULL) {
        weft_host_message_wait(weftmpi.job, &op, NULL);
        *handle = MPI_REQUEST_NULL;
        return weftmpi_no_memory(in, call);
    }
    weftmpi_request_open(request, way, call, in);
    request->plain = true;
    request->op = op;
    weftmpi_hold(in);
    *handle = request->object.handle;
    return MPI_SUCCESS;
}

/* The persistent form. */
#define INIT(name, way, ...)                                                                       \
    API(name, (__VA_ARGS__, MPI_Request * request))                                                \
    {                                                                                              \
        MAKE(made, request);                                                                       \
        made->persistent = true;                                                                   \
        return weftmpi_request_keep(made, open(made, way, __func__, GIVEN), request);              \
    }
#define STARTED(name, way, ...)                                                                    \
    CALL(name, (__VA_ARGS__, MPI_Request * request), start(way, __func__, GIVEN, request))
#define SEND_FORMS(name, iname, init, way, N)                                                      \
    BLOCKING(name, begin(begun, way, __func__, GIVEN), (TO(N)), MPI_STATUS_IGNORE)                 \
    STARTED(iname, way, TO(N))                                                                     \
    INIT(init, way, TO(N))
#define SENDS(name, iname, way)                                                                    \
    SEND_FORMS(name, iname, name##_init, way, int)                                                 \
    SEND_FORMS(name##_c, iname##_c, name##_init_c, way, MPI_Count)
#define RECEIVES(name, iname, init, N)                                                             \
    BLOCKING(name, begin(begun, WEFTMPI_RECEIVE, __func__, GIVEN), (FROM(N), MPI_Status * status), \
             status)                                                                               \
    STARTED(iname, WEFTMPI_RECEIVE, FROM(N))                                                       \
    INIT(init, WEFTMPI_RECEIVE, FROM(N))

SENDS(Send, Isend, WEFTMPI_SEND)
SENDS(Ssend, Issend, WEFTMPI_SEND_SYNCHRONOUS)
SENDS(Rsend, Irsend, WEFTMPI_SEND)
SENDS(Bsend, Ibsend, WEFTMPI_SEND_BUFFERED)
RECEIVES(Recv, Irecv, Recv_init, int)
RECEIVES(Recv_c, Irecv_c, Recv_init_c, MPI_Count)

/* ---- both ways ------------------------------------------------------------------------------- */

/*
 * A receive, and behind it a send, in one request, whose memory is both's. Where they have one
 * buffer, what is sent is copied first.
 */
static int sendrecv(struct weftmpi_request *both, const char *call, const void *send,
                    MPI_Count send_count, MPI_Datatype send_type, int to, int send_tag,
                    void *receive, MPI_Count receive_count, MPI_Datatype receive_type, int from,
                    int receive_tag, MPI_Comm comm)
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

#define SENDRECVS(c, N)                                                                            \
    BOTH_TOLD(Sendrecv##c, Isendrecv##c,                                                           \
              sendrecv(begun, __func__, send, send_count, send_type, to, send_tag, receive,        \
                       receive_count, receive_type, from, receive_tag, comm),                      \
              const void *send, N send_count, MPI_Datatype send_type, int to, int send_tag,        \
              void *receive, N receive_count, MPI_Datatype receive_type, int from,                 \
              int receive_tag, MPI_Comm comm)                                                      \
    BOTH_TOLD(Sendrecv_replace##c, Isendrecv_replace##c,                                           \
              sendrecv(begun, __func__, buffer, count, type, to, send_tag, buffer, count, type,    \
                       from, receive_tag, comm),                                                   \
              void *buffer, N count, MPI_Datatype type, int to, int send_tag, int from,            \
              int receive_tag, MPI_Comm comm)
SENDRECVS(, int)
SENDRECVS(_c, MPI_Count)
