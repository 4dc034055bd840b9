/*
 * boot/tcp.c - a member of a job over TCP: one connection to process 0's relay (boot/hub.c).
 *
 * Sending blocks only while the relay has no time to read, which it always has soon: it waits for
 * nobody. The end of the connection means that process 0 is lost.
 */
#include "base/say.h"
#include "boot/attempt.h"
#include "boot/back.h"
#include "boot/hub.h"
#include "boot/socket.h"
#include "order/atomic.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint64_t second = 1000000000;
static const uint64_t verdict_wait = 2 * second; /* the root names who is missing, if it can */
static const uint64_t close_wait = 5 * second;
enum { LOOK_MS = 100 }; /* between two looks whether another job has lost a process */

struct tcp {
    struct weft_control control;
    int fd;
    int wake;              /* readable: whoever reads waits no more */
    struct weft_lock lock; /* held while a frame is sent; guards `broken` */
    bool broken;           /* sending has failed, and it was said */
    struct weft_stream stream;
    bool root_lost;       /* LOST(0) was delivered */
    uint32_t losses;      /* `losses` of this process when it began to join */
    uint64_t identity;    /* of this process in this job */
    struct weft_hub *hub; /* the relay, in process 0; NULL in others */
};

static const struct weft_control_ops tcp_ops;

/* How many processes the jobs of this process have lost: those come to none that it joins. */
static uint32_t losses;

/* ---- joining -------------------------------------------------------------------------------- */

/* Waits for a packet until the deadline. 1: *header is it; 0: time is over, or the reader was
 * woken; -1: the connection has ended; -2: malformed. */
static int next_packet(struct tcp *tcp, struct weft_header *header, const void **payload,
                       uint64_t deadline)
{
    for (;;) {
        const int taken = weft_stream_take(&tcp->stream, header, payload);
        if (taken != 0)
            return taken > 0 ? 1 : -2;
        if (!weft_socket_await(tcp->fd, POLLIN, tcp->wake, deadline))
            return 0;
        const ssize_t received = weft_socket_receive(tcp->fd, &tcp->stream);
        if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR))
            return -1;
    }
}

/* Returns PEER_LOST, said, if a process was lost meanwhile that this one has another job with. */
static weft_status lost_meanwhile(const void *tcp)
{
    return weft_load_relaxed_u32(&losses) == ((const struct tcp *)tcp)->losses
               ? WEFT_OK
               : weft_err(WEFT_ERR_PEER_LOST,
                          "a process was lost that this process has another job with");
}

/* Waits until all processes are there. */
static weft_status await_start(struct tcp *tcp, const struct weft_config *config, uint64_t deadline)
{
    struct weft_header header;
    const void *payload;
    weft_status status = WEFT_OK;
    int got;

    do {
        const uint64_t soon = weft_now_ns() + LOOK_MS * 1000000;
        got = next_packet(tcp, &header, &payload, soon < deadline ? soon : deadline);
        if (got == 0 || got == -1)
            status = lost_meanwhile(tcp);
    } while (got == 0 && status == WEFT_OK && weft_now_ns() < deadline);
    if (status != WEFT_OK)
        return status;
    if (got == 0)
        return weft_err(WEFT_ERR_TIMEOUT, "the job of %d processes was not complete within %g s",
                        (int)config->processes, config->connect_s);
    if (got == -1)
        return weft_err(WEFT_ERR_PEER_LOST, "process 0 was lost while the job started");
    if (got == 1 && header.op == WEFT_OP_START)
        return WEFT_OK;
    if (got == 1 && header.op == WEFT_OP_REFUSED && header.kind == WEFT_REFUSAL_BARRED)
        return weft_err(WEFT_ERR_SYSTEM, "process 0 %s: %s%s",
                        weft_refusals[WEFT_REFUSAL_BARRED].text, strerror(header.source),
                        header.source == EMFILE ? " (ulimit -n)" : "");
    if (got == 1 && header.op == WEFT_OP_REFUSED)
        return weft_err(weft_refusals[header.kind].status,
                        "process %d %s: the job has %d processes, and %g s to start", header.source,
                        weft_refusals[header.kind].text, (int)config->processes, config->connect_s);
    if (got == 1 && header.op == WEFT_OP_FRAME && header.kind == WEFT_FRAME_LOST)
        return weft_err(WEFT_ERR_PEER_LOST, "process %d was lost while the job started",
                        header.source);
    return weft_err(WEFT_ERR_PROTOCOL, "malformed data from process 0 while the job started");
}

