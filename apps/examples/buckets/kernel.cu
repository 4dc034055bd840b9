/*
 * Numbers go to the ranks in whose range they are: counted, announced (weft_alltoall), exchanged
 * (weft_alltoall_sizes).
 */
#include <weft/coll.h>

#include "buckets.h"

WEFT_DEVICE_FN uint32_t number_of(int rank, size_t i)
{
    return (uint32_t)(((uint64_t)rank * NUMBERS + i + 1) * 0x9e3779b97f4a7c15u >> 32);
}

/* Which of n ranks gets a number. */
WEFT_DEVICE_FN int bucket_of(uint32_t number, int n)
{
    return (int)((uint64_t)number * (uint64_t)n >> 32);
}

/* Where blocks begin that lie one behind the other; how long they are together. */
WEFT_DEVICE_FN size_t line_up(const size_t *sizes, size_t *offsets, int n)
{
    size_t at = 0;

    for (int i = 0; i < n; i++) {
        offsets[i] = at;
        at += sizes[i];
    }
    return at;
}

WEFT_KERNEL(buckets_kernel, struct buckets, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const size_t here = (size_t)weft_rank(self, WEFT_COMM_DEVICE), ranks = (size_t)n;
    uint32_t *const sorted = user->sorted + here * NUMBERS;
    uint32_t *const received = user->received + here * NUMBERS * ranks;
    size_t *const sends = user->arrays + here * ARRAYS * ranks, *const from = sends + ranks;
    size_t *const receives = from + ranks, *const to = receives + ranks;
    uint64_t *const sums = user->sums + here * 2;
    const uint64_t one = 1;
    uint64_t wrong = 0, place;

    weft_for (i, ranks)
        sends[i] = 0;
    weft_sync(self);
    weft_for (i, NUMBERS)
        weft_atomic(self, &sends[bucket_of(number_of(me, i), n)], &one, WEFT_U64, WEFT_SUM, NULL);
    weft_alltoall(self, WEFT_COMM_WORLD, sends, receives, 1, WEFT_U64);
    if (weft_thread(self) == 0) {
        line_up(sends, from, n);
        sums[0] = line_up(receives, to, n);
    }
    weft_sync(self);
    weft_for (i, NUMBERS) {
        const uint32_t number = number_of(me, i);
        weft_atomic(self, &from[bucket_of(number, n)], &one, WEFT_U64, WEFT_SUM, &place);
        sorted[place] = number;
    }
    weft_sync(self);
    if (weft_thread(self) == 0)
        line_up(sends, from, n);
    weft_sync(self);
    weft_alltoall_sizes(self, WEFT_COMM_WORLD, sorted, sends, from, received, receives, to,
                        WEFT_U32);
    weft_for (i, sums[0])
        wrong += bucket_of(received[i], n) != me;
    weft_block_reduce(self, &wrong, WEFT_U64, WEFT_SUM, NULL);
    sums[1] = wrong; /* all threads store the same */
    weft_allreduce(self, WEFT_COMM_WORLD, sums, sums, 2, WEFT_U64, WEFT_SUM);
    if (here == 0 && weft_thread(self) == 0) {
        user->got = sums[0];
        user->wrong = sums[1];
    }
}
