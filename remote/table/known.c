/* remote/table/known.c - see the header. Any thread: what is known does not change. */
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

/* Declares the device of an ordinal, or returns from the calling function. */
#define FIND(known, ordinal)                                                                       \
    struct weft_known *known = weft_known_device(list, ordinal);                                   \
    if ((known) == NULL)                                                                           \
    return CUDA_ERROR_INVALID_DEVICE

/* ---- devices --------------------------------------------------------------------------------- */

CUresult weft_known_init(struct weft_known_list *list, unsigned flags)
{
    (void)list;
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult weft_known_driver_version(struct weft_known_list *list, int *version)
{
    *version = list->count > 0 ? list->at[0]->facts.driver : CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult weft_known_device_count(struct weft_known_list *list, int *count)
{
    *count = list->count;
    return CUDA_SUCCESS;
}

CUresult weft_known_device_name(struct weft_known_list *list, char *name, int bytes,
                                CUdevice device)
{
    FIND(known, device);
    if (bytes <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)bytes, "%s", known->facts.name);
    return CUDA_SUCCESS;
}

CUresult weft_known_device_total(struct weft_known_list *list, size_t *bytes, CUdevice device)
{
    FIND(known, device);
    *bytes = known->facts.memory;
    return CUDA_SUCCESS;
}

CUresult weft_known_device_attribute(struct weft_known_list *list, int *value,
                                     CUdevice_attribute which, CUdevice device)
{
    FIND(known, device);
    if (which < 1 || (int)which >= WEFT_ATTRIBUTES || which >= CU_DEVICE_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *value = known->facts.attributes[which];
    return CUDA_SUCCESS;
}

CUresult weft_known_device_uuid(struct weft_known_list *list, CUuuid *uuid, CUdevice device)
{
    FIND(known, device);
    memcpy(uuid, known->facts.uuid, sizeof(known->facts.uuid));
    return CUDA_SUCCESS;
}

CUresult weft_known_device_pci(struct weft_known_list *list, char *text, int bytes, CUdevice device)
{
    FIND(known, device);
    return snprintf(text, bytes > 0 ? (size_t)bytes : 0, "%s", known->facts.pci) < bytes
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult weft_known_device_by_pci(struct weft_known_list *list, CUdevice *device, const char *text)
{
    for (int d = 0; d < list->count; d++)
        if (strcasecmp(list->at[d]->facts.pci, text) == 0) {
            *device = d;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- peers ----------------------------------------------------------------------------------- */

bool weft_known_reaches(const struct weft_known *device, const struct weft_known *peer)
{
    return device != peer && device->process == peer->process &&
           (device->facts.peers & 1ull << peer->number) != 0;
}

CUresult weft_known_peer_can(struct weft_known_list *list, int *can, CUdevice device, CUdevice peer)
{
    FIND(known, device);
    FIND(other, peer);
    *can = weft_known_reaches(known, other);
    return CUDA_SUCCESS;
}

CUresult weft_known_peer_attribute(struct weft_known_list *list, int *value,
                                   CUdevice_P2PAttribute which, CUdevice device, CUdevice peer)
{
    FIND(known, device);
    FIND(other, peer);
    if (known == other)
        return CUDA_ERROR_INVALID_DEVICE;
    *value = which == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED && weft_known_reaches(known, other);
    return CUDA_SUCCESS;
}

/* ---- contexts -------------------------------------------------------------------------------- */

CUresult weft_known_context_retain(struct weft_known_list *list, CUcontext *context,
                                   CUdevice device)
{
    FIND(known, device);
    *context = (CUcontext)(void *)known;
    return CUDA_SUCCESS;
}

CUresult weft_known_context_state(struct weft_known_list *list, CUdevice device, unsigned *flags,
                                  int *active)
{
    FIND(known, device);
    *flags = __atomic_load_n(&known->flags, __ATOMIC_RELAXED);
    *active = 1;
    return CUDA_SUCCESS;
}

/* How a thread waits is no affair of these drivers: remembered, without effect. */
CUresult weft_known_context_flags(struct weft_known_list *list, CUdevice device, unsigned flags)
{
    FIND(known, device);
    __atomic_store_n(&known->flags, flags, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

CUresult weft_known_context_use(struct weft_known_list *list, CUcontext context)
{
    if (context != NULL && weft_known_in(list, context) == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *list->now() = (struct weft_known *)(void *)context;
    return CUDA_SUCCESS;
}

/* ---- addresses ------------------------------------------------------------------------------- */

CUresult weft_known_pointer(unsigned count, const CUpointer_attribute *wanted, void **data,
                            CUdeviceptr address, int device, bool pinned)
{
    const unsigned type = device >= 0 ? CU_MEMORYTYPE_DEVICE : pinned ? CU_MEMORYTYPE_HOST : 0;

    for (unsigned i = 0; i < count; i++)
        switch (wanted[i]) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *(unsigned *)data[i] = type;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *(int *)data[i] = device >= 0 ? device : pinned ? 0 : CU_DEVICE_INVALID;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *(CUdeviceptr *)data[i] = device >= 0 ? address : 0;
            break;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            *(void **)data[i] = pinned ? (void *)address : NULL;
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

/* Code of a GPU that is not compressed names what it calls; PTX beside it says nothing more. */
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

bool weft_is_cooperative(const CUlaunchConfig *config)
{
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            return config->attrs[i].value.cooperative != 0;
    return false;
}
