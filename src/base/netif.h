/*
 * base/netif.h - network addresses: which of this host's interfaces WEFT_INTERFACE means, and the
 * addresses in WEFT_ROOT.
 */
#ifndef WEFT_BASE_NETIF_H
#define WEFT_BASE_NETIF_H

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

union weft_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Bytes of its family's form. */
socklen_t weft_address_size(const union weft_address *address);
/* False: `from` is NULL, or neither IPv4 nor IPv6. */
bool weft_address_copy(union weft_address *to, const struct sockaddr *from);
bool weft_address_is_loopback(const struct sockaddr *address); /* NULL, another family: no */
/* Whether a text names this host itself: a loopback address, or "localhost". Asks nobody. */
bool weft_host_is_loopback(const char *host);

/*
 * Whether an entry of getifaddrs is meant. It has an address, its network is up, and `interface` is
 * its name or an address in that network, so that one value serves all hosts. "": all but the
 * loopback. Link-local IPv6 addresses never are: they mean nothing without the interface, so nobody
 * else could use them.
 */
bool weft_netif_fits(const struct ifaddrs *entry, const char *interface);

#define WEFT_ROOT_BYTES 128 /* bytes of WEFT_ROOT with its end, as in settings.def */
#define WEFT_ROOTS_MAX  8

/* Where process 0 listens, taken apart. */
struct weft_root {
    char host[WEFT_ROOT_BYTES];
    char port[6];
};

/*
 * Takes apart HOST:PORT, or [HOST]:PORT for IPv6; several, to be tried in turn, with commas
 * between. Returns how many; 0, in silence, if one is malformed or they are too many.
 */
int weft_roots_parse(struct weft_root roots[WEFT_ROOTS_MAX], const char *text);

#endif
