/*
 * boot/interface.c - the root's socket, the addresses under which others find it, and the secret.
 *
 * Some addresses others cannot reach (bridges of containers, service networks), and from here they
 * look like any other. So all are advertised, IPv4 first, and members try each in turn.
 */
#include "boot/interface.h"

#include "base/say.h"
#include "boot/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static const char *text_of(const union weft_address *address, char text[INET6_ADDRSTRLEN])
{
    const void *number = address->any.sa_family == AF_INET ? (const void *)&address->v4.sin_addr
                                                           : (const void *)&address->v6.sin6_addr;
    return inet_ntop(address->any.sa_family, number, text, INET6_ADDRSTRLEN);
}

/* ---- which addresses ------------------------------------------------------------------------- */

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

/* Writes all addresses that fit, IPv4 first; *first is the first of them, or the one that was
 * named. Returns how many. */
static int advertise(char root[WEFT_ROOT_BYTES], union weft_address *first,
                     const struct ifaddrs *list, const char *interface, int port)
{
    static const int families[] = {AF_INET, AF_INET6};
    char text[INET6_ADDRSTRLEN];
    int count = 0;

    root[0] = 0;
    for (int f = 0; f < 2; f++) {
        for (const struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next) {
            union weft_address address;
            if (!weft_netif_fits(entry, interface) ||
                !weft_address_copy(&address, entry->ifa_addr) ||
                address.any.sa_family != families[f])
                continue;
            if (count == WEFT_ROOTS_MAX || !append(root, text_of(&address, text), port))
                return count;
            if (count++ == 0 || strcmp(text, interface) == 0)
                *first = address;
        }
    }
    return count;
}

/* ---- the socket ------------------------------------------------------------------------------ */

static int listen_at(union weft_address *address, int *port)
{
    socklen_t size = weft_address_size(address);
    const int fd = weft_socket_listen_at(&address->any, size);

    if (fd < 0 || getsockname(fd, &address->any, &size) != 0)
        return -1; /* a socket that listens has a name */
    *port = ntohs(address->any.sa_family == AF_INET ? address->v4.sin_port : address->v6.sin6_port);
    return fd;
}

/* Returns a socket that listens on every address of the host, which may have no IPv6; -1: errno. */
static int listen_everywhere(int *port)
{
    union weft_address any = {.v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT}};
    const int fd = listen_at(&any, port);

    if (fd >= 0)
        return fd;
    any = (union weft_address){.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)}};
    return listen_at(&any, port);
}

static weft_status listen_on_host(int *fd, char root[WEFT_ROOT_BYTES])
{
    union weft_address loopback = {
        .v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    int port;

    *fd = listen_at(&loopback, &port);
    if (*fd < 0)
        return weft_err(WEFT_ERR_SYSTEM, "cannot listen on the loopback interface: %s",
                        strerror(errno));
    snprintf(root, WEFT_ROOT_BYTES, "127.0.0.1:%d", port);
    const weft_status status = weft_socket_try(*fd);
    if (status != WEFT_OK)
        close(*fd);
    return status;
}

static weft_status listen_on_network(int *fd, char root[WEFT_ROOT_BYTES],
                                     const struct ifaddrs *list, const char *interface)
{
    char text[INET6_ADDRSTRLEN];
    union weft_address first;
    int port;

    if (advertise(root, &first, list, interface, 1) == 0)
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
    if (interface[0] == 0) {
        advertise(root, &first, list, interface, port);
        return WEFT_OK;
    }
    root[0] = 0; /* a named one listens at one address alone, which fits */
    (void)append(root, text_of(&first, text), port);
    return WEFT_OK;
}

weft_status weft_interface_listen(int *fd, char root[WEFT_ROOT_BYTES], const char *interface,
                                  enum weft_reach reach)
{
    struct ifaddrs *list;

    if (reach == WEFT_REACH_HOST)
        return listen_on_host(fd, root);
    if (getifaddrs(&list) != 0)
        return weft_err(WEFT_ERR_SYSTEM, "this host's addresses: %s", strerror(errno));
    weft_status status = listen_on_network(fd, root, list, interface);
    freeifaddrs(list);
    return status;
}

weft_status weft_secret_make(char secret[WEFT_SECRET_BYTES])
{
    unsigned char word[16];

    if (getrandom(word, sizeof(word), 0) != (ssize_t)sizeof(word))
        return weft_err(WEFT_ERR_SYSTEM, "no random numbers for a secret: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(word); i++)
        snprintf(secret + 2 * i, 3, "%02x", word[i]);
    return WEFT_OK;
}
