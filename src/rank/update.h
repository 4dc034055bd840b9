/*
 * rank/update.h - words of another rank's memory that are updated undivided: by this rank itself
 * where it maps them and is of the kind of their owner; else the owner is asked. So all updates of
 * a word are made by processors of one kind.
 */
#ifndef WEFT_RANK_UPDATE_H
#define WEFT_RANK_UPDATE_H

#include "rank/op.h"

/* Whether this rank updates the target's memory itself: also that of a host program, which may have
 * no counter in common with it, where it maps those of that process's ranks. */
WEFT_INLINE bool weft_updates_itself(const weft_self *self, const struct weft_route *to)
{
    return to->address != NULL && (to->exposed != NULL || to->process == self->process ||
                                   (self->slot != WEFT_HOST_SLOT &&
                                    self->state->process_table[to->process].exposed != NULL));
}

/* Updates mapped memory; returns the old value. */
WEFT_INLINE uint64_t weft_update_mapped(const weft_self *self, void *address,
                                        const struct weft_change *change, bool relaxed)
{
#ifndef __CUDACC__
    if (self->state->copy != NULL) /* the host program, and memory that only a device reaches */
        return self->state->update(self->state->copy_context, address, change);
#endif
    (void)self;
    return relaxed ? weft_update_relaxed(address, change) : weft_update(address, change);
}

/* Finds the route to `bytes` bytes of aligned words; what is wrong is said. */
WEFT_INLINE struct weft_route weft_check_update(weft_self *self, weft_win win, int target,
                                                size_t offset, uint64_t bytes, uint32_t size,
                                                const char *call)
{
    weft_check_stop(self);
    const struct weft_route to = weft_route_window(self, win, target, call);

    if (WEFT_UNLIKELY(!weft_inside(offset, 0, bytes, 1, to.bytes)))
        weft_fail_bounds(self, call, 1, bytes, bytes, offset, to.bytes, target);
    if (WEFT_UNLIKELY(((to.home + offset) & (size - 1)) != 0))
        weft_fail_in(self, WEFT_ERR_ARGUMENT, call,
                     "%s: offset %llu of the window of rank %d is not aligned to %d bytes",
                     (int64_t)offset, target, (int64_t)size, 0);
    return to;
}

/* Makes the command of an ask. old: where the old value goes; NULL: nowhere, or to the link. */
WEFT_INLINE struct weft_command weft_update_command(weft_win win, int target, size_t offset,
                                                    uint64_t bytes, uint32_t how, uint32_t type,
                                                    const void *old, bool to_link)
{
    struct weft_command command = {0};

    command.tag = weft_ask_tag(how, type, to_link, -1);
    command.object = win;
    command.target = (uint32_t)target;
    command.height = 1;
    command.offset = offset;
    command.width = bytes;
    command.pitch = (uint64_t)(uintptr_t)old;
    return command;
}

/* Returns the old value that the leader has fetched. All threads. */
WEFT_INLINE uint64_t weft_update_fetched(weft_self *self)
{
    weft_join(self);
    const uint64_t fetched = self->fetched;
    weft_join(self);
    return fetched;
}

/* When the old value of a word is there. RELAXED: as NOW, and the update orders nothing. */
enum weft_when { WEFT_LATER, WEFT_NOW, WEFT_RELAXED };

/*
 * Updates one word. now: its old value is returned; else it goes to *old, which may be NULL, and
 * *op is what to wait for. All threads.
 */
