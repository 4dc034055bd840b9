/*
 * kernel_api/proxy.h - the way through the host: commands, their completion, replies and errors.
 */
#ifndef WEFT_KERNEL_API_PROXY_H
#define WEFT_KERNEL_API_PROXY_H

#include "kernel_api/wait.h"

/* Puts a command into the rank's ring, waiting for room, and wakes the host. */
static inline void weft_post(weft_self *self, const struct weft_command *command,
                             const void *payload, uint32_t payload_bytes)
{
    const uint32_t lines = weft_command_lines(payload_bytes);

    if (!weft_command_space(&self->commands, lines)) {
        do
            weft_wait_round(self, WEFT_WAIT_SPACE, 0, self->commands.depth, lines);
        while (!weft_command_space(&self->commands, lines));
        weft_wait_over(self);
    }
    weft_command_push(&self->commands, command, payload, payload_bytes);
    weft_bell_ring(self->state->command_bell);
}

/* A command that ends as a put at `process`: counted, so that it can be flushed and settled. */
static inline void weft_post_put(weft_self *self, int process, const struct weft_command *command,
                                 const void *payload, uint32_t payload_bytes)
{
    weft_post(self, command, payload, payload_bytes);
    self->sent++;
    self->sent_to[process]++;
}

/*
 * Waits until all that this rank sent to the process through the host has landed there. Before
 * anything goes there by a direct path: the order between two ranks holds across paths, and the
 * direct path is the faster one. Costs two private loads when nothing is under way.
 */
static inline void weft_settle(weft_self *self, int process)
{
    const uint32_t sent = self->sent_to[process];

    if (self->settled[process] == sent)
        return;
    const uint32_t *done = &self->link->done_remote[process];
    if (weft_load_acquire_u32(done, ORDER_done_remote_seen) != sent) {
        do
            weft_wait_round(self, WEFT_WAIT_REMOTE, (uint64_t)process, self->settled[process],
                            sent);
        while (weft_load_acquire_u32(done, ORDER_done_remote_seen) != sent);
        weft_wait_over(self);
    }
    self->settled[process] = sent;
    /* What has landed is now part of what an earlier weft_fence ordered. */
    weft_fence_release(ORDER_fence);
}

/* The arguments of an error or a log, packed as the host expects them: text, then values. */
static inline void weft_post_text(weft_self *self, enum weft_command_kind kind, uint16_t tag,
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
    weft_post(self, &command, payload, (uint32_t)command.width);
}

/*
 * Reports an error with its call and numbers, and ends the rank. Does not return: the host ends
 * the job, which sets `stop`.
 */
static inline void weft_fail(weft_self *self, weft_status status, const char *text, int count,
                             const weft_log_arg *args)
{
    weft_post_text(self, WEFT_COMMAND_FAIL, (uint16_t)status, text, count, args);
    for (;;)
        weft_wait_round(self, WEFT_WAIT_REPLY, 0, 0, 0);
}

static inline weft_log_arg weft_number(int64_t value)
{
    weft_log_arg arg;
    arg.bits = (uint64_t)value;
    arg.kind = WEFT_LOG_INT;
    arg.unused = 0;
    return arg;
}

/* weft_fail with up to four numbers. */
static inline void weft_fail4(weft_self *self, weft_status status, const char *text, int64_t a,
                              int64_t b, int64_t c, int64_t d)
{
    weft_log_arg args[4];
    args[0] = weft_number(a);
    args[1] = weft_number(b);
    args[2] = weft_number(c);
    args[3] = weft_number(d);
    weft_fail(self, status, text, 4, args);
}

/* Asks the host for a collective and waits for its answer; the status goes to self->failure. */
static inline uint32_t weft_ask(weft_self *self, struct weft_command *command,
                                enum weft_collective_op op)
{
    command->kind = WEFT_COMMAND_COLLECTIVE;
    command->tag = (uint16_t)op;
    weft_post(self, command, NULL, 0);
    self->replies++;
    if (weft_load_acquire_u32(&self->link->reply, ORDER_reply_seen) != self->replies) {
        do
            weft_wait_round(self, WEFT_WAIT_REPLY, op, 0, 0);
        while (weft_load_acquire_u32(&self->link->reply, ORDER_reply_seen) != self->replies);
        weft_wait_over(self);
    }

    struct weft_answer answer;
    weft_read_shared(&answer, &self->link->answer, sizeof(answer));
    self->failure = (weft_status)answer.status;
    return answer.value;
}

#endif
