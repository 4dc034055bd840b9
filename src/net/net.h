/*
 * net/net.h - the network between the processes of a job: puts with notices, and memory that takes
 * them.
 *
 * One protocol (net/peer) does this over one of several transports (net/transport.h). Threads:
 * put, flush and progress(WEFT_NET_SEND) are called by one thread at a time, and
 * progress(WEFT_NET_RECEIVE) by one: the progress and the receive task, or who does their rounds;
 * one thread may be both. Any threads may call reg, lend, dereg, place and memory, whenever they
 * like. The rest is called while nobody makes rounds.
 *
 * ORDER: puts to one process take effect there in the order in which they were accepted, each
 * notice after its own data and after all data before it.
 */
#ifndef WEFT_NET_NET_H
#define WEFT_NET_NET_H

#include "base/config.h"
#include "device/device.h"
#include "weft/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_net;

/* One put: data and notice travel together. bytes may be 0 (notice only), notice may be 0. */
struct weft_net_put {
    int process;
    uint64_t key;               /* the target's region, as its reg gave it */
    uint64_t offset;            /* bytes from the start of the target's region */
    uint64_t place[2];          /* what `place` gave of the region there; zero: not known */
    const void *source;         /* never NULL */
    size_t bytes;               /* bytes of a row */
    uint32_t rows;              /* 0: one; several have caps.rows_bytes in all at most */
    size_t pitch, source_pitch; /* bytes from a row to the next, there and here */
    uint32_t notice;            /* abi/notice.h */
    void *cookie;               /* handed to sent and delivered */
    bool device;                /* the source is device memory; only if caps.reads_device */
};

/*
 * What a network asks of the job besides what notices and the device do. The thread that drives the
 * send side calls `sent` and `delivered`; `sent` also within put.
 */
struct weft_net_events {
    void *context;
    /* sent: the put's source may be reused. delivered: the put is visible at its target. */
    void (*sent)(void *context, void *cookie);
    void (*delivered)(void *context, void *cookie);
    /* Called when all that a packet, or a write, brought was delivered. Receive side; NULL: nobody
     * asks. */
    void (*arrived)(void *context);
    /*
     * Called by dereg and close (NULL: nobody asks). Something outside this process's control may
     * still read and write memory after the call: the key's, or, from close, whatever the network
     * was given. That memory has to stay until the process ends.
     */
    void (*keeps_memory)(void *context);
    /* Close asks whether no process was lost, so that waiting for all makes sense; NULL: yes. */
    bool (*all_there)(void *context);
    /* Close, with caps.closes_together, asks whether the sides of all have stopped; NULL: yes. */
    bool (*all_stopped)(void *context);
};

/* A notice; the data before it was delivered. */
struct weft_net_delivery {
    int process; /* the sender; -1: the network cannot tell */
    uint32_t notice;
};

/*
 * Who applies a notice, by its kind (abi/notice.h). Receive thread; must not wait for another
 * process. PROTOCOL: the notice is malformed, and nothing has happened. DEVICE: the device failed.
 */
typedef weft_status (*weft_notice_apply)(void *context, const struct weft_net_delivery *delivery);
enum { WEFT_NOTICE_KINDS = 16 };
struct weft_notice_kinds {
    struct {
        weft_notice_apply apply; /* NULL: nobody takes this kind */
        void *context;
    } of[WEFT_NOTICE_KINDS];
};

/* Sets who applies the notices of a kind, before a network is opened with the table. */
void weft_notice_add(struct weft_notice_kinds *kinds, uint32_t kind, weft_notice_apply apply,
                     void *context);
/* Has a notice applied by whom it concerns. Errors: those of weft_notice_apply; PROTOCOL also:
 * nobody has registered the kind. */
weft_status weft_notice_take(const struct weft_notice_kinds *kinds,
                             const struct weft_net_delivery *delivery);

/*
 * Where windows are not memory that the host stores to: how data gets there. Receive thread. bool:
 * false, the device failed.
 */
struct weft_net_device {
    void *context;
    /* deliver begins to copy data into a window; settle waits until all that was delivered is
     * there. */
    bool (*deliver)(void *context, void *target, const void *source, size_t bytes);
    bool (*settle)(void *context);
    /* mark sets a mark behind what was begun. settled: *there: all before the mark is there; marks
     * are passed in order. */
    bool (*mark)(void *context, uint64_t *mark);
    bool (*settled)(void *context, uint64_t mark, bool *there);
    /* The device itself; ops NULL: it is none that fetches from pinned memory. */
    const struct weft_device_ops *ops;
    struct weft_device *device;
};

