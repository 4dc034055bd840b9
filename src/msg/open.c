/* msg/open.c - opens and closes what a job has for messages; processes introduce themselves. The
 * opening and closing thread calls it. */
#include "msg/msg.h"

#include "abi/notice.h"
#include "host/host.h"
#include "msg/copy.h"
#include "runtime/job/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    KEEP_MOST = 1u << 24, /* units of payload kept of one process, at most: a gigabyte */
    OWN_PIECE = 32768     /* bytes of a piece that goes to this process itself */
};

/* What processes tell each other. */
struct introduction {
    struct weft_share box;
    uint64_t key;             /* network key of the box */
    uint64_t size;            /* bytes of far payload of each ring in the box */
    uint64_t nonce, nonce_at; /* a number unlike other processes'; its address */
    int32_t pid;
    uint32_t keeps; /* units of payload that it keeps of each other process, at most */
};
static_assert(sizeof(struct introduction) == sizeof(struct weft_share) + 40, "no padding");

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

/* Bytes that always go at once: what fits the line, at least, takes no more room than a header. */
static uint32_t eager_of(uint64_t wanted, uint64_t most)
{
    const uint32_t eager = least(wanted, most);

    return eager > WEFT_MAIL_WITHIN ? eager : WEFT_MAIL_WITHIN;
}

static weft_status make_box(struct weft_messages *m)
{
    const struct weft_job *job = m->job;
    const uint32_t size = (uint32_t)job->config.msg_ring;
    const uint32_t start = (uint32_t)job->config.counter_start;
    const int n = job->numbers.processes;
    void *memory;

    WEFT_TRY(
        weft_share_create(sizeof(struct weft_msg_box) + (uint64_t)n * weft_mail_ring_bytes(size),
                          &memory, &m->share));
    m->box = memory;
    for (int p = 0; p < n; p++) {
        struct weft_msg_peer *peer = &m->peers[p];
        struct weft_mail_ring *ring = weft_msg_ring(m->box, size, p);
        weft_mail_ring_init(ring, size, start);
        weft_mail_open(&peer->in, ring, size, start);
        peer->far.in = peer->in.far.bytes;
        peer->far.in_units = size / WEFT_MAIL_UNIT;
        peer->far.tail = peer->far.told = start;
        peer->far.head = peer->far.posted = peer->far.seen = start;
    }
    return WEFT_OK;
}

