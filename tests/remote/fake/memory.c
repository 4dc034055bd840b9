/* fake/memory.c - device memory, also by virtual addresses. Lock held. */
#include "fake/inside.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* prototypes are CUDA's */

enum { ALIGN = 512, GRANULE = 2 << 20 };

/* ---- device memory --------------------------------------------------------------------------- */

static CUresult alloc_bytes(struct fake_device *device, size_t bytes, CUdeviceptr *address)
{
    struct fake_range range = {
        .bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN, .kind = FAKE_DEVICE, .device = device};
    CUresult result = fake_fault("alloc", NULL);

    if (result == CUDA_SUCCESS && bytes == 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (bytes > fake.memory || range.bytes > fake.memory - device->used))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = fake_range_map(&range);
    if (result == CUDA_SUCCESS) {
        device->used += range.bytes;
        *address = (CUdeviceptr)range.base;
    }
    return result;
}

CUresult fake_alloc_global(struct fake_device *device, size_t bytes, void **memory)
{
    CUdeviceptr address = 0;
    const CUresult result = alloc_bytes(device, bytes, &address);

    if (result == CUDA_SUCCESS) {
        memset((void *)address, 0, bytes);
        *memory = (void *)address;
    }
    return result;
}

FAKE_CALL(alloc, (CUdeviceptr * address, size_t bytes), alloc_bytes(device, bytes, address))
FAKE_CALL(alloc_async, (CUdeviceptr * address, size_t bytes, CUstream stream),
          fake_stream_of(device, stream) != NULL ? alloc_bytes(device, bytes, address)
                                                 : CUDA_ERROR_INVALID_HANDLE)

static CUresult alloc_managed(struct fake_device *device, CUdeviceptr *address, size_t bytes,
                              unsigned flags)
{
    const CUresult result = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST
                                ? alloc_bytes(device, bytes, address)
                                : CUDA_ERROR_INVALID_VALUE;

    if (result == CUDA_SUCCESS)
        fake_range_at((void *)*address)->managed = true;
    return result;
}

FAKE_CALL(alloc_managed, (CUdeviceptr * address, size_t bytes, unsigned flags),
          alloc_managed(device, address, bytes, flags))

void fake_release(void *memory)
{
    struct fake_range *range = fake_range_exactly(memory, FAKE_DEVICE);

    if (range != NULL)
        fake_range_drop(range);
}

static CUresult free_now(CUdeviceptr address)
{
    struct fake_range *range = fake_range_exactly((void *)address, FAKE_DEVICE);

    if (range == NULL)
        return address == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    const CUresult result = fake_drain_device(range->device);
    if (result == CUDA_SUCCESS)
        fake_release((void *)address);
    return result;
}

FAKE_CALL(free, (CUdeviceptr address), free_now(address))
FAKE_STREAM_CALL(free_async, (CUdeviceptr address, CUstream handle),
                 fake_range_exactly((void *)address, FAKE_DEVICE) == NULL
                     ? CUDA_ERROR_INVALID_VALUE
                     : fake_push(stream,
                                 &(struct fake_op){.kind = FAKE_FREE, .memory = (void *)address}))

FAKE_CALL(mem_info, (size_t * available, size_t *total),
          (*available = fake.memory - device->used, *total = fake.memory, CUDA_SUCCESS))

void fake_reset_memory(struct fake_device *device)
{
    for (struct fake_range *r = fake_ranges, *next; r != NULL; r = next) {
        next = r->next;
        if (r->device == device && r->ours)
            fake_range_drop(r);
    }
}

/* ---- virtual memory -------------------------------------------------------------------------- */

CUresult fake_granularity(size_t *bytes, const CUmemAllocationProp *properties,
                          CUmemAllocationGranularity_flags option)
{
    *bytes = GRANULE;
    return CUDA_SUCCESS;
}

/* A handle is a descriptor of the memory's file, and its device: FAR: another process's. */
enum { FAR = 0xff };
static CUmemGenericAllocationHandle handle_of(int file, int ordinal)
{
    return (uint64_t)fcntl(file, F_DUPFD_CLOEXEC, 0) << 8 | (unsigned)ordinal;
}

