/* compat/mpi/request.h - requests: an operation of weft, and what is to be done about it. */
#ifndef WEFTMPI_REQUEST_H
#define WEFTMPI_REQUEST_H

#include "internal.h"

enum weftmpi_way {
    WEFTMPI_SEND,
    WEFTMPI_SEND_SYNCHRONOUS,
    WEFTMPI_SEND_BUFFERED,
    WEFTMPI_RECEIVE,
    WEFTMPI_COLLECTIVE,
    WEFTMPI_SENDRECV, /* a receive, and a send behind it */
    WEFTMPI_AGREE,    /* a communicator is made: agree.c */
    WEFTMPI_GENERAL,  /* the program's: general.c */
    WEFTMPI_RMA       /* a put, get or update: rma.c */
};

/* Memory of a request. */
struct weftmpi_memory {
    struct weftmpi_memory *next;
    _Alignas(max_align_t) char bytes[];
};

/* What is put where the program wants it when the request completes. */
struct weftmpi_unpack {
    struct weftmpi_unpack *next;
    const void *from; /* the bytes in a row */
    void *packed;     /* not NULL: elements with their gaps, which are packed here first */
    struct weftmpi_elements into;
};

struct weftmpi_request {
    struct weftmpi_object object; /* without a handle: on the stack of a blocking call */
    enum weftmpi_way way;
    bool persistent, active, complete;
    bool waits; /* it is the request of a blocking call */
    bool plain; /* a message in a row: there is nothing to let go but the communicator */
    struct weftmpi_comm *comm;
    weft_message_op op;
    struct weftmpi_call call; /* the call that began it, to which its errors belong */
    MPI_Status status;        /* once it is complete */
    int error;
    struct weftmpi_request *next; /* the next orphan, or the next that is over and kept */
    /* A plain one has no more than that. */
    weft_message_op second; /* of SENDRECV: the send */
    weft_team_op *collective;
    weft_op update; /* of RMA: the operation */
    /* What the program gave. The datatype is in use until it is over, and so is its operation. */
    struct weftmpi_elements elements;
    int peer, tag;
    struct weftmpi_op *operation;
    struct weftmpi_given *given; /* of a persistent collective: what it begins with */
    struct weftmpi_unpack *unpacks;
    void (*finish)(struct weftmpi_request *); /* called at its end, before `unpacks`; or NULL */
    struct weftmpi_memory *memory;            /* freed when it is complete */
    void *state;                              /* for its way, and for `finish` */
};

/* Requests that are over keep their slots, for the next ones: most programs make many. */
extern struct weftmpi_request *weftmpi_idle_requests;
static inline void weftmpi_set_aside(struct weftmpi_request *request)
{
    LOCKED;

    request->object.references = 0;
    request->object.handle = weftmpi_next_handle(request->object.handle);
    request->next = weftmpi_idle_requests;
    weftmpi_idle_requests = request;
}

/* Ends a plain request that is over. */
static inline void weftmpi_plain_end(struct weftmpi_request *request)
{
    weftmpi_leave(request->comm);
    request->plain = request->active = request->complete = false;
    request->comm = NULL;
    request->op = WEFT_MESSAGE_NONE;
    request->error = MPI_SUCCESS;
    weftmpi_set_aside(request);
}

/* Returns how an operation ended, as an error of the call that began it. */
static inline int weftmpi_request_failed(const struct weftmpi_request *request, weft_status status)
{
    return status == WEFT_OK ? MPI_SUCCESS : weftmpi_failed_in(request->call, status);
}

/* Sets all of a status but MPI_ERROR. */
static inline void weftmpi_set_status(MPI_Status *status, int source, int tag, size_t bytes)
{
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    memset(status->MPI_internal, 0, sizeof(status->MPI_internal));
    memcpy(&status->MPI_internal[0], &bytes, sizeof(bytes));
}
static inline size_t weftmpi_status_bytes(const MPI_Status *status)
{
    size_t bytes;

    memcpy(&bytes, &status->MPI_internal[0], sizeof(bytes));
    return bytes;
}

