/*
 * net/peer/send.c - puts become entries of packets, and packets go.
 *
 * A put is appended to the packet that is being built for its process. That packet goes at once
 * while fewer than caps.depth are on their way there; else it stays open, and what is put meanwhile
 * travels in it. So a put alone waits for nobody, and many become few packets. One that is full
 * goes in any case, if the transport has room for the next.
 */
#include "net/peer/inside.h"

#include "base/say.h"
#include "order/atomic.h"

#include <stdlib.h>
#include <string.h>

static struct weft_peer_put *put_at(const struct weft_peer_puts *puts, uint32_t i)
{
    return &puts->ring[i & (puts->capacity - 1)];
}

/* ---- what has become of puts ----------------------------------------------------------------- */

/* Whether the receiver reads a put's source where it lies, which does not pay for short ones. */
static bool is_staged(const struct weft_net *net, const struct weft_net_put *put)
{
    enum { LEAST = 1024 };
    const uintptr_t begin = (uintptr_t)net->caps.net.stage, at = (uintptr_t)put->source;

    return begin != 0 && put->bytes >= LEAST && put->rows <= 1 && at >= begin &&
           at - begin < net->open.stage_bytes;
}

static void report_sent(struct weft_net *net, struct weft_peer_puts *puts)
{
    for (; puts->sent != puts->packed; puts->sent++)
        if (put_at(puts, puts->sent)->source == WEFT_SOURCE_COPIED)
            net->open.events.sent(net->open.events.context, put_at(puts, puts->sent)->put.cookie);
}

static void report_delivered(struct weft_net *net, struct weft_peer *peer, bool *did)
{
    const struct weft_net_events *events = &net->open.events;
    struct weft_peer_puts *puts = &peer->puts;

    while (puts->delivered != puts->sent &&
           (int32_t)(peer->acked - put_at(puts, puts->delivered)->last) > 0 &&
           put_at(puts, puts->delivered)->source != WEFT_SOURCE_WRITTEN) {
        const struct weft_peer_put *put = put_at(puts, puts->delivered++);
        *did = true;
        if (put->source == WEFT_SOURCE_STAGED)
            events->sent(events->context, put->put.cookie);
        events->delivered(events->context, put->put.cookie);
    }
}

/* ---- packets --------------------------------------------------------------------------------- */

/* Takes a buffer for a packet, if there is one. A process holds no more buffers than it leaves to
 * the others: who takes nothing, or slowly, does not keep them all. */
static unsigned char *take_buffer(struct weft_net *net, struct weft_peer *peer)
{
    peer->open.room = peer->packet;
    if (peer->held >= net->idle_count)
        return NULL;
    peer->held++;
    return net->caps.buffers + net->idle[--net->idle_count] * net->caps.packet;
}

static bool begin(struct weft_net *net, int process)
{
    struct weft_peer *peer = &net->peers[process];

    peer->open.at = net->caps.buffers != NULL
                        ? take_buffer(net, peer)
                        : net->ops->begin(net->transport, process, &peer->open.room);
    peer->open.room &= ~(size_t)7;
    peer->open.used = WEFT_PACKET_HEAD;
    peer->open.entries = 0;
    return peer->open.at != NULL;
}

/* Completes the packet that is being built; one without entries only says what its head does. */
static void seal(struct weft_net *net, struct weft_peer *peer)
{
    struct weft_packet head = {.token = peer->token,
                               .process = (uint16_t)net->open.process,
                               .kind = peer->open.entries > 0 ? WEFT_PACKET_PUTS : WEFT_PACKET_ACK,
                               .flags = peer->asks ? WEFT_PACKET_ASKS : 0,
                               .bytes = (uint32_t)(peer->open.used + peer->open.data_bytes),
                               .number = peer->number,
                               .entries = (uint16_t)peer->open.entries};

    if (!net->caps.acknowledges) {
        head.delivered = weft_load_acquire_u32(&peer->delivered, ORDER_ring_space);
        weft_tell_u32(&peer->last_ack, head.delivered);
    }
    peer->number += peer->open.entries > 0;
    if (peer->asks)
        peer->asked_at = peer->number;
    peer->asks = false;
    weft_tell_u32(&peer->made, peer->number); /* before anybody acknowledges it */
    peer->on_way++;
    net->on_way++;
    net->packets += peer->open.entries > 0;
    weft_peer_store(net, peer->open.at, &head, sizeof(head));
    peer->open.sealed = true;
}

static void make_busy(struct weft_net *net, int process)
{
    if (!net->peers[process].busy)
        net->busy[net->busy_count++] = process;
    net->peers[process].busy = true;
}

