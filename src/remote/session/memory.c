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
                                                          false, &device->arena_key) != WEFT_OK)
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
    struct session_device *device = &session->device[wait->device];
    const CUresult freed = weft_arena_free(&device->arena, wait->value, device->closed == 0);

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
    SESSION_STREAM(stream, word[1]);
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

/* From where rows begin to where they end; 0: they make no sense. */
static uint64_t extent_of(uint64_t pitch, uint64_t width, uint64_t rows)
{
    static const uint64_t most = 1ull << 48;

    if (width == 0 || rows == 0 || width > most || pitch > most ||
        (rows > 1 && (pitch < width || rows - 1 > most / pitch)))
        return 0;
    return (rows - 1) * pitch + width;
}

/* Whose rows they are; -1: nobody's, or they make no sense. */
static int rows_at(const struct weft_session *session, uint64_t address, uint64_t pitch,
                   uint64_t width, uint64_t rows)
{
    const uint64_t bytes = extent_of(pitch, width, rows);

    return bytes != 0 ? session_device_of(session, address, bytes) : -1;
}

/* Rows of the program's, of which it has sent address and pitch; NULL: they are not shared. */
static void *shared_rows(const struct weft_session *session, const uint64_t *word, uint64_t width,
                         uint64_t rows)
{
    const uint64_t bytes = extent_of(word[1], width, rows);

    return bytes != 0 ? session_shared(session, word[0], bytes) : NULL;
}

SESSION_DO(fill)
{
    const uint64_t address = word[0], pitch = word[1], width = word[2], rows = word[3];
    const unsigned char value = (unsigned char)word[4];

    if (width == 0 || rows == 0)
        return SESSION_WRONG;
    SESSION_STREAM(stream, word[5]);
    if (rows_at(session, address, pitch, width, rows) < 0)
        return CUDA_ERROR_INVALID_VALUE;
    return rows == 1 ? session->table->fill8(address, value, width, stream)
                     : session->table->fill8_rows(address, pitch, value, width, rows, stream);
}

/* ---- copies inside records ------------------------------------------------------------------- */

/* Rows of device memory, and a chunk in which they lie one behind the other. */
static CUresult copy_chunk(const struct weft_cuda_table *table, uint64_t address, uint64_t pitch,
                           uint64_t width, uint64_t rows, void *chunk, bool in, CUstream stream)
{
    const CUmemorytype host = CU_MEMORYTYPE_HOST, device = CU_MEMORYTYPE_DEVICE;
    const CUDA_MEMCPY2D copy = {.srcMemoryType = in ? host : device,
                                .srcHost = chunk,
                                .srcDevice = address,
                                .srcPitch = in ? width : pitch,
                                .dstMemoryType = in ? device : host,
                                .dstHost = chunk,
                                .dstDevice = address,
                                .dstPitch = in ? pitch : width,
                                .WidthInBytes = width,
                                .Height = rows};

    if (rows > 1)
        return table->copy_rows(&copy, stream);
    return in ? table->copy_async(address, (CUdeviceptr)chunk, width, stream)
              : table->copy_async((CUdeviceptr)chunk, address, width, stream);
}

/* A chunk that is free; NULL: none is. */
static unsigned char *find_chunk(struct weft_session *session)
{
    for (int i = 0; i < SESSION_CHUNKS; i++)
        if (!session->chunk_used[i])
            return session->chunks + (size_t)i * WEFT_COPY_INSIDE;
    return NULL;
}

static int copy_inside(struct weft_session *session, struct weft_record *record,
                       const uint64_t *word, bool in)
{
    const uint64_t width = word[2], rows = word[3];
    struct session_wait *wait; /* with the chunk: until the copy is done */

    if (width == 0 || width > WEFT_COPY_INSIDE || rows == 0 || rows > WEFT_COPY_INSIDE ||
        width * rows > WEFT_COPY_INSIDE || (in ? record->extra != width * rows : record->lane == 0))
        return SESSION_WRONG;
    SESSION_STREAM(stream, word[4]);
    if (rows_at(session, word[0], word[1], width, rows) < 0)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned char *chunk = find_chunk(session);
    if (chunk == NULL)
        return SESSION_AGAIN; /* as a full queue of the driver's */
    const int made = session_wait_make(session, record->device, in ? -1 : record->lane, 1, NULL,
                                       width * rows, &wait);
    if (made != CUDA_SUCCESS)
        return made;
    if (in)
        memcpy(chunk, weft_record_extra(record), record->extra);
    CUresult result = copy_chunk(session->table, word[0], word[1], width, rows, chunk, in, stream);
    if (result == CUDA_SUCCESS)
        result = session_wait_record(session, wait, stream);
    if (result == CUDA_SUCCESS) {
        *session_chunk_used(session, chunk) = true;
        wait->chunk = chunk;
    }
    return session_wait_begin(session, wait, result);
}

SESSION_DO(copy_in)
{
    return copy_inside(session, record, word, true);
}

SESSION_DO(copy_out)
{
    return copy_inside(session, record, word, false);
}

/* Between two places of this session; or one of them is the program's, shared. */
SESSION_DO(copy_near)
{
    const uint64_t width = word[4], rows = word[5];
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = word[2],
                          .srcPitch = word[3],
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = word[0],
                          .dstPitch = word[1],
                          .WidthInBytes = width,
                          .Height = rows};

    SESSION_STREAM(stream, word[6]);
    const int to = rows_at(session, word[0], word[1], width, rows),
              from = rows_at(session, word[2], word[3], width, rows);
    if (to < 0 && from >= 0 && (copy.dstHost = shared_rows(session, word, width, rows)) != NULL)
        copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    else if (from < 0 && to >= 0 &&
             (copy.srcHost = shared_rows(session, word + 2, width, rows)) != NULL)
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    else if (to < 0 || from < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (rows > 1)
        return session->table->copy_rows(&copy, stream);
    if (to >= 0 && from >= 0 && to != from)
        return session->table->copy_peer(word[0], session->device[to].context, word[2],
                                         session->device[from].context, width, stream);
    return session->table->copy_async(to < 0 ? (CUdeviceptr)copy.dstHost : word[0],
                                      from < 0 ? (CUdeviceptr)copy.srcHost : word[2], width,
                                      stream);
}
