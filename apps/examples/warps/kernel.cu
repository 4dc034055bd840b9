/*
 * One warp sends while the others compute: the first warp puts the rank's numbers to all ranks, the
 * other threads count digits, each by an atomic of its own. A rank of one warp does both.
 */
#include <weft/warp.h>

#include "warps.h"

enum { TAG = 1 };

WEFT_KERNEL(warps_kernel, struct warps, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    const int here = weft_rank(self, WEFT_COMM_DEVICE), threads = weft_threads(self);
    const int first = threads > 32 ? 32 : 0; /* of those that count */
    uint32_t *const own = user->own + here * NUMBERS;
    const size_t bytes = NUMBERS * sizeof(*own);

    weft_win all =
        weft_win_create(self, WEFT_COMM_WORLD, user->all + (size_t)(here * n) * NUMBERS, n * bytes);
    weft_win digits =
        weft_win_create(self, WEFT_COMM_WORLD, user->digits, DIGITS * sizeof(*user->digits));
    weft_for (i, NUMBERS)
        own[i] = NUMBER(me, i);
    weft_sync(self);

    if (weft_thread(self) < 32)
        for (int i = 1; i <= n; i++)
            weft_put_notify_warp(self, all, (me + i) % n, me * bytes, own, bytes, TAG);
    for (int i = weft_thread(self) - first; i >= 0 && i < NUMBERS; i += threads - first)
        weft_fetch_add_thread(self, digits, 0, own[i] % DIGITS * sizeof(*user->digits), 1);
    weft_wait(self, TAG, (uint32_t)n); /* all threads, as ever */

    weft_win_free(self, &digits); /* when all ranks have counted */
    weft_win_free(self, &all);
}
