/*
 * boot/hub.c - process 0's relay.
 *
 * One task polls all sockets. A connection is a stranger until it has said a right hello, in time;
 * then it is a member. Every frame of a member is appended to one history, from which each
 * member is served as fast as it reads. One that falls too far behind is lost, like one whose
 * connection ends without a BYE: the history says so, once. When all have come, the listening
 * socket is closed: nobody comes later.
 */
#include "boot/hub.h"

#include "base/say.h"
#include "base/task.h"
#include "boot/history.h"
#include "boot/socket.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STRANGERS = 64, ACCEPTS = 16, REFUSALS_SAID = 8, ROUND_MS = 50 };

static const uint64_t second = 1000000000;
static const uint64_t hello_wait = 5 * second;    /* a stranger's time to say hello */
static const uint64_t accept_pause = second / 10; /* when there are no file descriptors left */
static const uint64_t leave_wait = 5 * second;    /* after process 0's BYE */
static const uint64_t tell_wait = second;         /* after process 0's loss */
static const uint64_t backlog_max = 64 << 20;     /* bytes that a member may be behind */

struct stranger {
    int fd; /* -1: this place is free */
    uint64_t deadline;
    size_t have;
    unsigned char hello[WEFT_HELLO_BYTES];
};

struct member {
    int fd; /* -1: has not come, has left, or is lost */
    bool came;
    struct weft_stream stream;
    struct weft_entry *cursor;
    size_t sent; /* bytes of the entry after the cursor */
};

struct weft_hub {
    struct weft_task task;
    struct weft_hello expected;
    struct weft_history history;
    int listener;         /* -1 once all have come */
    uint64_t deadline;    /* for all to come; UINT64_MAX once that is settled */
    uint64_t accept_from; /* when to look at the listener again */
    uint64_t end;         /* when to stop in any case; UINT64_MAX while process 0 is there */
    int came, present;
    int refused;
    bool root_lost, failed;
    struct stranger strangers[STRANGERS];
    struct member *members;
    struct pollfd *polled; /* the listener, the strangers, the members */
};

static void append(struct weft_hub *hub, enum weft_op op, unsigned kind, int source)
{
    const struct weft_header header = {0, (uint16_t)kind, (uint16_t)source, op};

    if (!weft_history_append(&hub->history, &header, NULL)) {
        weft_err(WEFT_ERR_MEMORY, "no memory for the control channel");
        hub->failed = true;
    }
}

/* ---- members -------------------------------------------------------------------------------- */

static void enroll(struct weft_hub *hub, int process, int fd)
{
    struct member *member = &hub->members[process];

    member->fd = fd;
    member->came = true;
    member->cursor = weft_history_join(&hub->history);
    hub->came++;
    hub->present++;
}

static void forget(struct weft_hub *hub, struct member *member)
{
    close(member->fd);
    member->fd = -1;
    weft_stream_free(&member->stream);
    weft_history_leave(&hub->history, member->cursor);
    hub->present--;
}

static void lose(struct weft_hub *hub, int process, enum weft_level level, const char *why)
{
    weft_say(level, "process %d is lost: %s", process, why);
    forget(hub, &hub->members[process]);
    append(hub, WEFT_OP_FRAME, 0, process);
    if (process == 0) {
        hub->root_lost = true;
        hub->end = weft_now_ns() + tell_wait;
    }
}

static void let_go(struct weft_hub *hub, int process)
{
    forget(hub, &hub->members[process]);
    if (process == 0)
        hub->end = weft_now_ns() + leave_wait;
}

/* Relays one packet. False: the member is not there any more. */
static bool relay(struct weft_hub *hub, int process, const struct weft_header *header,
                  const void *payload)
{
    if (header->op == WEFT_OP_BYE && header->source == process) {
        let_go(hub, process);
        return false;
    }
    if (header->op != WEFT_OP_FRAME || header->kind == 0 || header->source != process ||
        hub->listener >= 0) {
        lose(hub, process, WEFT_SAY_WARN, "it sent what no member may send");
        return false;
    }
    if (!weft_history_append(&hub->history, header, payload)) {
        weft_err(WEFT_ERR_MEMORY, "no memory for a control frame of %u bytes", header->bytes);
        hub->failed = true;
    }
    return true;
}

