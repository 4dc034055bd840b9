/*
 * remote/session/arena.c - allocates first fit among the blocks; slabs of the driver's granule
 * appear under what is allocated and go when nothing of them is.
 */
#include "remote/session/arena.h"

#include <stdlib.h>

enum { ALIGN = 512 };

static CUmemAllocationProp properties_of(const struct weft_session_arena *arena)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes =
            arena->passes ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = arena->device}};
}

CUresult weft_arena_open(struct weft_session_arena *arena, const struct weft_cuda_table *table,
                         int device, uint64_t base, uint64_t span, uint64_t share)
{
    CUdeviceptr got = 0;

    *arena = (struct weft_session_arena){.table = table, .device = device, .share = share};
    (void)table->device_attribute(
        &arena->passes, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device);
    const CUmemAllocationProp properties = properties_of(arena);
    CUresult result =
        table->granularity(&arena->granule, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    if (result == CUDA_SUCCESS)
        result = table->reserve(&got, span, 0, base, 0);
    if (result != CUDA_SUCCESS)
        return result;
    if (got != base) {
        table->unreserve(got, span);
        return CUDA_ERROR_INVALID_ADDRESS_SPACE;
    }
    arena->base = base;
    arena->span = span;
    return CUDA_SUCCESS;
}

void weft_arena_close(struct weft_session_arena *arena)
{
    if (arena->base == 0)
        return;
    for (uint32_t i = 0; i < arena->slabs.count; i++)
        arena->table->unmap(arena->slabs.list[i].at, arena->slabs.list[i].bytes);
    arena->table->unreserve(arena->base, arena->span);
    free(arena->blocks.list);
    free(arena->slabs.list);
    *arena = (struct weft_session_arena){0};
}

/* ---- backing --------------------------------------------------------------------------------- */

CUmemAccessDesc weft_arena_access(int device, bool on)
{
    return (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                             .flags = on ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                         : CU_MEM_ACCESS_FLAGS_PROT_NONE};
}

static CUresult back(struct weft_session_arena *arena, uint64_t at, uint64_t bytes)
{
    const CUmemAllocationProp properties = properties_of(arena);
    const CUmemAccessDesc access = weft_arena_access(arena->device, true);
    const struct weft_cuda_table *table = arena->table;
    CUmemGenericAllocationHandle handle;

    CUresult result = table->mem_create(&handle, bytes, &properties, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = table->map(at, bytes, 0, handle, 0);
    table->mem_release(handle); /* the mapping keeps it */
    if (result != CUDA_SUCCESS)
        return result;
    result = table->set_access(at, bytes, &access, 1);
    if (result == CUDA_SUCCESS && !weft_ranges_add(&arena->slabs, at, bytes))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS)
        table->unmap(at, bytes);
    return result;
}

/* Backs the granules around a range that are not backed yet. */
static CUresult back_all(struct weft_session_arena *arena, uint64_t at, uint64_t bytes)
{
    const uint64_t granule = arena->granule, end = (at + bytes + granule - 1) / granule * granule;
    CUresult result = CUDA_SUCCESS;

    at = at / granule * granule;
    while (at < end && result == CUDA_SUCCESS) {
        const uint32_t i = weft_ranges_after(&arena->slabs, at);
        const uint64_t next = i < arena->slabs.count ? arena->slabs.list[i].at : UINT64_MAX;
        if (next <= at) {
            at = next + arena->slabs.list[i].bytes;
            continue;
        }
        const uint64_t stop = next < end ? next : end;
        result = back(arena, at, stop - at);
        at = stop;
    }
    return result;
}

/* Gives back the slabs near a range that was freed on which nothing lies. */
static void unback(struct weft_session_arena *arena, uint64_t at, uint64_t bytes)
{
    uint32_t i = weft_ranges_after(&arena->slabs, at);

    while (i < arena->slabs.count && arena->slabs.list[i].at < at + bytes) {
        const struct weft_range slab = arena->slabs.list[i];
        const uint32_t b = weft_ranges_after(&arena->blocks, slab.at);
        if (b < arena->blocks.count && arena->blocks.list[b].at < slab.at + slab.bytes) {
            i++;
            continue;
        }
        arena->table->unmap(slab.at, slab.bytes);
        weft_ranges_drop(&arena->slabs, i);
    }
}

CUresult weft_arena_export(const struct weft_session_arena *arena, uint64_t slab, int *fd)
{
    CUmemGenericAllocationHandle handle;
    CUresult result =
        arena->passes ? arena->table->mem_retain(&handle, (void *)slab) : CUDA_ERROR_NOT_SUPPORTED;

    if (result != CUDA_SUCCESS)
        return result;
    result = arena->table->mem_export(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    arena->table->mem_release(handle);
    return result;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Finds a place for so many bytes; 0: there is none. */
static uint64_t find_room(const struct weft_session_arena *arena, uint64_t bytes)
{
    uint64_t at = arena->base;

    for (uint32_t i = 0; i < arena->blocks.count; i++) {
        if (arena->blocks.list[i].at - at >= bytes)
            return at;
        at = arena->blocks.list[i].at + arena->blocks.list[i].bytes;
    }
    return arena->base + arena->span - at >= bytes ? at : 0;
}

CUresult weft_arena_alloc(struct weft_session_arena *arena, uint64_t bytes, uint64_t *address,
                          bool *over)
{
    const uint64_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN;

    *over = bytes > arena->share || room > arena->share - arena->used;
    if (bytes == 0 || *over)
        return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    const uint64_t at = find_room(arena, room);
    if (at == 0 || !weft_ranges_add(&arena->blocks, at, room))
        return CUDA_ERROR_OUT_OF_MEMORY;
    arena->used += room;
    const CUresult result = back_all(arena, at, room);
    if (result == CUDA_SUCCESS)
        *address = at;
    else
        weft_arena_free(arena, at);
    return result;
}

CUresult weft_arena_free(struct weft_session_arena *arena, uint64_t address)
{
    const uint32_t i = weft_ranges_at(&arena->blocks, address);

    if (i == arena->blocks.count)
        return CUDA_ERROR_INVALID_VALUE;
    const struct weft_range block = arena->blocks.list[i];
    arena->used -= block.bytes;
    weft_ranges_drop(&arena->blocks, i);
    unback(arena, block.at, block.bytes);
    return CUDA_SUCCESS;
}
