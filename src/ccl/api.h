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

/* The call has failed: without a rank the kernel is told, with one the job is, and it ends. */
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
    const char *wrong =
        weft_ccl_wrong(what, view->members, source, target, count, type, operation, root);
    struct weft_ccl_call call;

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

WEFT_FN int weft_column_allreduce(weft_self *self, const weft_ccl_view *view, int column,
                                  const void *source, void *target, size_t count, weft_type type,
                                  weft_operation operation)
{
    WEFT_TOGETHER_ALL_FOR(int, weft_column_allreduce, self, view, column, source, target, count,
                          type, operation)
    return weft_column_call(self, view, column, "weft_column_allreduce", WEFT_CCL_ALLREDUCE, source,
                            target, count, type, operation, 0);
}

WEFT_FN int weft_column_reduce(weft_self *self, const weft_ccl_view *view, int column, int root,
                               const void *source, void *target, size_t count, weft_type type,
                               weft_operation operation)
{
    WEFT_TOGETHER_ALL_FOR(int, weft_column_reduce, self, view, column, root, source, target, count,
                          type, operation)
    if (root != view->me)
        target = (void *)(uintptr_t)source; /* which nobody writes */
    return weft_column_call(self, view, column, "weft_column_reduce", WEFT_CCL_REDUCE, source,
                            target, count, type, operation, root);
}

WEFT_FN int weft_column_reduce_scatter(weft_self *self, const weft_ccl_view *view, int column,
                                       const void *source, void *target, size_t count,
                                       weft_type type, weft_operation operation)
{
    WEFT_TOGETHER_ALL_FOR(int, weft_column_reduce_scatter, self, view, column, source, target,
                          count, type, operation)
    return weft_column_call(self, view, column, "weft_column_reduce_scatter",
                            WEFT_CCL_REDUCE_SCATTER, source, target, count, type, operation, 0);
}

WEFT_FN int weft_column_allgather(weft_self *self, const weft_ccl_view *view, int column,
                                  const void *source, void *target, size_t count, weft_type type)
{
    WEFT_TOGETHER_ALL_FOR(int, weft_column_allgather, self, view, column, source, target, count,
                          type)
    return weft_column_call(self, view, column, "weft_column_allgather", WEFT_CCL_ALLGATHER, source,
                            target, count, type, WEFT_SUM, 0);
}

WEFT_FN int weft_column_alltoall(weft_self *self, const weft_ccl_view *view, int column,
                                 const void *source, void *target, size_t count, weft_type type)
{
    WEFT_TOGETHER_ALL_FOR(int, weft_column_alltoall, self, view, column, source, target, count,
                          type)
    return weft_column_call(self, view, column, "weft_column_alltoall", WEFT_CCL_ALLTOALL, source,
                            target, count, type, WEFT_SUM, 0);
}

WEFT_FN int weft_column_broadcast(weft_self *self, const weft_ccl_view *view, int column, int root,
                                  void *data, size_t count, weft_type type)
{
    WEFT_TOGETHER_ALL_FOR(int, weft_column_broadcast, self, view, column, root, data, count, type)
    return weft_column_call(self, view, column, "weft_column_broadcast", WEFT_CCL_BROADCAST, data,
                            data, count, type, WEFT_SUM, root);
}

WEFT_FN int weft_column_barrier(weft_self *self, const weft_ccl_view *view, int column)
{
    WEFT_TOGETHER_ALL_FOR(int, weft_column_barrier, self, view, column)
    return weft_column_call(self, view, column, "weft_column_barrier", WEFT_CCL_BARRIER, NULL, NULL,
                            0, WEFT_U8, WEFT_SUM, 0);
}

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
