/*
 * ccl/api.h - the calls of kernels in weft/ccl.h. For GPUs that header includes this one, so that
 * they are compiled into each kernel; for the CPU device they are compiled once, in api.c.
 */
#ifndef WEFT_CCL_API_H
#define WEFT_CCL_API_H

#include "ccl/call.h"
#include "weft/ccl.h"
#ifdef __CUDACC__
#include "rank/api.h"
#endif

/* Fails the call: without a rank the kernel is told, with one the job is, and the rank ends. */
WEFT_COLD int weft_column_failed(weft_self *self, const weft_ccl_view *view, int column,
                                 const char *name)
{
    if (self == NULL)
        return 0;
    weft_check_stop(self);
#ifdef __CUDACC__
    if (weft_leads(self))
        weft_look_stop(self);
    weft_join(self);
#endif
    uint32_t member = 0;
    for (int32_t m = 0; m < view->members; m++)
        if ((view->trouble[column * WEFT_CCL_MEMBERS + m].state & 0xff) == WEFT_ERR_MISMATCH)
            member = (uint32_t)m;
    weft_fail_in(self, WEFT_ERR_MISMATCH, name,
                 "%s: column %d: a call of it has failed, at member %d of %d", column, member,
                 view->members, 0);
    return 0;
}

WEFT_INLINE int weft_column_call(weft_self *self, const weft_ccl_view *view, int column,
                                 const char *name, uint32_t what, const void *source, void *target,
                                 size_t count, int type, int operation, int root)
{
    struct weft_ccl_call call;

    if (what == WEFT_CCL_REDUCE && root != view->me)
        target = (void *)(uintptr_t)source; /* which nobody writes */
    const char *wrong =
        weft_ccl_wrong(what, view->members, source, target, count, type, operation, root);
    if (WEFT_UNLIKELY(column < 0 || column >= view->columns))
        wrong = "there is no such column";
    if (WEFT_UNLIKELY(wrong != NULL)) {
        if (self != NULL)
            weft_fail_in(self, WEFT_ERR_ARGUMENT, name,
                         "%s: column %d, %lld elements of type %d: the arguments are none", column,
                         (int64_t)count, type, 0);
        weft_column_break(view->trouble, &view->counters->broken, 0,
                          weft_ccl_head(what, 0, 0, 0, 0), WEFT_ERR_ARGUMENT, 0);
        return 0;
    }
    call = weft_ccl_call_of(what, source, target, count, (uint32_t)type, (uint32_t)operation,
                            (uint32_t)root);
#ifdef __CUDACC__
    __syncthreads(); /* counters, and a source, by other threads of the block */
    const bool good = weft_ccl_run_any(self, view, (uint32_t)column, &call, blockDim.x);
#else
    weft_check_stop(self);
    const bool good = weft_ccl_run_any(self, view, (uint32_t)column, &call, 1);
#endif
    return WEFT_UNLIKELY(!good) ? weft_column_failed(self, view, column, name) : 1;
}

#define WEFT_COLUMN_CALL(name, number, parameters, names, ...)                                     \
    WEFT_FN int weft_column_##name(weft_self *self, const weft_ccl_view *view,                     \
                                   int column WEFT_CCL_LIST parameters)                            \
    {                                                                                              \
        WEFT_TOGETHER_ALL_FOR(int, weft_column_##name, self, view, column WEFT_CCL_LIST names)     \
        return weft_column_call(self, view, column, "weft_column_" #name, WEFT_CCL_##number,       \
                                __VA_ARGS__);                                                      \
    }
WEFT_CCL_CALLS(WEFT_COLUMN_CALL)
#undef WEFT_COLUMN_CALL

WEFT_FN void weft_column_slice(int column, int columns, size_t count, weft_type type, size_t *first,
                               size_t *n)
{
    const size_t size = weft_element_bytes((uint32_t)type);
    const size_t each = weft_ccl_each(count * size, (uint32_t)columns) / size;
    const struct weft_slice slice = weft_ccl_slice(count, each, (uint64_t)column);

    *first = slice.first;
    *n = slice.bytes;
}

#endif
