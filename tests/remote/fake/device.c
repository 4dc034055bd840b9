/* fake/device.c - devices and contexts of the fake driver. Lock held. */
#include "fake/inside.h"

#include <stdio.h>
#include <string.h>

#define KNOWN(field)     fake_##field
#define KNOWN_LIST       fake.known
#define KNOWN_ATTRIBUTES fake.attributes
#define KNOWN_REACHES    weft_known_reaches
#include "remote/table/known_table.h"

/* clang-format off */
static const int32_t attributes[WEFT_ATTRIBUTES] = {
#define A(name, value) [CU_DEVICE_ATTRIBUTE_##name] = (value),
    A(MAX_THREADS_PER_BLOCK, 1024) A(MAX_BLOCK_DIM_X, 1024) A(MAX_BLOCK_DIM_Y, 1024)
    A(MAX_BLOCK_DIM_Z, 64) A(MAX_GRID_DIM_X, 2147483647) A(MAX_GRID_DIM_Y, 65535)
    A(MAX_GRID_DIM_Z, 65535) A(MAX_SHARED_MEMORY_PER_BLOCK, 49152)
    A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448) A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472)
    A(TOTAL_CONSTANT_MEMORY, 65536) A(WARP_SIZE, 32) A(MAX_PITCH, 2147483647)
    A(MAX_REGISTERS_PER_BLOCK, 65536) A(MAX_REGISTERS_PER_MULTIPROCESSOR, 65536)
    A(CLOCK_RATE, 1000000) A(MEMORY_CLOCK_RATE, 1000000) A(GLOBAL_MEMORY_BUS_WIDTH, 64)
    A(TEXTURE_ALIGNMENT, 512) A(MULTIPROCESSOR_COUNT, 4) A(MAX_THREADS_PER_MULTIPROCESSOR, 2048)
    A(MAX_BLOCKS_PER_MULTIPROCESSOR, 32) A(CAN_MAP_HOST_MEMORY, 1) A(CONCURRENT_KERNELS, 1)
    A(ASYNC_ENGINE_COUNT, 2) A(UNIFIED_ADDRESSING, 1) A(MANAGED_MEMORY, 1)
    A(CONCURRENT_MANAGED_ACCESS, 1) A(MEMORY_POOLS_SUPPORTED, 1) A(HOST_REGISTER_SUPPORTED, 1)
    A(COOPERATIVE_LAUNCH, 1) A(COMPUTE_CAPABILITY_MAJOR, 9) A(COMPUTE_CAPABILITY_MINOR, 0)
    A(STREAM_PRIORITIES_SUPPORTED, 1) A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1)
    A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1)
    A(L2_CACHE_SIZE, 1 << 20) A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768)
    A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32767) A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048)
#undef A
};
/* clang-format on */

void fake_describe(struct fake_device *device, int ordinal)
{
    struct weft_facts *facts = &device->known.facts;

    device->known.number = ordinal;
    *facts = (struct weft_facts){.name = "fake GPU",
                                 .memory = fake.memory,
                                 .driver = CUDA_VERSION,
                                 .devices = fake.known.count,
                                 .peers = ~(1ull << ordinal)};
    snprintf((char *)facts->uuid, sizeof(facts->uuid), "fake GPU %d", ordinal);
    snprintf(facts->pci, sizeof(facts->pci), "0000:%02x:00.0", (unsigned)ordinal + 1);
    memcpy(facts->attributes, attributes, sizeof(attributes));
    facts->attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] = ordinal + 1;
}

CUresult fake_context_reset(CUdevice device)
{
    if (weft_known_device(&fake.known, device) == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    fake_begin();
    while (fake_step())
        continue;
    fake_reset_streams(&fake.device[device]); /* also what never ends */
    fake_reset_arrays(&fake.device[device]);
    fake_reset_memory(&fake.device[device]);
    fake_reset_modules(&fake.device[device]);
    fake.device[device].error = CUDA_SUCCESS;
    fake.device[device].peers = 0;
    return fake_end(CUDA_SUCCESS);
}

FAKE_CALL(context_priorities, (int *least, int *greatest),
          (*least = 0, *greatest = -5, CUDA_SUCCESS))
FAKE_CALL(context_synchronize, (void), fake_drain_device(device))
FAKE_CALL(context_set_limit, (CUlimit limit, size_t value),
          limit >= CU_LIMIT_MAX ? CUDA_ERROR_UNSUPPORTED_LIMIT
                                : (device->limits[limit] = value, CUDA_SUCCESS))
FAKE_CALL(context_limit, (size_t * value, CUlimit limit),
          limit >= CU_LIMIT_MAX
              ? CUDA_ERROR_UNSUPPORTED_LIMIT
              : (*value = device->limits[limit] != 0 ? device->limits[limit] : 1024, CUDA_SUCCESS))
FAKE_CALL(context_reset_persisting, (void), CUDA_SUCCESS)
FAKE_CALL(context_set_cache, (CUfunc_cache config), (device->cache = config, CUDA_SUCCESS))
FAKE_CALL(context_cache, (CUfunc_cache * config), (*config = device->cache, CUDA_SUCCESS))

static CUresult set_peer(struct fake_device *device, CUcontext context, bool on)
{
    const struct weft_known *peer = weft_known_in(&fake.known, context);

    if (peer == NULL || peer == &device->known)
        return peer == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    const uint32_t bit = 1u << peer->number;
    if (((device->peers & bit) != 0) == on)
        return on ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    device->peers ^= bit;
    return CUDA_SUCCESS;
}

FAKE_CALL(peer_enable, (CUcontext context, unsigned flags),
          flags != 0 ? CUDA_ERROR_INVALID_VALUE : set_peer(device, context, true))
FAKE_CALL(peer_disable, (CUcontext context), set_peer(device, context, false))
