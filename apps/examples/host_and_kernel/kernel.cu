/*
 * Every rank asks the host program of the next process, and waits for the reply. Meanwhile the host
 * programs go on: this kernel runs beside them.
 */
#include <weft/device.h>

#include "host_and_kernel.h"

WEFT_KERNEL(asking_kernel, struct asking, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    const int here = weft_rank(self, WEFT_COMM_DEVICE);
    const int to = (weft_process(self) + 1) % weft_processes(self);
    const uint64_t requests = (uint64_t)(REQUESTS / n + (me < REQUESTS % n));
    uint64_t *const asked = user->asked + here;

    for (uint64_t i = 0; i < requests; i++) {
        const uint64_t question = (uint64_t)me * REQUESTS + i;
        weft_flush_local(self, user->boxes); /* the question before has left */
        if (weft_thread(self) == 0)
            *asked = question;
        weft_sync(self);
        weft_put_notify(self, user->boxes, to, sizeof(uint64_t) * (size_t)here, asked,
                        sizeof(*asked), here);
        weft_wait(self, REPLY, 1);
        if (weft_thread(self) == 0)
            user->wrong[here] += user->box->reply[here] != question * question;
        weft_sync(self);
    }
}
