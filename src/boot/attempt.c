/* boot/attempt.c - see the header. One thread at a time. */
#include "boot/attempt.h"

#include "base/say.h"
#include "base/task.h"
#include "boot/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 100 };

static const uint64_t attempt_wait = 2000000000; /* until the next root is tried, too */
static const uint64_t retry_pause = 20000000;    /* between rounds of all roots */

static void end(struct weft_attempt *attempt)
{
    if (attempt->fd >= 0)
        close(attempt->fd);
    attempt->fd = -1; /* the number may be another's from now on */
    weft_stream_free(&attempt->stream);
}

void weft_attempts_open(struct weft_attempts *a, const struct weft_config *config,
                        const struct weft_root *roots, int count, uint64_t identity)
{
    *a = (struct weft_attempts){.config = config,
                                .identity = identity,
                                .roots = roots,
                                .count = count,
                                .newest = -1,
                                .reason = "no time"};
    for (int i = 0; i < count; i++)
        a->of[i].fd = -1;
}

bool weft_attempts_close(struct weft_attempts *a)
{
    bool unanswered = false;

    for (int i = 0; i < a->count; i++) {
        unanswered |= a->of[i].fd >= 0;
        end(&a->of[i]);
    }
    return unanswered;
}

/* ---- one attempt ----------------------------------------------------------------------------- */

/* What keeps from connecting to the root is this host's, and does not go away. */
static bool is_hopeless(const struct weft_root *root, int error)
{
    return error == EPERM || error == EACCES || error == EAFNOSUPPORT ||
           (error == ENETUNREACH && weft_host_is_loopback(root->host));
}

/* Connects and says hello. */
static void begin(struct weft_attempts *a, const struct weft_root *root,
                  struct weft_attempt *attempt)
{
    struct weft_hello hello = {.process = (int)a->config->process,
                               .processes = (int)a->config->processes,
                               .identity = a->identity};
    unsigned char wire[WEFT_HELLO_BYTES];

    attempt->fd = weft_socket_connect(root, a->patience, &a->reason);
    if (attempt->fd < 0) {
        a->hopeless += is_hopeless(root, errno);
        return;
    }
    a->reason = "no answer";
    weft_socket_tune(attempt->fd, (int)a->config->silence_s);
    memcpy(hello.secret, a->config->secret, sizeof(hello.secret));
    weft_hello_put(wire, &hello);
    if (!weft_socket_send(attempt->fd, wire, sizeof(wire)))
        end(attempt);
}

/* Reads what has come. An attempt ends in silence: whoever listens there now, the root may come
 * later or be elsewhere. */
static weft_status hear(const struct weft_config *config, struct weft_attempt *attempt,
                        bool *welcome)
{
    const ssize_t received = weft_socket_receive(attempt->fd, &attempt->stream);
    struct weft_header header;
    const void *payload;

    if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR))
        end(attempt);
    const int taken = weft_stream_take(&attempt->stream, &header, &payload);
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

/* ---- all of them ----------------------------------------------------------------------------- */

/* Waits for answers, to whichever attempt they come. */
static weft_status listen_to_all(struct weft_attempts *a, uint64_t until, int *fd,
                                 struct weft_stream *stream)
{
    struct pollfd polled[WEFT_ROOTS_MAX];
    const uint64_t now = weft_now_ns();
    const uint64_t left_ms = until > now ? (until - now) / 1000000 + 1 : 0;
    weft_status status = WEFT_OK;
    bool welcome = false;

    for (int i = 0; i < a->count; i++)
        polled[i] = (struct pollfd){.fd = a->of[i].fd, .events = POLLIN};
    if (poll(polled, (nfds_t)a->count, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS) <= 0)
        return WEFT_OK;
    for (int i = 0; i < a->count && status == WEFT_OK && !welcome; i++) {
        if (polled[i].revents == 0)
            continue;
        status = hear(a->config, &a->of[i], &welcome);
        if (!welcome)
            continue;
        *fd = a->of[i].fd;
        *stream = a->of[i].stream;
        a->of[i] = (struct weft_attempt){.fd = -1};
    }
    return status;
}

weft_status weft_attempts_turn(struct weft_attempts *a, uint64_t deadline, int *fd,
                               struct weft_stream *stream)
{
    const struct timespec pause = {0, (long)retry_pause};
    const uint64_t now = weft_now_ns(), soon = now + attempt_wait;

    *fd = -1;
    if (a->newest >= 0 && a->of[a->newest].fd >= 0 && now < a->patience)
        return listen_to_all(a, a->patience, fd, stream);
    if (a->hopeless == a->count)
        return weft_err(WEFT_ERR_SYSTEM, "process 0 cannot be reached at WEFT_ROOT %s: %s",
                        a->config->root, a->reason);
    if (++a->newest == a->count) {
        a->newest = a->hopeless = 0;
        nanosleep(&pause, NULL);
    }
    a->patience = a->count > 1 && soon < deadline ? soon : deadline;
    if (a->of[a->newest].fd < 0)
        begin(a, &a->roots[a->newest], &a->of[a->newest]);
    return WEFT_OK;
}
