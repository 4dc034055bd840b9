/*
 * rank/path/command.h - commands to the host: posting them, and what a rank says by them, text and
 * errors. The leader's, but for a failure, which may be any thread's.
 */
#ifndef WEFT_RANK_PATH_COMMAND_H
#define WEFT_RANK_PATH_COMMAND_H

#include "rank/state.h"

#ifdef __CUDACC__
WEFT_INLINE void weft_ring_lock(weft_self *self)
{
    while (atomicCAS(&((struct weft_cuda_rank *)self)->posting, 0, 1) != 0)
        continue;
}
WEFT_INLINE void weft_ring_unlock(weft_self *self)
{
    __threadfence_block();
    atomicExch(&((struct weft_cuda_rank *)self)->posting, 0);
}
#else
static inline void weft_ring_lock(weft_self *self)
{
    (void)self;
}
static inline void weft_ring_unlock(weft_self *self)
{
    (void)self;
}
#endif

/* Waits for room in one of the rank's two rings, which are locked. False: the job has failed. */
WEFT_COLD bool weft_post_space(weft_self *self, struct weft_command_producer *ring, uint32_t lines)
{
    const uint32_t logs = ring == &self->logs;
    uint32_t rounds = 0;
    bool space = weft_command_space(ring, lines);

    if (!space && !weft_has_stopped(self)) { /* on a GPU a rank may log on until its next barrier */
        weft_trace_wait(self, WEFT_TRACE_ROOM, WEFT_TRACE_NOBODY, lines);
        while (!space && weft_wait_round(self, &rounds, WEFT_WAIT_SPACE, logs, ring->depth, lines))
            space = weft_command_space(ring, lines);
        weft_wait_over(self, rounds);
        weft_trace_waited(self);
    }
    return space;
}

/*
 * Puts a command into the rank's ring, waiting for room, and wakes the host. `after`: whoever acts
 * on the command sees what the rank did before it. False: the job has failed. (Where it is inlined
 * a GPU keeps the command in registers.)
 */
WEFT_INLINE bool weft_post_here(weft_self *self, const struct weft_command *command,
                                const void *payload, uint32_t payload_bytes, bool after)
{
    const uint32_t lines = weft_command_lines(payload_bytes);

    weft_ring_lock(self);
    const bool space =
        weft_command_space(&self->commands, lines) || weft_post_space(self, &self->commands, lines);
    if (space)
        weft_command_push(&self->commands, command, payload, payload_bytes, after);
    weft_ring_unlock(self);
    if (space)
        weft_posted_in_batch(self);
    return space;
}

WEFT_COLD bool weft_post(weft_self *self, const struct weft_command *command, const void *payload,
                         uint32_t payload_bytes, bool after)
{
    return weft_post_here(self, command, payload, payload_bytes, after);
}

#ifdef __CUDACC__

/* The same by a crew, of which each thread writes some words of the payload. */
WEFT_COLD bool weft_post_by_crew(weft_self *self, struct weft_crew crew,
                                 const struct weft_command *command, const void *payload,
                                 uint32_t payload_bytes, bool after)
{
    bool space = false;

    if (crew.lane == 0) {
        weft_ring_lock(self);
        space = weft_post_space(self, &self->commands, weft_command_lines(payload_bytes));
        if (space && after)
            weft_fence_release(ORDER_command_commit);
    }
    if (weft_crew_any(crew, space)) {
        weft_command_write_payload(&self->commands, (const unsigned char *)payload, payload_bytes,
                                   crew.lane, crew.lanes);
        weft_crew_meet(crew); /* all have read where to begin */
        if (crew.lane == 0)
            weft_command_write_header(&self->commands, command, payload_bytes);
    }
    if (crew.lane == 0)
        weft_ring_unlock(self);
    return space;
}

#endif

/* A command that ends as a put at `process` was posted: for flushing and settling. The leader. */
WEFT_INLINE void weft_post_counted(weft_self *self, int process)
{
    self->sent++;
    self->unsettled += (uint32_t)self->sent_to[process] == self->settled[process];
    self->sent_to[process]++;
}

WEFT_INLINE void weft_post_put(weft_self *self, int process, const struct weft_command *command,
                               const void *payload, uint32_t payload_bytes, bool after)
{
    if (weft_post_here(self, command, payload, payload_bytes, after))
        weft_post_counted(self, process);
}

/* ---- errors and text ----------------------------------------------------------------------- */

/* Whether the format prints its argument of this index by %s. */
WEFT_COLD bool weft_prints_text(const char *format, int index)
{
    for (; *format != 0; format++) {
        if (*format != '%')
            continue;
        for (format++; *format != 0 && *format != '%'; format++) { /* flags, width, length */
            const char small = (char)(*format | 32);
            if (small >= 'a' && small <= 'z' && small != 'l' && *format != 'h' && *format != 'j' &&
                *format != 'z' && *format != 't')
                break;
        }
        if (*format == 0)
            return false;
        if (*format != '%' && index-- == 0)
            return *format == 's';
    }
    return false;
}

