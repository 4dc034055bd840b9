/*
 * host/op.c - operations of the host program: gets, updates, what can be waited for, and regions of
 * a timeline.
 *
 * A call that returns what it fetched waits for its own operation: the rank's short way, an answer
 * in its link, is for one at a time, and here other threads may ask meanwhile.
 */
#include "host/host.h"

#include "rank/host.h"
#include "rank/trace/trace.h"
#include "runtime/space/tables.h"

#include <math.h>

static weft_status check_op(weft_job *job, const char *call, const weft_self *self, weft_op op,
                            weft_progress how)
{
    if (how != WEFT_LOCAL && how != WEFT_REMOTE)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: %d is neither WEFT_LOCAL nor WEFT_REMOTE",
                            call, (int)how);
    if (!weft_op_is_of(self, op))
        return weft_refused(job, WEFT_ERR_ARGUMENT,
                            "%s: operation %llu to process %d (kind 0x%x) is none of the host "
                            "program of process %d in this job",
                            call, (unsigned long long)op.sequence, op.process, op.kind,
                            job->numbers.process);
    return WEFT_OK;
}

weft_status weft_host_op_test(weft_job *job, weft_op op, weft_progress how, int *done)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_op_test");
    WEFT_HOST_TRY(check_op(job, host_name, self, op, how));
    WEFT_HOST_TRY(weft_host_place(job, host_name, "done", done));
    *done = weft_op_test(self, op, how);
    if (!*done)
        weft_port_poll(&self->port); /* loops around it let others run */
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_op_wait(weft_job *job, weft_op op, weft_progress how)
{
    return weft_host_op_wait_for(job, op, how, HUGE_VAL);
}

weft_status weft_host_op_wait_for(weft_job *job, weft_op op, weft_progress how, double seconds)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_op_wait");
    WEFT_HOST_TRY(check_op(job, host_name, self, op, how));
    host_call.deadline = weft_host_deadline(seconds);
    weft_op_wait(self, op, how);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_batch_begin(weft_job *job)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_batch_begin");
    weft_batch_begin(self);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_batch_end(weft_job *job)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_batch_end");
    if (self->batches == 0)
        WEFT_HOST_TRY(weft_refused(job, WEFT_ERR_STATE, "%s: process %d has begun no batch",
                                   host_name, job->numbers.process));
    weft_batch_end(self);
    return weft_host_leave(job, WEFT_OK);
}

/* ---- puts and gets --------------------------------------------------------------------------- */

weft_status weft_host_put_begin(weft_job *job, weft_win win, int process, size_t offset,
                                const void *source, size_t bytes, weft_op *op)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_put_begin");
    WEFT_HOST_TRY(weft_host_range(job, host_name, win, process, offset, source, bytes));
    WEFT_HOST_TRY(weft_host_place(job, host_name, "op", op));
    *op = weft_put_begin(self, win, process, offset, source, bytes);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_get_begin(weft_job *job, weft_win win, int process, size_t offset, void *to,
                                size_t bytes, weft_op *op)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_get_begin");
    WEFT_HOST_TRY(weft_host_range(job, host_name, win, process, offset, to, bytes));
    WEFT_HOST_TRY(weft_host_place(job, host_name, "op", op));
    *op = weft_get_begin(self, win, process, offset, to, bytes);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_get(weft_job *job, weft_win win, int process, size_t offset, void *to,
                          size_t bytes)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_get");
    WEFT_HOST_TRY(weft_host_range(job, host_name, win, process, offset, to, bytes));
    weft_op_wait(self, weft_get_begin(self, win, process, offset, to, bytes), WEFT_LOCAL);
    return weft_host_leave(job, WEFT_OK);
}

/* ---- updates --------------------------------------------------------------------------------- */

/* Of words of `size` bytes. */
static weft_status check_update(weft_job *job, const char *call, weft_win win, int process,
                                size_t offset, const void *memory, size_t bytes, uint32_t size)
{
    const struct weft_state *state = &job->space.state;

    WEFT_TRY(weft_host_range(job, call, win, process, offset, memory, bytes));
    const struct weft_window_entry *entry = &state->windows[weft_handle_index(win)].entry[process];
    if (((entry->home + offset) & (size - 1)) != 0)
        return weft_refused(job, WEFT_ERR_ARGUMENT,
                            "%s: offset %zu of the window of process %d is not aligned to %u bytes",
                            call, offset, process, size);
    if (state->copy != NULL && state->update == NULL && entry->address != NULL)
        return weft_refused(job, WEFT_ERR_UNSUPPORTED,
                            "%s: the host program of process %d cannot update device memory of "
                            "process %d",
                            call, job->numbers.process, process);
    return WEFT_OK;
}

