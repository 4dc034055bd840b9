/* remote/session/memory.c - a program's device memory: allocations and fills. Session's thread
 * only. */
#include "base/say.h"
#include "remote/session/inside.h"

enum { LOWEST = 0x100000 /* no arena begins below */ };
static const uint64_t span_most = 1ull << 42;

bool session_is_arena(uint64_t base, uint64_t span)
{
    return base >= LOWEST && base % (2 << 20) == 0 && span != 0 && span <= span_most &&
           span % (2 << 20) == 0 && base + span >= base;
}

SESSION_DO(arena)
{
    struct session_device *device = &session->device[record->device];
    const uint64_t base = call->base, span = call->span;
    size_t total = 0;

    if (device->arena.base != 0 || !session_is_arena(base, span))
        return SESSION_WRONG;
    CUresult result = session->table->device_total(&total, device->ordinal);
    const uint64_t limit = session->limits->memory;
    if (result == CUDA_SUCCESS)
        result = weft_arena_open(&device->arena, session->table, device->ordinal, base, span,
                                 limit != 0 && limit < total ? limit : total);
    if (result == CUDA_SUCCESS &&
        weft_net_reg(session->links.net, (void *)base, span, false, &device->arena_key) != WEFT_OK)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    call->key = device->arena_key;
    return result;
}

SESSION_DO(alloc)
{
    struct weft_session_arena *arena = &session->device[record->device].arena;
    bool over = false;

    if (arena->base == 0)
        return SESSION_WRONG;
    const CUresult result = weft_arena_alloc(arena, call->bytes, &call->address, &over);
    if (over && session->limits->memory != 0)
        weft_say(WEFT_SAY_WARN,
                 "the program would hold %llu MiB of device %d, its share is %llu MiB",
                 (unsigned long long)((arena->used + call->bytes) >> 20), record->device,
                 (unsigned long long)(arena->share >> 20));
    return result;
}

/* Frees a block, once the device is idle, or the stream has come so far. */
static CUresult free_now(struct weft_session *session, struct session_wait *wait, CUresult result)
{
    const CUresult freed = weft_arena_free(&session->device[wait->device].arena, wait->value);

    if (wait->lane < 0 && freed != CUDA_SUCCESS && session->sticky == CUDA_SUCCESS)
        session->sticky = freed;
    return result != CUDA_SUCCESS ? result : freed;
}

SESSION_DO(free)
{
    return session_wait_device(session, record->device, record->lane, free_now, call->address);
}

SESSION_DO(free_async)
{
    return session_wait_stream(session, record->device, -1, call->stream, free_now, call->address);
}

SESSION_DO(mem_info)
{
    const struct weft_session_arena *arena = &session->device[record->device].arena;

    const CUresult result = session->table->mem_info(&call->available, &call->total);
    const uint64_t own = arena->share - arena->used;
    if (own < call->available)
        call->available = own;
    call->total = arena->share;
    return result;
}

uint64_t session_extent(uint64_t pitch, uint64_t width, uint64_t rows)
{
    static const uint64_t most = 1ull << 48;

    if (width == 0 || rows == 0 || width > most || pitch > most ||
        (rows > 1 && (pitch < width || rows - 1 > most / pitch)))
        return 0;
    return (rows - 1) * pitch + width;
}

int session_rows_at(const struct weft_session *session, uint64_t address, uint64_t pitch,
                    uint64_t width, uint64_t rows)
{
    const uint64_t bytes = session_extent(pitch, width, rows);

    return bytes != 0 ? session_device_of(session, address, bytes) : -1;
}

SESSION_DO(fill)
{
    if (call->width == 0 || call->rows == 0)
        return SESSION_WRONG;
    if (session_rows_at(session, call->address, call->pitch, call->width, call->rows) < 0)
        return CUDA_ERROR_INVALID_VALUE;
    return call->rows == 1
               ? session->table->fill8(call->address, call->value, call->width, call->stream)
               : session->table->fill8_rows(call->address, call->pitch, call->value, call->width,
                                            call->rows, call->stream);
}
