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

#include "coll/call.h"

/* Where the elements are. */
enum weft_coll_from_kind {
    WEFT_COLL_CELLS,   /* in the cells of this process's members, in their order: these are
                        * compared, too (weft_coll_agree_here) */
    WEFT_COLL_SOURCES, /* at the sources of these */
    WEFT_COLL_COLUMN,  /* in the memory of one rank of each process */
    WEFT_COLL_OWN,     /* in `to` already, and to be spread alone */
    WEFT_COLL_RANKS    /* of every member: sources here, memory elsewhere */
};

struct weft_coll_from {
    enum weft_coll_from_kind kind;
    bool each;       /* the members of this process get what has come together so far, each */
    bool spread;     /* all members of this process that have a target get what has come together */
    int32_t members; /* how many there are */
    int32_t column;  /* which rank of each process */
    size_t offset;   /* from the cells' data, or the sources and targets */
    uint64_t at;     /* in each rank's memory */
    unsigned char *fetched; /* where others' memory is not mapped: theirs, `stride` apart */
    size_t stride;
};

/* What is at from->at in a rank's memory, which is the i-th of those that may have been fetched. */
WEFT_INLINE const unsigned char *weft_coll_remote(const struct weft_coll *c,
                                                  const struct weft_coll_from *from, int32_t rank,
                                                  int32_t i)
{
    const unsigned char *const address = c->window->entry[rank].address;
    return address != NULL ? address + from->at : from->fetched + (size_t)i * from->stride;
}

/* Not inlined: a GPU takes longer to fetch long code than to run it. */
WEFT_COLD const unsigned char *weft_coll_at(const weft_self *self, const struct weft_coll *c,
                                            const struct weft_coll_from *from, int32_t i)
{
    switch (from->kind) {
    case WEFT_COLL_CELLS:
        return weft_coll_cell(self, c, i)->data;
    case WEFT_COLL_SOURCES:
        return weft_coll_place(&weft_coll_cell(self, c, i)->source) + from->offset;
    case WEFT_COLL_COLUMN:
        return weft_coll_remote(c, from, c->entry->by_process[c->entry->first[i] + from->column],
                                i);
    default:
        return weft_coll_is_here(self, c, i)
                   ? weft_coll_place(&weft_coll_cell_of_rank(self, c, i)->source) + from->offset
                   : weft_coll_remote(c, from, i, i);
    }
}

/* Where the i-th gets its own; NULL: it is elsewhere. */
WEFT_INLINE unsigned char *weft_coll_each(const weft_self *self, const struct weft_coll *c,
                                          const struct weft_coll_from *from, int32_t i)
{
    return weft_coll_is_here(self, c, i)
               ? weft_coll_place(&weft_coll_cell_of_rank(self, c, i)->target) + from->offset
               : NULL;
}

/* Ranks that are put together at once; what came of them; whose places are found beforehand. */
enum { WEFT_COLL_GROUP = 16, WEFT_COLL_TILE = 256, WEFT_COLL_PLACES = 512 };
/* Elements of a thread at once; whether the code for sums is for more ranks than places, too. */
#ifdef __CUDACC__
enum { WEFT_COLL_DEEP = 1, WEFT_COLL_EVERY = false };
#else
enum { WEFT_COLL_DEEP = 64, WEFT_COLL_EVERY = true };
#endif

/* What the threads of a rank share. */
struct weft_coll_shared {
    const unsigned char *place[WEFT_COLL_PLACES]; /* by rank */
    uint64_t tile[WEFT_COLL_TILE];
};

/* Elements are aligned. */
WEFT_INLINE uint64_t weft_coll_load(const unsigned char *from, size_t i, uint32_t size)
{
#ifdef __CUDACC__
    return size == 8 ? ((const uint64_t *)from)[i] : ((const uint32_t *)from)[i];
#else
    uint64_t value = 0;
    memcpy(&value, from + i * size, size);
    return value;
#endif
}

/* This thread's elements, at + k of them. own: nobody else reads them. */
WEFT_INLINE void weft_coll_store(unsigned char *to, const uint64_t *value, size_t at, size_t count,
                                 uint32_t size, bool own)
{
#ifdef __CUDACC__
    (void)count, (void)own;
    if (size == 8)
        ((uint64_t *)to)[at] = value[0];
    else
        ((uint32_t *)to)[at] = (uint32_t)value[0];
#else
    unsigned char packed[WEFT_COLL_DEEP * 8];
    const size_t n = count - at < WEFT_COLL_DEEP ? count - at : WEFT_COLL_DEEP;
    for (size_t k = 0; k < n; k++)
        memcpy(packed + k * size, &value[k], size);
    if (own)
        memcpy(to + at * size, packed, n * size);
    else
        weft_write_shared(to + at * size, packed, n * size);
#endif
}

WEFT_INLINE uint64_t weft_coll_put_together(uint64_t a, uint64_t b, uint32_t type, uint32_t how)
{
    const struct weft_change change = {b, 0, how, type};
    return weft_change_of(a, &change);
}

