/* remote/table/known.c - see the header. Any thread calls it: what is known does not change. */
#include "remote/table/known.h"

#include <stdio.h>
#include <string.h>

struct weft_known *weft_known_device(const struct weft_known_list *list, CUdevice ordinal)
{
    return ordinal >= 0 && ordinal < list->count ? list->at[ordinal] : NULL;
}

struct weft_known *weft_known_in(const struct weft_known_list *list, CUcontext context)
{
    for (int d = 0; d < list->count; d++)
        if ((CUcontext)(void *)list->at[d] == context)
            return list->at[d];
    return NULL;
}

bool weft_known_reaches(const struct weft_known *device, const struct weft_known *peer)
{
    return device != peer && device->process == peer->process &&
           (device->facts.peers & 1ull << peer->number) != 0;
}

/* ---- addresses ------------------------------------------------------------------------------- */

CUresult weft_known_pointer(unsigned count, const CUpointer_attribute *wanted, void **data,
                            CUdeviceptr address, int device, enum weft_pointer memory)
{
    const bool on_host = memory >= WEFT_PINNED,
               on_device = memory != WEFT_UNKNOWN && memory != WEFT_PINNED;

    for (unsigned i = 0; i < count; i++)
        switch (wanted[i]) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *(unsigned *)data[i] = memory == WEFT_UNKNOWN ? 0
                                   : memory == WEFT_PINNED || memory == WEFT_MAPPED
                                       ? CU_MEMORYTYPE_HOST
                                       : CU_MEMORYTYPE_DEVICE;
            break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *(unsigned *)data[i] = memory == WEFT_MANAGED;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *(int *)data[i] = memory == WEFT_UNKNOWN ? CU_DEVICE_INVALID : device < 0 ? 0 : device;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *(CUdeviceptr *)data[i] = on_device ? address : 0;
            break;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            *(void **)data[i] = on_host ? (void *)address : NULL;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
        }
    return CUDA_SUCCESS;
}

size_t weft_texel_bytes(CUarray_format format, unsigned channels)
{
    static const unsigned char bytes[] = {
        [CU_AD_FORMAT_UNSIGNED_INT8] = 1,  [CU_AD_FORMAT_SIGNED_INT8] = 1,
        [CU_AD_FORMAT_UNSIGNED_INT16] = 2, [CU_AD_FORMAT_SIGNED_INT16] = 2,
        [CU_AD_FORMAT_UNSIGNED_INT32] = 4, [CU_AD_FORMAT_SIGNED_INT32] = 4,
        [CU_AD_FORMAT_HALF] = 2,           [CU_AD_FORMAT_FLOAT] = 4};

    if ((unsigned)format >= sizeof(bytes) || (channels != 1 && channels != 2 && channels != 4))
        return 0;
    return (size_t)bytes[format] * channels;
}

/* ---- code ------------------------------------------------------------------------------------ */

uint64_t weft_image_bytes(const void *image)
{
    struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t payload;
    } fat;

    _Static_assert(sizeof(fat) == WEFT_IMAGE_HEADER, "as nvcc lays it out");
    memcpy(&fat, image, sizeof(fat));
    return fat.magic == 0xba55ed50 && fat.header >= sizeof(fat) &&
                   fat.payload <= (uint64_t)WEFT_IMAGE_MOST - fat.header
               ? fat.header + fat.payload
               : 0;
}

/* Whether an image prints. Code of a GPU that is not compressed names what it calls; PTX beside it
 * says nothing more. */
bool weft_image_prints(const void *image, uint64_t bytes)
{
    enum { ELF = 2, COMPRESSED = 0xa000 };
    struct {
        uint16_t kind, version;
        uint32_t header;
        uint64_t body, unused[3], flags;
    } entry;
    const unsigned char *at = image;
    uint16_t header;
    bool code = false;

    memcpy(&header, at + 6, sizeof(header));
    for (uint64_t next = header; next < bytes && bytes - next >= sizeof(entry);) {
        memcpy(&entry, at + next, sizeof(entry));
        if (entry.kind == ELF && (entry.flags & COMPRESSED) != 0)
            return true;
        code |= entry.kind == ELF;
        const uint64_t left = bytes - next;
        if (entry.header < sizeof(entry) || entry.header > left || entry.body > left - entry.header)
            return true;
        next += entry.header + entry.body;
    }
    return !code || memmem(image, bytes, "vprintf", 7) != NULL ||
           memmem(image, bytes, "__assertfail", 12) != NULL;
}
