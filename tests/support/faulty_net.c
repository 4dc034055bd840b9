/* support/faulty_net.c - see the header. One lock covers all; ends know each other by their
 * addresses. */
#include "support/faulty_net.h"

#include "net/peer/packet.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST = 3,
    ROOM_MOST = 2048,
    IN_FLIGHT = 100,
    STRANGERS = 7,
    WRITES_MOST = 32,
    WRITE_MOST = 40000
};

struct faulty_net faulty_net;

struct flying {
    struct flying *next;
    int from;
    bool taken, sent_said, gone;
    size_t length;
    struct weft_transport_write write; /* if to != NULL: a write, else a packet */
    unsigned char *to;
    bool there; /* data of a write is there: before WRITTEN, as with real writes */
    _Alignas(8) unsigned char bytes[ROOM_MOST];
};

/* What flies from one end to another, in the order of commit. */
struct way {
    struct flying *first;
    uint32_t count, unsaid; /* packets; of these, SENT that can be said */
    struct flying *open;
    size_t room;
};

struct weft_transport {
    struct weft_net_open open;
    struct weft_bell bells[2];
    struct weft_transport *self; /* its own address */
    struct weft_transport *others[MOST];
    struct way ways[MOST]; /* ways to this end, by sender */
    bool broke;
};

static struct weft_lock lock;

static uint32_t draw(uint32_t below)
{
    faulty_net.seed = faulty_net.seed * 1664525u + 1013904223u;
    return (faulty_net.seed >> 8) % below;
}

static weft_status open_faulty(struct weft_transport **t, const struct weft_net_open *open)
{
    *t = calloc(1, sizeof(**t));
    if (*t == NULL)
        return WEFT_ERR_MEMORY;
    (*t)->open = *open;
    (*t)->self = *t;
    return WEFT_OK;
}

static void close_faulty(struct weft_transport *t)
{
    for (int p = 0; p < MOST; p++) {
        struct flying *next;
        for (struct flying *f = t->ways[p].first; f != NULL; f = next) {
            next = f->next;
            free(f);
        }
        free(t->ways[p].open);
    }
    free(t);
}

static void caps(struct weft_transport *t, struct weft_transport_caps *caps)
{
    weft_lock(&lock);
    *caps =
        (struct weft_transport_caps){.net = {.same_host_only = true, .address_bytes = sizeof(t)},
                                     .address = &t->self,
                                     .bell = {&t->bells[0], &t->bells[1]},
                                     .packet = ROOM_MOST,
                                     .depth = 1 + draw(3),
                                     .ordered = faulty_net.ordered,
                                     .acknowledges = faulty_net.acknowledges,
                                     .one_thread = faulty_net.one_thread,
                                     .write_count = 12,
                                     .write_from = 16,
                                     .write_most = WRITE_MOST,
                                     .immediate = faulty_net.immediate};
    caps->writes = faulty_net.immediate != 0 || faulty_net.silent;
    weft_unlock(&lock);
}

static weft_status connect_faulty(struct weft_transport *t, int process, const void *address)
{
    memcpy(&t->others[process], address, sizeof(t));
    return WEFT_OK;
}

static unsigned char *begin(struct weft_transport *t, int process, size_t *room)
{
    struct way *way = &t->others[process]->ways[t->open.process];

    weft_lock(&lock);
    if (way->open == NULL && way->count < IN_FLIGHT && draw(4) != 0) {
        way->open = calloc(1, sizeof(*way->open));
        way->room = draw(3) == 0 ? ROOM_MOST : WEFT_PACKET_LEAST + draw(ROOM_MOST / 4);
    }
    *room = way->room;
    weft_unlock(&lock);
    return way->open != NULL ? way->open->bytes : NULL;
}

/* Behind all others. Lock held. */
static void fly(struct weft_transport *t, struct way *way, struct flying *f)
{
    struct flying **end = &way->first;

    f->from = t->open.process;
    if (f->to == NULL && ((struct weft_packet *)(void *)f->bytes)->kind == WEFT_PACKET_PUTS)
        f->gone = ++faulty_net.packets == faulty_net.drop; /* a lost acknowledgement is no loss */
    while (*end != NULL)
        end = &(*end)->next;
    *end = f;
    way->count++;
}

/* Some calls return when the other end has seen what they sent, and has acknowledged it. */
static void return_late(const struct weft_transport *t, int process, bool late)
{
    const struct timespec until_acknowledged = {.tv_nsec = 2000000};

    weft_bell_ring(&t->others[process]->bells[WEFT_NET_RECEIVE]);
    if (late)
        nanosleep(&until_acknowledged, NULL);
}

static weft_status commit(struct weft_transport *t, int process, unsigned char *packet,
                          size_t bytes)
{
    struct way *way = &t->others[process]->ways[t->open.process];

    if (t->broke && process == t->open.process)
        abort(); /* nothing goes where the connection broke */
    if (packet != way->open->bytes)
        abort();
    weft_lock(&lock);
    if (draw(4) == 0) {
        weft_unlock(&lock);
        return WEFT_NET_FULL;
    }
    way->open->length = bytes;
    fly(t, way, way->open);
    way->open = NULL;
    const bool late = draw(64) == 0;
    weft_unlock(&lock);
    return_late(t, process, late);
    return WEFT_OK;
}

/* Lock held. */
static void deliver(struct flying *f)
{
    if (!f->there)
        memcpy(f->to, f->write.source, f->write.bytes);
    f->there = true;
}

static weft_status reg(struct weft_transport *t, void *base, size_t bytes, uint64_t place[2],
                       void **mr)
{
    (void)t, (void)bytes;
    place[0] = (uintptr_t)base;
    place[1] = 1;
    *mr = base;
    return WEFT_OK;
}

