/*
 * device/cuda/direct.c - memory of a GPU that a network's device writes itself, through a dma-buf.
 * None of it has run on hardware.
 */
#include "base/say.h"
#include "device/cuda/cuda_device.h"

#include <unistd.h>

/* The driver hands out whole pages of the host's size. */
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

/* Newer GPUs keep what they are told behind what was written before; older ones have to be asked.
 */
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
