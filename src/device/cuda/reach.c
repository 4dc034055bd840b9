/*
 * device/cuda/reach.c - who reaches which memory: pinned host memory, whose an address is, what
 * peers and network devices may do with this GPU's memory. Any task calls it.
 */
#include "device/cuda/cuda_device.h"

#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tells that GPUs add atomically over NVLink, but not over PCIe. Of a GPU that this process does
 * not see nothing is known. */
bool weft_cuda_has_atomics(const struct weft_device *d,
                           const unsigned char other[WEFT_DEVICE_ID_BYTES])
{
    int devices = 0, has = 1;
    CUdevice peer;
    CUuuid uuid;

    d->driver->device_count(&devices);
    for (int i = 0; i < devices; i++)
        if (d->driver->device_get(&peer, i) == CUDA_SUCCESS &&
            d->driver->device_uuid(&uuid, peer) == CUDA_SUCCESS &&
            memcmp(uuid.bytes, other, WEFT_DEVICE_ID_BYTES) == 0 &&
            d->driver->peer_attribute(&has, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                      d->device, peer) != CUDA_SUCCESS)
            has = 1;
    return has != 0;
}

void *weft_cuda_host_alloc(struct weft_device *d, size_t bytes)
{
    void *memory = NULL;

    d->driver->context_use(d->context);
    const CUresult result =
        d->driver->host_alloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (weft_cuda_error(result, "pinned host memory") != WEFT_OK)
        return NULL;
    memset(memory, 0, bytes);
    return memory;
}

void weft_cuda_host_free(struct weft_device *d, void *memory)
{
    d->driver->context_use(d->context);
    d->driver->host_free(memory);
}

/* Refuses memory of the host's that the driver does not know, also where a kernel could read it
 * (the kernel's page tables): streams, by which the host delivers what comes for it, cannot. */
const char *weft_cuda_no_access(struct weft_device *d, const void *memory, size_t bytes)
{
    const CUdeviceptr first = (CUdeviceptr)(uintptr_t)memory;
    CUmemorytype type;

    d->driver->context_use(d->context);
    for (int i = 0; i < 2 && bytes != 0; i++)
        if (d->driver->pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                         i == 0 ? first : first + bytes - 1) != CUDA_SUCCESS)
            return "the GPU has no access to it: neither device memory (weft_malloc, cudaMalloc) "
                   "nor pinned host memory (cudaMallocHost)";
    return NULL;
}

/* Returns where malloc's first arena begins, which is never a GPU's; UINTPTR_MAX: not known. */
static uintptr_t heap_begin(void)
{
    enum { BEFORE = 45 /* spaces, behind the name: proc(5), start_brk */ };
    static uintptr_t known;
    uintptr_t begin = __atomic_load_n(&known, __ATOMIC_RELAXED);
    char line[1024];

    if (begin != 0)
        return begin;
    FILE *file = fopen("/proc/self/stat", "re");
    const size_t bytes = file != NULL ? fread(line, 1, sizeof(line) - 1, file) : 0;
    line[bytes] = '\0';
    const char *at = strrchr(line, ')');
    for (int i = 0; at != NULL && i < BEFORE; i++)
        at = strchr(at + 1, ' ');
    if (at != NULL)
        begin = (uintptr_t)strtoull(at, NULL, 10);
    if (file != NULL)
        fclose(file);
    begin = begin == 0 ? UINTPTR_MAX : begin;
    __atomic_store_n(&known, begin, __ATOMIC_RELAXED);
    return begin;
}

enum weft_memory weft_cuda_whose(struct weft_device *d, const void *memory)
{
    const uintptr_t at = (uintptr_t)memory;
    CUmemorytype type = 0;
    unsigned managed = 0;
    int ordinal = -1;
    CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *found[] = {&type, &managed, &ordinal};

    if (at >= heap_begin() && at < (uintptr_t)sbrk(0))
        return WEFT_MEMORY_HOST; /* most small buffers, for which the driver takes long */
    d->driver->context_use(d->context);
    if (d->driver->pointer_attributes(3, what, found, (CUdeviceptr)at) != CUDA_SUCCESS ||
        type != CU_MEMORYTYPE_DEVICE || managed != 0)
        return WEFT_MEMORY_HOST;
    return (CUdevice)ordinal == d->device ? WEFT_MEMORY_DEVICE : WEFT_MEMORY_OTHER_DEVICE;
}

const char *weft_cuda_pin(struct weft_device *d, void *memory, size_t bytes)
{
    d->driver->context_use(d->context);
    return weft_cuda_why(d->driver, d->driver->host_register(memory, bytes,
                                                             CU_MEMHOSTREGISTER_PORTABLE |
                                                                 CU_MEMHOSTREGISTER_DEVICEMAP));
}

/* Unpins memory. The driver refuses that for what could not be pinned, which changes nothing. */
void weft_cuda_unpin(struct weft_device *d, void *memory)
{
    d->driver->context_use(d->context);
    d->driver->host_unregister(memory);
}

struct weft_keep *weft_cuda_keep(struct weft_device *d)
{
    return &d->keep;
}

/* ---- what a network's device writes itself, through a dma-buf: none of it has run on hardware  */

/* Exports memory as a dma-buf. The driver hands out whole pages of the host's size. */
int weft_cuda_dmabuf(struct weft_device *d, void *memory, size_t bytes, uint64_t *offset)
{
    const CUdeviceptr page = (CUdeviceptr)sysconf(_SC_PAGESIZE);
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory, start = at & ~(page - 1);
    const CUdeviceptr end = (at + bytes + page - 1) & ~(page - 1);
    int fd = -1;

    d->driver->context_use(d->context);
    if (d->driver->range_handle == NULL ||
        !weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED))
        return -1;
    if (d->driver->range_handle(&fd, start, end - start, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) !=
        CUDA_SUCCESS)
        return -1;
    *offset = at - start;
    return fd;
}

/* Orders writes of others before what ranks hear next. Newer GPUs keep that order themselves; older
 * ones have to be asked. */
weft_status weft_cuda_reached(struct weft_device *d)
{
    if (weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) >=
        CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER)
        return WEFT_OK;
    if (d->driver->flush_writes == NULL)
        return weft_err(WEFT_ERR_DEVICE,
                        "CUDA: the driver cannot flush writes of a network device");
    d->driver->context_use(d->context);
    return weft_cuda_error(
        d->driver->flush_writes(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
        "flushing writes of a network device");
}
