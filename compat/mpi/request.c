/*
 * compat/mpi/request.c - requests: an operation under way, what is to be done when it completes,
 * and what then is told. Whoever waits for one drives what only moves when it is driven.
 */
#include "collective.h"

#include <math.h>
#include <time.h>

static struct weftmpi_request *orphans; /* freed by the program while they were active */
struct weftmpi_request weftmpi_requests[] = {
    {.object = {.handle = MPI_REQUEST_NULL, .references = 1},
     .complete = true,
     .status = {.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG}},
    {.object = {.handle = WEFTMPI_REQUEST_DONE, .references = 1},
     .active = true,
     .complete = true,
     .status = {.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG}}};

struct weftmpi_request *weftmpi_request_clear(struct weftmpi_request *request)
{
    static volatile size_t bytes = sizeof(*request); /* what compilers do instead takes longer */

    return memset(request, 0, bytes);
}

void *weftmpi_request_memory(struct weftmpi_request *request, size_t bytes)
{
    struct weftmpi_memory *memory = weftmpi_room(NULL, sizeof(*memory) + bytes);

    memory->next = request->memory;
    request->memory = memory;
    return memory->bytes;
}

struct weftmpi_unpack *weftmpi_request_unpack(struct weftmpi_request *request, const void *from,
                                              const struct weftmpi_elements *into)
{
    struct weftmpi_unpack *unpack = weftmpi_request_memory(request, sizeof(*unpack));

    weftmpi_hold(into->type);
    *unpack = (struct weftmpi_unpack){.next = request->unpacks, .from = from, .into = *into};
    request->unpacks = unpack;
    return unpack;
}

/* Gives back what a request held that is over. */
static void let_go(struct weftmpi_request *request)
{
    if (request->memory == NULL) /* unpacks are in it */
        return;
    for (const struct weftmpi_unpack *unpack = request->unpacks; unpack != NULL;
         unpack = unpack->next)
        weftmpi_leave(unpack->into.type);
    request->unpacks = NULL;
    while (request->memory != NULL) {
        struct weftmpi_memory *memory = request->memory;
        request->memory = memory->next;
        free(memory);
    }
}

/* ---- completion ------------------------------------------------------------------------------ */

static weft_status poll_message(weft_message_op *op, double seconds, weft_message *message,
                                bool *done)
{
    int is_done = 1;
    const weft_status status = seconds == 0
                                   ? weft_host_message_test(weftmpi.job, op, &is_done, message)
                                   : weft_host_message_wait_for(weftmpi.job, op, seconds, message);

    if (status == WEFT_OK || status == WEFT_ERR_BOUNDS)
        *done = is_done;
    else
        *done = status != WEFT_ERR_TIMEOUT; /* if the job has failed, the next look says so */
    return status;
}

static bool is_zero(weft_message_op op)
{
    return op.index == 0 && op.generation == 0;
}

/* Takes the end of a request's receive, or of its only send, with its status. */
static void message_ended(struct weftmpi_request *request, weft_status status,
                          const weft_message *message)
{
    weftmpi_message_tell(request, status, message, &request->status);
    if (request->unpacks != NULL && message->bytes < request->unpacks->into.bytes)
        request->unpacks->into.bytes = message->bytes;
    request->error = weftmpi_request_failed(request, status);
}

static bool poll_point(struct weftmpi_request *request, double seconds)
{
    weft_message message = {0};
    bool done = true;
    weft_status status = WEFT_OK;

    if (!is_zero(request->op)) {
        status = poll_message(&request->op, seconds, &message, &done);
        if (!done)
            return false;
        message_ended(request, status, &message);
    }
    if (!is_zero(request->second)) {
        status = poll_message(&request->second, seconds, &message, &done);
        if (done && request->error == MPI_SUCCESS)
            request->error = weftmpi_request_failed(request, status);
    }
    return done;
}

static bool poll_collective(struct weftmpi_request *request, double seconds)
{
    const weft_status status = weft_team_wait_for(&request->collective, seconds);

    if (status == WEFT_ERR_TIMEOUT && request->collective != NULL)
        return false;
    request->error = weftmpi_request_failed(request, status);
    return true;
}

