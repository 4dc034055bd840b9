/*
 * pgas/api.h - the calls of weft/pgas.h that ranks make. For GPUs that header includes this one, so
 * that they are compiled into each kernel; for the CPU device they are compiled once, in api.c.
 *
 * A call finds where its pointer leads, and is then the call of weft/device.h on that window.
 */
#ifndef WEFT_PGAS_API_H
#define WEFT_PGAS_API_H

#include "pgas/lock.h"
#include "rank/path/dispatch.h"
#include "rank/together.h"
#ifdef __CUDACC__
#include "rank/api.h"
#endif

WEFT_COLD void weft_fail_gptr(weft_self *self, const char *call, const struct weft_gfault *fault)
{
    weft_log_arg arg[6];

    arg[0] = weft_name(call);
    for (int i = 0; i < 5; i++)
        arg[1 + i] = weft_number(fault->n[i]);
    weft_fail(self, fault->status, fault->text, 6, arg);
}

WEFT_INLINE struct weft_gplace weft_gptr_rows(weft_self *self, const weft_gspace *space,
                                              weft_gptr g, uint64_t width, uint64_t pitch,
                                              uint64_t height, const char *call)
{
    struct weft_gplace to = {.win = 0};
    struct weft_gfault fault;

    if (WEFT_UNLIKELY(!weft_gptr_find(space, g, width, pitch, height, &to, &fault)))
        weft_fail_gptr(self, call, &fault);
    return to;
}

WEFT_INLINE struct weft_gplace weft_gptr_to(weft_self *self, const weft_gspace *space, weft_gptr g,
                                            uint64_t bytes, const char *call)
{
    return weft_gptr_rows(self, space, g, bytes, 0, 1, call);
}

/* ---- this place's heap ----------------------------------------------------------------------- */

WEFT_FN weft_gptr weft_local_alloc(weft_self *self, weft_gspace *space, size_t bytes)
{
    WEFT_TOGETHER_FOR(weft_gptr, self, weft_local_alloc(self, space, bytes), bytes)
    WEFT_SHARED(uint64_t, offset, 1);

    weft_check_stop(self);
    if (weft_leads(self))
        *offset = weft_buddy_take(&space->buddy, bytes, self->slot);
    weft_sync(self);
    const uint64_t at = *offset;
    weft_sync(self);
    if (at == WEFT_BUDDY_NONE)
        return weft_gptr_null();
    return weft_gptr_make(space->me, 0, 0, space->from + at);
}

WEFT_FN void weft_local_free(weft_self *self, weft_gspace *space, weft_gptr g)
{
    WEFT_TOGETHER(self, weft_local_free(self, space, g), g.offset)
    weft_check_stop(self);
    if (weft_gptr_is_null(g))
        return;
    weft_gptr_to(self, space, g, 0, "weft_local_free");
    weft_sync(self);
    if (!weft_leads(self))
        return;
    if (g.segment != 0 || weft_gptr_place(g) != space->me || g.offset < space->from ||
        !weft_buddy_give(&space->buddy, g.offset - space->from, self->slot))
        weft_fail4(
            self, WEFT_ERR_ARGUMENT,
            "weft_local_free: offset %lld of segment %lld at place %lld is not the beginning "
            "of a block of place %lld",
            (int64_t)g.offset, g.segment, weft_gptr_place(g), space->me);
}

WEFT_FN void *weft_gaddress(weft_self *self, const weft_gspace *space, weft_gptr g)
{
    const struct weft_gplace to = weft_gptr_to(self, space, g, 0, "weft_gaddress");
    unsigned char *const base = (unsigned char *)weft_ptr(self, to.win, to.member);

    return base != NULL ? base + to.offset : NULL;
}

/* ---- data ------------------------------------------------------------------------------------ */

WEFT_FN void weft_gput(weft_self *self, const weft_gspace *space, weft_gptr g, const void *source,
                       size_t bytes)
{
    const struct weft_gplace to = weft_gptr_to(self, space, g, bytes, "weft_gput");

    weft_put(self, to.win, to.member, to.offset, source, bytes);
}

WEFT_FN void weft_gget(weft_self *self, const weft_gspace *space, weft_gptr g, void *to,
                       size_t bytes)
{
    const struct weft_gplace from = weft_gptr_to(self, space, g, bytes, "weft_gget");

    weft_get(self, from.win, from.member, from.offset, to, bytes);
}

WEFT_FN weft_op weft_gput_begin(weft_self *self, const weft_gspace *space, weft_gptr g,
                                const void *source, size_t bytes)
{
    const struct weft_gplace to = weft_gptr_to(self, space, g, bytes, "weft_gput_begin");

    return weft_put_begin(self, to.win, to.member, to.offset, source, bytes);
}

WEFT_FN weft_op weft_gget_begin(weft_self *self, const weft_gspace *space, weft_gptr g, void *to,
                                size_t bytes)
{
    const struct weft_gplace from = weft_gptr_to(self, space, g, bytes, "weft_gget_begin");

    return weft_get_begin(self, from.win, from.member, from.offset, to, bytes);
}