/* Takes what has come from a member: one read, so that each gets its turn. */
static void hear(struct weft_hub *hub, int process)
{
    struct member *member = &hub->members[process];
    struct weft_header header;
    const void *payload;
    const ssize_t received = weft_socket_receive(member->fd, &member->stream);

    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (received <= 0) {
        lose(hub, process, WEFT_SAY_INFO, received == 0 ? "its connection ended" : strerror(errno));
        return;
    }
    for (;;) {
        const int taken = weft_stream_take(&member->stream, &header, &payload);
        if (taken == 0)
            return;
        if (taken < 0) {
            lose(hub, process, WEFT_SAY_WARN, "it sent a malformed frame");
            return;
        }
        if (!relay(hub, process, &header, payload))
            return;
    }
}

/* Sends a member what it has not got yet, as far as its socket takes it. */
static void serve(struct weft_hub *hub, int process)
{
    struct member *member = &hub->members[process];

    while (member->cursor->next != NULL) {
        const struct weft_entry *entry = member->cursor->next;
        const ssize_t sent = send(member->fd, entry->wire + member->sent,
                                  entry->bytes - member->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno != EAGAIN && errno != EINTR)
                lose(hub, process, WEFT_SAY_INFO, strerror(errno));
            else if (weft_history_behind(&hub->history, member->cursor) > backlog_max)
                lose(hub, process, WEFT_SAY_WARN, "it does not read its control channel");
            return;
        }
        member->sent += (size_t)sent;
        if (member->sent == entry->bytes) {
            member->sent = 0;
            weft_history_pass(&hub->history, &member->cursor);
        }
    }
}

/* ---- strangers ------------------------------------------------------------------------------ */

static void drop(struct stranger *stranger)
{
    close(stranger->fd);
    stranger->fd = -1;
}

/* Says why, to the stranger if it speaks our language, and to the user unless it is a flood. */
static void refuse(struct weft_hub *hub, struct stranger *stranger, const char *text,
                   enum weft_refusal refusal, int process)
{
    const struct weft_header header = {0, (uint16_t)refusal, (uint16_t)process, WEFT_OP_REFUSED};
    unsigned char wire[WEFT_HEADER_BYTES];
    char peer[WEFT_SOCKET_NAME];

