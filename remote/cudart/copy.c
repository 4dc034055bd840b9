/* remote/cudart/copy.c - copies: plain, of rows or boxes, by symbols, to peers. Any thread. */
#include "remote/cudart/inside.h"
#include "remote/table/known.h"

#include <string.h>

static bool is_kind(enum cudaMemcpyKind kind)
{
    return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

/* A copy in the default stream, and its end. */
static cudaError_t waited(cudaError_t error)
{
    return error == cudaSuccess ? cudaStreamSynchronize(NULL) : error;
}

/* ---- plain ----------------------------------------------------------------------------------- */

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    if (!is_kind(kind))
        return cudart_done(cudaErrorInvalidMemcpyDirection);
    if (cudart_thread()->own_stream)
        return waited(cudaMemcpyAsync(to, from, bytes, kind, NULL));
    ENTER(driver);
    return bytes == 0 ? cudaSuccess
                      : cudart_driver_done(driver->copy((CUdeviceptr)to, (CUdeviceptr)from, bytes));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    if (!is_kind(kind))
        return cudart_done(cudaErrorInvalidMemcpyDirection);
    ENTER(driver);
    return bytes == 0 ? cudaSuccess
                      : cudart_driver_done(driver->copy_async((CUdeviceptr)to, (CUdeviceptr)from,
                                                              bytes, ON(stream)));
}

/* ---- rows ------------------------------------------------------------------------------------ */

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t rows, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    if (!is_kind(kind))
        return cudart_done(cudaErrorInvalidMemcpyDirection);
    if (width > to_pitch || width > from_pitch)
        return cudart_done(cudaErrorInvalidPitchValue);
    ENTER(driver);
    if (width == 0 || rows == 0)
        return cudaSuccess;
    const CUDA_MEMCPY2D copy = weft_rows_copy(&(struct weft_rows){.to = (CUdeviceptr)to,
                                                                  .to_pitch = to_pitch,
                                                                  .from = (CUdeviceptr)from,
                                                                  .from_pitch = from_pitch,
                                                                  .width = width,
                                                                  .rows = rows});
    return cudart_driver_done(driver->copy_rows(&copy, ON(stream)));
}

ALIAS(cudaMemcpy2D,
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
       enum cudaMemcpyKind kind),
      waited(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, kind, NULL)))

/* ---- boxes ----------------------------------------------------------------------------------- */

/* A slice of rows each; arrays are refused. */
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;

    if (p == NULL)
        return cudart_done(cudaErrorInvalidValue);
    if (p->srcArray != NULL || p->dstArray != NULL)
        return cudart_done(cudaErrorNotSupported);
    for (size_t z = 0; z < p->extent.depth && error == cudaSuccess; z++) {
        const struct cudaPitchedPtr *from = &p->srcPtr, *to = &p->dstPtr;
        const size_t from_row = (p->srcPos.z + z) * from->ysize + p->srcPos.y,
                     to_row = (p->dstPos.z + z) * to->ysize + p->dstPos.y;
        error = cudaMemcpy2DAsync((char *)to->ptr + to_row * to->pitch + p->dstPos.x, to->pitch,
                                  (char *)from->ptr + from_row * from->pitch + p->srcPos.x,
                                  from->pitch, p->extent.width, p->extent.height, p->kind, stream);
    }
    return error;
}

ALIAS(cudaMemcpy3D, (const struct cudaMemcpy3DParms *p), waited(cudaMemcpy3DAsync(p, NULL)))

/* ---- between devices ------------------------------------------------------------------------- */

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    CUcontext to_context = NULL, from_context = NULL;

    ENTER(driver);
    cudaError_t error = cudart_context(to_device, &to_context);
    if (error == cudaSuccess)
        error = cudart_context(from_device, &from_context);
    if (error != cudaSuccess || bytes == 0)
        return cudart_done(error);
    return cudart_driver_done(driver->copy_peer((CUdeviceptr)to, to_context, (CUdeviceptr)from,
                                                from_context, bytes, ON(stream)));
}

/* The default stream of a device is idle. */
static cudaError_t finish(const struct weft_cuda_table *driver, int device)
{
    struct cudart_thread *thread = cudart_thread();
    CUcontext context;

    cudaError_t error = cudart_context(device, &context);
    if (error == cudaSuccess)
        error = (cudaError_t)driver->context_use(context);
    thread->bound = 0; /* the next call makes the thread's own current again */
    return error == cudaSuccess ? (cudaError_t)driver->stream_synchronize(NULL) : error;
}

/* After and before the default streams of both devices. */
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    ENTER(driver);
    cudaError_t error = finish(driver, from_device);
    if (error == cudaSuccess)
        error = finish(driver, to_device);
    if (error == cudaSuccess)
        error = cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, NULL);
    return error == cudaSuccess ? cudaStreamSynchronize(NULL) : cudart_done(error);
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* The place `offset` bytes into a variable that has room for so many there. */
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

/* A copy to or from that place, which it calls `there`. */
#define AT_SYMBOL(name, parameters, copy)                                                          \
    cudaError_t name parameters                                                                    \
    {                                                                                              \
        void *there = NULL;                                                                        \
        ENTER(driver);                                                                             \
        const cudaError_t error = place(driver, symbol, bytes, offset, &there);                    \
        return error == cudaSuccess ? copy : cudart_done(error);                                   \
    }

AT_SYMBOL(cudaMemcpyToSymbolAsync,
          (const void *symbol, const void *from, size_t bytes, size_t offset,
           enum cudaMemcpyKind kind, cudaStream_t stream),
          cudaMemcpyAsync(there, from, bytes, kind, stream))
AT_SYMBOL(cudaMemcpyToSymbol,
          (const void *symbol, const void *from, size_t bytes, size_t offset,
           enum cudaMemcpyKind kind),
          cudaMemcpy(there, from, bytes, kind))
AT_SYMBOL(cudaMemcpyFromSymbolAsync,
          (void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
           cudaStream_t stream),
          cudaMemcpyAsync(to, there, bytes, kind, stream))
AT_SYMBOL(cudaMemcpyFromSymbol,
          (void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind),
          cudaMemcpy(to, there, bytes, kind))

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
    CUdeviceptr base = 0;

    if (address == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    const cudaError_t error = cudart_symbol(driver, symbol, &base, NULL);
    if (error == cudaSuccess)
        *address = (void *)base;
    return cudart_done(error);
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    CUdeviceptr base = 0;

    if (bytes == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    return cudart_done(cudart_symbol(driver, symbol, &base, bytes));
}
