/*
 * boot/hub.c - process 0's relay: one task polls all sockets. A member that falls too far behind is
 * lost, like one whose connection ends without a BYE: the history says so, once.
 */
#include "boot/hub.h"

#include "base/poll.h"
#include "base/say.h"
#include "base/task.h"
#include "boot/history.h"
#include "boot/listener.h"
#include "boot/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ROUND_MS = 50, AT_ONCE = 64 /* entries that one call sends */ };

static const uint64_t second = 1000000000;
static const uint64_t leave_wait = 5 * second; /* after process 0's BYE */
static const uint64_t tell_wait = second;      /* after process 0's loss */
static const uint64_t backlog_max = 64 << 20;  /* bytes that a member may be behind */

struct member {
    int fd; /* -1: has not come, has left, or is lost */
    bool came;
    uint64_t identity; /* of the process that came, by its hello */
    struct weft_stream stream;
    struct weft_history_entry *cursor;
    size_t sent; /* bytes sent of the entry after the cursor */
};

struct weft_hub {
    struct weft_task task;
    struct weft_hello expected;
    struct weft_history history;
    struct weft_listener listener; /* open until all have come */
    uint64_t deadline;             /* when all must have come; UINT64_MAX once that is settled */
    uint64_t end;      /* when to stop in any case; UINT64_MAX while process 0 is there */
    int came, present; /* members that came so far; that are there */
    bool root_lost, failed;
    struct member *members;
    struct pollfd *watched; /* sockets of the listener, then of members; room for twice as many */
};

static void append(struct weft_hub *hub, const struct weft_header *header, const void *payload)
{
    if (weft_history_append(&hub->history, header, payload))
        return;
    weft_err(WEFT_ERR_MEMORY, "no memory for a control frame of %u bytes", header->bytes);
    hub->failed = true;
}

static void tell(struct weft_hub *hub, enum weft_frame_op op, unsigned kind, int source)
{
    append(hub, &(struct weft_header){.kind = (uint16_t)kind, .source = (uint16_t)source, .op = op},
           NULL);
}

/* ---- members -------------------------------------------------------------------------------- */

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
    tell(hub, WEFT_OP_FRAME, 0, process);
    if (process == 0) {
        hub->root_lost = true;
        hub->end = weft_now_ns() + tell_wait;
    }
}

/* Relays one packet. False: the member is not there any more. */
static bool relay(struct weft_hub *hub, int process, const struct weft_header *header,
                  const void *payload)
{
    if (header->op == WEFT_OP_BYE && header->source == process) {
        forget(hub, &hub->members[process]);
        if (process == 0)
            hub->end = weft_now_ns() + leave_wait;
        return false;
    }
    if (header->op != WEFT_OP_FRAME || header->kind == 0 || header->source != process ||
        hub->listener.fd >= 0) {
        lose(hub, process, WEFT_SAY_WARN, "it sent what no member may send");
        return false;
    }
    append(hub, header, payload);
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
    int taken;
    while ((taken = weft_stream_take(&member->stream, &header, &payload)) > 0)
        if (!relay(hub, process, &header, payload))
            return;
    if (taken < 0)
        lose(hub, process, WEFT_SAY_WARN, "it sent a malformed frame");
}

/* Sends a member what it has not got yet, as far as its socket takes it: many entries at once. */
static void serve(struct weft_hub *hub, int process)
{
    struct member *member = &hub->members[process];

    while (member->cursor->next != NULL) {
        struct iovec parts[AT_ONCE];
        struct msghdr all = {.msg_iov = parts};
        for (struct weft_history_entry *e = member->cursor->next;
             e != NULL && all.msg_iovlen < AT_ONCE; e = e->next)
            parts[all.msg_iovlen++] = (struct iovec){e->wire, e->bytes};
        parts[0].iov_base = (unsigned char *)parts[0].iov_base + member->sent;
        parts[0].iov_len -= member->sent;
        const ssize_t sent = sendmsg(member->fd, &all, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno != EAGAIN && errno != EINTR)
                lose(hub, process, WEFT_SAY_INFO, strerror(errno));
            else if (hub->history.last->end - member->cursor->end > backlog_max)
                lose(hub, process, WEFT_SAY_WARN, "it does not read its control channel");
            return;
        }
        member->sent += (size_t)sent;
        while (member->cursor->next != NULL && member->sent >= member->cursor->next->bytes) {
            member->sent -= member->cursor->next->bytes;
            weft_history_pass(&hub->history, &member->cursor);
        }
    }
}

/* ---- coming in ------------------------------------------------------------------------------ */

static void enroll(struct weft_hub *hub, const struct weft_hello *hello, int fd)
{
    struct member *member = &hub->members[hello->process];

    member->fd = fd;
    member->came = true;
    member->identity = hello->identity;
    member->cursor = weft_history_join(&hub->history);
    hub->came++;
    hub->present++;
}

/*
 * Answers the listener's question whether a process may come in (boot/listener.h). When all have
 * come, nobody else can. A member that is not heard soon tries the root's other addresses as well:
 * it is in by the first of its connections, and closes none of them before it knows.
 */
static enum weft_refusal enter(void *context, const struct weft_hello *hello, int fd)
{
    struct weft_hub *hub = context;
    const struct member *member = &hub->members[hello->process];
    const struct weft_header welcome = {.op = WEFT_OP_WELCOME};
    unsigned char wire[WEFT_HEADER_BYTES];

