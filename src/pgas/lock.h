/*
 * pgas/lock.h - what a lock's words are: the last one in the queue, at the group's first place; and
 * for each host program and rank, at its own place, who comes after it and whether it has the lock.
 *
 * All words are changed by updates alone, which order what came before them. A poll orders nothing:
 * who has seen a word change swaps it back to 0, and so has it ready for the next time.
 */
#ifndef WEFT_PGAS_LOCK_H
#define WEFT_PGAS_LOCK_H

#include "pgas/space.h"

enum { WEFT_GLOCK_NEXT, WEFT_GLOCK_GRANTED, WEFT_GLOCK_WORDS };

/* Never 0. Slot 0 is the host program. */
WEFT_INLINE uint64_t weft_glock_who(int place, uint32_t slot)
{
    return ((uint64_t)(uint32_t)place << 16 | slot) + 1;
}

WEFT_INLINE weft_gptr weft_glock_word(const weft_glock *lock, uint64_t who, int word)
{
    const uint64_t at = 1 + ((who - 1) & 0xffff); /* the first is the queue's end */

    return weft_gptr_add(weft_gptr_at_place(lock->memory.base, (int)((who - 1) >> 16)),
                         (int64_t)(at * WEFT_GLOCK_WORDS + (uint64_t)word) * 8);
}

#endif
