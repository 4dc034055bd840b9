/* fake/host.c - pinned memory of the fake driver, and what an address is. Lock
 * held. */
#include "fake/inside.h"

/* ---- pinned memory --------------------------------------------------------------------------- */

static CUresult allocate(void **memory, size_t bytes, unsigned flags)
{
    struct fake_range range = {.bytes = bytes, .kind = FAKE_PINNED, .flags = flags};

    if (bytes == 0 || flags > 7)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = fake_range_map(&range);
    if (result == CUDA_SUCCESS)
        *memory = range.base;
    return result;
}

static CUresult forget(struct fake_device *device, void *memory, bool ours)
{
    struct fake_range *range = fake_range_exactly(memory, FAKE_PINNED);

    if (range == NULL || range->ours != ours)
        return ours ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    const CUresult result = fake_drain_device(device);
    fake_range_drop(range);
    return result;
}

static CUresult add_block(void *memory, size_t bytes, unsigned flags)
{
    if (memory == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (fake_range_at(memory) != NULL)
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    return fake_range_add(
        &(struct fake_range){.base = memory, .bytes = bytes, .kind = FAKE_PINNED, .flags = flags});
}

static CUresult flags_of(const void *memory, unsigned *flags)
{
    const struct fake_range *range = fake_range_at(memory);

    if (range == NULL || range->kind != FAKE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = range->flags;
    return CUDA_SUCCESS;
}

FAKE_CALL(host_alloc, (void **memory, size_t bytes, unsigned flags), allocate(memory, bytes, flags))
FAKE_CALL(host_free, (void *memory), forget(device, memory, true))
FAKE_CALL(host_register, (void *memory, size_t bytes, unsigned flags),
          add_block(memory, bytes, flags))
FAKE_CALL(host_unregister, (void *memory), forget(device, memory, false))
FAKE_CALL(host_flags, (unsigned *flags, void *memory), flags_of(memory, flags))

/* ---- attributes of addresses ----------------------------------------------------------------- */

CUresult fake_pointer_attributes(unsigned count, CUpointer_attribute *wanted, void **data,
                                 CUdeviceptr address)
{
    fake_begin();
    const struct fake_range *range = fake_range_at((void *)address);
    const bool ours = range != NULL && range->kind == FAKE_DEVICE;
    const enum weft_pointer memory = range == NULL    ? WEFT_UNKNOWN
                                     : range->managed ? WEFT_MANAGED
                                     : ours           ? WEFT_ON_DEVICE
                                     : (range->flags & CU_MEMHOSTALLOC_DEVICEMAP) != 0
                                         ? WEFT_MAPPED
                                         : WEFT_PINNED;
    return fake_end(weft_known_pointer(count, wanted, data, address,
                                       ours ? range->device->known.number : -1, memory));
}
