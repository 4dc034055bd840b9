/*
 * support/pattern.h - what the messages carry, so that every system is checked in the same way.
 *
 * Before a size is timed, every word of the source gets a value that depends on the size and on
 * where it lies. In the timed loop each message gets its number as first and last word, and the
 * receiver looks at both. After the timed loop the receiver looks at all words: nothing else ever
 * wrote these values there. The same few nanoseconds are spent on every system.
 *
 * `slots` messages of `bytes` bytes (a multiple of 8) lie one after the other. Each call does the
 * share of one thread of `threads`.
 */
#ifndef BENCH_PATTERN_H
#define BENCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define BENCH_FN static __device__ inline
#else
#define BENCH_FN static inline
#endif

/* Word i of the slots. */
BENCH_FN uint64_t pattern_word(size_t bytes, size_t i)
{
    uint64_t value = ((uint64_t)bytes << 32) + i + 1;
    value *= 0x9e3779b97f4a7c15u;
    return value ^ (value >> 29);
}

BENCH_FN void pattern_fill(uint64_t *slots, size_t count, size_t bytes, size_t thread,
                           size_t threads)
{
    for (size_t i = thread; i < count * (bytes / 8); i += threads)
        slots[i] = pattern_word(bytes, i);
}

/* Numbers the messages. */
BENCH_FN void pattern_stamp(uint64_t *slots, size_t count, size_t bytes, uint64_t number,
                            size_t thread, size_t threads)
{
    const size_t words = bytes / 8;
    for (size_t i = thread; i < count; i += threads) {
        slots[i * words] = number;
        slots[i * words + words - 1] = number;
    }
}

/* How many of the messages do not have this number. */
BENCH_FN uint64_t pattern_late(const uint64_t *slots, size_t count, size_t bytes, uint64_t number,
                               size_t thread, size_t threads)
{
    const size_t words = bytes / 8;
    uint64_t late = 0;
    for (size_t i = thread; i < count; i += threads)
        late += slots[i * words] != number || slots[i * words + words - 1] != number;
    return late;
}

/* How many words are wrong in messages with this number. */
BENCH_FN uint64_t pattern_wrong(const uint64_t *slots, size_t count, size_t bytes, uint64_t number,
                                size_t thread, size_t threads)
{
    const size_t words = bytes / 8;
    uint64_t wrong = 0;
    for (size_t i = thread; i < count * words; i += threads) {
        int stamped = i % words == 0 || i % words == words - 1;
        wrong += slots[i] != (stamped ? number : pattern_word(bytes, i));
    }
    return wrong;
}

#endif
