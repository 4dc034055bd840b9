/*
 * rank/host.h - what the host program calls of a rank's code besides weft/device.h. CPU only.
 */
#ifndef WEFT_RANK_HOST_H
#define WEFT_RANK_HOST_H

#include "rank/state.h"

/* A checked update of a word, non-blocking; its old value goes to *old, of the word's size. */
weft_op weft_update_begin(weft_self *self, weft_win win, int target, size_t offset,
                          const struct weft_change *change, void *old);
/* A checked update of elements in a row; the old ones go to `old`, if that is not NULL. */
weft_op weft_update_many_begin(weft_self *self, weft_win win, int target, size_t offset,
                               const void *source, void *old, size_t count, weft_type type,
                               weft_operation operation);
/* Whether the operation can be one of this rank. */
bool weft_op_is_of(const weft_self *self, weft_op op);

#endif
