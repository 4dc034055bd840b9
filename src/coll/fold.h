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
    WEFT_COLL_CELLS,   /* in the cells of this process's members, in their order */
    WEFT_COLL_SOURCES, /* at the sources of these */
    WEFT_COLL_COLUMN,  /* in the memory of one rank of each process */
    WEFT_COLL_RANKS    /* of every member: sources here, memory elsewhere */
};

struct weft_coll_from {
    enum weft_coll_from_kind kind;
    bool each;       /* the members of this process get what has come together so far, each */
    bool spread;     /* all members, which are of this process, get what has come together */
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

WEFT_INLINE const unsigned char *weft_coll_at(const weft_self *self, const struct weft_coll *c,
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

/* Who divides elements: on the CPU device one thread makes a call. */
#ifdef __CUDACC__
enum {
    WEFT_COLL_DEEP = 4,
    WEFT_COLL_AHEAD = 8
}; /* elements of a thread at once, of so many ranks */
WEFT_INLINE size_t weft_coll_thread(void)
{
    return threadIdx.x;
}
WEFT_INLINE size_t weft_coll_threads(void)
{
    return blockDim.x;
}
#else
enum { WEFT_COLL_DEEP = 64, WEFT_COLL_AHEAD = 1 };
WEFT_INLINE size_t weft_coll_thread(void)
{
    return 0;
}
WEFT_INLINE size_t weft_coll_threads(void)
{
    return 1;
}
#endif
enum { WEFT_COLL_GROUP = 16, WEFT_COLL_TILE = 256 }; /* ranks; elements that came of groups */
static_assert(WEFT_COLL_DEEP * WEFT_COLL_AHEAD >= WEFT_COLL_GROUP, "a thread holds one of a group");

/* The ranks of a group: of a scan all are one. */
WEFT_INLINE int32_t weft_coll_group(const struct weft_coll *c)
{
    return c->call.what == WEFT_COLL_SCAN ? c->members : WEFT_COLL_GROUP;
}

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

/* Elements `apart` from each other, of this thread. own: nobody else reads them. */
WEFT_INLINE void weft_coll_store(unsigned char *to, const uint64_t *value, size_t first,
                                 size_t apart, size_t count, uint32_t size, bool own)
{
#ifdef __CUDACC__
    (void)own;
    WEFT_UNROLL
    for (size_t k = 0; k < WEFT_COLL_DEEP; k++) {
        const size_t i = first + k * apart;
        if (i < count && size == 8)
            ((uint64_t *)to)[i] = value[k];
        else if (i < count)
            ((uint32_t *)to)[i] = (uint32_t)value[k];
    }
#else
    unsigned char packed[WEFT_COLL_DEEP * 8];
    const size_t n = count - first < WEFT_COLL_DEEP ? count - first : WEFT_COLL_DEEP;
    (void)apart;
    for (size_t k = 0; k < n; k++)
        memcpy(packed + k * size, &value[k], size);
    if (own)
        memcpy(to + first * size, packed, n * size);
    else
        weft_write_shared(to + first * size, packed, n * size);
#endif
}

WEFT_INLINE void weft_coll_store_one(unsigned char *to, size_t i, uint64_t value, uint32_t size,
                                     bool own)
{
    weft_coll_store(to + i * size, &value, 0, 1, 1, size, own);
}

WEFT_INLINE uint64_t weft_coll_put_together(uint64_t a, uint64_t b, uint32_t type, uint32_t how)
{
    const struct weft_change change = {b, 0, how, type};
    return weft_change_of(a, &change);
}

/*
 * part[k]: element at + k * threads, below count, of ranks [first, end) put together, of `ahead` of
 * them at once; deep: so many elements.
 */
WEFT_INLINE void weft_coll_fold_ranks(const weft_self *self, const struct weft_coll *c,
                                      const struct weft_coll_from *from, int32_t first, int32_t end,
                                      size_t at, size_t count, uint32_t type, uint32_t how,
                                      int32_t ahead, uint32_t deep, uint64_t *part)
{
    const size_t apart = weft_coll_threads();
    const uint32_t size = weft_type_bytes(type);
    const unsigned char *place[WEFT_COLL_GROUP];
    uint64_t one[WEFT_COLL_AHEAD * WEFT_COLL_DEEP];

    for (int32_t begin = first; begin < end; begin += ahead) {
        WEFT_UNROLL
        for (int32_t j = 0; j < ahead; j++)
            place[j] = weft_coll_at(self, c, from, begin + j < end ? begin + j : end - 1);
        WEFT_UNROLL
        for (int32_t j = 0; j < ahead; j++) {
#ifndef __CUDACC__
            weft_used_shared(place[j] + at * size, (count - at < deep ? count - at : deep) * size);
#endif
            WEFT_UNROLL
            for (uint32_t k = 0; k < deep; k++)
                if (at + k * apart < count)
                    one[(uint32_t)j * deep + k] = weft_coll_load(place[j], at + k * apart, size);
        }
        WEFT_UNROLL
        for (int32_t j = 0; j < ahead && begin + j < end; j++) {
            WEFT_UNROLL
            for (uint32_t k = 0; k < deep; k++) {
                if (at + k * apart >= count)
                    break;
                const uint64_t next = one[(uint32_t)j * deep + k];
                part[k] =
                    begin + j == first ? next : weft_coll_put_together(part[k], next, type, how);
            }
            if (from->each && weft_coll_is_here(self, c, begin + j))
                weft_coll_store(weft_coll_each(self, c, from, begin + j), part, at, apart, count,
                                size, begin + j == c->me);
        }
    }
}

/* What has come together of this thread's elements, to all members' targets. */
WEFT_INLINE void weft_coll_spread(const weft_self *self, const struct weft_coll *c,
                                  const struct weft_coll_from *from, const uint64_t *all, size_t at,
                                  size_t count, uint32_t size)
{
    unsigned char *place[WEFT_COLL_AHEAD];
    int32_t member[WEFT_COLL_AHEAD];

    for (int32_t begin = 0; begin < c->here; begin += WEFT_COLL_AHEAD) {
        WEFT_UNROLL
        for (int32_t j = 0; j < WEFT_COLL_AHEAD; j++) { /* each rank begins at itself */
            member[j] = c->mine + begin + j;
            member[j] -= member[j] < c->here ? 0 : c->here;
            if (begin + j < c->here)
                place[j] = weft_coll_place(&weft_coll_cell(self, c, member[j])->target);
        }
        WEFT_UNROLL
        for (int32_t j = 0; j < WEFT_COLL_AHEAD && begin + j < c->here; j++)
            weft_coll_store(place[j] + from->offset, all, at, weft_coll_threads(), count, size,
                            member[j] == c->mine);
    }
}

/* Many elements: each thread has some. */
WEFT_INLINE void weft_coll_fold_many(weft_self *self, const struct weft_coll *c,
                                     const struct weft_coll_from *from, unsigned char *to,
                                     size_t count, bool own, uint32_t type, uint32_t how)
{
    const size_t threads = weft_coll_threads();
    const int32_t group = weft_coll_group(c);

    for (size_t at = weft_coll_thread(); at < count; at += WEFT_COLL_DEEP * threads) {
        uint64_t all[WEFT_COLL_DEEP] = {0}, part[WEFT_COLL_DEEP] = {0};
        for (int32_t first = 0; first < from->members; first += group) {
            const int32_t left = from->members - first;
            weft_coll_fold_ranks(self, c, from, first, first + (left < group ? left : group), at,
                                 count, type, how, WEFT_COLL_AHEAD, WEFT_COLL_DEEP, part);
            WEFT_UNROLL
            for (uint32_t k = 0; k < WEFT_COLL_DEEP; k++)
                all[k] = first == 0 ? part[k] : weft_coll_put_together(all[k], part[k], type, how);
        }
        if (from->spread)
            weft_coll_spread(self, c, from, all, at, count, weft_type_bytes(type));
        else if (!from->each)
            weft_coll_store(to, all, at, threads, count, weft_type_bytes(type), own);
    }
}

/* Few elements of several groups: each thread has one of one group. tile: shared by the threads. */
WEFT_INLINE void weft_coll_fold_few(weft_self *self, const struct weft_coll *c,
                                    const struct weft_coll_from *from, unsigned char *to,
                                    uint32_t count, uint32_t groups, bool own, uint32_t type,
                                    uint32_t how, uint64_t *tile)
{
    for (size_t i = weft_coll_thread(); i < groups * count; i += weft_coll_threads()) {
        const uint32_t g = (uint32_t)i / count;
        const int32_t first = (int32_t)g * WEFT_COLL_GROUP, left = from->members - first;
        weft_coll_fold_ranks(self, c, from, first,
                             first + (left < WEFT_COLL_GROUP ? left : WEFT_COLL_GROUP),
                             i - g * count, count, type, how, WEFT_COLL_GROUP, 1, &tile[i]);
    }
    weft_join(self);
    for (size_t e = weft_coll_thread(); e < count; e += weft_coll_threads())
        for (uint32_t g = 1; g < groups; g++)
            tile[e] = weft_coll_put_together(tile[e], tile[g * count + e], type, how);
    if (from->spread)
        weft_join(self);
    const size_t stores = from->spread ? (size_t)c->here * count : count;
    for (size_t i = weft_coll_thread(); i < stores; i += weft_coll_threads()) {
        const int32_t j = (int32_t)(i / count);
        const size_t e = i - (size_t)j * count;
        unsigned char *const place =
            from->spread ? weft_coll_place(&weft_coll_cell(self, c, j)->target) + from->offset : to;
        weft_coll_store_one(place, e, tile[e], weft_type_bytes(type),
                            from->spread ? j == c->mine : own);
    }
}

WEFT_INLINE void weft_coll_fold_as(weft_self *self, const struct weft_coll *c,
                                   const struct weft_coll_from *from, unsigned char *to,
                                   size_t count, bool own, uint32_t type, uint32_t how,
                                   uint64_t *tile)
{
    const uint32_t groups = (uint32_t)(from->members + WEFT_COLL_GROUP - 1) / WEFT_COLL_GROUP;

    if (c->call.what != WEFT_COLL_SCAN && count * groups <= WEFT_COLL_TILE)
        weft_coll_fold_few(self, c, from, to, (uint32_t)count, groups, own, type, how, tile);
    else
        weft_coll_fold_many(self, c, from, to, count, own, type, how);
}

/*
 * Puts `count` elements of each together, into `to`; from->each: into the members' targets. own:
 * nobody but this rank reads `to`. All threads, of which each has met the others since what is read
 * was written; there for all of them on return. Sums, which most calls want, are compiled apart for
 * each type.
 */
WEFT_COLD void weft_coll_fold(weft_self *self, const struct weft_coll *c,
                              const struct weft_coll_from *from, unsigned char *to, size_t count,
                              bool own)
{
#ifdef __CUDACC__
    __shared__
#endif
        uint64_t tile[WEFT_COLL_TILE];
    const uint32_t how = c->call.operation;

    WEFT_IN_SHARED(self);
    if (count == 0)
        return;
#define WEFT_COLL_FOLD(type)                                                                       \
    case type:                                                                                     \
        if (how == WEFT_SUM)                                                                       \
            weft_coll_fold_as(self, c, from, to, count, own, type, WEFT_SUM, tile);                \
        else                                                                                       \
            weft_coll_fold_as(self, c, from, to, count, own, type, how, tile);                     \
        break;
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
}

#endif
