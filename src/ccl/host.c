/*
 * ccl/host.c - the calls of host programs: arguments are checked, and a kernel is given to the
 * stream, or the columns run here, one after the other.
 */
#include "ccl/call.h"
#include "ccl/ccl.h"

#include "base/say.h"

/* Why memory is none that a call takes; NULL: it is. */
const char *weft_ccl_no_memory(const struct weft_ccl *ccl, const void *memory, uint64_t bytes)
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
static int kernel_of(const weft_ccl *ccl, uint32_t what, bool few)
{
    const int members = ccl->view.members, most = members <= 2 ? 0 : members <= 4 ? 1 : 2;

    return what >= WEFT_CCL_ALLTOALL_SIZES ? WEFT_CCL_SIZES + (int)(what - WEFT_CCL_ALLTOALL_SIZES)
           : few                           ? most
                                           : WEFT_CCL_WAYS + most;
}

static bool run_columns(weft_self *self, const weft_ccl *ccl, const struct weft_ccl_launch *launch,
                        uint32_t columns)
{
    const uint32_t what = launch->call.what;
    bool good = true;

    for (uint32_t column = 0; column < columns && good; column++) {
        struct weft_ccl_call one = launch->call;
        weft_ccl_cut(&one, launch->each, column);
        good = what >= WEFT_CCL_ALLTOALL_SIZES
                   ? weft_ccl_run_more(self, launch, column, columns, 1, what)
                   : weft_ccl_run_any(self, &ccl->view, column, &one, 1);
    }
    return good;
}

/* In the thread that calls, with the host program's rank. */
static weft_status run(weft_ccl *ccl, const char *name, const struct weft_ccl_launch *launch,
                       uint32_t columns)
{
    struct weft_port_call port_call = {.deadline = 0};
    weft_status status;
    weft_self *const self = weft_host_enter(ccl->job, name, &port_call, &status);

    if (self == NULL)
        return status;
    if (setjmp(port_call.escape) != 0)
        return weft_host_escaped(ccl->job);
    const bool good = run_columns(self, ccl, launch, columns);
    status = weft_host_leave(ccl->job, WEFT_OK);
    return good ? status : weft_ccl_check(ccl);
}

weft_status weft_ccl_start(weft_ccl *ccl, const char *name, struct weft_ccl_launch *launch,
                           uint32_t columns, bool few, void *stream)
{
    const struct weft_device_ops *const ops = ccl->job->device_ops;
    const uint64_t words = launch->each != 0 ? (launch->each + 7) / 8 : 1; /* one keeps counters */
    const int movers =
        few && words < WEFT_CCL_THREADS ? (int)(words + 31) / 32 * 32 : (int)WEFT_CCL_THREADS;

    launch->view = ccl->view;
    if (ccl->code.module == NULL)
        return run(ccl, name, launch, columns);
    return weft_refuse(ccl->job, ops->launch(ccl->job->device, &ccl->code,
                                             kernel_of(ccl, launch->call.what, few), launch,
                                             (int)columns, movers + 32, stream));
}

uint32_t weft_ccl_columns(const weft_ccl *ccl, uint64_t bytes, uint32_t most)
{
    const uint64_t wanted = ccl->each == 0 ? 1 : (bytes + ccl->each - 1) / ccl->each;
    const uint64_t there = (uint64_t)ccl->view.columns < most ? (uint64_t)ccl->view.columns : most;

    return (uint32_t)(wanted == 0 ? 1 : wanted < there ? wanted : there);
}

