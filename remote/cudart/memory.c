/* remote/cudart/memory.c - device and pinned memory, fills, what an address is. Any thread. */
#include "remote/cudart/inside.h"

#include <string.h>

/* Defines an allocation by a call of the driver's, which writes `address`. */
#define ALLOCATE(name, parameters, call)                                                           \
    FOUND(name, parameters, memory == NULL, CUdeviceptr address = 0,                               \
          bytes != 0 ? (cudaError_t)driver->call : cudaSuccess,                                    \
          (*memory = (void *)address, cudaSuccess))
ALLOCATE(cudaMalloc, (void **memory, size_t bytes), alloc(&address, bytes))
ALLOCATE(cudaMallocAsync, (void **memory, size_t bytes, cudaStream_t stream),
         alloc_async(&address, bytes, ON(stream)))
FOUND(cudaFree, (void *memory), false, (void)0, cudaSuccess,
      memory != NULL ? driver->free((CUdeviceptr)memory) : CUDA_SUCCESS)

RESULT(cudaFreeAsync, (void *memory, cudaStream_t stream), memory,
       free_async((CUdeviceptr)memory, ON(stream)))

cudaError_t cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t rows)
{
    enum { ALIGN = 512 };
    const size_t wide = (width + ALIGN - 1) / ALIGN * ALIGN;

    if (memory == NULL || pitch == NULL || wide < width || (rows != 0 && wide > SIZE_MAX / rows))
        return cudart_done(cudaErrorInvalidValue);
    const cudaError_t error = cudaMalloc(memory, wide * rows);
    if (error == cudaSuccess)
        *pitch = wide * (rows != 0);
    return error;
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
    size_t pitch;
    void *memory;

    if (pitched == NULL || (extent.depth != 0 && extent.height > SIZE_MAX / extent.depth))
        return cudart_done(cudaErrorInvalidValue);
    const cudaError_t error =
        cudaMallocPitch(&memory, &pitch, extent.width, extent.height * extent.depth);
    if (error == cudaSuccess)
        *pitched = (struct cudaPitchedPtr){memory, pitch, extent.width, extent.height};
    return error;
}

RESULT(cudaMallocManaged, (void **memory, size_t bytes, unsigned flags), memory,
       alloc_managed((CUdeviceptr *)(void *)memory, bytes, flags))

RESULT(cudaMemGetInfo, (size_t * available, size_t *total), available == NULL ? NULL : total,
       mem_info(available, total))

/* ---- pinned memory --------------------------------------------------------------------------- */

FOUND(cudaHostAlloc, (void **memory, size_t bytes, unsigned flags), memory == NULL, (void)0,
      cudaSuccess,
      bytes != 0 ? driver->host_alloc(memory, bytes, flags) : (*memory = NULL, CUDA_SUCCESS))

ALIAS(cudaMallocHost, (void **memory, size_t bytes),
      cudaHostAlloc(memory, bytes, cudaHostAllocDefault))

FOUND(cudaFreeHost, (void *memory), false, (void)0, cudaSuccess,
      memory != NULL ? driver->host_free(memory) : CUDA_SUCCESS)

FORWARD(cudaHostRegister, (void *memory, size_t bytes, unsigned flags),
        host_register(memory, bytes, flags))
FORWARD(cudaHostUnregister, (void *memory), host_unregister(memory))
RESULT(cudaHostGetFlags, (unsigned *flags, void *memory), flags, host_flags(flags, memory))

/* ---- what an address is ---------------------------------------------------------------------- */

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory)
{
    enum { ASKED = 5 };
    CUpointer_attribute asked[ASKED] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
        CU_POINTER_ATTRIBUTE_IS_MANAGED};
    unsigned type = 0, managed = 0;
    int device = 0;
    void *on_device = NULL, *on_host = NULL;
    void *answers[ASKED] = {&type, &device, &on_device, &on_host, &managed};

    if (attributes == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    const CUresult result = driver->pointer_attributes(ASKED, asked, answers, (CUdeviceptr)memory);
    if (result != CUDA_SUCCESS)
        return cudart_driver_done(result);
    memset(attributes, 0, sizeof(*attributes));
    attributes->device = device;
    attributes->devicePointer = on_device;
    attributes->hostPointer = on_host;
    attributes->type = managed != 0                   ? cudaMemoryTypeManaged
                       : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                       : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                                                      : cudaMemoryTypeUnregistered;
    if (attributes->type == cudaMemoryTypeUnregistered) {
        attributes->device = cudaInvalidDeviceId;
        attributes->hostPointer = (void *)(uintptr_t)memory;
    }
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    struct cudaPointerAttributes attributes;

    if (device == NULL || flags != 0)
        return cudart_done(cudaErrorInvalidValue);
    const cudaError_t error = cudaPointerGetAttributes(&attributes, host);
    if (error != cudaSuccess || attributes.type != cudaMemoryTypeHost)
        return error != cudaSuccess ? error : cudart_done(cudaErrorInvalidValue);
    if (attributes.devicePointer == NULL)
        return cudart_driver_done(
            WEFT_CUDA_REFUSE("memory without cudaHostAllocMapped", "mapped-memory"));
    *device = attributes.devicePointer;
    return cudaSuccess;
}

/* Checks the memory of a hint. Managed memory moves when it is used: hints change nothing. */
static cudaError_t hint(const void *memory, size_t bytes)
{
    const char *ends[] = {memory, (const char *)memory + bytes - (bytes != 0)};
    struct cudaPointerAttributes attributes;

    for (int i = 0; i < 2; i++) {
        const cudaError_t error = cudaPointerGetAttributes(&attributes, ends[i]);
        if (error != cudaSuccess || attributes.type != cudaMemoryTypeManaged)
            return error != cudaSuccess ? error : cudart_done(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

#define HINT(name, parameters, wrong)                                                              \
    ALIAS(name, parameters, (wrong) ? cudart_done(cudaErrorInvalidValue) : hint(memory, bytes))
HINT(cudaMemPrefetchAsync,
     (const void *memory, size_t bytes, struct cudaMemLocation place __attribute__((unused)),
      unsigned flags, cudaStream_t stream __attribute__((unused))),
     bytes == 0 || flags != 0)
HINT(cudaMemAdvise,
     (const void *memory, size_t bytes, enum cudaMemoryAdvise advice,
      struct cudaMemLocation place __attribute__((unused))),
     bytes == 0 || advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy)
HINT(cudaStreamAttachMemAsync,
     (cudaStream_t stream __attribute__((unused)), void *memory, size_t bytes, unsigned flags),
     flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)

/* ---- fills ----------------------------------------------------------------------------------- */

FORWARD(cudaMemsetAsync, (void *memory, int value, size_t bytes, cudaStream_t stream),
        fill8_rows((CUdeviceptr)memory, bytes, (unsigned char)value, bytes, 1, ON(stream)))

FORWARD(cudaMemset2DAsync,
        (void *memory, size_t pitch, int value, size_t width, size_t rows, cudaStream_t stream),
        fill8_rows((CUdeviceptr)memory, pitch, (unsigned char)value, width, rows, ON(stream)))

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr memory, int value, struct cudaExtent extent,
                              cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;

    for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++)
        error = cudaMemset2DAsync((char *)memory.ptr + z * memory.pitch * memory.ysize,
                                  memory.pitch, value, extent.width, extent.height, stream);
    return error;
}