/* Sends the open packet; if the transport has no room, weft_peer_drive tries again. */
static weft_status commit(struct weft_net *net, int process)
{
    struct weft_peer *peer = &net->peers[process];

    if (!peer->open.sealed)
        seal(net, peer);
    const weft_status status =
        peer->open.data_bytes == 0
            ? net->ops->commit(net->transport, process, peer->open.at, peer->open.used)
            : net->ops->gather(net->transport, process, peer->open.at, peer->open.used,
                               peer->open.data, peer->open.data_bytes);
    if (status == WEFT_NET_FULL) {
        make_busy(net, process);
        return WEFT_OK;
    }
    peer->open.at = NULL;
    peer->open.data_bytes = 0;
    peer->open.sealed = false;
    return status;
}

/* ---- from puts to packets -------------------------------------------------------------------- */

static void packed(struct weft_net *net, struct weft_peer *peer)
{
    peer->done = 0;
    peer->puts.packed++;
    weft_store_relaxed_u64(&net->puts, net->puts + 1); /* tests look at it */
}

/* Has the transport read the next part of a put where it lies. Returns how many bytes of it. */
static size_t gather(struct weft_net *net, struct weft_peer *peer, struct weft_peer_put *next)
{
    const size_t bytes = weft_peer_gather(net, peer, &next->put, peer->done);

    if (bytes != 0) {
        net->gathers[(size_t)(peer->open.at - net->caps.buffers) / net->caps.packet] =
            1ull << 32 | peer->puts.packed;
        next->gathered++;
    }
    return bytes;
}

/* Packs as much of the next put as fits; of one that was written, the notice. *full: the packet has
 * to go first. */
static void pack(struct weft_net *net, struct weft_peer *peer, bool *full)
{
    struct weft_peer_put *next = put_at(&peer->puts, peer->puts.packed);
    const size_t all = next->put.bytes * (next->put.rows > 1 ? next->put.rows : 1);

    if (next->written) {
        const struct weft_net_put notice = {.notice = next->put.notice};
        weft_peer_append(net, peer, &notice, 0, 0, false, full);
        peer->done = all;
    } else {
        peer->done += gather(net, peer, next);
        if (peer->open.data_bytes == 0)
            peer->done += weft_peer_append(net, peer, &next->put, peer->done, all,
                                           next->source == WEFT_SOURCE_STAGED, full);
    }
    if (*full || peer->done != all)
        return;
    next->last = peer->number;
    if (next->gathered > 0)
        next->source = WEFT_SOURCE_WRITTEN;
    packed(net, peer);
}

/* Writes the next put, if that is better than to pack it. *waits: it cannot go now. */
static weft_status write_next(struct weft_net *net, int process, bool *waits)
{
    struct weft_peer *peer = &net->peers[process];
    struct weft_peer_put *next = put_at(&peer->puts, peer->puts.packed);
    enum weft_peer_way way = WEFT_WAY_PACKED;
    weft_status status = WEFT_OK;

    if (next->source == WEFT_SOURCE_COPIED)
        status = weft_peer_write(net, process, next, &way);
    *waits = way == WEFT_WAY_WAITS;
    if (way == WEFT_WAY_WRITTEN && net->caps.immediate != 0 &&
        (next->put.notice == 0 || weft_peer_brings_notice(net)))
        packed(net, peer);
    return status;
}

/* Makes packets of puts, as long as there is room; a packet goes if its process is free. */
static weft_status pump(struct weft_net *net, int process, bool *did)
{
    struct weft_peer *peer = &net->peers[process];
    weft_status status = WEFT_OK;

    if (peer->lost_at != 0)
        return WEFT_OK; /* what was put there stays where it is, until the job ends */
    if (peer->open.sealed)
        status = commit(net, process);
    while (peer->puts.packed != peer->puts.accepted && status == WEFT_OK && !peer->open.sealed) {
        bool full = false;
        if (weft_peer_is_full(net, peer)) {
            weft_peer_ask(peer);
            break;
        }
        const uint32_t before = peer->number;
        if (net->caps.writes)
            status = write_next(net, process, &full);
        if (peer->number != before) {
            *did = true;
            continue;
        }
        if (full || status != WEFT_OK)
            break;
        if (peer->open.at == NULL && !begin(net, process))
            break;
        pack(net, peer, &full);
        *did |= !full;
        if (full || peer->open.data_bytes != 0)
            status = commit(net, process);
    }
    if (status == WEFT_OK && peer->open.at != NULL && !peer->open.sealed &&
        peer->open.entries > 0 && peer->on_way < net->caps.depth) {
        *did = true;
        status = commit(net, process);
    }
    return status;
}

/* ---- puts ------------------------------------------------------------------------------------ */

/* Makes room for one more put. False: no memory. */
static bool grow(struct weft_peer_puts *puts)
{
    const uint32_t capacity = puts->capacity == 0 ? 16 : puts->capacity * 2;
    struct weft_peer_put *ring;

    if (puts->accepted - puts->delivered < puts->capacity)
        return true;
    ring = malloc(capacity * sizeof(*ring));
    if (ring == NULL)
        return false;
    for (uint32_t i = puts->delivered; i != puts->accepted; i++)
        ring[i & (capacity - 1)] = *put_at(puts, i);
    free(puts->ring);
    puts->ring = ring;
    puts->capacity = capacity;
    return true;
}

