/*
 * net/transport.h - what moves packets between processes: fifteen functions at most.
 *
 * A transport keeps no protocol. The peer layer above it (net/peer) numbers packets, orders them,
 * limits what is under way, acknowledges, cuts and merges puts, and finds peers that are lost. A
 * transport only says what it does by itself (weft_transport_caps), and calls nobody.
 *
 * Only `sleep` blocks. Threads: begin, commit, gather, write and poll(SEND) are called by who has
 * the peer layer's send lock; poll(RECEIVE), sleep, staged and release by the receive task. With
 * caps.one_thread the receive task makes all these calls. reg and dereg: any thread, at any time.
 * The rest while neither side runs. A transport locks what poll(RECEIVE) or reg shares with the
 * rest.
 */
#ifndef WEFT_NET_TRANSPORT_H
#define WEFT_NET_TRANSPORT_H

#include "base/task.h"
#include "net/net.h"

struct weft_transport;

/* Before the transport's address is that of the peer layer: its token, its packets, caps.alike. */
enum { WEFT_PEER_ALIKE = 68, WEFT_PEER_ADDRESS = 12 + WEFT_PEER_ALIKE };

struct weft_transport_caps {
    struct weft_net_caps net;    /* without rows_bytes and tells_when_asked, which are the peer's */
    const void *address;         /* net.address_bytes bytes by which others find the process */
    char alike[WEFT_PEER_ALIKE]; /* text that must be the same in all processes; may be empty */
    const char *chosen_by;       /* the settings that choose it */
    struct weft_bell *bell[2];   /* by side: its task sleeps on it; NULL: nothing rings, it polls */
    size_t packet;               /* bytes of the longest packet: WEFT_PACKET_LEAST at least */
    size_t takes;                /* the same of those that come; 0: as `packet` */
    size_t gather_from;          /* bytes of the shortest data to gather; 0: it gathers none */
    unsigned char *buffers;      /* where packets are built; NULL: `begin` says where */
    uint32_t buffer_count;       /* buffers of `packet` bytes, which the peer layer shares out */
    uint32_t depth;    /* packets under way to a process from which on puts gather; >= 1 */
    bool ordered;      /* packets and writes to a process arrive in the order of the calls */
    bool acknowledges; /* SENT of a packet says that its receiver has released it */
    bool shared;       /* a packet is built where its receiver reads it */
    bool one_thread;
    bool writes;       /* it writes to memory that the target gave to its `reg` */
    bool place_is_key; /* place[0] is below 2^63 and all that a write needs: it names the region */
    bool writes_ordered;  /* of two writes to one place the later one stays */
    uint32_t write_count; /* writes under way, at most; the peer layer shares them out */
    size_t write_from;    /* bytes of the shortest put that is worth a write */
    size_t write_most;    /* bytes of the longest write */
    uint32_t immediate;   /* bits beside a write: ordered, 32, or 0 (no WRITTEN comes); else 7 on */
};

/* Data from this process's memory to another's; then WRITTEN there, with the immediate. */
struct weft_transport_write {
    int process;
    uint64_t place[2]; /* of the target's region, as its reg gave it */
    uint64_t offset;   /* bytes from the start of the target's region */
    const void *source;
    size_t bytes;
    void *mr; /* of the registration in which the source lies; NULL: it lies in none */
    uint64_t immediate;
    uint64_t cookie; /* given back by WEFT_EVENT_READ; below 2^63, and `process` from bit 32 on */
};

enum weft_transport_event_kind {
    WEFT_EVENT_SENT,    /* send side: `count` more packets to a process; with caps.buffers one,
                           and buffer number `value` is free */
    WEFT_EVENT_READ,    /* send side: a write's source may be reused: its cookie is `value` */
    WEFT_EVENT_REFUSED, /* send side: the device of a process refused the write of this cookie */
    WEFT_EVENT_LOST,    /* either side: the connection to a process broke: `text` says why. May be
                           given again: the first counts. Nothing more is sent there */
    WEFT_EVENT_PACKET,  /* receive side: `length` bytes, until `release` of `value` */
    WEFT_EVENT_WRITTEN, /* receive side: a write is there; its immediate is `value` */
};

struct weft_transport_event {
    enum weft_transport_event_kind kind;
    int process; /* -1, of a packet: the transport cannot tell */
    uint32_t count;
    uint64_t value;
    const unsigned char *bytes; /* a multiple of 8 */
    size_t length;
    const char *text; /* valid until the next poll */
};

struct weft_transport_ops {
    const char *name;

    /*
     * Whether this machine has what the transport needs; NULL: any has. text becomes lines about
     * its devices, or about what is missing; it may be empty. Logs nothing.
     */
    bool (*here)(char *text, size_t bytes);

