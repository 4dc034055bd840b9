/* boot/socket.c - TCP for the control channel. Any thread calls it; a socket is its caller's. */
#include "boot/socket.h"

#include "base/say.h"
#include "base/task.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * A silent host is probed after 2 s, then every second. Where the kernel lets it, what gets no
 * answer is sent again at least every second, so that the end of an outage is soon known.
 */
enum { PROBE_AFTER_S = 2, PROBE_EVERY_S = 1, PROBES_MOST = 127, AGAIN_MS = 1000 };
#ifndef TCP_RTO_MAX_MS /* Linux 6.15 */
#define TCP_RTO_MAX_MS 44
#endif

int weft_socket_milliseconds(uint64_t deadline)
{
    const uint64_t now = weft_now_ns();
    const uint64_t left = deadline > now ? (deadline - now + 999999) / 1000000 : 0;
    return left > 60000 ? 60000 : (int)left;
}

bool weft_socket_await(int fd, short events, int wake, uint64_t deadline)
{
    struct pollfd polled[2] = {{.fd = fd, .events = events}, {.fd = wake, .events = POLLIN}};

    for (;;) {
        if (poll(polled, 2, weft_socket_milliseconds(deadline)) > 0)
            return polled[0].revents != 0;
        if (weft_now_ns() >= deadline)
            return false;
    }
}

static bool set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

void weft_socket_tune(int fd, int silence_s)
{
    const int probes = silence_s > PROBE_AFTER_S ? silence_s - PROBE_AFTER_S : 1;

    if (!set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1) ||
        !set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1) ||
        !set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, PROBE_AFTER_S) ||
        !set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, PROBE_EVERY_S) ||
        !set_option(fd, IPPROTO_TCP, TCP_KEEPCNT,
                    probes < PROBES_MOST ? probes : PROBES_MOST) || /* the time-out decides */
        !set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, silence_s * 1000))
        weft_say(WEFT_SAY_WARN, "socket options: %s; a silent host may go unnoticed",
                 strerror(errno));
    (void)set_option(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, AGAIN_MS);
}

bool weft_socket_silent(int fd, int silence_s)
{
    const uint32_t silence_ms = (uint32_t)silence_s * 1000;
    struct tcp_info info;
    socklen_t size = sizeof(info);

    /* A healthy one answers every probe. */
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_last_ack_recv >= silence_ms && info.tcpi_last_data_recv >= silence_ms;
}

static int resolve(const struct weft_root *root, struct addrinfo **list)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

    return getaddrinfo(root->host, root->port, &hints, list);
}

int weft_socket_listen_at(const struct sockaddr *address, socklen_t size)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    /* Where "any" is meant, both families are. */
    if (address->sa_family == AF_INET6)
        (void)set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) && bind(fd, address, size) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

weft_status weft_socket_listen(int *fd, const struct weft_root *root)
{
    struct addrinfo *list;
    const int fault = resolve(root, &list);
    int listener = -1;

    if (fault != 0)
        return weft_err(WEFT_ERR_SYSTEM, "host %s: %s", root->host, gai_strerror(fault));
    for (const struct addrinfo *a = list; a != NULL && listener < 0; a = a->ai_next)
        listener = weft_socket_listen_at(a->ai_addr, a->ai_addrlen);
    const int error = errno;
    freeaddrinfo(list);
    if (listener < 0)
        return weft_err(WEFT_ERR_SYSTEM, "cannot listen at %s port %s: %s", root->host, root->port,
                        strerror(error));
    const weft_status status = weft_socket_try(listener);
    if (status == WEFT_OK)
        *fd = listener;
    else
        close(listener);
    return status;
}

