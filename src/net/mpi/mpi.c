/*
 * net/mpi/mpi.c - opening, connecting and closing, and the table.
 *
 * Each job has a communicator of its own, so that nothing of an earlier job, or of the program's
 * own MPI calls, is ever taken for its messages.
 */
#include "base/say.h"
#include "net/mpi/inside.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t part_wait = 2000000000; /* for the others to move, when a job is closed */

/* ---- opening --------------------------------------------------------------------------------- */

static weft_status open_library(struct weft_transport *t)
{
    const struct weft_config *config = t->open.config;
    const struct weft_mpi_library *library;
    int size;

    if (!weft_mpi_launched(&size))
        return weft_err(WEFT_ERR_CONFIG,
                        "network mpi: no launcher of an MPI has started this process: use "
                        "mpirun -n %d instead of weftrun",
                        t->open.processes);
    WEFT_TRY(weft_mpi_start(&library, config));
    if (library->size != t->open.processes)
        return weft_err(WEFT_ERR_CONFIG,
                        "network mpi: the job has %d processes and %s's world %d; they must be "
                        "the same ones (is this the launcher of another MPI?)",
                        t->open.processes, library->ops->name, library->size);
    t->ops = library->ops;
    t->address.rank = library->rank;
    if (library->level < WEFT_MPI_LEVEL_MULTIPLE && !t->single)
        weft_say(WEFT_SAY_WARN,
                 "mpi (%s): the library does not give MPI_THREAD_MULTIPLE, so one thread makes all "
                 "calls, as with WEFT_MPI_THREADS=single",
                 t->ops->name);
    t->single |= library->level < WEFT_MPI_LEVEL_MULTIPLE;
    if (weft_net_is_later(&t->open))
        weft_say(WEFT_SAY_INFO, "mpi (%s): data of GPUs goes through host memory", t->ops->name);
    return weft_mpi_duplicate(t->ops, &library->comm, &t->comm, config->connect_s);
}

static weft_status open_stand_in(struct weft_transport *t)
{
    if (&weft_mpi_stand_in == NULL)
        return t->open.processes == 1 /* which is only asked what it can do, and connects nobody */
                   ? WEFT_OK
                   : weft_err(WEFT_ERR_CONFIG,
                              "network mpi: no MPI tells processes apart that are threads of one");
    t->ops = weft_mpi_stand_in.ops;
    const weft_status status = weft_mpi_stand_in.open(&t->comm, t->open.process, t->open.processes);
    memcpy(&t->address.end, t->comm.bits, sizeof(t->address.end));
    return status;
}

static void free_transport(struct weft_transport *t)
{
    free(t->out.buffers);
    free(t->in.buffers);
    free(t->peers);
    free(t->process_of);
    free(t);
}

static weft_status open_mpi(struct weft_transport **t, const struct weft_net_open *open)
{
    enum { PAGE = 4096, BYTES = WEFT_MPI_BUFFERS * WEFT_MPI_PACKET };
    const size_t processes = (size_t)open->processes;
    struct weft_transport *n = calloc(1, sizeof(*n));

    if (n == NULL)
        return weft_err(WEFT_ERR_MEMORY, "mpi: no %zu bytes for its state", sizeof(*n));
    n->open = *open;
    n->address.rank = open->process;
    n->single = open->config->mpi_threads == WEFT_MPI_THREADS_SINGLE;
    n->peers = calloc(processes, sizeof(*n->peers));
    n->process_of = malloc(processes * sizeof(*n->process_of));
    n->out.buffers = aligned_alloc(PAGE, BYTES);
    n->in.buffers = aligned_alloc(PAGE, BYTES);
    weft_status status =
        n->peers == NULL || n->process_of == NULL || n->out.buffers == NULL || n->in.buffers == NULL
            ? weft_err(WEFT_ERR_MEMORY,
                       "mpi: no memory for %zu peers and twice %d bytes of packets", processes,
                       BYTES)
        : open->one_address_space || processes == 1 ? open_stand_in(n)
                                                    : open_library(n);
    if (status != WEFT_OK) {
        free_transport(n);
        return status;
    }
    for (size_t p = 0; p < processes; p++)
        n->process_of[p] = -1;
    weft_net_pin(open, "mpi", n->in.buffers, BYTES);
    *t = n;
    return WEFT_OK;
}