/* For operations that are not compiled apart for a type. */
WEFT_COLD uint64_t weft_coll_put_any(uint64_t a, uint64_t b, uint32_t type, uint32_t how)
{
    return weft_coll_put_together(a, b, type, how);
}
/* sum: known where it is compiled, with the type. */
WEFT_INLINE uint64_t weft_coll_put(const struct weft_coll *c, uint64_t a, uint64_t b, uint32_t type,
                                   bool sum)
{
    return sum ? weft_coll_put_together(a, b, type, WEFT_SUM)
               : weft_coll_put_any(a, b, type, c->call.operation);
}

/* How many elements a thread has at once, from `at` on. */
WEFT_INLINE uint32_t weft_coll_deep(size_t at, size_t count)
{
    const bool whole = WEFT_COLL_DEEP == 1 || count - at >= WEFT_COLL_DEEP;
    return whole ? (uint32_t)WEFT_COLL_DEEP : (uint32_t)(count - at);
}

/* What a thread has begun to load before this is under way before it uses any of it: the compiler
 * would else wait for the first to come before it loads the last. */
WEFT_INLINE void weft_coll_loaded(void)
{
#ifdef __CUDACC__
    __syncwarp(__activemask());
#endif
}

/* A thread's elements of n ranks from `first` on: one[j * WEFT_COLL_DEEP] is the first of rank j's.
 * every: there may be more ranks than places. */
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

/* The same put together: part[k] is of element at + k. */
WEFT_INLINE void weft_coll_fold_group(const weft_self *self, const struct weft_coll *c,
                                      const struct weft_coll_from *from,
                                      const struct weft_coll_shared *shared, int32_t first,
                                      int32_t left, size_t at, uint32_t deep, uint32_t type,
                                      bool sum, bool every, uint64_t *part)
{
    const int32_t n = left < WEFT_COLL_GROUP ? left : WEFT_COLL_GROUP;
    uint64_t one[WEFT_COLL_GROUP * WEFT_COLL_DEEP];

    weft_coll_load_group(self, c, from, shared, first, n, at, deep, weft_type_bytes(type), every,
                         one);
    for (uint32_t k = 0; k < deep; k++)
        part[k] = one[k];
    WEFT_UNROLL
    for (int32_t j = 1; j < WEFT_COLL_GROUP; j++)
        for (uint32_t k = 0; j < n && k < deep; k++)
            part[k] = weft_coll_put(c, part[k], one[j * WEFT_COLL_DEEP + (int32_t)k], type, sum);
}

/* Many elements: each thread has some. */
WEFT_INLINE void weft_coll_fold_many(weft_self *self, const struct weft_coll *c,
                                     const struct weft_coll_from *from, unsigned char *to,
                                     size_t count, bool own, uint32_t type, bool sum, bool every,
                                     const struct weft_coll_shared *shared)
{
    const int32_t members = from->members;
    const uint32_t size = weft_type_bytes(type);

    for (size_t at = (size_t)weft_thread(self) * WEFT_COLL_DEEP; at < count;
         at += (size_t)weft_threads(self) * WEFT_COLL_DEEP) {
        const uint32_t deep = weft_coll_deep(at, count);
        uint64_t all[WEFT_COLL_DEEP], part[WEFT_COLL_DEEP];
        for (int32_t first = 0; first < members; first += WEFT_COLL_GROUP) {
            weft_coll_fold_group(self, c, from, shared, first, members - first, at, deep, type, sum,
                                 every, part);
            for (uint32_t k = 0; k < deep; k++)
                all[k] = first == 0 ? part[k] : weft_coll_put(c, all[k], part[k], type, sum);
        }
        weft_coll_store(to, all, at, count, size, own);
    }
}

/* Few elements of some groups: a thread has one of one group. */
WEFT_INLINE void weft_coll_fold_few(weft_self *self, const struct weft_coll *c,
                                    const struct weft_coll_from *from, unsigned char *to,
                                    uint32_t count, uint32_t groups, bool own, uint32_t type,
                                    bool sum, bool every, struct weft_coll_shared *shared)
{
    const uint32_t me = (uint32_t)weft_thread(self), threads = (uint32_t)weft_threads(self);
    const uint32_t size = weft_type_bytes(type);
    uint64_t *const tile = shared->tile;

    for (uint32_t i = me; i < groups * count; i += threads) {
        const uint32_t g = i / count, e = i - g * count;
        const int32_t first = (int32_t)g * WEFT_COLL_GROUP;
        weft_coll_fold_group(self, c, from, shared, first, from->members - first, e, 1, type, sum,
                             every, &tile[i]);
    }
    weft_join(self);
    for (uint32_t e = me; e < count; e += threads) {
        uint64_t all = tile[e];
        for (uint32_t g = 1; g < groups; g++)
            all = weft_coll_put(c, all, tile[g * count + e], type, sum);
        weft_coll_store(to + (size_t)e * size, &all, 0, 1, size, own);
    }
}