/* Starts process 0's relay and connects to it. */
static weft_status start_hub(struct tcp *tcp, const struct weft_config *config,
                             const struct weft_root *root, uint64_t wait_ns)
{
    struct weft_hello expected = {.processes = (int)config->processes, .identity = tcp->identity};
    int listener;

    memcpy(expected.secret, config->secret, sizeof(expected.secret));
    weft_status status = config->root_fd >= 0 ? weft_socket_inherit(&listener, (int)config->root_fd)
                                              : weft_socket_listen(&listener, root);
    if (status != WEFT_OK)
        return status;
    status =
        weft_hub_start(&tcp->hub, listener, &expected, wait_ns, (int)config->silence_s, &tcp->fd);
    if (status != WEFT_OK)
        close(listener);
    return status;
}

static weft_status join(struct tcp *tcp, const struct weft_config *config)
{
    const uint64_t wait_ns = (uint64_t)(config->connect_s * 1e9);
    const uint64_t deadline = weft_deadline(wait_ns);
    struct weft_root roots[WEFT_ROOTS_MAX];
    const int count = weft_roots_parse(roots, config->root);

    if (count == 0)
        return weft_err(WEFT_ERR_CONFIG,
                        "WEFT_ROOT is \"%s\"; a job of %d processes needs HOST:PORT", config->root,
                        (int)config->processes);
    const weft_status status = config->process == 0
                                   ? start_hub(tcp, config, &roots[0], wait_ns)
                                   : weft_attempt(config, tcp->identity, roots, count, deadline,
                                                  lost_meanwhile, tcp, &tcp->fd, &tcp->stream);
    return status == WEFT_OK ? await_start(tcp, config, deadline + verdict_wait) : status;
}

