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
#include "order/atomic.h"

#define WEFT_ALL_LANES 0xffffffffu

/* An errand as its lanes have it. */
struct weft_block_errand {
    uint32_t lane;
    uint32_t how, type, bytes;
    uint64_t address;
    uint64_t word; /* lanes 2 to 6: of its data */
};

/* The largest element that the bytes are made of. */
WEFT_INLINE uint32_t weft_block_element(const struct weft_block_errand *errand)
{
    const uint64_t all = errand->address | errand->bytes;
    return (all & 7) == 0 ? 8 : (all & 3) == 0 ? 4 : 1;
}

/* Element e of the data, of `size` bytes; the lanes ask for different ones. */
WEFT_INLINE uint64_t weft_block_cut(const struct weft_block_errand *errand, uint32_t e,
                                    uint32_t size)
{
    const uint32_t at = e * size;
    return __shfl_sync(WEFT_ALL_LANES, errand->word, (2 + at / 8) & 31) >> at % 8 * 8;
}

/* The reverse: lane l brings element l, and in `more` element 32 + l; each lane gets its word. */
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

WEFT_INLINE uint64_t weft_block_load(uint64_t address, uint32_t size)
{
    if (size == 8)
        return weft_load_relaxed_u64((const uint64_t *)address);
    if (size == 4)
        return weft_load_relaxed_u32((const uint32_t *)address);
    return *(const volatile uint8_t *)address;
}

WEFT_INLINE void weft_block_put(uint64_t address, uint64_t value, uint32_t size)
{
    if (size == 8)
        weft_store_relaxed_u64((uint64_t *)address, value);
    else if (size == 4)
        weft_store_relaxed_u32((uint32_t *)address, (uint32_t)value);
    else
        *(volatile uint8_t *)address = (uint8_t)value;
}

WEFT_INLINE uint64_t weft_block_fetch(const struct weft_block_errand *errand)
{
    const uint32_t size = weft_block_element(errand), at = errand->lane * size;
    const uint32_t bytes = errand->bytes;
    const uint64_t element = at < bytes ? weft_block_load(errand->address + at, size) : 0;
    const uint64_t more =
        at + 32 * size < bytes ? weft_block_load(errand->address + at + 32 * size, size) : 0;

    return weft_block_join(errand, element, more, size);
}

WEFT_INLINE uint64_t weft_block_store(const struct weft_block_errand *errand)
{
    const uint32_t size = weft_block_element(errand);

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

/* All lanes load before they store, since memory of the host is far. */
WEFT_INLINE uint64_t weft_block_copy(const struct weft_block_errand *errand)
{
    enum { DEEP = 8 };
    const uint64_t source = __shfl_sync(WEFT_ALL_LANES, errand->word, 2);
    const uint64_t bytes = __shfl_sync(WEFT_ALL_LANES, errand->word, 3);
    const uint64_t all = errand->address | source;
    const uint32_t size = (all & 7) == 0 ? 8 : (all & 3) == 0 ? 4 : 1;
    const uint64_t whole = bytes / size * size, step = (uint64_t)32 * size;
    const uint64_t last = whole + errand->lane; /* of the bytes that are no element */
    uint64_t element[DEEP];

    for (uint64_t at = errand->lane * size; at < whole; at += DEEP * step) {
        for (uint32_t i = 0; i < DEEP; i++)
            if (at + i * step < whole)
                element[i] = weft_block_load(source + at + i * step, size);
        for (uint32_t i = 0; i < DEEP; i++)
            if (at + i * step < whole)
                weft_block_put(errand->address + at + i * step, element[i], size);
    }
    if (last < bytes)
        weft_block_put(errand->address + last, weft_block_load(source + last, 1), 1);
    return 0;
}

/* Kind, function. */
#define WEFT_BLOCK_MAP(X)                                                                          \
    X(WEFT_ERRAND_FETCH, weft_block_fetch)                                                         \
    X(WEFT_ERRAND_STORE, weft_block_store)                                                         \
    X(WEFT_ERRAND_UPDATE, weft_block_update)                                                       \
    X(WEFT_ERRAND_COPY, weft_block_copy)

#endif
