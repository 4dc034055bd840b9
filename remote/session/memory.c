/* remote/session/memory.c - a program's device memory: allocations, fills, copies inside records.
 * Session's thread only. */
#include "base/say.h"
#include "remote/session/inside.h"

#include <string.h>

enum { LOWEST = 0x100000 /* no arena begins below */ };
static const uint64_t span_most = 1ull << 42;

SESSION_DO(arena)
{
    struct session_device *device = &session->device[record->device];
    const uint64_t base = call->base, span = call->span;
    size_t total = 0;

    if (device->arena.base != 0 || base < LOWEST || base % (2 << 20) != 0 || span == 0 ||
        span > span_most || span % (2 << 20) != 0 || base + span < base)
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

/* The device is idle, or the stream has come so far. */
static CUresult free_now(struct weft_session *session, struct session_wait *wait, CUresult result)
{
    const CUresult freed = weft_arena_free(&session->device[wait->device].arena, wait->value);

    if (wait->lane < 0 && freed != CUDA_SUCCESS && session->sticky == CUDA_SUCCESS)
        session->sticky = freed;
    return result != CUDA_SUCCESS ? result : freed;
}

/* Whose allocation begins there; -1: nobody's. */
static int owner_of(const struct weft_session *session, uint64_t address)
{
    const int d = session_device_of(session, address, 1);

    return d >= 0 && weft_ranges_at(&session->device[d].arena.blocks, address) <
                         session->device[d].arena.blocks.count
               ? d
               : -1;
}

SESSION_DO(free)
{
    const int device = owner_of(session, call->address);

    return device < 0 ? CUDA_ERROR_INVALID_VALUE
                      : session_wait_device(session, device, record->lane, free_now, call->address);
}

SESSION_DO(free_async)
{
    return owner_of(session, call->address) == record->device
               ? session_wait_stream(session, record->device, -1, call->stream, free_now,
                                     call->address)
               : CUDA_ERROR_INVALID_VALUE;
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

/* From where rows begin to where they end; 0: they make no sense. */
static uint64_t extent_of(uint64_t pitch, uint64_t width, uint64_t rows)
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
    const uint64_t bytes = extent_of(pitch, width, rows);

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

/* ---- copies --------------------------------------------------------------------------------- */

static CUresult copy_rows(const struct weft_cuda_table *table, const struct weft_rows *rows,
                          CUstream stream)
{
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                .srcDevice = rows->from,
                                .srcPitch = rows->from_pitch,
                                .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                .dstDevice = rows->to,
                                .dstPitch = rows->to_pitch,
                                .WidthInBytes = rows->width,
                                .Height = rows->rows};

    return rows->rows > 1 ? table->copy_rows(&copy, stream)
                          : table->copy_async(rows->to, rows->from, rows->width, stream);
}

/* The device's side is there; the other one is a chunk. */
static int copy_inside(struct weft_session *session, struct weft_record *record,
                       struct weft_rows copy, CUstream stream, bool in)
{
    const uint64_t width = copy.width, rows = copy.rows;
    struct session_wait *wait; /* with the chunk: until the copy is done */
    int i = 0;

    if (width == 0 || width > WEFT_COPY_INSIDE || rows == 0 || rows > WEFT_COPY_INSIDE ||
        width * rows > WEFT_COPY_INSIDE || (in ? record->extra != width * rows : record->lane == 0))
        return SESSION_WRONG;
    if (session_rows_at(session, in ? copy.to : copy.from, in ? copy.to_pitch : copy.from_pitch,
                        width, rows) < 0)
        return CUDA_ERROR_INVALID_VALUE;
    while (i < SESSION_CHUNKS && session->chunk_used[i])
        i++;
    if (i == SESSION_CHUNKS)
        return SESSION_AGAIN; /* as a full queue of the driver's */
    const int made = session_wait_make(session, record->device, in ? -1 : record->lane, 1, NULL,
                                       width * rows, &wait);
    if (made != CUDA_SUCCESS)
        return made;
    unsigned char *chunk = session->chunks[i];
    if (in)
        memcpy(chunk, weft_record_extra(record), record->extra);
    *(in ? &copy.from : &copy.to) = (CUdeviceptr)chunk;
    *(in ? &copy.from_pitch : &copy.to_pitch) = width;
    CUresult result = copy_rows(session->table, &copy, stream);
    if (result == CUDA_SUCCESS)
        result = session_wait_record(session, wait, stream);
    if (result == CUDA_SUCCESS) {
        session->chunk_used[i] = true;
        wait->chunk = i;
    }
    return session_wait_begin(session, wait, result);
}

#define INSIDE(name, side, in)                                                                     \
    SESSION_DO(name)                                                                               \
    {                                                                                              \
        const struct weft_rows copy = {.side = call->address,                                      \
                                       .side##_pitch = call->pitch,                                \
                                       .width = call->width,                                       \
                                       .rows = call->rows};                                        \
        return copy_inside(session, record, copy, call->stream, in);                               \
    }
INSIDE(copy_in, to, true)
INSIDE(copy_out, from, false)

/* Between two places of this session; or one of them is the program's, shared. */
SESSION_DO(copy_near)
{
    struct weft_rows copy = {.to = call->to,
                             .to_pitch = call->to_pitch,
                             .from = call->from,
                             .from_pitch = call->from_pitch,
                             .width = call->width,
                             .rows = call->rows};
    const uint64_t to_bytes = extent_of(copy.to_pitch, copy.width, copy.rows),
                   from_bytes = extent_of(copy.from_pitch, copy.width, copy.rows);

    if (to_bytes == 0 || from_bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    const int to = session_device_of(session, copy.to, to_bytes),
              from = session_device_of(session, copy.from, from_bytes);
    if (to < 0 && from >= 0)
        copy.to = (CUdeviceptr)session_shared(session, copy.to, to_bytes);
    else if (to >= 0 && from < 0)
        copy.from = (CUdeviceptr)session_shared(session, copy.from, from_bytes);
    if ((to < 0 && from < 0) || copy.to == 0 || copy.from == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (to >= 0 && from >= 0 && to != from && copy.rows == 1)
        return session->table->copy_peer(copy.to, session->device[to].context, copy.from,
                                         session->device[from].context, copy.width, call->stream);
    return copy_rows(session->table, &copy, call->stream);
}
