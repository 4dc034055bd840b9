/*
 * A sum over all ranks in two levels. Inside the device the ranks store their sums side by side
 * and notify the leader, which adds them up. Between devices only the leaders speak, on a binomial
 * tree: fewer and longer ways are what a network likes least.
 */
#include <weft/device.h>

#include "reduction.h"

WEFT_DEVICE_FN double partial_sum(weft_self *self, int64_t elements)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int64_t mine = (elements - me + n - 1) / n;
    double sum = 0;

    weft_for (i, mine)
        sum += (double)(me + 1 + (int64_t)i * n);
    return weft_block_sum(self, sum);
}

/* The device's sum, at its leader. A plain store is enough here: notify releases it. */
WEFT_DEVICE_FN double device_sum(weft_self *self, double *slots, double mine, int tag)
{
    const int n = weft_size(self, WEFT_COMM_DEVICE), me = weft_rank(self, WEFT_COMM_DEVICE);
    double sum = 0;

    if (weft_thread(self) == 0)
        slots[me] = mine;
    if (me != 0) {
        weft_notify(self, WEFT_COMM_DEVICE, 0, tag);
        return 0;
    }
    weft_wait(self, tag, (uint32_t)(n - 1));
    weft_for (i, n)
        sum += slots[i];
    return weft_block_sum(self, sum);
}

/* The sum over the devices, at process 0; called by leaders only. */
WEFT_DEVICE_FN double leaders_sum(weft_self *self, weft_win win, double *arrivals, double sum,
                                  int first_tag)
{
    const int n = weft_processes(self), me = weft_process(self);

    for (int round = 0; (1 << round) < n; round++) {
        const int bit = 1 << round;
        if (me & bit) {
            /* A put's source is device memory: nobody puts into this leader's slot of the round. */
            if (weft_thread(self) == 0)
                arrivals[round] = sum;
            weft_sync(self);
            /* The leader of a device is its first rank. */
            weft_put_notify(self, win, weft_process_first(self, me - bit),
                            (size_t)round * sizeof(double), &arrivals[round], sizeof(double),
                            first_tag + round);
            break;
        }
        if (me + bit < n) {
            weft_wait(self, first_tag + round, 1);
            sum += arrivals[round];
        }
    }
    return sum;
}

WEFT_KERNEL(reduction_kernel, struct reduction, user)
{
    const int leader = weft_rank(self, WEFT_COMM_DEVICE) == 0;
    double *arrivals = user->slots + weft_size(self, WEFT_COMM_DEVICE);

    weft_enter(self);
    /* Only leaders expose memory; the other ranks take part with a window of no bytes. */
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, leader ? arrivals : NULL,
                                   leader ? ROUNDS * sizeof(double) : 0);

    double sum = device_sum(self, user->slots, partial_sum(self, user->elements), user->device_tag);
    if (leader)
        sum = leaders_sum(self, win, arrivals, sum, user->round_tag);
    if (weft_rank(self, WEFT_COMM_WORLD) == 0 && weft_thread(self) == 0)
        user->sum = sum;

    weft_win_free(self, &win);
    weft_leave(self);
}
