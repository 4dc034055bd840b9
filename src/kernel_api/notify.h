/*
 * kernel_api/notify.h - one more notification for a rank, by the fastest path that keeps the order,
 * and consuming them.
 */
#ifndef WEFT_KERNEL_API_NOTIFY_H
#define WEFT_KERNEL_API_NOTIFY_H

#include "kernel_api/check.h"

/*
 * Adds one to a counter of a process that is reached without the host. All earlier puts of this
 * rank to it that went through the host have landed first (weft_settle).
 */
static inline void weft_notify_direct(weft_self *self, int process, uint32_t index, bool relaxed)
{
    struct weft_state *state = self->state;

    if (process == state->process) {
        weft_count_add_local(state, index, relaxed);
    } else {
        weft_settle(self, process);
        weft_count_add_peer(state->process_table[process].exposed, index, relaxed);
    }
}

static inline bool weft_is_direct(const weft_self *self, int process)
{
    return process == self->state->process || self->state->process_table[process].exposed != NULL;
}

static inline void weft_notify_any(weft_self *self, weft_comm comm, int target, int tag,
                                   bool relaxed)
{
    const struct weft_comm_entry *entry =
        weft_check_comm(self, comm, "weft_notify: communicator 0x%x does not exist");
    weft_check_rank(self, target, entry->members,
                    "weft_notify: target %d is not one of the communicator's %d ranks");
    weft_check_tag(self, tag, "weft_notify: tag %d is not in 0..255");
    weft_sync(self); /* the release below covers what every thread of the rank did */

    const struct weft_member to = entry->member[target];
    weft_port_turn(&self->port);
    if (weft_is_direct(self, to.process)) {
        weft_notify_direct(self, to.process, weft_count_index(to.slot, (uint32_t)tag), relaxed);
    } else {
        struct weft_command command = {0};
        command.kind = WEFT_COMMAND_COUNT;
        command.tag = (uint16_t)tag;
        command.object = comm;
        command.target = (uint32_t)target;
        weft_post_put(self, to.process, &command, NULL, 0);
    }
}

WEFT_FN void weft_notify(weft_self *self, weft_comm comm, int target, int tag)
{
    weft_notify_any(self, comm, target, tag, false);
}

WEFT_FN void weft_notify_relaxed(weft_self *self, weft_comm comm, int target, int tag)
{
    weft_notify_any(self, comm, target, tag, true);
}

WEFT_FN void weft_wait(weft_self *self, int tag, uint32_t count)
{
    weft_check_stop(self);
    weft_check_tag(self, tag, "weft_wait: tag %d is not in 0..255");
    weft_wait_count(self, weft_count_index(self->slot, (uint32_t)tag), self->consumed[tag], count,
                    WEFT_WAIT_TAG, (uint64_t)tag);
    self->consumed[tag] += count;
    weft_sync(self);
}

WEFT_FN int weft_test(weft_self *self, int tag, uint32_t count)
{
    weft_check_stop(self);
    weft_check_tag(self, tag, "weft_test: tag %d is not in 0..255");
    const uint32_t index = weft_count_index(self->slot, (uint32_t)tag);
    const bool there = weft_count_read(self->state, index) - self->consumed[tag] >= count;
    if (there) {
        self->consumed[tag] += count;
        weft_port_waited(&self->port);
    } else {
        weft_port_poll(&self->port); /* loops around weft_test must let others run */
    }
    weft_sync(self);
    return there;
}

static inline bool weft_compares(uint64_t value, weft_compare how, uint64_t with)
{
    switch (how) {
    case WEFT_EQ:
        return value == with;
    case WEFT_NE:
        return value != with;
    case WEFT_GT:
        return value > with;
    case WEFT_GE:
        return value >= with;
    case WEFT_LT:
        return value < with;
    case WEFT_LE:
        return value <= with;
    }
    return false;
}

static inline uint64_t weft_watch(const void *address, bool wide)
{
    return wide ? weft_load_acquire_u64((const uint64_t *)address, ORDER_watch)
                : weft_load_acquire_u32((const uint32_t *)address, ORDER_watch);
}

static inline void weft_wait_value(weft_self *self, const void *address, bool wide,
                                   weft_compare how, uint64_t value)
{
    weft_check_stop(self);
    if (address == NULL || ((uintptr_t)address & (wide ? 7 : 3)) != 0 || how < WEFT_EQ ||
        how > WEFT_LE)
        weft_fail4(self, WEFT_ERR_ARGUMENT,
                   "weft_wait_until: address 0x%llx must be aligned to %d, comparison %d known",
                   (int64_t)(uintptr_t)address, wide ? 8 : 4, how, 0);
    uint64_t there = weft_watch(address, wide);
    if (!weft_compares(there, how, value)) {
        do {
            weft_wait_round(self, WEFT_WAIT_UNTIL, (uint64_t)(uintptr_t)address, there, value);
            there = weft_watch(address, wide);
        } while (!weft_compares(there, how, value));
        weft_wait_over(self);
    }
    weft_sync(self);
}

WEFT_FN void weft_wait_until(weft_self *self, const uint64_t *address, weft_compare how,
                             uint64_t value)
{
    weft_wait_value(self, address, true, how, value);
}

WEFT_FN void weft_wait_until_u32(weft_self *self, const uint32_t *address, weft_compare how,
                                 uint32_t value)
{
    weft_wait_value(self, address, false, how, value);
}

#endif
