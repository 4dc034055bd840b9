/*
 * pgas/transfer.c - puts, gets and updates of host programs: a global pointer becomes a window, and
 * the call is that of weft/weft.h. Runs in the program's threads, and keeps nothing.
 */
#include "pgas/pgas.h"

#include <stdio.h>

weft_status weft_pgas_find(weft_job *job, const char *call, weft_gptr g, size_t width, size_t pitch,
                           size_t height, struct weft_gplace *to)
{
    struct weft_gfault fault;
    struct weft_pgas *pgas;
    char text[200];

    WEFT_TRY(weft_pgas_enter(job, call, &pgas));
    if (weft_gptr_find(&pgas->space, g, width, pitch, height, to, &fault))
        return WEFT_OK;
    snprintf(text, sizeof(text), fault.text, call, (long long)fault.n[0], (long long)fault.n[1],
             (long long)fault.n[2], (long long)fault.n[3], (long long)fault.n[4]);
    return weft_refused(job, fault.status, "%s", text);
}

/* Finds where the pointer leads: `to`; what was wrong with it has been returned. */
#define FIND(call, bytes)                                                                          \
    struct weft_gplace to;                                                                         \
    WEFT_TRY(weft_pgas_find(job, call, g, bytes, 0, 1, &to))

static weft_status address_of(weft_job *job, weft_gptr g, void **address)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_gaddress");
    struct weft_gplace to;

    WEFT_HOST_TRY(weft_pgas_find(job, host_name, g, 0, 0, 1, &to));
    unsigned char *const base = weft_ptr(self, to.win, to.member);
    if (base != NULL && (job->device_ops->host_access ||
                         (job->pgas->host_heaps && g.segment == WEFT_GSEGMENT_HOST)))
        *address = base + to.offset;
    return weft_host_leave(job, WEFT_OK);
}

void *weft_host_gaddress(weft_job *job, weft_gptr g)
{
    void *address = NULL;

    address_of(job, g, &address);
    return address;
}

weft_status weft_host_gwhere(weft_job *job, weft_gptr g, weft_gwhere *where)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_gwhere");
    struct weft_gplace to;

    WEFT_HOST_TRY(weft_host_place(job, host_name, "where", where));
    WEFT_HOST_TRY(weft_pgas_find(job, host_name, g, 0, 0, 1, &to));
    unsigned char *const base =
        weft_gptr_place(g) == job->numbers.process ? weft_ptr(self, to.win, to.member) : NULL;
    *where = (weft_gwhere){.win = to.win,
                           .member = to.member,
                           .offset = to.offset,
                           .address = base != NULL ? base + to.offset : NULL};
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_gput(weft_job *job, weft_gptr g, const void *source, size_t bytes)
{
    FIND("weft_host_gput", bytes);
    return weft_host_put(job, to.win, to.member, to.offset, source, bytes);
}

weft_status weft_host_gget(weft_job *job, weft_gptr g, void *memory, size_t bytes)
{
    FIND("weft_host_gget", bytes);
    return weft_host_get(job, to.win, to.member, to.offset, memory, bytes);
}

weft_status weft_host_gput_begin(weft_job *job, weft_gptr g, const void *source, size_t bytes,
                                 weft_op *op)
{
    FIND("weft_host_gput_begin", bytes);
    return weft_host_put_begin(job, to.win, to.member, to.offset, source, bytes, op);
}

weft_status weft_host_gget_begin(weft_job *job, weft_gptr g, void *memory, size_t bytes,
                                 weft_op *op)
{
    FIND("weft_host_gget_begin", bytes);
    return weft_host_get_begin(job, to.win, to.member, to.offset, memory, bytes, op);
}

/* Checks the program's rows. */
static weft_status check_rows(weft_job *job, const char *call, const void *memory, size_t pitch,
                              size_t own_pitch, size_t width, size_t height, const weft_op *op)
{
    WEFT_TRY(weft_host_place(job, call, "op", op));
    if (memory == NULL && width != 0 && height != 0)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: %zu rows of %zu bytes at NULL", call,
                            height, width);
    if (height > 1 && (pitch < width || own_pitch < width))
        return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: pitch %zu or %zu is less than width %zu",
                            call, pitch, own_pitch, width);
    return height <= UINT32_MAX
               ? WEFT_OK
               : weft_refused(job, WEFT_ERR_ARGUMENT, "%s: %zu rows", call, height);
}

weft_status weft_host_gput_2d_begin(weft_job *job, weft_gptr g, size_t pitch, const void *source,
                                    size_t source_pitch, size_t width, size_t height, weft_op *op)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_gput_2d_begin");
    struct weft_gplace to;

    WEFT_HOST_TRY(weft_pgas_find(job, host_name, g, width, pitch, height, &to));
    WEFT_HOST_TRY(check_rows(job, host_name, source, pitch, source_pitch, width, height, op));
    weft_put_2d(self, to.win, to.member, to.offset, pitch, source, source_pitch, width, height);
    *op = weft_put_begin(self, to.win, to.member, to.offset, source, 0); /* behind it */
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_gget_2d_begin(weft_job *job, weft_gptr g, size_t pitch, void *memory,
                                    size_t memory_pitch, size_t width, size_t height, weft_op *op)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_gget_2d_begin");
    struct weft_gplace to;

    WEFT_HOST_TRY(weft_pgas_find(job, host_name, g, width, pitch, height, &to));
    WEFT_HOST_TRY(check_rows(job, host_name, memory, pitch, memory_pitch, width, height, op));
    *op = weft_get_2d_begin(self, to.win, to.member, to.offset, pitch, memory, memory_pitch, width,
                            height);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_gput_notify(weft_job *job, weft_gptr g, const void *source, size_t bytes,
                                  int rank, int tag)
{
    FIND("weft_host_gput_notify", bytes);
    return weft_host_put_notify_rank(job, to.win, to.member, to.offset, source, bytes, rank, tag);
}

weft_status weft_host_gflush(weft_job *job)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_gflush");
    struct weft_pgas *pgas;

    WEFT_HOST_TRY(weft_pgas_enter(job, host_name, &pgas));
    weft_gflush(self, &pgas->space);
    return weft_host_leave(job, WEFT_OK);
}

/* ---- updates --------------------------------------------------------------------------------- */

weft_status weft_host_gfetch_add(weft_job *job, weft_gptr g, uint64_t value, uint64_t *old)
{
    FIND("weft_host_gfetch_add", 8);
    return weft_host_fetch_add(job, to.win, to.member, to.offset, value, old);
}

weft_status weft_host_gswap(weft_job *job, weft_gptr g, uint64_t value, uint64_t *old)
{
    FIND("weft_host_gswap", 8);
    return weft_host_swap(job, to.win, to.member, to.offset, value, old);
}

weft_status weft_host_gcompare_swap(weft_job *job, weft_gptr g, uint64_t expected, uint64_t desired,
                                    uint64_t *old)
{
    FIND("weft_host_gcompare_swap", 8);
    return weft_host_compare_swap(job, to.win, to.member, to.offset, expected, desired, old);
}

weft_status weft_host_gaccumulate(weft_job *job, weft_gptr g, const void *source, size_t count,
                                  weft_type type, weft_operation operation, weft_op *op)
{
    const size_t size = weft_element_bytes((uint32_t)type);

    FIND("weft_host_gaccumulate", count > SIZE_MAX / size ? SIZE_MAX : count * size);
    return weft_host_accumulate_begin(job, to.win, to.member, to.offset, source, count, type,
                                      operation, op);
}
