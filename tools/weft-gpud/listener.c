/* listener.c - who connects: greeted, heard for at most five seconds, let in or told why not. */
#include "gpud.h"

#include "base/task.h"
#include "boot/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPTS = 16, REFUSALS_SAID = 8 /* of a minute */ };
static const uint64_t patience = 5000000000, minute = 60000000000;
static const uint64_t accept_pause = 100000000; /* when no files are left */

static void drop(struct stranger *stranger)
{
    close(stranger->fd);
    stranger->fd = -1;
}

void listener_tell(struct gpud *gpud, uint64_t now)
{
    if (now - gpud->minute < minute)
        return;
    if (gpud->refused > REFUSALS_SAID)
        say("%u more refusals were not logged", gpud->refused - REFUSALS_SAID);
    gpud->refused = 0;
    gpud->minute = now;
}

/* The whole request is there. */
static void hear_out(struct gpud *gpud, struct stranger *stranger)
{
    const struct weft_hello_request *request = &stranger->request.request;
    enum weft_no no = weft_request_check(&stranger->request, &gpud->key, stranger->greeting.nonce);
    int error = 0;
    char peer[WEFT_SOCKET_NAME];

    weft_socket_peer(stranger->fd, peer);
    if (no == WEFT_NO_NONE && request->kind == WEFT_ASK_SESSION) {
        if (gpud->client_count >= gpud->places)
            no = WEFT_NO_FULL;
        else if (!child_start(gpud, request, peer))
            no = WEFT_NO_SYSTEM, error = errno;
    }
    explicit_bzero(&stranger->request, sizeof(stranger->request));
    const struct weft_hello_answer answer = {no, gpud->client_count, gpud->places};
    (void)!send(stranger->fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (no != WEFT_NO_NONE && gpud->refused++ < REFUSALS_SAID)
        say("refused %s: %s%s%s", peer, weft_no_text(no), error != 0 ? ": " : "",
            error != 0 ? strerror(error) : "");
    drop(stranger);
}

static void hear(struct gpud *gpud, struct stranger *stranger)
{
    const ssize_t got = recv(stranger->fd, (char *)&stranger->request + stranger->have,
                             sizeof(stranger->request) - stranger->have, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        drop(stranger);
        return;
    }
    stranger->have += (size_t)got;
    if (stranger->have == sizeof(stranger->request))
        hear_out(gpud, stranger);
}

/* A free place; if need be that of who has been silent longest. */
static struct stranger *place(struct gpud *gpud)
{
    struct stranger *oldest = &gpud->strangers[0];

    for (int i = 0; i < STRANGERS; i++) {
        if (gpud->strangers[i].fd < 0)
            return &gpud->strangers[i];
        if (gpud->strangers[i].deadline < oldest->deadline)
            oldest = &gpud->strangers[i];
    }
    drop(oldest);
    return oldest;
}

static void greet(struct gpud *gpud, int fd)
{
    struct stranger *stranger = place(gpud);
    struct weft_greeting *greeting = &stranger->greeting;

    stranger->fd = fd;
    stranger->have = 0;
    stranger->deadline = weft_now_ns() + patience;
    weft_socket_tune(fd, (int)(patience / 1000000000));
    weft_greeting_put(greeting);
    if (getrandom(greeting->nonce, sizeof(greeting->nonce), 0) != sizeof(greeting->nonce) ||
        send(fd, greeting, sizeof(*greeting), MSG_NOSIGNAL | MSG_DONTWAIT) !=
            (ssize_t)sizeof(*greeting))
        drop(stranger);
    else
        hear(gpud, stranger);
}

void listener_open(struct gpud *gpud)
{
    for (int i = 0; i < STRANGERS; i++)
        gpud->strangers[i].fd = -1;
}

void listener_watch(const struct gpud *gpud, struct pollfd polled[1 + STRANGERS])
{
    const bool accepting = weft_now_ns() >= gpud->accept_from;

    polled[0] = (struct pollfd){.fd = accepting ? gpud->listener : -1, .events = POLLIN};
    for (int i = 0; i < STRANGERS; i++)
        polled[1 + i] = (struct pollfd){.fd = gpud->strangers[i].fd, .events = POLLIN};
}

void listener_serve(struct gpud *gpud, const struct pollfd polled[1 + STRANGERS])
{
    const uint64_t now = weft_now_ns();

    listener_tell(gpud, now);
    for (int i = 0; i < STRANGERS; i++) {
        struct stranger *stranger = &gpud->strangers[i];
        if (stranger->fd >= 0 && stranger->fd == polled[1 + i].fd && polled[1 + i].revents != 0)
            hear(gpud, stranger);
        if (stranger->fd >= 0 && stranger->deadline <= now)
            drop(stranger);
    }
    for (int i = 0; i < ACCEPTS && polled[0].revents != 0; i++) {
        const int fd = accept4(gpud->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            if (gpud->accept_from == 0)
                say("who wants to come in has to wait: %s", strerror(errno));
            gpud->accept_from = now + accept_pause;
        }
        if (fd < 0)
            return;
        greet(gpud, fd);
    }
}
