/*
 * net/shm/shm.c - processes of one host. For each ordered pair there is a ring of cells in memory
 * that the receiver owns and the sender maps; a packet is built and read where it lies there.
 * A side's functions are called by one thread at a time.
 */
#include "base/say.h"
#include "net/shm/ring.h"
#include "net/transport.h"
#include "order/atomic.h"

#include <stdlib.h>
#include <string.h>

enum {
    STAGE_MOST = 1 << 30, /* bytes of WEFT_STAGE_MEMORY, at most */
    RING_LEAST = 1 << 12,
    RING_MOST = 1 << 30 /* bytes of WEFT_SHM_RING, at most */
};

struct peer {
    struct weft_shm_inbox *inbox; /* the peer's, mapped */
    unsigned char *stage;         /* the peer's staging memory; NULL: it has none */
    struct weft_shm_address address;
    struct {
        struct weft_shm_ring *ring; /* in the peer's inbox */
        uint32_t cell;              /* bytes of a cell */
        uint32_t head, seen, said;  /* cells published; freed by the peer; reported as SENT */
    } out;
    struct {
        struct weft_shm_ring *ring;    /* in this process's inbox */
        uint32_t tail, seen, released; /* cells taken; published by the peer; given back */
    } in;
};

struct weft_transport {
    struct weft_net_open open;
    struct weft_shm_inbox *inbox; /* this process's own */
    unsigned char *stage;         /* its own staging memory, or NULL */
    struct weft_shm_address address;
    uint32_t cell; /* bytes of a cell of this process's rings */
    struct peer *peers;
    int next; /* whose packets are looked for first */
};

static size_t ring_bytes(uint32_t ring_size)
{
    return sizeof(struct weft_shm_ring) + ring_size;
}

static size_t inbox_bytes(uint32_t ring_size, int processes)
{
    return sizeof(struct weft_shm_inbox) + (size_t)processes * ring_bytes(ring_size);
}

static struct weft_shm_ring *ring_of(struct weft_shm_inbox *inbox, uint32_t ring_size, int sender)
{
    return (void *)((unsigned char *)(inbox + 1) + (size_t)sender * ring_bytes(ring_size));
}

/*
 * A small ring stays in the cache between two processors. Where a device fetches what arrives, that
 * takes its time, and more must be under way: 4 MiB is what weft-info --tune took on two H200. A
 * process alone sends itself little, for which it neither waits nor pins anything at its start.
 */
static uint32_t ring_size_for(const struct weft_net_open *open)
{
    enum { SMALL = 256 << 10, LARGE = 4 << 20, ALL = 32 << 20 };
    uint32_t size = weft_net_is_later(open) && open->processes > 1 ? LARGE : SMALL;

    if (open->config->shm_ring != 0)
        return (uint32_t)open->config->shm_ring;
    while (size > SMALL && size > ALL / (uint32_t)open->processes)
        size /= 2;
    return size;
}

static void drop_stage(struct weft_transport *t)
{
    weft_share_destroy(t->stage, &t->address.stage);
    t->stage = NULL;
    t->address.stage.bytes = 0;
}

/* Whether the peer's memory is at its own address here: then its owner pins it. */
static bool is_here(const struct weft_transport *t, int process)
{
    return t->open.one_address_space || process == t->open.process;
}

static weft_status open_shm(struct weft_transport **t, const struct weft_net_open *open)
{
    const size_t processes = (size_t)open->processes;
    const uint32_t ring_size = ring_size_for(open);
    const uint32_t start = (uint32_t)open->config->counter_start;
    struct weft_transport *n = calloc(1, sizeof(*n));
    struct peer *peers = calloc(processes, sizeof(*peers));
    void *memory = NULL;
    weft_status status;

    if (n == NULL || peers == NULL) {
        status = weft_err(WEFT_ERR_MEMORY, "shm: no memory for %zu peers", processes);
        goto free_state;
    }
    status = weft_share_create(inbox_bytes(ring_size, open->processes), &memory, &n->address.inbox);
    if (status != WEFT_OK)
        goto free_state;
    n->open = *open;
    if (open->stage_bytes != 0)
        status = weft_share_create(open->stage_bytes, (void **)&n->stage, &n->address.stage);
    if (status != WEFT_OK)
        goto free_inbox;
    n->inbox = memory;
    n->address.ring_size = ring_size;
    n->cell = ring_size / WEFT_SHM_CELLS;
    n->peers = peers;
    for (int p = 0; p < open->processes; p++) {
        struct weft_shm_ring *ring = ring_of(n->inbox, ring_size, p);
        ring->published = ring->credit = start;
        n->peers[p].in.ring = ring;
        n->peers[p].in.tail = n->peers[p].in.seen = n->peers[p].in.released = start;
    }
    if (open->processes > 1)
        weft_net_pin(open, "shm", memory, n->address.inbox.bytes);
    if (n->stage != NULL && !weft_net_pin(open, "shm", n->stage, n->address.stage.bytes))
        drop_stage(n); /* whoever puts has other memory, or ends */
    *t = n;
    return WEFT_OK;

free_inbox:
    weft_share_destroy(memory, &n->address.inbox);
free_state:
    free(peers);
    free(n);
    return status;
}

