/*
 * net/ofi/where.c - which of a host's addresses to use.
 *
 * A host has several interfaces, and the first that a provider lists may lead nowhere. Where the
 * user names none it is the one on the way to the job's root: that one reaches at least one other
 * host of the job.
 */
#include "net/ofi/inside.h"

#include "base/netif.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static size_t size_of(const struct sockaddr *address)
{
    return address->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
           : address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                            : 0;
}

bool weft_ofi_same_host_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

bool weft_ofi_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 ==
               127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* The address of the interface that is meant: IPv4 if it has one. */
static bool of_interface(const char *interface, struct sockaddr *address, size_t bytes)
{
    struct ifaddrs *list;
    bool found = false;

    if (getifaddrs(&list) != 0)
        return false;
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        const size_t size = i->ifa_addr == NULL ? 0 : size_of(i->ifa_addr);
        if (size == 0 || size > bytes || !weft_netif_fits(i, interface))
            continue;
        if (found && i->ifa_addr->sa_family != AF_INET)
            continue;
        memcpy(address, i->ifa_addr, size);
        found = true;
        if (address->sa_family == AF_INET)
            break;
    }
    freeifaddrs(list);
    return found;
}

static bool of_text(const char *text, struct sockaddr *address, size_t bytes)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *list;
    bool found = false;

    if (getaddrinfo(text, NULL, &hints, &list) != 0)
        return false;
    if (list->ai_addrlen <= bytes) {
        memcpy(address, list->ai_addr, list->ai_addrlen);
        found = true;
    }
    freeaddrinfo(list);
    return found;
}

/* The address from which the kernel would send there. */
static bool towards(const char *host, const char *port, struct sockaddr *address, size_t bytes)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *list;
    socklen_t size = (socklen_t)bytes;
    bool found = false;

    if (getaddrinfo(host, port, &hints, &list) != 0)
        return false;
    for (const struct addrinfo *a = list; a != NULL && !found; a = a->ai_next) {
        const int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        found = connect(fd, a->ai_addr, a->ai_addrlen) == 0 &&
                getsockname(fd, address, &size) == 0 && size <= bytes;
        close(fd);
    }
    freeaddrinfo(list);
    return found;
}

/* HOST:PORT or [HOST]:PORT. */
static bool towards_one(char *text, struct sockaddr *address, size_t bytes)
{
    char *host = text, *colon = strrchr(text, ':');

    if (colon == NULL)
        return false;
    *colon = 0;
    if (*host == '[' && colon > text + 1 && colon[-1] == ']') {
        colon[-1] = 0;
        host++;
    }
    return towards(host, colon + 1, address, bytes);
}

/* The root may have several addresses; the first to which there is a way that is no loopback. */
static bool towards_root(const char *root, struct sockaddr *address, size_t bytes)
{
    char text[sizeof(((struct weft_config *)0)->root)];
    bool found = false;

    snprintf(text, sizeof(text), "%s", root);
    for (char *rest = text, *one; (one = strsep(&rest, ",")) != NULL;) {
        found = towards_one(one, address, bytes);
        if (found && !weft_ofi_is_loopback(address))
            break;
    }
    return found;
}

bool weft_ofi_local_address(const struct weft_net_open *open, struct sockaddr *address,
                            size_t bytes)
{
    const char *interface = open->config->interface;

    if (interface[0] != 0)
        return of_interface(interface, address, bytes);
    if (!towards_root(open->config->root, address, bytes))
        return open->one_host && of_text("127.0.0.1", address, bytes);
    /* A host's own name often means its loopback, which nobody else reaches. */
    return open->one_host || !weft_ofi_is_loopback(address);
}
