/*
 * rank/api.c - the device API as functions of the library: what kernels that were compiled for the
 * CPU device call, and the host program for its own windows. Everything runs in the calling thread.
 */
#include "rank/api.h"
#include "rank/host.h"
#include "rank/thread.h"

weft_op weft_update_begin(weft_self *self, weft_win win, int target, size_t offset,
                          const struct weft_change *change, void *old)
{
    weft_op op;

    weft_update_any(self, win, target, offset, *change, WEFT_LATER, old, &op, __func__);
    return op;
}

weft_op weft_update_many_begin(weft_self *self, weft_win win, int target, size_t offset,
                               const void *source, void *old, size_t count, weft_type type,
                               weft_operation operation)
{
    return weft_accumulate(self, win, target, offset, source, old, count, type, operation,
                           weft_element_is_half(type));
}

bool weft_op_is_of(const weft_self *self, weft_op op)
{
    return weft_op_exists(self, op);
}
