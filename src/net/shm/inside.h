/*
 * net/shm/inside.h - the state of the shm network, and what its files offer each other.
 */
#ifndef WEFT_NET_SHM_INSIDE_H
#define WEFT_NET_SHM_INSIDE_H

#include "base/share.h"
#include "base/task.h"
#include "net/arrive.h"
#include "net/net.h"
#include "ring/packet.h"

#include <assert.h>

/* What crosses a ring: this header, then data. */
struct weft_packet {
    uint32_t bytes;  /* of data behind this header; with WEFT_PACKET_REFERS: see there */
    uint32_t notice; /* to apply once the data has landed; 0: none */
    uint64_t key;    /* registered region of the target; ignored if bytes is 0 */
    uint64_t offset; /* in the region */
};

static_assert(sizeof(struct weft_packet) == 24, "the same on both sides");

/*
 * In `bytes`: so many lie in the sender's staging memory. Behind the header: where, a uint64_t. The
 * sender leaves them there until the packet has landed.
 */
#define WEFT_PACKET_REFERS ((uint32_t)1 << 31)

/* The start of a receiver's shared memory; its rings follow, one a sender. */
struct weft_shm_inbox {
    struct weft_bell bells[2]; /* by side: its receive thread's, its progress thread's */
    unsigned char pad[64 - 2 * sizeof(struct weft_bell)];
};
static_assert(sizeof(struct weft_shm_inbox) == 64, "the rings behind it begin at a line");

/* What a process makes known of itself. Travels as its bytes. */
struct weft_shm_address {
    struct weft_share inbox, stage; /* stage.bytes 0: it has none */
    uint64_t ring_size;             /* of each ring of the inbox */
};
static_assert(sizeof(struct weft_shm_address) == 2 * sizeof(struct weft_share) + 8, "no padding");

/* A put on its way: the ring's index behind it. */
struct weft_shm_landing {
    uint32_t end;
    bool unsent; /* the receiver reads its source */
    void *cookie;
};

struct weft_shm_peer {
    struct weft_shm_inbox *inbox; /* the peer's, mapped, */
    unsigned char *stage;         /* and its staging memory; NULL: it has none */
    struct weft_shm_address address;
    struct weft_packet_producer out;
    struct weft_packet_consumer in;
    uint32_t batches; /* of its packets, not concluded yet */
    bool released;    /* some of the ring, which its sender does not know of yet */

    struct weft_net_put current; /* accepted, not all in the ring yet */
    size_t done;                 /* bytes of it that are */
    bool active;

    struct weft_shm_landing *landings; /* sent, not yet landed: a FIFO */
    uint32_t capacity, first, count;
};

struct weft_net {
    struct weft_net_open open;
    struct weft_shm_inbox *inbox; /* this process's own, */
    unsigned char *stage;         /* and its staging memory, or NULL */
    struct weft_shm_address address;
    struct weft_shm_peer *peers;
    struct weft_arrive arrive;
};

/* ---- packets.c ---- */

weft_status weft_shm_put(struct weft_net *net, const struct weft_net_put *put);
/* Packets of a process up to an index are there: their room is its own again. */
weft_status weft_shm_conclude(struct weft_net *net, uint64_t cookie);
weft_status weft_shm_progress(struct weft_net *net, enum weft_net_side side, bool *did);

#endif
