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
#include "net/receipt.h"
#include "order/atomic.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

static struct weft_peer_put *put_at(const struct weft_peer_puts *puts, uint32_t i)
{
    return &puts->ring[i & (puts->capacity - 1)];
}

/* ---- what has become of puts ----------------------------------------------------------------- */

/* Whether the receiver reads the source where it lies: not worth it for the shortest. */
static bool is_staged(const struct weft_net *net, const struct weft_net_put *put)
{
    enum { LEAST = 1024 };
    const uintptr_t begin = (uintptr_t)net->caps.net.stage, at = (uintptr_t)put->source;

    return begin != 0 && put->bytes >= LEAST && put->rows <= 1 && at >= begin &&
           at - begin < net->open.stage_bytes;
}

static void report_sent(struct weft_net *net, struct weft_peer_puts *puts)
{
    for (; puts->sent != puts->packed; puts->sent++) {
        const struct weft_net_put *put = &put_at(puts, puts->sent)->put;
        if (!is_staged(net, put))
            net->open.events.sent(net->open.events.context, put->cookie);
    }
}

/* The put's place in the ring is free before its owner hears: who hears may put. */
static void report_delivered(struct weft_net *net, struct weft_peer *peer, bool *did)
{
    const struct weft_net_events *events = &net->open.events;
    struct weft_peer_puts *puts = &peer->puts;

    while (puts->delivered != puts->sent &&
           (int32_t)(peer->acked - put_at(puts, puts->delivered)->last) > 0) {
        const struct weft_net_put *put = &put_at(puts, puts->delivered++)->put;
        void *const cookie = put->cookie;
        *did = true;
        if (is_staged(net, put))
            events->sent(events->context, cookie);
        events->landed(events->context, cookie);
    }
}

/* ---- packets --------------------------------------------------------------------------------- */

