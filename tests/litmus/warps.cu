/*
 * litmus/warps.cu - calls by the warps of a rank (weft/warp.h): the first warp puts, and tells;
 * then it puts, and the last warp tells. The far rank gets it back by its warps.
 */
#include <weft/warp.h>

#include "kernels.h"

enum { ROUNDS = 3, LANES = 32 };

WEFT_DEVICE_FN void warps_send(weft_self *self, weft_win win, int to, const unsigned char *source,
                               size_t bytes, int wrong, int round)
{
    const int warp = weft_thread(self) / LANES, last = (weft_threads(self) - 1) / LANES;

    if (warp == 0 && wrong == 0 && round % 3 == 0) {
        weft_put_notify_warp(self, win, to, 0, source, bytes, DATA);
        return;
    }
    if (warp == 0)
        weft_put_warp(self, win, to, 0, source, bytes);
    if (wrong == 0 && round % 3 == 1)
        weft_sync(self);
    if (warp == (wrong != 0 || round % 3 == 1 ? last : 0))
        weft_notify_warp(self, WEFT_COMM_WORLD, to, DATA);
}

WEFT_KERNEL(litmus_warps, struct litmus_data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    const int partner = (me + (data->wrong == WRONG_WARP_NEAR ? 1 : 2)) % n;
    const int from = (me + n - (data->wrong == WRONG_WARP_NEAR ? 1 : 2)) % n;
    unsigned char *const mapped = test_mine(self, data->mapped, LITMUS_EACH);
    unsigned char *const source = test_mine(self, data->sources, LITMUS_EACH);
    unsigned char *const back = source + LITMUS_EACH / 2;
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, mapped, LITMUS_EACH);

    for (int round = 0; round < 2 * ROUNDS; round++) {
        const uint64_t key = (uint64_t)round * 100 + 1;
        const size_t bytes = round < ROUNDS ? SMALL : LARGE;
        test_fill(self, source, bytes, key + (uint64_t)me);
        warps_send(self, win, partner, source, bytes, data->wrong, round);
        if (weft_thread(self) < LANES)
            weft_wait_warp(self, DATA, 1);
        weft_sync(self);
        CHECK_EQ(self, &data->check, test_differs(self, mapped, bytes, key + (uint64_t)from), 0);
        if (weft_thread(self) / LANES == (weft_threads(self) - 1) / LANES) {
            weft_get_warp(self, win, partner, 0, back, bytes); /* what its own rank put there */
            if (weft_thread(self) % LANES == 0) {
                test_will_read(back, bytes);
                for (size_t i = 0; i < bytes; i++)
                    CHECK_EQ(self, &data->check, back[i], test_byte(key + (uint64_t)me, i));
            }
        }
        weft_sync(self);
        if (weft_thread(self) < LANES) {
            weft_notify_warp(self, WEFT_COMM_WORLD, from, FREE);
            weft_wait_warp(self, FREE, 1);
        }
        weft_sync(self);
    }
    weft_win_free(self, &win);
    test_done(self, &data->check);
}
