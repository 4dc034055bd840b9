/*
 * device/cuda/block/errands.h - what the service block does: one function for each kind of errand.
 * A layer that has another kind adds its function to the list at the end.
 *
 * The whole warp runs it. Lane 2 + k has the k-th word of an errand's data, and returns the word
 * that goes back. Elements are words of 8 or 4 bytes, or bytes.
 */
#ifndef WEFT_DEVICE_CUDA_BLOCK_ERRANDS_H
#define WEFT_DEVICE_CUDA_BLOCK_ERRANDS_H

#include "abi/errand.h"
#include "abi/lot.h"
#include "device/cuda/block/lanes.h"

#define WEFT_ALL_LANES 0xffffffffu

struct weft_block_shares;

/* An errand as its lanes have it. */
struct weft_block_errand {
    uint32_t lane;
    uint32_t how, type, bytes, count;
    uint64_t address;
    uint64_t word; /* lanes 2 to 6: of its data */
    struct weft_block_shares *shares;
};

/* Returns element e of the data, of `size` bytes; the lanes ask for different ones. */
WEFT_INLINE uint64_t weft_block_cut(const struct weft_block_errand *errand, uint32_t e,
                                    uint32_t size)
{
    const uint32_t at = e * size;
    return __shfl_sync(WEFT_ALL_LANES, errand->word, (2 + at / 8) & 31) >> at % 8 * 8;
}

/* Joins elements to words: lane l brings element l, and in `more` 32 + l; it gets its word. */
WEFT_INLINE uint64_t weft_block_join(const struct weft_block_errand *errand, uint64_t element,
                                     uint64_t more, uint32_t size)
{
    const uint32_t first = (errand->lane - 2) * 8 / size;
    uint64_t word = 0;

    for (uint32_t i = 0; i < 8 / size; i++) {
        const uint64_t low = __shfl_sync(WEFT_ALL_LANES, element, (first + i) & 31);
        const uint64_t high = __shfl_sync(WEFT_ALL_LANES, more, (first + i) & 31);
        word |= (first + i < 32 ? low : high) << i * size * 8;
    }
    return word;
}

WEFT_INLINE uint64_t weft_block_fetch(const struct weft_block_errand *errand)
{
    const uint32_t size = weft_block_element(errand->address | errand->bytes),
                   at = errand->lane * size;
    const uint32_t bytes = errand->bytes;
    const uint64_t element = at < bytes ? weft_block_load(errand->address + at, size) : 0;
    const uint64_t more =
        at + 32 * size < bytes ? weft_block_load(errand->address + at + 32 * size, size) : 0;

    return weft_block_join(errand, element, more, size);
}

WEFT_INLINE uint64_t weft_block_store(const struct weft_block_errand *errand)
{
    const uint32_t size = weft_block_element(errand->address | errand->bytes);

    for (uint32_t e = errand->lane; e < errand->lane + 64; e += 32) { /* all lanes cut */
        const uint64_t value = weft_block_cut(errand, e % (WEFT_ERRAND_BYTES / size), size);
        if (e * size < errand->bytes)
            weft_block_put(errand->address + e * size, value, size);
    }
    return 0;
}

WEFT_INLINE uint64_t weft_block_update(const struct weft_block_errand *errand)
{
    const uint32_t size = weft_type_bytes(errand->type), e = errand->lane;
    struct weft_change change;
    uint64_t old = 0;

    change.value = weft_block_cut(errand, e % (WEFT_ERRAND_BYTES / size), size);
    change.expected = __shfl_sync(WEFT_ALL_LANES, errand->word, 3);
    change.how = errand->how;
    change.type = errand->type;
    if (e * size < errand->bytes)
        old = weft_update_relaxed((void *)(errand->address + e * size), &change);
    return weft_block_join(errand, size == 4 ? (uint32_t)old : old, 0, size);
}

WEFT_INLINE uint64_t weft_block_copy(const struct weft_block_errand *errand)
{
    const uint64_t source = __shfl_sync(WEFT_ALL_LANES, errand->word, 2);
    const uint64_t bytes = __shfl_sync(WEFT_ALL_LANES, errand->word, 3);

    weft_block_move(errand->lane, 32, errand->address, source, bytes);
    return 0;
}

