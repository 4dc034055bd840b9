/*
 * remote/link/links.h - the processes of a remote job: a program (process 0) and a session on each
 * server (1, 2, ...), joined by weft's control channel and one of its networks, without a weft_job.
 *
 * The program and each session send each other records through rings (ring.h). All processes send
 * each other notices of copies, and put pieces of copies into each other's regions. One thread at a
 * time calls any of this, except where it says otherwise.
 */
#ifndef WEFT_REMOTE_LINK_LINKS_H
#define WEFT_REMOTE_LINK_LINKS_H

#include "base/task.h"
#include "boot/control.h"
#include "net/net.h"
#include "remote/link/ring.h"

enum {
    WEFT_LINK_SERVERS = 32, /* most servers of a program */
    WEFT_LINK_PROCESSES = WEFT_LINK_SERVERS + 1,
    WEFT_LINK_DEVICES = 16 /* most devices of a server */
};

/* What a notice of a copy says, beside the copy's number. */
enum weft_copy_step {
    WEFT_COPY_GO,    /* to its source: begin; a callback has a number and a turn as copies do */
    WEFT_COPY_PUT,   /* to its owner, who is its target: all of it was put before this */
    WEFT_COPY_DONE,  /* to its owner: all of it is there */
    WEFT_COPY_FREE,  /* to the program: its number may be used again */
    WEFT_COPY_TAKEN, /* of no copy: so many units of records were used */
    WEFT_COPY_STEPS
};

/* A put that someone wants to hear of: begins what its cookie points to. */
struct weft_link_completion {
    uint32_t *sent; /* goes down by one when the put's source may be reused; NULL: none */
    void (*delivered)(
        struct weft_link_completion *completion); /* the put is there; NULL: no call */
};

struct weft_record_link {
    struct weft_ring_out out;
    struct weft_ring_in in;
    int host;          /* the first process of its host and user */
    uint64_t key;      /* network key of the peer's inbox */
    uint64_t inbox;    /* offset of this process's part in the peer's inbox */
    uint64_t taken;    /* bytes of records that the peer has used, as it says */
    uint32_t *notices; /* notices that found no room: a growing list */
    uint32_t first, count, capacity;
    uint32_t unsent; /* stretches of the mirror that the network still reads */
    struct weft_link_completion stretch;
};

struct weft_record_links {
    struct weft_config config;
    struct weft_control *control;
    const struct weft_transport_ops *transport;
    struct weft_net *net;
    struct weft_net_caps caps;
    struct weft_notice_kinds kinds;
    struct weft_net_device device;
    int process, processes;
    bool one_address_space;
    bool shares_memory; /* all are one user's processes of one host, joined by shm */
    unsigned char *inbox;
    size_t inbox_bytes;
    struct weft_record_link link[WEFT_LINK_PROCESSES]; /* by peer */
    uint64_t control_next; /* when to look at the control channel again */
    weft_status status;    /* not OK: the job has failed */
    int lost;              /* the process that was lost; -1: none */
    /* Whom it serves. */
    void *context;
    weft_status (*copy)(void *context, int process, enum weft_copy_step step, uint32_t number);
};

/*
 * Joins the job that config describes, which names process, processes, root and secret. device:
 * how pieces of copies are delivered, its `own` is filled in; NULL: in host memory. Then `copy` is
 * called for each notice. Blocking, collective. Errors: those of weft_control_open and of the
 * networks.
 */
weft_status weft_links_open(struct weft_record_links *links, const struct weft_config *config,
                            const struct weft_net_device *device, size_t stage_bytes);
/* Leaves the job and frees all. orderly: the others are not told that this process was lost. */
void weft_links_close(struct weft_record_links *links, bool orderly);

/* Drives the network, without blocking. *did: something moved. Returns the job's status, said
 * once. */
weft_status weft_links_progress(struct weft_record_links *links, bool *did);
/* Puts what was written into the ring to a peer. Non-blocking. */
weft_status weft_link_flush(struct weft_record_links *links, int process);
/* Tells a process something of a copy. Non-blocking; waits in a list for room. Errors: MEMORY,
 * NETWORK. */
weft_status weft_links_notify(struct weft_record_links *links, int process,
                              enum weft_copy_step step, uint32_t number);
/* Notes that the job has failed, for which the caller has said why. Returns the first such
 * status. */
weft_status weft_links_failed(struct weft_record_links *links, weft_status status);
/* Notes that the job has failed, and says why, unless it had failed before. Returns the status. */
#define weft_links_fail(links, why, ...)                                                           \
    ((links)->status != WEFT_OK ? (links)->status                                                  \
                                : weft_err(weft_links_failed(links, why), __VA_ARGS__))

/* ---- what open.c and links.c share */
/* Whether this process and a peer have rings: the program and each session do, sessions do not. */
static inline bool link_has_ring(const struct weft_record_links *links, int peer)
{
    return (links->process == 0) != (peer == 0);
}

/* Functions that the network calls: events, and notices of records and copies. */
void link_sent(void *context, void *cookie);
void link_delivered(void *context, void *cookie);
weft_status link_records(void *context, const struct weft_net_delivery *delivery);
weft_status link_copy(void *context, const struct weft_net_delivery *delivery);

#endif
