/* compat/mpi/general.c - generalized requests: the program says when one is complete. */
#include "request.h"

struct general {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *release;
    MPI_Grequest_cancel_function *cancel;
    void *extra;
    bool complete, freed; /* by the program; the later of both ends it */
};

API(Grequest_start, (MPI_Grequest_query_function * query, MPI_Grequest_free_function *release,
                     MPI_Grequest_cancel_function *cancel, void *extra, MPI_Request *handle))
{
    OPEN_IN;
    OUT(handle);
    TRY(HOLDS(query != NULL && release != NULL && cancel != NULL, MPI_ERR_ARG, "no function"));
    struct general *general = weftmpi_room(NULL, sizeof(*general));
    struct weftmpi_request *request = weftmpi_make(WEFTMPI_REQUEST, sizeof(*request));
    *general =
        (struct general){.query = query, .release = release, .cancel = cancel, .extra = extra};
    weftmpi_request_open(request, WEFTMPI_GENERAL, &weftmpi_comms[0]);
    request->state = general;
    return weftmpi_request_keep(request, MPI_SUCCESS, handle);
}

/* Notes that a request is complete now, or freed. Returns whether it was the other before: then
 * nobody names it any more. Else another thread may end it at once, so nothing of it is looked at
 * behind that. */
static bool general_last(bool *now, const bool *other)
{
    LOCKED;
    const bool last = *other;

    __atomic_store_n(now, true, __ATOMIC_RELEASE);
    return last;
}

bool weftmpi_general_free(struct weftmpi_request *request)
{
    struct general *general = request->state;

    return general_last(&general->freed, &general->complete);
}

API(Grequest_complete, (MPI_Request handle))
{
    REQUEST_IN(request, &handle);
    TRY(HOLDS(request->way == WEFTMPI_GENERAL && request->active, MPI_ERR_REQUEST,
              "no generalized request"));
    struct general *general = request->state;
    return general_last(&general->complete, &general->freed) ? weftmpi_request_orphan(request)
                                                             : MPI_SUCCESS;
}

bool weftmpi_general_poll(struct weftmpi_request *request, double seconds)
{
    const struct general *general = request->state;
    const bool done = __atomic_load_n(&general->complete, __ATOMIC_ACQUIRE);

    if (!done && seconds > 0)
        weftmpi_pause();
    return done;
}

int weftmpi_general_query(struct weftmpi_request *request)
{
    const struct general *general = request->state;

    CALLS_BACK;
    return request->error = general->query(general->extra, &request->status);
}

int weftmpi_general_cancel(struct weftmpi_request *request)
{
    struct general *general = request->state;

    return general->cancel(general->extra, __atomic_load_n(&general->complete, __ATOMIC_ACQUIRE));
}

int weftmpi_general_end(struct weftmpi_request *request)
{
    struct general *general = request->state;

    CALLS_BACK;
    request->state = NULL;
    const int error = general != NULL ? general->release(general->extra) : MPI_SUCCESS;
    free(general);
    return error;
}