static size_t bytes_of(int file)
{
    struct stat info;

    return fstat(file, &info) == 0 ? (size_t)info.st_size : 0;
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t bytes, int ordinal)
{
    if (bytes == 0 || bytes % GRANULE != 0 || ordinal < 0 || ordinal >= fake.known.count)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = fake_fault("alloc", NULL);
    if (result != CUDA_SUCCESS || bytes > fake.memory - fake.device[ordinal].used)
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_OUT_OF_MEMORY;
    const int file = memfd_create("fake", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *handle = (uint64_t)file << 8 | (unsigned)ordinal;
    return CUDA_SUCCESS;
}

CUresult fake_mem_create(CUmemGenericAllocationHandle *handle, size_t bytes,
                         const CUmemAllocationProp *properties, unsigned long long flags)
{
    fake_begin();
    return fake_end(create(handle, bytes, properties->location.id));
}

/* The mapping keeps it. */
CUresult fake_mem_release(CUmemGenericAllocationHandle handle)
{
    return close((int)(handle >> 8)) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_mem_retain(CUmemGenericAllocationHandle *handle, void *address)
{
    fake_begin();
    const struct fake_range *range = fake_range_at(address);
    const bool good = range != NULL && range->file != 0;
    if (good)
        *handle = handle_of(range->file, range->device != NULL ? range->device->known.number : FAR);
    return fake_end(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult fake_mem_export(void *shareable, CUmemGenericAllocationHandle handle,
                         CUmemAllocationHandleType type, unsigned long long flags)
{
    const int file = fcntl((int)(handle >> 8), F_DUPFD_CLOEXEC, 0);

    memcpy(shareable, &file, sizeof(file));
    return file >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_mem_import(CUmemGenericAllocationHandle *handle, void *shareable,
                         CUmemAllocationHandleType type)
{
    const int file = (int)(intptr_t)shareable;

    fake_begin();
    CUresult result = fake_fault("import", NULL);
    if (result == CUDA_SUCCESS && bytes_of(file) == 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *handle = handle_of(file, FAR);
    return fake_end(result);
}

CUresult fake_reserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr hint,
                      unsigned long long flags)
{
    void *memory =
        mmap((void *)hint, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = (CUdeviceptr)memory;
    return CUDA_SUCCESS;
}

CUresult fake_unreserve(CUdeviceptr address, size_t bytes)
{
    return munmap((void *)address, bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool is_free(CUdeviceptr address, size_t bytes)
{
    for (const struct fake_range *r = fake_ranges; r != NULL; r = r->next)
        if ((uintptr_t)r->base < address + bytes && address < (uintptr_t)r->base + r->bytes)
            return false;
    return true;
}

CUresult fake_map(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    const int file = (int)(handle >> 8);
    struct fake_device *device = (handle & FAR) == FAR ? NULL : &fake.device[handle & FAR];
    CUresult result = CUDA_ERROR_INVALID_VALUE;

    fake_begin();
    if (flags == 0 && offset == 0 && bytes == bytes_of(file) && address % GRANULE == 0 &&
        is_free(address, bytes) &&
        mmap((void *)address, bytes, PROT_NONE, MAP_FIXED | MAP_SHARED, file, 0) != MAP_FAILED)
        result = fake_range_add(&(struct fake_range){.base = (unsigned char *)address,
                                                     .bytes = bytes,
                                                     .kind = FAKE_DEVICE,
                                                     .file = fcntl(file, F_DUPFD_CLOEXEC, 0),
                                                     .device = device});
    if (result == CUDA_SUCCESS && device != NULL)
        device->used += bytes;
    return fake_end(result);
}

CUresult fake_unmap(CUdeviceptr address, size_t bytes)
{
    fake_begin();
    struct fake_range *range = fake_range_exactly((void *)address, FAKE_DEVICE);
    bool good = range != NULL && range->bytes == bytes && !range->ours;
    if (good) {
        for (int d = 0; d < fake.known.count; d++)
            if ((range->access >> d & 1) != 0 || range->device == &fake.device[d])
                fake_drain_device(&fake.device[d]);
        good = mmap((void *)address, bytes, PROT_NONE,
                    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
        close(range->file);
        fake_range_drop(range);
    }
    return fake_end(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult fake_set_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *descriptions,
                         size_t count)
{
    const unsigned char *at = (const unsigned char *)address;
    const unsigned char *const end = at + bytes;
    struct fake_range *range;

    fake_begin();
    while (at < end && (range = fake_range_exactly(at, FAKE_DEVICE)) != NULL && !range->ours) {
        for (size_t i = 0; i < count; i++) {
            const uint32_t bit = 1u << descriptions[i].location.id;
            range->access = descriptions[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE
                                ? range->access & ~bit
                                : range->access | bit;
        }
        at += range->bytes;
    }
    const bool good = at == end && mprotect((void *)address, bytes, PROT_READ | PROT_WRITE) == 0;
    return fake_end(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
