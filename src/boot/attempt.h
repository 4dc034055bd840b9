/*
 * boot/attempt.h - how a process gets in at the root, which may come late, at one of several
 * addresses, and be slow to answer. An attempt that has said hello goes on when the next address is
 * tried as well: the root may have let this process in by it and have had no processor yet to say
 * so, and a process that ends its connection then is lost. By its identity the root knows that the
 * others are of the same process.
 */
#ifndef WEFT_BOOT_ATTEMPT_H
#define WEFT_BOOT_ATTEMPT_H

#include "base/config.h"
#include "base/netif.h"
#include "boot/frame.h"

struct weft_attempts {
    const struct weft_config *config;
    uint64_t identity;
    const struct weft_root *roots;
    int count;
    int newest;         /* of which root the last attempt is; -1: none yet */
    uint64_t patience;  /* when the next root is tried, too */
    int hopeless;       /* roots of this round that this host keeps from being reached, for good */
    const char *reason; /* why the last attempt failed */
    struct weft_attempt {
        int fd; /* -1: there is none, or it has ended */
        struct weft_stream stream;
    } of[WEFT_ROOTS_MAX];
};

/* No attempts yet. *config and the roots stay the caller's, in place. */
void weft_attempts_open(struct weft_attempts *attempts, const struct weft_config *config,
                        const struct weft_root *roots, int count, uint64_t identity);

/*
 * Tries the next root if it is time, else waits for answers: at most 0.1 s, and 2 s for a root that
 * cannot be connected to. *fd and *stream: the connection that was welcomed, or *fd -1: none so
 * far. Errors: of a refusal; PROTOCOL; SYSTEM: no root can be reached, now and later.
 */
weft_status weft_attempts_turn(struct weft_attempts *attempts, uint64_t deadline, int *fd,
                               struct weft_stream *stream);

/* Ends those that were not welcomed. True: there is one that was neither answered nor ended. */
bool weft_attempts_close(struct weft_attempts *attempts);

#endif
