/*
 * net/ofi/where.c - which of a host's addresses to use. Opening thread only.
 *
 * A host has several interfaces, and the first that a provider lists may lead nowhere. Where the
 * user names none it is the one on the way to the job's root: that one reaches at least one other
 * host of the job.
 */
#include "net/ofi/inside.h"

#include <netdb.h>
#include <unistd.h>

bool weft_ofi_same_host_address(const struct sockaddr *a, const struct sockaddr *b)
{
    union weft_address x, y;

    if (!weft_address_copy(&x, a) || !weft_address_copy(&y, b) ||
        x.any.sa_family != y.any.sa_family)
        return false;
    return x.any.sa_family == AF_INET ? x.v4.sin_addr.s_addr == y.v4.sin_addr.s_addr
                                      : IN6_ARE_ADDR_EQUAL(&x.v6.sin6_addr, &y.v6.sin6_addr);
}

/* The address of the interface that is meant: IPv4 if it has one. */
static bool of_interface(const char *interface, union weft_address *address)
{
    struct ifaddrs *list;
    bool found = false;

    if (getifaddrs(&list) != 0)
        return false;
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next)
        if (weft_netif_fits(i, interface) &&
            (!found || (address->any.sa_family != AF_INET && i->ifa_addr->sa_family == AF_INET)))
            found = weft_address_copy(address, i->ifa_addr);
    freeifaddrs(list);
    return found;
}

/* The address from which the kernel would send there. */
static bool towards(const char *host, const char *port, union weft_address *address)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *list;
    bool found = false;

    if (getaddrinfo(host, port, &hints, &list) != 0)
        return false;
    for (const struct addrinfo *a = list; a != NULL && !found; a = a->ai_next) {
        socklen_t size = sizeof(*address);
        const int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        found = connect(fd, a->ai_addr, a->ai_addrlen) == 0 &&
                getsockname(fd, &address->any, &size) == 0 && size <= sizeof(*address);
        close(fd);
    }
    freeaddrinfo(list);
    return found;
}

/* The root may have several addresses; the first to which there is a way that is no loopback. */
static bool towards_root(const char *root, union weft_address *address)
{
    struct weft_root roots[WEFT_ROOTS_MAX];
    const int count = weft_roots_parse(roots, root);
    bool found = false;

    for (int i = 0; i < count && (!found || weft_address_is_loopback(&address->any)); i++)
        found = towards(roots[i].host, roots[i].port, address);
    return found;
}

bool weft_ofi_local_address(const struct weft_net_open *open, union weft_address *address)
{
    const char *interface = open->config->interface;

    if (interface[0] != 0)
        return of_interface(interface, address);
    if (!towards_root(open->config->root, address)) {
        *address = (union weft_address){
            .v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
        return open->one_host;
    }
    /* A host's own name often means its loopback, which nobody else reaches. */
    return open->one_host || !weft_address_is_loopback(&address->any);
}
