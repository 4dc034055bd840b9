/*
 * kernel_api/barrier.h - barriers in three steps: the members of a process meet at their leader,
 * the leaders of the processes meet by dissemination, each leader releases its members.
 *
 * Source of the middle step: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization"
 * (1988): in round k leader i notifies leader i + 2^k and waits for leader i - 2^k; ceil(log2 n)
 * rounds. All words are counters (window/counter.h) and only ever grow. What was consumed of a
 * leader's words is kept by process, since a later communicator may have another leader.
 */
#ifndef WEFT_KERNEL_API_BARRIER_H
#define WEFT_KERNEL_API_BARRIER_H

#include "kernel_api/notify.h"

static inline void weft_barrier_consume(weft_self *self, uint32_t word, uint32_t count,
                                        weft_comm comm)
{
    struct weft_state *state = self->state;
    uint32_t *consumed = &state->barrier_consumed[word];

    weft_wait_count(self, WEFT_BARRIER_AT + word, *consumed, count, WEFT_WAIT_BARRIER, comm);
    *consumed += count;
}

static inline void weft_barrier_leaders(weft_self *self, const struct weft_comm_entry *entry,
                                        uint32_t words)
{
    uint32_t round = 0;

    for (int32_t distance = 1; distance < entry->leaders; distance *= 2, round++) {
        const int process = entry->leader[(entry->leader_index + distance) % entry->leaders];
        const uint32_t word = words + WEFT_BARRIER_ROUND + round;
        if (weft_is_direct(self, process)) {
            weft_notify_direct(self, process, WEFT_BARRIER_AT + word, false);
        } else {
            struct weft_command command = {0};
            command.kind = WEFT_COMMAND_BARRIER;
            command.target = (uint32_t)process;
            command.offset = word;
            weft_post_put(self, process, &command, NULL, 0);
        }
        weft_barrier_consume(self, word, 1, entry->handle);
    }
}

WEFT_FN void weft_barrier(weft_self *self, weft_comm comm)
{
    const struct weft_comm_entry *entry =
        weft_check_comm(self, comm, "weft_barrier: communicator 0x%x does not exist");
    struct weft_state *state = self->state;
    const uint32_t index = weft_handle_index(comm);
    const uint32_t words = index * WEFT_BARRIER_WORDS;
    const uint32_t release = WEFT_BARRIER_AT + words + WEFT_BARRIER_RELEASE;

    if (entry->rank_of_slot[self->slot] < 0)
        weft_fail4(self, WEFT_ERR_COMM,
                   "weft_barrier: the caller is no member of communicator 0x%x", comm, 0, 0, 0);
    weft_sync(self);
    if (self->slot == entry->leader_slot) {
        if (entry->members_here > 1)
            weft_barrier_consume(self, words + WEFT_BARRIER_ARRIVE,
                                 (uint32_t)entry->members_here - 1, comm);
        weft_barrier_leaders(self, entry, words);
        if (entry->members_here > 1)
            weft_count_add_local(state, release, false);
    } else {
        weft_count_add_local(state, WEFT_BARRIER_AT + words + WEFT_BARRIER_ARRIVE, false);
        weft_wait_count(self, release, entry->released + self->barriers[index], 1,
                        WEFT_WAIT_BARRIER, comm);
    }
    self->barriers[index]++;
    weft_sync(self);
}

WEFT_FN void weft_enter(weft_self *self)
{
    weft_barrier(self, WEFT_COMM_WORLD);
}

WEFT_FN void weft_leave(weft_self *self)
{
    weft_barrier(self, WEFT_COMM_WORLD);
}

#endif