WEFT_COLD uint64_t weft_update_any(weft_self *self, weft_win win, int target, size_t offset,
                                   struct weft_change change, enum weft_when now, void *old,
                                   weft_op *op, const char *call)
{
    WEFT_IN_SHARED(self);
    const uint32_t size = weft_type_bytes(change.type);
    const struct weft_route to = weft_check_update(self, win, target, offset, size, size, call);
    const bool itself = weft_updates_itself(self, &to);

    if (weft_is_private(self, old))
        weft_fail_memory(self, call, old);
    if (weft_has_queues(self) && weft_queue_reaches(self, &to)) {
        weft_join(self);
        if (weft_queue_update(self, win, &to, target, offset, &change, now != WEFT_LATER, old)) {
            if (op != NULL)
                *op = weft_op_of(self, to.process, WEFT_OP_QUEUE);
            return weft_update_fetched(self);
        }
    }
    if (itself) {
        if (weft_leads(self))
            weft_channel_clear(self, &to, to.home + offset, size);
        weft_path_meet(self, to.process);
    } else {
        weft_join(self);
    }
    if (weft_leads(self)) {
        if (itself) {
            self->fetched =
                weft_update_mapped(self, to.address + offset, &change, now == WEFT_RELAXED);
            if (to.exposed != NULL)
                weft_count_shown(to.exposed);
            if (old != NULL && size == 8)
                *(uint64_t *)old = self->fetched;
            else if (old != NULL)
                *(uint32_t *)old = (uint32_t)self->fetched;
            weft_turn(self);
        } else {
            struct weft_command command = weft_update_command(win, target, offset, size, change.how,
                                                              change.type, old, now != WEFT_LATER);
            command.flags = WEFT_COMMAND_WITHIN;
            command.source = change.value;
            command.source_pitch = change.expected;
            weft_ask_owner(self, &to, &command, NULL, 0);
            if (now)
                self->fetched = weft_ask_result(self, to.process);
        }
    }
    if (op != NULL)
        *op = itself ? weft_op_done() : weft_op_of(self, to.process, WEFT_OP_ASK);
    return weft_update_fetched(self);
}

WEFT_INLINE struct weft_change weft_change(uint32_t how, uint32_t type, uint64_t value,
                                           uint64_t expected)
{
    const struct weft_change change = {
        .value = value, .expected = expected, .how = how, .type = type};
    return change;
}

#ifdef __CUDACC__

/* Updates a mapped word whose route is known; *old: what it was. False: nothing has been done. */
WEFT_INLINE bool weft_update_cached(weft_self *self, weft_win win, int target, size_t offset,
                                    struct weft_change change, bool relaxed, uint64_t *old)
{
    const struct weft_cached *const kept = weft_route_place(self, win, target);
    const struct weft_route *const to = &kept->route;
    const uint32_t size = weft_type_bytes(change.type);

    if (!weft_route_reaches(self, kept, win, target, offset, size) || !weft_way_is_mapped(to) ||
        ((to->home + offset) & (size - 1)) != 0)
        return false;
    if (relaxed)
        __syncthreads(); /* all have what the update before brought */
    else
        weft_path_meet(self, to->process);
    if (threadIdx.x == 0) {
        void *const word = to->address + offset;
        self->fetched = relaxed ? weft_update_relaxed(word, &change) : weft_update(word, &change);
        weft_turn(self);
    }
    weft_join(self);
    *old = self->fetched; /* the next update begins with a barrier, before it changes that */
    return true;
}

#endif

/* Updates a word; returns its old value. */
WEFT_INLINE uint64_t weft_update_now(weft_self *self, weft_win win, int target, size_t offset,
                                     struct weft_change change, bool relaxed, const char *call)
{
#ifdef __CUDACC__
    uint64_t old;

    if (weft_update_cached(self, win, target, offset, change, relaxed, &old))
        return old;
#endif
    return weft_far(self, weft_update_any)(self, win, target, offset, change,
                                           relaxed ? WEFT_RELAXED : WEFT_NOW, NULL, NULL, call);
}

