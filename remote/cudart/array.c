/*
 * remote/cudart/array.c - arrays, textures and surfaces. An array that the program has is the
 * driver's handle, and what its elements are. Any thread.
 */
#include "remote/cudart/inside.h"
#include "remote/table/known.h"

#include <stdlib.h>
#include <string.h>

/* The vendor numbers these alike for runtime and driver, and lays views out alike. */
_Static_assert(cudaArrayLayered == CUDA_ARRAY3D_LAYERED &&
                   cudaArraySurfaceLoadStore == CUDA_ARRAY3D_SURFACE_LDST &&
                   cudaArrayCubemap == CUDA_ARRAY3D_CUBEMAP &&
                   cudaArrayTextureGather == CUDA_ARRAY3D_TEXTURE_GATHER &&
                   (int)cudaResourceTypePitch2D == CU_RESOURCE_TYPE_PITCH2D &&
                   sizeof(struct cudaResourceViewDesc) == sizeof(CUDA_RESOURCE_VIEW_DESC),
               "flags, kinds of resources, views");

/* ---- elements -------------------------------------------------------------------------------- */

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

/* Gives an element's format as the driver names it. Returns its bytes; 0: there are no such
 * elements. */
static size_t format_of(const struct cudaChannelFormatDesc *desc, CUarray_format *format,
                        unsigned *channels)
{
    const int bits[] = {desc->x, desc->y, desc->z, desc->w};
    const unsigned wide = bits[0] == 8 ? 0 : bits[0] == 16 ? 1 : bits[0] == 32 ? 2 : 3;

    *channels = 0;
    while (*channels < 4 && bits[*channels] == bits[0])
        (*channels)++;
    for (unsigned i = *channels; i < 4; i++)
        if (bits[i] != 0)
            return 0;
    *format = desc->f == cudaChannelFormatKindSigned     ? CU_AD_FORMAT_SIGNED_INT8 + wide
              : desc->f == cudaChannelFormatKindUnsigned ? CU_AD_FORMAT_UNSIGNED_INT8 + wide
              : wide == 1                                ? CU_AD_FORMAT_HALF
                                                         : CU_AD_FORMAT_FLOAT;
    if (wide > 2 || desc->f > cudaChannelFormatKindFloat ||
        (desc->f == cudaChannelFormatKindFloat && wide == 0))
        return 0;
    return weft_texel_bytes(*format, *channels);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                              struct cudaExtent extent, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};

    if (array == NULL || desc == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    const size_t bytes = format_of(desc, &shape.Format, &shape.NumChannels);
    cudaArray_t made = bytes != 0 ? malloc(sizeof(*made)) : NULL;
    if (made == NULL)
        return cudart_done(bytes == 0 ? cudaErrorInvalidChannelDescriptor
                                      : cudaErrorMemoryAllocation);
    *made = (struct cudaArray){.bytes = bytes, .desc = *desc, .extent = extent, .flags = flags};
    const CUresult result = driver->array_create(&made->handle, &shape);
    if (result == CUDA_SUCCESS)
        *array = made;
    else
        free(made);
    return cudart_driver_done(result);
}

ALIAS(cudaMallocArray,
      (cudaArray_t * array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
       unsigned flags),
      cudaMalloc3DArray(array, desc, (struct cudaExtent){width, height, 0}, flags))

cudaError_t cudaFreeArray(cudaArray_t array)
{
    ENTER(driver);
    if (array == NULL)
        return cudaSuccess;
    const CUresult result = driver->array_destroy(array->handle);
    free(array);
    return cudart_driver_done(result);
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                             unsigned *flags, cudaArray_t array)
{
    if (array == NULL)
        return cudart_done(cudaErrorInvalidResourceHandle);
    *(desc != NULL ? desc : &(struct cudaChannelFormatDesc){0}) = array->desc;
    *(extent != NULL ? extent : &(struct cudaExtent){0}) = array->extent;
    *(flags != NULL ? flags : &(unsigned){0}) = array->flags;
    return cudaSuccess;
}