static weft_status accept(struct weft_net *net, const struct weft_net_put *put)
{
    struct weft_peer *peer = &net->peers[put->process];
    struct weft_peer_puts *puts = &peer->puts;
    bool did = false;

    if (puts->accepted - puts->packed >= (net->caps.one_thread ? WEFT_PEER_WAITING : 1))
        return WEFT_NET_FULL;
    if (put->device && !weft_peer_reads(net, put))
        return WEFT_NET_STAGE;
    if (!grow(puts))
        return weft_err(WEFT_ERR_MEMORY, "%s: no memory for %u puts under way", net->ops->name,
                        puts->capacity);
    struct weft_peer_put *next = put_at(puts, puts->accepted++);
    *next = (struct weft_peer_put){
        .put = *put, .source = is_staged(net, put) ? WEFT_SOURCE_STAGED : WEFT_SOURCE_COPIED};
    make_busy(net, put->process);
    if (net->caps.one_thread)
        return WEFT_OK;
    const weft_status status = pump(net, put->process, &did);
    report_sent(net, puts);
    return status;
}

weft_status weft_net_put(struct weft_net *net, const struct weft_net_put *put)
{
    weft_peer_lock(net);
    const weft_status status = accept(net, put);
    weft_peer_unlock(net);
    if (net->caps.one_thread && status == WEFT_OK)
        weft_peer_ring(net, WEFT_NET_RECEIVE);
    return status;
}

weft_status weft_peer_send_head(struct weft_net *net, int process, bool *went)
{
    struct weft_peer *peer = &net->peers[process];
    weft_status status = WEFT_OK;

    *went = false;
    if (peer->lost_at != 0)
        return WEFT_OK;
    if (peer->open.sealed)
        status = commit(net, process);
    if (status != WEFT_OK || peer->open.sealed || (peer->open.at == NULL && !begin(net, process)))
        return status;
    *went = true;
    return commit(net, process);
}

weft_status weft_net_flush(struct weft_net *net, int process)
{
    struct weft_peer *peer = &net->peers[process];

    if (net->caps.acknowledges)
        return WEFT_OK;
    weft_peer_lock(net);
    peer->asks = peer->puts.delivered != peer->puts.accepted;
    weft_peer_unlock(net);
    return WEFT_OK;
}

bool weft_net_left(const struct weft_net *net)
{
    bool left = true;

    for (int p = 0; p < net->open.processes; p++) {
        const struct weft_peer *peer = &net->peers[p];
        left = left && peer->puts.packed == peer->puts.accepted &&
               (peer->open.at == NULL || peer->open.entries == 0) &&
               (net->caps.acknowledges || peer->on_way == 0); /* a cell may come back late */
    }
    return left;
}

/* ---- progress -------------------------------------------------------------------------------- */

weft_status weft_peer_drive(struct weft_net *net, bool *did)
{
    weft_status status = weft_peer_take_events(net, did);
    const uint32_t count = net->busy_count;

    if (count != 0) /* what is free again goes to each of them in turn */
        net->turn = (net->turn + 1) % count;
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        const int process = net->busy[(net->turn + i) % count];
        struct weft_peer *peer = &net->peers[process];
        if (!net->caps.acknowledges)
            peer->acked = weft_load_acquire_u32(&peer->acknowledged, ORDER_ring_space);
        if (peer->puts.packed != peer->puts.accepted || peer->open.at != NULL)
            status = pump(net, process, did);
        if (status == WEFT_OK && peer->asks && peer->acked != peer->number)
            status = weft_peer_send_head(net, process, &(bool){false});
    }
    return status;
}

/* Tells the owners of puts what was sent and what was delivered. */
static void report(struct weft_net *net, bool *did)
{
    for (uint32_t i = 0; i < net->busy_count;) {
        struct weft_peer *peer = &net->peers[net->busy[i]];
        report_sent(net, &peer->puts);
        report_delivered(net, peer, did);
        peer->busy = peer->puts.delivered != peer->puts.accepted || peer->open.sealed;
        if (peer->busy)
            i++;
        else
            net->busy[i] = net->busy[--net->busy_count];
    }
}

weft_status weft_peer_progress_send(struct weft_net *net, bool *did)
{
    weft_status status = WEFT_OK;

    weft_peer_lock(net);
    if (!net->caps.one_thread)
        status = weft_peer_drive(net, did);
    report(net, did);
    if (status == WEFT_OK && !net->caps.acknowledges)
        status = weft_peer_ask_again(net);
    weft_peer_unlock(net);
    return status;
}