static weft_status make(weft_ccl *ccl, uint32_t what, const char *name, int root,
                        const void *source, void *target, size_t count, weft_type type,
                        weft_operation operation, void *stream)
{
    struct weft_ccl_launch launch;

    if (ccl == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "%s: ccl is NULL", name);
    const weft_status status = weft_job_ready(ccl->job, name);
    const char *wrong = weft_ccl_wrong(what, ccl->view.members, source, target, count, (int)type,
                                       (int)operation, root);
    if (status != WEFT_OK)
        return status;
    if (wrong == NULL) {
        launch.call =
            weft_ccl_call_of(what, source, target, count, type, operation, (uint32_t)root);
        wrong = weft_ccl_no_memory(ccl, source, launch.call.bytes);
    }
    if (wrong == NULL && target != source)
        wrong = weft_ccl_no_memory(ccl, target, launch.call.bytes);
    if (wrong != NULL)
        return weft_refused(ccl->job, WEFT_ERR_ARGUMENT,
                            "%s of %zu elements, type %d, operation %d, root %d, at %p and %p: %s",
                            name, count, (int)type, (int)operation, root, source, target, wrong);
    const uint64_t others = ccl->view.members > 2 ? (uint64_t)ccl->view.members - 1 : 1;
    const uint32_t columns = weft_ccl_columns(ccl, launch.call.bytes * others, WEFT_CCL_COLUMNS);
    launch.each = weft_ccl_each(launch.call.bytes, columns);
    return weft_ccl_start(ccl, name, &launch, columns, weft_ccl_is_few(&ccl->view, launch.each),
                          stream);
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

/* ---- sizes and pairs ------------------------------------------------------------------------- */

/* Blocks behind each other; returns the largest one's elements. */
static size_t add_up(uint64_t at[], const size_t counts[], int members, size_t size)
{
    size_t most = 0;

    at[0] = 0;
    for (int m = 0; m < WEFT_CCL_MEMBERS; m++) {
        const size_t count = m < members ? counts[m] : 0;
        at[m + 1] = at[m] + count * size;
        most = count > most ? count : most;
    }
    return most;
}

weft_status weft_ccl_alltoall_sizes(weft_ccl *ccl, const void *source, const size_t source_counts[],
                                    void *target, const size_t target_counts[], weft_type type,
                                    void *stream)
{
    static const char name[] = "weft_ccl_alltoall_sizes";
    struct weft_ccl_launch launch = {.each = 0};

    if (ccl == NULL || source_counts == NULL || target_counts == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "%s: ccl, or counts, are NULL", name);
    const weft_status status = weft_job_ready(ccl->job, name);
    const int members = ccl->view.members;
    if (status != WEFT_OK)
        return status;
    const size_t size = type <= WEFT_U8 ? weft_element_bytes(type) : 1;
    const size_t out = add_up(launch.more.sizes.from, source_counts, members, size);
    const size_t in = add_up(launch.more.sizes.to, target_counts, members, size);
    const uint64_t out_bytes = launch.more.sizes.from[members];
    const uint64_t in_bytes = launch.more.sizes.to[members];
    const char *wrong = weft_ccl_wrong(WEFT_CCL_ALLTOALL_SIZES, members, source, target,
                                       out > in ? out : in, (int)type, WEFT_SUM, 0);
    if (wrong == NULL)
        wrong = weft_ccl_no_memory(ccl, source, out_bytes);
    if (wrong == NULL)
        wrong = weft_ccl_no_memory(ccl, target, in_bytes);
    if (wrong != NULL)
        return weft_refused(ccl->job, WEFT_ERR_ARGUMENT,
                            "%s of at most %zu elements, type %d, at %p and %p: %s", name,
                            out > in ? out : in, (int)type, source, target, wrong);
    launch.call = weft_ccl_call_of(WEFT_CCL_ALLTOALL_SIZES, source, target, out, type, WEFT_SUM, 0);
    /* Nobody knows all sizes: as many columns everywhere. */
    const uint32_t columns = ccl->each == 0 ? 1 : weft_ccl_columns(ccl, SIZE_MAX / 2, 16);
    return weft_ccl_start(ccl, name, &launch, columns, false, stream);
}

/* One side of an exchange; NULL: it is in order. */
static const char *make_side(const weft_ccl *ccl, struct weft_ccl_side *side, int peer,
                             const void *memory, size_t count, weft_type type)
{
    *side = (struct weft_ccl_side){.peer = -1};
    if (peer == -1)
        return NULL;
    const char *wrong = weft_ccl_wrong(WEFT_CCL_EXCHANGE, ccl->view.members, memory, memory, count,
                                       (int)type, WEFT_SUM, peer);
    if (wrong == NULL && peer == ccl->view.me)
        wrong = "the peer is the caller";
    if (wrong != NULL)
        return wrong;
    side->peer = peer;
    side->bytes = count * weft_element_bytes(type);
    side->columns = weft_ccl_columns(ccl, side->bytes / 4, WEFT_CCL_PAIR_COLUMNS);
    side->head = weft_ccl_head(WEFT_CCL_EXCHANGE, type, WEFT_SUM, 0, count);
    return weft_ccl_no_memory(ccl, memory, side->bytes);
}

static weft_status exchange(weft_ccl *ccl, const char *name, int to, const void *source,
                            size_t source_count, int from, void *target, size_t target_count,
                            weft_type type, void *stream)
{
    struct weft_ccl_launch launch = {.each = 0};
    struct weft_ccl_side *const send = &launch.more.exchange.send;
    struct weft_ccl_side *const receive = &launch.more.exchange.receive;

    if (ccl == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "%s: ccl is NULL", name);
    const weft_status status = weft_job_ready(ccl->job, name);
    if (status != WEFT_OK)
        return status;
    const char *wrong = make_side(ccl, send, to, source, source_count, type);
    if (wrong == NULL)
        wrong = make_side(ccl, receive, from, target, target_count, type);
    if (wrong != NULL)
        return weft_refused(ccl->job, WEFT_ERR_ARGUMENT,
                            "%s of %zu elements to member %d, %zu from member %d, type %d, at %p "
                            "and %p: %s",
                            name, source_count, to, target_count, from, (int)type, source, target,
                            wrong);
    launch.call = weft_ccl_call_of(WEFT_CCL_EXCHANGE, source, target, source_count, type, WEFT_SUM,
                                   (uint32_t)(to >= 0     ? to
                                              : from >= 0 ? from
                                                          : 0));
    if (to == -1 && from == -1)
        return WEFT_OK;
    return weft_ccl_start(ccl, name, &launch,
                          send->columns > receive->columns ? send->columns : receive->columns,
                          false, stream);
}

weft_status weft_ccl_send(weft_ccl *ccl, int to, const void *source, size_t count, weft_type type,
                          void *stream)
{
    return exchange(ccl, "weft_ccl_send", to, source, count, -1, NULL, 0, type, stream);
}

weft_status weft_ccl_receive(weft_ccl *ccl, int from, void *target, size_t count, weft_type type,
                             void *stream)
{
    return exchange(ccl, "weft_ccl_receive", -1, NULL, 0, from, target, count, type, stream);
}

weft_status weft_ccl_exchange(weft_ccl *ccl, int to, const void *source, size_t source_count,
                              int from, void *target, size_t target_count, weft_type type,
                              void *stream)
{
    return exchange(ccl, "weft_ccl_exchange", to, source, source_count, from, target, target_count,
                    type, stream);
}