WEFT_FN weft_op weft_gput_2d_begin(weft_self *self, const weft_gspace *space, weft_gptr g,
                                   size_t pitch, const void *source, size_t source_pitch,
                                   size_t width, size_t height)
{
    const struct weft_gplace to =
        weft_gptr_rows(self, space, g, width, pitch, height, "weft_gput_2d_begin");

    weft_put_2d(self, to.win, to.member, to.offset, pitch, source, source_pitch, width, height);
    return weft_put_begin(self, to.win, to.member, to.offset, source, 0); /* behind it */
}

WEFT_FN weft_op weft_gget_2d_begin(weft_self *self, const weft_gspace *space, weft_gptr g,
                                   size_t pitch, void *to, size_t to_pitch, size_t width,
                                   size_t height)
{
    const struct weft_gplace from =
        weft_gptr_rows(self, space, g, width, pitch, height, "weft_gget_2d_begin");

    return weft_get_2d_begin(self, from.win, from.member, from.offset, pitch, to, to_pitch, width,
                             height);
}

WEFT_FN void weft_gput_notify(weft_self *self, const weft_gspace *space, weft_gptr g,
                              const void *source, size_t bytes, int rank, int tag)
{
    const struct weft_gplace to = weft_gptr_to(self, space, g, bytes, "weft_gput_notify");
    const int place = weft_gptr_place(g), first = weft_process_first(self, place);

    if (WEFT_UNLIKELY(rank < first || rank >= first + weft_process_ranks(self, place)))
        weft_fail4(self, WEFT_ERR_RANK, "weft_gput_notify: rank %lld is none of place %lld", rank,
                   place, 0, 0);
    weft_put(self, to.win, to.member, to.offset, source, bytes);
    weft_notify(self, WEFT_COMM_WORLD, rank, tag); /* one process: in the order sent */
}

/* One flush waits for the puts to all windows. The model is told of each. */
WEFT_FN void weft_gflush(weft_self *self, const weft_gspace *space)
{
    weft_flush(self, space->win);
#ifndef __CUDACC__
    for (uint32_t i = 1; WEFT_UNLIKELY(weft_model != NULL) && i < space->segments; i++) {
        const struct weft_gsegment *const segment = weft_gsegment_at(space, i);
        if (segment->known && segment->win != space->win)
            weft_flush(self, segment->win);
    }
#endif
}

/* ---- updates --------------------------------------------------------------------------------- */

WEFT_FN uint64_t weft_gfetch_add(weft_self *self, const weft_gspace *space, weft_gptr g,
                                 uint64_t value)
{
    const struct weft_gplace to = weft_gptr_to(self, space, g, 8, "weft_gfetch_add");

    return weft_fetch_add(self, to.win, to.member, to.offset, value);
}

WEFT_FN uint64_t weft_gswap(weft_self *self, const weft_gspace *space, weft_gptr g, uint64_t value)
{
    const struct weft_gplace to = weft_gptr_to(self, space, g, 8, "weft_gswap");

    return weft_swap(self, to.win, to.member, to.offset, value);
}

WEFT_FN uint64_t weft_gcompare_swap(weft_self *self, const weft_gspace *space, weft_gptr g,
                                    uint64_t expected, uint64_t desired)
{
    const struct weft_gplace to = weft_gptr_to(self, space, g, 8, "weft_gcompare_swap");

    return weft_compare_swap(self, to.win, to.member, to.offset, expected, desired);
}

WEFT_FN weft_op weft_gaccumulate(weft_self *self, const weft_gspace *space, weft_gptr g,
                                 const void *source, size_t count, weft_type type,
                                 weft_operation operation)
{
    const uint64_t size = weft_type_bytes((uint32_t)type);
    const struct weft_gplace to = weft_gptr_to(
        self, space, g, count > UINT64_MAX / 8 ? UINT64_MAX : count * size, "weft_gaccumulate");

    return weft_accumulate_begin(self, to.win, to.member, to.offset, source, count, type,
                                 operation);
}

/* ---- locks: lock.h --------------------------------------------------------------------------- */

WEFT_FN int weft_glock_try(weft_self *self, const weft_gspace *space, const weft_glock *lock)
{
    return weft_gcompare_swap(self, space, lock->memory.base, 0,
                              weft_glock_who(space->me, self->slot)) == 0;
}

WEFT_FN void weft_glock_acquire(weft_self *self, const weft_gspace *space, const weft_glock *lock)
{
    const uint64_t me = weft_glock_who(space->me, self->slot);
    const weft_gptr granted = weft_glock_word(lock, me, WEFT_GLOCK_GRANTED);
    const uint64_t before = weft_gswap(self, space, lock->memory.base, me);

    if (before == 0)
        return;
    weft_gswap(self, space, weft_glock_word(lock, before, WEFT_GLOCK_NEXT), me);
    weft_glock_await(self, space, granted);
}

WEFT_FN void weft_glock_release(weft_self *self, const weft_gspace *space, const weft_glock *lock)
{
    const uint64_t me = weft_glock_who(space->me, self->slot);
    const weft_gptr word = weft_glock_word(lock, me, WEFT_GLOCK_NEXT);

    weft_gflush(self, space);
    if (!weft_glock_give(self, space, lock, me, word))
        weft_fail4(self, WEFT_ERR_STATE, "weft_glock_release: nobody has the lock", 0, 0, 0, 0);
}

#endif