static void dereg(struct weft_transport *t, void *mr)
{
    (void)t, (void)mr;
}

/* The data of some is there at once, and so before what was sent ahead; and some are acknowledged
 * before their sender goes on. */
static weft_status write_faulty(struct weft_transport *t, const struct weft_transport_write *write)
{
    struct way *way = &t->others[write->process]->ways[t->open.process];
    weft_status status = WEFT_NET_FULL;

    if (write->bytes > WRITE_MOST)
        abort();
    weft_lock(&lock);
    if (way->count < IN_FLIGHT && draw(4) != 0) {
        struct flying *f = calloc(1, sizeof(*f));
        f->write = *write;
        f->to = (unsigned char *)(uintptr_t)write->place[0] + write->offset;
        fly(t, way, f);
        if (draw(2) == 0 && !faulty_net.ordered)
            deliver(f);
        status = WEFT_OK;
    }
    const bool late = status == WEFT_OK && draw(16) == 0;
    weft_unlock(&lock);
    return_late(t, write->process, late);
    return status;
}

/* Frees those at the front that nobody needs any more. Lock held. */
static void clean(struct way *way)
{
    while (way->first != NULL && way->first->gone && way->first->sent_said) {
        struct flying *f = way->first;
        way->first = f->next;
        way->count--;
        free(f);
    }
}

/* Writes whose source was read. */
static int reads(struct weft_transport *t, struct way *way, struct weft_transport_event *events,
                 int count)
{
    for (struct flying *f = way->first; f != NULL && count < WRITES_MOST; f = f->next)
        if (f->to != NULL && f->there && !f->sent_said && draw(2) == 0) {
            f->sent_said = true;
            events[count++] = (struct weft_transport_event){
                .kind = WEFT_EVENT_READ, .process = t->open.process, .value = f->write.cookie};
        }
    return count;
}

static int send_events(struct weft_transport *t, struct weft_transport_event *events)
{
    int count = 0;

    if (faulty_net.broke_at != 0 && faulty_net.packets >= faulty_net.broke_at && !t->broke) {
        t->broke = true;
        events[count++] = (struct weft_transport_event){
            .kind = WEFT_EVENT_LOST, .process = t->open.process, .text = "somebody pulled a plug"};
    }
    for (int p = 0; p < t->open.processes; p++) {
        struct way *way = &t->others[p]->ways[t->open.process];
        uint32_t sent = 0;
        for (struct flying *f = way->first; f != NULL; f = f->next) {
            if (f->sent_said || f->to != NULL)
                continue;
            if ((faulty_net.acknowledges && !f->gone) || draw(4) == 0)
                break;
            f->sent_said = true;
            sent++;
        }
        count = reads(t, way, events, count);
        clean(way);
        if (sent > 0)
            events[count++] =
                (struct weft_transport_event){.kind = WEFT_EVENT_SENT, .process = p, .count = sent};
    }
    return count;
}

/* Finds the next packet of a sender to arrive now; NULL: none does. */
static struct flying *arriving(struct way *way)
{
    struct flying *f = way->first;

    for (; f != NULL; f = f->next) {
        if (f->taken || f->gone)
            continue;
        if (draw(3) != 0)
            return f;
        if (faulty_net.ordered)
            return NULL;
    }
    return NULL;
}

static int receive_events(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    static const uint64_t nonsense[STRANGERS] = {1, 2, 3};
    int count = 0;

    if (faulty_net.strangers && draw(20) == 0)
        events[count++] =
            (struct weft_transport_event){.kind = WEFT_EVENT_PACKET,
                                          .process = -1,
                                          .bytes = (const unsigned char *)nonsense,
                                          .length = draw(STRANGERS + 1) * sizeof(nonsense[0])};
    for (int p = 0; p < t->open.processes; p++) {
        struct flying *f;
        while (count < most && (f = arriving(&t->ways[p])) != NULL) {
            f->taken = true;
            if (f->to != NULL) {
                deliver(f);
                f->gone = true;
                if (!faulty_net.silent)
                    events[count++] = (struct weft_transport_event){
                        .kind = WEFT_EVENT_WRITTEN, .process = p, .value = f->write.immediate};
                continue;
            }
            events[count++] =
                (struct weft_transport_event){.kind = WEFT_EVENT_PACKET,
                                              .process = faulty_net.strangers ? -1 : p,
                                              .value = (uintptr_t)f,
                                              .bytes = f->bytes,
                                              .length = f->length};
        }
    }
    return count;
}

static int poll_send(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    (void)most;
    weft_lock(&lock);
    const int count = send_events(t, events);
    weft_unlock(&lock);
    return count;
}

static int poll_receive(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    weft_lock(&lock);
    const int count = receive_events(t, events, most);
    weft_unlock(&lock);
    return count;
}

static void release(struct weft_transport *t, int process, uint64_t packet)
{
    struct flying *f = (struct flying *)(uintptr_t)packet;

    (void)process;
    if (f == NULL) /* a stranger's */
        return;
    weft_lock(&lock);
    memset(f->bytes, 0xdd, sizeof(f->bytes));
    f->gone = true;
    weft_bell_ring(&t->others[f->from]->bells[WEFT_NET_SEND]);
    clean(&t->ways[f->from]);
    weft_unlock(&lock);
}

const struct weft_transport_ops faulty_net_ops = {
    .name = "faulty",
    .open = open_faulty,
    .close = close_faulty,
    .caps = caps,
    .connect = connect_faulty,
    .reg = reg,
    .dereg = dereg,
    .write = write_faulty,
    .begin = begin,
    .commit = commit,
    .poll = {poll_send, poll_receive},
    .release = release,
};
