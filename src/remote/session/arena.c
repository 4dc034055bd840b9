/*
 * remote/session/arena.c - first fit among the blocks; slabs of the driver's granule appear under
 * what is allocated and go when nothing of them is.
 */
#include "remote/session/arena.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 512 };

static CUmemAllocationProp properties_of(const struct weft_arena *arena)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = arena->device}};
}

CUresult weft_arena_open(struct weft_arena *arena, const struct weft_cuda_table *table, int device,
                         uint64_t base, uint64_t span, uint64_t share)
{
    CUdeviceptr got = 0;

    *arena = (struct weft_arena){.table = table, .device = device, .share = share};
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

void weft_arena_close(struct weft_arena *arena)
{
    if (arena->base == 0)
        return;
    for (uint32_t i = 0; i < arena->slab_count; i++)
        arena->table->unmap(arena->slabs[i].at, arena->slabs[i].bytes);
    arena->table->unreserve(arena->base, arena->span);
    free(arena->blocks);
    free(arena->slabs);
    *arena = (struct weft_arena){0};
}

/* ---- sorted lists ---------------------------------------------------------------------------- */

/* The first of `count` ranges that ends after an address. Blocks and slabs look alike. */
static uint32_t after(const struct weft_block *list, uint32_t count, uint64_t address)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (list[middle].at + list[middle].bytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

_Static_assert(sizeof(struct weft_block) == sizeof(struct weft_slab), "used as one");

static bool insert(struct weft_block **list, uint32_t *count, uint32_t *capacity, uint32_t at,
                   struct weft_block range)
{
    if (*count == *capacity) {
        const uint32_t more = *capacity == 0 ? 64 : *capacity * 2;
        struct weft_block *grown = realloc(*list, more * sizeof(*grown));
        if (grown == NULL)
            return false;
        *list = grown;
        *capacity = more;
    }
    memmove(*list + at + 1, *list + at, (*count - at) * sizeof(**list));
    (*list)[at] = range;
    (*count)++;
    return true;
}

static struct weft_block *slabs_of(const struct weft_arena *arena)
{
    return (struct weft_block *)(void *)arena->slabs;
}

/* ---- backing --------------------------------------------------------------------------------- */

static CUresult back(struct weft_arena *arena, uint64_t at, uint64_t bytes)
{
    const CUmemAllocationProp properties = properties_of(arena);
    const CUmemAccessDesc access = {.location = properties.location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const struct weft_cuda_table *table = arena->table;
    CUmemGenericAllocationHandle handle;
    struct weft_block *slabs = slabs_of(arena);

    CUresult result = table->mem_create(&handle, bytes, &properties, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = table->map(at, bytes, 0, handle, 0);
    table->mem_release(handle); /* the mapping keeps it */
    if (result != CUDA_SUCCESS)
        return result;
    result = table->set_access(at, bytes, &access, 1);
    if (result == CUDA_SUCCESS &&
        !insert(&slabs, &arena->slab_count, &arena->slab_capacity,
                after(slabs, arena->slab_count, at), (struct weft_block){at, bytes}))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    arena->slabs = (struct weft_slab *)(void *)slabs;
    if (result != CUDA_SUCCESS)
        table->unmap(at, bytes);
    return result;
}

/* Backs what is not yet of the granules around a range. */
static CUresult back_all(struct weft_arena *arena, uint64_t at, uint64_t bytes)
{
    const uint64_t granule = arena->granule, end = (at + bytes + granule - 1) / granule * granule;
    CUresult result = CUDA_SUCCESS;

    at = at / granule * granule;
    while (at < end && result == CUDA_SUCCESS) {
        const uint32_t i = after(slabs_of(arena), arena->slab_count, at);
        const uint64_t next = i < arena->slab_count ? arena->slabs[i].at : UINT64_MAX;
        if (next <= at) {
            at = next + arena->slabs[i].bytes;
            continue;
        }
        const uint64_t stop = next < end ? next : end;
        result = back(arena, at, stop - at);
        at = stop;
    }
    return result;
}

/* Gives back the slabs near a range that was freed on which nothing lies. */
static void unback(struct weft_arena *arena, uint64_t at, uint64_t bytes)
{
    uint32_t i = after(slabs_of(arena), arena->slab_count, at);

    while (i < arena->slab_count && arena->slabs[i].at < at + bytes) {
        const struct weft_slab slab = arena->slabs[i];
        const uint32_t b = after(arena->blocks, arena->count, slab.at);
        if (b < arena->count && arena->blocks[b].at < slab.at + slab.bytes) {
            i++;
            continue;
        }
        arena->table->unmap(slab.at, slab.bytes);
        arena->slab_count--;
        memmove(arena->slabs + i, arena->slabs + i + 1,
                (arena->slab_count - i) * sizeof(*arena->slabs));
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* A place for so many bytes, and before which block; 0: there is none. */
static uint64_t find(const struct weft_arena *arena, uint64_t bytes, uint32_t *before)
{
    uint64_t at = arena->base;

    for (*before = 0; *before < arena->count; (*before)++) {
        if (arena->blocks[*before].at - at >= bytes)
            return at;
        at = arena->blocks[*before].at + arena->blocks[*before].bytes;
    }
    return arena->base + arena->span - at >= bytes ? at : 0;
}

CUresult weft_arena_alloc(struct weft_arena *arena, uint64_t bytes, uint64_t *address, bool *over)
{
    const uint64_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    uint32_t before;

    *over = bytes > arena->share || room > arena->share - arena->used;
    if (bytes == 0 || *over)
        return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    const uint64_t at = find(arena, room, &before);
    if (at == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!insert(&arena->blocks, &arena->count, &arena->capacity, before,
                (struct weft_block){at, room}))
        return CUDA_ERROR_OUT_OF_MEMORY;
    arena->used += room;
    const CUresult result = back_all(arena, at, room);
    if (result == CUDA_SUCCESS)
        *address = at;
    else
        weft_arena_free(arena, at);
    return result;
}

CUresult weft_arena_free(struct weft_arena *arena, uint64_t address)
{
    const uint32_t i = after(arena->blocks, arena->count, address);

    if (i == arena->count || arena->blocks[i].at != address)
        return CUDA_ERROR_INVALID_VALUE;
    const struct weft_block block = arena->blocks[i];
    arena->used -= block.bytes;
    arena->count--;
    memmove(arena->blocks + i, arena->blocks + i + 1, (arena->count - i) * sizeof(*arena->blocks));
    unback(arena, block.at, block.bytes);
    return CUDA_SUCCESS;
}

bool weft_arena_has(const struct weft_arena *arena, uint64_t address, uint64_t bytes)
{
    const uint32_t i = after(arena->blocks, arena->count, address);

    return i < arena->count && arena->blocks[i].at <= address &&
           bytes <= arena->blocks[i].bytes - (address - arena->blocks[i].at);
}

bool weft_arena_begins(const struct weft_arena *arena, uint64_t address)
{
    const uint32_t i = after(arena->blocks, arena->count, address);

    return i < arena->count && arena->blocks[i].at == address;
}
