/*
 * support/mpi_inside.c - a stand-in for an MPI between tasks of one address space: no MPI, and
 * MPI's rules. Messages of one sender and tag are matched in order; a large one is not sent before
 * it has been received. So sanitizers and random mode see all of the network mpi.
 *
 * An end is a list of messages that nobody has received yet. A small message is a copy, and the
 * receiver's. A large one points at its source and stays the sender's request's: the receiver
 * copies, and with that the request is done. One lock for all ends: who closes an end takes back
 * what it sent and lets go of what it was sent, and nobody copies meanwhile.
 */
#include "base/say.h"
#include "base/task.h"
#include "net/mpi/inside.h"
#include "order/atomic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPIED_MOST = 4096, NO_MEMORY = 1, TRUNCATED = 2 };

struct end;

struct message {
    struct message *next;
    int from, tag;
    size_t bytes;
    const void *source; /* large message: its source; NULL: the data follows */
    bool received;      /* 1: it was received; the sender of a large one may go on */
    unsigned char data[];
};

/* A large message sent, or a receive that waits for its message. */
struct request {
    struct request *next;
    struct end *end; /* end to which it belongs */
    struct message *sent;
    struct end *to;
    void *buffer;
    size_t room;
    int from, tag;
};

struct end {
    struct message *first, **last; /* messages not received; link for the next one */
    struct request *requests;      /* requests not done */
    int process, processes;
    struct end **peers;
};

static struct weft_lock lock;

static void *in(const struct weft_mpi_handle *handle)
{
    void *pointer;
    memcpy(&pointer, handle->bits, sizeof(pointer));
    return pointer;
}

static void set(struct weft_mpi_handle *handle, void *pointer)
{
    memcpy(handle->bits, &pointer, sizeof(pointer));
}

/* ---- ends ------------------------------------------------------------------------------------ */

static weft_status inside_open(struct weft_mpi_handle *comm, int process, int processes)
{
    struct end *end = calloc(1, sizeof(*end));
    struct end **peers = calloc((size_t)processes, sizeof(struct end *));

    if (end == NULL || peers == NULL) {
        free(end);
        free(peers);
        return weft_err(WEFT_ERR_MEMORY, "mpi: no memory for %d processes", processes);
    }
    end->process = process;
    end->processes = processes;
    end->peers = peers;
    end->last = &end->first;
    set(comm, end);
    return WEFT_OK;
}

static void inside_connect(struct weft_mpi_handle *comm, int process, uint64_t address)
{
    struct end *end = in(comm);
    end->peers[process] = (void *)(uintptr_t)address; /* of this address space */
}

/* Takes a message off a list. Lock held. */
static void unlink_message(struct end *end, struct message *message)
{
    struct message **place = &end->first;

    while (*place != message)
        place = &(*place)->next;
    *place = message->next;
    if (end->last == &message->next)
        end->last = place;
}

/* Lock held. */
static void free_request(struct request *request)
{
    struct request **place = &request->end->requests;

    while (*place != request)
        place = &(*place)->next;
    *place = request->next;
    free(request->sent);
    free(request);
}

/* Drops what others sent and nobody received. No other end sends any more. */
static int inside_release(struct weft_mpi_handle *comm)
{
    struct end *end = in(comm);

    weft_lock(&lock);
    while (end->requests != NULL) {
        struct request *request = end->requests;
        if (request->sent != NULL && !request->sent->received)
            unlink_message(request->to, request->sent);
        free_request(request);
    }
    while (end->first != NULL) { /* nobody receives it */
        struct message *message = end->first;
        end->first = message->next;
        message->received = true;
        if (message->source == NULL)
            free(message);
    }
    weft_unlock(&lock);
    free(end->peers);
    free(end);
    return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Takes the first message with that tag, from that process or (-1) any, off the list. Lock held. */
static struct message *take_message(struct end *end, int from, int tag)
{
    for (struct message *m = end->first; m != NULL; m = m->next)
        if (m->tag == tag && (from < 0 || m->from == from)) {
            unlink_message(end, m);
            return m;
        }
    return NULL;
}

/* Lock held. */
static void keep_request(struct request *request, struct weft_mpi_handle *handle)
{
    request->next = request->end->requests;
    request->end->requests = request;
    set(handle, request);
}

static int isend(const struct weft_mpi_handle *comm, const void *buffer, size_t bytes, int to,
                 int tag, struct weft_mpi_handle *handle)
{
    struct end *from = in(comm), *end = from->peers[to];
    const bool copied = bytes <= COPIED_MOST;
    struct message *message = malloc(sizeof(*message) + (copied ? bytes : 0));
    struct request *request = copied ? NULL : malloc(sizeof(*request));

    if (message == NULL || (!copied && request == NULL)) {
        free(message);
        free(request);
        return NO_MEMORY;
    }
    *message = (struct message){.from = from->process, .tag = tag, .bytes = bytes};
    if (copied)
        memcpy(message->data, buffer, bytes);
    else
        message->source = buffer;
    set(handle, NULL);
    weft_lock(&lock);
    *end->last = message;
    end->last = &message->next;
    if (!copied) {
        *request = (struct request){.end = from, .sent = message, .to = end};
        keep_request(request, handle);
    }
    weft_unlock(&lock);
    return 0;
}

/* Copies data to where the receiver wants it. Lock held. */
static int receive(struct message *message, void *buffer, size_t room, size_t *bytes)
{
    const size_t n = message->bytes;

    *bytes = n;
    if (n <= room && message->source != NULL) {
        weft_write_shared(buffer, message->source, n);
        weft_used_shared(message->source, n);
    } else if (n <= room) {
        weft_write_shared(buffer, message->data, n);
    }
    if (message->source != NULL)
        message->received = true;
    else
        free(message);
    return n <= room ? 0 : TRUNCATED;
}

static int irecv(const struct weft_mpi_handle *comm, void *buffer, size_t bytes, int from, int tag,
                 struct weft_mpi_handle *handle)
{
    struct request *request = malloc(sizeof(*request));

    if (request == NULL)
        return NO_MEMORY;
    *request = (struct request){
        .end = in(comm), .buffer = buffer, .room = bytes, .from = from, .tag = tag};
    weft_lock(&lock);
    keep_request(request, handle);
    weft_unlock(&lock);
    return 0;
}

static int test(struct weft_mpi_handle *handle, bool *done, size_t *bytes, int *from)
{
    struct request *request = in(handle);
    int error = 0;

    *done = true;
    *bytes = 0;
    if (request == NULL)
        return 0;
    weft_lock(&lock);
    if (request->sent != NULL) {
        *done = request->sent->received;
    } else {
        struct message *message = take_message(request->end, request->from, request->tag);
        *done = message != NULL;
        if (message != NULL) {
            *from = message->from;
            error = receive(message, request->buffer, request->room, bytes);
        }
    }
    if (*done)
        free_request(request);
    weft_unlock(&lock);
    return error;
}

static void explain(int error, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", error == NO_MEMORY ? "no memory" : "message truncated");
}

static bool truncated(int error)
{
    return error == TRUNCATED;
}

/* The table lacks what only starts and ends an MPI: nobody asks it of this one. */
static const struct weft_mpi_ops ops = {
    .name = "inside",
    .explain = explain,
    .truncated = truncated,
    .release = inside_release,
    .isend = isend,
    .irecv = irecv,
    .test = test,
};

const struct weft_mpi_stand_in weft_mpi_stand_in = {
    .ops = &ops, .open = inside_open, .connect = inside_connect};
