/*
 * coll/fold.h - elements of several ranks put together, always in the same order: those of
 * WEFT_COLL_GROUP ranks that follow each other, one after the other, then what came of the groups.
 *
 * Of few elements, the threads of a GPU load those of many ranks at once, and put the groups
 * together side by side, in shared memory. Of many, a thread has some elements and loads those of
 * several ranks before it puts them together. The result is the same.
 */
#ifndef WEFT_COLL_FOLD_H
#define WEFT_COLL_FOLD_H

#include "coll/elements.h"

/* How elements are put together. sum: by WEFT_SUM, and it is known where this is compiled, as the
 * type is. every: there may be more ranks than places. */
struct weft_coll_how {
    uint32_t type;
    bool sum, every;
};

WEFT_INLINE uint64_t weft_coll_put_together(uint64_t a, uint64_t b, uint32_t type, uint32_t how)
{
    const struct weft_change change = {.value = b, .how = how, .type = type};
    return weft_change_of(a, &change);
}

/* Puts two elements together by an operation that is not compiled apart for a type. */
WEFT_COLD uint64_t weft_coll_put_any(uint64_t a, uint64_t b, uint32_t type, uint32_t how)
{
    return weft_coll_put_together(a, b, type, how);
}
WEFT_INLINE uint64_t weft_coll_put(const struct weft_coll *c, uint64_t a, uint64_t b,
                                   struct weft_coll_how how)
{
    return how.sum ? weft_coll_put_together(a, b, how.type, WEFT_SUM)
                   : weft_coll_put_any(a, b, how.type, c->call.operation);
}

/* Has all that a thread has begun to load under way before any of it is used: the compiler would
 * else wait for the first to come before it loads the last. */
WEFT_INLINE void weft_coll_loaded(void)
{
#ifdef __CUDACC__
    __syncwarp(__activemask());
#endif
}

/* Loads a thread's elements of n ranks from `first` on: rank j's to one[j * WEFT_COLL_DEEP]. */
WEFT_INLINE void weft_coll_load_group(const weft_self *self, const struct weft_coll *c,
                                      const struct weft_coll_from *from,
                                      const struct weft_coll_shared *shared, int32_t first,
                                      int32_t n, size_t at, uint32_t deep, uint32_t size,
                                      bool every, uint64_t *one)
{
    const unsigned char *place[WEFT_COLL_GROUP];

    WEFT_UNROLL
    for (int32_t j = 0; j < WEFT_COLL_GROUP; j++) {
        const int32_t i = first + (j < n ? j : n - 1); /* no branch between the loads */
        place[j] = every && WEFT_UNLIKELY(i >= WEFT_COLL_PLACES) ? weft_coll_at(self, c, from, i)
                                                                 : shared->place[i];
    }
    weft_coll_loaded();
    WEFT_UNROLL
    for (int32_t j = 0; j < WEFT_COLL_GROUP; j++) {
#ifndef __CUDACC__
        if (j >= n)
            break;
        weft_used_shared(place[j] + at * size, deep * size);
#endif
        for (uint32_t k = 0; k < deep; k++)
            one[j * WEFT_COLL_DEEP + (int32_t)k] = weft_coll_load(place[j], at + k, size);
    }
    weft_coll_loaded();
}

/* Puts a thread's elements of a group of ranks together: part[k] is of element at + k. */
WEFT_INLINE void weft_coll_fold_group(const weft_self *self, const struct weft_coll *c,
                                      const struct weft_coll_from *from,
                                      const struct weft_coll_shared *shared, int32_t first,
                                      int32_t left, size_t at, uint32_t deep,
                                      struct weft_coll_how how, uint64_t *part)
{
    const int32_t n = left < WEFT_COLL_GROUP ? left : WEFT_COLL_GROUP;
    uint64_t one[WEFT_COLL_GROUP * WEFT_COLL_DEEP];