weft_status weft_tcp_open(struct weft_control **control, const struct weft_config *config)
{
    struct tcp *tcp = calloc(1, sizeof(*tcp));

    if (tcp == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a control channel");
    tcp->control = (struct weft_control){
        .ops = &tcp_ops, .process = (int)config->process, .processes = (int)config->processes};
    tcp->fd = -1;
    tcp->losses = weft_load_relaxed_u32(&losses);
    tcp->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const bool drawn = getrandom(&tcp->identity, sizeof(tcp->identity), 0) == sizeof(tcp->identity);
    weft_status status =
        tcp->wake >= 0 && drawn
            ? join(tcp, config)
            : weft_err(WEFT_ERR_SYSTEM, "%s: %s", drawn ? "eventfd" : "getrandom", strerror(errno));
    if (status != WEFT_OK) {
        tcp_ops.close(&tcp->control, false);
        return status;
    }
    *control = &tcp->control;
    return WEFT_OK;
}

/* ---- in the job ----------------------------------------------------------------------------- */

/* Sends a packet whole. False with errno when the connection has ended. The caller holds the
 * lock. */
static bool send_packet(struct tcp *tcp, enum weft_frame_op op, uint16_t kind, const void *payload,
                        size_t bytes)
{
    const struct weft_header header = {
        .bytes = (uint32_t)bytes, .kind = kind, .source = (uint16_t)tcp->control.process, .op = op};
    unsigned char wire[WEFT_HEADER_BYTES];

    weft_header_put(wire, &header);
    return weft_socket_send(tcp->fd, wire, sizeof(wire)) &&
           weft_socket_send(tcp->fd, payload, bytes);
}

static weft_status tcp_send(struct weft_control *control, uint16_t kind, const void *payload,
                            size_t bytes)
{
    struct tcp *tcp = (struct tcp *)control;
    weft_status status = WEFT_OK;

    weft_lock(&tcp->lock);
    if (tcp->broken) {
        status = WEFT_ERR_PEER_LOST;
    } else if (!send_packet(tcp, WEFT_OP_FRAME, kind, payload, bytes)) {
        tcp->broken = true;
        status = weft_err(WEFT_ERR_PEER_LOST, "process 0 is lost: %s", strerror(errno));
    }
    weft_unlock(&tcp->lock);
    return status;
}

static weft_status tcp_next(struct weft_control *control, struct weft_frame *frame,
                            uint64_t timeout_ns)
{
    struct tcp *tcp = (struct tcp *)control;
    struct weft_header header;
    const void *payload;

    if (tcp->root_lost) {
        /* Nothing more can come; a receiver that looks again and again should still sleep. */
        const uint64_t pause = timeout_ns > second ? second : timeout_ns;
        (void)weft_socket_await(tcp->wake, POLLIN, -1, weft_deadline(pause));
        return WEFT_ERR_TIMEOUT;
    }
    int got = next_packet(tcp, &header, &payload, weft_deadline(timeout_ns));
    if (got == 0)
        return WEFT_ERR_TIMEOUT;
    if (got == 1 && (header.op != WEFT_OP_FRAME || header.source >= control->processes))
        got = -2;
    if (got == -2)
        weft_say(WEFT_SAY_WARN, "malformed data from process 0");
    if (got < 0) {
        tcp->root_lost = true;
        weft_add_relaxed_u32(&losses, 1);
        *frame = (struct weft_frame){.kind = WEFT_FRAME_LOST, .source = 0};
        return WEFT_OK;
    }
    WEFT_TRY(weft_frame_fill(frame, header.kind, header.source, payload, header.bytes));
    if (header.kind == WEFT_FRAME_LOST)
        weft_add_relaxed_u32(&losses, 1);
    if (header.kind == WEFT_FRAME_LOST && header.source == 0)
        tcp->root_lost = true;
    return WEFT_OK;
}

/*
 * Ends the sending side, then reads until the relay ends the other: closing a socket with unread
 * bytes would reset it, and what was sent last could be lost.
 */
static void drain(struct tcp *tcp)
{
    const uint64_t deadline = weft_now_ns() + close_wait;

    if (shutdown(tcp->fd, SHUT_WR) != 0)
        return;
    while (weft_socket_await(tcp->fd, POLLIN, -1, deadline)) {
        tcp->stream.begin = tcp->stream.end = 0;
        const ssize_t received = weft_socket_receive(tcp->fd, &tcp->stream);
        if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR))
            return;
    }
}

static void tcp_wake(struct weft_control *control)
{
    const struct tcp *tcp = (const struct tcp *)control;

    /* Fails only where the count is full, and then the reader is awake. */
    (void)eventfd_write(tcp->wake, 1);
}

static void tcp_close(struct weft_control *control, bool orderly)
{
    struct tcp *tcp = (struct tcp *)control;

    if (tcp->fd >= 0) {
        /* Where the BYE does not get through, process 0 is gone and needs none. */
        if (orderly && !tcp->broken)
            (void)send_packet(tcp, WEFT_OP_BYE, 0, NULL, 0);
        drain(tcp);
        close(tcp->fd);
    }
    if (tcp->wake >= 0)
        close(tcp->wake);
    if (tcp->hub != NULL)
        weft_hub_finish(tcp->hub);
    weft_stream_free(&tcp->stream);
    free(tcp);
}

static const struct weft_control_ops tcp_ops = {
    .send = tcp_send, .next = tcp_next, .wake = tcp_wake, .close = tcp_close};
