/*
 * boot/socket.h - TCP for the control channel: the root's address, listening, connecting, and
 * sockets that notice a silent host. All sockets close on exec.
 */
#ifndef WEFT_BOOT_SOCKET_H
#define WEFT_BOOT_SOCKET_H

#include "base/netif.h"
#include "boot/frame.h"

#include <sys/types.h>

#define WEFT_SOCKET_NAME 64 /* bytes that hold any peer's numeric address and port */

/* Returns a non-blocking socket that listens at an address, of both families where it is any; -1
 * with errno. */
int weft_socket_listen_at(const struct sockaddr *address, socklen_t size);
/* Makes a non-blocking socket that listens at the root's own address. Errors: SYSTEM. */
weft_status weft_socket_listen(int *fd, const struct weft_root *root);
/* Checks that who connects to a loopback address comes through. SYSTEM: that interface is down. */
weft_status weft_socket_try(int listener);

/* Makes a non-blocking copy of an inherited listening socket, which itself stays open for a later
 * weft_open. Errors: CONFIG. */
weft_status weft_socket_inherit(int *fd, int inherited);

/* Attempts each address of the root once, until the deadline. Returns a blocking socket, or -1 with
 * *reason a text and errno, 0 if the name has no address. Silent: the root may come later. */
int weft_socket_connect(const struct weft_root *root, uint64_t deadline, const char **reason);

/* Has small frames sent without delay, and a host given up that is silent for silence_s, or a
 * second more. */
void weft_socket_tune(int fd, int silence_s);

/* Whether a tuned socket's host has been silent for silence_s: its connection is about to end. */
bool weft_socket_silent(int fd, int silence_s);

/* Sends all bytes, blocking. False with errno if the connection has ended. */
bool weft_socket_send(int fd, const void *data, size_t bytes);

/* Returns the time to a deadline for poll: rounded up, in steps of at most a minute. */
int weft_socket_milliseconds(uint64_t deadline);
/*
 * Polls fd for events, also through signals: false when the deadline came first, or `wake`, another
 * descriptor (-1: none), was readable first.
 */
bool weft_socket_await(int fd, short events, int wake, uint64_t deadline);

/* Receives what is there, without blocking. Returns bytes, 0 at the end, or -1 with errno. */
ssize_t weft_socket_receive(int fd, struct weft_stream *stream);

/* Writes the peer's address and port, as text. */
void weft_socket_peer(int fd, char name[WEFT_SOCKET_NAME]);

#endif