weft_status weft_socket_inherit(int *fd, int inherited)
{
    int listening = 0;
    socklen_t size = sizeof(listening);

    if (getsockopt(inherited, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || !listening)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_ROOT_FD %d is not a listening socket", inherited);
    int copy = fcntl(inherited, F_DUPFD_CLOEXEC, 0);
    if (copy < 0 || fcntl(inherited, F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(inherited, F_SETFL, O_NONBLOCK) != 0) {
        weft_status status =
            weft_err(WEFT_ERR_CONFIG, "WEFT_ROOT_FD %d: %s", inherited, strerror(errno));
        if (copy >= 0)
            close(copy);
        return status;
    }
    *fd = copy;
    return WEFT_OK;
}

/* Whether TCP has connected a socket to itself, as it may where nobody listens at a port of the
 * ephemeral range; that would keep the root from binding it. */
static bool connected_to_itself(int fd)
{
    struct sockaddr_storage mine = {0}, theirs = {0};
    socklen_t size = sizeof(mine), other_size = sizeof(theirs);

    return getsockname(fd, (struct sockaddr *)&mine, &size) == 0 &&
           getpeername(fd, (struct sockaddr *)&theirs, &other_size) == 0 && size == other_size &&
           memcmp(&mine, &theirs, size) == 0;
}

/* Connects to one address, until the deadline; returns 0, or an errno. */
static int connect_within(int fd, const struct addrinfo *address, uint64_t deadline)
{
    int error = 0;
    socklen_t size = sizeof(error);

    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
        if (errno != EINPROGRESS)
            return errno;
        if (!weft_socket_await(fd, POLLOUT, -1, deadline))
            return ETIMEDOUT;
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
            return errno;
        if (error != 0)
            return error;
    }
    if (connected_to_itself(fd))
        return ECONNREFUSED;
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0)
        return errno;
    return 0;
}

int weft_socket_connect(const struct weft_root *root, uint64_t deadline, const char **reason)
{
    struct addrinfo *list;
    const int fault = resolve(root, &list);
    int fd = -1, error = 0;

    if (fault != 0) {
        *reason = gai_strerror(fault);
        errno = 0;
        return -1;
    }
    for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        error = fd < 0 ? errno : connect_within(fd, a, deadline);
        if (fd >= 0 && error != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    if (fd < 0)
        *reason = strerror(error);
    errno = error;
    return fd;
}

weft_status weft_socket_try(int listener)
{
    static const uint64_t patience = 10000000000; /* the kernel itself answers, at once */
    union weft_address own;
    socklen_t size = sizeof(own);
    int error = 0;

    if (getsockname(listener, &own.any, &size) != 0 || !weft_address_is_loopback(&own.any))
        return WEFT_OK;
    const int fd = socket(own.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const struct addrinfo to = {.ai_addr = &own.any, .ai_addrlen = size};
    error = fd < 0 ? errno : connect_within(fd, &to, weft_now_ns() + patience);
    if (fd >= 0)
        close(fd);
    return error == 0 ? WEFT_OK
                      : weft_err(WEFT_ERR_SYSTEM,
                                 "nobody can connect to this host's loopback interface: %s (is it "
                                 "up? ip link set lo up)",
                                 strerror(error));
}

bool weft_socket_send(int fd, const void *data, size_t bytes)
{
    const char *at = data;

    while (bytes > 0) {
        const ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        if (sent > 0) {
            at += sent;
            bytes -= (size_t)sent;
        }
    }
    return true;
}

ssize_t weft_socket_receive(int fd, struct weft_stream *stream)
{
    if (!weft_stream_reserve(stream)) {
        errno = ENOMEM;
        return -1;
    }
    const ssize_t received =
        recv(fd, stream->data + stream->end, stream->capacity - stream->end, MSG_DONTWAIT);
    if (received > 0)
        stream->end += (size_t)received;
    return received;
}

void weft_socket_peer(int fd, char name[WEFT_SOCKET_NAME])
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    char host[46], port[6];

    if (getpeername(fd, (struct sockaddr *)&address, &size) != 0 ||
        getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(name, WEFT_SOCKET_NAME, "a closed connection");
    else
        snprintf(name, WEFT_SOCKET_NAME, "%s port %s", host, port);
}