struct weft_net_open {
    const struct weft_config *config;
    int process, processes;
    bool one_address_space; /* processes are tasks of this one */
    bool one_host;          /* no process is on another host */
    bool polls;             /* this process has processors to poll with: prefer quick to frugal */
    size_t stage_bytes;     /* how much memory caps.stage should be; 0: none */
    struct weft_net_events events;
    /* Both outlive the network. */
    const struct weft_notice_kinds *kinds;
    const struct weft_net_device *device; /* NULL: windows are memory that the host stores to */
};

enum weft_net_side { WEFT_NET_SEND, WEFT_NET_RECEIVE };

struct weft_net_caps {
    bool same_host_only;   /* reaches processes of this host only */
    bool launched;         /* reaches only processes that its own launcher has started */
    bool reads_device;     /* takes some puts from device memory; others return WEFT_NET_STAGE */
    bool tells_when_asked; /* without a flush `delivered` comes late */
    bool closes_together;  /* no process closes before the sides of all have stopped, unless the
                              job has failed (all_stopped) */
    size_t address_bytes;  /* length of this process's address */
    size_t rows_bytes;     /* a put may be several rows of so many bytes in all; 0: one row */
    void *stage;    /* the network's own pinned memory, open.stage_bytes of it; NULL: none. Puts
                       from it are quicker; they may be `sent` only when they are delivered */
    char about[96]; /* for people: what it runs over; may be empty */
};

#define WEFT_NET_ADDRESS_MAX 320

/* put: no room now; call again after progress. Never reported as an error. */
#define WEFT_NET_FULL WEFT_STATUS_COUNT
/* put: it cannot read this device memory; put it from host memory. Never reported as an error. */
#define WEFT_NET_STAGE (WEFT_STATUS_COUNT + 1)

struct weft_transport_ops; /* net/transport.h */

/* Opens a network over a transport. Nothing is connected yet. weft_net_close frees it. */
weft_status weft_net_open(struct weft_net **net, const struct weft_transport_ops *transport,
                          const struct weft_net_open *open);
/* Closes and frees a network, before any memory that it was given is freed. It may block. */
void weft_net_close(struct weft_net *net);
/* Returns the name of the network's transport; "none" without a network. */
const char *weft_net_name(const struct weft_net *net);
void weft_net_caps(const struct weft_net *net, struct weft_net_caps *caps);

/* _address gives this process's address (caps.address_bytes of it); then _connect is called for
 * each process, in order, with that one's. */
void weft_net_address(const struct weft_net *net, void *address);
weft_status weft_net_connect(struct weft_net *net, int process, const void *address);

/* reg exposes memory until dereg; the key is meaningful to the other processes. own: the host
 * stores there itself, at once, also where windows are not memory that it stores to. */
weft_status weft_net_reg(struct weft_net *net, void *base, size_t bytes, bool own, uint64_t *key);
/*
 * The same until dereg, and only packets reach the memory: no page is pinned, and nothing is
 * written there once the receive side has stopped. The transport may write on after a job has
 * failed.
 */
weft_status weft_net_lend(struct weft_net *net, void *base, size_t bytes, bool own, uint64_t *key);
void weft_net_dereg(struct weft_net *net, uint64_t key);
/* Tells where a region is: a put that brings it along need not ask its process. Zero: nothing. */
void weft_net_place(struct weft_net *net, uint64_t key, uint64_t place[2]);

/* Finds this process's memory with that key; NULL: none, or it is the host's own. */
unsigned char *weft_net_memory(struct weft_net *net, uint64_t key, size_t *bytes);

/* Accepts a put, without blocking. OK: sent and delivered will be called. FULL, STAGE: refused. */
weft_status weft_net_put(struct weft_net *net, const struct weft_net_put *put);
/* Makes `delivered` come soon for all puts to the process accepted so far. Non-blocking. */
weft_status weft_net_flush(struct weft_net *net, int process);

/*
 * Whether all that was put has left this process: `sent` says only that it was copied, maybe into a
 * packet that goes with progress, once there is room. Local; asked by the thread that makes
 * progress, or while none does.
 */
bool weft_net_left(const struct weft_net *net);

/* Does what a side can do now, without blocking; *did is set (never cleared) if anything moved.
 * Errors: PROTOCOL, NETWORK. */
weft_status weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did);

/* Blocks until the transport has something to do, ns at most, during which nobody can ring. The
 * receive thread calls it. False, at once: the transport cannot. */
bool weft_net_sleep(struct weft_net *net, uint64_t ns);

/* Returns the bell on which a side's thread sleeps; NULL: nothing rings, it must poll. */
struct weft_bell *weft_net_bell(const struct weft_net *net, enum weft_net_side side);

#endif
