/*
 * boot/listener.h - accepts connections and lets in processes that say the right hello in time.
 * Strangers, however many and noisy, cost nothing but their own connections. The hub's task alone
 * uses it; no call blocks.
 */
#ifndef WEFT_BOOT_LISTENER_H
#define WEFT_BOOT_LISTENER_H

#include "boot/frame.h"

#include <poll.h>

enum { WEFT_LISTENER_STRANGERS = 64, WEFT_LISTENER_SOCKETS = 1 + WEFT_LISTENER_STRANGERS };

struct weft_stranger {
    int fd; /* -1: this place is free */
    uint64_t deadline;
    size_t have;
    unsigned char hello[WEFT_HELLO_BYTES];
};

/* Called when a process has said the right hello: takes over fd, or returns why not. May shut the
 * listener. */
typedef enum weft_refusal weft_enter(void *context, const struct weft_hello *hello, int fd);

struct weft_listener {
    const struct weft_hello *expected;
    int fd;               /* -1: the listener is shut */
    int silence_s;        /* seconds of silence after which a connection ends */
    uint64_t accept_from; /* when to accept again */
    int error;            /* errno for which the last accept let nobody in; 0: none */
    bool barred;          /* the system will never let it accept */
    int refused;
    struct weft_stranger strangers[WEFT_LISTENER_STRANGERS];
    weft_enter *enter;
    void *context;
};

/* Begins to listen with fd, which it takes over. *expected stays the caller's, in place. */
void weft_listener_open(struct weft_listener *listener, int fd, const struct weft_hello *expected,
                        int silence_s, weft_enter *enter, void *context);

/* Lets nobody in any more; those who have not said their hello are sent away. */
void weft_listener_shut(struct weft_listener *listener);

/* watch fills WEFT_LISTENER_SOCKETS entries for poll; serve, after poll, does what is to be
 * done. */
void weft_listener_watch(const struct weft_listener *listener, struct pollfd *polled);
void weft_listener_serve(struct weft_listener *listener, const struct pollfd *polled);

#endif
