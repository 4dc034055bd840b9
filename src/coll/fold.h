/*
 * coll/fold.h - elements of several ranks put together, always in the same order: for each
 * element, one thread goes from the first rank to the last.
 *
 * Of few elements, the threads of a GPU load those of many ranks at once, and put them together
 * from shared memory. The result is the same.
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

/* Elements of a thread at once, and who divides them: on the CPU device one thread makes a call. */
#ifdef __CUDACC__
enum { WEFT_COLL_DEEP = 4 };
WEFT_INLINE size_t weft_coll_thread(void)
{
    return threadIdx.x;
}
WEFT_INLINE size_t weft_coll_threads(void)
{
    return blockDim.x;
}
#else
enum { WEFT_COLL_DEEP = 64 };
WEFT_INLINE size_t weft_coll_thread(void)
{
    return 0;
}
WEFT_INLINE size_t weft_coll_threads(void)
{
    return 1;
}
#endif
enum { WEFT_COLL_FEW = 8, WEFT_COLL_TILE = 256 }; /* elements of each rank; of all at once */

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

WEFT_INLINE uint64_t weft_coll_put_together(uint64_t a, uint64_t b, uint32_t type, uint32_t how)
{
    const struct weft_change change = {b, 0, how, type};
    return weft_change_of(a, &change);
}

/* Many elements. */
WEFT_INLINE void weft_coll_fold_many(weft_self *self, const struct weft_coll *c,
                                     const struct weft_coll_from *from, unsigned char *to,
                                     size_t count, bool own, uint32_t type, uint32_t how)
{
    const size_t threads = weft_coll_threads();
    const uint32_t size = weft_type_bytes(type);

    for (size_t first = weft_coll_thread(); first < count; first += WEFT_COLL_DEEP * threads) {
        uint64_t value[WEFT_COLL_DEEP] = {0};
        for (int32_t i = 0; i < from->members; i++) {
            const unsigned char *const at = weft_coll_at(self, c, from, i);
#ifndef __CUDACC__
            const size_t left = count - first;
            weft_used_shared(at + first * size,
                             (left < WEFT_COLL_DEEP ? left : WEFT_COLL_DEEP) * size);
#endif
            WEFT_UNROLL
            for (size_t k = 0; k < WEFT_COLL_DEEP; k++) {
                if (first + k * threads >= count)
                    break;
                const uint64_t one = weft_coll_load(at, first + k * threads, size);
                value[k] = i == 0 ? one : weft_coll_put_together(value[k], one, type, how);
            }
            if (from->each && weft_coll_is_here(self, c, i))
                weft_coll_store(weft_coll_each(self, c, from, i), value, first, threads, count,
                                size, i == c->me);
        }
        if (!from->each)
            weft_coll_store(to, value, first, threads, count, size, own);
    }
}

/* Few of them. tile: shared by the threads; what has come together lies behind the others. */
WEFT_INLINE void weft_coll_fold_few(weft_self *self, const struct weft_coll *c,
                                    const struct weft_coll_from *from, unsigned char *to,
                                    uint32_t count, bool own, uint32_t type, uint32_t how,
                                    uint64_t *tile)
{
    const uint32_t size = weft_type_bytes(type);
    const int32_t most = (int32_t)(WEFT_COLL_TILE / count);
    uint64_t *const sum = tile + WEFT_COLL_TILE;

    for (int32_t first = 0; first < from->members; first += most) {
        const int32_t left = from->members - first, n = left < most ? left : most;
        for (size_t k = weft_coll_thread(); k < (uint32_t)n * count; k += weft_coll_threads()) {
            const uint32_t i = (uint32_t)k / count;
            const unsigned char *const at = weft_coll_at(self, c, from, first + (int32_t)i);
#ifndef __CUDACC__
            weft_used_shared(at, count * size);
#endif
            tile[k] = weft_coll_load(at, (uint32_t)k - i * count, size);
        }
        weft_join(self);
        for (size_t e = weft_coll_thread(); e < count; e += weft_coll_threads()) {
            uint64_t value = first == 0 ? tile[e] : sum[e];
            for (int32_t i = first == 0; i < n; i++)
                value = weft_coll_put_together(value, tile[(uint32_t)i * count + e], type, how);
            sum[e] = value;
        }
        weft_join(self);
    }
#ifdef __CUDACC__
    for (size_t e = weft_coll_thread(); e < count; e += weft_coll_threads())
        weft_coll_store(to, sum + e, e, count, count, size, own);
#else
    weft_coll_store(to, sum, 0, 1, count, size, own);
#endif
}

WEFT_INLINE void weft_coll_fold_as(weft_self *self, const struct weft_coll *c,
                                   const struct weft_coll_from *from, unsigned char *to,
                                   size_t count, bool own, uint32_t type, uint32_t how,
                                   uint64_t *tile)
{
    if (count <= WEFT_COLL_FEW && !from->each)
        weft_coll_fold_few(self, c, from, to, (uint32_t)count, own, type, how, tile);
    else
        weft_coll_fold_many(self, c, from, to, count, own, type, how);
}

/*
 * Puts `count` elements of each together, into `to`; from->each: into the members' targets. own:
 * nobody but this rank reads `to`. All threads; there for all of them on return. Sums, which most
 * calls want, are compiled apart for each type.
 */
WEFT_COLD void weft_coll_fold(weft_self *self, const struct weft_coll *c,
                              const struct weft_coll_from *from, unsigned char *to, size_t count,
                              bool own)
{
#ifdef __CUDACC__
    __shared__
#endif
        uint64_t tile[WEFT_COLL_TILE + WEFT_COLL_FEW];
    const uint32_t how = c->call.operation;

    WEFT_IN_SHARED(self);
    weft_join(self); /* what is read has been written, and the tile is free */
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
