/*
 * device/cuda/memory.c - device memory that other processes of the host can map, and pinned host
 * memory.
 *
 * Two ways to pass it on. By file descriptor: memory of the driver's virtual memory management
 * (cuMemCreate); the other process takes the descriptor with pidfd_getfd, which needs no socket and
 * leaves nothing behind. By IPC handle (cuIpcGetMemHandle), which travels as bytes: where a kernel
 * or container forbids the first, or the device lacks it. The owner chooses (WEFT_CUDA_SHARE).
 */
#include "device/cuda/cuda_device.h"

#include "base/say.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static CUdeviceptr address_of(const void *memory)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

/* Puts an allocation at an address, for this device to load and store. 0: it failed, *result. */
static CUdeviceptr place(struct weft_device *d, CUmemGenericAllocationHandle memory, size_t bytes,
                         CUresult *result)
{
    const CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->device},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr address = 0;

    *result = d->driver->reserve(&address, bytes, d->granularity, 0, 0);
    if (*result != CUDA_SUCCESS)
        return 0;
    *result = d->driver->map(address, bytes, 0, memory, 0);
    if (*result == CUDA_SUCCESS) {
        *result = d->driver->set_access(address, bytes, &access, 1);
        if (*result == CUDA_SUCCESS)
            return address;
        d->driver->unmap(address, bytes);
    }
    d->driver->unreserve(address, bytes);
    return 0;
}

static void displace(struct weft_device *d, CUdeviceptr address, size_t bytes)
{
    d->driver->unmap(address, bytes);
    d->driver->unreserve(address, bytes);
}

static CUresult alloc_by_fd(struct weft_device *d, size_t bytes, struct weft_share *handle,
                            CUdeviceptr *address)
{
    const CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->device},
        .allocFlags = {.gpuDirectRDMACapable = d->config->verbs_dmabuf != 0}};
    CUmemGenericAllocationHandle memory;
    CUresult result = d->driver->mem_create(&memory, bytes, &properties, 0);
    int fd = -1;

    if (result != CUDA_SUCCESS)
        return result;
    *address = place(d, memory, bytes, &result);
    if (result == CUDA_SUCCESS) {
        result = d->driver->mem_export(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        if (result != CUDA_SUCCESS)
            displace(d, *address, bytes);
    }
    d->driver->mem_release(memory); /* it lives as long as it is mapped */
    handle->fd = fd;
    return result;
}

static CUresult alloc_by_ipc(struct weft_device *d, size_t bytes, struct weft_share *handle,
                             CUdeviceptr *address)
{
    CUipcMemHandle ipc;
    CUresult result = d->driver->alloc(address, bytes);

    if (result != CUDA_SUCCESS)
        return result;
    result = d->driver->ipc_get(&ipc, *address);
    if (result == CUDA_SUCCESS)
        memcpy(handle->ipc, &ipc, sizeof(handle->ipc));
    else
        d->driver->free(*address);
    return result;
}

static_assert(sizeof(CUipcMemHandle) == sizeof(((struct weft_share *)0)->ipc),
              "an IPC handle fits into the handle");

void *weft_cuda_alloc(struct weft_device *d, size_t bytes, struct weft_share *handle)
{
    const size_t unit = d->granularity, size = bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
    CUdeviceptr address = 0;

    d->driver->context_use(d->context);
    *handle = (struct weft_share){.bytes = size, .pid = (int32_t)getpid(), .fd = -1};
    CUresult result = size < bytes ? CUDA_ERROR_OUT_OF_MEMORY
                      : d->by_fd   ? alloc_by_fd(d, size, handle, &address)
                                   : alloc_by_ipc(d, size, handle, &address);
    if (result != CUDA_SUCCESS) {
        char what[64];
        snprintf(what, sizeof(what), "no %zu bytes of device memory", size);
        weft_cuda_error(result, what);
        return NULL;
    }
    handle->address = address;
    void *memory = (void *)(uintptr_t)address;
    if (weft_cuda_device.fill(d, WEFT_LANE_CALLER, memory, 0, size / 4) == WEFT_OK &&
        weft_cuda_device.wait(d, WEFT_LANE_CALLER) == WEFT_OK)
        return memory;
    weft_cuda_free(d, memory, handle);
    return NULL;
}

void weft_cuda_free(struct weft_device *d, void *memory, const struct weft_share *handle)
{
    d->driver->context_use(d->context);
    if (handle->fd < 0) {
        d->driver->free(address_of(memory));
        return;
    }
    displace(d, address_of(memory), handle->bytes);
    close(handle->fd);
}

/* A copy of another process's file descriptor. */
static int take_fd(const struct weft_share *handle, const char **reason)
{
    const int process = (int)syscall(SYS_pidfd_open, handle->pid, 0);
    const int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, handle->fd, 0);

    if (fd < 0)
        *reason = errno == EPERM ? "this kernel forbids taking its file descriptors (pidfd_getfd): "
                                   "try WEFT_CUDA_SHARE=ipc"
                                 : strerror(errno);
    if (process >= 0)
        close(process);
    return fd;
}

static CUdeviceptr map_by_fd(struct weft_device *d, const struct weft_share *handle,
                             const char **reason)
{
    CUmemGenericAllocationHandle memory;
    CUdeviceptr address = 0;
    const int fd = take_fd(handle, reason);

    if (fd < 0)
        return 0;
    CUresult result = d->driver->mem_import(&memory, (void *)(intptr_t)fd,
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    close(fd);
    if (result == CUDA_SUCCESS) {
        address = place(d, memory, handle->bytes, &result);
        d->driver->mem_release(memory);
    }
    if (result != CUDA_SUCCESS)
        d->driver->get_error(result, reason);
    return address;
}

static CUdeviceptr map_by_ipc(struct weft_device *d, const struct weft_share *handle,
                              const char **reason)
{
    CUipcMemHandle ipc;
    CUdeviceptr address = 0;

    memcpy(&ipc, handle->ipc, sizeof(ipc));
    const CUresult result = d->driver->ipc_open(&address, ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (result == CUDA_SUCCESS)
        return address;
    d->driver->get_error(result, reason);
    return 0;
}

void *weft_cuda_map(struct weft_device *d, const struct weft_share *handle, const char **reason)
{
    *reason = "it is not memory of a GPU";
    if (handle->bytes == 0 || handle->bytes % d->granularity != 0)
        return NULL;
    d->driver->context_use(d->context);
    const CUdeviceptr address =
        handle->fd >= 0 ? map_by_fd(d, handle, reason) : map_by_ipc(d, handle, reason);
    return (void *)(uintptr_t)address;
}

void weft_cuda_unmap(struct weft_device *d, void *memory, const struct weft_share *handle)
{
    d->driver->context_use(d->context);
    if (handle->fd >= 0)
        displace(d, address_of(memory), handle->bytes);
    else
        d->driver->ipc_close(address_of(memory));
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