static void close_shm(struct weft_transport *t)
{
    for (int p = 0; p < t->open.processes; p++) {
        struct peer *peer = &t->peers[p];
        if (!is_here(t, p))
            weft_net_unpin(&t->open, peer->stage);
        if (peer->stage != NULL)
            weft_share_unmap(peer->stage, &peer->address.stage, is_here(t, p));
        if (peer->inbox != NULL)
            weft_share_unmap(peer->inbox, &peer->address.inbox, is_here(t, p));
    }
    weft_net_unpin(&t->open, t->stage);
    if (t->open.processes > 1)
        weft_net_unpin(&t->open, t->inbox);
    if (t->stage != NULL)
        drop_stage(t);
    weft_share_destroy(t->inbox, &t->address.inbox);
    free(t->peers);
    free(t);
}

static void caps(struct weft_transport *t, struct weft_transport_caps *caps)
{
    *caps = (struct weft_transport_caps){
        .net = {.same_host_only = true,
                .address_bytes = sizeof(struct weft_shm_address),
                .stage = t->stage},
        .address = &t->address,
        .bell = {&t->inbox->bells[WEFT_NET_SEND], &t->inbox->bells[WEFT_NET_RECEIVE]},
        .packet = t->cell,
        .depth = 2,
        .ordered = true,
        .acknowledges = true, /* a cell is given back when what it brought is delivered */
        .shared = true,
    };
}

/* Maps memory of another process. */
static weft_status map(const struct weft_transport *t, int process, const struct weft_share *share,
                       void **memory)
{
    const char *reason = NULL;

    *memory = weft_share_map(share, is_here(t, process), &reason);
    return *memory != NULL
               ? WEFT_OK
               : weft_err(WEFT_ERR_NETWORK,
                          "shm: cannot map %llu bytes of process %d (pid %d): %s "
                          "(WEFT_NET=ofi maps none)",
                          (unsigned long long)share->bytes, process, (int)share->pid, reason);
}

/* Whether the inbox holds rings of the size that its owner says. With a device they are larger. */
static bool is_inbox(const struct weft_shm_address *address, int processes)
{
    const uint64_t size = address->ring_size;

    return size >= RING_LEAST && size <= RING_MOST && (size & (size - 1)) == 0 &&
           inbox_bytes((uint32_t)size, processes) <= address->inbox.bytes;
}

static weft_status weft_shm_connect(struct weft_transport *t, int process, const void *address)
{
    struct peer *peer = &t->peers[process];
    const uint32_t start = (uint32_t)t->open.config->counter_start;
    struct weft_shm_address there;
    void *memory = NULL;

    memcpy(&there, address, sizeof(there));
    if (!is_inbox(&there, t->open.processes))
        return weft_err(WEFT_ERR_PROTOCOL,
                        "shm: process %d announces %d rings of %llu bytes in %llu bytes", process,
                        t->open.processes, (unsigned long long)there.ring_size,
                        (unsigned long long)there.inbox.bytes);
    if (there.stage.bytes > STAGE_MOST)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "shm: process %d announces %llu bytes of staging memory, and %d are the "
                        "most (WEFT_STAGE_MEMORY)",
                        process, (unsigned long long)there.stage.bytes, STAGE_MOST);
    WEFT_TRY(map(t, process, &there.inbox, &memory));
    peer->inbox = memory;
    peer->address = there;
    peer->out.ring = ring_of(peer->inbox, (uint32_t)there.ring_size, t->open.process);
    peer->out.cell = (uint32_t)there.ring_size / WEFT_SHM_CELLS;
    peer->out.head = peer->out.seen = peer->out.said = start;
    if (there.stage.bytes == 0)
        return WEFT_OK;
    WEFT_TRY(map(t, process, &there.stage, &memory));
    peer->stage = memory;
    if (!is_here(t, process))
        weft_net_pin(&t->open, "shm", memory, there.stage.bytes);
    return WEFT_OK;
}

/* ---- packets --------------------------------------------------------------------------------- */

/* Reads how many cells the peer has given back. False: there cannot be so many. */
static bool refresh(struct peer *peer)
{
    const uint32_t credit = weft_load_acquire_u32(&peer->out.ring->credit, ORDER_ring_space);

    if (credit - peer->out.seen > peer->out.head - peer->out.seen)
        return false;
    peer->out.seen = credit;
    return true;
}

