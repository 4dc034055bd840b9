/* compat/mpi/error.c - error classes, their texts, and handlers. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int number;
    const char *text;
} classes[] = {
    {MPI_SUCCESS, "MPI_SUCCESS: no error"},
    {MPI_ERR_BUFFER, "MPI_ERR_BUFFER: bad buffer"},
    {MPI_ERR_COUNT, "MPI_ERR_COUNT: bad count"},
    {MPI_ERR_TYPE, "MPI_ERR_TYPE: bad datatype"},
    {MPI_ERR_TAG, "MPI_ERR_TAG: bad tag"},
    {MPI_ERR_COMM, "MPI_ERR_COMM: no communicator, or it was freed"},
    {MPI_ERR_RANK, "MPI_ERR_RANK: no such rank in the communicator"},
    {MPI_ERR_REQUEST, "MPI_ERR_REQUEST: no request, or it was freed"},
    {MPI_ERR_ROOT, "MPI_ERR_ROOT: bad root"},
    {MPI_ERR_GROUP, "MPI_ERR_GROUP: no group, or it was freed"},
    {MPI_ERR_OP, "MPI_ERR_OP: no operation, or not for this datatype"},
    {MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY: the communicator has no such topology"},
    {MPI_ERR_DIMS, "MPI_ERR_DIMS: bad dimensions"},
    {MPI_ERR_ARG, "MPI_ERR_ARG: bad argument"},
    {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN: unknown error"},
    {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE: the message is longer than the receive"},
    {MPI_ERR_OTHER, "MPI_ERR_OTHER: another error"},
    {MPI_ERR_INTERN, "MPI_ERR_INTERN: internal error"},
    {MPI_ERR_PENDING, "MPI_ERR_PENDING: the request is not complete"},
    {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS: the error is in the status"},
    {MPI_ERR_INFO_KEY, "MPI_ERR_INFO_KEY: the key is too long"},
    {MPI_ERR_INFO_NOKEY, "MPI_ERR_INFO_NOKEY: no such key"},
    {MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE: the value is too long"},
    {MPI_ERR_INFO, "MPI_ERR_INFO: no info, or it was freed"},
    {MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL: no keyval, or it was freed"},
    {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM: out of memory"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION: not supported"},
    {MPI_ERR_WIN, "MPI_ERR_WIN: no window"},
};

/* By weft's statuses; of the others MPI_ERR_OTHER, which is not 0. */
static const int class_of[WEFT_STATUS_COUNT] = {
    [WEFT_ERR_BOUNDS] = MPI_ERR_TRUNCATE,
    [WEFT_ERR_RANK] = MPI_ERR_RANK,
    [WEFT_ERR_TAG] = MPI_ERR_TAG,
    [WEFT_ERR_COMM] = MPI_ERR_COMM,
    [WEFT_ERR_MEMORY] = MPI_ERR_NO_MEM,
    [WEFT_ERR_ARGUMENT] = MPI_ERR_ARG,
    [WEFT_ERR_UNSUPPORTED] = MPI_ERR_UNSUPPORTED_OPERATION,
};

/* Ends the whole job, for an error that is fatal. */
static void die(const char *text, int error_class)
{
    if (weftmpi.job != NULL)
        weft_abort(weftmpi.job, text);
    weftmpi_exit(error_class);
}

struct weftmpi_errhandler *weftmpi_errhandler_of(struct weftmpi_comm *comm)
{
    LOCKED;
    return weftmpi_hold(comm->errhandler);
}

/* Calls the handler of a communicator. */
static int raise_error(struct weftmpi_comm *comm, int error_class, const char *text)
{
    struct weftmpi_errhandler *handler = weftmpi_errhandler_of(comm);

    if (handler == NULL || handler == &weftmpi_errhandlers[0]) {
        fprintf(stderr, "weft-mpi: [p%d] %s\n",
                weftmpi.job == NULL ? 0 : weft_numbers_of(weftmpi.job)->process, text);
        die(text, error_class);
    } else if (handler->function != NULL) {
        MPI_Comm handle = comm->object.handle;
        int code = error_class;
        handler->function(&handle, &code);
    }
    weftmpi_leave(handler);
    return error_class;
}