    /* The functions of net.h that have these names. `open` stays until `close`. */
    weft_status (*open)(struct weft_transport **t, const struct weft_net_open *open);
    void (*close)(struct weft_transport *t);
    void (*caps)(struct weft_transport *t, struct weft_transport_caps *caps);
    weft_status (*connect)(struct weft_transport *t, int process, const void *address);

    /* Registers memory that others may write, or sources of writes, until dereg. place: what they
     * need to write it; zero: it cannot be written. *mr: NULL if there is nothing to undo. Only
     * with caps.writes. */
    weft_status (*reg)(struct weft_transport *t, void *base, size_t bytes, uint64_t place[2],
                       void **mr);
    void (*dereg)(struct weft_transport *t, void *mr);

    /*
     * Returns where the next packet to a process is built: *room bytes at a multiple of 8. It is
     * the same until `commit`. NULL: no room now; poll(SEND) or the bell says when to ask again.
     * Only without caps.buffers.
     */
    unsigned char *(*begin)(struct weft_transport *t, int process, size_t *room);
    /* Sends the packet that was built there. OK: it goes; SENT will come, or LOST. FULL: nothing
     * happened; the caller repeats the call later, after poll(SEND). */
    weft_status (*commit)(struct weft_transport *t, int process, unsigned char *packet,
                          size_t bytes);
    /* The same, with data behind the packet's bytes, a multiple of 8, which is read where it lies
     * until SENT. Only with caps.gather_from. */
    weft_status (*gather)(struct weft_transport *t, int process, unsigned char *packet,
                          size_t bytes, const void *data, size_t data_bytes);

    /* Begins a write. OK: READ will come. FULL, or STAGE (not from this memory): nothing happened.
     * Only with caps.writes, and never with caps.one_thread. */
    weft_status (*write)(struct weft_transport *t, const struct weft_transport_write *write);

    /* By side: fills in the next events, `most` at most, and returns how many; negative: -status.
     * Packets arrive once and whole, from each process in its turn. */
    int (*poll[2])(struct weft_transport *t, struct weft_transport_event *events, int most);
    /* Gives a packet's memory back to the transport; packets of a process in the order in which
     * they were sent. `process`: who sent it; of one that poll gave with -1, that or still -1. */
    void (*release)(struct weft_transport *t, int process, uint64_t packet);

    /* Blocks the receive task until something may have come or gone, ns at most. False, or NULL: it
     * cannot, and its task sleeps on its bell or polls. */
    bool (*sleep)(struct weft_transport *t, uint64_t ns);

    /* Returns bytes of a process's staging memory (caps.net.stage); NULL: it has no such bytes. */
    const unsigned char *(*staged)(struct weft_transport *t, int process, uint64_t place,
                                   size_t bytes);
};

/* With caps.place_is_key a region's key is its place, and this bit, which no other key has. */
#define WEFT_PEER_PLACED (1ull << 63)

/* The tables; registry.c lists those that were built. */
extern const struct weft_transport_ops weft_transport_shm, weft_transport_ofi, weft_transport_verbs,
    weft_transport_mpi;

/* _find: the transport with this name, NULL: none; _at: the i-th, NULL beyond the last. */
const struct weft_transport_ops *weft_transport_find(const char *name);
const struct weft_transport_ops *weft_transport_at(int i);
/* Calls `here` of the table; true, with no text, if it has none. */
bool weft_transport_is_here(const struct weft_transport_ops *transport, char *text, size_t bytes);

/* ---- what a transport needs of the device: device.c ------------------------------------------ */

/* Whether data is in place only after it was delivered, since only the device writes windows. */
static inline bool weft_net_is_later(const struct weft_net_open *open)
{
    return open->device != NULL && open->device->deliver != NULL;
}
/* Pins memory from which much will be delivered, so that the device can fetch it without the
 * processor's help. Within open and close. False: it cannot be done, which is said, and all is only
 * slower. */
bool weft_net_pin(const struct weft_net_open *open, const char *name, void *memory, size_t bytes);
void weft_net_unpin(const struct weft_net_open *open, void *memory); /* NULL: nothing */
/* `dmabuf` of device.h, for a transport whose own device writes windows. _has_: there is one. */
bool weft_net_has_dmabuf(const struct weft_net_open *open);
int weft_net_dmabuf(const struct weft_net_open *open, void *base, size_t bytes, uint64_t *offset);

/* ---- for who knows the transport ------------------------------------------------------------- */

/* _transport: a network's transport. _registration: its registration in which memory lies, or
 * NULL. */
struct weft_transport *weft_net_transport(struct weft_net *net);
void *weft_net_registration(struct weft_net *net, const void *memory, size_t bytes);

#endif
