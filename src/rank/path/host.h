/*
 * rank/path/host.h - the way through the host: commands, their completion, replies and errors.
 */
#ifndef WEFT_RANK_PATH_HOST_H
#define WEFT_RANK_PATH_HOST_H

#include "rank/wait/wait.h"

/* ---- commands: the leader's, but for a failure, which may be any thread's ------------------ */

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
    self->unsettled += self->sent_to[process] == self->settled[process];
    self->sent_to[process]++;
}

WEFT_INLINE void weft_post_put(weft_self *self, int process, const struct weft_command *command,
                               const void *payload, uint32_t payload_bytes, bool after)
{
    if (weft_post_here(self, command, payload, payload_bytes, after))
        weft_post_counted(self, process);
}

/* A barrier's notice, from within any kernel. */
WEFT_COLD void weft_post_barrier(weft_self *self, int process, uint32_t word)
{
    struct weft_command command = {0};

    command.kind = WEFT_COMMAND_BARRIER;
    command.target = (uint32_t)process;
    command.offset = word;
    weft_post_put(self, process, &command, NULL, 0, true);
}

/* A fence, after which messages through channels stand for what came before it. The leader. */
WEFT_INLINE void weft_fence_said(weft_self *self)
{
    weft_fence_release(ORDER_fence);
    for (int i = 0; self->eager_bytes != 0 && i < WEFT_CHANNELS_OUT; i++)
        self->out[i].dirty |= WEFT_OUT_SAY;
}

/* Has the network tell soon what of this rank's has landed at the process. Non-blocking. */
WEFT_COLD void weft_ask_landed(weft_self *self, int process)
{
    struct weft_command command = {0};

    if (self->settled[process] == self->sent_to[process] || !self->state->lands_when_asked)
        return;
    command.kind = WEFT_COMMAND_FLUSH;
    command.target = (uint32_t)process;
    weft_post(self, &command, NULL, 0, false);
}

/* Waits until all that this rank sent to the process through the host has landed there. */
WEFT_COLD void weft_await_landed(weft_self *self, int process)
{
    const uint32_t sent = self->sent_to[process];
    uint32_t *done = &self->link->done_remote[process];

    if (self->settled[process] == sent)
        return;
    weft_trace_wait(self, WEFT_TRACE_LANDED, process, 0);
    uint32_t rounds = 0, seen = weft_load_acquire_u32(done, ORDER_done_remote_seen);
    while (seen != sent &&
           weft_wait_round(self, &rounds, WEFT_WAIT_REMOTE, (uint64_t)process, seen, sent))
        seen = weft_load_acquire_u32(done, ORDER_done_remote_seen);
    weft_wait_over(self, rounds);
    weft_trace_waited(self);
    if (seen != sent)
        return;
    self->settled[process] = sent;
    self->unsettled--;
    /* What has landed is now part of what an earlier weft_fence ordered. */
    weft_fence_said(self);
}

/*
 * Before anything goes to the process by a direct path: the order between two ranks holds across
 * paths, and the direct path is the faster one.
 */
WEFT_COLD void weft_settle(weft_self *self, int process)
{
    weft_ask_landed(self, process);
    weft_await_landed(self, process);
}

WEFT_COLD void weft_meet_late(weft_self *self, int process)
{
    weft_tell_news(self);
    if (self->unsettled != 0)
        weft_settle(self, process);
}

/*
 * The barrier before something goes to a process by another way than the host: what all threads did
 * before the call comes before it, and so does what went through the host.
 */
WEFT_INLINE void weft_meet(weft_self *self, int process)
{
    if (weft_leads(self) && WEFT_UNLIKELY((self->unsettled | self->news) != 0))
        weft_meet_late(self, process);
    weft_join(self);
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

/*
 * Reports an error with its call and numbers, and ends the rank. Does not return: the host ends
 * the job, which sets `stop`. By all threads of the rank or by any of them: on a GPU the first
 * one speaks, and each ends by itself; threads that did not fail end in their next call.
 */
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

WEFT_INLINE weft_log_arg weft_number(int64_t value)
{
    weft_log_arg arg;
    arg.bits = (uint64_t)value;
    arg.kind = WEFT_LOG_INT;
    arg.unused = 0;
    return arg;
}

/* weft_fail with up to four numbers. */
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

/* ---- collectives --------------------------------------------------------------------------- */

/*
 * Asks the host for a collective and waits for its answer: what all threads return. Its status goes
 * to self->failure. All threads.
 */
WEFT_COLD uint32_t weft_ask(weft_self *self, struct weft_command *command,
                            enum weft_collective_op op)
{
    weft_join(self);
    if (weft_leads(self)) {
        weft_trace_enter(self, WEFT_TRACE_COLLECTIVE, -1, op);
        command->kind = WEFT_COMMAND_COLLECTIVE;
        command->tag = (uint16_t)op;
        weft_post(self, command, NULL, 0, true);
        self->replies++;
        const uint32_t *reply = &self->link->reply;
        uint32_t rounds = 0;
        while (weft_load_acquire_u32(reply, ORDER_reply_seen) != self->replies &&
               weft_wait_round(self, &rounds, WEFT_WAIT_REPLY, op, command->object, 0))
            continue;
        weft_wait_over(self, rounds);

        struct weft_answer answer;
        weft_read_shared(&answer, &self->link->answer, sizeof(answer));
        self->failure = (weft_status)answer.status;
        self->result = answer.value;
        weft_trace_leave(self);
    }
    weft_join(self);
    const uint32_t result = self->result;
    weft_join(self); /* nobody asks again before all have read it */
    return result;
}

#endif
