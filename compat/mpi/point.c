/* compat/mpi/point.c - point-to-point: sends and receives are weft's messages. */
#include "request.h"

/* ---- checks ---------------------------------------------------------------------------------- */

int weftmpi_no_peer(struct weftmpi_comm *comm, int peer, int tag, bool any)
{
    if ((peer < 0 || peer >= comm->peers) && peer != MPI_PROC_NULL &&
        !(any && peer == MPI_ANY_SOURCE))
        return weftmpi_fail(MPI_ERR_RANK, "rank %d of %d in %s", peer, comm->peers, comm->name);
    if (tag < 0 && !(any && tag == MPI_ANY_TAG))
        return weftmpi_fail(MPI_ERR_TAG, "tag %d", tag);
    return MPI_SUCCESS;
}

/* Opens a request, which says what is to be begun, by a call's arguments, which are checked. */
static int open(struct weftmpi_request *request, enum weftmpi_way way, const void *buffer,
                MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm handle)
{
    COMM_OF(comm, handle);
    TRY(weftmpi_elements_in(buffer, count, type, &request->elements));
    TRY(weftmpi_check_peer(comm, peer, tag, way == WEFTMPI_RECEIVE));
    weftmpi_request_open(request, way, comm);
    request->peer = peer;
    request->tag = tag;
    return MPI_SUCCESS;
}

/* ---- buffered sends: each is a send of a copy, which nobody waits for ------------------------ */

static void *attached;
static size_t attached_bytes, attached_used;

static size_t used(void)
{
    LOCKED;
    return attached_used;
}

/* Gives room of the program's buffer back: a buffered message is sent. */
static void give_room(struct weftmpi_request *request)
{
    LOCKED;
    attached_used -= request->elements.bytes + MPI_BSEND_OVERHEAD;
}

/* Sends a copy of the bytes, which counts against the program's buffer. Not inlined: other sends do
 * not pay for it. */
static __attribute__((noinline)) int send_buffered(struct weftmpi_request *request, const void *row,
                                                   size_t bytes)
{
    const size_t whole = bytes + MPI_BSEND_OVERHEAD;
    MPI_Request handle;
    LOCKED;

    weftmpi_orphans_sweep();
    TRY(HOLDS(whole <= attached_bytes - attached_used, MPI_ERR_BUFFER,
              "%zu bytes do not fit the attached buffer: %zu of %zu used", whole, attached_used,
              attached_bytes));
    struct weftmpi_request *send = weftmpi_make(WEFTMPI_REQUEST, sizeof(*send));
    weftmpi_request_open(send, WEFTMPI_SEND, request->comm);
    send->elements.bytes = bytes;
    void *copy = weftmpi_request_memory(send, bytes);
    if (bytes != 0)
        memcpy(copy, row, bytes);
    const weft_status status = weft_host_send_begin(weftmpi.job, request->comm->messages,
                                                    request->comm->base + request->peer,
                                                    request->tag, copy, bytes, &send->op);
    TRY(weftmpi_request_keep(send, weftmpi_failed(status), &handle));
    if (handle == WEFTMPI_REQUEST_DONE)
        return MPI_SUCCESS;
    attached_used += whole;
    send->finish = give_room;
    return weftmpi_request_orphan(send);
}

static int attach(void *buffer, MPI_Count bytes)
{
    TRY(weftmpi_is_open());
    LOCKED;
    TRY(HOLDS(attached_bytes == 0 && bytes >= 0, MPI_ERR_BUFFER, "%lld bytes; %zu are attached",
              (long long)bytes, attached_bytes));
    attached = buffer;
    attached_bytes = (size_t)bytes;
    return MPI_SUCCESS;
}

