/*
 * rank/collective.h - windows and communicators: the rank says what it brings, its host
 * agrees with the others and answers (runtime/space/collective.c).
 */
#ifndef WEFT_RANK_COLLECTIVE_H
#define WEFT_RANK_COLLECTIVE_H

#include "rank/exchange.h"
#include "rank/put.h"

/*
 * Asks the host for a collective and waits for its answer: what all threads return. Its status goes
 * to self->failure. All threads.
 */
WEFT_COLD uint32_t weft_collective_ask(weft_self *self, struct weft_command *command,
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

WEFT_FN weft_win weft_win_create(weft_self *self, weft_comm comm, void *base, size_t bytes)
{
    WEFT_TOGETHER_ALL_FOR(weft_win, weft_win_create, self, comm, base, bytes)
    struct weft_command command = {0};

    weft_check_member(self, comm, "weft_win_create");
    if (bytes != 0 && weft_is_private(self, base))
        weft_fail_memory(self, "weft_win_create", base);
    command.object = comm;
    command.source = (uint64_t)(uintptr_t)base;
    command.width = bytes;
    return weft_far(self, weft_collective_ask)(self, &command, WEFT_COLLECTIVE_WIN_CREATE);
}

/* Frees a window. Each thread has a copy of the handle. */
WEFT_FN void weft_win_free(weft_self *self, weft_win *win)
{
    weft_win mine = *win;
    WEFT_TOGETHER_THEN(self, weft_win_free(self, &mine), *win = WEFT_WIN_NONE, mine)
    struct weft_command command = {0};
    const struct weft_window *window = weft_check_window(self, mine, "weft_win_free");

    weft_flush(self,
               mine); /* nothing of this rank may be delivered to memory that is about to go */
    weft_route_forget(self, mine);
    command.object = window->comm;
    command.offset = mine;
    weft_far(self, weft_collective_ask)(self, &command, WEFT_COLLECTIVE_WIN_FREE);
    *win = WEFT_WIN_NONE;
}

WEFT_FN weft_comm weft_comm_split(weft_self *self, weft_comm parent, int color, int key)
{
    WEFT_TOGETHER_ALL_FOR(weft_comm, weft_comm_split, self, parent, color, key)
    struct weft_command command = {0};

    weft_check_member(self, parent, "weft_comm_split");
    command.object = parent;
    command.offset = color < 0 ? UINT64_MAX : (uint64_t)color;
    command.width = (uint64_t)(int64_t)key;
    const weft_comm comm =
        weft_far(self, weft_collective_ask)(self, &command, WEFT_COLLECTIVE_COMM_SPLIT);
    if (comm != WEFT_COMM_NONE && weft_leads(self))
        self->barriers[weft_handle_index(comm)] = 0;
    return comm;
}

WEFT_FN void weft_comm_free(weft_self *self, weft_comm *comm)
{
    weft_comm mine = *comm;
    WEFT_TOGETHER_THEN(self, weft_comm_free(self, &mine), *comm = WEFT_COMM_NONE, mine)
    struct weft_command command = {0};

    weft_check_member(self, mine, "weft_comm_free");
    if (mine == WEFT_COMM_WORLD || mine == WEFT_COMM_DEVICE || mine == WEFT_COMM_HOST)
        weft_fail_comm(self, "weft_comm_free", "%s: %s is built in", mine);
    const struct weft_coll_known *const known =
        self->exchange != NULL ? weft_coll_known_of(self, mine) : NULL;
    if (known != NULL && weft_coll_has_window(self, known, mine)) {
        weft_win win = known->win;
        weft_win_free(self, &win);
    }
    command.object = mine;
    weft_join(self);
    weft_route_forget(self, mine);
    struct weft_meeting *const meeting = &self->meeting[mine % WEFT_MEETINGS];
    if (weft_leads(self) && meeting->comm == (mine ^ self->tracer.alias))
        meeting->comm = WEFT_COMM_NONE;
    weft_far(self, weft_collective_ask)(self, &command, WEFT_COLLECTIVE_COMM_FREE);
    *comm = WEFT_COMM_NONE;
}

WEFT_FN weft_status weft_failure(weft_self *self)
{
    return self->failure;
}

#endif