int weftmpi_fail(struct weftmpi_comm *comm, const char *call, int error_class, const char *format,
                 ...)
{
    char text[MPI_MAX_ERROR_STRING];
    va_list list;

    if (comm == NULL)
        comm = &weftmpi_comms[0];
    const int used = call == NULL ? 0 : snprintf(text, sizeof(text), "%s: ", call);
    va_start(list, format);
    weftmpi_lock(); /* a name may be among it */
    vsnprintf(text + used, sizeof(text) - (size_t)used, format, list);
    weftmpi_unlock();
    va_end(list);
    return raise_error(comm, error_class, text);
}

int weftmpi_failed(struct weftmpi_comm *comm, const char *call, weft_status status)
{
    if (status == WEFT_OK)
        return MPI_SUCCESS;
    return weftmpi_fail(comm, call, class_of[status] != 0 ? class_of[status] : MPI_ERR_OTHER, "%s",
                        *weft_error(weftmpi.job) != '\0' ? weft_error(weftmpi.job)
                                                         : weft_status_text(status));
}

int weftmpi_no_memory(struct weftmpi_comm *comm, const char *call)
{
    return weftmpi_fail(comm, call, MPI_ERR_NO_MEM, "no memory");
}

int weftmpi_is_open(const char *call)
{
    if (weftmpi.begun && !weftmpi.ended)
        return MPI_SUCCESS;
    fprintf(stderr, "weft-mpi: %s was called %s\n", call,
            weftmpi.ended ? "after MPI_Finalize" : "before MPI_Init");
    weftmpi_exit(MPI_ERR_OTHER);
}

API(Error_class, (int code, int *error_class))
{
    OUT(error_class);
    *error_class = code;
    return MPI_SUCCESS;
}

API(Error_string, (int code, char *text, int *length))
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
        if (classes[i].number == code) {
            *length = snprintf(text, MPI_MAX_ERROR_STRING, "%s", classes[i].text);
            return MPI_SUCCESS;
        }
    }
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "error %d", code);
    return code >= 0 && code <= MPI_ERR_LASTCODE ? MPI_SUCCESS : MPI_ERR_ARG;
}

/* ---- handlers -------------------------------------------------------------------------------- */

struct weftmpi_errhandler weftmpi_errhandlers[] = {
    {.object = {MPI_ERRORS_ARE_FATAL, 1}},
    {.object = {MPI_ERRORS_RETURN, 1}},
};

API(Comm_create_errhandler, (MPI_Comm_errhandler_function * function, MPI_Errhandler *handle))
{
    OUT(handle);
    struct weftmpi_errhandler *handler = weftmpi_make(WEFTMPI_ERRHANDLER, sizeof(*handler));

    if (handler == NULL)
        return weftmpi_no_memory(NULL, __func__);
    handler->function = function;
    *handle = handler->object.handle;
    return MPI_SUCCESS;
}

API(Comm_set_errhandler, (MPI_Comm handle, MPI_Errhandler errhandler))
{
    struct weftmpi_errhandler *handler = weftmpi_find(WEFTMPI_ERRHANDLER, errhandler);
    COMM_IN(comm, handle);
    if (handler == NULL)
        return weftmpi_no_object(comm, __func__, WEFTMPI_ERRHANDLER);
    LOCKED;
    weftmpi_hold(handler);
    weftmpi_leave(comm->errhandler);
    comm->errhandler = handler;
    return MPI_SUCCESS;
}

API(Comm_get_errhandler, (MPI_Comm handle, MPI_Errhandler *errhandler))
{
    OUT(errhandler);
    COMM_IN(comm, handle);
    *errhandler = weftmpi_errhandler_of(comm)->object.handle;
    return MPI_SUCCESS;
}

API(Errhandler_free, (MPI_Errhandler * handle))
{
    OBJECT_IN(handler, errhandler, WEFTMPI_ERRHANDLER, __func__, *handle);
    weftmpi_leave(handler);
    *handle = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