/* Copies pieces of whole words, of which each lane has one. All lanes call it; they load of several
 * pieces before they store (lanes.h). */
WEFT_INLINE void weft_block_pieces(uint32_t lane, uint64_t from, uint64_t to, uint32_t bytes,
                                   uint32_t pieces)
{
    enum { DEEP = 16 };

    for (uint32_t first = 0; first < pieces; first += DEEP) {
        uint64_t word[DEEP];
        WEFT_UNROLL
        for (uint32_t i = 0; i < DEEP; i++) {
            const uint64_t source = __shfl_sync(WEFT_ALL_LANES, from, first + i);
            const uint32_t some = __shfl_sync(WEFT_ALL_LANES, bytes, first + i);
            word[i] = weft_block_still((const uint64_t *)(source + 8 * lane), 8 * lane < some);
        }
        WEFT_UNROLL
        for (uint32_t i = 0; i < DEEP; i++) {
            const uint64_t target = __shfl_sync(WEFT_ALL_LANES, to, first + i);
            const uint32_t some = __shfl_sync(WEFT_ALL_LANES, bytes, first + i);
            if (8 * lane < some)
                weft_store_relaxed_u64((uint64_t *)(target + 8 * lane), word[i]);
        }
    }
}

/* Copies pieces of any form, of which each lane has one. All lanes call it. */
WEFT_INLINE void weft_block_odd_pieces(uint32_t lane, uint64_t from, uint64_t to, uint32_t bytes,
                                       uint32_t pieces)
{
    for (uint32_t i = 0; i < pieces; i++)
        weft_block_move(lane, 32, __shfl_sync(WEFT_ALL_LANES, to, i),
                        __shfl_sync(WEFT_ALL_LANES, from, i),
                        __shfl_sync(WEFT_ALL_LANES, bytes, i));
}

/* Stores words of lanes `first` to `end`, all with groups: each after its group's. All lanes. */
WEFT_INLINE void weft_block_groups(uint32_t lane, uint64_t to, uint64_t value, uint32_t size,
                                   uint32_t first, uint32_t end)
{
    uint32_t left = (end < 32 ? (1u << end) - 1 : UINT32_MAX) >> first << first;

    while (left != 0) { /* the first of each group that is left */
        const uint32_t mine = left >> lane & 1;
        const uint32_t same = __match_any_sync(WEFT_ALL_LANES, mine ? size : 0) & left;
        const bool leads = mine && (same & ((1u << lane) - 1)) == 0;
        if (leads) {
            weft_fence_release_device(ORDER_count_store_host);
            weft_block_put(to, value, 4);
        }
        left &= ~__ballot_sync(WEFT_ALL_LANES, leads);
        __syncwarp(); /* who stores next, or says that all is there, has met who stored */
    }
}

/* Stores words, of which each lane has one, in their order: each behind all before it; those with
 * groups that follow each other at once. All lanes call it. */
WEFT_INLINE void weft_block_words(uint32_t lane, uint64_t to, uint64_t value, uint32_t size,
                                  uint32_t words)
{
    const uint32_t grouped =
        __ballot_sync(WEFT_ALL_LANES, lane < words && size >> WEFT_LOT_GROUP != 0);

    for (uint32_t i = 0; i < words; i++) {
        const uint32_t others = ~grouped >> i;
        const uint32_t end = others == 0 ? 32 : i + (uint32_t)__ffs((int)others) - 1;
        if (end > i) {
            weft_block_groups(lane, to, value, size, i, end);
            i = end - 1;
            continue;
        }
        const uint64_t target = __shfl_sync(WEFT_ALL_LANES, to, i);
        const uint64_t stored = __shfl_sync(WEFT_ALL_LANES, value, i);
        const uint32_t bytes = __shfl_sync(WEFT_ALL_LANES, size, i);
        if (lane == 0) {
            weft_fence_release_device(ORDER_count_store_host);
            weft_block_put(target, stored, bytes);
        }
    }
}

