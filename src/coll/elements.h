/*
 * coll/elements.h - where the elements of several ranks are, and how what came of them gets to all
 * targets of a process.
 */
#ifndef WEFT_COLL_ELEMENTS_H
#define WEFT_COLL_ELEMENTS_H

#include "coll/call.h"

/* Where the elements are. */
enum weft_coll_from_kind {
    WEFT_COLL_CELLS,   /* in the cells of this process's members, in their order: these are
                        * compared, too (weft_coll_agree_here) */
    WEFT_COLL_SOURCES, /* at the sources of this process's members */
    WEFT_COLL_COLUMN,  /* in the memory of one rank of each process */
    WEFT_COLL_OWN,     /* in `to` already: only to be spread */
    WEFT_COLL_RANKS    /* of every member: at its source in this process, in its memory elsewhere */
};

struct weft_coll_from {
    enum weft_coll_from_kind kind;
    bool each;   /* each member of this process gets what has come together up to itself (a scan) */
    bool spread; /* all members of this process that have a target get the result */
    int32_t members;        /* how many ranks' elements there are */
    int32_t column;         /* COLUMN: the rank's number in its process */
    size_t offset;          /* bytes into the sources and the targets */
    uint64_t at;            /* where the elements are in each rank's memory */
    unsigned char *fetched; /* elements of ranks that are not mapped, `stride` bytes apart */
    size_t stride;
};

/* Returns where from->at of a rank's memory is: mapped, or the i-th of those that were fetched. */
WEFT_INLINE const unsigned char *weft_coll_remote(const struct weft_coll *c,
                                                  const struct weft_coll_from *from, int32_t rank,
                                                  int32_t i)
{
    const unsigned char *const address = c->window->entry[rank].address;
    return address != NULL ? address + from->at : from->fetched + (size_t)i * from->stride;
}

/* Finds the i-th member's elements. Not inlined: a GPU fetches long code slower than it runs it. */
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

/* Ranks put together at once; partial results kept; ranks whose places are found beforehand. */
enum { WEFT_COLL_GROUP = 16, WEFT_COLL_TILE = 256, WEFT_COLL_PLACES = 512 };
/* Elements of a thread at once; whether the code for sums is for more ranks than places, too. */
#ifdef __CUDACC__
enum { WEFT_COLL_DEEP = 1, WEFT_COLL_EVERY = false };
#else
enum { WEFT_COLL_DEEP = 64, WEFT_COLL_EVERY = true };
#endif

/* What the threads of a rank share. */
struct weft_coll_shared {
    const unsigned char *place[WEFT_COLL_PLACES]; /* each rank's elements, or its target */
    uint64_t tile[WEFT_COLL_TILE];                /* partial results of groups */
};

/* Loads element i, which is aligned, of `size` bytes. */
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

/* Stores this thread's elements from `at` on. own: nobody else reads them. */
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

/* Returns how many elements a thread has at once, from `at` on. */
WEFT_INLINE uint32_t weft_coll_deep(size_t at, size_t count)
{
    const bool whole = WEFT_COLL_DEEP == 1 || count - at >= WEFT_COLL_DEEP;
    return whole ? (uint32_t)WEFT_COLL_DEEP : (uint32_t)(count - at);
}

/* Stores this thread's elements to every step-th of n targets from the j-th on. */
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

/* Copies what this rank has at `to` to the targets of all others, and to its own where it is
 * elsewhere. Of few elements threads share the targets. */
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

#endif
