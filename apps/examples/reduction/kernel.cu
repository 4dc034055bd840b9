/*
 * A sum over all ranks on a binomial tree. In round k, a rank whose bit k is set sends what it has
 * to the rank without that bit, and is done; the other waits and adds. After log2 n rounds rank 0
 * has it all.
 */
#include <weft/device.h>

#include "reduction.h"

/* This rank's share: elements rank + 1, rank + 1 + n, ...; its threads divide it among them. */
WEFT_DEVICE_FN double partial_sum(weft_self *self, int64_t elements)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int64_t mine = (elements - me + n - 1) / n;
    double sum = 0;

    weft_for (i, mine)
        sum += (double)(me + 1 + (int64_t)i * n);
    return weft_block_sum(self, sum);
}

WEFT_KERNEL(reduction_kernel, struct reduction, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    double *slots = user->slots + weft_rank(self, WEFT_COMM_DEVICE) * ROUNDS;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, slots, ROUNDS * sizeof(double));

    double sum = partial_sum(self, user->elements);
    for (int round = 0; (1 << round) < n; round++) {
        const int bit = 1 << round;
        if (me & bit) {
            /* A put's source is device memory: nobody puts into this rank's slot of the round. */
            if (weft_thread(self) == 0)
                slots[round] = sum;
            weft_sync(self);
            /* The data and its notification are one message; the tag says which round. */
            weft_put_notify(self, win, me - bit, (size_t)round * sizeof(double), &slots[round],
                            sizeof(double), round);
            break;
        }
        if (me + bit < n) {
            weft_wait(self, round, 1);
            sum += slots[round];
        }
    }
    if (me == 0 && weft_thread(self) == 0)
        user->sum = sum;

    weft_win_free(self, &win);
    weft_leave(self);
}