WEFT_INLINE void weft_coll_fold_as(weft_self *self, const struct weft_coll *c,
                                   const struct weft_coll_from *from, unsigned char *to,
                                   size_t count, bool own, uint32_t type, bool sum, bool every,
                                   struct weft_coll_shared *shared)
{
    const uint32_t groups = (uint32_t)(from->members + WEFT_COLL_GROUP - 1) / WEFT_COLL_GROUP;

    if (count * groups <= WEFT_COLL_TILE)
        weft_coll_fold_few(self, c, from, to, (uint32_t)count, groups, own, type, sum, every,
                           shared);
    else
        weft_coll_fold_many(self, c, from, to, count, own, type, sum, every, shared);
}

/* A scan: one rank after the other, and each gets what has come together so far, if it is to. */
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
                weft_coll_store(weft_coll_each(self, c, from, i), all, at, count, c->size,
                                i == c->me);
        }
        if (!from->each)
            weft_coll_store(to, all, at, count, c->size, true);
    }
}

/* This thread's elements, to every step-th of n targets from the j-th on. */
WEFT_INLINE void weft_coll_spread_item(const struct weft_coll *c, const unsigned char *to,
                                       size_t at, size_t count, int32_t j, int32_t step, int32_t n,
                                       const struct weft_coll_shared *shared)
{
    const uint32_t deep = weft_coll_deep(at, count);
    uint64_t all[WEFT_COLL_DEEP];

    weft_used_shared(to + at * c->size, deep * c->size);
    for (uint32_t k = 0; k < deep; k++)
        all[k] = weft_coll_load(to, at + k, c->size);
    for (; j < n; j += step)
        if (shared->place[j] != NULL)
            weft_coll_store((unsigned char *)(uintptr_t)shared->place[j], all, at, count, c->size,
                            false);
}

/* What this rank has at `to`, to the targets of all others, and to its own where it is elsewhere.
 * Of few elements threads share the targets. */
WEFT_COLD void weft_coll_spread(weft_self *self, const struct weft_coll *c,
                                const struct weft_coll_from *from, unsigned char *to, size_t count,
                                struct weft_coll_shared *shared)
{
    const int32_t most = c->here < WEFT_COLL_PLACES ? c->here : WEFT_COLL_PLACES;
    const int32_t me = weft_thread(self), threads = weft_threads(self);
    const size_t items = (count + WEFT_COLL_DEEP - 1) / WEFT_COLL_DEEP;
    const int32_t few = items < (size_t)threads ? (int32_t)items : threads;

    for (int32_t first = 0; first < c->here; first += most) {
        const int32_t n = c->here - first < most ? c->here - first : most;
        for (int32_t j = me; j < n; j += threads) {
            unsigned char *const target =
                weft_coll_place(&weft_coll_cell(self, c, first + j)->target);
            const bool there = first + j == c->mine && from->kind != WEFT_COLL_OWN;
            shared->place[j] = target == NULL || there ? NULL : target + from->offset;
        }
        weft_join(self);
        if (few > threads / 2)
            for (size_t at = (size_t)me * WEFT_COLL_DEEP; at < count;
                 at += (size_t)threads * WEFT_COLL_DEEP)
                weft_coll_spread_item(c, to, at, count, 0, 1, n, shared);
        else if (me / few < threads / few)
            weft_coll_spread_item(c, to, (size_t)(me % few) * WEFT_COLL_DEEP, count, me / few,
                                  threads / few, n, shared);
        weft_join(self);
    }
}

/*
 * Puts `count` elements of each together, into `to`; from->each: into the members' targets. own:
 * nobody but this rank reads `to`. All threads, of which each has met the others since what is read
 * was written; there for all of them on return. Sums, which most calls want, are compiled apart for
 * each type, on a GPU without what more ranks than places need.
 */
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
    if (from->kind == WEFT_COLL_CELLS) {
        for (int32_t i = weft_thread(self); i < from->members && i < WEFT_COLL_PLACES;
             i += weft_threads(self))
            shared.place[i] = weft_coll_cell(self, c, i)->data;
    } else {
        for (int32_t i = weft_thread(self); i < from->members && i < WEFT_COLL_PLACES;
             i += weft_threads(self))
            shared.place[i] = weft_coll_at(self, c, from, i);
    }
    weft_join(self);
    if (from->kind == WEFT_COLL_CELLS) /* one thread, while others load */
        weft_coll_agree_here(self, c);
#define WEFT_COLL_FOLD(type)                                                                       \
    case type:                                                                                     \
        weft_coll_fold_as(self, c, from, to, count, own, type, true, WEFT_COLL_EVERY, &shared);    \
        break;
    if (c->call.what == WEFT_COLL_SCAN)
        weft_coll_fold_scan(self, c, from, to, count, &shared);
    else if (c->call.operation != WEFT_SUM ||
             (!WEFT_COLL_EVERY && from->members > WEFT_COLL_PLACES))
        weft_coll_fold_as(self, c, from, to, count, own, c->call.type, false, true, &shared);
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
