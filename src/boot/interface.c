/*
 * boot/interface.c - the root's socket and the addresses under which others find it.
 *
 * A host often has addresses that others cannot reach (bridges of containers, service networks),
 * and from here they look like any other. So all are advertised, IPv4 first, and members try each
 * in turn; WEFT_INTERFACE leaves only the right one.
 */
#include "boot/interface.h"

#include "base/say.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t size_of(const union address *address)
{
    return address->any.sa_family == AF_INET ? sizeof(address->v4) : sizeof(address->v6);
}

static const char *text_of(const union address *address, char text[INET6_ADDRSTRLEN])
{
    const void *number = address->any.sa_family == AF_INET ? (const void *)&address->v4.sin_addr
                                                           : (const void *)&address->v6.sin6_addr;
    return inet_ntop(address->any.sa_family, number, text, INET6_ADDRSTRLEN);
}

/* ---- which addresses ------------------------------------------------------------------------- */

/*
 * Whether an address is one to advertise. Addresses of a single link need the other side's name of
 * the interface: nobody else could use them.
 */
static bool fits(const struct ifaddrs *entry, const char *interface)
{
    char text[INET6_ADDRSTRLEN];
    union address address;

    if (entry->ifa_addr == NULL || (entry->ifa_flags & IFF_UP) == 0 ||
        (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6))
        return false;
    memset(&address, 0, sizeof(address));
    address.any.sa_family = entry->ifa_addr->sa_family;
    memcpy(&address, entry->ifa_addr, size_of(&address));
    if (address.any.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&address.v6.sin6_addr))
        return false;
    if (interface[0] == 0)
        return (entry->ifa_flags & IFF_LOOPBACK) == 0;
    return strcmp(entry->ifa_name, interface) == 0 ||
           strcmp(text_of(&address, text), interface) == 0;
}

/* Appends ",HOST:PORT"; false if it does not fit. */
static bool append(char root[WEFT_ROOT_BYTES], const char *host, int port)
{
    const size_t have = strlen(root);
    const bool v6 = strchr(host, ':') != NULL;
    const int length = snprintf(root + have, WEFT_ROOT_BYTES - have, "%s%s%s%s:%d",
                                have > 0 ? "," : "", v6 ? "[" : "", host, v6 ? "]" : "", port);

    if (have + (size_t)length < WEFT_ROOT_BYTES)
        return true;
    root[have] = 0;
    return false;
}

/* All that fit, IPv4 first; *first is the first of them. How many. */
static int advertise(char root[WEFT_ROOT_BYTES], union address *first, const struct ifaddrs *list,
                     const char *interface, int port)
{
    static const int families[] = {AF_INET, AF_INET6};
    char text[INET6_ADDRSTRLEN];
    int count = 0;

    root[0] = 0;
    for (int f = 0; f < 2; f++) {
        for (const struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next) {
            union address address = {.any.sa_family = (sa_family_t)families[f]};
            if (!fits(entry, interface) || entry->ifa_addr->sa_family != families[f])
                continue;
            memcpy(&address, entry->ifa_addr, size_of(&address));
            if (!append(root, text_of(&address, text), port))
                return count;
            if (count++ == 0)
                *first = address;
        }
    }
    return count;
}

/* ---- the socket ------------------------------------------------------------------------------ */

static int listen_at(union address *address, int *port)
{
    const int off = 0;
    socklen_t size = size_of(address);
    const int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    /* Where "any" is meant, both families are. */
    if (address->any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, &address->any, size) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, &address->any, &size) != 0) {
        const int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    *port = ntohs(address->any.sa_family == AF_INET ? address->v4.sin_port : address->v6.sin6_port);
    return fd;
}

/* On every address of the host; a host may have no IPv6. */
static int listen_everywhere(int *port)
{
    union address any = {.v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT}};
    const int fd = listen_at(&any, port);

    if (fd >= 0)
        return fd;
    any = (union address){.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)}};
    return listen_at(&any, port);
}

static weft_status listen_on_host(int *fd, char root[WEFT_ROOT_BYTES])
{
    union address loopback = {
        .v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    int port;

    *fd = listen_at(&loopback, &port);
    if (*fd < 0)
        return weft_err(WEFT_ERR_SYSTEM, "cannot listen on the loopback interface: %s",
                        strerror(errno));
    snprintf(root, WEFT_ROOT_BYTES, "127.0.0.1:%d", port);
    return WEFT_OK;
}

static weft_status listen_on_network(int *fd, char root[WEFT_ROOT_BYTES],
                                     const struct ifaddrs *list, const char *interface)
{
    union address first;
    int port = 0;

    if (advertise(root, &first, list, interface, 65535) == 0)
        return interface[0] != 0
                   ? weft_err(WEFT_ERR_CONFIG,
                              "WEFT_INTERFACE=%s: no interface or address of this host that is up",
                              interface)
                   : weft_err(WEFT_ERR_SYSTEM, "no interface but the loopback one has an address "
                                               "that another host could reach");
    *fd = interface[0] != 0 ? listen_at(&first, &port) : listen_everywhere(&port);
    if (*fd < 0)
        return weft_err(WEFT_ERR_SYSTEM, "process 0 cannot listen at %s: %s",
                        interface[0] != 0 ? interface : "any address", strerror(errno));
    /* A named interface listens at its first address alone. */
    advertise(root, &first, list, interface, port);
    if (interface[0] != 0)
        root[strcspn(root, ",")] = 0;
    return WEFT_OK;
}

weft_status weft_interface_listen(int *fd, char root[WEFT_ROOT_BYTES], const char *interface,
                                  enum weft_reach reach)
{
    struct ifaddrs *list;
    char text[WEFT_ROOT_BYTES];
    int socket = -1;

    if (reach == WEFT_REACH_HOST) {
        weft_status status = listen_on_host(&socket, text);
        if (status != WEFT_OK)
            return status;
    } else {
        if (getifaddrs(&list) != 0)
            return weft_err(WEFT_ERR_SYSTEM, "this host's addresses: %s", strerror(errno));
        weft_status status = listen_on_network(&socket, text, list, interface);
        freeifaddrs(list);
        if (status != WEFT_OK)
            return status;
    }
    *fd = socket;
    memcpy(root, text, WEFT_ROOT_BYTES);
    return WEFT_OK;
}