static weft_status msg_open(struct weft_job *job)
{
    const size_t n = (size_t)job->numbers.processes;
    struct weft_messages *m = calloc(1, sizeof(*m));
    const int process = job->numbers.process;

    job->messages = m;
    if (m != NULL) {
        m->job = job;
        m->peers = calloc(n, sizeof(*m->peers));
        m->mapped = calloc(n, sizeof(*m->mapped));
    }
    if (m == NULL || m->peers == NULL || m->mapped == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for messages of %zu processes", n);
    STAILQ_INIT(&m->moving);
    STAILQ_INIT(&m->puts);
    for (size_t p = 0; p < n; p++) {
        STAILQ_INIT(&m->peers[p].outgoing);
        STAILQ_INIT(&m->peers[p].far.written);
    }
    m->nonce = weft_now_ns() ^ (uint64_t)getpid() << 40 ^ (uint64_t)(uintptr_t)m;
    m->keeps = least(job->config.msg_unexpected / n / WEFT_MAIL_UNIT, KEEP_MOST);
    m->peers[process].most = m->keeps;
    m->peers[process].eager = eager_of(job->config.msg_eager, UINT16_MAX);
    m->peers[process].piece = OWN_PIECE;
    m->peers[process].reads = true;
    static const weft_comm all[] = {WEFT_COMM_HOST, WEFT_COMM_PIECES};
    for (int i = 0; i < 2; i++) {
        struct weft_msg_context *context = weft_context_make(&m->contexts, all[i]);
        if (context == NULL)
            return weft_err(WEFT_ERR_MEMORY, "no memory for messages of %zu processes", n);
        context->members = job->numbers.processes;
    }
    weft_notice_add(&job->proxy.kinds, WEFT_NOTICE_MESSAGE, weft_far_take, job);
    WEFT_TRY(make_box(m));
    if (!job->device_ops->host_access)
        m->stage = job->device_ops->host_alloc(job->device, WEFT_MSG_STAGES * WEFT_MSG_STAGE);
    if (!job->device_ops->host_access && m->stage == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no %d bytes for messages of a device",
                        WEFT_MSG_STAGES * WEFT_MSG_STAGE);
    return WEFT_OK;
}

/* ---- meeting --------------------------------------------------------------------------------- */

/* Whether this process can read memory of the peer: it finds the nonce at that address. */
static bool can_read(const struct weft_messages *m, int process, uint64_t address, uint64_t nonce)
{
    uint64_t found = 0;
    const struct iovec to = {&found, sizeof(found)};
    const struct iovec from = {(void *)(uintptr_t)address, sizeof(found)};

    if (process == m->job->numbers.process || m->job->one_address_space)
        return true;
    return process_vm_readv(m->peers[process].pid, &to, 1, &from, 1, 0) == sizeof(found) &&
           found == nonce;
}

/* Maps a peer's box, if ranks of this process map that one's memory. Returns why not; NULL:
 * done. */
static const char *map_peer(struct weft_messages *m, int process, const struct introduction *theirs)
{
    struct weft_msg_peer *peer = &m->peers[process];
    struct weft_exposed *exposed = m->job->space.state.process_table[process].exposed;
    const uint32_t size = (uint32_t)theirs->size;
    const char *reason = "it is reached through the host";

    if (exposed == NULL ||
        theirs->box.bytes < sizeof(struct weft_msg_box) +
                                (uint64_t)m->job->numbers.processes * weft_mail_ring_bytes(size))
        return reason;
    peer->box = weft_share_map(&theirs->box, m->job->one_address_space, &reason);
    if (peer->box == NULL)
        return reason;
    peer->share = theirs->box;
    peer->bell = &exposed->bell;
    peer->woken = __atomic_load_n(&peer->box->watch.rung, __ATOMIC_RELAXED) - 1;
    weft_mail_open(&peer->out, weft_msg_ring(peer->box, size, m->job->numbers.process), size,
                   (uint32_t)m->job->config.counter_start);
    peer->eager = eager_of(m->job->config.msg_eager, weft_mail_most(size));
    peer->piece = least(size / 4, weft_mail_most(size));
    peer->reads = can_read(m, process, theirs->nonce_at, theirs->nonce);
    if (!peer->reads)
        weft_say(WEFT_SAY_INFO,
                 "memory of process %d cannot be read (process_vm_readv): its messages come in "
                 "pieces, and what is not mapped of it is asked for",
                 process);
    return NULL;
}

int weft_host_pid(const struct weft_job *job, int process)
{
    const bool known = job != NULL && process >= 0 && process < job->numbers.processes;

    if (!known)
        return 0;
    const struct weft_msg_peer *peer = &job->messages->peers[process];
    weft_lock(&job->messages->lock);
    const int pid = peer->box != NULL && peer->reads ? peer->pid : 0;
    weft_unlock(&job->messages->lock);
    /* Who may read it may write it, unless a filter forbids the call. */
    return pid != 0 && process_vm_writev(pid, NULL, 0, NULL, 0, 0) == 0 ? pid : 0;
}

static weft_status meet_peer(struct weft_messages *m, int process,
                             const struct introduction *theirs)
{
    struct weft_msg_peer *peer = &m->peers[process];
    const uint64_t size = theirs->size;

    if (size < WEFT_MAIL_LEAST || size > UINT32_MAX / 2 || (size & (size - 1)) != 0 ||
        theirs->keeps > KEEP_MOST)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "process %d announces rings of %llu bytes for messages, and %u units of "
                        "memory",
                        process, (unsigned long long)size, theirs->keeps);
    peer->pid = theirs->pid;
    peer->most = theirs->keeps;
    if (m->job->processes[process].node == m->job->numbers.node)
        m->mapped[m->mapped_count++] = process; /* whether or not this process maps it */
    if (map_peer(m, process, theirs) == NULL)
        return WEFT_OK;
    peer->far.shadow = aligned_alloc(WEFT_MAIL_UNIT, size);
    if (peer->far.shadow == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for messages to process %d", process);
    peer->far.key = theirs->key;
    peer->far.units = (uint32_t)size / WEFT_MAIL_UNIT;
    peer->far.offset = sizeof(struct weft_msg_box) +
                       (uint64_t)m->job->numbers.process * weft_mail_ring_bytes((uint32_t)size) +
                       weft_mail_payload_at((uint32_t)size);
    peer->eager = eager_of(m->job->config.msg_eager_net, size / 2 - WEFT_MAIL_UNIT);
    peer->piece = least(size / 4 - WEFT_MAIL_UNIT, weft_mail_most((uint32_t)size));
    return WEFT_OK;
}

/* Registers the box with the network, so that others can put frames into it. */
static weft_status expose(struct weft_messages *m)
{
    struct weft_proxy *proxy = &m->job->proxy;

    if (weft_load_relaxed_u32(&m->job->space.state.signals->proxied) == 0)
        return WEFT_OK;
    const weft_status status = weft_net_reg(proxy->net, m->box, m->share.bytes, true, &m->key);
    m->exposed = status == WEFT_OK;
    return status;
}

static weft_status msg_meet(struct weft_job *job)
{
    struct weft_messages *m = job->messages;
    weft_status status = expose(m);
    const struct introduction mine = {.box = m->share,
                                      .key = m->key,
                                      .size = job->config.msg_ring,
                                      .nonce = m->nonce,
                                      .nonce_at = (uint64_t)(uintptr_t)&m->nonce,
                                      .pid = (int32_t)getpid(),
                                      .keeps = m->keeps};
    WEFT_TRY(status);
    WEFT_FREED struct introduction *all =
        weft_exchange_all(job, WEFT_EXCHANGE_MESSAGES, &mine, sizeof(mine), &status);
    for (int p = 0; p < job->numbers.processes && status == WEFT_OK; p++)
        if (p != job->numbers.process)
            status = meet_peer(m, p, &all[p]);
    return status;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void msg_leave(struct weft_job *job)
{
    struct weft_messages *m = job->messages;

    weft_msg_lock(m);
    if (weft_job_status(job) == WEFT_OK) {
        weft_msg_round(m);
        weft_msg_leftovers(m);
    }
    if (m->eager + m->offers + m->read + m->put + m->granted != 0)
        weft_say(WEFT_SAY_INFO,
                 "messages: %llu went at once, %llu were offered, of which %llu were copied into a "
                 "device; of others' %llu were read where they lay, %llu were put into their "
                 "buffers, %llu were sent, %llu of them asked to be copied by their senders",
                 m->eager, m->offers, m->copied, m->read, m->put, m->granted, m->shared);
    weft_msg_unlock(m);
}

static void close_peer(struct weft_messages *m, struct weft_msg_peer *peer)
{
    struct weft_outgoing *first;

    while ((first = STAILQ_FIRST(&peer->outgoing)) != NULL) {
        STAILQ_REMOVE_HEAD(&peer->outgoing, link);
        free(first);
    }
    if (peer->box != NULL)
        weft_share_unmap(peer->box, &peer->share, m->job->one_address_space);
    free(peer->far.shadow);
}

static void msg_close(struct weft_job *job)
{
    struct weft_messages *m = job->messages;
    struct weft_transfer *transfer = NULL;

    if (m == NULL)
        return;
    for (int p = 0; m->peers != NULL && p < job->numbers.processes; p++)
        close_peer(m, &m->peers[p]);
    while ((transfer = weft_transfer_next(&m->transfers, transfer)) != NULL)
        if (transfer->state == WEFT_TRANSFER_MATCHED)
            free(transfer->matched);
    if (m->staged != 0) /* the job has failed, or was closed before the end of a message */
        weft_msg_settle(m);
    weft_job_host_free(job, m->stage);
    weft_transfer_table_close(&m->transfers);
    weft_contexts_close(&m->contexts);
    if (m->box != NULL)
        weft_share_destroy(m->box, &m->share);
    free(m->peers);
    free(m->mapped);
    free(m);
    job->messages = NULL;
}

const struct weft_service weft_msg_module = {
    .open = msg_open, .meet = msg_meet, .leave = msg_leave, .close = msg_close};