static void unpack(const struct weftmpi_unpack *what)
{
    const struct weftmpi_elements *into = &what->into;

    if (what->packed != NULL)
        weftmpi_pack(into->type, into->count, (char *)what->from - into->type->true_lower,
                     what->packed);
    weftmpi_unpack(into->type, into->bytes, what->packed != NULL ? what->packed : what->from,
                   into->user);
}

static void finish(struct weftmpi_request *request)
{
    if (request->finish != NULL)
        request->finish(request);
    for (const struct weftmpi_unpack *what = request->unpacks; what != NULL; what = what->next)
        unpack(what);
    let_go(request);
}

static inline void complete(struct weftmpi_request *request)
{
    if (request->finish != NULL || request->memory != NULL)
        finish(request);
    request->complete = true;
}

bool weftmpi_request_poll(struct weftmpi_request *request, double seconds)
{
    bool done;

    if (request->complete || !request->active)
        return true;
    if (request->way == WEFTMPI_COLLECTIVE)
        done = poll_collective(request, seconds);
    else if (request->way == WEFTMPI_AGREE)
        done = weftmpi_agree_poll(request, seconds, &request->error);
    else if (request->way == WEFTMPI_GENERAL)
        done = weftmpi_general_poll(request, seconds);
    else if (request->way == WEFTMPI_RMA)
        done = weftmpi_rma_poll(request, seconds);
    else
        done = poll_point(request, seconds);
    if (done)
        complete(request);
    return done;
}

void weftmpi_pause(void)
{
    nanosleep(&(struct timespec){0, 20000}, NULL);
}

double weftmpi_meanwhile(void)
{
    const double alone = weftmpi.level == MPI_THREAD_MULTIPLE ? 10e-3 : INFINITY;

    return weftmpi_drive() ? 50e-6 : alone;
}

void weftmpi_request_until(struct weftmpi_request *request)
{
    if (request->plain && !request->complete && weftmpi_waits_alone()) {
        weft_message message = {0};
        const weft_status status = weft_host_message_wait(weftmpi.job, &request->op, &message);
        message_ended(request, status, &message);
        request->complete = true;
    }
    while (!weftmpi_request_poll(request, 0) && !weftmpi_request_poll(request, weftmpi_meanwhile()))
        ;
}

/* Tells a request's status, but for MPI_ERROR, which only calls for several requests set; or the
 * empty one. */
static void tell(const struct weftmpi_request *request, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    const int before = status->MPI_ERROR;
    *status = request->active ? request->status : weftmpi_requests[0].status;
    status->MPI_ERROR = request->active ? before : MPI_SUCCESS;
}

int weftmpi_request_wait(struct weftmpi_request *request, int error, MPI_Status *status)
{
    if (error != MPI_SUCCESS) {
        let_go(request);
        return error;
    }
    if (request->way == WEFTMPI_RMA ||
        (request->way == WEFTMPI_COLLECTIVE && request->collective == NULL))
        complete(request); /* the call has waited, or an epoch's end does */
    else
        weftmpi_request_until(request);
    tell(request, status);
    return request->error;
}

/* ---- handles --------------------------------------------------------------------------------- */

int weftmpi_request_keep(struct weftmpi_request *request, int error, MPI_Request *handle)
{
    const bool is_over =
        !request->persistent && request->way <= WEFTMPI_SEND_BUFFERED && is_zero(request->op);

    *handle = error != MPI_SUCCESS ? MPI_REQUEST_NULL : WEFTMPI_REQUEST_DONE;
    if (error != MPI_SUCCESS || is_over) {
        let_go(request);
        weftmpi_unmake(request);
        return error;
    }
    request->active = !request->persistent;
    *handle = request->object.handle;
    weftmpi_hold(request->comm);
    weftmpi_hold(request->elements.type);
    weftmpi_hold(request->operation);
    return MPI_SUCCESS;
}

