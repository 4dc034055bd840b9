/* remote/cudart/copy.c - copies: plain, by symbols, to peers. Any thread. */
#include "remote/cudart/inside.h"

#include <string.h>

cudaError_t cudart_waited(cudaError_t error)
{
    return error == cudaSuccess ? cudaStreamSynchronize(NULL) : error;
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* programs call them all the same */

/* Defines functions that do the same in the default stream, as CMake lists them by their names. The
 * host waits for a copy, but not for a fill of device memory. */
#define MEMCPY(name, parameters, call)                                                             \
    cudaError_t name parameters                                                                    \
    {                                                                                              \
        return cudart_waited(call);                                                                \
    }
#define MEMSET ALIAS
#include "lists/plain.def"

/* Checks that the driver knows memory: of a device, or pinned; or NULL, which it is told of. */
static cudaError_t check_known(const struct weft_cuda_table *driver, const void *memory)
{
    CUpointer_attribute asked = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    unsigned type = 0;
    void *answer = &type;

    if (memory == NULL)
        return cudaSuccess;
    const CUresult result = driver->pointer_attributes(1, &asked, &answer, (CUdeviceptr)memory);
    return result == CUDA_SUCCESS && type == 0 ? cudaErrorInvalidValue : (cudaError_t)result;
}

cudaError_t cudart_check_copy(const struct weft_cuda_table *driver, const void *to,
                              const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = cudaSuccess;

    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (bytes != 0 && (kind & cudaMemcpyHostToDevice) != 0)
        error = check_known(driver, to);
    if (error == cudaSuccess && bytes != 0 && (kind & cudaMemcpyDeviceToHost) != 0)
        error = check_known(driver, from);
    return error;
}

/* ---- plain ----------------------------------------------------------------------------------- */

/* Defines a plain copy that makes this call. */
#define COPY(name, parameters, call)                                                               \
    FOUND(name, parameters, false, (void)0, cudart_check_copy(driver, to, from, bytes, kind),      \
          bytes == 0 ? cudaSuccess : (call))
COPY(cudaMemcpy, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind),
     cudart_thread()->own_stream
         ? cudart_waited(cudaMemcpyAsync(to, from, bytes, kind, NULL))
         : cudart_driver_done(driver->copy((CUdeviceptr)to, (CUdeviceptr)from, bytes)))
COPY(cudaMemcpyAsync,
     (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
     cudart_driver_done(driver->copy_async((CUdeviceptr)to, (CUdeviceptr)from, bytes, ON(stream))))

/* ---- between devices ------------------------------------------------------------------------- */

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    NEED(cudart_find);
    return cudart_is_device(to_device) && cudart_is_device(from_device)
               ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream)
               : cudart_done(cudaErrorInvalidDevice);
}

/* Copies after and before the default streams of both devices. */
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    struct cudart_thread *thread = cudart_thread();
    const int before = thread->device, devices[] = {from_device, to_device};
    cudaError_t error = cudaMemcpyPeerAsync(to, to_device, from, from_device, 0, NULL);

    for (int i = 0; i < 2 && error == cudaSuccess; i++) {
        if (devices[i] == before) /* the copy is in its stream */
            continue;
        thread->device = devices[i]; /* there are such devices */
        error = cudaStreamSynchronize(NULL);
        thread->device = before;
    }
    if (error == cudaSuccess)
        error = cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, NULL);
    return cudart_waited(error);
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* Finds the place `offset` bytes into a variable that has room for so many there. */
static cudaError_t place(const struct weft_cuda_table *driver, const void *symbol, size_t bytes,
                         size_t offset, void **address)
{
    CUdeviceptr base = 0;
    size_t size = 0;
    const cudaError_t error = cudart_symbol(driver, symbol, &base, &size);

    if (error != cudaSuccess)
        return error;
    if (offset > size || bytes > size - offset)
        return cudaErrorInvalidValue;
    *address = (char *)base + offset;
    return cudaSuccess;
}

/* Defines a copy to or from a place in a variable, which it calls `there`, and whose kind has that
 * bit. */
#define AT_SYMBOL(name, way, parameters, copy)                                                     \
    FOUND(name, parameters, false, void *there = NULL,                                             \
          kind != cudaMemcpyDefault && (kind & (way)) == 0                                         \
              ? cudaErrorInvalidMemcpyDirection                                                    \
              : place(driver, symbol, bytes, offset, &there),                                      \
          copy)

AT_SYMBOL(cudaMemcpyToSymbolAsync, cudaMemcpyHostToDevice,
          (const void *symbol, const void *from, size_t bytes, size_t offset,
           enum cudaMemcpyKind kind, cudaStream_t stream),
          cudaMemcpyAsync(there, from, bytes, kind, stream))
AT_SYMBOL(cudaMemcpyFromSymbolAsync, cudaMemcpyDeviceToHost,
          (void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
           cudaStream_t stream),
          cudaMemcpyAsync(to, there, bytes, kind, stream))

/* Defines a call that tells something of a variable by its address and size. */
#define OF_SYMBOL(name, type, out, is)                                                             \
    FOUND(name, (type * out, const void *symbol), out == NULL, CUdeviceptr address = 0;            \
          size_t size = 0, cudart_symbol(driver, symbol, &address, &size),                         \
          (*out = is, cudaSuccess))
OF_SYMBOL(cudaGetSymbolAddress, void *, there, (void *)address)
OF_SYMBOL(cudaGetSymbolSize, size_t, bytes, size)
