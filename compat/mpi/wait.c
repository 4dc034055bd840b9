/* compat/mpi/wait.c - calls for several requests at once, persistent requests, and cancel. */
#include "collective.h"

/* ---- several --------------------------------------------------------------------------------- */

/* Checks that the library is open, and how many requests are meant. _IN: enters the call, too. */
#define REQUESTS_OF(count)                                                                         \
    TRY(weftmpi_is_open());                                                                        \
    TRY(HOLDS((count) >= 0, MPI_ERR_COUNT, "%d requests", count));                                 \
    TRY(LISTED(count, handles))
#define REQUESTS_IN(count)                                                                         \
    ENTER;                                                                                         \
    REQUESTS_OF(count)

/* Ends a request; NULL: there is none. Its error stands in its status. */
static inline int end_one(struct weftmpi_request *request, MPI_Request *handle, MPI_Status *status)
{
    const int error = request == NULL || request->object.handle != *handle /* it was there twice */
                          ? weftmpi_no_object(WEFTMPI_REQUEST)
                          : weftmpi_request_tell(request, handle, status);

    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = error;
    return error == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_IN_STATUS;
}

/* Ends so many requests; indices NULL: all of them. */
static int end_some(MPI_Request handles[], int count, const int indices[], MPI_Status statuses[])
{
    int result = MPI_SUCCESS;

    for (int i = 0; i < count; i++) {
        MPI_Request *const handle = &handles[indices == NULL ? i : indices[i]];
        MPI_Status *const status = statuses == MPI_STATUSES_IGNORE ? NULL : &statuses[i];
        result |= end_one(weftmpi_find(WEFTMPI_REQUEST, *handle), handle, status);
    }
    return result;
}

/* Plain ones that are waited for at once, and their places among all. */
enum { TOGETHER = 64 };
struct together {
    struct weftmpi_request *requests[TOGETHER];
    weft_message_op ops[TOGETHER];
    int at[TOGETHER], count;
};

static int end_together(struct together *some, MPI_Request handles[], MPI_Status statuses[])
{
    weft_message messages[TOGETHER];
    const int count = some->count;
    int result = MPI_SUCCESS;

    if (count == 0)
        return MPI_SUCCESS;
    some->count = 0;
    const weft_status all =
        weft_host_message_wait_all(weftmpi.job, some->ops, (size_t)count, messages);
    for (int i = 0; i < count; i++) {
        struct weftmpi_request *const request = some->requests[i];
        const weft_status its = all == WEFT_OK || all == WEFT_ERR_BOUNDS ? messages[i].status : all;
        const int at = some->at[i], error = weftmpi_request_failed(request, its);
        if (statuses != MPI_STATUSES_IGNORE) {
            weftmpi_message_tell(request, its, &messages[i], &statuses[at]);
            statuses[at].MPI_ERROR = error;
        }
        result |= error == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_IN_STATUS;
        handles[at] = MPI_REQUEST_NULL;
        weftmpi_plain_end(request);
    }
    return result;
}

/* Takes a message to those that are waited for at once. False: it is none, or there twice. */
static inline bool join(struct together *some, MPI_Request handle, int at)
{
    struct weftmpi_request *const request =
        weftmpi_is_standard(handle) ? NULL : weftmpi_find_made(WEFTMPI_REQUEST, handle);

    if (request == NULL || !request->plain || request->complete || request->op.generation == 0 ||
        some->count == TOGETHER)
        return false;
    some->requests[some->count] = request;
    some->ops[some->count] = request->op;
    some->at[some->count++] = at;
    request->op = WEFT_MESSAGE_NONE;
    return true;
}

/* Puts back what was to be waited for, since the list has a handle that is none: it goes on. */
static int put_back(const struct together *some)
{
    for (int i = 0; i < some->count; i++)
        some->requests[i]->op = some->ops[i];
    return weftmpi_no_object(WEFTMPI_REQUEST);
}

static __attribute__((noinline)) int end_alone(MPI_Request *handle, MPI_Status *status)
{
    struct weftmpi_request *const request = weftmpi_find(WEFTMPI_REQUEST, *handle);

    if (request != NULL)
        weftmpi_request_until(request);
    return end_one(request, handle, status);
}

API(Waitall, (int count, MPI_Request handles[], MPI_Status statuses[]))
{
    struct together some;
    int result = MPI_SUCCESS;

    some.count = 0;
    REQUESTS_IN(count);
    const bool alone = weftmpi_waits_alone();
    for (int i = 0; i < count; i++) {
        MPI_Status *const status = statuses == MPI_STATUSES_IGNORE ? NULL : &statuses[i];
        if (handles[i] == WEFTMPI_REQUEST_DONE) {
            handles[i] = MPI_REQUEST_NULL;
            if (status != NULL)
                *status = weftmpi_requests[1].status;
            continue;
        }
        if (alone && join(&some, handles[i], i))
            continue;
        if (weftmpi_find(WEFTMPI_REQUEST, handles[i]) == NULL)
            return put_back(&some);
        result |= end_together(&some, handles, statuses);
        result |= end_alone(&handles[i], status);
    }
    return result | end_together(&some, handles, statuses);
}

API(Testall, (int count, MPI_Request handles[], int *flag, MPI_Status statuses[]))
{
    OUT(flag);
    REQUESTS_IN(count);
    weftmpi_drive();
    *flag = 1;
    for (int i = 0; i < count && *flag; i++) {
        REQUEST_OF(request, handles[i]);
        *flag = weftmpi_request_poll(request, 0);
    }
    return *flag ? end_some(handles, count, NULL, statuses) : MPI_SUCCESS;
}

