/*
 * rank/path/bell.h - telling the host that commands are there: at once, or, in a batch, for several
 * together. A batch holds the bell back until it ends, until the rank waits, tests or ends, and
 * for no more commands than the host takes in one turn. A GPU's rank tells nobody: its host polls.
 */
#ifndef WEFT_RANK_PATH_BELL_H
#define WEFT_RANK_PATH_BELL_H

#include "rank/state.h"

WEFT_COLD void weft_queue_ring_all(weft_self *self); /* queue.h */

/* Tells the host that there is something to do: it finds all that the rank has posted. */
WEFT_INLINE void weft_posted(weft_self *self)
{
#ifndef __CUDACC__
    self->held = 0;
    if (!weft_port_posted(&self->port))
        weft_bell_ring(self->state->command_bell);
#else
    (void)self;
#endif
}

/* Tells the host of a command that may wait for others of its batch. */
WEFT_INLINE void weft_posted_in_batch(weft_self *self)
{
#ifndef __CUDACC__
    if (WEFT_UNLIKELY(self->batches != 0) && ++self->held < WEFT_COMMANDS_A_TURN)
        return;
#endif
    weft_posted(self);
}

/* Rings for what a batch holds back. The leader. */
WEFT_INLINE void weft_batch_send(weft_self *self)
{
#ifndef __CUDACC__
    if (WEFT_UNLIKELY((self->held | self->unrung) != 0)) {
        weft_queue_ring_all(self);
        if (self->held != 0)
            weft_posted(self);
    }
#else
    if (weft_has_queues(self) && WEFT_UNLIKELY(self->unrung != 0))
        weft_queue_ring_all(self);
#endif
}

#endif