static void caps(struct weft_transport *t, struct weft_transport_caps *caps)
{
    *caps = (struct weft_transport_caps){
        .net = {.launched = true, .address_bytes = sizeof(t->address)},
        .address = &t->address,
        .packet = WEFT_MPI_PACKET,
        .buffers = t->out.buffers[0],
        .buffer_count = WEFT_MPI_BUFFERS,
        .depth = 2,
        .ordered = true, /* MPI keeps the order of messages of one tag in one communicator */
        .one_thread = t->single};
}

static weft_status mpi_connect(struct weft_transport *t, int process, const void *address)
{
    struct weft_mpi_address theirs;

    memcpy(&theirs, address, sizeof(theirs));
    if (theirs.rank < 0 || theirs.rank >= t->open.processes || t->process_of[theirs.rank] >= 0)
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d says that it is rank %lld of %d",
                        process, (long long)theirs.rank, t->open.processes);
    if (t->address.end != 0)
        weft_mpi_stand_in.connect(&t->comm, process, theirs.end);
    t->peers[process].rank = (int)theirs.rank;
    t->process_of[theirs.rank] = process;
    if (++t->connected == t->open.processes)
        for (uint32_t i = 0; i < WEFT_MPI_BUFFERS; i++)
            weft_mpi_post(t, i);
    return t->in.status;
}

static void release(struct weft_transport *t, int process, uint64_t packet)
{
    (void)process;
    weft_mpi_post(t, (uint32_t)packet);
}

/* ---- closing --------------------------------------------------------------------------------- */

/* Whether all have said good-bye to this process, and MPI has sent what was said to `said` of
 * them. */
static bool all_said_bye(const struct weft_transport *t, int said)
{
    for (int p = 0; p < t->open.processes; p++)
        if (!t->peers[p].bye)
            return false;
    return said == t->open.processes && t->out.sent.count == 0;
}

/* Says good-bye to all, and waits for theirs, after all else, also after what a failed job left
 * under way. When all have, no message is left anywhere, and the communicator is freed. False:
 * somebody does not come. */
static bool part(struct weft_transport *t)
{
    const struct weft_net_events *events = &t->open.events;
    struct weft_transport_event came[WEFT_MPI_BUFFERS], sent[WEFT_MPI_BUFFERS];
    uint64_t deadline = weft_now_ns() + part_wait;
    int said = 0;

    if (events->all_there != NULL && !events->all_there(events->context))
        return false;
    if (t->in.posted.count == 0) /* what came is nobody's any more */
        weft_mpi_post(t, 0);
    while (!all_said_bye(t, said)) {
        if (t->out.sent.count == 0) /* no buffer is MPI's */
            for (int i = 0; i < WEFT_MPI_BUFFERS && said < t->open.processes; i++)
                weft_mpi_commit(t, said++, t->out.buffers[i], 0);
        const int out = weft_mpi_poll_send(t, sent, WEFT_MPI_BUFFERS);
        const int in = weft_mpi_poll_receive(t, came, WEFT_MPI_BUFFERS);
        for (int i = 0; i < in; i++) /* dropped */
            weft_mpi_post(t, (uint32_t)came[i].value);
        if (in < 0 || t->out.error != 0 || weft_now_ns() > deadline)
            return false;
        if (in > 0 || out > 0) /* much may be left */
            deadline = weft_now_ns() + part_wait;
        weft_task_yield(true);
    }
    while (t->in.posted.count > 0)
        if (t->ops->cancel(&t->in.requests[weft_mpi_take(&t->in.posted)]) != 0)
            return false;
    return t->ops->release(&t->comm) == 0;
}

static void close_mpi(struct weft_transport *t)
{
    weft_net_unpin(&t->open, t->in.buffers);
    if (t->address.end != 0) {
        t->ops->release(&t->comm);
    } else if (t->connected == t->open.processes && !part(t)) {
        weft_mpi_abandon(); /* but the program may still call MPI: what it reads and writes stays */
        return;
    }
    free_transport(t);
}

const struct weft_transport_ops weft_transport_mpi = {
    .name = "mpi",
    .open = open_mpi,
    .close = close_mpi,
    .caps = caps,
    .connect = mpi_connect,
    .commit = weft_mpi_commit,
    .poll = {weft_mpi_poll_send, weft_mpi_poll_receive},
    .release = release,
};