/*
 * Looks at all requests that are active. *done: how many are complete, whose places are in indices
 * (at most `most`); MPI_UNDEFINED: none is active. waits: until one is complete; it looks often at
 * first, and then sleeps in the first one's wait.
 */
static int look(int count, MPI_Request handles[], int most, bool waits, int *done, int indices[])
{
    TRY(PLACES(done));
    REQUESTS_OF(count);
    for (int round = 0;; round++) {
        struct weftmpi_request *first = NULL;
        weftmpi_drive();
        *done = 0;
        for (int i = 0; i < count && *done < most; i++) {
            REQUEST_OF(request, handles[i]);
            if (!request->active)
                continue;
            if (first == NULL)
                first = request;
            if (weftmpi_request_poll(request, 0))
                indices[(*done)++] = i;
        }
        if (first == NULL)
            *done = MPI_UNDEFINED;
        if (*done != 0 || !waits)
            return MPI_SUCCESS;
        if (round > 100)
            weftmpi_request_poll(first, round > 1000 ? 200e-6 : 20e-6);
    }
}

/* Ends a request that is complete, if any is active. flag NULL: waits for it. */
static int end_any(int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status)
{
    MPI_Request none = MPI_REQUEST_NULL;
    int done;

    TRY(PLACES(index));
    *index = MPI_UNDEFINED;
    TRY(look(count, handles, 1, flag == NULL, &done, index));
    if (flag != NULL)
        *flag = done != 0;
    if (done == 0)
        return MPI_SUCCESS;
    MPI_Request *const handle = *index == MPI_UNDEFINED ? &none : &handles[*index];
    REQUEST_OF(request, *handle);
    return weftmpi_request_tell(request, handle, status);
}

CALL(Waitany, (int count, MPI_Request handles[], int *index, MPI_Status *status),
     end_any(count, handles, index, NULL, status))
CALL(Testany, (int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status),
     INTO(flag, end_any(count, handles, index, flag, status)))

static int end_done(int count, MPI_Request handles[], bool waits, int *done, int indices[],
                    MPI_Status statuses[])
{
    TRY(LISTED(count, indices));
    TRY(look(count, handles, count, waits, done, indices));
    return end_some(handles, *done, indices, statuses);
}

CALL(Waitsome, (int count, MPI_Request handles[], int *done, int indices[], MPI_Status statuses[]),
     end_done(count, handles, true, done, indices, statuses))
CALL(Testsome, (int count, MPI_Request handles[], int *done, int indices[], MPI_Status statuses[]),
     end_done(count, handles, false, done, indices, statuses))

/* ---- persistent ------------------------------------------------------------------------------ */

API(Start, (MPI_Request * handle))
{
    REQUEST_IN(request, handle);
    weftmpi_call.on = request->call.on;
    TRY(HOLDS(request->persistent && !request->active, MPI_ERR_REQUEST,
              request->persistent ? "the request is active" : "no persistent request"));
    weftmpi_call = request->call; /* whose errors they are */
    request->complete = false;
    request->error = MPI_SUCCESS;
    weftmpi_set_status(&request->status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    const int error = request->given != NULL ? weftmpi_begin(request, request->given)
                                             : weftmpi_point_begin(request);
    request->active = error == MPI_SUCCESS;
    return request->active ? error : weftmpi_request_wait(request, error, MPI_STATUS_IGNORE);
}

API(Startall, (int count, MPI_Request handles[]))
{
    REQUESTS_IN(count);
    for (int i = 0; i < count; i++)
        TRY(PMPI_Start(&handles[i]));
    return MPI_SUCCESS;
}

/* ---- taken back ------------------------------------------------------------------------------ */

API(Cancel, (MPI_Request * handle))
{
    REQUEST_IN(request, handle);
    int cancelled = 0;
    weftmpi_call.on = request->call.on;
    if (request->way == WEFTMPI_GENERAL)
        return weftmpi_general_cancel(request);
    TRY(HOLDS(request->active && request->way != WEFTMPI_COLLECTIVE &&
                  request->way != WEFTMPI_AGREE && request->way != WEFTMPI_RMA,
              MPI_ERR_REQUEST, request->active ? "a collective" : "the request is not active"));
    if (request->complete || request->way == WEFTMPI_SENDRECV)
        return MPI_SUCCESS;
    const weft_status status = weft_host_message_cancel(weftmpi.job, &request->op, &cancelled);
    if (cancelled) {
        if (request->unpacks != NULL)
            request->unpacks->into.bytes = 0;
        weftmpi_set_status(&request->status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
        request->status.MPI_internal[2] = 1;
        request->complete = request->plain;
    }
    return weftmpi_failed(status);
}

TELL(Test_cancelled, (const MPI_Status *status, int *flag), PLACES(status), flag,
     status->MPI_internal[2])

API(Status_set_cancelled, (MPI_Status * status, int flag))
{
    OUT(status);
    status->MPI_internal[2] = flag != 0;
    return MPI_SUCCESS;
}

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "Fortran's status");

API(Status_c2f, (const MPI_Status *status, MPI_Fint *fortran))
{
    OUT(status, fortran);
    memcpy(fortran, status, sizeof(*status));
    return MPI_SUCCESS;
}

API(Status_f2c, (const MPI_Fint *fortran, MPI_Status *status))
{
    OUT(fortran, status);
    memcpy(status, fortran, sizeof(*status));
    return MPI_SUCCESS;
}
