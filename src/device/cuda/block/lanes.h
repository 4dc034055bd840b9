/*
 * device/cuda/block/lanes.h - loads, stores and copies by the lanes of a warp, or by one thread of
 * the host, which is a warp of one lane. Elements of 8, 4 and 2 bytes are undivided.
 */
#ifndef WEFT_DEVICE_CUDA_BLOCK_LANES_H
#define WEFT_DEVICE_CUDA_BLOCK_LANES_H

#include "order/atomic.h"

/* Returns the size of the largest element that the bytes are made of. */
WEFT_INLINE uint32_t weft_block_element(uint64_t all)
{
    return (all & 7) == 0 ? 8 : (all & 3) == 0 ? 4 : (all & 1) == 0 ? 2 : 1;
}

WEFT_INLINE uint64_t weft_block_load(uint64_t address, uint32_t size)
{
    if (size == 8)
        return weft_load_relaxed_u64((const uint64_t *)address);
    if (size == 4)
        return weft_load_relaxed_u32((const uint32_t *)address);
    if (size == 2)
        return *(const volatile uint16_t *)address;
    return *(const volatile uint8_t *)address;
}

WEFT_INLINE void weft_block_put(uint64_t address, uint64_t value, uint32_t size)
{
    if (size == 8)
        weft_store_relaxed_u64((uint64_t *)address, value);
    else if (size == 4)
        weft_store_relaxed_u32((uint32_t *)address, (uint32_t)value);
    else if (size == 2)
        *(volatile uint16_t *)address = (uint16_t)value;
    else
        *(volatile uint8_t *)address = (uint8_t)value;
}

/*
 * Loads a word, if it is wanted, else gives 0: of memory that stays as it is until the errand is
 * done. Loads that are no atomics are put together: those of a warp cross the bus as lines, not as
 * words. There is no branch, as in weft_load_relaxed_if_u64.
 */
WEFT_INLINE uint64_t weft_block_still(const uint64_t *p, bool wanted)
{
#ifdef __CUDACC__
    uint64_t value;
    asm volatile("{\n\t.reg .pred wanted;\n\t"
                 "setp.ne.u32 wanted, %2, 0;\n\t"
                 "mov.u64 %0, 0;\n\t"
                 "@wanted ld.weak.u64 %0, [%1];\n\t}"
                 : "=&l"(value)
                 : "l"(p), "r"((uint32_t)wanted)
                 : "memory");
    return value;
#else
    return wanted ? *p : 0;
#endif
}

/* Copies `words` of 8 bytes. All `lanes` lanes call it. They load before they store, since memory
 * of the host is far, and without a branch between the loads, or each would wait for the one
 * before. */
WEFT_INLINE void weft_block_move_words(uint32_t lane, uint32_t lanes, uint64_t *to,
                                       const uint64_t *from, uint64_t words)
{
    enum { DEEP = 8 };

    for (uint64_t at = lane; at < words; at += DEEP * lanes) {
        uint64_t word[DEEP];
        WEFT_UNROLL
        for (uint32_t i = 0; i < DEEP; i++)
            word[i] = weft_load_relaxed_if_u64(&from[at + i * lanes], at + i * lanes < words);
        WEFT_UNROLL
        for (uint32_t i = 0; i < DEEP; i++)
            if (at + i * lanes < words)
                weft_store_relaxed_u64(&to[at + i * lanes], word[i]);
    }
}

/* Copies between memories of any kind that ranks reach. All `lanes` lanes call it. */
WEFT_INLINE void weft_block_move(uint32_t lane, uint32_t lanes, uint64_t to, uint64_t from,
                                 uint64_t bytes)
{
    const uint32_t size = weft_block_element(to | from);
    const uint64_t whole = bytes / size * size, step = (uint64_t)lanes * size;

    if (size == 8)
        weft_block_move_words(lane, lanes, (uint64_t *)to, (const uint64_t *)from, bytes / 8);
    for (uint64_t at = (uint64_t)lane * size; size != 8 && at < whole; at += step)
        weft_block_put(to + at, weft_block_load(from + at, size), size);
    for (uint64_t at = whole + lane; at < bytes; at += lanes) /* bytes that are no element */
        weft_block_put(to + at, weft_block_load(from + at, 1), 1);
}

#endif
