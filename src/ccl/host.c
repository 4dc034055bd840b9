/*
 * ccl/host.c - the calls of host programs: arguments are checked, and a kernel is given to the
 * stream, or the columns run here, one after the other.
 */
#include "ccl/call.h"
#include "ccl/ccl.h"

#include "base/say.h"

/* Why memory is none that a call takes; NULL: it is. */
static const char *no_memory(const struct weft_ccl *ccl, const void *memory, uint64_t bytes)
{
    const struct weft_device_ops *const ops = ccl->job->device_ops;

    if (ccl->code.module == NULL || bytes == 0)
        return NULL;
    switch (ops->whose(ccl->job->device, memory)) {
    case WEFT_MEMORY_DEVICE:
        return NULL;
    case WEFT_MEMORY_OTHER_DEVICE:
        return "memory is another GPU's";
    default:
        return ops->no_access(ccl->job->device, memory, bytes);
    }
}

/* Kernels are there for 2, 4 and 8 members. */
static weft_status launch(weft_ccl *ccl, const struct weft_ccl_call *call, uint32_t columns,
                          uint64_t each, void *stream)
{
    const struct weft_device_ops *const ops = ccl->job->device_ops;
    const int members = ccl->view.members, most = members <= 2 ? 0 : members <= 4 ? 1 : 2;
    const bool few = weft_ccl_is_few(&ccl->view, each);
    const uint64_t words = (each + 7) / 8, warps = (words + 31) / 32 * 32;
    const int movers = few && warps < WEFT_CCL_THREADS ? (int)warps : WEFT_CCL_THREADS;
    struct weft_ccl_launch launch = {.view = ccl->view, .call = *call, .each = each};

    return weft_refuse(ccl->job,
                       ops->launch(ccl->job->device, &ccl->code, few ? most : WEFT_CCL_WAYS + most,
                                   &launch, (int)columns, movers + 32, stream));
}

static bool run_columns(weft_self *self, const weft_ccl *ccl, const struct weft_ccl_call *call,
                        uint32_t columns, uint64_t each)
{
    bool good = true;

    for (uint32_t column = 0; column < columns && good; column++) {
        struct weft_ccl_call one = *call;
        weft_ccl_cut(&one, each, column);
        good = weft_ccl_run_any(self, &ccl->view, column, &one, 1);
    }
    return good;
}

/* In the thread that calls, with the host program's rank. */
static weft_status run(weft_ccl *ccl, const char *name, const struct weft_ccl_call *call,
                       uint32_t columns, uint64_t each)
{
    struct weft_port_call port_call = {.deadline = 0};
    weft_status status;
    weft_self *const self = weft_host_enter(ccl->job, name, &port_call, &status);

    if (self == NULL)
        return status;
    if (setjmp(port_call.escape) != 0)
        return weft_host_escaped(ccl->job);
    const bool good = run_columns(self, ccl, call, columns, each);
    status = weft_host_leave(ccl->job, WEFT_OK);
    return good ? status : weft_ccl_check(ccl);
}

static weft_status make(weft_ccl *ccl, uint32_t what, const char *name, int root,
                        const void *source, void *target, size_t count, weft_type type,
                        weft_operation operation, void *stream)
{
    if (ccl == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "%s: ccl is NULL", name);
    const weft_status status = weft_job_ready(ccl->job, name);
    const char *wrong = weft_ccl_wrong(what, ccl->view.members, source, target, count, (int)type,
                                       (int)operation, root);
    if (status != WEFT_OK)
        return status;
    struct weft_ccl_call call;
    if (wrong == NULL) {
        call = weft_ccl_call_of(what, source, target, count, type, operation, (uint32_t)root);
        wrong = no_memory(ccl, source, call.bytes);
    }
    if (wrong == NULL && target != source)
        wrong = no_memory(ccl, target, call.bytes);
    if (wrong != NULL)
        return weft_refused(ccl->job, WEFT_ERR_ARGUMENT,
                            "%s of %zu elements, type %d, operation %d, root %d, at %p and %p: %s",
                            name, count, (int)type, (int)operation, root, source, target, wrong);
    const uint64_t wanted = ccl->each == 0 ? 1 : (call.bytes + ccl->each - 1) / ccl->each;
    const uint64_t most = (uint64_t)ccl->view.columns;
    const uint32_t columns = (uint32_t)(wanted == 0 ? 1 : wanted < most ? wanted : most);
    const uint64_t each = weft_ccl_each(call.bytes, columns);
    return ccl->code.module != NULL ? launch(ccl, &call, columns, each, stream)
                                    : run(ccl, name, &call, columns, each);
}

weft_status weft_ccl_allreduce(weft_ccl *ccl, const void *source, void *target, size_t count,
                               weft_type type, weft_operation operation, void *stream)
{
    return make(ccl, WEFT_CCL_ALLREDUCE, "weft_ccl_allreduce", 0, source, target, count, type,
                operation, stream);
}

weft_status weft_ccl_reduce(weft_ccl *ccl, int root, const void *source, void *target, size_t count,
                            weft_type type, weft_operation operation, void *stream)
{
    if (ccl != NULL && root != ccl->view.me)
        target = (void *)(uintptr_t)source; /* which nobody writes */
    return make(ccl, WEFT_CCL_REDUCE, "weft_ccl_reduce", root, source, target, count, type,
                operation, stream);
}

weft_status weft_ccl_reduce_scatter(weft_ccl *ccl, const void *source, void *target, size_t count,
                                    weft_type type, weft_operation operation, void *stream)
{
    return make(ccl, WEFT_CCL_REDUCE_SCATTER, "weft_ccl_reduce_scatter", 0, source, target, count,
                type, operation, stream);
}

weft_status weft_ccl_allgather(weft_ccl *ccl, const void *source, void *target, size_t count,
                               weft_type type, void *stream)
{
    return make(ccl, WEFT_CCL_ALLGATHER, "weft_ccl_allgather", 0, source, target, count, type,
                WEFT_SUM, stream);
}

weft_status weft_ccl_alltoall(weft_ccl *ccl, const void *source, void *target, size_t count,
                              weft_type type, void *stream)
{
    return make(ccl, WEFT_CCL_ALLTOALL, "weft_ccl_alltoall", 0, source, target, count, type,
                WEFT_SUM, stream);
}

weft_status weft_ccl_broadcast(weft_ccl *ccl, int root, void *data, size_t count, weft_type type,
                               void *stream)
{
    return make(ccl, WEFT_CCL_BROADCAST, "weft_ccl_broadcast", root, data, data, count, type,
                WEFT_SUM, stream);
}

weft_status weft_ccl_barrier(weft_ccl *ccl, void *stream)
{
    return make(ccl, WEFT_CCL_BARRIER, "weft_ccl_barrier", 0, NULL, NULL, 0, WEFT_U8, WEFT_SUM,
                stream);
}
