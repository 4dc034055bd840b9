/* remote/table/fake/device.c - devices and contexts of the fake driver. */
#include "remote/table/fake/inside.h"

#include <stdio.h>
#include <string.h>

/* ---- devices --------------------------------------------------------------------------------- */

static bool is_device(CUdevice device)
{
    return device >= 0 && device < fake.devices;
}

CUresult fake_init(unsigned flags)
{
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_driver_version(int *version)
{
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult fake_device_count(int *count)
{
    *count = fake.devices;
    return CUDA_SUCCESS;
}

CUresult fake_device_get(CUdevice *device, int ordinal)
{
    if (!is_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult fake_device_name(char *name, int bytes, CUdevice device)
{
    if (!is_device(device) || bytes <= 0)
        return is_device(device) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)bytes, "fake GPU");
    return CUDA_SUCCESS;
}

CUresult fake_device_total(size_t *bytes, CUdevice device)
{
    *bytes = fake.memory;
    return is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static const struct {
    CUdevice_attribute attribute;
    int value;
} attributes[] = {{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
                  {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
                  {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
                  {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
                  {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
                  {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
                  {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
                  {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
                  {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
                  {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
                  {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
                  {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
                  {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
                  {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
                  {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
                  {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
                  {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
                  {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 64},
                  {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
                  {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
                  {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
                  {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
                  {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
                  {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
                  {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
                  {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
                  {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
                  {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
                  {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
                  {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
                  {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
                  {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
                  {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
                  {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
                  {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
                  {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1 << 20}};

CUresult fake_device_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? device + 1 : 0;
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        if (attributes[i].attribute == attribute)
            *value = attributes[i].value;
    return CUDA_SUCCESS;
}

CUresult fake_device_uuid(CUuuid *uuid, CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    memset(uuid, 0, sizeof(*uuid));
    snprintf(uuid->bytes, sizeof(uuid->bytes), "fake GPU %u", (unsigned)device & 0xff);
    return CUDA_SUCCESS;
}

CUresult fake_device_pci(char *text, int bytes, CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    return snprintf(text, (size_t)bytes, "0000:%02x:00.0", (unsigned)(device + 1) & 0xff) < bytes
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_device_by_pci(CUdevice *device, const char *text)
{
    unsigned domain, bus;

    if (sscanf(text, "%x:%x", &domain, &bus) != 2 || !is_device((int)bus - 1))
        return CUDA_ERROR_INVALID_VALUE;
    *device = (int)bus - 1;
    return CUDA_SUCCESS;
}

CUresult fake_peer_can(int *can, CUdevice device, CUdevice peer)
{
    if (!is_device(device) || !is_device(peer))
        return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer;
    return CUDA_SUCCESS;
}

CUresult fake_peer_attribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device,
                             CUdevice peer)
{
    if (!is_device(device) || !is_device(peer) || device == peer)
        return CUDA_ERROR_INVALID_DEVICE;
    *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    return CUDA_SUCCESS;
}

/* ---- contexts -------------------------------------------------------------------------------- */

static struct fake_device *device_of(CUcontext context)
{
    struct fake_device *device = (struct fake_device *)context;

    return device >= fake.device && device < fake.device + fake.devices ? device : NULL;
}

CUresult fake_context_retain(CUcontext *context, CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    fake_begin();
    fake.device[device].retained++;
    *context = (CUcontext)&fake.device[device];
    return fake_end(CUDA_SUCCESS);
}

CUresult fake_context_release(CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    fake_begin();
    const bool held = fake.device[device].retained > 0;
    fake.device[device].retained -= held;
    return fake_end(held ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult fake_context_reset(CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    fake_begin();
    while (fake_step())
        continue;
    fake_reset_streams(&fake.device[device]); /* also what never ends */
    fake_reset_memory(&fake.device[device]);
    fake.device[device].error = CUDA_SUCCESS;
    fake.device[device].peers = 0;
    return fake_end(CUDA_SUCCESS);
}

CUresult fake_context_state(CUdevice device, unsigned *flags, int *active)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    fake_begin();
    *flags = fake.device[device].flags;
    *active = fake.device[device].retained != 0;
    return fake_end(CUDA_SUCCESS);
}

CUresult fake_context_flags(CUdevice device, unsigned flags)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    fake_begin();
    fake.device[device].flags = flags;
    return fake_end(CUDA_SUCCESS);
}

CUresult fake_context_use(CUcontext context)
{
    if (context != NULL && device_of(context) == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    fake_set_current(device_of(context));
    return CUDA_SUCCESS;
}

CUresult fake_context_now(CUcontext *context)
{
    *context = (CUcontext)fake_current();
    return CUDA_SUCCESS;
}

CUresult fake_context_synchronize(void)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS)
        result = fake_drain_device(device);
    return fake_end(result);
}

CUresult fake_context_set_limit(CUlimit limit, size_t value)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS && limit >= CU_LIMIT_MAX)
        result = CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (result == CUDA_SUCCESS)
        device->limits[limit] = value;
    return fake_end(result);
}

CUresult fake_context_limit(size_t *value, CUlimit limit)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS && limit >= CU_LIMIT_MAX)
        result = CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (result == CUDA_SUCCESS)
        *value = device->limits[limit] != 0 ? device->limits[limit] : 1024;
    return fake_end(result);
}

CUresult fake_context_priorities(int *least, int *greatest)
{
    struct fake_device *device;
    const CUresult result = fake_enter(&device);

    *least = 0;
    *greatest = -5;
    return fake_end(result);
}

CUresult fake_context_set_cache(CUfunc_cache config)
{
    struct fake_device *device;
    const CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS)
        device->cache = config;
    return fake_end(result);
}

CUresult fake_context_cache(CUfunc_cache *config)
{
    struct fake_device *device;
    const CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS)
        *config = device->cache;
    return fake_end(result);
}

CUresult fake_peer_enable(CUcontext context, unsigned flags)
{
    struct fake_device *device, *peer = device_of(context);
    CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS && (peer == NULL || peer == device || flags != 0))
        result = peer == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (device->peers & 1u << peer->ordinal) != 0)
        result = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    if (result == CUDA_SUCCESS)
        device->peers |= 1u << peer->ordinal;
    return fake_end(result);
}

CUresult fake_peer_disable(CUcontext context)
{
    struct fake_device *device, *peer = device_of(context);
    CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS && (peer == NULL || (device->peers & 1u << peer->ordinal) == 0))
        result = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    if (result == CUDA_SUCCESS)
        device->peers &= ~(1u << peer->ordinal);
    return fake_end(result);
}
