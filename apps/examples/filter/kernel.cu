/*
 * The threads of a rank work together: which numbers are small, packed one behind the other
 * (weft_block_scan); the largest, and where it stands (weft_block_reduce); and how many numbers of
 * all ranks end in each digit (weft_atomic).
 */
#include <weft/device.h>

#include "filter.h"

WEFT_KERNEL(filter_kernel, struct filter, user)
{
    const int rank = weft_rank(self, WEFT_COMM_DEVICE), threads = weft_threads(self);
    struct found *const found = &user->found[rank];
    uint32_t kept = 0, largest = 0;
    uint64_t where = 0;
    const uint32_t one = 1;

    for (uint64_t first = 0; first < NUMBERS; first += (uint64_t)threads) {
        const uint64_t i = first + (uint64_t)weft_thread(self);
        const uint32_t number = i < NUMBERS ? NUMBER(rank, i) : LIMIT;
        const int keep = number < LIMIT;
        uint32_t place = (uint32_t)keep, all;
        weft_block_scan(self, &place, WEFT_U32, WEFT_SUM, &all);
        if (keep)
            found->number[kept + place - 1] = number;
        kept += all;
    }
    weft_for (i, NUMBERS) {
        const uint32_t number = NUMBER(rank, i);
        weft_atomic(self, &user->digits[number % DIGITS], &one, WEFT_U32, WEFT_SUM, NULL);
        if (number > largest)
            where = i;
        largest = number > largest ? number : largest;
    }
    weft_block_reduce(self, &largest, WEFT_U32, WEFT_MAX, &where);
    if (weft_thread(self) == 0) {
        found->kept = kept;
        found->largest = largest;
        found->where = where;
    }
}
