/*
 * rank/host.h - what the host program calls of a rank's code besides weft/device.h. CPU only.
 */
#ifndef WEFT_RANK_HOST_H
#define WEFT_RANK_HOST_H

#include "rank/state.h"

/* A checked update of a word, non-blocking; its old value goes to *old, of the word's size. */
weft_op weft_update_begin(weft_self *self, weft_win win, int target, size_t offset,
                          const struct weft_change *change, void *old);
/* Whether the operation can be one of this rank. */
bool weft_op_is_of(const weft_self *self, weft_op op);

#endif