static unsigned char *cell_of(struct weft_shm_ring *ring, uint32_t bytes, uint32_t index)
{
    return ring->cells + (size_t)(index % WEFT_SHM_CELLS) * bytes;
}

static unsigned char *begin(struct weft_transport *t, int process, size_t *room)
{
    struct peer *peer = &t->peers[process];

    *room = peer->out.cell;
    if (peer->out.head - peer->out.seen == WEFT_SHM_CELLS)
        (void)refresh(peer); /* `poll` says so if it is nonsense */
    return peer->out.head - peer->out.seen < WEFT_SHM_CELLS
               ? cell_of(peer->out.ring, peer->out.cell, peer->out.head)
               : NULL;
}

static weft_status commit(struct weft_transport *t, int process, unsigned char *packet,
                          size_t bytes)
{
    struct peer *peer = &t->peers[process];
    const uint32_t length = (uint32_t)bytes;

    (void)packet;
    weft_write_shared(&peer->out.ring->bytes[peer->out.head % WEFT_SHM_CELLS], &length,
                      sizeof(length));
    weft_store_release_u32(&peer->out.ring->published, ++peer->out.head, ORDER_ring_publish);
    weft_bell_ring(&peer->inbox->bells[WEFT_NET_RECEIVE]);
    return WEFT_OK;
}

static int poll_send(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    int count = 0;

    for (int p = 0; p < t->open.processes && count < most; p++) {
        struct peer *peer = &t->peers[p];
        if (peer->out.head == peer->out.said)
            continue;
        if (!refresh(peer))
            return -(int)weft_err(WEFT_ERR_PROTOCOL, "shm: process %d published a bad ring credit",
                                  p);
        if (peer->out.seen == peer->out.said)
            continue;
        events[count++] = (struct weft_transport_event){
            .kind = WEFT_EVENT_SENT, .process = p, .count = peer->out.seen - peer->out.said};
        peer->out.said = peer->out.seen;
    }
    return count;
}

/* Takes the packets of one sender. False: its index cannot be. */
static bool take(const struct weft_transport *t, int process, struct weft_transport_event *events,
                 int most, int *count)
{
    struct peer *peer = &t->peers[process];

    if (peer->in.seen == peer->in.tail) {
        peer->in.seen = weft_load_acquire_u32(&peer->in.ring->published, ORDER_ring_poll);
        if (peer->in.seen - peer->in.tail > WEFT_SHM_CELLS - (peer->in.tail - peer->in.released))
            return false;
    }
    for (; peer->in.tail != peer->in.seen && *count < most; peer->in.tail++) {
        unsigned char *cell = cell_of(peer->in.ring, t->cell, peer->in.tail);
        uint32_t bytes;
        weft_read_shared(&bytes, &peer->in.ring->bytes[peer->in.tail % WEFT_SHM_CELLS],
                         sizeof(bytes));
        if (bytes > t->cell)
            return false;
        weft_used_shared(cell, bytes);
        struct weft_transport_event *event = &events[(*count)++];
        event->kind = WEFT_EVENT_PACKET;
        event->process = process;
        event->value = peer->in.tail;
        event->bytes = cell;
        event->length = bytes;
    }
    return true;
}

static int poll_receive(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    int count = 0;

    for (int i = 0; i < t->open.processes && count < most; i++) {
        const int process = t->next;
        t->next = process + 1 < t->open.processes ? process + 1 : 0;
        if (!take(t, process, events, most, &count))
            return -(int)weft_err(WEFT_ERR_PROTOCOL, "shm: process %d wrote a broken ring",
                                  process);
    }
    return count;
}

static void release(struct weft_transport *t, int process, uint64_t packet)
{
    struct peer *peer = &t->peers[process];

    peer->in.released = (uint32_t)packet + 1;
    weft_store_release_u32(&peer->in.ring->credit, peer->in.released, ORDER_ring_credit);
    weft_bell_ring(&peer->inbox->bells[WEFT_NET_SEND]);
}

static const unsigned char *staged(struct weft_transport *t, int process, uint64_t place,
                                   size_t bytes)
{
    const struct peer *peer = &t->peers[process];
    const uint64_t all = peer->address.stage.bytes;

    if (peer->stage == NULL || place > all || bytes > all - place)
        return NULL;
    weft_used_shared(peer->stage + place, bytes);
    return peer->stage + place;
}

const struct weft_transport_ops weft_transport_shm = {
    .name = "shm",
    .open = open_shm,
    .close = close_shm,
    .caps = caps,
    .connect = weft_shm_connect,
    .begin = begin,
    .commit = commit,
    .poll = {poll_send, poll_receive},
    .release = release,
    .staged = staged,
};
