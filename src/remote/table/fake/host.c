/* remote/table/fake/host.c - pinned memory of the fake driver, and what an address is. */
#include "remote/table/fake/inside.h"

/* ---- pinned memory --------------------------------------------------------------------------- */

CUresult fake_host_alloc(void **memory, size_t bytes, unsigned flags)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    struct fake_range range = {.bytes = bytes, .kind = FAKE_PINNED, .flags = flags};

    if (result == CUDA_SUCCESS && (bytes == 0 || flags > 7))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = fake_range_map(&range);
    if (result == CUDA_SUCCESS)
        *memory = range.base;
    return fake_end(result);
}

static CUresult forget(void *memory, bool ours)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    struct fake_range *range = fake_range_exactly(memory, FAKE_PINNED);

    if (result == CUDA_SUCCESS && (range == NULL || range->ours != ours))
        result = ours ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (result == CUDA_SUCCESS) {
        result = fake_drain_device(device);
        fake_range_drop(range);
    }
    return fake_end(result);
}

CUresult fake_host_free(void *memory)
{
    return forget(memory, true);
}

CUresult fake_host_unregister(void *memory)
{
    return forget(memory, false);
}

CUresult fake_host_register(void *memory, size_t bytes, unsigned flags)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS && (memory == NULL || bytes == 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && fake_range_at(memory) != NULL)
        result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (result == CUDA_SUCCESS)
        result = fake_range_add(&(struct fake_range){
            .base = memory, .bytes = bytes, .kind = FAKE_PINNED, .flags = flags});
    return fake_end(result);
}

CUresult fake_host_flags(unsigned *flags, void *memory)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    const struct fake_range *range = fake_range_at(memory);

    if (result == CUDA_SUCCESS && (range == NULL || range->kind != FAKE_PINNED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *flags = range->flags;
    return fake_end(result);
}

/* ---- attributes of addresses ----------------------------------------------------------------- */

CUresult fake_pointer_attributes(unsigned count, CUpointer_attribute *wanted, void **data,
                                 CUdeviceptr address)
{
    fake_begin();
    const struct fake_range *range = fake_range_at((void *)address);
    const bool ours = range != NULL && range->kind == FAKE_DEVICE;
    return fake_end(weft_known_pointer(count, wanted, data, address,
                                       ours ? range->device->known.number : -1,
                                       range != NULL && !ours));
}
