/*
 * net/net.h - what a network must do for weft: thirteen functions at most.
 *
 * A back end is one such table at the end of its file and one line in registry.c. Operations that
 * it lacks are filled in with defaults (registry.c), so that callers never test for NULL. Threads:
 * `put`, `flush` and progress(WEFT_NET_SEND) are called by the progress thread only, and
 * progress(WEFT_NET_RECEIVE) by the receive thread only. Any threads may call reg, dereg and place,
 * whenever they like. The rest is called while neither thread runs.
 *
 * ORDER is the back end's duty: puts to one process take effect there in the order in which they
 * were accepted, each notice after its own data and after all data before it.
 */
#ifndef WEFT_NET_NET_H
#define WEFT_NET_NET_H

#include "base/config.h"
#include "weft/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_net;

/* One put: data and notice travel together. bytes may be 0 (notice only), notice may be 0. */
struct weft_net_put {
    int process;
    uint64_t key;               /* the target's region, as its reg gave it */
    uint64_t offset;            /* in that region */
    uint64_t place[2];          /* what `place` gave of it there; zero: not known */
    const void *source;         /* never NULL */
    size_t bytes;               /* of a row */
    uint32_t rows;              /* 0: one; several have caps.rows_bytes in all at most */
    size_t pitch, source_pitch; /* from a row to the next, there and here */
    uint32_t notice;            /* abi/notice.h */
    void *cookie;               /* handed to sent and landed */
    bool device;                /* the source is device memory; only if caps.reads_device */
};

/*
 * What a network asks of the job besides what arrive.h does. The thread that drives the send side
 * calls `sent` and `landed`; `sent` also within put.
 */
struct weft_net_events {
    void *context;
    /* The put's source may be reused; the put is visible at its target. */
    void (*sent)(void *context, void *cookie);
    void (*landed)(void *context, void *cookie);
    /*
     * From dereg and close (NULL: nobody asks): something outside this process's control may still
     * read and write memory after the call: the key's, or, from close, whatever the network was
     * given. That memory has to stay until the process ends.
     */
    void (*lingers)(void *context);
    /* From close: whether no process was lost, so that waiting for all makes sense; NULL: yes. */
    bool (*all_there)(void *context);
    /* From close, with caps.closes_together: whether the sides of all have stopped; NULL: yes. */
    bool (*all_stopped)(void *context);
};

struct weft_notice_kinds;
struct weft_arrive_device;

struct weft_net_open {
    const struct weft_config *config;
    int process, processes;
    bool one_address_space; /* processes are tasks of this one */
    bool one_host;          /* no process is on another host */
    bool polls;             /* this process has processors to poll with: prefer quick to frugal */
    size_t stage_bytes;     /* how much memory caps.stage should be; 0: none */
    struct weft_net_events events;
    /* For arrive.h; both outlive the network. */
    const struct weft_notice_kinds *kinds;   /* who applies notices */
    const struct weft_arrive_device *device; /* NULL: windows are memory that the host stores to */
};

enum weft_net_side { WEFT_NET_SEND, WEFT_NET_RECEIVE };

struct weft_net_caps {
    bool same_host_only;   /* reaches processes of this host only */
    bool own_process;      /* reaches no process but its own */
    bool launched;         /* reaches only processes that its own launcher has started */
    bool reads_device;     /* takes some puts from device memory; others return WEFT_NET_STAGE */
    bool lands_when_asked; /* without a flush `landed` comes late */
    bool closes_together;  /* no process closes before the sides of all have stopped, unless the
                              job has failed (all_stopped) */
    size_t address_bytes;  /* length of this process's address */
    size_t rows_bytes;     /* a put may be several rows of so many bytes in all; 0: one row */
    void *stage;    /* the network's own pinned memory, open.stage_bytes of it; NULL: none. Puts
                       from it are quicker; they may be `sent` only when they have landed */
    char about[96]; /* for people: what it runs over; may be empty */
};

#define WEFT_NET_ADDRESS_MAX 256

/* put: no room now; call again after progress. Never reported as an error. */
#define WEFT_NET_FULL WEFT_STATUS_COUNT
/* put: it cannot read this device memory; put it from host memory. Never reported as an error. */
#define WEFT_NET_STAGE (WEFT_STATUS_COUNT + 1)

struct weft_net_ops {
    const char *name;

    /*
     * Whether this machine has what the network needs. text becomes lines about its devices, or
     * about what is missing; it may be empty. Logs nothing.
     */
    bool (*here)(char *text, size_t bytes);

    weft_status (*open)(struct weft_net **net, const struct weft_net_open *open);
    /* Called before any memory that the network was given is freed. */
    void (*close)(struct weft_net *net);
    void (*caps)(const struct weft_net *net, struct weft_net_caps *caps);

    /* This process's address (caps.address_bytes of it), then one connect a process, in order. */
    weft_status (*address)(struct weft_net *net, void *address);
    weft_status (*connect)(struct weft_net *net, int process, const void *address);

    /*
     * Exposes memory; the key is meaningful to the other processes. own: the host stores there
     * itself, at once, also where windows are not memory that it stores to (arrive.h).
     */
    weft_status (*reg)(struct weft_net *net, void *base, size_t bytes, bool own, uint64_t *key);
    void (*dereg)(struct weft_net *net, uint64_t key);
    /* Where a region is: a put that brings it along need not ask its process. Zero: nothing. */
    void (*place)(struct weft_net *net, uint64_t key, uint64_t place[2]);

    /* Non-blocking. OK: accepted, sent and landed will be called; FULL, STAGE: not accepted. */
    weft_status (*put)(struct weft_net *net, const struct weft_net_put *put);
    /* Non-blocking: makes `landed` come soon for all puts to the process accepted so far. */
    weft_status (*flush)(struct weft_net *net, int process);

    /* Non-blocking; *did is set (never cleared) if anything moved. Errors: PROTOCOL, NETWORK. */
    weft_status (*progress)(struct weft_net *net, enum weft_net_side side, bool *did);

    /* The bell on which that side's thread sleeps; NULL: nothing rings, it must poll. */
    struct weft_bell *(*bell)(struct weft_net *net, enum weft_net_side side);
};

/* The tables, of which registry.c lists those that were built. */
extern const struct weft_net_ops weft_net_null, weft_net_shm, weft_net_ofi, weft_net_verbs,
    weft_net_mpi;

/* The table with that name, completed by the defaults; NULL if there is none. */
const struct weft_net_ops *weft_net_find(const char *name);

/* The i-th table; NULL beyond the last. For weft-info and the conformance tests. */
const struct weft_net_ops *weft_net_at(int i);

#endif
