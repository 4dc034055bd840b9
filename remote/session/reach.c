/*
 * remote/session/reach.c - memory of GPUs of other servers of this host: mapped at the address that
 * it has at its owner, so that copies between servers are the driver's own, and kernels reach it.
 * The owner connects to the socket of the other session, whose name nobody else can know
 * beforehand, and leaves a slab's descriptor there. Both see that the other is of the same user.
 * What is mapped anyway is only made accessible: memory of the session's other devices, and of
 * sessions of one address space, which have one driver. Session's thread only, which never waits
 * here.
 */
#include "base/sha256.h"
#include "remote/session/inside.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAITING = 64 /* descriptors that nobody has asked for */ };

/* What comes with a descriptor. */
struct note {
    uint64_t ticket, base, bytes;
};

/* ---- descriptors ----------------------------------------------------------------------------- */

/* Names the socket of the session of that process: an abstract name, made of the job's secret. */
static socklen_t name_of(const struct weft_session *session, uint64_t process,
                         struct sockaddr_un *name)
{
    const char *secret = session->links.config.secret;

    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    weft_hmac((unsigned char *)name->sun_path + 1, secret, strlen(secret), "reach", 5, &process,
              sizeof(process));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + WEFT_SHA256_BYTES);
}

void session_reach_open(struct weft_session *session)
{
    const struct weft_config *config = &session->links.config;
    struct sockaddr_un name;

    if (config->secret[0] == 0) /* processes that share an address space */
        return;
    const socklen_t bytes = name_of(session, config->process, &name);
    session->door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (session->door >= 0 && (bind(session->door, (struct sockaddr *)&name, bytes) != 0 ||
                               listen(session->door, WAITING) != 0)) {
        close(session->door);
        session->door = -1;
    }
}

static bool is_ours(int connection)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
           peer.uid == geteuid();
}

