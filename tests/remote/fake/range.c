/* fake/range.c - pieces of memory that the fake driver knows. Lock held. */
#include "fake/inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGES = 4096, SCRIBBLE = 1 << 20 };

struct fake_range *fake_ranges;

struct fake_range *fake_range_at(const void *address)
{
    const uintptr_t at = (uintptr_t)address;

    for (struct fake_range *r = fake_ranges; r != NULL; r = r->next)
        if (at - (uintptr_t)r->base < r->bytes)
            return r;
    return NULL;
}

enum fake_memory fake_find(const void *address, size_t bytes)
{
    const unsigned char *at = address;
    const struct fake_range *first = fake_range_at(at);
    const unsigned char *const end = at + bytes;

    for (const struct fake_range *r = first; r != NULL; r = fake_range_at(at)) {
        at = r->base + r->bytes;
        if (at >= end)
            return first->kind;
    }
    return FAKE_NOWHERE;
}

static bool reaches(const struct fake_device *device, const struct fake_range *range, bool kernel)
{
    if (range->kind != FAKE_DEVICE)
        return true;
    if (!range->ours)
        return (range->access >> device->known.number & 1) != 0;
    return !kernel || range->device == device ||
           (device->peers >> range->device->known.number & 1) != 0;
}

bool fake_range_reaches(const struct fake_device *device, const void *address, size_t bytes,
                        bool kernel)
{
    const unsigned char *at = address;
    const unsigned char *const end = at + bytes;

    for (const struct fake_range *r = fake_range_at(at); r != NULL && at < end;
         r = fake_range_at(at)) {
        if (!reaches(device, r, kernel))
            return false;
        at = r->base + r->bytes;
    }
    return true;
}

CUresult fake_range_add(const struct fake_range *range)
{
    struct fake_range *r = malloc(sizeof(*r));

    if (r == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *r = *range;
    r->next = fake_ranges;
    fake_ranges = r;
    return CUDA_SUCCESS;
}

void fake_range_drop(struct fake_range *range)
{
    struct fake_range **at = &fake_ranges;

    while (*at != range)
        at = &(*at)->next;
    *at = range->next;
    if (range->device != NULL)
        range->device->used -= range->bytes;
    if (range->ours)
        munmap(range->base, (range->bytes + PAGES - 1) / PAGES * PAGES);
    free(range);
}

struct fake_range *fake_range_exactly(const void *address, enum fake_memory kind)
{
    struct fake_range *r = fake_range_at(address);

    return r != NULL && r->base == address && r->kind == kind ? r : NULL;
}

CUresult fake_range_map(struct fake_range *range)
{
    void *memory = mmap(NULL, (range->bytes + PAGES - 1) / PAGES * PAGES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    range->base = memory;
    range->ours = true;
    if (range->kind == FAKE_DEVICE && range->bytes <= SCRIBBLE)
        memset(memory, 0xa5, range->bytes); /* nobody may count on zeros */
    const CUresult result = fake_range_add(range);
    if (result != CUDA_SUCCESS)
        munmap(memory, (range->bytes + PAGES - 1) / PAGES * PAGES);
    return result;
}
