/* boot/attempt.c - see the header. One thread at a time calls it. */
#include "boot/attempt.h"

#include "base/say.h"
#include "base/task.h"
#include "boot/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 100 }; /* between two calls of stop() */

static const uint64_t attempt_wait = 2000000000; /* until the next root is tried, too */
static const uint64_t retry_pause = 20000000;    /* between rounds of all roots */

struct attempts {
    const struct weft_config *config;
    struct weft_hello hello;
    int count, newest;  /* roots; the one that was tried last */
    int hopeless;       /* roots of this round that this host can never reach */
    const char *reason; /* why the last attempt failed */
    struct {
        int fd; /* -1: no connection */
        struct weft_stream stream;
    } of[WEFT_ROOTS_MAX];
};

static void end(struct attempts *a, int i)
{
    if (a->of[i].fd >= 0)
        close(a->of[i].fd);
    a->of[i].fd = -1; /* the number may be another's from now on */
    weft_stream_free(&a->of[i].stream);
}

/* Whether what keeps from connecting to the root is this host's, and does not go away. */
static bool is_hopeless(const struct weft_root *root, int error)
{
    return error == EPERM || error == EACCES || error == EAFNOSUPPORT ||
           (error == ENETUNREACH && weft_host_is_loopback(root->host));
}

/* Begins attempt i: connects to the root and says hello. */
static void begin(struct attempts *a, int i, const struct weft_root *root, uint64_t patience)
{
    const int fd = a->of[i].fd = weft_socket_connect(root, patience, &a->reason);
    unsigned char wire[WEFT_HELLO_BYTES];

    if (fd < 0) {
        a->hopeless += is_hopeless(root, errno);
        return;
    }
    a->reason = "no answer";
    weft_socket_tune(fd, (int)a->config->silence_s);
    weft_hello_put(wire, &a->hello);
    if (!weft_socket_send(fd, wire, sizeof(wire)))
        end(a, i);
}

/* Reads what has come. A connection that ends is forgotten in silence: whoever listens there now,
 * the root may come later or be elsewhere. */
static weft_status hear(struct attempts *a, int i, bool *welcome)
{
    const ssize_t received = weft_socket_receive(a->of[i].fd, &a->of[i].stream);
    const struct weft_config *config = a->config;
    struct weft_header header;
    const void *payload;

    if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR))
        end(a, i);
    const int taken = weft_stream_take(&a->of[i].stream, &header, &payload);
    *welcome = taken > 0 && header.op == WEFT_OP_WELCOME;
    if (taken == 0 || *welcome)
        return WEFT_OK;
    if (taken > 0 && header.op == WEFT_OP_REFUSED)
        return weft_err(weft_refusals[header.kind].status,
                        "process 0 at %s refused this process: it %s (WEFT_PROCESS %d of %d)",
                        config->root, weft_refusals[header.kind].text, (int)config->process,
                        (int)config->processes);
    return weft_err(WEFT_ERR_PROTOCOL, "what listens at %s does not speak weft's protocol",
                    config->root);
}

/* Waits a moment for answers to all attempts: *in becomes the attempt that was let in, if one
 * was. */
static weft_status listen_to_all(struct attempts *a, uint64_t left_ns, int *in)
{
    struct pollfd polled[WEFT_ROOTS_MAX];
    const uint64_t left_ms = left_ns / 1000000 + 1;
    weft_status status = WEFT_OK;

    for (int i = 0; i < a->count; i++)
        polled[i] = (struct pollfd){.fd = a->of[i].fd, .events = POLLIN};
    if (poll(polled, (nfds_t)a->count, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS) <= 0)
        return WEFT_OK;
    for (int i = 0; i < a->count && status == WEFT_OK && *in < 0; i++) {
        bool welcome = false;
        if (polled[i].revents != 0)
            status = hear(a, i, &welcome);
        if (welcome)
            *in = i;
    }
    return status;
}

/* Goes on to the next root; after the last it pauses, and begins again at the first. */
static weft_status try_next(struct attempts *a, const struct weft_root *roots, uint64_t patience)
{
    const struct timespec pause = {0, (long)retry_pause};

    if (a->hopeless == a->count)
        return weft_err(WEFT_ERR_SYSTEM, "process 0 cannot be reached at WEFT_ROOT %s: %s",
                        a->config->root, a->reason);
    if (++a->newest == a->count) {
        a->newest = a->hopeless = 0;
        nanosleep(&pause, NULL);
    }
    if (a->of[a->newest].fd < 0)
        begin(a, a->newest, &roots[a->newest], patience);
    return WEFT_OK;
}

/* Says that nobody has answered in time, and why. Returns the error. */
static weft_status time_is_over(const struct attempts *a)
{
    for (int i = 0; i < a->count; i++)
        if (a->of[i].fd >= 0)
            return weft_err(WEFT_ERR_TIMEOUT, "no answer from process 0 at %s within %g s",
                            a->config->root, a->config->connect_s);
    return weft_err(
        WEFT_ERR_TIMEOUT,
        "process 0 was not found at WEFT_ROOT %s within %g s: %s (either it has ended, or "
        "not come yet, or listens elsewhere: WEFT_INTERFACE)",
        a->config->root, a->config->connect_s, a->reason);
}

weft_status weft_attempt(const struct weft_config *config, uint64_t identity,
                         const struct weft_root *roots, int count, uint64_t deadline,
                         weft_status (*stop)(const void *context), const void *context, int *fd,
                         struct weft_stream *stream)
{
    struct attempts a = {.config = config,
                         .hello = {.process = (int)config->process,
                                   .processes = (int)config->processes,
                                   .identity = identity},
                         .count = count,
                         .newest = -1,
                         .reason = "no time"};
    uint64_t now, patience = 0;
    int in = -1;
    weft_status status = WEFT_OK;

    memcpy(a.hello.secret, config->secret, sizeof(a.hello.secret));
    for (int i = 0; i < count; i++)
        a.of[i].fd = -1;
    while (in < 0 && status == WEFT_OK && (status = stop(context)) == WEFT_OK) {
        now = weft_now_ns();
        if (now >= deadline)
            status = time_is_over(&a);
        else if (a.newest >= 0 && a.of[a.newest].fd >= 0 && now < patience)
            status = listen_to_all(&a, patience - now, &in);
        else {
            patience = count > 1 && deadline - now > attempt_wait ? now + attempt_wait : deadline;
            status = try_next(&a, roots, patience);
        }
    }
    if (in >= 0) {
        *fd = a.of[in].fd;
        *stream = a.of[in].stream;
        a.of[in].fd = -1;
        a.of[in].stream = (struct weft_stream){0};
    }
    for (int i = 0; i < count; i++)
        end(&a, i);
    return status;
}
