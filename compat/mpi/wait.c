/* compat/mpi/wait.c - calls for several requests at once, persistent requests, and cancel. */
#include "collective.h"

/* ---- several --------------------------------------------------------------------------------- */

/* Ends one; NULL: there is none. Its error stands in its status. */
static inline int end_one(const char *call, struct weftmpi_request *request, MPI_Request *handle,
                          MPI_Status *status)
{
    const int error = request == NULL || request->object.handle != *handle /* it was there twice */
                          ? weftmpi_no_object(NULL, call, WEFTMPI_REQUEST)
                          : weftmpi_request_tell(request, handle, status);

    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = error;
    return error == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_IN_STATUS;
}

/* Ends so many; indices NULL: all of them. */
static int end_some(const char *call, MPI_Request handles[], int count, const int indices[],
                    MPI_Status statuses[])
{
    int result = MPI_SUCCESS;

    for (int i = 0; i < count; i++) {
        MPI_Request *const handle = &handles[indices == NULL ? i : indices[i]];
        MPI_Status *const status = statuses == MPI_STATUSES_IGNORE ? NULL : &statuses[i];
        result |= end_one(call, weftmpi_find(WEFTMPI_REQUEST, *handle), handle, status);
    }
    return result;
}

/* Those that are waited for at once, and their places among all. */
struct together {
    struct weftmpi_request *requests[WEFTMPI_TOGETHER];
    int at[WEFTMPI_TOGETHER], count;
};

static int end_together(const char *call, struct together *some, MPI_Request handles[],
                        MPI_Status statuses[])
{
    int result = MPI_SUCCESS;

    weftmpi_requests_until(some->requests, some->count);
    for (int i = 0; i < some->count; i++) {
        const int at = some->at[i];
        result |= end_one(call, some->requests[i], &handles[at],
                          statuses == MPI_STATUSES_IGNORE ? NULL : &statuses[at]);
    }
    some->count = 0;
    return result;
}

API(Waitall, (int count, MPI_Request handles[], MPI_Status statuses[]))
{
    struct together some;
    int result = MPI_SUCCESS;

    some.count = 0;
    TRY(weftmpi_is_open(__func__));
    for (int i = 0; i < count; i++) {
        if (handles[i] == WEFTMPI_REQUEST_DONE) {
            handles[i] = MPI_REQUEST_NULL;
            if (statuses != MPI_STATUSES_IGNORE)
                statuses[i] = weftmpi_requests[1].status;
            continue;
        }
        REQUEST_OF(request, __func__, handles[i]);
        some.requests[some.count] = request;
        some.at[some.count++] = i;
        if (some.count == WEFTMPI_TOGETHER)
            result |= end_together(__func__, &some, handles, statuses);
    }
    return result | end_together(__func__, &some, handles, statuses);
}

API(Testall, (int count, MPI_Request handles[], int *flag, MPI_Status statuses[]))
{
    TRY(weftmpi_is_open(__func__));
    weftmpi_drive();
    *flag = 1;
    for (int i = 0; i < count && *flag; i++) {
        REQUEST_OF(request, __func__, handles[i]);
        *flag = weftmpi_request_poll(request, 0);
    }
    return *flag ? end_some(__func__, handles, count, NULL, statuses) : MPI_SUCCESS;
}

/*
 * Looks at all that are active. *done: how many are complete, whose places are in indices (at most
 * `most`); MPI_UNDEFINED: none is active.
 */