/* A call that updates one word of a type, by the fields of a weft_change, and returns what was
 * there. */
#define UPDATE(name, word, parameters, ...)                                                        \
    weft_status name parameters                                                                    \
    {                                                                                              \
        WEFT_HOST_BEGIN(job, self, #name);                                                         \
        const struct weft_change change = {__VA_ARGS__};                                           \
        word was = 0;                                                                              \
        WEFT_HOST_TRY(                                                                             \
            check_update(job, host_name, win, process, offset, &was, sizeof(was), sizeof(was)));   \
        weft_op_wait(self, weft_update_begin(self, win, process, offset, &change, &was),           \
                     WEFT_LOCAL);                                                                  \
        if (old != NULL)                                                                           \
            *old = was;                                                                            \
        return weft_host_leave(job, WEFT_OK);                                                      \
    }
#define UPDATES(suffix, word, type_of)                                                             \
    UPDATE(weft_host_fetch_add##suffix, word,                                                      \
           (weft_job * job, weft_win win, int process, size_t offset, word value, word *old),      \
           .value = value, .how = WEFT_SUM, .type = type_of)                                       \
    UPDATE(weft_host_swap##suffix, word,                                                           \
           (weft_job * job, weft_win win, int process, size_t offset, word value, word *old),      \
           .value = value, .how = WEFT_REPLACE, .type = type_of)                                   \
    UPDATE(weft_host_compare_swap##suffix, word,                                                   \
           (weft_job * job, weft_win win, int process, size_t offset, word expected, word desired, \
            word *old),                                                                            \
           .value = desired, .expected = expected, .how = WEFT_COMPARE, .type = type_of)
UPDATES(, uint64_t, WEFT_U64)
UPDATES(_u32, uint32_t, WEFT_U32)

weft_status weft_host_add(weft_job *job, weft_win win, int process, size_t offset, uint64_t value)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_add");
    WEFT_HOST_TRY(
        check_update(job, host_name, win, process, offset, &value, sizeof(value), sizeof(value)));
    weft_add(self, win, process, offset, value);
    return weft_host_leave(job, WEFT_OK);
}

/* old: NULL of one that fetches nothing. */
static weft_status accumulate(weft_job *job, weft_self *self, const char *call, weft_win win,
                              int process, size_t offset, const void *source, void *old,
                              size_t count, weft_type type, weft_operation operation, weft_op *op)
{
    const uint32_t size = weft_element_bytes(type);
    const size_t bytes = count > SIZE_MAX / 8 ? SIZE_MAX : count * size;

    WEFT_TRY(weft_host_place(job, call, "op", op));
    if (operation > WEFT_REPLACE || !weft_update_exists(operation, type) ||
        (old != NULL && weft_element_is_half(type)))
        return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: type %d, operation %d", call, (int)type,
                            (int)operation);
    WEFT_TRY(check_update(job, call, win, process, offset, source, bytes, size));
    *op = weft_update_many_begin(self, win, process, offset, source, old, count, type, operation);
    return WEFT_OK;
}

weft_status weft_host_accumulate_begin(weft_job *job, weft_win win, int process, size_t offset,
                                       const void *source, size_t count, weft_type type,
                                       weft_operation operation, weft_op *op)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_accumulate_begin");
    WEFT_HOST_TRY(accumulate(job, self, host_name, win, process, offset, source, NULL, count, type,
                             operation, op));
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_fetch_accumulate_begin(weft_job *job, weft_win win, int process,
                                             size_t offset, const void *source, void *old,
                                             size_t count, weft_type type, weft_operation operation,
                                             weft_op *op)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_fetch_accumulate_begin");
    WEFT_HOST_TRY(weft_host_place(job, host_name, "old", old));
    WEFT_HOST_TRY(accumulate(job, self, host_name, win, process, offset, source, old, count, type,
                             operation, op));
    return weft_host_leave(job, WEFT_OK);
}

/* ---- regions: in a traced job the program has one thread ------------------------------------- */

weft_status weft_host_region_begin(weft_job *job, const char *name)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_region_begin");
    if (weft_traced(self))
        weft_trace_region(self, WEFT_TRACE_REGION, name);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_region_end(weft_job *job)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_region_end");
    if (weft_traced(self))
        weft_trace_region(self, WEFT_TRACE_REGION_END, "");
    return weft_host_leave(job, WEFT_OK);
}
