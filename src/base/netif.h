/* base/netif.h - which of this host's network interfaces WEFT_INTERFACE means. */
#ifndef WEFT_BASE_NETIF_H
#define WEFT_BASE_NETIF_H

#include <ifaddrs.h>
#include <stdbool.h>

/*
 * Whether an entry of getifaddrs is meant: an address, of a network that is up, of the interface
 * with that name, or in whose network the address `interface` lies, so that one value serves all
 * hosts. "": all but the loopback. Link-local IPv6 addresses never: they mean nothing without the
 * interface, so nobody else could use them.
 */
bool weft_netif_fits(const struct ifaddrs *entry, const char *interface);

#endif