/* Memory of a packet is others' where it is built where they read it. */
static inline void store(const struct weft_net *net, unsigned char *to, const void *from,
                         size_t bytes)
{
    if (net->caps.shared)
        weft_write_shared(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

static void store_source(const struct weft_net *net, unsigned char *to, const unsigned char *from,
                         size_t bytes)
{
    if (net->caps.shared) {
        weft_used_shared(from, bytes); /* before it is published: an answer's source is free then */
        weft_write_shared(to, from, bytes);
    } else {
        weft_read_shared(to, from, bytes);
    }
}

static bool begin(struct weft_net *net, int process)
{
    struct weft_peer *peer = &net->peers[process];

    peer->open.at = net->ops->begin(net->transport, process, &peer->open.room);
    peer->open.room &= ~(size_t)7;
    peer->open.used = WEFT_PACKET_HEAD;
    peer->open.entries = 0;
    return peer->open.at != NULL;
}

/* The packet that is being built goes; one without entries only says what its head does. */
static weft_status commit(struct weft_net *net, int process)
{
    struct weft_peer *peer = &net->peers[process];
    struct weft_packet head = {.token = peer->token,
                               .process = (uint16_t)net->open.process,
                               .kind = peer->open.entries > 0 ? WEFT_PACKET_PUTS : WEFT_PACKET_ACK,
                               .flags = peer->asks ? WEFT_PACKET_ASKS : 0,
                               .bytes = (uint32_t)peer->open.used,
                               .number = peer->number,
                               .entries = (uint16_t)peer->open.entries};

    if (!net->caps.acknowledges) {
        head.delivered = weft_load_acquire_u32(&peer->delivered, ORDER_ring_space);
        weft_tell_u32(&peer->told, head.delivered);
    }
    peer->asks = false;
    peer->number += peer->open.entries > 0;
    weft_tell_u32(&peer->made, peer->number); /* before anybody acknowledges it */
    peer->on_way++;
    net->on_way++;
    net->packets += peer->open.entries > 0;
    store(net, peer->open.at, &head, sizeof(head));
    peer->open.at = NULL;
    return net->ops->commit(net->transport, process, peer->open.used);
}

/* ---- from puts to entries -------------------------------------------------------------------- */

/*
 * What of `left` bytes goes into `room`: all; or, if the packet is empty, a part, so that no short
 * one is left over. 0: nothing, the packet is full. A part is not that of a word: LEAST has room.
 */
static size_t cut(size_t left, size_t room, bool empty)
{
    if (left <= room || !empty)
        return left <= room ? left : 0;
    const size_t parts = (left + room - 1) / room;
    const size_t bytes = ((left + parts - 1) / parts + LINE - 1) / LINE * LINE;

    return bytes < room ? bytes : room;
}

/* The rows of a put that fit as such: the rest of them, if there are several. */
static uint32_t whole_rows(const struct weft_net_put *put, size_t done, size_t room)
{
    const size_t left = done % put->bytes == 0 ? put->rows - done / put->bytes : 0;
    const size_t fit = room > sizeof(struct weft_net_rows)
                           ? (room - sizeof(struct weft_net_rows)) / put->bytes
                           : 0;
    const size_t rows = left < fit ? left : fit;

    return rows > 1 ? (uint32_t)rows : 0;
}

static void store_rows(const struct weft_net *net, unsigned char *to, const unsigned char *from,
                       const struct weft_net_put *put, uint32_t rows)
{
    const struct weft_net_rows head = {put->pitch, rows};

    store(net, to, &head, sizeof(head));
    for (uint32_t i = 0; i < rows; i++)
        store_source(net, to + sizeof(head) + i * put->bytes, from + i * put->source_pitch,
                     put->bytes);
}

/* The next part of a put as an entry of the open packet. How many bytes of it; *full: none fits. */
static size_t append(const struct weft_net *net, struct weft_peer *peer,
                     const struct weft_net_put *put, size_t done, size_t all, bool *full)
{
    const size_t row = put->rows > 1 ? done / put->bytes : 0;
    const size_t inside = done - row * put->bytes, left = peer->open.room - peer->open.used;
    const size_t room = left > WEFT_ENTRY_HEAD ? left - WEFT_ENTRY_HEAD : 0;
    const unsigned char *source =
        (const unsigned char *)put->source + row * put->source_pitch + inside;
    const bool staged = is_staged(net, put);
    const uint32_t rows = put->rows > 1 ? whole_rows(put, done, room) : 0;
    struct weft_entry entry = {.kind = staged     ? WEFT_ENTRY_STAGED
                                       : rows > 0 ? WEFT_ENTRY_ROWS
                                                  : WEFT_ENTRY_DATA,
                               .key = put->key,
                               .offset = put->offset + row * put->pitch + inside};
    unsigned char *at = peer->open.at + peer->open.used;
    size_t bytes = put->bytes - inside;

    if (rows > 0)
        bytes = rows * put->bytes;
    else if (!staged)
        bytes = cut(bytes, room, peer->open.entries == 0);
    else if (bytes > WEFT_ENTRY_MOST)
        bytes = WEFT_ENTRY_MOST / LINE * LINE;
    entry.bytes = (uint32_t)(bytes + (rows > 0 ? sizeof(entry.rows) : 0));
    entry.notice = done + bytes == all ? put->notice : 0;
    *full = (bytes == 0 && all != 0) || weft_entry_room(entry.kind, entry.bytes) > left ||
            peer->open.entries == WEFT_PACKET_ENTRIES;
    if (*full)
        return 0;
    const struct weft_entry_head head = weft_entry_pack(&entry);
    const size_t length = weft_entry_head_bytes(&head);
    if (length == sizeof(head))
        store(net, at, &head, sizeof(head));
    else
        store(net, at, &head, 8);
    if (staged) {
        entry.staged = (uint64_t)(source - (const unsigned char *)net->caps.net.stage);
        store(net, at + length, &entry.staged, sizeof(entry.staged));
    } else if (rows > 0) {
        store_rows(net, at + length, source, put, rows);
    } else if (bytes > 0) {
        store_source(net, at + length, source, bytes);
    }
    peer->open.entries++;
    peer->open.used += weft_entry_room(entry.kind, entry.bytes);
    return bytes;
}

/* As much of the next put as fits. *full: the packet has to go first. */
static void pack(struct weft_net *net, struct weft_peer *peer, bool *full)
{
    struct weft_peer_put *next = put_at(&peer->puts, peer->puts.packed);
    const size_t all = next->put.bytes * (next->put.rows > 1 ? next->put.rows : 1);

    peer->done += append(net, peer, &next->put, peer->done, all, full);
    if (*full || peer->done != all)
        return;
    next->last = peer->number;
    peer->done = 0;
    peer->puts.packed++;
    net->puts++;
}

/* Puts become packets, as long as there is room; a packet goes if its process is free. */
static weft_status pump(struct weft_net *net, int process, bool *did)
{
    struct weft_peer *peer = &net->peers[process];
    weft_status status = WEFT_OK;

    while (peer->puts.packed != peer->puts.accepted && status == WEFT_OK) {
        bool full;
        if (!net->caps.acknowledges && peer->number - peer->acked >= WEFT_PEER_WINDOW) {
            peer->asks = true;
            break;
        }
        if (peer->open.at == NULL && !begin(net, process))
            break;
        pack(net, peer, &full);
        *did |= !full;
        if (full)
            status = commit(net, process);
    }
    if (status == WEFT_OK && peer->open.at != NULL && peer->open.entries > 0 &&
        peer->on_way < net->caps.depth) {
        *did = true;
        status = commit(net, process);
    }
    return status;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Room for one more. */
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
    if (!grow(puts))
        return weft_err(WEFT_ERR_MEMORY, "%s: no memory for %u puts under way", net->ops->name,
                        puts->capacity);
    put_at(puts, puts->accepted++)->put = *put;
    if (!peer->busy)
        net->busy[net->busy_count++] = put->process;
    peer->busy = true;
    if (net->caps.one_thread)
        return WEFT_OK;
    const weft_status status = pump(net, put->process, &did);
    report_sent(net, puts);
    return status;
}

weft_status weft_peer_put(struct weft_net *net, const struct weft_net_put *put)
{
    weft_peer_lock(net);
    const weft_status status = accept(net, put);
    weft_peer_unlock(net);
    if (net->caps.one_thread && status == WEFT_OK)
        weft_peer_ring(net, WEFT_NET_RECEIVE);
    return status;
}

weft_status weft_peer_tell(struct weft_net *net, int process, bool *went)
{
    *went = net->peers[process].open.at != NULL || begin(net, process);
    return *went ? commit(net, process) : WEFT_OK;
}

weft_status weft_peer_flush(struct weft_net *net, int process)
{
    struct weft_peer *peer = &net->peers[process];

    if (net->caps.acknowledges)
        return WEFT_OK;
    weft_peer_lock(net);
    peer->asks = peer->puts.delivered != peer->puts.accepted;
    weft_peer_unlock(net);
    return WEFT_OK;
}

/* ---- progress -------------------------------------------------------------------------------- */

static void take_event(struct weft_net *net, const struct weft_transport_event *event)
{
    struct weft_peer *peer = &net->peers[event->process];

    if (event->kind == WEFT_EVENT_LOST)
        weft_peer_lose(net, event->process, event->text);
    if (event->kind != WEFT_EVENT_SENT)
        return;
    peer->on_way -= event->count;
    net->on_way -= event->count;
    if (net->caps.acknowledges)
        peer->acked += event->count;
}

static weft_status take_events(struct weft_net *net, bool *did)
{
    struct weft_transport_event events[WEFT_PEER_EVENTS];

    if (net->on_way == 0)
        return WEFT_OK;
    const int count = net->ops->poll(net->transport, WEFT_NET_SEND, events, WEFT_PEER_EVENTS);
    for (int i = 0; i < count; i++)
        take_event(net, &events[i]);
    *did |= count > 0;
    return count < 0 ? (weft_status)-count : WEFT_OK;
}

weft_status weft_peer_drive(struct weft_net *net, bool *did)
{
    weft_status status = take_events(net, did);

    for (uint32_t i = 0; i < net->busy_count && status == WEFT_OK; i++) {
        struct weft_peer *peer = &net->peers[net->busy[i]];
        if (!net->caps.acknowledges)
            peer->acked = weft_load_acquire_u32(&peer->heard, ORDER_ring_space);
        status = pump(net, net->busy[i], did);
        if (status == WEFT_OK && peer->asks && peer->acked != peer->number)
            status = weft_peer_tell(net, net->busy[i], &(bool){false});
    }
    return status;
}

/* What the owners of puts are to hear. */
static void report(struct weft_net *net, bool *did)
{
    for (uint32_t i = 0; i < net->busy_count;) {
        struct weft_peer *peer = &net->peers[net->busy[i]];
        report_sent(net, &peer->puts);
        report_delivered(net, peer, did);
        peer->busy = peer->puts.delivered != peer->puts.accepted;
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
        status = weft_peer_tell_sent(net);
    weft_peer_unlock(net);
    return status;
}
