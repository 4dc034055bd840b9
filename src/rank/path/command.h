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

/* Waits for room in the rank's ring, which is locked. False: the job has failed. */
WEFT_COLD bool weft_post_space(weft_self *self, uint32_t lines)
{
    uint32_t rounds = 0;
    bool space = weft_command_space(&self->commands, lines);

    if (!space) {
        weft_trace_wait(self, WEFT_TRACE_ROOM, WEFT_TRACE_NOBODY, lines);
        while (!space &&
               weft_wait_round(self, &rounds, WEFT_WAIT_SPACE, 0, self->commands.depth, lines))
            space = weft_command_space(&self->commands, lines);
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
    const bool space = weft_command_space(&self->commands, lines) || weft_post_space(self, lines);
    if (space)
        weft_command_push(&self->commands, command, payload, payload_bytes, after);
    weft_ring_unlock(self);
#ifndef __CUDACC__
    if (space && !weft_port_posted(&self->port))
        weft_bell_ring(self->state->command_bell);
#endif
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
        space = weft_post_space(self, weft_command_lines(payload_bytes));
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

/* The arguments of an error or a log, packed as the host expects them: text, then values. */
WEFT_COLD bool weft_post_text(weft_self *self, enum weft_command_kind kind, uint16_t tag,
                              const char *text, int count, const weft_log_arg *args)
{
    unsigned char payload[WEFT_LOG_TEXT + WEFT_LOG_ARGS * sizeof(weft_log_arg)];
    uint32_t length = 0;

    while (length < WEFT_LOG_TEXT && text[length] != 0) {
        payload[length] = (unsigned char)text[length];
        length++;
    }
    if (count > 0)
        memcpy(payload + length, args, (size_t)count * sizeof(*args));

    struct weft_command command = {0};
    command.kind = (uint8_t)kind;
    command.flags = WEFT_COMMAND_INLINE;
    command.tag = tag;
    command.height = (uint32_t)count;
    command.offset = length;
    command.width = length + (uint32_t)count * sizeof(*args);
    return weft_post(self, &command, payload, (uint32_t)command.width, true);
}

WEFT_COLD void weft_fail(weft_self *self, weft_status status, const char *text, int count,
                         const weft_log_arg *args)
{
#ifdef __CUDACC__
    struct weft_cuda_rank *rank = (struct weft_cuda_rank *)self;
    if (atomicExch(&rank->failing, 1) == 0) {
        if (weft_post_text(self, WEFT_COMMAND_FAIL, (uint16_t)status, text, count, args))
            while (!weft_look_stop(self))
                continue;
    }
    while ((*(volatile uint32_t *)&self->stopped & WEFT_STOPPED) == 0)
        continue;
    weft_exit(self);
#else
    uint32_t rounds = 0;
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

#endif