ALIAS(cudaGetChannelDesc, (struct cudaChannelFormatDesc * desc, cudaArray_const_t array),
      desc != NULL ? cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)(uintptr_t)array)
                   : cudart_done(cudaErrorInvalidValue))

/* ---- textures and surfaces ------------------------------------------------------------------- */

/* Describes for the driver what a texture reads. Lines and rows of memory begin alike, for runtime
 * and driver. */
static cudaError_t resource_of(CUDA_RESOURCE_DESC *to, const struct cudaResourceDesc *from)
{
    memset(to, 0, sizeof(*to));
    to->resType = (CUresourcetype)from->resType;
    if (from->resType == cudaResourceTypeArray && from->res.array.array != NULL) {
        to->res.array.hArray = from->res.array.array->handle;
        return cudaSuccess;
    }
    if (from->resType != cudaResourceTypeLinear && from->resType != cudaResourceTypePitch2D)
        return from->resType == cudaResourceTypeArray
                   ? cudaErrorInvalidResourceHandle
                   : (cudaError_t)WEFT_CUDA_REFUSE("a texture of that resource", "textures");
    to->res.pitch2D.devPtr = (CUdeviceptr)from->res.pitch2D.devPtr;
    to->res.pitch2D.width = from->res.pitch2D.width;
    if (from->resType == cudaResourceTypePitch2D) {
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
    }
    return format_of(&from->res.pitch2D.desc, &to->res.pitch2D.format,
                     &to->res.pitch2D.numChannels) != 0
               ? cudaSuccess
               : cudaErrorInvalidChannelDescriptor;
}

static CUDA_TEXTURE_DESC reading_of(const struct cudaTextureDesc *from)
{
    const unsigned flags =
        (from->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u) |
        (from->normalizedCoords != 0 ? CU_TRSF_NORMALIZED_COORDINATES : 0u) |
        (from->sRGB != 0 ? CU_TRSF_SRGB : 0u) |
        (from->disableTrilinearOptimization != 0 ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0u) |
        (from->seamlessCubemap != 0 ? CU_TRSF_SEAMLESS_CUBEMAP : 0u);
    CUDA_TEXTURE_DESC to = {.filterMode = (CUfilter_mode)from->filterMode,
                            .flags = flags,
                            .maxAnisotropy = from->maxAnisotropy,
                            .mipmapFilterMode = (CUfilter_mode)from->mipmapFilterMode,
                            .mipmapLevelBias = from->mipmapLevelBias,
                            .minMipmapLevelClamp = from->minMipmapLevelClamp,
                            .maxMipmapLevelClamp = from->maxMipmapLevelClamp};

    for (int i = 0; i < 3; i++)
        to.addressMode[i] = (CUaddress_mode)from->addressMode[i];
    memcpy(to.borderColor, from->borderColor, sizeof(to.borderColor));
    return to;
}

/* Defines a call that makes something of a resource, which it calls `what`. */
#define OF_RESOURCE(name, parameters, wrong, call)                                                 \
    FOUND(name, parameters, wrong, CUDA_RESOURCE_DESC what, resource_of(&what, resource),          \
          driver->call)
OF_RESOURCE(cudaCreateTextureObject,
            (cudaTextureObject_t * texture, const struct cudaResourceDesc *resource,
             const struct cudaTextureDesc *reading, const struct cudaResourceViewDesc *view),
            texture == NULL || resource == NULL || reading == NULL,
            texture_create(texture, &what, (CUDA_TEXTURE_DESC[]){reading_of(reading)},
                           (const CUDA_RESOURCE_VIEW_DESC *)view))
OF_RESOURCE(cudaCreateSurfaceObject,
            (cudaSurfaceObject_t * surface, const struct cudaResourceDesc *resource),
            surface == NULL || resource == NULL, surface_create(surface, &what))
FORWARD(cudaDestroyTextureObject, (cudaTextureObject_t texture), texture_destroy(texture))
FORWARD(cudaDestroySurfaceObject, (cudaSurfaceObject_t surface), surface_destroy(surface))