/* A message with room for one descriptor. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};
#define MESSAGE(note, control)                                                                     \
    {                                                                                              \
        .msg_iov = &(struct iovec){note, sizeof(*(note))}, .msg_iovlen = 1,                        \
        .msg_control = (control).bytes, .msg_controllen = CMSG_LEN(sizeof(int))                    \
    }

/* Leaves a descriptor at another session. Errors: NOT_READY: there is no room; NOT_SUPPORTED. */
static CUresult leave(const struct weft_session *session, uint64_t to, struct note *note, int fd)
{
    union control control = {.header = {.cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS,
                                        .cmsg_len = CMSG_LEN(sizeof(fd))}};
    const struct msghdr message = MESSAGE(note, control);
    const int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un name;
    const socklen_t bytes = name_of(session, to, &name);

    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    const bool full = connection >= 0 &&
                      connect(connection, (struct sockaddr *)&name, bytes) != 0 && errno == EAGAIN,
               left = connection >= 0 && is_ours(connection) &&
                      sendmsg(connection, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*note);
    if (connection >= 0)
        close(connection);
    return full ? CUDA_ERROR_NOT_READY : left ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* Takes the descriptor that came with the wanted note; -1: something else did. */
static int take(int connection, const struct note *wanted)
{
    union control control = {.header = {0}};
    struct note note;
    struct msghdr message = MESSAGE(&note, control);
    const ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = got >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int fd = -1;

    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    if (fd < 0 || (got == (ssize_t)sizeof(note) && memcmp(&note, wanted, sizeof(note)) == 0 &&
                   (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0))
        return fd;
    close(fd);
    return -1;
}

/* Finds the descriptor that was left with that note; -1: none. What others have left is closed. */
static int find(const struct weft_session *session, const struct note *wanted)
{
    int fd = -1;

    for (int i = 0; i < WAITING && fd < 0; i++) {
        const int connection = accept4(session->door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (connection < 0)
            break;
        if (is_ours(connection))
            fd = take(connection, wanted);
        close(connection);
    }
    return fd;
}

/* ---- calls ----------------------------------------------------------------------------------- */

SESSION_DO(export)
{
    const struct weft_ranges *slabs = &session->device[record->device].arena.slabs;
    const uint32_t i = weft_ranges_after(slabs, call->address);
    CUresult result = CUDA_SUCCESS;
    int fd = -1;

    if (call->to < 1 || call->to >= (uint64_t)session->links.processes)
        return SESSION_WRONG;
    if (!weft_ranges_has(slabs, call->address, 1))
        return CUDA_ERROR_INVALID_VALUE;
    struct note note = {++session->tickets, slabs->list[i].at, slabs->list[i].bytes};
    if (!session->links.one_address_space && call->to != (uint64_t)session->links.process) {
        result = weft_arena_export(&session->device[record->device].arena, note.base, &fd);
        if (result != CUDA_SUCCESS)
            return result;
        result = leave(session, call->to, &note, fd);
        close(fd);
    }
    call->base = note.base;
    call->bytes = note.bytes;
    call->ticket = note.ticket;
    return result;
}

/* Whether memory is a device's of this session, or of this address space: it is mapped anyway. */
static bool is_own(const struct weft_session *session, uint64_t address)
{
    bool is = session->links.one_address_space;

    for (int d = 0; d < session->count; d++)
        is |= address - session->device[d].arena.base < session->device[d].arena.span;
    return is;
}

static CUresult let(struct weft_session *session, int device, uint64_t base, uint64_t bytes,
                    bool on)
{
    const CUmemAccessDesc access = weft_arena_access(session->device[device].ordinal, on);

    return session->table->set_access(base, bytes, &access, 1);
}

/* Makes mapped memory accessible to a device, too. */
static CUresult reach(struct weft_session *session, int device, uint64_t base, uint64_t bytes)
{
    const CUresult result = let(session, device, base, bytes, true);

    if (result != CUDA_SUCCESS)
        return result;
    return weft_ranges_add(&session->device[device].reached, base, bytes)
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Returns how many devices reach what begins there; *bytes: how much that is. */
static int reached_by(const struct weft_session *session, uint64_t base, uint64_t *bytes)
{
    int count = 0;

    for (int d = 0; d < session->count; d++) {
        const struct weft_ranges *reached = &session->device[d].reached;
        const uint32_t i = weft_ranges_at(reached, base);
        if (i < reached->count) {
            *bytes = reached->list[i].bytes;
            count++;
        }
    }
    return count;
}

/* Whether a device reaches some of these bytes. */
static bool is_reached(const struct weft_session *session, uint64_t base, uint64_t bytes)
{
    for (int d = 0; d < session->count; d++) {
        const struct weft_ranges *reached = &session->device[d].reached;
        const uint32_t i = weft_ranges_after(reached, base);
        if (i < reached->count && reached->list[i].at < base + bytes)
            return true;
    }
    return false;
}

/* Keeps the addresses of the owner's arena, once: nothing of this process's is there. */
static CUresult keep(struct weft_session *session, uint64_t base, uint64_t span)
{
    CUdeviceptr got = 0;

    if (weft_ranges_has(&session->kept, base, span))
        return CUDA_SUCCESS;
    CUresult result = session->table->reserve(&got, span, 0, base, 0);
    if (result == CUDA_SUCCESS && (got != base || !weft_ranges_add(&session->kept, base, span))) {
        session->table->unreserve(got, span);
        result = CUDA_ERROR_NOT_SUPPORTED;
    }
    return result;
}

/* Maps memory from a descriptor. */
static CUresult map(struct weft_session *session, int fd, uint64_t base, uint64_t bytes)
{
    CUmemGenericAllocationHandle handle;
    CUresult result = session->table->mem_import(&handle, (void *)(intptr_t)fd,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);

    if (result != CUDA_SUCCESS)
        return result;
    result = session->table->map(base, bytes, 0, handle, 0);
    session->table->mem_release(handle); /* the mapping keeps it */
    return result;
}

/* Makes a slab accessible to a device. Ticket 0: another device of this session reaches it
 * already. */
SESSION_DO(import)
{
    const struct note wanted = {call->ticket, call->base, call->bytes};
    const uint64_t offset = call->base - call->arena;
    const bool maps = !is_own(session, call->base);
    const struct weft_ranges *own = &session->device[record->device].reached;
    uint64_t there = 0;

    if (!session_is_arena(call->arena, call->span) || call->bytes == 0 || offset >= call->span ||
        call->bytes > call->span - offset)
        return SESSION_WRONG;
    const int devices = reached_by(session, call->base, &there);
    if (call->ticket == 0 && weft_ranges_at(own, call->base) < own->count)
        return CUDA_ERROR_NOT_READY; /* it is about to lose it (unimport), and would then */
    if (call->ticket == 0)
        return devices != 0 && there == call->bytes
                   ? reach(session, record->device, call->base, call->bytes)
                   : CUDA_ERROR_INVALID_VALUE;
    const int fd = maps ? find(session, &wanted) : -1;
    if (fd < 0 && maps)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = is_reached(session, call->base, call->bytes)
                          ? CUDA_ERROR_NOT_READY /* what was there has not gone yet */
                          : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && maps)
        result = keep(session, call->arena, call->span);
    if (result == CUDA_SUCCESS && maps)
        result = map(session, fd, call->base, call->bytes);
    if (maps)
        close(fd);
    if (result != CUDA_SUCCESS)
        return result;
    result = reach(session, record->device, call->base, call->bytes);
    if (result != CUDA_SUCCESS && maps)
        session->table->unmap(call->base, call->bytes);
    return result;
}

/* Has a device no longer reach a slab, when it has done what it was given. */
static CUresult forget(struct weft_session *session, struct session_wait *wait, CUresult result)
{
    struct weft_ranges *reached = &session->device[wait->device].reached;
    const uint32_t i = weft_ranges_at(reached, wait->value);

    if (i == reached->count)
        return result;
    uint64_t bytes = reached->list[i].bytes;
    weft_ranges_drop(reached, i);
    if (reached_by(session, wait->value, &bytes) == 0 && !is_own(session, wait->value))
        session->table->unmap(wait->value, bytes);
    else
        (void)let(session, wait->device, wait->value, bytes, false);
    return result;
}

SESSION_DO(unimport)
{
    const int result = session_wait_device(session, record->device, -1, forget, call->base);
    struct session_wait now = {.device = record->device, .value = call->base};

    return result > 0 ? (int)forget(session, &now, (CUresult)result) /* its context is lost */
                      : result;
}

/* Lets go all that devices reach; they are idle. */
void session_reach_close(struct weft_session *session)
{
    for (int d = 0; d < session->count; d++) {
        while (session->device[d].reached.count > 0)
            forget(
                session,
                &(struct session_wait){.device = d, .value = session->device[d].reached.list[0].at},
                CUDA_SUCCESS);
        free(session->device[d].reached.list);
    }
    for (uint32_t i = 0; i < session->kept.count; i++)
        session->table->unreserve(session->kept.list[i].at, session->kept.list[i].bytes);
    free(session->kept.list);
    if (session->door >= 0)
        close(session->door);
}
