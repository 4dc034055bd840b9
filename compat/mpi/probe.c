/* compat/mpi/probe.c - probes, and messages that a probe has taken. */
#include "request.h"

struct matched {
    struct weftmpi_object object;
    weft_message_op op;
    struct weftmpi_comm *comm;
};

/* Looks for a message once, or until there is one (`there` NULL). matched: takes the message. */
static int probe(int from, int tag, MPI_Comm handle, int *there, struct matched *matched,
                 MPI_Status *status)
{
    weft_message message;
    weft_status result;
    int found = 0;
    COMM_OF(comm, handle);

    TRY(weftmpi_check_peer(comm, from, tag, true));
    if (from == MPI_PROC_NULL) {
        if (status != MPI_STATUS_IGNORE)
            weftmpi_set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        if (there != NULL)
            *there = 1;
        return MPI_SUCCESS;
    }
    if (matched != NULL)
        matched->comm = comm;
    from = from == MPI_ANY_SOURCE ? WEFT_ANY : comm->base + from;
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
        if (!found && result == WEFT_OK && there == NULL)
            weftmpi_pause();
    } while (result == WEFT_OK && !found && there == NULL);
    if (there != NULL)
        *there = found;
    if (found && status != MPI_STATUS_IGNORE)
        weftmpi_set_status(status, message.from - comm->base, message.tag, message.bytes);
    return weftmpi_failed(result);
}

CALL(Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status),
     probe(from, tag, comm, NULL, NULL, status))
CALL(Iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
     INTO(flag, probe(from, tag, comm, flag, NULL, status)))

static int matched_probe(int from, int tag, MPI_Comm comm, int *there, MPI_Message *handle,
                         MPI_Status *status)
{
    TRY(PLACES(handle));
    struct matched *matched = weftmpi_make(WEFTMPI_MESSAGE, sizeof(*matched));

    *handle = from == MPI_PROC_NULL ? MPI_MESSAGE_NO_PROC : MPI_MESSAGE_NULL;
    const int error = probe(from, tag, comm, there, matched, status);
    if (error != MPI_SUCCESS || (there != NULL && !*there) || from == MPI_PROC_NULL)
        weftmpi_leave(matched);
    else
        *handle = matched->object.handle;
    return error;
}

CALL(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
     matched_probe(from, tag, comm, NULL, message, status))
CALL(Improbe,
     (int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
     INTO(flag, matched_probe(from, tag, comm, flag, message, status)))

/* Begins to receive a matched message. */
static int begin_matched(struct weftmpi_request *request, void *buffer, MPI_Count count,
                         MPI_Datatype type, MPI_Message *handle)
{
    TRY(PLACES(handle));
    struct matched *matched = weftmpi_find(WEFTMPI_MESSAGE, *handle);

    TRY(weftmpi_is_open());
    if (*handle != MPI_MESSAGE_NO_PROC && matched == NULL)
        return weftmpi_no_object(WEFTMPI_MESSAGE);
    weftmpi_request_open(request, WEFTMPI_RECEIVE,
                         matched == NULL ? &weftmpi_comms[0] : matched->comm);
    TRY(weftmpi_elements_in(buffer, count, type, &request->elements));
    if (matched == NULL) {
        weftmpi_set_status(&request->status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        *handle = MPI_MESSAGE_NULL;
        return MPI_SUCCESS;
    }
    void *row;
    TRY(weftmpi_row(request, &request->elements, WEFTMPI_FILL, &row));
    const weft_status status = weft_host_receive_matched_begin(
        weftmpi.job, &matched->op, row, request->elements.bytes, &request->op);
    weftmpi_leave(matched);
    *handle = MPI_MESSAGE_NULL;
    return weftmpi_failed(status);
}

#define MATCHED(c, N, A)                                                                           \
    BOTH_TOLD(Mrecv##c, Imrecv##c, begin_matched(begun, buffer, count, type, message),             \
              void *buffer, N count, MPI_Datatype type, MPI_Message *message)
TWINS(MATCHED)
