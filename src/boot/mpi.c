/*
 * boot/mpi.c - see the header.
 *
 * MPI knows who is who. It carries two things once, from all to all: where each process runs, then
 * where process 0 listens and the secret of the job. All else is the control channel's.
 */
#include "boot/mpi.h"

#include "base/say.h"
#include "boot/local.h"
#include "boot/socket.h"
#include "mpi/library.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SECRET_BYTES = 16, HOST_BYTES = 72, ROOT_BYTES = 128 };

/* What process 0 tells. */
struct invitation {
    char root[ROOT_BYTES]; /* empty: it could not listen */
    char secret[2 * SECRET_BYTES + 1];
};

/* What was found out the first time. */
static struct {
    bool known;
    int process, processes, root_fd;
    struct invitation invitation;
} place = {.root_fd = -1};

/* ---- from all to all --------------------------------------------------------------------------
 */

static weft_status gather(const struct weft_mpi_library *library, const struct weft_config *config,
                          const void *mine, size_t bytes, void *all)
{
    struct weft_mpi_handle request;
    const int error = library->ops->allgather(&library->comm, mine, bytes, all, &request);

    if (error != 0)
        return weft_mpi_failed(library->ops, error, "MPI_Iallgather");
    return weft_mpi_await(library->ops, &request, config->connect_s, "weft_open");
}

static weft_status on_one_host(const struct weft_mpi_library *library,
                               const struct weft_config *config, bool *one)
{
    char mine[HOST_BYTES] = "", *all = calloc((size_t)library->size, HOST_BYTES);

    if (all == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %d hosts", library->size);
    if (gethostname(mine, sizeof(mine) - 1) != 0) {
        free(all);
        return weft_err(WEFT_ERR_SYSTEM, "gethostname: %s", strerror(errno));
    }
    weft_status status = gather(library, config, mine, sizeof(mine), all);
    *one = true;
    for (int p = 0; status == WEFT_OK && p < library->size; p++)
        *one &= memcmp(all + (size_t)p * HOST_BYTES, mine, HOST_BYTES) == 0;
    free(all);
    return status;
}

/* ---- process 0 --------------------------------------------------------------------------------
 */

static bool usable(const struct ifaddrs *i, int family)
{
    if (i->ifa_addr == NULL || i->ifa_addr->sa_family != family || !(i->ifa_flags & IFF_UP) ||
        (i->ifa_flags & IFF_LOOPBACK))
        return false;
    return family != AF_INET6 ||
           !IN6_IS_ADDR_LINKLOCAL(
               &((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr);
}

/* The first address by which other hosts may reach this one, IPv4 before IPv6. */
static bool own_address(char host[WEFT_SECRET_BYTES])
{
    static const int families[] = {AF_INET, AF_INET6};
    struct ifaddrs *list;
    bool found = false;

    if (getifaddrs(&list) != 0)
        return false;
    for (int f = 0; f < 2 && !found; f++)
        for (const struct ifaddrs *i = list; i != NULL && !found; i = i->ifa_next) {
            const void *a = i->ifa_addr;
            if (usable(i, families[f]))
                found = inet_ntop(families[f],
                                  f == 0 ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
                                         : &((const struct sockaddr_in6 *)a)->sin6_addr,
                                  host, WEFT_SECRET_BYTES) != NULL;
        }
    freeifaddrs(list);
    return found;
}

static weft_status make_secret(char secret[2 * SECRET_BYTES + 1])
{
    unsigned char bytes[SECRET_BYTES];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return weft_err(WEFT_ERR_SYSTEM, "getrandom: %s", strerror(errno));
    for (int i = 0; i < SECRET_BYTES; i++)
        snprintf(secret + 2 * (size_t)i, 3, "%02x", bytes[i]);
    return WEFT_OK;
}

/* The port that the system gave. */
static int port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address = {.six = {.sin6_family = AF_UNSPEC}};
    socklen_t bytes = sizeof(address);

    if (getsockname(fd, &address.any, &bytes) != 0)
        return -1;
    return ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
}

/* Listens where WEFT_ROOT says, or where all can reach it. */
static weft_status invite(const struct weft_config *config, bool one_host,
                          struct invitation *invitation)
{
    struct weft_root root = {.host = "127.0.0.1", .port = "0"};

    if (config->root[0] != 0 && !weft_root_parse(&root, config->root))
        return weft_err(WEFT_ERR_CONFIG, "WEFT_ROOT is \"%s\", not HOST:PORT", config->root);
    if (config->root[0] == 0 && !one_host && !own_address(root.host))
        return weft_err(WEFT_ERR_SYSTEM,
                        "no address by which other hosts reach this one; WEFT_ROOT=HOST:PORT gives "
                        "one");
    int fd = -1;
    weft_status status = weft_socket_listen(&fd, &root);
    if (status != WEFT_OK)
        return status;
    place.root_fd = fd; /* kept for later jobs of this process */
    const bool six = strchr(root.host, ':') != NULL;
    snprintf(invitation->root, sizeof(invitation->root), "%s%.100s%s:%d", six ? "[" : "", root.host,
             six ? "]" : "", port_of(fd));
    return make_secret(invitation->secret);
}

/* ---- all --------------------------------------------------------------------------------------
 */

static weft_status find_place(const struct weft_mpi_library *library,
                              const struct weft_config *config)
{
    struct invitation mine = {0}, *all = calloc((size_t)library->size, sizeof(*all));
    bool one_host = false;

    if (all == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %d processes", library->size);
    weft_status status = on_one_host(library, config, &one_host);
    /* Process 0 tells the others also when it has failed. */
    weft_status invited = WEFT_OK;
    if (status == WEFT_OK && library->rank == 0)
        invited = invite(config, one_host, &mine);
    if (invited != WEFT_OK)
        mine.root[0] = 0;
    if (status == WEFT_OK)
        status = gather(library, config, &mine, sizeof(mine), all);
    if (invited != WEFT_OK)
        status = invited;
    if (status == WEFT_OK && all[0].root[0] == 0)
        status = weft_err(WEFT_ERR_PEER_LOST, "process 0 could not open the job's control channel");
    if (status == WEFT_OK) {
        place.process = library->rank;
        place.processes = library->size;
        place.invitation = all[0];
        place.known = true;
    }
    free(all);
    return status;
}

weft_status weft_boot_mpi(struct weft_config *config)
{
    const struct weft_mpi_library *library;
    int size;

    if (config->process >= 0 || weft_local_here() || !weft_mpi_launched(&size) || size == 1)
        return WEFT_OK;
    weft_status status = weft_mpi_start(&library, config);
    if (status == WEFT_OK && library->size == 1)
        return WEFT_OK;
    if (status == WEFT_OK)
        weft_say_process(library->rank);
    if (status == WEFT_OK && !place.known)
        status = find_place(library, config);
    if (status != WEFT_OK)
        return status;
    config->process = place.process;
    config->processes = place.processes;
    config->root_fd = place.root_fd;
    snprintf(config->root, sizeof(config->root), "%s", place.invitation.root);
    snprintf(config->secret, sizeof(config->secret), "%s", place.invitation.secret);
    return WEFT_OK;
}