#define BUFFER(c, N, A)                                                                            \
    CALL(Buffer_attach##c, (void *buffer, N bytes), attach(buffer, bytes))                         \
    API(Buffer_detach##c, (void *buffer, N *bytes))                                                \
    {                                                                                              \
        OPEN_IN;                                                                                   \
        OUT(buffer, bytes);                                                                        \
        for (weftmpi_orphans_sweep(); used() != 0; weftmpi_orphans_sweep())                        \
            weftmpi_pause();                                                                       \
        LOCKED;                                                                                    \
        *(void **)buffer = attached;                                                               \
        *bytes = (N)attached_bytes;                                                                \
        attached = NULL;                                                                           \
        attached_bytes = 0;                                                                        \
        return MPI_SUCCESS;                                                                        \
    }
TWINS(BUFFER)

/* ---- beginning ------------------------------------------------------------------------------- */

/* Return a rank and a tag as weft has them. */
static inline int other_of(const struct weftmpi_comm *comm, int peer)
{
    return peer == MPI_ANY_SOURCE ? WEFT_ANY : comm->base + peer;
}
static inline int tag_of(int tag)
{
    return tag == MPI_ANY_TAG ? WEFT_ANY : tag;
}

/* Begins a message of bytes in a row. */
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
        return send_buffered(request, row, bytes);
    return weftmpi_failed(
        post(request->way, request->comm, row, bytes, request->peer, request->tag, &request->op));
}

/* ---- sends and receives ---------------------------------------------------------------------- */

#define GIVEN buffer, count, type, peer, tag, comm
/* Parameters of calls. N: the type of counts. */
#define TO(N)   const void *buffer, N count, MPI_Datatype type, int peer, int tag, MPI_Comm comm
#define FROM(N) void *buffer, N count, MPI_Datatype type, int peer, int tag, MPI_Comm comm

/* Makes a blocking call by a request. `run` does without one if the elements are in a row, unless
 * something is to be driven meanwhile. */
static int run_request(enum weftmpi_way way, TO(MPI_Count), MPI_Status *status)
{
    struct weftmpi_request local, *const request = weftmpi_request_clear(&local);

    TRY(open(request, way, GIVEN));
    return weftmpi_request_wait(request, weftmpi_point_begin(request), status);
}
static inline __attribute__((always_inline)) int run(enum weftmpi_way way, TO(MPI_Count),
                                                     MPI_Status *status)
{
    struct weftmpi_elements e;
    weft_message message;

    COMM_OF(in, comm);
    TRY(weftmpi_elements_in(buffer, count, type, &e));
    TRY(weftmpi_check_peer(in, peer, tag, way == WEFTMPI_RECEIVE));
    if (peer == MPI_PROC_NULL || way == WEFTMPI_SEND_BUFFERED || !weftmpi_is_row(&e) ||
        !weftmpi_waits_alone())
        return run_request(way, GIVEN, status);
    void *const row = weftmpi_begin_of(&e);
    const int other = other_of(in, peer);
    if (way == WEFTMPI_SEND)
        return weftmpi_failed(weft_host_send(weftmpi.job, in->messages, other, tag, row, e.bytes));
    if (way == WEFTMPI_SEND_SYNCHRONOUS)
        return weftmpi_failed(
            weft_host_send_synchronous(weftmpi.job, in->messages, other, tag, row, e.bytes));
    const weft_status result =
        weft_host_receive(weftmpi.job, in->messages, other, tag_of(tag), row, e.bytes, &message);
    if (status != MPI_STATUS_IGNORE && (result == WEFT_OK || result == WEFT_ERR_BOUNDS))
        weftmpi_set_status(status, message.from - in->base, message.tag, message.bytes);
    return weftmpi_failed(result);
}

/* Makes a call that gives the program a request. `start` begins what is in a row first, and makes a
 * request only if it is not complete then. */
static int start_request(enum weftmpi_way way, TO(MPI_Count), MPI_Request *handle)
{
    struct weftmpi_request *const request = weftmpi_make(WEFTMPI_REQUEST, sizeof(*request));

    TRY(open(request, way, GIVEN));
    return weftmpi_request_keep(request, weftmpi_point_begin(request), handle);
}
static inline __attribute__((always_inline)) int start(enum weftmpi_way way, TO(MPI_Count),
                                                       MPI_Request *handle)
{
    struct weftmpi_elements e;
    weft_message_op op;

    TRY(PLACES(handle));
    *handle = MPI_REQUEST_NULL;
    COMM_OF(in, comm);
    TRY(weftmpi_elements_in(buffer, count, type, &e));
    TRY(weftmpi_check_peer(in, peer, tag, way == WEFTMPI_RECEIVE));
    if (peer == MPI_PROC_NULL || way == WEFTMPI_SEND_BUFFERED || !weftmpi_is_row(&e))
        return start_request(way, GIVEN, handle);
    TRY(weftmpi_failed(post(way, in, weftmpi_begin_of(&e), e.bytes, peer, tag, &op)));
    if (op.generation == 0) {
        *handle = WEFTMPI_REQUEST_DONE;
        return MPI_SUCCESS;
    }
    struct weftmpi_request *request = weftmpi_make(WEFTMPI_REQUEST, sizeof(*request));
    request->way = way;
    request->plain = request->active = true;
    request->comm = weftmpi_hold(in);
    request->op = op;
    request->call = weftmpi_call;
    *handle = request->object.handle;
    return MPI_SUCCESS;
}

/* Defines the persistent form of a call. */
#define INIT(name, way, ...)                                                                       \
    API(name, (__VA_ARGS__, MPI_Request * request))                                                \
    {                                                                                              \
        MAKE(made, request);                                                                       \
        made->persistent = true;                                                                   \
        return weftmpi_request_keep(made, open(made, way, GIVEN), request);                        \
    }
#define STARTED(name, way, ...)                                                                    \
    CALL(name, (__VA_ARGS__, MPI_Request * request), start(way, GIVEN, request))
#define SEND_FORMS(name, iname, init, way, N)                                                      \
    CALL(name, (TO(N)), run(way, GIVEN, MPI_STATUS_IGNORE))                                        \
    STARTED(iname, way, TO(N))                                                                     \
    INIT(init, way, TO(N))
#define SENDS(name, iname, way)                                                                    \
    SEND_FORMS(name, iname, name##_init, way, int)                                                 \
    SEND_FORMS(name##_c, iname##_c, name##_init_c, way, MPI_Count)
#define RECEIVES(c, N, A)                                                                          \
    CALL(Recv##c, (FROM(N), MPI_Status * status), run(WEFTMPI_RECEIVE, GIVEN, status))             \
    STARTED(Irecv##c, WEFTMPI_RECEIVE, FROM(N))                                                    \
    INIT(Recv_init##c, WEFTMPI_RECEIVE, FROM(N))

SENDS(Send, Isend, WEFTMPI_SEND)
SENDS(Ssend, Issend, WEFTMPI_SEND_SYNCHRONOUS)
SENDS(Rsend, Irsend, WEFTMPI_SEND)
SENDS(Bsend, Ibsend, WEFTMPI_SEND_BUFFERED)
TWINS(RECEIVES)

/* ---- both ways ------------------------------------------------------------------------------- */

/* Begins a receive, and behind it a send, in one request, whose memory is both's. Where they have
 * one buffer, what is sent is copied first. */
static int sendrecv(struct weftmpi_request *both, const void *send, MPI_Count send_count,
                    MPI_Datatype send_type, int to, int send_tag, void *receive,
                    MPI_Count receive_count, MPI_Datatype receive_type, int from, int receive_tag,
                    MPI_Comm comm)
{
    struct weftmpi_request sent = {0};

    TRY(open(both, WEFTMPI_RECEIVE, receive, receive_count, receive_type, from, receive_tag, comm));
    TRY(open(&sent, WEFTMPI_SEND, send, send_count, send_type, to, send_tag, comm));
    if (send == receive) {
        const size_t bytes = sent.elements.bytes;
        void *copy;
        TRY(weftmpi_row(both, &sent.elements, WEFTMPI_COPY, &copy));
        sent.elements = (struct weftmpi_elements){
            .user = copy, .count = bytes, .bytes = bytes, .type = WEFTMPI_BYTES};
    }
    TRY(weftmpi_point_begin(both));
    sent.memory = both->memory;
    const int error = weftmpi_point_begin(&sent);
    both->memory = sent.memory;
    both->way = WEFTMPI_SENDRECV;
    both->second = sent.op;
    return error;
}

#define SENDRECVS(c, N, A)                                                                         \
    BOTH_TOLD(Sendrecv##c, Isendrecv##c,                                                           \
              sendrecv(begun, send, send_count, send_type, to, send_tag, receive, receive_count,   \
                       receive_type, from, receive_tag, comm),                                     \
              const void *send, N send_count, MPI_Datatype send_type, int to, int send_tag,        \
              void *receive, N receive_count, MPI_Datatype receive_type, int from,                 \
              int receive_tag, MPI_Comm comm)                                                      \
    BOTH_TOLD(Sendrecv_replace##c, Isendrecv_replace##c,                                           \
              sendrecv(begun, buffer, count, type, to, send_tag, buffer, count, type, from,        \
                       receive_tag, comm),                                                         \
              void *buffer, N count, MPI_Datatype type, int to, int send_tag, int from,            \
              int receive_tag, MPI_Comm comm)
TWINS(SENDRECVS)
