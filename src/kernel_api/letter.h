/*
 * kernel_api/letter.h - a notification with a small payload that the host hands to a rank which is
 * waiting for it, instead of writing to device memory itself, which takes a GPU some microseconds.
 *
 * A rank that has polled in vain for a while opens its door: a word in host memory that names the
 * tag it waits for, and the number of the next letter. While the door is open it also polls the
 * letter, in host memory. The host writes one only to an open door, when nothing is on its way to
 * the device, and waits until the number has gone on: then the rank has either taken the letter -
 * copied the payload into the window, and counted - or left without it, and the door says which. A
 * letter that was not taken goes the usual way. So nobody is ever unsure who lands the data, and
 * what comes later comes later. The rank shuts the door whenever its wait is over.
 *
 * Each word of a letter carries the low byte of its number: it is complete when all four do.
 */
#ifndef WEFT_KERNEL_API_LETTER_H
#define WEFT_KERNEL_API_LETTER_H

#include "window/letter.h"
#include "window/state.h"

enum { WEFT_LETTER_ROUNDS = 4, WEFT_LETTER_MISSES = 4, WEFT_LETTER_TRY = 16 };

/* Tells the host: what comes next, and of whose letters the last was taken. The leader. */
WEFT_INLINE void weft_door_tell(weft_self *self, bool open, uint32_t tag)
{
    weft_store_release_u64(&self->waiting->door,
                           weft_door(self->letter_number, self->letter_taken, open, tag),
                           ORDER_eager_credit);
}

/* After so many rounds in vain. Doors that were opened for nothing are opened less often. */
WEFT_COLD bool weft_letter_open(weft_self *self, uint32_t tag)
{
    if (self->state->letters == 0 ||
        (self->letter_misses >= WEFT_LETTER_MISSES && ++self->letter_misses % WEFT_LETTER_TRY != 0))
        return false;
    weft_door_tell(self, true, tag);
    return true;
}

/* The payload, to where it belongs: words that somebody may poll are not divided. */
WEFT_INLINE void weft_letter_land(uint64_t address, uint32_t bytes, uint64_t low, uint64_t high)
{
    if (bytes == 4) {
        weft_store_release_u32((uint32_t *)(uintptr_t)address, (uint32_t)low, ORDER_land_small);
    } else if (bytes != 0) {
        weft_store_release_u64((uint64_t *)(uintptr_t)address, low, ORDER_land_small);
        if (bytes == 16)
            weft_store_release_u64((uint64_t *)(uintptr_t)address + 1, high, ORDER_land_small);
    }
}

/* Takes the letter if it is there, which counts as one notification of the tag. */
WEFT_COLD bool weft_letter_take(weft_self *self, uint32_t tag)
{
    const struct weft_letter *letter = &self->link->letter;
    const uint64_t flag = self->letter_number & 0xff;
    uint64_t word[WEFT_LETTER_WORDS];

    for (int w = 0; w < WEFT_LETTER_WORDS; w++)
        word[w] = weft_poll_u64(&letter->word[w], ORDER_count_read_host);
    for (int w = 0; w < WEFT_LETTER_WORDS; w++)
        if (word[w] >> 56 != flag)
            return false;
    weft_polled();
    weft_letter_land(word[0] & WEFT_LETTER_CONTENT, (uint32_t)(word[3] >> 16) & 0xff,
                     (word[1] & WEFT_LETTER_CONTENT) | word[2] << 56,
                     (word[2] & WEFT_LETTER_CONTENT) >> 8 | (word[3] & 0xffff) << 48);
    self->consumed[tag]--;
    self->letter_taken = self->letter_number;
    self->letter_number = weft_letter_next(self->letter_number);
    self->letter_misses = 0;
    weft_door_tell(self, false, 0);
    return true;
}

/* The wait is over, and no letter has come. */
WEFT_COLD void weft_letter_shut(weft_self *self)
{
    self->letter_misses++;
    self->letter_number = weft_letter_next(self->letter_number);
    weft_door_tell(self, false, 0);
}

/* In each round of a wait for notifications that found nothing. *open: this wait's door is. */
WEFT_INLINE void weft_letter_round(weft_self *self, uint32_t rounds, uint32_t tag, bool *open)
{
    if (*open)
        *open = !weft_letter_take(self, tag);
    else if (rounds == WEFT_LETTER_ROUNDS)
        *open = weft_letter_open(self, tag);
}

#endif