#define WEFT_UPDATE_CALL(name, word, type, relaxed, how, value, expected, parameters, ...)         \
    WEFT_FN word name parameters                                                                   \
    {                                                                                              \
        WEFT_TOGETHER_ALL_FOR(word, name, self, __VA_ARGS__)                                       \
        return (word)weft_update_now(self, win, target, offset,                                    \
                                     weft_change(how, type, value, expected), relaxed, #name);     \
    }
#define WEFT_UPDATE_CALLS(word, suffix, type, relaxed)                                             \
    WEFT_UPDATE_CALL(weft_fetch_add##suffix, word, type, relaxed, WEFT_SUM, value, 0,              \
                     (weft_self * self, weft_win win, int target, size_t offset, word value), win, \
                     target, offset, value)                                                        \
    WEFT_UPDATE_CALL(weft_swap##suffix, word, type, relaxed, WEFT_REPLACE, value, 0,               \
                     (weft_self * self, weft_win win, int target, size_t offset, word value), win, \
                     target, offset, value)                                                        \
    WEFT_UPDATE_CALL(                                                                              \
        weft_compare_swap##suffix, word, type, relaxed, WEFT_COMPARE, desired, expected,           \
        (weft_self * self, weft_win win, int target, size_t offset, word expected, word desired),  \
        win, target, offset, expected, desired)
WEFT_UPDATE_CALLS(uint64_t, , WEFT_U64, false)
WEFT_UPDATE_CALLS(uint32_t, _u32, WEFT_U32, false)
WEFT_UPDATE_CALLS(uint64_t, _relaxed, WEFT_U64, true)
WEFT_UPDATE_CALLS(uint32_t, _u32_relaxed, WEFT_U32, true)
#undef WEFT_UPDATE_CALLS
#undef WEFT_UPDATE_CALL

WEFT_FN weft_op weft_fetch_add_begin(weft_self *self, weft_win win, int target, size_t offset,
                                     uint64_t value, uint64_t *old)
{
    WEFT_TOGETHER_ALL_FOR(weft_op, weft_fetch_add_begin, self, win, target, offset, value, old)
    weft_op op;
    weft_update_any(self, win, target, offset, weft_change(WEFT_SUM, WEFT_U64, value, 0),
                    WEFT_LATER, old, &op, "weft_fetch_add_begin");
    return op;
}

WEFT_FN void weft_add(weft_self *self, weft_win win, int target, size_t offset, uint64_t value)
{
    WEFT_TOGETHER_ALL(weft_add, self, win, target, offset, value)
    weft_update_any(self, win, target, offset, weft_change(WEFT_SUM, WEFT_U64, value, 0),
                    WEFT_LATER, NULL, NULL, "weft_add");
}

/* ---- many words ------------------------------------------------------------------------------ */

WEFT_INLINE uint64_t weft_element(const void *source, size_t i, uint32_t size)
{
    uint64_t wide;
    uint32_t narrow;
    uint16_t half;

    if (size == 8) {
        memcpy(&wide, (const unsigned char *)source + i * 8, 8);
        return wide;
    }
    if (size == 2) {
        memcpy(&half, (const unsigned char *)source + i * 2, 2);
        return half;
    }
    memcpy(&narrow, (const unsigned char *)source + i * 4, 4);
    return narrow;
}

/* Updates mapped elements, each by a thread. old: for the old ones, on a CPU; NULL: nowhere. */
WEFT_INLINE void weft_accumulate_mapped(const weft_self *self, unsigned char *target,
                                        const void *source, void *old, size_t count, uint32_t type,
                                        uint32_t operation, bool halves)
{
    const uint32_t size = halves ? 2 : weft_type_bytes(type);

#ifdef __CUDACC__
    asm volatile("fence.acq_rel.sys;" ::: "memory");
#else
    fenv_t callers;
    if (halves)
        weft_exact_begin(&callers);
#endif
    weft_for (i, count) {
        const struct weft_change change =
            weft_change(operation, type, weft_element(source, i, size), 0);
#ifdef __CUDACC__
        if (halves)
            weft_update_half(target + i * size, &change);
        else
            weft_update_relaxed(target + i * size, &change);
#else
        const uint64_t was = weft_update_mapped(self, target + i * size, &change, false);
        if (old != NULL)
            memcpy((unsigned char *)old + i * size, &was, size);
#endif
    }
#ifdef __CUDACC__
    asm volatile("fence.acq_rel.sys;" ::: "memory");
#else
    if (halves)
        weft_exact_end(&callers);
#endif
}

/* Accumulates. halves: reals of 16 bits, known where GPUs' code is compiled; old is NULL there. */
WEFT_INLINE weft_op weft_accumulate(weft_self *self, weft_win win, int target, size_t offset,
                                    const void *source, void *old, size_t count, weft_type type,
                                    weft_operation operation, bool halves)
{
    WEFT_IN_SHARED(self);
    if (!(halves ? weft_half_exists(type, operation) : weft_change_exists(operation, type)) ||
        (source == NULL && count != 0))
        weft_fail4(self, WEFT_ERR_ARGUMENT,
                   halves ? "weft_accumulate_half_begin: type %d, operation %d, %llu elements at %p"
                          : "weft_accumulate_begin: type %d, operation %d, %llu elements at %p",
                   type, operation, (int64_t)count, (int64_t)(uintptr_t)source);
    const char *const call = halves ? "weft_accumulate_half_begin" : "weft_accumulate_begin";
    const uint32_t size = halves ? 2 : weft_type_bytes(type);
    const uint64_t bytes = count > UINT64_MAX / 8 ? UINT64_MAX : (uint64_t)count * size;
    const struct weft_route to = weft_check_update(self, win, target, offset, bytes, size, call);

    if (bytes == 0)
        return weft_op_done();
    if (weft_is_private(self, source))
        weft_fail_memory(self, call, source);
    if (weft_updates_itself(self, &to)) {
        if (weft_leads(self))
            weft_channel_clear(self, &to, to.home + offset, bytes);
        weft_path_meet(self, to.process);
        weft_accumulate_mapped(self, to.address + offset, source, old, count, type, operation,
                               halves);
        weft_join(self);
        if (weft_leads(self)) {
            if (to.exposed != NULL)
                weft_count_shown(to.exposed);
            weft_turn(self);
        }
        return weft_op_done();
    }
    weft_join(self);
    if (weft_leads(self)) {
        const uint64_t room = self->inline_bytes < WEFT_WITHIN_MOST ? (uint64_t)WEFT_WITHIN_MOST
                                                                    : self->inline_bytes / 8 * 8;
        for (uint64_t at = 0; at < bytes; at += room) {
            const uint64_t piece = bytes - at < room ? bytes - at : room;
            struct weft_command command =
                weft_update_command(win, target, offset + at, piece, operation, type,
                                    old == NULL ? NULL : (unsigned char *)old + at, false);
            weft_ask_owner(self, &to, &command, (const unsigned char *)source + at,
                           (uint32_t)piece);
        }
    }
    return weft_op_of(self, to.process, WEFT_OP_ASK);
}

WEFT_FN weft_op weft_accumulate_begin(weft_self *self, weft_win win, int target, size_t offset,
                                      const void *source, size_t count, weft_type type,
                                      weft_operation operation)
{
    WEFT_TOGETHER_ALL_FOR(weft_op, weft_accumulate_begin, self, win, target, offset, source, count,
                          type, operation)
    return weft_accumulate(self, win, target, offset, source, NULL, count, type, operation, false);
}

WEFT_FN weft_op weft_accumulate_half_begin(weft_self *self, weft_win win, int target, size_t offset,
                                           const void *source, size_t count, weft_type type,
                                           weft_operation operation)
{
    WEFT_TOGETHER_ALL_FOR(weft_op, weft_accumulate_half_begin, self, win, target, offset, source,
                          count, type, operation)
    return weft_accumulate(self, win, target, offset, source, NULL, count, type, operation, true);
}

#endif