static int look(const char *call, int count, MPI_Request handles[], int most, int *done,
                int indices[])
{
    int active = 0;

    TRY(weftmpi_is_open(call));
    weftmpi_drive();
    *done = 0;
    for (int i = 0; i < count && *done < most; i++) {
        REQUEST_OF(request, call, handles[i]);
        active += request->active;
        if (request->active && weftmpi_request_poll(request, 0))
            indices[(*done)++] = i;
    }
    if (active == 0)
        *done = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* The same; waits for one. While it waits it looks often, and sleeps in the first one's wait. */
static int look_until(const char *call, int count, MPI_Request handles[], int most, int *done,
                      int indices[])
{
    for (int round = 0;; round++) {
        TRY(look(call, count, handles, most, done, indices));
        if (*done != 0)
            return MPI_SUCCESS;
        for (int i = 0; i < count && round > 100; i++) {
            REQUEST_OF(request, call, handles[i]);
            if (!request->active)
                continue;
            weftmpi_request_poll(request, round > 1000 ? 200e-6 : 20e-6);
            break;
        }
    }
}

/* Ends the one at `index`; MPI_UNDEFINED: none was active. */
static int end_any(const char *call, MPI_Request handles[], int index, MPI_Status *status)
{
    MPI_Request none = MPI_REQUEST_NULL, *handle = index == MPI_UNDEFINED ? &none : &handles[index];

    REQUEST_OF(request, call, *handle);
    return weftmpi_request_tell(request, handle, status);
}

API(Waitany, (int count, MPI_Request handles[], int *index, MPI_Status *status))
{
    int done;

    *index = MPI_UNDEFINED;
    TRY(look_until(__func__, count, handles, 1, &done, index));
    return end_any(__func__, handles, *index, status);
}

API(Testany, (int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status))
{
    int done;

    *index = MPI_UNDEFINED;
    TRY(look(__func__, count, handles, 1, &done, index));
    *flag = done != 0;
    return *flag ? end_any(__func__, handles, *index, status) : MPI_SUCCESS;
}

API(Waitsome, (int count, MPI_Request handles[], int *done, int indices[], MPI_Status statuses[]))
{
    TRY(look_until(__func__, count, handles, count, done, indices));
    return end_some(__func__, handles, *done, indices, statuses);
}

API(Testsome, (int count, MPI_Request handles[], int *done, int indices[], MPI_Status statuses[]))
{
    TRY(look(__func__, count, handles, count, done, indices));
    return end_some(__func__, handles, *done, indices, statuses);
}

/* ---- persistent ------------------------------------------------------------------------------ */

API(Start, (MPI_Request * handle))
{
    REQUEST_IN(request, *handle);
    if (request->given != NULL)
        weftmpi_given_handler(request->given);
    if (!request->persistent || request->active)
        return weftmpi_fail(request->comm, __func__, MPI_ERR_REQUEST,
                            request->persistent ? "the request is active"
                                                : "no persistent request");
    request->complete = false;
    request->error = MPI_SUCCESS;
    weftmpi_set_status(&request->status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    const int error = request->given != NULL ? weftmpi_begin(request, request->given)
                                             : weftmpi_point_begin(request);
    request->active = error == MPI_SUCCESS;
    return error;
}

API(Startall, (int count, MPI_Request handles[]))
{
    for (int i = 0; i < count; i++)
        TRY(PMPI_Start(&handles[i]));
    return MPI_SUCCESS;
}

/* ---- taken back ------------------------------------------------------------------------------ */

API(Cancel, (MPI_Request * handle))
{
    REQUEST_IN(request, *handle);
    int cancelled = 0;
    if (request->way == WEFTMPI_GENERAL)
        return weftmpi_general_cancel(request);
    if (!request->active || request->way == WEFTMPI_COLLECTIVE || request->way == WEFTMPI_AGREE ||
        request->way == WEFTMPI_RMA)
        return weftmpi_fail(request->comm, __func__, MPI_ERR_REQUEST,
                            request->active ? "a collective" : "the request is not active");
    if (request->complete || request->way == WEFTMPI_SENDRECV)
        return MPI_SUCCESS;
    const weft_status status = weft_host_message_cancel(weftmpi.job, &request->op, &cancelled);
    if (cancelled) {
        if (request->unpacks != NULL)
            request->unpacks->into.bytes = 0;
        request->status.MPI_internal[2] = 1;
    }
    return weftmpi_failed(request->comm, __func__, status);
}

TELL(Test_cancelled, (const MPI_Status *status, int *flag), MPI_SUCCESS, flag,
     status->MPI_internal[2])

API(Status_set_cancelled, (MPI_Status * status, int flag))
{
    status->MPI_internal[2] = flag != 0;
    return MPI_SUCCESS;
}

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "Fortran's status");

API(Status_c2f, (const MPI_Status *status, MPI_Fint *fortran))
{
    memcpy(fortran, status, sizeof(*status));
    return MPI_SUCCESS;
}

API(Status_f2c, (const MPI_Fint *fortran, MPI_Status *status))
{
    memcpy(status, fortran, sizeof(*status));
    return MPI_SUCCESS;
}
