/* compat/mpi/buffered.c - buffered sends, and the program's buffer, against which they count. */
#include "request.h"

#include <stdlib.h>
#include <string.h>

/* A message that the program has left to the library, in memory that counts against its buffer. */
struct buffered {
    struct buffered *next;
    weft_message_op op;
    size_t bytes;
    char data[];
};

static struct buffered *buffered;
static void *attached;
static size_t attached_bytes, attached_used;

/* Frees those that are sent; `all`: waits for them. Locked, but while it waits. */
static void sweep(bool all)
{
    struct buffered **at = &buffered;

    while (*at != NULL) {
        struct buffered *one = *at;
        int done = 1;
        if (!all && weft_host_message_test(weftmpi.job, &one->op, &done, NULL) == WEFT_OK &&
            !done) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        if (all) {
            weftmpi_unlock();
            weft_host_message_wait(weftmpi.job, &one->op, NULL);
            weftmpi_lock();
            at = &buffered;
        }
        attached_used -= one->bytes;
        free(one);
    }
}

int weftmpi_buffered(struct weftmpi_request *request, const void *row, size_t bytes)
{
    const size_t whole = bytes + MPI_BSEND_OVERHEAD;
    int error;
    LOCKED;

    sweep(false);
    struct buffered *one =
        whole <= attached_bytes - attached_used ? malloc(sizeof(*one) + bytes) : NULL;
    if (one == NULL) {
        error = weftmpi_fail(request->comm, request->call, MPI_ERR_BUFFER,
                             "%zu bytes do not fit the attached buffer: %zu of %zu used", whole,
                             attached_used, attached_bytes);
    } else {
        if (bytes != 0)
            memcpy(one->data, row, bytes);
        *one = (struct buffered){buffered, WEFT_MESSAGE_NONE, whole};
        error = weftmpi_request_failed(
            request, weft_host_send_begin(weftmpi.job, request->comm->messages, request->peer,
                                          request->tag, one->data, bytes, &one->op));
        buffered = one;
        attached_used += whole;
    }
    return error;
}

void weftmpi_buffered_end(void)
{
    LOCKED;
    sweep(true);
}

API(Buffer_attach, (void *buffer, int bytes))
{
    TRY(weftmpi_is_open(__func__));
    LOCKED;
    if (attached_bytes != 0 || bytes < 0)
        return weftmpi_fail(NULL, __func__, MPI_ERR_BUFFER, "%d bytes; %zu are attached", bytes,
                            attached_bytes);
    attached = buffer;
    attached_bytes = (size_t)bytes;
    return MPI_SUCCESS;
}

API(Buffer_detach, (void *buffer, int *bytes))
{
    TRY(weftmpi_is_open(__func__));
    LOCKED;
    sweep(true);
    *(void **)buffer = attached;
    *bytes = (int)attached_bytes;
    attached = NULL;
    attached_bytes = 0;
    return MPI_SUCCESS;
}
