/*
 * bench/flush.cu - weft_put and weft_flush by all ranks of two processes at once, each to its
 * partner in the other process.
 */
#include "support/pair.h"
#include "support/pattern.h"

#include <weft/device.h>

WEFT_KERNEL(flush, struct pair_data, user)
{
    const int here = weft_rank(self, WEFT_COMM_DEVICE);
    const int partner = weft_process_first(self, 1 - weft_process(self)) + here;
    const size_t thread = (size_t)weft_thread(self), threads = (size_t)weft_threads(self);
    const uint64_t end = user->warm_up + user->repeats;
    uint64_t *source = user->source + (size_t)here * user->bytes / 8;
    uint64_t *target = user->target + (size_t)here * user->bytes / 8;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, target, user->bytes);
    pattern_fill(source, 1, user->bytes, thread, threads);
    weft_barrier(self, WEFT_COMM_WORLD);
    for (uint64_t i = 0; i < end; i++) {
        if (i == user->warm_up)
            weft_timer_start(self);
        pattern_stamp(source, 1, user->bytes, i, thread, threads);
        weft_sync(self);
        weft_put(self, win, partner, 0, source, user->bytes);
        weft_flush(self, win);
    }
    weft_timer_stop(self);
    weft_barrier(self, WEFT_COMM_WORLD);
    const uint64_t wrong = pattern_wrong(target, 1, user->bytes, end - 1, thread, threads);
    weft_win_free(self, &win);
    weft_leave(self);
    const double sum = weft_block_sum(self, (double)wrong);
    if (here == 0 && thread == 0)
        user->wrong = (uint64_t)sum;
}

#ifndef __CUDACC__
int main(int argc, char **argv)
{
    return pair_main(argc, argv,
                     "Time of weft_put and weft_flush, by all ranks at once. Run: weftrun -n 2 "
                     "bench_flush",
                     &bench_flush, &flush);
}
#endif
