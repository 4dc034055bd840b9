/*
 * boot/listener.c - accepts processes. There is room for a fixed number of strangers. Who comes
 * when all places are taken gets that of the one who has been silent longest. A process says its
 * hello at once and is heard when it is accepted, so that no crowd can push it out.
 */
#include "boot/listener.h"

#include "base/say.h"
#include "base/task.h"
#include "boot/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPTS = 16, REFUSALS_SAID = 8 };

static const uint64_t hello_wait = 5000000000;  /* a stranger's time to say hello */
static const uint64_t accept_pause = 100000000; /* when no file descriptors are left */

static void drop(struct weft_stranger *stranger)
{
    close(stranger->fd);
    stranger->fd = -1;
}

/* Says why a stranger is refused: to it, if it speaks weft's protocol, and to the user, unless
 * there are too many. */
static void refuse(struct weft_listener *listener, struct weft_stranger *stranger,
                   enum weft_refusal refusal, const char *text)
{
    const struct weft_header header = {.kind = (uint16_t)refusal, .op = WEFT_OP_REFUSED};
    unsigned char wire[WEFT_HEADER_BYTES];
    char peer[WEFT_SOCKET_NAME];

    if (refusal != WEFT_REFUSAL_STRANGER) {
        /* If this does not get through, the end of the connection will. */
        weft_header_put(wire, &header);
        (void)!send(stranger->fd, wire, sizeof(wire), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    if (listener->refused++ < REFUSALS_SAID) {
        weft_socket_peer(stranger->fd, peer);
        weft_say(WEFT_SAY_WARN, "refused %s: it %s", peer, text);
    }
    drop(stranger);
}

void weft_listener_open(struct weft_listener *listener, int fd, const struct weft_hello *expected,
                        int silence_s, weft_enter *enter, void *context)
{
    *listener = (struct weft_listener){
        .expected = expected, .fd = fd, .silence_s = silence_s, .enter = enter, .context = context};
    for (int i = 0; i < WEFT_LISTENER_STRANGERS; i++)
        listener->strangers[i].fd = -1;
}

void weft_listener_shut(struct weft_listener *listener)
{
    if (listener->fd < 0)
        return;
    close(listener->fd);
    listener->fd = -1;
    for (int i = 0; i < WEFT_LISTENER_STRANGERS; i++) {
        if (listener->strangers[i].fd >= 0)
            drop(&listener->strangers[i]);
    }
    if (listener->refused > REFUSALS_SAID)
        weft_say(WEFT_SAY_WARN, "refused %d more connections", listener->refused - REFUSALS_SAID);
}

/* Answers a stranger whose whole hello is there: lets it in, or refuses it. */
static void answer(struct weft_listener *listener, struct weft_stranger *stranger)
{
    const int fd = stranger->fd;
    struct weft_hello hello;
    enum weft_refusal refusal = weft_hello_check(stranger->hello, listener->expected, &hello);

    if (refusal == WEFT_REFUSAL_NONE) {
        stranger->fd = -1; /* entering may shut the listener: this one is inside */
        refusal = listener->enter(listener->context, &hello, fd);
        if (refusal == WEFT_REFUSAL_NONE)
            return;
        stranger->fd = fd;
    }
    refuse(listener, stranger, refusal, weft_refusals[refusal].text);
}

static void hear(struct weft_listener *listener, struct weft_stranger *stranger)
{
    const ssize_t received = recv(stranger->fd, stranger->hello + stranger->have,
                                  sizeof(stranger->hello) - stranger->have, MSG_DONTWAIT);

    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (received <= 0) {
        drop(stranger); /* it thought better of it */
        return;
    }
    stranger->have += (size_t)received;
    if (stranger->have == sizeof(stranger->hello))
        answer(listener, stranger);
}

/* Finds a free place, if need be that of the stranger who has been silent longest. */
static struct weft_stranger *place(struct weft_listener *listener)
{
    struct weft_stranger *oldest = &listener->strangers[0];

    for (int i = 0; i < WEFT_LISTENER_STRANGERS; i++) {
        struct weft_stranger *stranger = &listener->strangers[i];
        if (stranger->fd < 0)
            return stranger;
        if (stranger->deadline < oldest->deadline)
            oldest = stranger;
    }
    refuse(listener, oldest, WEFT_REFUSAL_STRANGER, "said no hello while others wait");
    return oldest;
}

static void accept_some(struct weft_listener *listener)
{
    for (int i = 0; i < ACCEPTS && listener->fd >= 0; i++) {
        const int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        const int error = fd < 0 ? errno : 0;
        const bool few = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
        listener->barred = error == EPERM || error == EACCES || error == ENOSYS;
        listener->error = few || listener->barred ? error : 0;
        if (fd < 0 && !few)
            return;
        if (few) { /* the program may have used up its files, and close some */
            if (listener->accept_from == 0)
                weft_say(WEFT_SAY_WARN, "who wants to join the job has to wait: %s%s",
                         strerror(error), error == EMFILE ? " (ulimit -n)" : "");
            listener->accept_from = weft_now_ns() + accept_pause;
            return;
        }
        weft_socket_tune(fd, listener->silence_s);
        struct weft_stranger *stranger = place(listener);
        stranger->fd = fd;
        stranger->have = 0;
        stranger->deadline = weft_now_ns() + hello_wait;
        hear(listener, stranger);
    }
}

void weft_listener_watch(const struct weft_listener *listener, struct pollfd *polled)
{
    const bool accepting = weft_now_ns() >= listener->accept_from;

    polled[0] = (struct pollfd){.fd = accepting ? listener->fd : -1, .events = POLLIN};
    for (int i = 0; i < WEFT_LISTENER_STRANGERS; i++)
        polled[1 + i] = (struct pollfd){.fd = listener->strangers[i].fd, .events = POLLIN};
}

void weft_listener_serve(struct weft_listener *listener, const struct pollfd *polled)
{
    const uint64_t now = weft_now_ns();

    for (int i = 0; i < WEFT_LISTENER_STRANGERS; i++) {
        struct weft_stranger *stranger = &listener->strangers[i];
        if (stranger->fd >= 0 && polled[1 + i].revents != 0)
            hear(listener, stranger);
        if (stranger->fd >= 0 && stranger->deadline <= now)
            refuse(listener, stranger, WEFT_REFUSAL_STRANGER, "said no hello");
    }
    if (listener->fd >= 0 && polled[0].revents != 0)
        accept_some(listener);
}