/* What of the text has room. */
WEFT_INLINE uint32_t weft_copy_text(unsigned char *to, const char *text, uint32_t room)
{
    uint32_t length = 0;

    for (; length < room && text[length] != 0; length++)
        to[length] = (unsigned char)text[length];
    return length;
}

/* To the ring of logs, whose words the host looks at when `said` tells it to. */
WEFT_COLD bool weft_post_log(weft_self *self, const struct weft_command *command,
                             const void *payload, uint32_t payload_bytes)
{
    const uint32_t lines = weft_command_lines(payload_bytes);

    weft_ring_lock(self);
    const bool space =
        weft_command_space(&self->logs, lines) || weft_post_space(self, &self->logs, lines);
    if (space) {
        weft_command_push(&self->logs, command, payload, payload_bytes, true);
        weft_store_relaxed_u32(&self->state->signals->said[self->slot].lines, self->logs.head);
    }
    weft_ring_unlock(self);
    if (space)
        weft_posted(self);
    return space;
}

/* An error or a log, as the host expects it: format, values, text. One thread. */
WEFT_COLD bool weft_post_text(weft_self *self, enum weft_command_kind kind, uint16_t tag,
                              const char *format, int count, const weft_log_arg *args)
{
    unsigned char payload[WEFT_LOG_TEXT + WEFT_LOG_ARGS * sizeof(weft_log_arg)];
    const uint32_t length = weft_copy_text(payload, format, WEFT_LOG_TEXT);
    const uint32_t most = WEFT_LOG_TEXT + (uint32_t)count * sizeof(*args);
    uint32_t end = length + (uint32_t)count * sizeof(*args);

    for (int i = 0; i < count; i++) {
        weft_log_arg arg = args[i];
        if (arg.kind == WEFT_LOG_STRING && arg.bits != 0 && weft_prints_text(format, i)) {
            const char *const text = (const char *)(uintptr_t)arg.bits;
            arg.bits = weft_copy_text(payload + end, text, most - end);
            end += (uint32_t)arg.bits;
        } else if (arg.kind == WEFT_LOG_STRING) {
            arg.kind = WEFT_LOG_PTR;
        }
        memcpy(payload + length + (uint32_t)i * sizeof(arg), &arg, sizeof(arg));
    }

    struct weft_command command = {0};
    command.kind = (uint8_t)kind;
    command.flags = WEFT_COMMAND_INLINE;
    command.tag = tag;
    command.height = (uint32_t)count;
    command.offset = length;
    command.width = end;
    command.pitch = self->work;

    if (kind != WEFT_COMMAND_LOG)
        return weft_post(self, &command, payload, end, true);
    return weft_post_log(self, &command, payload, end);
}

WEFT_COLD void weft_fail(weft_self *self, weft_status status, const char *text, int count,
                         const weft_log_arg *args)
{
#ifdef __CUDACC__
    struct weft_cuda_rank *rank = (struct weft_cuda_rank *)self;
    if (atomicExch(&rank->failing, 1) == 0) {
#ifdef WEFT_LINES
        const weft_log_arg place = weft_name(rank->place);
        weft_post_text(self, WEFT_COMMAND_LOG, 0, "its last call is at %s", 1, &place);
#endif
        if (weft_post_text(self, WEFT_COMMAND_FAIL, (uint16_t)status, text, count, args))
            while (!weft_look_stop(self))
                continue;
    }
    while (!weft_has_stopped(self))
        continue;
    weft_exit(self);
#else
    uint32_t rounds = 0;
    weft_strand_set(0, 1, self->rank); /* who speaks is all that is left */
    weft_post_text(self, WEFT_COMMAND_FAIL, (uint16_t)status, text, count, args);
    for (;;)
        weft_wait_round(self, &rounds, WEFT_WAIT_REPLY, 0, 0, 0);
#endif
}

WEFT_COLD void weft_fail4(weft_self *self, weft_status status, const char *text, int64_t a,
                          int64_t b, int64_t c, int64_t d)
{
    weft_log_arg args[4];
    args[0] = weft_number(a);
    args[1] = weft_number(b);
    args[2] = weft_number(c);
    args[3] = weft_number(d);
    weft_fail(self, status, text, 4, args);
}

WEFT_COLD void weft_fail_in(weft_self *self, weft_status status, const char *call, const char *text,
                            int64_t a, int64_t b, int64_t c, int64_t d)
{
    weft_log_arg args[5];
    args[0] = weft_name(call);
    args[1] = weft_number(a);
    args[2] = weft_number(b);
    args[3] = weft_number(c);
    args[4] = weft_number(d);
    weft_fail(self, status, text, 5, args);
}

#endif
