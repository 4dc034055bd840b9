/* remote/cudart/box.c - copies of rows and boxes, also from and to arrays. Any thread. */
#include "remote/cudart/inside.h"
#include "remote/table/known.h"

/* Returns an array's side of a box, x in its elements, or memory's. */
static struct weft_box_side side_of(cudaArray_const_t array, const struct cudaPitchedPtr *memory,
                                    const struct cudaPos *at)
{
    if (array != NULL)
        return (struct weft_box_side){.x = at->x * array->bytes,
                                      .y = at->y,
                                      .z = at->z,
                                      .type = CU_MEMORYTYPE_ARRAY,
                                      .array = array->handle};
    return (struct weft_box_side){.type = CU_MEMORYTYPE_UNIFIED,
                                  .device = (CUdeviceptr)memory->ptr +
                                            (at->z * memory->ysize + at->y) * memory->pitch + at->x,
                                  .pitch = memory->pitch,
                                  .height = memory->ysize};
}

/* Copies a box. With an array the width is in elements, else in bytes. What lies beyond an array's
 * end is for its driver to say. */
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    if (p == NULL)
        return cudart_done(cudaErrorInvalidValue);
    cudaArray_const_t array = p->srcArray != NULL ? p->srcArray : p->dstArray;
    const struct weft_box box = {.from = side_of(p->srcArray, &p->srcPtr, &p->srcPos),
                                 .to = side_of(p->dstArray, &p->dstPtr, &p->dstPos),
                                 .width = p->extent.width * (array != NULL ? array->bytes : 1),
                                 .rows = p->extent.height,
                                 .slices = p->extent.depth};
    if ((p->srcArray == NULL && box.width > box.from.pitch) ||
        (p->dstArray == NULL && box.width > box.to.pitch))
        return cudart_done(cudaErrorInvalidPitchValue);
    ENTER(driver);
    const bool empty = box.width == 0 || box.rows == 0 || box.slices == 0;
    const cudaError_t error =
        cudart_check_copy(driver, p->dstArray == NULL ? p->dstPtr.ptr : NULL,
                          p->srcArray == NULL ? p->srcPtr.ptr : NULL, !empty, p->kind);
    return error != cudaSuccess || empty
               ? cudart_done(error)
               : cudart_driver_done(
                     driver->copy_box((const CUDA_MEMCPY3D *)(const void *)&box, ON(stream)));
}

/* Copies a box between devices. Addresses and arrays say themselves whose they are. */
cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    if (p == NULL)
        return cudart_done(cudaErrorInvalidValue);
    return cudaMemcpy3DAsync(&(struct cudaMemcpy3DParms){.srcArray = p->srcArray,
                                                         .srcPos = p->srcPos,
                                                         .srcPtr = p->srcPtr,
                                                         .dstArray = p->dstArray,
                                                         .dstPos = p->dstPos,
                                                         .dstPtr = p->dstPtr,
                                                         .extent = p->extent,
                                                         .kind = cudaMemcpyDefault},
                             stream);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Copies rows. With an array x and width are in bytes, too. */
static cudaError_t copy_rows(struct cudaMemcpy3DParms p, size_t width, size_t rows,
                             enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaArray_const_t array = p.srcArray != NULL ? p.srcArray : p.dstArray;
    const size_t unit = array != NULL ? array->bytes : 1;

    p.srcPos.x /= unit;
    p.dstPos.x /= unit;
    p.extent = (struct cudaExtent){width / unit, rows, 1};
    p.kind = kind;
    return cudaMemcpy3DAsync(&p, stream);
}

#define IN_MEMORY(side, memory, pitch)                                                             \
    .side##Ptr = {(void *)(uintptr_t)(memory), pitch, width, rows}
#define IN_ARRAY(side, array, x, y)                                                                \
    .side##Array = (cudaArray_t)(uintptr_t)(array), .side##Pos = {x, y, 0}
#define ROWS(name, parameters, ...)                                                                \
    cudaError_t name parameters                                                                    \
    {                                                                                              \
        return copy_rows((struct cudaMemcpy3DParms){__VA_ARGS__}, width, rows, kind, stream);      \
    }
ROWS(cudaMemcpy2DAsync,
     (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
      enum cudaMemcpyKind kind, cudaStream_t stream),
     IN_MEMORY(src, from, from_pitch), IN_MEMORY(dst, to, to_pitch))
ROWS(cudaMemcpy2DToArrayAsync,
     (cudaArray_t to, size_t x, size_t y, const void *from, size_t from_pitch, size_t width,
      size_t rows, enum cudaMemcpyKind kind, cudaStream_t stream),
     IN_MEMORY(src, from, from_pitch), IN_ARRAY(dst, to, x, y))
ROWS(cudaMemcpy2DFromArrayAsync,
     (void *to, size_t to_pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
      size_t rows, enum cudaMemcpyKind kind, cudaStream_t stream),
     IN_ARRAY(src, from, x, y), IN_MEMORY(dst, to, to_pitch))

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
                                     cudaArray_const_t from, size_t from_x, size_t from_y,
                                     size_t width, size_t rows, enum cudaMemcpyKind kind)
{
    const struct cudaMemcpy3DParms p = {IN_ARRAY(src, from, from_x, from_y),
                                        IN_ARRAY(dst, to, to_x, to_y)};

    return cudart_waited(copy_rows(p, width, rows, kind, NULL));
}

/* Copies bytes of an array from a place on, row behind row: a part of a row, whole ones, a part. */
static cudaError_t copy_line(struct cudaMemcpy3DParms p, cudaArray_const_t array, size_t bytes,
                             enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const bool in = p.dstArray != NULL;
    struct cudaPos *at = in ? &p.dstPos : &p.srcPos;
    struct cudaPitchedPtr *memory = in ? &p.srcPtr : &p.dstPtr;
    const size_t whole = array != NULL ? array->extent.width * array->bytes : 0;
    cudaError_t error = at->x < whole ? cudaSuccess : cudart_done(cudaErrorInvalidValue);

    while (bytes > 0 && error == cudaSuccess) {
        const size_t rows = at->x == 0 && bytes >= whole ? bytes / whole : 1, left = whole - at->x,
                     width = bytes < left ? bytes : left;
        memory->pitch = width;
        memory->ysize = rows;
        error = copy_rows(p, width, rows, kind, stream);
        memory->ptr = (char *)memory->ptr + width * rows;
        bytes -= width * rows;
        at->y += rows;
        at->x = 0;
    }
    return error;
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from,
                                   size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const struct cudaMemcpy3DParms p = {.srcPtr = {.ptr = (void *)(uintptr_t)from},
                                        IN_ARRAY(dst, to, x, y)};

    return copy_line(p, to, bytes, kind, stream);
}

cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y,
                                     size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const struct cudaMemcpy3DParms p = {.dstPtr = {.ptr = to}, IN_ARRAY(src, from, x, y)};

    return copy_line(p, from, bytes, kind, stream);
}
