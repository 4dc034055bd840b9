/*
 * rank/path/proxy.h - the way through the host: a put or a notification is one command to it, with
 * what payload travels inside; and knowing when it is delivered.
 */
#ifndef WEFT_RANK_PATH_PROXY_H
#define WEFT_RANK_PATH_PROXY_H

#include "rank/copy.h"
#include "rank/path/channel.h"
#include "rank/path/command.h"

WEFT_COLD void weft_ask_await(weft_self *self, int process, uint64_t number); /* ask.h */
WEFT_COLD void weft_queue_settle(weft_self *self, int process);               /* queue.h */

/* ---- notices -------------------------------------------------------------------------------- */

/* Adds one to a tag, by rank (COUNT: target, of comm), or to a barrier word, by process (BARRIER).
 * The leader. */
WEFT_COLD void weft_proxy_count(weft_self *self, int process, enum weft_command_kind kind,
                                weft_comm comm, int target, int tag, uint32_t word)
{
    struct weft_command command = {0};

    command.kind = (uint8_t)kind;
    command.tag = (uint16_t)tag;
    command.object = comm;
    command.target = (uint32_t)target;
    command.offset = word;
    weft_post_put(self, process, &command, NULL, 0, true);
}

/* ---- what is delivered ----------------------------------------------------------------------- */

/* Has the network tell soon what of this rank's is delivered at the process. Non-blocking. */
WEFT_COLD void weft_proxy_ask(weft_self *self, int process)
{
    struct weft_command command = {0};

    if (self->settled[process] == (uint32_t)self->sent_to[process] ||
        !self->state->tells_when_asked)
        return;
    command.kind = WEFT_COMMAND_FLUSH;
    command.target = (uint32_t)process;
    weft_post(self, &command, NULL, 0, false);
}

/*
 * Waits until all that this rank sent to the process through the host is delivered there. Other
 * threads of a host program may send more meanwhile.
 */
WEFT_COLD void weft_proxy_await(weft_self *self, int process)
{
    const uint32_t sent = (uint32_t)self->sent_to[process];

    if (self->settled[process] == sent)
        return;
    const uint32_t seen = weft_await(self, &self->link->done_remote[process],
                                     ORDER_done_remote_seen, sent, WEFT_WAIT_REMOTE, process);
    if ((int32_t)(seen - sent) < 0)
        return;
    const uint32_t now = (uint32_t)self->sent_to[process];
    if (self->settled[process] != now && seen == now)
        self->unsettled--;
    self->settled[process] = seen;
    /* What is delivered is now part of what an earlier weft_fence ordered. */
    weft_channel_fence(self);
}

/*
 * Prepares a direct path to the process: the order between two ranks holds across paths, and the
 * direct path is the faster one.
 */
WEFT_COLD void weft_settle(weft_self *self, int process)
{
    weft_proxy_ask(self, process);
    weft_proxy_await(self, process);
    if (self->answered[process] != self->asked[process])
        weft_ask_await(self, process, self->asked[process]);
    if (weft_has_queues(self))
        weft_queue_settle(self, process);
}

/* ---- puts ----------------------------------------------------------------------------------- */

/* Loads up to 16 bytes of a source into two words. */
WEFT_INLINE void weft_load_within(uint64_t words[2], const void *source, size_t bytes)
{
#ifdef __CUDACC__
    const unsigned char *const from = (const unsigned char *)source;

    words[0] = words[1] = 0;
    if (bytes == 4 && ((uintptr_t)from & 3) == 0) {
        words[0] = *(const uint32_t *)from;
    } else if ((((uintptr_t)from | bytes) & 7) == 0) {
        words[0] = *(const uint64_t *)from;
        if (bytes > 8)
            words[1] = *(const uint64_t *)(from + 8);
    } else {
        words[0] = weft_load_bytes(from, bytes < 8 ? bytes : 8);
        if (bytes > 8)
            words[1] = weft_load_bytes(from + 8, bytes - 8);
    }
#else
    words[0] = words[1] = 0;
    weft_sent_shared(NULL, source, bytes);
    memcpy(words, source, bytes);
#endif
}