/* Copies a warp's share of a lot's pieces: some at a time, in turns with the other warps. */
WEFT_INLINE void weft_block_share(const struct weft_lot *lot, uint32_t pieces, uint32_t lane,
                                  uint32_t turn, uint32_t warps)
{
    const uint32_t most = warps == 1 ? 32 : 16;

    for (uint32_t first = turn * most; first < pieces; first += warps * most) {
        const uint32_t some = pieces - first < most ? pieces - first : most;
        const bool has = lane < some;
        const uint64_t *piece = (const uint64_t *)&lot->piece[has ? first + lane : 0];
        const uint64_t to = weft_block_still(&piece[0], has),
                       both = weft_block_still(&piece[1], has);
        const uint32_t bytes = (uint32_t)(both >> 32);
        const uint64_t from = (uint64_t)(uintptr_t)lot->bytes + (uint32_t)both;
        if (__all_sync(WEFT_ALL_LANES, ((from | bytes) & 7) == 0))
            weft_block_pieces(lane, from, to, bytes, some);
        else
            weft_block_odd_pieces(lane, from, to, bytes, some);
    }
}

/* What the other warps have to do, in shared memory of the block. */
struct weft_block_shares {
    const struct weft_lot *lot;
    uint32_t pieces; /* 0: they leave */
};

WEFT_INLINE uint64_t weft_block_deliver(const struct weft_block_errand *errand)
{
    const struct weft_lot *const lot = (const struct weft_lot *)errand->address;
    const uint32_t lane = errand->lane, warps = blockDim.x / 32;
    const uint32_t pieces = (uint32_t)__shfl_sync(WEFT_ALL_LANES, errand->word, 2);
    const uint32_t words = (uint32_t)__shfl_sync(WEFT_ALL_LANES, errand->word, 3);
    const bool together = warps > 1 && pieces > 16;
    uint64_t place = weft_block_still(&lot->word[lane].to, true); /* the first, while pieces come */
    uint64_t value = weft_block_still(&lot->word[lane].value, true);
    uint32_t size = lot->size[lane];

    if (together) {
        if (lane == 0)
            *errand->shares = (struct weft_block_shares){lot, pieces};
        __syncthreads();
    }
    weft_block_share(lot, pieces, lane, 0, together ? warps : 1);
    if (together)
        __syncthreads();
    __syncwarp();
    for (uint32_t first = 0; first < words; first += 32) {
        const uint32_t next = first + 32 + lane < WEFT_LOT_WORDS ? first + 32 + lane : 0;
        weft_block_words(lane, place, value, size, words - first < 32 ? words - first : 32);
        place = weft_block_still(&lot->word[next].to, true);
        value = weft_block_still(&lot->word[next].value, true);
        size = lot->size[next];
    }
    return 0;
}

/* Does a lot that fits in an errand: one load over the bus has brought all of it. */
WEFT_INLINE uint64_t weft_block_few(const struct weft_block_errand *errand)
{
    const uint64_t low = __shfl_sync(WEFT_ALL_LANES, errand->word, 2);
    const uint64_t high = __shfl_sync(WEFT_ALL_LANES, errand->word, 3);
    const uint64_t counter = __shfl_sync(WEFT_ALL_LANES, errand->word, 4);

    if (errand->lane == 0 && errand->bytes != 0) {
        weft_fence_release_device(ORDER_deliver_small);
        weft_block_put(errand->address, low, errand->bytes < 8 ? errand->bytes : 8);
        if (errand->bytes == 16)
            weft_block_put(errand->address + 8, high, 8);
    }
    if (errand->lane == 0 && counter != 0) {
        weft_fence_release_device(ORDER_count_store_host);
        weft_block_put(counter, errand->count, 4);
    }
    return 0;
}

/* Kind, function. */
#define WEFT_BLOCK_MAP(X)                                                                          \
    X(WEFT_ERRAND_FETCH, weft_block_fetch)                                                         \
    X(WEFT_ERRAND_STORE, weft_block_store)                                                         \
    X(WEFT_ERRAND_UPDATE, weft_block_update)                                                       \
    X(WEFT_ERRAND_COPY, weft_block_copy)                                                           \
    X(WEFT_ERRAND_DELIVER, weft_block_deliver)                                                     \
    X(WEFT_ERRAND_FEW, weft_block_few)

#endif
