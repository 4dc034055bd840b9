/*
 * abi/letter.h - a rank's letter box, in host memory: where the host hands it a notification
 * with a small payload while the rank waits. rank/wait/letter.h says how the two agree.
 *
 * The host writes the letter, one at a time, and the rank the door. A letter's head is four words,
 * of which each carries the letter's flag: all four are there when the flags are equal.
 *
 *     flag 8 | payload, bits 0 to 55
 *     flag 8 | payload, bits 56 to 111
 *     flag 8 | tag 8 | address 48
 *     flag 8 | payload, bits 112 to 127 | stamp 29 | bytes 11
 *
 * A payload of up to 16 bytes is in the head. A longer one lies behind it, and was written before
 * it. The address is in memory that the process exposes: the host looked whether all of it is.
 */
#ifndef WEFT_ABI_LETTER_H
#define WEFT_ABI_LETTER_H

#include "order/inline.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    WEFT_LETTER_MOST = 1024, /* bytes of a payload */
    WEFT_LETTER_SHORT = 16   /* that are in the head */
};

struct weft_letter_box {
    uint64_t head[4];
    uint64_t unused[4];
    unsigned char payload[WEFT_LETTER_MOST];
    uint64_t door; /* the rank's: */
    uint64_t unused_too[7];
};

static_assert(sizeof(struct weft_letter_box) == 1152, "its lines are shared with nothing");

/* A letter, apart from what is in the box. payload: the first 16 bytes of it. */
struct weft_letter {
    uint64_t address, payload[2];
    uint32_t bytes, tag, stamp;
    uint32_t flag;
};

#define WEFT_LETTER_ADDRESSES ((uint64_t)1 << 48)
#define WEFT_LETTER_STAMPS    ((uint32_t)1 << 29)
#define WEFT_LETTER_CONTENT   (((uint64_t)1 << 56) - 1)

/* Of the n-th letter: never 0, which is what a box holds at first; not that of the one before, also
 * where n wraps. */
WEFT_INLINE uint32_t weft_letter_flag(uint32_t n)
{
    return n % 128 + 1;
}

WEFT_INLINE uint64_t weft_letter_word(const struct weft_letter *letter, int word)
{
    const uint64_t low = letter->payload[0], high = letter->payload[1];
    const uint64_t flag = (uint64_t)letter->flag << 56;

    switch (word) {
    case 0:
        return flag | (low & WEFT_LETTER_CONTENT);
    case 1:
        return flag | low >> 56 | (high << 8 & WEFT_LETTER_CONTENT);
    case 2:
        return flag | (uint64_t)letter->tag << 48 | letter->address;
    default:
        return flag | high >> 48 << 40 | (uint64_t)letter->stamp << 11 | letter->bytes;
    }
}

/* The letter whose head these words are; flag 0: they are not of one letter. */
WEFT_INLINE struct weft_letter weft_letter_of(const uint64_t word[4])
{
    struct weft_letter letter;
    const uint64_t flag = word[0] >> 56;

    letter.payload[0] = (word[0] & WEFT_LETTER_CONTENT) | word[1] << 56;
    letter.payload[1] = (word[1] & WEFT_LETTER_CONTENT) >> 8 | (word[3] >> 40 & 0xffff) << 48;
    letter.tag = (uint32_t)(word[2] >> 48) & 0xff;
    letter.address = word[2] & (WEFT_LETTER_ADDRESSES - 1);
    letter.stamp = (uint32_t)(word[3] >> 11) & (WEFT_LETTER_STAMPS - 1);
    letter.bytes = (uint32_t)word[3] & 0x7ff;
    letter.flag = word[1] >> 56 == flag && word[2] >> 56 == flag && word[3] >> 56 == flag
                      ? (uint32_t)flag
                      : 0;
    return letter;
}

/* The door: which wait it stands for, whether it is open, and how many letters were ever taken. */
WEFT_INLINE uint64_t weft_door(uint32_t stamp, bool open, uint32_t taken)
{
    return (uint64_t)stamp << 33 | (uint64_t)open << 32 | taken;
}
WEFT_INLINE bool weft_door_open(uint64_t door)
{
    return (door >> 32 & 1) != 0;
}
WEFT_INLINE uint32_t weft_door_stamp(uint64_t door)
{
    return (uint32_t)(door >> 33) & (WEFT_LETTER_STAMPS - 1);
}
WEFT_INLINE uint32_t weft_door_taken(uint64_t door)
{
    return (uint32_t)door;
}

#endif