/* Makes the command of a put. */
WEFT_INLINE struct weft_command weft_proxy_command(weft_win win, int target, size_t offset,
                                                   const void *source,
                                                   const struct weft_shape *shape, int tag)
{
    struct weft_command command = {0};

    command.kind = WEFT_COMMAND_PUT;
    command.flags = tag >= 0 ? WEFT_COMMAND_NOTIFY : 0;
    command.tag = (uint16_t)(tag >= 0 ? tag : 0);
    command.object = win;
    command.target = (uint32_t)target;
    command.height = (uint32_t)shape->height;
    command.offset = offset;
    command.source = (uint64_t)(uintptr_t)source;
    command.width = shape->width;
    command.pitch = shape->pitch;
    command.source_pitch = shape->source_pitch;
    return command;
}

/*
 * Straight into memory of a process that is told through the host. What went there through the host
 * is delivered before, and the notification follows as a command, which releases the stores. The
 * first warp.
 */
WEFT_COLD void weft_proxy_store(weft_self *self, weft_win win, int process, int target,
                                unsigned char *to, const void *source, struct weft_shape shape,
                                int tag)
{
    const struct weft_crew crew = weft_crew_first_warp(self);

    if (crew.lane == 0 && self->unsettled != 0)
        weft_settle(self, process);
    weft_crew_meet(crew);
    weft_copy_by_crew(self, crew, to, source, &shape);
    weft_crew_meet(crew); /* the release covers what every lane copied */
    if (crew.lane != 0)
        return;
    self->stored = 1;
    shape.width = 0;
    shape.height = 1;
    if (tag >= 0) {
        struct weft_command command = weft_proxy_command(win, target, 0, NULL, &shape, tag);
        weft_post_put(self, process, &command, NULL, 0, true);
    }
    weft_turn(self);
}

/*
 * One command to the host; small contiguous payloads travel inside it, the smallest in its own
 * words. What the host will read itself is released before it. So is all that a rank has stored to
 * processes that are told through the host, which this may overwrite. A notification stands for all
 * that the rank put there; if the target's memory is mapped, everything is released before one. (By
 * value: what is passed by address to a function that is not inlined would lie in memory for the
 * fast paths, too.) The first warp.
 */
WEFT_COLD void weft_proxy_put(weft_self *self, weft_win win, struct weft_route to, int target,
                              size_t offset, const void *source, struct weft_shape shape, int tag)
{
    const bool leads = weft_leads(self);
    const bool fits = shape.height == 1 && shape.width != 0 && shape.width <= self->inline_bytes;
    const bool after = !fits || self->stored != 0 || (tag >= 0 && to.exposed != NULL);

#ifndef __CUDACC__
    /* The host program's source may be memory of the device, which only the driver reaches. */
    unsigned char fetched[WEFT_INLINE_MOST];
    if (fits && self->state->copy != NULL) {
        self->state->copy(self->state->copy_context, fetched, source, shape.width);
        source = fetched;
    }
#endif
    struct weft_out *out = weft_route_out(self, &to);
    if (leads && out != NULL)
        weft_out_drain(self, out);
    struct weft_command command = weft_proxy_command(win, target, offset, source, &shape, tag);
    if (fits && shape.width > WEFT_WITHIN_MOST) {
        command.flags |= WEFT_COMMAND_INLINE;
#ifdef __CUDACC__
        if (weft_post_by_crew(self, weft_crew_first_warp(self), &command, source,
                              (uint32_t)shape.width, after))
            weft_post_counted(self, to.process);
#else
        weft_sent_shared(NULL, source, shape.width);
        weft_post_put(self, to.process, &command, source, (uint32_t)shape.width, after);
#endif
        return;
    }
    if (!leads)
        return;
    if (fits) {
        uint64_t words[2];
        weft_load_within(words, source, shape.width);
        command.flags |= WEFT_COMMAND_WITHIN;
        command.source = words[0];
        command.source_pitch = words[1];
    }
    weft_post_put(self, to.process, &command, NULL, 0, after);
}

#endif