void weftmpi_request_end(void *object)
{
    struct weftmpi_request *request = object;

    let_go(request);
    if (request->way == WEFTMPI_GENERAL)
        weftmpi_general_end(request);
    if (request->given != NULL) {
        weftmpi_given_end(request->given);
    } else {
        weftmpi_leave(request->elements.type);
        weftmpi_leave(request->operation);
    }
    weftmpi_leave(request->comm);
}

int weftmpi_request_tell(struct weftmpi_request *request, MPI_Request *handle, MPI_Status *status)
{
    const bool general = request->way == WEFTMPI_GENERAL;

    if (general)
        weftmpi_general_query(request);
    int error = request->active ? request->error : MPI_SUCCESS;
    tell(request, status);
    if (general && error == MPI_SUCCESS)
        error = weftmpi_general_end(request);
    if (request->persistent) {
        request->active = false;
        return error;
    }
    *handle = MPI_REQUEST_NULL;
    if (request->plain)
        weftmpi_plain_end(request);
    else
        weftmpi_leave(request);
    return error;
}

/* ---- one ------------------------------------------------------------------------------------- */

API(Wait, (MPI_Request * handle, MPI_Status *status))
{
    REQUEST_IN(request, handle);
    weftmpi_request_until(request);
    return weftmpi_request_tell(request, handle, status);
}

API(Test, (MPI_Request * handle, int *flag, MPI_Status *status))
{
    OUT(flag);
    REQUEST_IN(request, handle);
    weftmpi_drive();
    *flag = weftmpi_request_poll(request, 0);
    return *flag ? weftmpi_request_tell(request, handle, status) : MPI_SUCCESS;
}

API(Request_get_status, (MPI_Request handle, int *flag, MPI_Status *status))
{
    OUT(flag);
    REQUEST_IN(request, &handle);
    weftmpi_drive();
    *flag = weftmpi_request_poll(request, 0);
    int error = MPI_SUCCESS;
    if (*flag && request->way == WEFTMPI_GENERAL)
        error = weftmpi_general_query(request);
    if (*flag)
        tell(request, status);
    return error;
}

API(Request_free, (MPI_Request * handle))
{
    REQUEST_IN(request, handle);
    TRY(HOLDS(*handle != MPI_REQUEST_NULL, MPI_ERR_REQUEST, "MPI_REQUEST_NULL"));
    *handle = MPI_REQUEST_NULL;
    if (request->way == WEFTMPI_GENERAL && !weftmpi_general_free(request))
        return MPI_SUCCESS; /* MPI_Grequest_complete ends it */
    return weftmpi_request_orphan(request);
}

int weftmpi_request_orphan(struct weftmpi_request *request)
{
    weftmpi_drop(request->object.handle);
    if (weftmpi_request_poll(request, 0)) {
        const int error =
            request->way == WEFTMPI_GENERAL ? weftmpi_general_end(request) : MPI_SUCCESS;
        weftmpi_leave(request);
        return error;
    }
    weftmpi_lock();
    request->next = orphans;
    orphans = request;
    weftmpi_unlock();
    return MPI_SUCCESS;
}

void weftmpi_orphans_sweep(void)
{
    LOCKED;
    for (struct weftmpi_request **at = &orphans; *at != NULL;) {
        struct weftmpi_request *request = *at;
        if (request->way > WEFTMPI_SEND_BUFFERED || !weftmpi_request_poll(request, 0)) {
            at = &request->next;
        } else {
            *at = request->next;
            weftmpi_leave(request);
        }
    }
}

void weftmpi_orphans_end(bool receives)
{
    struct weftmpi_request **at = &orphans;
    double seconds = 1; /* that all of them get: one that nobody sends to would never end */

    while (*at != NULL) {
        struct weftmpi_request *request = *at;
        if ((request->way == WEFTMPI_RECEIVE) != receives) {
            at = &request->next;
            continue;
        }
        *at = request->next;
        if (!receives)
            weftmpi_request_until(request);
        else if (!weftmpi_request_poll(request, seconds))
            seconds = 0;
        weftmpi_leave(request);
    }
}
