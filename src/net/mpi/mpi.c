/*
 * net/mpi/mpi.c - opening, connecting and closing, and the table.
 *
 * Each job has a communicator of its own, so that nothing of an earlier job, or of the program's
 * own MPI calls, is ever taken for its messages. Tasks of one address space, which no MPI knows
 * apart, use the same protocol over mpi/inside.h.
 */
#include "base/say.h"
#include "mpi/inside.h"
#include "net/mpi/end.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t second = 1000000000;
static const uint64_t held_wait = second;    /* for a payload under way into memory given up */
static const uint64_t bye_wait = 2 * second; /* for the others to move, when a job is closed */

enum { BATCHES = 4 /* of data on its way to the device that are told apart */ };

/* What the others need to find this end. */
struct address {
    uint64_t inside; /* in this address space; 0: none */
    int32_t rank;    /* in the communicator */
    uint32_t eager;
};

weft_status weft_net_mpi_broken(struct weft_net *net, weft_status status)
{
    __atomic_store_n(&net->broken, 1, __ATOMIC_RELAXED);
    return status;
}

weft_status weft_net_mpi_failed(struct weft_net *net, const char *way, int process, int error,
                                const char *what)
{
    char text[256];

    net->ops->explain(error, text, sizeof(text));
    return weft_err(WEFT_ERR_NETWORK, "mpi (%s): %s %s process %d: %s", net->ops->name, what, way,
                    process, text);
}

void weft_net_mpi_enlist(struct weft_net *net, enum weft_net_mpi_list list,
                         struct weft_net_mpi_peer *peer)
{
    if (peer->links[list].in)
        return;
    peer->links[list].in = true;
    peer->links[list].next = net->lists[list];
    net->lists[list] = peer;
}

