/*
 * All ranks add their gradients to those of rank 0, in BF16: here 1.0 each, so that a sum is the
 * number of ranks.
 */
#include <weft/device.h>

#include "gradient.h"

enum { ADDED, ONE = 0x3f80 }; /* a tag; 1.0 in BF16 */

WEFT_KERNEL(gradient_kernel, struct gradient, user)
{
    const int first = PARAMETERS * weft_rank(self, WEFT_COMM_DEVICE);
    uint16_t *const sums = user->sums + first, *const own = user->own + first;

    weft_for (i, PARAMETERS)
        own[i] = ONE;
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, sums, PARAMETERS * sizeof(*sums));
    weft_accumulate_half_begin(self, win, 0, 0, own, PARAMETERS, WEFT_BF16, WEFT_SUM);
    weft_notify(self, WEFT_COMM_WORLD, 0, ADDED); /* behind it */
    if (weft_rank(self, WEFT_COMM_WORLD) == 0)
        weft_wait(self, ADDED, weft_size(self, WEFT_COMM_WORLD));
    weft_win_free(self, &win);
}
