/*
 * pgas/lock.h - what a lock's words are. At the group's first place: the last one in the queue. At
 * the place of each host program and rank: who comes after it, and whether it has the lock.
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

/* Waits until a word of this place is not 0, and takes it. */
WEFT_INLINE uint64_t weft_glock_await(weft_self *self, const weft_gspace *space, weft_gptr word)
{
#ifndef __CUDACC__
    while (space->apart) { /* by the device, which alone sees it whole */
        const uint64_t value = weft_gswap(self, space, word, 0);
        if (value != 0)
            return value;
    }
#endif
    weft_wait_until(self, (const uint64_t *)weft_gaddress(self, space, word), WEFT_NE, 0);
    return weft_gswap(self, space, word, 0);
}

/* Gives the lock to who comes after `me`, whose next word is `word`. False: nobody has the lock. */
WEFT_INLINE bool weft_glock_give(weft_self *self, const weft_gspace *space, const weft_glock *lock,
                                 uint64_t me, weft_gptr word)
{
    uint64_t next = weft_gswap(self, space, word, 0);

    if (next == 0) {
        const uint64_t last = weft_gcompare_swap(self, space, lock->memory.base, me, 0);
        if (last == me)
            return true;
        if (last == 0)
            return false;
        next = weft_glock_await(self, space, word); /* it has come, and is about to say so */
    }
    weft_gswap(self, space, weft_glock_word(lock, next, WEFT_GLOCK_GRANTED), 1);
    return true;
}

#endif
