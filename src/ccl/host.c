/*
 * ccl/host.c - the calls of host programs: arguments are checked, and a kernel is given to the
 * stream, or the columns run here, one after the other.
 */
#include "ccl/call.h"
#include "ccl/ccl.h"

#include "base/say.h"

/* Returns why a call takes no such memory; NULL: it does. */
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

/* Returns the number of the call's kernel: there are some for 2, 4 and 8 members. */
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

/* Runs a call in the thread that makes it, as the host program's rank. */
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

static weft_status ready(const weft_ccl *ccl, const char *name)
{
    return ccl != NULL ? weft_job_ready(ccl->job, name)
                       : weft_err(WEFT_ERR_ARGUMENT, "%s: ccl is NULL", name);
}

/* Checks a call's arguments. out, in: bytes at the source, and at the target. */
static weft_status check(const weft_ccl *ccl, const char *name, uint32_t what, const void *source,
                         uint64_t out, const void *target, uint64_t in, size_t count,
                         weft_type type, weft_operation operation, int root)
{
    const char *wrong = weft_ccl_wrong(what, ccl->view.members, source, target, count, (int)type,
                                       (int)operation, root);

    if (wrong == NULL && what == WEFT_CCL_EXCHANGE && root == ccl->view.me)
        wrong = "the peer is the caller";
    if (wrong == NULL)
        wrong = weft_ccl_no_memory(ccl, source, target == source && in > out ? in : out);
    if (wrong == NULL && target != source)
        wrong = weft_ccl_no_memory(ccl, target, in);
    return wrong == NULL
               ? WEFT_OK
               : weft_refused(ccl->job, WEFT_ERR_ARGUMENT,
                              "%s of %zu elements, type %d, operation %d, root or peer "
                              "%d, at %p and %p: %s",
                              name, count, (int)type, (int)operation, root, source, target, wrong);
}

static weft_status make(weft_ccl *ccl, const char *name, void *stream, uint32_t what,
                        const void *source, void *target, size_t count, weft_type type,
                        weft_operation operation, int root)
{
    struct weft_ccl_launch launch;
    struct weft_ccl_call *const call = &launch.call;

    WEFT_TRY(ready(ccl, name));
    if (what == WEFT_CCL_REDUCE && root != ccl->view.me)
        target = (void *)(uintptr_t)source; /* which nobody writes */
    *call = weft_ccl_call_of(what, source, target, count, type, operation, (uint32_t)root);
    const uint64_t members = (uint64_t)ccl->view.members;
    WEFT_TRY(check(ccl, name, what, source,
                   call->from_apart != 0 ? call->bytes * members : call->bytes, target,
                   call->to_apart != 0 ? call->bytes * members : call->bytes, count, type,
                   operation, root));
    const uint32_t columns =
        weft_ccl_columns(ccl, call->bytes * (members > 2 ? members - 1 : 1), WEFT_CCL_COLUMNS);
    launch.each = weft_ccl_each(call->bytes, columns);
    return weft_ccl_start(ccl, name, &launch, columns, weft_ccl_is_few(&ccl->view, launch.each),
                          stream);
}

#define CALL(name, number, parameters, names, ...)                                                 \
    weft_status weft_ccl_##name(weft_ccl *ccl WEFT_CCL_LIST parameters, void *stream)              \
    {                                                                                              \
        return make(ccl, "weft_ccl_" #name, stream, WEFT_CCL_##number, __VA_ARGS__);               \
    }
WEFT_CCL_CALLS(CALL)

/* ---- sizes and pairs ------------------------------------------------------------------------- */

/* Fills in where blocks begin that lie behind each other; returns the elements of the largest. */
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
    struct weft_ccl_sizes *const sizes = &launch.more.sizes;

    WEFT_TRY(ready(ccl, name));
    if (source_counts == NULL || target_counts == NULL)
        return weft_refused(ccl->job, WEFT_ERR_ARGUMENT, "%s: counts are NULL", name);
    const int members = ccl->view.members;
    const size_t size = type <= WEFT_U8 ? weft_element_bytes(type) : 1;
    const size_t out = add_up(sizes->from, source_counts, members, size);
    const size_t in = add_up(sizes->to, target_counts, members, size);
    if (out == 0) /* nobody reads it, and it may be NULL */
        source = target;
    if (in == 0)
        target = (void *)(uintptr_t)source;
    WEFT_TRY(check(ccl, name, WEFT_CCL_ALLTOALL_SIZES, source, sizes->from[members], target,
                   sizes->to[members], out > in ? out : in, type, WEFT_SUM, 0));
    launch.call = weft_ccl_call_of(WEFT_CCL_ALLTOALL_SIZES, source, target, out, type, WEFT_SUM, 0);
    /* Nobody knows all sizes: as many columns everywhere. */
    const uint32_t columns = ccl->each == 0 ? 1 : weft_ccl_columns(ccl, SIZE_MAX / 2, 16);
    return weft_ccl_start(ccl, name, &launch, columns, false, stream);
}

/* Makes one side of an exchange; peer -1: there is none. */
static weft_status make_side(const weft_ccl *ccl, const char *name, struct weft_ccl_side *side,
                             int peer, const void *memory, size_t count, weft_type type)
{
    const uint64_t bytes = count * weft_element_bytes(type);

    *side = (struct weft_ccl_side){.peer = -1};
    if (peer == -1)
        return WEFT_OK;
    WEFT_TRY(check(ccl, name, WEFT_CCL_EXCHANGE, memory, bytes, memory, bytes, count, type,
                   WEFT_SUM, peer));
    *side =
        (struct weft_ccl_side){.peer = peer,
                               .columns = weft_ccl_columns(ccl, bytes / 4, WEFT_CCL_PAIR_COLUMNS),
                               .bytes = bytes,
                               .head = weft_ccl_head(WEFT_CCL_EXCHANGE, type, WEFT_SUM, 0, count)};
    return WEFT_OK;
}

static weft_status exchange(weft_ccl *ccl, const char *name, int to, const void *source,
                            size_t source_count, int from, void *target, size_t target_count,
                            weft_type type, void *stream)
{
    struct weft_ccl_launch launch = {.each = 0};
    struct weft_ccl_side *const send = &launch.more.exchange.send;
    struct weft_ccl_side *const receive = &launch.more.exchange.receive;

    WEFT_TRY(ready(ccl, name));
    WEFT_TRY(make_side(ccl, name, send, to, source, source_count, type));
    WEFT_TRY(make_side(ccl, name, receive, from, target, target_count, type));
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