    weft_coll_load_group(self, c, from, shared, first, n, at, deep, weft_type_bytes(how.type),
                         how.every, one);
    for (uint32_t k = 0; k < deep; k++)
        part[k] = one[k];
    WEFT_UNROLL
    for (int32_t j = 1; j < WEFT_COLL_GROUP; j++)
        for (uint32_t k = 0; j < n && k < deep; k++)
            part[k] = weft_coll_put(c, part[k], one[j * WEFT_COLL_DEEP + (int32_t)k], how);
}

/* Puts many elements together: each thread has some of them. */
WEFT_INLINE void weft_coll_fold_many(weft_self *self, const struct weft_coll *c,
                                     const struct weft_coll_from *from, unsigned char *to,
                                     size_t count, bool own, struct weft_coll_how how,
                                     const struct weft_coll_shared *shared)
{
    const int32_t members = from->members;
    const uint32_t size = weft_type_bytes(how.type);

    for (size_t at = (size_t)weft_thread(self) * WEFT_COLL_DEEP; at < count;
         at += (size_t)weft_threads(self) * WEFT_COLL_DEEP) {
        const uint32_t deep = weft_coll_deep(at, count);
        uint64_t all[WEFT_COLL_DEEP], part[WEFT_COLL_DEEP];
        for (int32_t first = 0; first < members; first += WEFT_COLL_GROUP) {
            weft_coll_fold_group(self, c, from, shared, first, members - first, at, deep, how,
                                 part);
            for (uint32_t k = 0; k < deep; k++)
                all[k] = first == 0 ? part[k] : weft_coll_put(c, all[k], part[k], how);
        }
        weft_coll_store(to, all, at, count, size, own);
    }
}

/* Puts few elements of some groups together: a thread has one element of one group. */
WEFT_INLINE void weft_coll_fold_few(weft_self *self, const struct weft_coll *c,
                                    const struct weft_coll_from *from, unsigned char *to,
                                    uint32_t count, uint32_t groups, bool own,
                                    struct weft_coll_how how, struct weft_coll_shared *shared)
{
    const uint32_t me = (uint32_t)weft_thread(self), threads = (uint32_t)weft_threads(self);
    const uint32_t size = weft_type_bytes(how.type);
    uint64_t *const tile = shared->tile;

    for (uint32_t i = me; i < groups * count; i += threads) {
        const uint32_t g = i / count, e = i - g * count;
        const int32_t first = (int32_t)g * WEFT_COLL_GROUP;
        weft_coll_fold_group(self, c, from, shared, first, from->members - first, e, 1, how,
                             &tile[i]);
    }
    weft_join(self);
    for (uint32_t e = me; e < count; e += threads) {
        uint64_t all = tile[e];
        for (uint32_t g = 1; g < groups; g++)
            all = weft_coll_put(c, all, tile[g * count + e], how);
        weft_coll_store(to + (size_t)e * size, &all, 0, 1, size, own);
    }
}

WEFT_INLINE void weft_coll_fold_as(weft_self *self, const struct weft_coll *c,
                                   const struct weft_coll_from *from, unsigned char *to,
                                   size_t count, bool own, struct weft_coll_how how,
                                   struct weft_coll_shared *shared)
{
    const uint32_t groups = (uint32_t)(from->members + WEFT_COLL_GROUP - 1) / WEFT_COLL_GROUP;

    if (count * groups <= WEFT_COLL_TILE)
        weft_coll_fold_few(self, c, from, to, (uint32_t)count, groups, own, how, shared);
    else
        weft_coll_fold_many(self, c, from, to, count, own, how, shared);
}

