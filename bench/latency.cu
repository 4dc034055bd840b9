/*
 * bench/latency.cu - ping-pong of weft_put_notify and weft_wait between the first ranks of two
 * processes; their other ranks wait meanwhile. One-way time: half a round trip.
 */
#include "support/pair.h"
#include "support/pattern.h"

#include <weft/device.h>

enum { TAG, TAG_END };

/*
 * The answer says that the message has arrived, so its source may be changed again without a flush.
 */
WEFT_DEVICE_FN void send(weft_self *self, struct pair_data *user, weft_win win, uint64_t number)
{
    pattern_stamp(user->source, 1, user->bytes, number, (size_t)weft_thread(self),
                  (size_t)weft_threads(self));
    weft_sync(self);
    weft_put_notify(self, win, weft_process_first(self, 1 - weft_process(self)), 0, user->source,
                    user->bytes, TAG);
}

WEFT_DEVICE_FN uint64_t receive(weft_self *self, struct pair_data *user, uint64_t number)
{
    weft_wait(self, TAG, 1);
    return pattern_late(user->target, 1, user->bytes, number, (size_t)weft_thread(self),
                        (size_t)weft_threads(self));
}

/* All round trips; how many words came wrong. */
WEFT_DEVICE_FN uint64_t play(weft_self *self, struct pair_data *user, weft_win win)
{
    const int first = weft_process(self) == 0;
    const size_t thread = (size_t)weft_thread(self), threads = (size_t)weft_threads(self);
    const uint64_t end = user->warm_up + user->repeats;
    uint64_t wrong = 0;

    pattern_fill(user->source, 1, user->bytes, thread, threads);
    for (uint64_t i = 0; i < end; i++) {
        if (i == user->warm_up)
            weft_timer_start(self);
        if (first)
            send(self, user, win, i);
        wrong += receive(self, user, i);
        if (!first)
            send(self, user, win, i);
    }
    for (int r = 1; r < weft_size(self, WEFT_COMM_DEVICE); r++)
        weft_notify(self, WEFT_COMM_DEVICE, r, TAG_END);
    weft_timer_stop(self);
    return wrong + pattern_wrong(user->target, 1, user->bytes, end - 1, thread, threads);
}

WEFT_KERNEL(latency, struct pair_data, user)
{
    const int here = weft_rank(self, WEFT_COMM_DEVICE);
    uint64_t wrong = 0;

    weft_enter(self);
    weft_win win =
        weft_win_create(self, WEFT_COMM_WORLD, user->target, here == 0 ? user->bytes : 0);
    if (here == 0) {
        wrong = play(self, user, win);
    } else { /* ranks start and stop their timers together */
        weft_timer_start(self);
        weft_wait(self, TAG_END, 1);
        weft_timer_stop(self);
    }
    weft_win_free(self, &win);
    weft_leave(self);
    const double sum = weft_block_sum(self, (double)wrong);
    if (here == 0 && weft_thread(self) == 0)
        user->wrong = (uint64_t)sum;
}

#ifndef __CUDACC__
int main(int argc, char **argv)
{
    return pair_main(argc, argv,
                     "Latency of weft_put_notify and weft_wait. Run: weftrun -n 2 bench_latency",
                     &bench_latency, &latency);
}
#endif