/* Tell where elements begin, and whether their bytes are there in a row, and may be used. */
static inline void *weftmpi_begin_of(const struct weftmpi_elements *elements)
{
    return (char *)elements->user + elements->type->true_lower;
}
static inline bool weftmpi_is_row(const struct weftmpi_elements *elements)
{
    return elements->type->dense && weftmpi_is_there(elements);
}

/* ---- pack.c ---------------------------------------------------------------------------------- */

/* Gives the bytes of elements in a row: where they are, or in memory of the request. TAKE: packed;
 * COPY: always in its memory; FILL: they arrive there, and are unpacked when the request
 * completes. */
enum weftmpi_row { WEFTMPI_TAKE, WEFTMPI_COPY, WEFTMPI_FILL };
int weftmpi_row(struct weftmpi_request *request, const struct weftmpi_elements *elements,
                enum weftmpi_row how, void **row);

/* ---- request.c ------------------------------------------------------------------------------- */

/* Clears a request without a handle, on the stack of a blocking call. Returns it. */
struct weftmpi_request *weftmpi_request_clear(struct weftmpi_request *request);
/* MAKE: a request with a handle, all zero else, for a call whose `place` a handle will be put:
 * declares it. */
#define MAKE(name, place)                                                                          \
    OUT(place);                                                                                    \
    struct weftmpi_request *const name = weftmpi_make(WEFTMPI_REQUEST, sizeof(*(name)))