weft_status weft_net_mpi_serve(struct weft_net *net, enum weft_net_mpi_list list,
                               weft_net_mpi_server *serve, bool *did)
{
    struct weft_net_mpi_peer **place = &net->lists[list];

    while (*place != NULL) {
        struct weft_net_mpi_peer *peer = *place;
        bool keep = false;
        weft_status status = serve(net, peer, &keep, did);
        if (status != WEFT_OK)
            return status;
        peer->links[list].in = keep;
        if (keep)
            place = &peer->links[list].next;
        else
            *place = peer->links[list].next;
    }
    return WEFT_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* How many threads may call MPI, and which do. */
static void choose_threads(struct weft_net *net, enum weft_mpi_level level)
{
    const bool wanted = net->open.config->mpi_threads == WEFT_MPI_THREADS_SINGLE;

    net->single = wanted || level < WEFT_MPI_LEVEL_MULTIPLE;
    if (net->single && !wanted)
        weft_say(WEFT_SAY_WARN,
                 "mpi (%s): the library does not give MPI_THREAD_MULTIPLE, so one thread makes all "
                 "calls, as with WEFT_MPI_THREADS=single",
                 net->ops->name);
}

static weft_status open_library(struct weft_net *net)
{
    const struct weft_config *config = net->open.config;
    const struct weft_mpi_library *library;
    struct weft_mpi_handle request;
    int size;

    if (!weft_mpi_launched(&size))
        return weft_err(WEFT_ERR_CONFIG,
                        "network mpi: no launcher of an MPI has started this process: use "
                        "mpirun -n %d instead of weftrun",
                        net->open.processes);
    weft_status status = weft_mpi_start(&library, config);
    if (status != WEFT_OK)
        return status;
    if (library->size != net->open.processes)
        return weft_err(WEFT_ERR_CONFIG,
                        "network mpi: the job has %d processes and %s's world %d; they must be "
                        "the same ones (is this the launcher of another MPI?)",
                        net->open.processes, library->ops->name, library->size);
    net->ops = library->ops;
    net->rank = library->rank;
    choose_threads(net, library->level);
    if (weft_arrive_is_later(&net->open) && library->ops->takes_gpu_memory() != 0)
        weft_say(WEFT_SAY_INFO, "mpi (%s): data of GPUs goes through host memory all the same",
                 net->ops->name);
    const int error = net->ops->duplicate(&library->comm, &net->comm, &request);
    if (error != 0)
        return weft_mpi_failed(net->ops, error, "MPI_Comm_idup");
    status = weft_mpi_await(net->ops, &request, config->connect_s, "MPI_Comm_idup of a job");
    if (status != WEFT_OK)
        return status;
    const int returned = net->ops->return_errors(&net->comm);
    return returned == 0 ? WEFT_OK : weft_mpi_failed(net->ops, returned, "MPI_Comm_set_errhandler");
}

static weft_status open_inside(struct weft_net *net)
{
    net->inside = true;
    net->ops = &weft_mpi_inside;
    net->rank = net->open.process;
    net->single = net->open.config->mpi_threads == WEFT_MPI_THREADS_SINGLE;
    return weft_mpi_inside_open(&net->comm, net->open.process, net->open.processes);
}

static void free_end(struct weft_net *net)
{
    weft_net_mpi_send_close(net);
    weft_net_mpi_receive_close(net);
    free(net->peers);
    free(net->process_of);
    free(net);
}

static weft_status open_mpi(struct weft_net **net, const struct weft_net_open *open)
{
    const size_t processes = (size_t)open->processes;
    const uint32_t start = (uint32_t)open->config->counter_start;
    struct weft_net *n = calloc(1, sizeof(*n));
    struct weft_net_mpi_peer *peers = calloc(processes, sizeof(*peers));
    int *process_of = malloc(processes * sizeof(*process_of));

    if (n == NULL || peers == NULL || process_of == NULL) {
        free(n);
        free(peers);
        free(process_of);
        return weft_err(WEFT_ERR_MEMORY, "mpi: no memory for %zu peers", processes);
    }
    n->open = *open;
    weft_arrive_open(&n->arrive, "mpi", open, n, BATCHES, weft_net_mpi_conclude);
    n->eager = (uint32_t)open->config->mpi_eager;
    n->peers = peers;
    n->process_of = process_of;
    for (int p = 0; p < open->processes; p++) {
        peers[p] = (struct weft_net_mpi_peer){.process = p,
                                              .rank = -1,
                                              .sequence = start,
                                              .expected = start + 1,
                                              .taken = start,
                                              .applied = start,
                                              .acked = start,
                                              .made = start,
                                              .told = start};
        process_of[p] = -1;
    }
    weft_status status =
        open->one_address_space || open->processes == 1 ? open_inside(n) : open_library(n);
    if (status != WEFT_OK) {
        free_end(n);
        return status;
    }
    *net = n;
    return WEFT_OK;
}

static void mpi_caps(const struct weft_net *net, struct weft_net_caps *caps)
{
    const size_t head = sizeof(struct weft_net_rows);

    *caps = (struct weft_net_caps){.launched = true,
                                   .address_bytes = sizeof(struct address),
                                   .rows_bytes = net->eager > head ? net->eager - head : 0};
}

static weft_status mpi_address(struct weft_net *net, void *address)
{
    const struct address mine = {.inside = net->inside ? weft_mpi_inside_address(&net->comm) : 0,
                                 .rank = net->rank,
                                 .eager = net->eager};

    memcpy(address, &mine, sizeof(mine));
    return WEFT_OK;
}

static weft_status mpi_connect(struct weft_net *net, int process, const void *address)
{
    struct weft_net_mpi_peer *peer = &net->peers[process];
    struct address theirs;

    memcpy(&theirs, address, sizeof(theirs));
    if (theirs.eager != net->eager)
        return weft_err(WEFT_ERR_CONFIG,
                        "WEFT_MPI_EAGER must be the same everywhere: %u in process %d, %u here",
                        theirs.eager, process, net->eager);
    if (theirs.rank < 0 || theirs.rank >= net->open.processes || net->process_of[theirs.rank] >= 0)
        return weft_err(WEFT_ERR_PROTOCOL, "mpi: process %d says that it is rank %d of %d", process,
                        (int)theirs.rank, net->open.processes);
    if (net->inside)
        weft_mpi_inside_connect(&net->comm, process, theirs.inside);
    peer->rank = theirs.rank;
    net->process_of[theirs.rank] = process;
    net->connected++;
    return WEFT_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static weft_status mpi_reg(struct weft_net *net, void *base, size_t bytes, bool own, uint64_t *key)
{
    return weft_arrive_reg(&net->arrive, base, bytes, own, key);
}

/* MPI may read or write memory after weft has done with it. */
static void linger(const struct weft_net *net)
{
    if (net->open.events.lingers != NULL)
        net->open.events.lingers(net->open.events.context);
}

/*
 * A payload that is under way into this memory ends first: its sender has sent all of it. Where it
 * does not end, because the job has failed, MPI may still store it, whoever calls MPI next.
 */
static void mpi_dereg(struct weft_net *net, uint64_t key)
{
    const uint64_t deadline = weft_now_ns() + held_wait;

    weft_arrive_dereg(&net->arrive, key);
    while (weft_arrive_held(&net->arrive, key)) {
        if (weft_now_ns() >= deadline || __atomic_load_n(&net->broken, __ATOMIC_RELAXED)) {
            weft_say(WEFT_SAY_WARN,
                     "mpi (%s): a put is still under way into memory that was given up; if the "
                     "program registered it, it must not be unmapped",
                     net->ops->name);
            linger(net);
            return;
        }
        weft_task_yield(true);
    }
}

/* ---- moving ---------------------------------------------------------------------------------- */

static weft_status mpi_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    if (side == WEFT_NET_SEND)
        return weft_net_mpi_send_turn(net, did);
    weft_status status = net->single ? weft_net_mpi_post_turn(net, did) : WEFT_OK;
    return status == WEFT_OK ? weft_net_mpi_receive_turn(net, did) : status;
}

/* ---- closing --------------------------------------------------------------------------------- */

/* Whether MPI has none of the network's requests any more. */
static bool at_rest(const struct weft_net *net)
{
    if (net->posted.first != NULL)
        return false;
    for (int p = 0; p < net->open.processes; p++) {
        const struct weft_net_mpi_peer *peer = &net->peers[p];
        if (peer->landing != NULL || peer->bounce != NULL || peer->acking)
            return false;
        for (const struct weft_net_mpi_in *in = peer->first_in; in != NULL; in = in->next)
            if (!in->received)
                return false;
    }
    return true;
}

static bool all_said_bye(const struct weft_net *net)
{
    if (net->made.first != NULL || net->posted.first != NULL)
        return false;
    for (int p = 0; p < net->open.processes; p++)
        if ((p != net->open.process && !net->peers[p].bye) || net->peers[p].acking ||
            net->peers[p].first_in != NULL)
            return false;
    return true;
}

static bool all_there(const struct weft_net *net)
{
    return net->open.events.all_there == NULL ||
           net->open.events.all_there(net->open.events.context);
}

/*
 * Each says good-bye to each, after all else, also after what a failed job left under way; when all
 * have, no message is left anywhere, and the communicator can go. False: somebody does not come.
 */
static bool part(struct weft_net *net)
{
    uint64_t deadline = weft_now_ns() + bye_wait;
    bool did = false;

    if (__atomic_load_n(&net->broken, __ATOMIC_RELAXED) || !all_there(net))
        return false;
    net->closing = true;
    for (int p = 0; p < net->open.processes; p++)
        if (p != net->open.process && weft_net_mpi_say_bye(net, &net->peers[p]) != WEFT_OK)
            return false;
    do {
        did = false;
        if (weft_net_mpi_post_turn(net, &did) != WEFT_OK ||
            weft_net_mpi_receive_turn(net, &did) != WEFT_OK)
            return false;
        if (all_said_bye(net))
            return true;
        if (did) /* much may be left */
            deadline = weft_now_ns() + bye_wait;
        weft_task_yield(true);
    } while (weft_now_ns() < deadline);
    return false;
}

static void mpi_close(struct weft_net *net)
{
    if (net->inside) {
        weft_mpi_inside_close(&net->comm);
    } else if (net->connected == net->open.processes) {
        if (part(net))
            net->ops->release(&net->comm);
        else
            weft_mpi_abandon();
        if (!at_rest(net)) { /* the program may still call MPI: what it reads and writes stays */
            linger(net);
            return;
        }
    }
    free_end(net);
}

const struct weft_net_ops weft_net_mpi = {
    .name = "mpi",
    .open = open_mpi,
    .close = mpi_close,
    .caps = mpi_caps,
    .address = mpi_address,
    .connect = mpi_connect,
    .reg = mpi_reg,
    .dereg = mpi_dereg,
    .put = weft_net_mpi_put,
    .progress = mpi_progress,
};