/* Scans: puts one rank after the other together; each gets the result so far, if it is to. */
WEFT_COLD void weft_coll_fold_scan(weft_self *self, const struct weft_coll *c,
                                   const struct weft_coll_from *from, unsigned char *to,
                                   size_t count, const struct weft_coll_shared *shared)
{
    for (size_t at = (size_t)weft_thread(self) * WEFT_COLL_DEEP; at < count;
         at += (size_t)weft_threads(self) * WEFT_COLL_DEEP) {
        const uint32_t deep = weft_coll_deep(at, count);
        uint64_t all[WEFT_COLL_DEEP], one[WEFT_COLL_GROUP * WEFT_COLL_DEEP];
        for (int32_t i = 0; i < from->members; i++) {
            const int32_t j = i % WEFT_COLL_GROUP, left = from->members - i;
            if (j == 0)
                weft_coll_load_group(self, c, from, shared, i,
                                     left < WEFT_COLL_GROUP ? left : WEFT_COLL_GROUP, at, deep,
                                     c->size, true, one);
            for (uint32_t k = 0; k < deep; k++) {
                const uint64_t next = one[j * WEFT_COLL_DEEP + (int32_t)k];
                all[k] = i == 0 ? next
                                : weft_coll_put_any(all[k], next, c->call.type, c->call.operation);
            }
            if (from->each && weft_coll_is_here(self, c, i))
                weft_coll_store(weft_coll_place(&weft_coll_cell_of_rank(self, c, i)->target) +
                                    from->offset,
                                all, at, count, c->size, i == c->me);
        }
        if (!from->each)
            weft_coll_store(to, all, at, count, c->size, true);
    }
}

/* Puts `count` elements of each member together, into `to`; from->each: into the members' targets.
 * own: nobody but this rank reads `to`. All threads call it, each of which has met the others since
 * what is read was written; on return the result is there for all of them.
 *
 * Sums, which most calls want, are compiled apart for each type, on a GPU without what more ranks
 * than places need. */
WEFT_COLD void weft_coll_fold(weft_self *self, const struct weft_coll *c,
                              const struct weft_coll_from *from, unsigned char *to, size_t count,
                              bool own)
{
#ifdef __CUDACC__
    __shared__
#endif
        struct weft_coll_shared shared;

    WEFT_IN_SHARED(self);
    if (count == 0)
        return;
    if (from->kind == WEFT_COLL_OWN) {
        weft_coll_spread(self, c, from, to, count, &shared);
        return;
    }
    const bool cells = from->kind == WEFT_COLL_CELLS;
    for (int32_t i = weft_thread(self); i < from->members && i < WEFT_COLL_PLACES;
         i += weft_threads(self))
        shared.place[i] = cells ? weft_coll_cell(self, c, i)->data : weft_coll_at(self, c, from, i);
    weft_join(self);
    if (cells) /* one thread, while others load */
        weft_coll_agree_here(self, c);
#define WEFT_COLL_FOLD(type)                                                                       \
    case type: {                                                                                   \
        const struct weft_coll_how sums = {type, true, WEFT_COLL_EVERY};                           \
        weft_coll_fold_as(self, c, from, to, count, own, sums, &shared);                           \
        break;                                                                                     \
    }
    const struct weft_coll_how any = {c->call.type, false, true};
    if (c->call.what == WEFT_COLL_SCAN)
        weft_coll_fold_scan(self, c, from, to, count, &shared);
    else if (c->call.operation != WEFT_SUM ||
             (!WEFT_COLL_EVERY && from->members > WEFT_COLL_PLACES))
        weft_coll_fold_as(self, c, from, to, count, own, any, &shared);
    else
        switch (c->call.type) {
            WEFT_COLL_FOLD(WEFT_I32)
            WEFT_COLL_FOLD(WEFT_U32)
            WEFT_COLL_FOLD(WEFT_I64)
            WEFT_COLL_FOLD(WEFT_U64)
            WEFT_COLL_FOLD(WEFT_F32)
            WEFT_COLL_FOLD(WEFT_F64)
        default:
            break;
        }
#undef WEFT_COLL_FOLD
    weft_join(self);
    if (from->spread)
        weft_coll_spread(self, c, from, to, count, &shared);
}

#endif
