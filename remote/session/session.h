/*
 * remote/session/session.h - one program's part of a server: it executes the program's records with
 * the server's driver, or a fake one, and answers.
 *
 * One thread does everything, in a loop that never waits for the GPU: a call that has to wait is an
 * entry in a list, with events that the loop asks for. Nothing that comes from the program is
 * believed: numbers, lengths, handles and addresses are checked, and a wrong one ends the session.
 */
#ifndef WEFT_REMOTE_SESSION_SESSION_H
#define WEFT_REMOTE_SESSION_SESSION_H

#include "remote/copy/source.h"
#include "remote/session/arena.h"
#include "remote/session/handle.h"

/* What a server lets one program have. */
struct weft_session_limits {
    uint64_t memory;    /* bytes on each device; 0: all of it */
    const int *devices; /* the driver's numbers of these, at most WEFT_LINK_DEVICES */
    int device_count;
    uint64_t idle_ns;  /* how long the program may ask for nothing; 0: for ever */
    bool ends_process; /* what uses this process's driver ends with the session */
    const int *output; /* files that this process's stdout and stderr are; NULL: they stay */
};

/*
 * Serves the program that config's root names until it leaves or is lost. Blocking. Errors: those
 * of weft_links_open; PEER_LOST: the program is gone; PROTOCOL: it sent what makes no sense; LIMIT.
 */
weft_status weft_session_serve(const struct weft_config *config,
                               const struct weft_cuda_table *table,
                               const struct weft_session_limits *limits);

#endif
