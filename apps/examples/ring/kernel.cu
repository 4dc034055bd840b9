/*
 * A token goes around all ranks of the job, several times; everyone adds its rank number plus one.
 * One rank works at a time: the time of a lap is n times the latency of a notified put.
 */
#include <weft/device.h>

#include "ring.h"

WEFT_KERNEL(ring_kernel, struct ring, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    uint64_t *token = user->tokens + 2 * weft_rank(self, WEFT_COMM_DEVICE);
    uint64_t *send = token + 1;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, token, sizeof(*token));

    weft_timer_start(self);
    for (int lap = 0; lap < user->laps; lap++) {
        if (me != 0 || lap != 0) /* rank 0 starts the first lap */
            weft_wait(self, 0, 1);
        weft_flush_local(self, win); /* `send` was read: it may be written again */
        if (weft_thread(self) == 0)
            *send = *token + (uint64_t)me + 1;
        weft_sync(self);
        weft_put_notify(self, win, (me + 1) % n, 0, send, sizeof(*send), 0);
    }
    if (me == 0) { /* the end of the last lap */
        weft_wait(self, 0, 1);
        if (weft_thread(self) == 0)
            user->result = *token;
    }
    weft_timer_stop(self);

    weft_win_free(self, &win);
    weft_leave(self);
}
