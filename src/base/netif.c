/* base/netif.c - see the header. Any thread. */
#include "base/netif.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

socklen_t weft_address_size(const union weft_address *address)
{
    return address->any.sa_family == AF_INET ? sizeof(address->v4) : sizeof(address->v6);
}

bool weft_address_copy(union weft_address *to, const struct sockaddr *from)
{
    if (from == NULL || (from->sa_family != AF_INET && from->sa_family != AF_INET6))
        return false;
    memset(to, 0, sizeof(*to));
    to->any.sa_family = from->sa_family;
    memcpy(to, from, weft_address_size(to));
    return true;
}

bool weft_address_is_loopback(const struct sockaddr *address)
{
    union weft_address a;

    return weft_address_copy(&a, address) &&
           (a.any.sa_family == AF_INET ? ntohl(a.v4.sin_addr.s_addr) >> 24 == 127
                                       : IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr));
}

bool weft_host_is_loopback(const char *host)
{
    const struct addrinfo hints = {
        .ai_flags = strcmp(host, "localhost") == 0 ? 0 : AI_NUMERICHOST, /* nobody is asked */
        .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    bool all = getaddrinfo(host, NULL, &hints, &list) == 0;

    for (const struct addrinfo *a = list; a != NULL; a = a->ai_next)
        all = all && weft_address_is_loopback(a->ai_addr);
    if (list != NULL)
        freeaddrinfo(list);
    return all;
}

/* The bytes of an address that count. */
static const unsigned char *number_of(const union weft_address *address, size_t *bytes)
{
    const bool v4 = address->any.sa_family == AF_INET;

    *bytes = v4 ? sizeof(address->v4.sin_addr) : sizeof(address->v6.sin6_addr);
    return v4 ? (const void *)&address->v4.sin_addr : (const void *)&address->v6.sin6_addr;
}

/* Whether `text` is an address in the network of this entry: its own, or that of another host. */
static bool in_network(const struct ifaddrs *entry, const union weft_address *own, const char *text)
{
    union weft_address mask, named = {.any.sa_family = own->any.sa_family};
    size_t bytes;
    const unsigned char *mine = number_of(own, &bytes);

    if (inet_pton(own->any.sa_family, text, (void *)number_of(&named, &bytes)) != 1 ||
        !weft_address_copy(&mask, entry->ifa_netmask) || mask.any.sa_family != own->any.sa_family)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        if (((mine[i] ^ number_of(&named, &bytes)[i]) & number_of(&mask, &bytes)[i]) != 0)
            return false;
    }
    return true;
}

bool weft_netif_fits(const struct ifaddrs *entry, const char *interface)
{
    union weft_address address;

    if ((entry->ifa_flags & IFF_UP) == 0 || !weft_address_copy(&address, entry->ifa_addr))
        return false;
    if (address.any.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&address.v6.sin6_addr))
        return false;
    if (interface[0] == 0)
        return (entry->ifa_flags & IFF_LOOPBACK) == 0;
    return strcmp(entry->ifa_name, interface) == 0 || in_network(entry, &address, interface);
}

/* One of them: `length` bytes of text. */
static bool root_parse(struct weft_root *root, const char *text, size_t length)
{
    const char *colon = memrchr(text, ':', length);
    const char *host = text;

    if (colon == NULL)
        return false;
    const char *digits = colon + 1;
    const size_t digit_count = (size_t)(text + length - digits);
    size_t host_bytes = (size_t)(colon - text);
    if (text[0] == '[') {
        if (host_bytes < 3 || text[host_bytes - 1] != ']')
            return false;
        host++;
        host_bytes -= 2;
    } else if (memchr(text, ':', host_bytes) != NULL) {
        return false; /* an IPv6 address without brackets: which colon is the port's? */
    }
    if (host_bytes == 0 || host_bytes >= sizeof(root->host) || digit_count == 0 ||
        digit_count >= sizeof(root->port) || strspn(digits, "0123456789") < digit_count)
        return false;
    const long port = strtol(digits, NULL, 10);
    if (port < 1 || port > 65535)
        return false;
    *root = (struct weft_root){0};
    memcpy(root->host, host, host_bytes);
    memcpy(root->port, digits, digit_count);
    return true;
}

int weft_roots_parse(struct weft_root roots[WEFT_ROOTS_MAX], const char *text)
{
    int count = 0;

    for (;;) {
        const size_t length = strcspn(text, ",");
        if (count == WEFT_ROOTS_MAX || !root_parse(&roots[count], text, length))
            return 0;
        count++;
        if (text[length] == 0)
            return count;
        text += length + 1;
    }
}
