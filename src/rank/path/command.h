/*
 * rank/path/command.h - commands to the host: posting them, and what a rank says by them, text and
 * errors. The leader's, but for a failure, which may be any thread's.
 */
#ifndef WEFT_RANK_PATH_COMMAND_H
#define WEFT_RANK_PATH_COMMAND_H

#include "rank/fail.h"
#include "rank/wait/wait.h"

WEFT_INLINE void weft_ring_lock(weft_self *self)
{
    (void)self;
#ifdef __CUDACC__
    while (atomicCAS(&((struct weft_cuda_rank *)self)->posting, 0, 1) != 0)
        continue;
#endif
}

WEFT_INLINE void weft_ring_unlock(weft_self *self)
{
    (void)self;
#ifdef __CUDACC__
    __threadfence_block();
    atomicExch(&((struct weft_cuda_rank *)self)->posting, 0);
#endif
}

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

/* Posts as weft_post, by a crew, of which each thread writes some words of the payload. */
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

/* Counts a command that ends as a put at `process`, for flushing and settling. The leader. */
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

/* Returns how much of the text has room. */
WEFT_INLINE uint32_t weft_text_bytes(const char *text, uint32_t room)
{
    uint32_t length = 0;

    while (length < room && text[length] != 0)
        length++;
    return length;
}

/* Gives a value as the host expects it: of a text it says how much has room, which it takes. */
WEFT_COLD weft_log_arg weft_text_value(const char *format, const weft_log_arg *args, int i,
                                       uint32_t *room)
{
    weft_log_arg value = args[i];

    if (value.kind != WEFT_LOG_STRING)
        return value;
    if (value.bits == 0 || !weft_prints_text(format, i))
        return weft_value(value.bits, WEFT_LOG_PTR);
    value.bits = weft_text_bytes((const char *)(uintptr_t)value.bits, *room);
    *room -= (uint32_t)value.bits;
    return value;
}

/*
 * Posts an error or a log: format, values, text. Logs have a ring of their own, whose words the
 * host looks at when `said` tells it to. One thread. False: the job has failed.
 */
WEFT_COLD bool weft_post_text(weft_self *self, enum weft_command_kind kind, uint16_t tag,
                              const char *format, int count, const weft_log_arg *args)
{
    const bool log = kind == WEFT_COMMAND_LOG;
    struct weft_command_producer *const ring = log ? &self->logs : &self->commands;
    const uint32_t length = weft_text_bytes(format, WEFT_LOG_TEXT);
    const uint32_t values = (uint32_t)count * sizeof(*args);
    uint32_t left = WEFT_LOG_TEXT - length;

    for (int i = 0; i < count; i++)
        weft_text_value(format, args, i, &left);

    struct weft_command command = {0};
    const uint32_t bytes = WEFT_LOG_TEXT - left + values, lines = weft_command_lines(bytes);
    command.kind = (uint8_t)kind;
    command.flags = WEFT_COMMAND_INLINE;
    command.tag = tag;
    command.height = (uint32_t)count;
    command.offset = length;
    command.width = bytes;
    command.pitch = self->work;

    weft_ring_lock(self);
    const bool space = weft_command_space(ring, lines) || weft_post_space(self, ring, lines);
    if (space) {
        struct weft_payload text = {.ring = ring};
        uint32_t again = bytes - length - values, last = again; /* no more, if texts change */
#ifdef __CUDACC__
        weft_fence_release(ORDER_command_commit);
#endif
        weft_payload_add(&text, format, length);
        for (int i = 0; i < count; i++) {
            const weft_log_arg value = weft_text_value(format, args, i, &again);
            weft_payload_add(&text, &value, sizeof(value));
        }
        for (int i = 0; i < count; i++) {
            const weft_log_arg value = weft_text_value(format, args, i, &last);
            if (value.kind == WEFT_LOG_STRING)
                weft_payload_add(&text, (const void *)(uintptr_t)args[i].bits,
                                 (uint32_t)value.bits);
        }
        weft_payload_add(&text, NULL, (lines - 1) * WEFT_LINE_BYTES - text.bytes);
        weft_command_write_header(ring, &command, bytes);
        if (log)
            weft_store_relaxed_u32(&self->state->signals->said[self->slot].lines, ring->head);
    }
    weft_ring_unlock(self);
    if (space && log)
        weft_posted(self);
    else if (space)
        weft_posted_in_batch(self);
    return space;
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
    const weft_log_arg args[] = {weft_number(a), weft_number(b), weft_number(c), weft_number(d)};
    weft_fail(self, status, text, 4, args);
}

WEFT_COLD void weft_fail_in(weft_self *self, weft_status status, const char *call, const char *text,
                            int64_t a, int64_t b, int64_t c, int64_t d)
{
    const weft_log_arg args[] = {weft_name(call), weft_number(a), weft_number(b), weft_number(c),
                                 weft_number(d)};
    weft_fail(self, status, text, 5, args);
}

#endif
