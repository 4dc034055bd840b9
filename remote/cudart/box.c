/* remote/cudart/box.c - copies of rows and boxes, also from and to arrays. Any thread. */
#include "remote/cudart/inside.h"
#include "remote/table/known.h"

static struct weft_box_side in_memory(const void *memory, size_t pitch, size_t height)
{
    return (struct weft_box_side){.type = CU_MEMORYTYPE_UNIFIED,
                                  .device = (CUdeviceptr)memory,
                                  .pitch = pitch,
                                  .height = height};
}

/* x in bytes. The array is the program's until it was checked. */
static struct weft_box_side in_array(cudaArray_const_t array, size_t x, size_t y)
{
    return (struct weft_box_side){
        .x = x, .y = y, .type = CU_MEMORYTYPE_ARRAY, .array = (CUarray)(uintptr_t)array};
}

/* Whether it goes beyond an array's end is for the array's driver to say. */
static cudaError_t check(struct weft_box_side *side, const struct weft_box *box)
{
    const struct cudaArray *array = (const struct cudaArray *)(const void *)side->array;

    if (side->type != CU_MEMORYTYPE_ARRAY)
        return box->width > side->pitch ? cudaErrorInvalidPitchValue : cudaSuccess;
    side->array = array != NULL ? array->handle : NULL;
    return array != NULL ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

static cudaError_t copy(struct weft_box box, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    if (!cudart_is_kind(kind))
        return cudart_done(cudaErrorInvalidMemcpyDirection);
    ENTER(driver);
    cudaError_t error = check(&box.from, &box);
    if (error == cudaSuccess)
        error = check(&box.to, &box);
    if (error != cudaSuccess || box.width == 0 || box.rows == 0 || box.slices == 0)
        return cudart_done(error);
    return cudart_driver_done(
        driver->copy_box((const CUDA_MEMCPY3D *)(const void *)&box, ON(stream)));
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static struct weft_box_side place(cudaArray_const_t array, const struct cudaPitchedPtr *memory,
                                  const struct cudaPos *at)
{
    struct weft_box_side side;

    if (array == NULL)
        return in_memory((char *)memory->ptr + (at->z * memory->ysize + at->y) * memory->pitch +
                             at->x,
                         memory->pitch, memory->ysize);
    side = in_array(array, at->x * array->bytes, at->y);
    side.z = at->z;
    return side;
}

/* With an array the width is in elements, too. */
#define BOX(name, type, way)                                                                       \
    cudaError_t name(const struct type *p, cudaStream_t stream)                                    \
    {                                                                                              \
        if (p == NULL)                                                                             \
            return cudart_done(cudaErrorInvalidValue);                                             \
        cudaArray_const_t array = p->srcArray != NULL ? p->srcArray : p->dstArray;                 \
        return copy(                                                                               \
            (struct weft_box){.from = place(p->srcArray, &p->srcPtr, &p->srcPos),                  \
                              .to = place(p->dstArray, &p->dstPtr, &p->dstPos),                    \
                              .width = p->extent.width * (array != NULL ? array->bytes : 1),       \
                              .rows = p->extent.height,                                            \
                              .slices = p->extent.depth},                                          \
            way, stream);                                                                          \
    }
BOX(cudaMemcpy3DAsync, cudaMemcpy3DParms, p->kind)
BOX(cudaMemcpy3DPeerAsync, cudaMemcpy3DPeerParms, cudaMemcpyDefault) /* addresses say whose */

/* ---- rows ------------------------------------------------------------------------------------ */

#define SIZE size_t width, size_t rows, enum cudaMemcpyKind kind
#define ROWS(name, source, target, from_side, to_side)                                             \
    cudaError_t name(target, source, SIZE, cudaStream_t stream)                                    \
    {                                                                                              \
        return copy(                                                                               \
            (struct weft_box){                                                                     \
                .from = from_side, .to = to_side, .width = width, .rows = rows, .slices = 1},      \
            kind, stream);                                                                         \
    }
#define TO         void *to, size_t to_pitch
#define FROM       const void *from, size_t from_pitch
#define TO_ARRAY   cudaArray_t to, size_t x, size_t y
#define FROM_ARRAY cudaArray_const_t from, size_t x, size_t y
ROWS(cudaMemcpy2DAsync, FROM, TO, in_memory(from, from_pitch, rows), in_memory(to, to_pitch, rows))
ROWS(cudaMemcpy2DToArrayAsync, FROM, TO_ARRAY, in_memory(from, from_pitch, rows),
     in_array(to, x, y))
ROWS(cudaMemcpy2DFromArrayAsync, FROM_ARRAY, TO, in_array(from, x, y),
     in_memory(to, to_pitch, rows))

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
                                     cudaArray_const_t from, size_t from_x, size_t from_y, SIZE)
{
    return cudart_waited(copy((struct weft_box){.from = in_array(from, from_x, from_y),
                                                .to = in_array(to, to_x, to_y),
                                                .width = width,
                                                .rows = rows,
                                                .slices = 1},
                              kind, NULL));
}
