/* remote/session/memory.c - a program's device memory: allocations, fills, copies inside records.
 */
#include "base/say.h"
#include "remote/session/inside.h"

#include <string.h>

enum { LOWEST = 0x100000 /* no arena begins below */ };
static const uint64_t span_most = 1ull << 42;

SESSION_DO(arena)
{
    struct session_device *device = &session->device[record->device];
    const uint64_t base = word[0], span = word[1];
    size_t total = 0;

    if (device->arena.base != 0 || base < LOWEST || base % (2 << 20) != 0 || span == 0 ||
        span > span_most || span % (2 << 20) != 0 || base + span < base)
        return SESSION_WRONG;
    CUresult result = session->table->device_total(&total, device->ordinal);
    const uint64_t limit = session->limits->memory;
    if (result == CUDA_SUCCESS)
        result = weft_arena_open(&device->arena, session->table, device->ordinal, base, span,
                                 limit != 0 && limit < total ? limit : total);
    if (result == CUDA_SUCCESS && session->links.ops->reg(session->links.net, (void *)base, span,
                                                          &device->arena_key) != WEFT_OK)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return session_reply(session, record, result, &device->arena_key, 1, NULL, 0);
}

SESSION_DO(alloc)
{
    struct weft_arena *arena = &session->device[record->device].arena;
    uint64_t address = 0;
    bool over = false;

    if (arena->base == 0)
        return SESSION_WRONG;
    const CUresult result = weft_arena_alloc(arena, word[0], &address, &over);
    if (over && session->limits->memory != 0)
        weft_say(WEFT_SAY_WARN,
                 "the program would hold %llu MiB of device %d, its share is %llu MiB",
                 (unsigned long long)((arena->used + word[0]) >> 20), record->device,
                 (unsigned long long)(arena->share >> 20));
    return session_reply(session, record, result, &address, 1, NULL, 0);
}

/* The device is idle, or the stream has come so far. */
static CUresult free_now(struct weft_session *session, struct session_wait *wait, CUresult result)
{
    const CUresult freed = weft_arena_free(&session->device[wait->device].arena, wait->value);

    if (!wait->answers && freed != CUDA_SUCCESS && session->sticky == CUDA_SUCCESS)
        session->sticky = freed;
    return result != CUDA_SUCCESS ? result : freed;
}

/* Whose allocation begins there; -1: nobody's. */
static int owner_of(const struct weft_session *session, uint64_t address)
{
    for (int d = 0; d < session->count; d++) {
        const struct weft_ranges *blocks = &session->device[d].arena.blocks;
        if (weft_ranges_at(blocks, address) < blocks->count)
            return d;
    }
    return -1;
}

SESSION_DO(free)
{
    const int device = owner_of(session, word[0]);

    return device < 0 ? CUDA_ERROR_INVALID_VALUE
                      : session_wait_device(session, device, record->lane, free_now, word[0]);
}

SESSION_DO(free_async)
{
    CUstream stream;

    if (!session_stream(session, record->device, word[1], &stream))
        return CUDA_ERROR_INVALID_HANDLE;
    return owner_of(session, word[0]) == record->device
               ? session_wait_stream(session, record->device, -1, stream, free_now, word[0])
               : CUDA_ERROR_INVALID_VALUE;
}

SESSION_DO(mem_info)
{
    const struct weft_arena *arena = &session->device[record->device].arena;
    size_t available = 0, total = 0;

    const CUresult result = session->table->mem_info(&available, &total);
    const uint64_t own = arena->share - arena->used;
    const uint64_t numbers[] = {own < available ? own : available, arena->share};
    return session_reply(session, record, result, numbers, 2, NULL, 0);
}

SESSION_DO(fill)
{
    const uint64_t address = word[0], pitch = word[1], width = word[2], rows = word[3];
    const uint32_t value = (uint32_t)word[4], unit = (uint32_t)(word[4] >> 32);
    CUstream stream;

    if ((unit != 1 && unit != 4) || width == 0 || rows == 0 || (unit == 4 && rows != 1))
        return SESSION_WRONG;
    if (!session_stream(session, record->device, word[5], &stream))
        return CUDA_ERROR_INVALID_HANDLE;
    if (width > 1ull << 48 || pitch > 1ull << 48 || rows > 1ull << 32 ||
        (rows > 1 && (pitch < width || rows - 1 > (1ull << 48) / pitch)) ||
        session_device_of(session, address, (rows - 1) * pitch + width) < 0 || width % unit != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (unit == 4)
        return session->table->fill32(address, value, width / 4, stream);
    return rows == 1 ? session->table->fill8(address, (unsigned char)value, width, stream)
                     : session->table->fill8_rows(address, pitch, (unsigned char)value, width, rows,
                                                  stream);
}

/* ---- copies inside records ------------------------------------------------------------------- */

SESSION_DO(copy_in)
{
    const int device = record->device;
    CUstream stream;

    if (record->extra == 0 || record->extra > WEFT_COPY_INSIDE)
        return SESSION_WRONG;
    if (!session_stream(session, device, word[1], &stream))
        return CUDA_ERROR_INVALID_HANDLE;
    if (session_device_of(session, word[0], record->extra) < 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct session_chunk *chunk = session_chunk_take(session);
    if (chunk == NULL)
        return SESSION_AGAIN; /* as a full queue of the driver's */
    CUevent event = session_event(session, device);
    if (event == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    session_use(session, device);
    memcpy(chunk->memory, weft_record_extra(record), record->extra);
    CUresult result = session->table->copy_in(word[0], chunk->memory, record->extra, stream);
    if (result == CUDA_SUCCESS)
        result = session->table->event_record(event, stream);
    if (result != CUDA_SUCCESS) {
        session_event_back(session, device, event);
        return result;
    }
    chunk->event = event;
    chunk->device = device;
    return CUDA_SUCCESS;
}

SESSION_DO(copy_out)
{
    const int device = record->device;
    CUstream stream;

    if (word[1] == 0 || word[1] > WEFT_COPY_INSIDE || record->lane == 0)
        return SESSION_WRONG;
    if (!session_stream(session, device, word[2], &stream))
        return CUDA_ERROR_INVALID_HANDLE;
    if (session_device_of(session, word[0], word[1]) < 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct session_chunk *chunk = session_chunk_take(session);
    if (chunk == NULL)
        return SESSION_AGAIN;
    struct session_wait *wait = session_wait_make(session, device, record->lane, 1);
    if (wait == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    wait->value = word[1];
    session_use(session, device);
    CUresult result = session->table->copy_out(chunk->memory, word[0], word[1], stream);
    if (result == CUDA_SUCCESS)
        result = session_wait_record(session, wait, stream);
    if (result != CUDA_SUCCESS) {
        session_wait_drop(session, wait);
        return result;
    }
    chunk->device = device;
    wait->chunk = chunk;
    session_wait_begin(session, wait);
    return SESSION_LATER;
}

/* Between two places of this session. */
SESSION_DO(copy_near)
{
    CUstream stream;

    if (!session_stream(session, record->device, word[3], &stream))
        return CUDA_ERROR_INVALID_HANDLE;
    const int to = session_device_of(session, word[0], word[2]),
              from = session_device_of(session, word[1], word[2]);
    if (to < 0 || from < 0)
        return CUDA_ERROR_INVALID_VALUE;
    return to == from ? session->table->copy_async(word[0], word[1], word[2], stream)
                      : session->table->copy_peer(word[0], session->device[to].context, word[1],
                                                  session->device[from].context, word[2], stream);
}
