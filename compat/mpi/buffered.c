/*
 * compat/mpi/buffered.c - buffered sends, and the program's buffer, against which they count. Each
 * is a send of a copy, which nobody waits for.
 */
#include "request.h"

static void *attached;
static size_t attached_bytes, attached_used;

static size_t used(void)
{
    LOCKED;
    return attached_used;
}

/* It is sent. */
static void give_room(struct weftmpi_request *request)
{
    LOCKED;
    attached_used -= request->elements.bytes + MPI_BSEND_OVERHEAD;
}

int weftmpi_buffered(struct weftmpi_request *request, const void *row, size_t bytes)
{
    const size_t whole = bytes + MPI_BSEND_OVERHEAD;
    MPI_Request handle;
    LOCKED;

    weftmpi_orphans_sweep();
    if (whole > attached_bytes - attached_used)
        return weftmpi_fail(MPI_ERR_BUFFER,
                            "%zu bytes do not fit the attached buffer: %zu of %zu used", whole,
                            attached_used, attached_bytes);
    struct weftmpi_request *send = weftmpi_make(WEFTMPI_REQUEST, sizeof(*send));
    TRY(weftmpi_memory_in(send));
    weftmpi_request_open(send, WEFTMPI_SEND, request->comm);
    send->elements.bytes = bytes;
    void *copy = weftmpi_request_memory(send, bytes);
    if (copy == NULL) {
        weftmpi_unmake(send);
        return weftmpi_no_memory();
    }
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
    if (attached_bytes != 0 || bytes < 0)
        return weftmpi_fail(MPI_ERR_BUFFER, "%lld bytes; %zu are attached", (long long)bytes,
                            attached_bytes);
    attached = buffer;
    attached_bytes = (size_t)bytes;
    return MPI_SUCCESS;
}

#define BUFFER(c, N)                                                                               \
    CALL(Buffer_attach##c, (void *buffer, N bytes), attach(buffer, bytes))                         \
    API(Buffer_detach##c, (void *buffer, N *bytes))                                                \
    {                                                                                              \
        OPEN_IN;                                                                                   \
        for (weftmpi_orphans_sweep(); used() != 0; weftmpi_orphans_sweep())                        \
            weftmpi_pause();                                                                       \
        LOCKED;                                                                                    \
        *(void **)buffer = attached;                                                               \
        *bytes = (N)attached_bytes;                                                                \
        attached = NULL;                                                                           \
        attached_bytes = 0;                                                                        \
        return MPI_SUCCESS;                                                                        \
    }
BUFFER(, int)
BUFFER(_c, MPI_Count)
