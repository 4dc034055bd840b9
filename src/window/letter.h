/*
 * window/letter.h - the words of a letter and of a rank's door; kernel_api/letter.h says what they
 * are for.
 */
#ifndef WEFT_WINDOW_LETTER_H
#define WEFT_WINDOW_LETTER_H

#include "base/inline.h"

#include <stdbool.h>
#include <stdint.h>

enum { WEFT_LETTER_WORDS = 4, WEFT_LETTER_MOST = 16 };
#define WEFT_LETTER_CONTENT ((1ull << 56) - 1)

/*
 * On top of each word the low byte of the number. Below: the address; 7 bytes of payload; 7 more;
 * 2 more and, in the third byte, how many they are: 0, 4, 8 or 16.
 */
struct weft_letter {
    uint64_t word[WEFT_LETTER_WORDS];
};

/* Numbers have 24 bits, and are never 0: the low byte of no letter's number is 0. */
WEFT_INLINE uint32_t weft_letter_next(uint32_t number)
{
    const uint32_t next = (number + 1) & 0xffffff;
    return (next & 0xff) == 0 ? next + 1 : next;
}

/* 24 bits: the number of the next letter; 24: of the last that was taken; 8: open; 8: its tag. */
WEFT_INLINE uint64_t weft_door(uint32_t number, uint32_t taken, bool open, uint32_t tag)
{
    return (uint64_t)number << 40 | (uint64_t)taken << 16 | (open ? 0x100u : 0u) | tag;
}
WEFT_INLINE uint32_t weft_door_number(uint64_t door)
{
    return (uint32_t)(door >> 40);
}
WEFT_INLINE uint32_t weft_door_taken(uint64_t door)
{
    return (uint32_t)(door >> 16) & 0xffffff;
}
WEFT_INLINE bool weft_door_open(uint64_t door, uint32_t tag)
{
    return (door & 0xffff) == (0x100u | tag);
}

#endif