/* Opens a request: the current call begins it. */
static inline void weftmpi_request_open(struct weftmpi_request *request, enum weftmpi_way way,
                                        struct weftmpi_comm *comm)
{
    request->way = way;
    request->call = (struct weftmpi_call){weftmpi_call.name, comm};
    request->comm = comm;
    request->active = true;
    weftmpi_set_status(&request->status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
}
/* Returns memory that lives until the request is complete. */
void *weftmpi_request_memory(struct weftmpi_request *request, size_t bytes);
/* Has the bytes at `from`, or elements with gaps, put into the elements when it completes. */
struct weftmpi_unpack *weftmpi_request_unpack(struct weftmpi_request *request, const void *from,
                                              const struct weftmpi_elements *into);
/* A request was begun, with that error or MPI_SUCCESS. _wait: waits for it, for a blocking call,
 * and returns its error. _keep, for the others: *handle becomes its handle, or it is over. */
int weftmpi_request_wait(struct weftmpi_request *request, int error, MPI_Status *status);
int weftmpi_request_keep(struct weftmpi_request *request, int error, MPI_Request *handle);
/* Defines two forms of a call, the second with a request. `begin`: an expression that begins the
 * request `begun`, and is its error. TOLD: the blocking form has a status. */
#define FORMS(name, iname, begin, parameters, status, ...)                                         \
    API(name, parameters)                                                                          \
    {                                                                                              \
        ENTER;                                                                                     \
        struct weftmpi_request local, *const begun = weftmpi_request_clear(&local);                \
        begun->waits = true;                                                                       \
        const int error = begin;                                                                   \
        return weftmpi_request_wait(begun, error, status);                                         \
    }                                                                                              \
    API(iname, (__VA_ARGS__, MPI_Request * request))                                               \
    {                                                                                              \
        MAKE(begun, request);                                                                      \
        const int error = begin;                                                                   \
        return weftmpi_request_keep(begun, error, request);                                        \
    }
#define BOTH(name, iname, begin, ...)                                                              \
    FORMS(name, iname, begin, (__VA_ARGS__), MPI_STATUS_IGNORE, __VA_ARGS__)
#define BOTH_TOLD(name, iname, begin, ...)                                                         \
    FORMS(name, iname, begin, (__VA_ARGS__, MPI_Status * status), status, __VA_ARGS__)
void weftmpi_pause(void); /* between two looks */
/* Moves what only moves when it is driven; returns after how many seconds to do so again. */
double weftmpi_meanwhile(void);
/* Whether nothing has to be driven while this thread waits. */
static inline bool weftmpi_waits_alone(void)
{
    return !weftmpi_drive() && weftmpi.level != MPI_THREAD_MULTIPLE;
}
/* Leaves a request for which nobody waits any more: it is ended when it is complete. */
int weftmpi_request_orphan(struct weftmpi_request *request);
/* Ends the sends that are over, of the requests that the program has freed. */
void weftmpi_orphans_sweep(void);
/* Waits for requests that the program has freed, and ends them: the receives, when all processes
 * have sent what they do, or (not `receives`) the others. */
void weftmpi_orphans_end(bool receives);

/* ---- general.c, rma.c ------------------------------------------------------------------------ */

bool weftmpi_general_poll(struct weftmpi_request *request, double seconds);
/* Asks the program for the status of a request that is complete: at each call that tells it. */
int weftmpi_general_query(struct weftmpi_request *request);
int weftmpi_general_cancel(struct weftmpi_request *request);
/* Notes that the program frees a request. Returns whether it is complete, so that this ends it. */
bool weftmpi_general_free(struct weftmpi_request *request);
/* Ends a generalized request, once; returns its error. */
int weftmpi_general_end(struct weftmpi_request *request);
bool weftmpi_rma_poll(struct weftmpi_request *request, double seconds);

/* ---- point.c --------------------------------------------------------------------------------- */

/* Begins what the request says; a persistent one again. Raises the error. */
int weftmpi_point_begin(struct weftmpi_request *request);
/* Raises what is wrong with a rank, or a tag; any: MPI_ANY_SOURCE and MPI_ANY_TAG are right. */
int weftmpi_no_peer(struct weftmpi_comm *comm, int peer, int tag, bool any);
static inline int weftmpi_check_peer(struct weftmpi_comm *comm, int peer, int tag, bool any)
{
    return peer >= 0 && peer < comm->peers && tag >= 0 ? MPI_SUCCESS
                                                       : weftmpi_no_peer(comm, peer, tag, any);
}

/* ---- what the calls that wait are made of: request.c, wait.c --------------------------------- */

/* The request of a send that is complete at once. */
#define WEFTMPI_REQUEST_DONE ((MPI_Request)0x181)
extern struct weftmpi_request weftmpi_requests[2]; /* MPI_REQUEST_NULL's, WEFTMPI_REQUEST_DONE's */
void weftmpi_request_end(void *request);

/* REQUEST_OF: the request of a handle: declares it. _IN: of one at that place; enters the call. */
#define REQUEST_IN(name, place)                                                                    \
    OUT(place);                                                                                    \
    TRY(weftmpi_is_open());                                                                        \
    REQUEST_OF(name, *(place))
#define REQUEST_OF(name, handle) OBJECT_IN(name, request, WEFTMPI_REQUEST, handle)
/* Whether a request is complete, or not active; waits so long at most for something of it. */
bool weftmpi_request_poll(struct weftmpi_request *request, double seconds);
/* Tells what came of a receive, or of a send, that ended with that status. NULL: nobody asks. */
static inline void weftmpi_message_tell(const struct weftmpi_request *request, weft_status status,
                                        const weft_message *message, MPI_Status *told)
{
    const bool receives = request->way == WEFTMPI_RECEIVE || request->way == WEFTMPI_SENDRECV;

    if (told == MPI_STATUS_IGNORE)
        return;
    if (receives && (status == WEFT_OK || status == WEFT_ERR_BOUNDS)) {
        weftmpi_set_status(told, message->from - request->comm->base, message->tag, message->bytes);
        return;
    }
    weftmpi_set_status(told, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    told->MPI_internal[2] = status == WEFT_OK && message->tag == WEFT_ANY; /* it was taken back */
}
/* Waits until a request is complete. */
void weftmpi_request_until(struct weftmpi_request *request);
/* Tells of a request that is complete, and ends it. Returns its error. */
int weftmpi_request_tell(struct weftmpi_request *request, MPI_Request *handle, MPI_Status *status);

#endif
