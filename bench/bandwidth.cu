/*
 * bench/bandwidth.cu - windows of puts from process 0 to process 1, one rank each, every put from
 * and to a place of its own; the last one of a window notifies. A notification back when all of it
 * has arrived.
 */
#include "support/pair.h"
#include "support/pattern.h"

#include <weft/device.h>

enum { TAG = 0 };

/* The answer says that the window has arrived, so its sources may be changed again. */
WEFT_DEVICE_FN void send(weft_self *self, struct pair_data *user, weft_win win, uint64_t number)
{
    const uint64_t last = user->slots - 1, words = user->bytes / 8;

    pattern_stamp(user->source, user->slots, user->bytes, number, (size_t)weft_thread(self),
                  (size_t)weft_threads(self));
    weft_sync(self);
    for (uint64_t i = 0; i < last; i++)
        weft_put(self, win, 1, i * user->bytes, user->source + i * words, user->bytes);
    weft_put_notify(self, win, 1, last * user->bytes, user->source + last * words, user->bytes,
                    TAG);
    weft_wait(self, TAG, 1);
}

WEFT_DEVICE_FN uint64_t receive(weft_self *self, struct pair_data *user, uint64_t number)
{
    weft_wait(self, TAG, 1);
    const uint64_t late = pattern_late(user->target, user->slots, user->bytes, number,
                                       (size_t)weft_thread(self), (size_t)weft_threads(self));
    weft_notify(self, WEFT_COMM_WORLD, 0, TAG);
    return late;
}

WEFT_KERNEL(bandwidth, struct pair_data, user)
{
    const int sender = weft_rank(self, WEFT_COMM_WORLD) == 0;
    const size_t thread = (size_t)weft_thread(self), threads = (size_t)weft_threads(self);
    const uint64_t end = user->warm_up + user->repeats;
    uint64_t wrong = 0;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, user->target, user->slots * user->bytes);
    pattern_fill(user->source, user->slots, user->bytes, thread, threads);
    for (uint64_t i = 0; i < end; i++) {
        if (i == user->warm_up)
            weft_timer_start(self);
        if (sender)
            send(self, user, win, i);
        else
            wrong += receive(self, user, i);
    }
    weft_timer_stop(self);
    if (!sender)
        wrong += pattern_wrong(user->target, user->slots, user->bytes, end - 1, thread, threads);
    weft_win_free(self, &win);
    weft_leave(self);
    const double sum = weft_block_sum(self, (double)wrong);
    if (thread == 0)
        user->wrong = (uint64_t)sum;
}

#ifndef __CUDACC__
int main(int argc, char **argv)
{
    return pair_main(argc, argv,
                     "Bandwidth of weft_put, 64 to a notification. Run: weftrun -n 2 "
                     "bench_bandwidth",
                     &bench_bandwidth, &bandwidth);
}
#endif