    if (refusal != WEFT_REFUSAL_STRANGER) {
        /* If this does not get through, the end of the connection will. */
        weft_header_put(wire, &header);
        (void)!send(stranger->fd, wire, sizeof(wire), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    if (hub->refused++ < REFUSALS_SAID) {
        weft_socket_peer(stranger->fd, peer);
        weft_say(WEFT_SAY_WARN, "refused %s: it %s", peer, text);
    }
    drop(stranger);
}

/* All have come: nobody else can. */
static void begin_job(struct weft_hub *hub)
{
    append(hub, WEFT_OP_START, 0, 0);
    hub->deadline = UINT64_MAX;
    close(hub->listener);
    hub->listener = -1;
    for (int i = 0; i < STRANGERS; i++) {
        if (hub->strangers[i].fd >= 0)
            drop(&hub->strangers[i]);
    }
    if (hub->refused > REFUSALS_SAID)
        weft_say(WEFT_SAY_WARN, "refused %d more connections", hub->refused - REFUSALS_SAID);
}

static void let_in(struct weft_hub *hub, struct stranger *stranger, int process)
{
    const struct weft_header welcome = {0, 0, 0, WEFT_OP_WELCOME};
    unsigned char wire[WEFT_HEADER_BYTES];

    weft_header_put(wire, &welcome);
    if (send(stranger->fd, wire, sizeof(wire), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(wire)) {
        drop(stranger); /* an empty socket takes 12 bytes, unless it has just ended */
        return;
    }
    enroll(hub, process, stranger->fd);
    stranger->fd = -1;
    if (hub->came == hub->expected.processes)
        begin_job(hub);
}

static void hear_stranger(struct weft_hub *hub, struct stranger *stranger)
{
    const ssize_t received = recv(stranger->fd, stranger->hello + stranger->have,
                                  sizeof(stranger->hello) - stranger->have, MSG_DONTWAIT);
    int process = 0;

    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (received <= 0) {
        drop(stranger); /* it thought better of it */
        return;
    }
    stranger->have += (size_t)received;
    if (stranger->have < sizeof(stranger->hello))
        return;
    enum weft_refusal refusal = weft_hello_check(stranger->hello, &hub->expected, &process);
    if (refusal == WEFT_REFUSAL_NONE && hub->members[process].came)
        refusal = WEFT_REFUSAL_TAKEN;
    if (refusal == WEFT_REFUSAL_NONE)
        let_in(hub, stranger, process);
    else
        refuse(hub, stranger, weft_refusal_text(refusal), refusal, process);
}

/* A free place; if there is none, that of the stranger who has been silent longest. */
static struct stranger *place(struct weft_hub *hub)
{
    struct stranger *oldest = &hub->strangers[0];

    for (int i = 0; i < STRANGERS; i++) {
        struct stranger *stranger = &hub->strangers[i];
        if (stranger->fd < 0)
            return stranger;
        if (stranger->deadline < oldest->deadline)
            oldest = stranger;
    }
    refuse(hub, oldest, "said no hello while others wait", WEFT_REFUSAL_STRANGER, 0);
    return oldest;
}

/* Members say hello at once, so it is usually there: no flood can come between. */
static void accept_some(struct weft_hub *hub)
{
    for (int i = 0; i < ACCEPTS && hub->listener >= 0; i++) {
        const int fd = accept4(hub->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                hub->accept_from = weft_now_ns() + accept_pause;
            return;
        }
        struct stranger *stranger = place(hub);
        stranger->fd = fd;
        stranger->have = 0;
        stranger->deadline = weft_now_ns() + hello_wait;
        weft_socket_tune(fd);
        hear_stranger(hub, stranger);
    }
}

/* ---- the task ------------------------------------------------------------------------------- */

/* What time alone brings about. */
static void look_at_clock(struct weft_hub *hub, uint64_t now)
{
    for (int i = 0; i < STRANGERS; i++) {
        if (hub->strangers[i].fd >= 0 && hub->strangers[i].deadline <= now)
            refuse(hub, &hub->strangers[i], "said no hello", WEFT_REFUSAL_STRANGER, 0);
    }
    if (hub->deadline <= now) {
        int missing = 0;
        while (hub->members[missing].came)
            missing++;
        append(hub, WEFT_OP_REFUSED, WEFT_REFUSAL_MISSING, missing);
        hub->deadline = UINT64_MAX;
    }
}

/* Nothing is left to do, or no time to do it. */
static bool finished(const struct weft_hub *hub)
{
    bool all_told = true;

    if (hub->failed)
        return true;
    if (hub->end == UINT64_MAX)
        return false;
    for (int i = 0; i < hub->expected.processes; i++) {
        if (hub->members[i].fd >= 0 && hub->members[i].cursor->next != NULL)
            all_told = false;
    }
    return hub->present == 0 || (hub->root_lost && all_told) || weft_now_ns() >= hub->end;
}

static int fill_polled(struct weft_hub *hub, uint64_t now)
{
    struct pollfd *p = hub->polled;

    *p++ = (struct pollfd){.fd = now >= hub->accept_from ? hub->listener : -1, .events = POLLIN};
    for (int i = 0; i < STRANGERS; i++)
        *p++ = (struct pollfd){.fd = hub->strangers[i].fd, .events = POLLIN};
    for (int i = 0; i < hub->expected.processes; i++) {
        const struct member *member = &hub->members[i];
        const bool behind = member->fd >= 0 && member->cursor->next != NULL;
        *p++ = (struct pollfd){.fd = member->fd,
                               .events = (short)(behind ? POLLIN | POLLOUT : POLLIN)};
    }
    return (int)(p - hub->polled);
}

static void hub_round(struct weft_hub *hub)
{
    const struct pollfd *p = hub->polled;
    const bool clock_matters = hub->listener >= 0 || hub->end != UINT64_MAX;
    const int count = fill_polled(hub, weft_now_ns());

    if (poll(hub->polled, (nfds_t)count, clock_matters ? ROUND_MS : -1) < 0 && errno != EINTR) {
        weft_err(WEFT_ERR_SYSTEM, "poll of %d sockets: %s", count, strerror(errno));
        hub->failed = true;
        return;
    }
    for (int i = 0; i < hub->expected.processes; i++) {
        if (hub->members[i].fd >= 0 && p[1 + STRANGERS + i].revents & ~POLLOUT)
            hear(hub, i);
    }
    for (int i = 0; i < STRANGERS; i++) {
        if (hub->strangers[i].fd >= 0 && p[1 + i].revents != 0)
            hear_stranger(hub, &hub->strangers[i]);
    }
    if (hub->listener >= 0 && p[0].revents != 0)
        accept_some(hub);
    look_at_clock(hub, weft_now_ns());
    for (int i = 0; i < hub->expected.processes; i++) {
        if (hub->members[i].fd >= 0)
            serve(hub, i);
    }
}

static void hub_run(void *argument)
{
    struct weft_hub *hub = argument;

    weft_say_process(0);
    while (!finished(hub))
        hub_round(hub);
    if (hub->listener >= 0)
        close(hub->listener);
    for (int i = 0; i < STRANGERS; i++) {
        if (hub->strangers[i].fd >= 0)
            drop(&hub->strangers[i]);
    }
    for (int i = 0; i < hub->expected.processes; i++) {
        if (hub->members[i].fd >= 0)
            forget(hub, &hub->members[i]);
    }
}

static void destroy(struct weft_hub *hub)
{
    weft_history_end(&hub->history);
    free(hub->polled);
    free(hub->members);
    free(hub);
}

static struct weft_hub *create(const struct weft_hello *expected)
{
    const size_t processes = (size_t)expected->processes;
    struct weft_hub *hub = calloc(1, sizeof(*hub));

    if (hub == NULL)
        return NULL;
    hub->expected = *expected;
    hub->members = calloc(processes, sizeof(hub->members[0]));
    hub->polled = calloc(1 + STRANGERS + processes, sizeof(hub->polled[0]));
    if (hub->members == NULL || hub->polled == NULL || !weft_history_begin(&hub->history)) {
        destroy(hub);
        return NULL;
    }
    for (size_t i = 0; i < processes; i++)
        hub->members[i].fd = -1;
    for (int i = 0; i < STRANGERS; i++)
        hub->strangers[i].fd = -1;
    return hub;
}

weft_status weft_hub_start(struct weft_hub **hub, int listener, const struct weft_hello *expected,
                           uint64_t wait_ns, int *member)
{
    int pair[2];
    struct weft_hub *h = create(expected);

    if (h == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a job of %d processes",
                        expected->processes);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        destroy(h);
        return weft_err(WEFT_ERR_SYSTEM, "socketpair: %s", strerror(errno));
    }
    h->listener = listener;
    h->deadline = weft_now_ns() + wait_ns;
    h->end = UINT64_MAX;
    enroll(h, 0, pair[0]);
    weft_status status = weft_task_start(&h->task, "weft-hub", hub_run, h);
    if (status != WEFT_OK) {
        close(pair[0]);
        close(pair[1]);
        destroy(h);
        return status;
    }
    *member = pair[1];
    *hub = h;
    return WEFT_OK;
}

void weft_hub_finish(struct weft_hub *hub)
{
    weft_task_join(&hub->task);
    destroy(hub);
}