    if (member->came && member->identity != hello->identity)
        return WEFT_REFUSAL_TAKEN;
    if (member->came && member->fd < 0)
        return WEFT_REFUSAL_LOST;
    weft_header_put(wire, &welcome);
    /* An empty socket takes 12 bytes, unless it has just ended: no loss. */
    if (member->came || send(fd, wire, sizeof(wire), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(wire)) {
        close(fd);
        return WEFT_REFUSAL_NONE;
    }
    enroll(hub, hello, fd);
    if (hub->came == hub->expected.processes) {
        tell(hub, WEFT_OP_START, 0, 0);
        hub->deadline = UINT64_MAX;
        weft_listener_shut(&hub->listener);
    }
    return WEFT_REFUSAL_NONE;
}

/* Tells those who have come that time is over for the others, or that none of them can come. */
static void give_up_waiting(struct weft_hub *hub)
{
    int missing = 0;

    while (hub->members[missing].came)
        missing++;
    const int error = hub->listener.error;
    tell(hub, WEFT_OP_REFUSED, error != 0 ? WEFT_REFUSAL_BARRED : WEFT_REFUSAL_MISSING,
         error != 0 ? error : missing);
    hub->deadline = UINT64_MAX;
}

/* Loses members whose hosts are silent, once process 0 wants to end. When its host is cut off, all
 * members fall silent, but TCP gives up each at its own time, and later if it has just been told of
 * another's loss. */
static void lose_the_silent(struct weft_hub *hub)
{
    for (int i = 1; i < hub->expected.processes; i++) {
        if (hub->members[i].fd >= 0 &&
            weft_socket_silent(hub->members[i].fd, hub->listener.silence_s))
            lose(hub, i, WEFT_SAY_INFO, "its host is silent");
    }
}

/* ---- the task ------------------------------------------------------------------------------- */

/* Whether nothing is left to do, or no time to do it. */
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

static int fill_watched(struct weft_hub *hub)
{
    struct pollfd *p = hub->watched + WEFT_LISTENER_SOCKETS;

    weft_listener_watch(&hub->listener, hub->watched);
    for (int i = 0; i < hub->expected.processes; i++) {
        const struct member *member = &hub->members[i];
        const bool behind = member->fd >= 0 && member->cursor->next != NULL;
        *p++ = (struct pollfd){.fd = member->fd,
                               .events = (short)(behind ? POLLIN | POLLOUT : POLLIN)};
    }
    return (int)(p - hub->watched);
}

static void hub_round(struct weft_hub *hub)
{
    const struct pollfd *members = hub->watched + WEFT_LISTENER_SOCKETS;
    const bool clock_matters = hub->listener.fd >= 0 || hub->end != UINT64_MAX;
    const int count = fill_watched(hub);

    if (weft_poll_open(hub->watched, (size_t)count, clock_matters ? ROUND_MS : -1) < 0) {
        if (errno == EINTR)
            return;
        weft_err(WEFT_ERR_SYSTEM, "poll of %d sockets, or fewer: %s", count, strerror(errno));
        hub->failed = true;
        return;
    }
    for (int i = 0; i < hub->expected.processes; i++) {
        if (hub->members[i].fd >= 0 && (members[i].revents & ~POLLOUT) != 0)
            hear(hub, i);
    }
    weft_listener_serve(&hub->listener, hub->watched);
    if (weft_now_ns() >= hub->deadline || (hub->listener.barred && hub->deadline != UINT64_MAX))
        give_up_waiting(hub);
    if (hub->end != UINT64_MAX)
        lose_the_silent(hub);
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
    weft_listener_shut(&hub->listener);
    for (int i = 0; i < hub->expected.processes; i++) {
        if (hub->members[i].fd >= 0)
            forget(hub, &hub->members[i]);
    }
}

static void destroy(struct weft_hub *hub)
{
    weft_history_end(&hub->history);
    free(hub->watched);
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
    hub->watched = calloc(2 * (WEFT_LISTENER_SOCKETS + processes), sizeof(hub->watched[0]));
    if (hub->members == NULL || hub->watched == NULL || !weft_history_begin(&hub->history)) {
        destroy(hub);
        return NULL;
    }
    for (size_t i = 0; i < processes; i++)
        hub->members[i].fd = -1;
    return hub;
}

/* Checks that the limit of files leaves room for a socket of each process, and both of the hub's
 * ends. */
static weft_status check_files(int processes)
{
    enum { FAR = 4096 }; /* so many are open nowhere */
    const long files = sysconf(_SC_OPEN_MAX), sockets = processes + 1L;
    long used = 0;

    if (files < 0 || files > sockets + FAR)
        return WEFT_OK;
    for (int fd = 0; fd < files; fd++)
        used += fcntl(fd, F_GETFD) >= 0;
    if (sockets <= files - used)
        return WEFT_OK;
    return weft_err(WEFT_ERR_SYSTEM,
                    "process 0 needs %ld sockets, and may have %ld files open (ulimit -n), of "
                    "which it has %ld",
                    sockets, files, used);
}

weft_status weft_hub_start(struct weft_hub **hub, int listener, const struct weft_hello *expected,
                           uint64_t wait_ns, int silence_s, int *member)
{
    int pair[2];

    WEFT_TRY(check_files(expected->processes)); /* the listener would wait for room */
    struct weft_hub *h = create(expected);
    if (h == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a job of %d processes",
                        expected->processes);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        destroy(h);
        return weft_err(WEFT_ERR_SYSTEM, "socketpair: %s", strerror(errno));
    }
    h->deadline = weft_now_ns() + wait_ns;
    h->end = UINT64_MAX;
    weft_listener_open(&h->listener, listener, &h->expected, silence_s, enter, h);
    enroll(h, &h->expected, pair[0]);
    const weft_status status = weft_task_start(&h->task, "weft-hub", hub_run, h);
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
