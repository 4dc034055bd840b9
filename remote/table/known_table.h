/*
 * remote/table/known_table.h - the functions of a table that need no driver, as the fake driver and
 * remote GPUs have them: of KNOWN_LIST, a struct weft_known_list, by the names KNOWN(field), with
 * attributes below KNOWN_ATTRIBUTES; KNOWN_REACHES says whether kernels of a device reach another
 * one's memory. No include guard: included once for each table. Any thread: what is known does not
 * change.
 */
#include "remote/table/known.h"

#include <stdio.h>
#include <string.h>

/* Declares the device of an ordinal, or returns from the calling function. */
#define FIND(known, ordinal)                                                                       \
    struct weft_known *known = weft_known_device(&KNOWN_LIST, ordinal);                            \
    if ((known) == NULL)                                                                           \
    return CUDA_ERROR_INVALID_DEVICE

/* Defines a call that tells what is known of one device. */
#define IS(field, parameters, result)                                                              \
    CUresult KNOWN(field) parameters                                                               \
    {                                                                                              \
        FIND(known, device);                                                                       \
        result;                                                                                    \
        return CUDA_SUCCESS;                                                                       \
    }

/* ---- devices --------------------------------------------------------------------------------- */

CUresult KNOWN(init)(unsigned flags)
{
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult KNOWN(driver_version)(int *version)
{
    *version = KNOWN_LIST.count > 0 ? KNOWN_LIST.at[0]->facts.driver : CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult KNOWN(device_count)(int *count)
{
    *count = KNOWN_LIST.count;
    return CUDA_SUCCESS;
}

CUresult KNOWN(device_name)(char *name, int bytes, CUdevice device)
{
    FIND(known, device);
    if (bytes <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)bytes, "%s", known->facts.name);
    return CUDA_SUCCESS;
}

IS(device_total, (size_t * bytes, CUdevice device), *bytes = known->facts.memory)

CUresult KNOWN(device_attribute)(int *value, CUdevice_attribute which, CUdevice device)
{
    FIND(known, device);
    if (which < 1 || (int)which >= WEFT_ATTRIBUTES || (int)which >= KNOWN_ATTRIBUTES)
        return CUDA_ERROR_INVALID_VALUE;
    *value = known->facts.attributes[which];
    return CUDA_SUCCESS;
}

IS(device_uuid, (CUuuid * uuid, CUdevice device),
   memcpy(uuid, known->facts.uuid, sizeof(known->facts.uuid)))

CUresult KNOWN(device_pci)(char *text, int bytes, CUdevice device)
{
    FIND(known, device);
    return snprintf(text, bytes > 0 ? (size_t)bytes : 0, "%s", known->facts.pci) < bytes
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult KNOWN(device_by_pci)(CUdevice *device, const char *text)
{
    for (int d = 0; d < KNOWN_LIST.count; d++)
        if (strcasecmp(KNOWN_LIST.at[d]->facts.pci, text) == 0) {
            *device = d;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- peers ----------------------------------------------------------------------------------- */

CUresult KNOWN(peer_can)(int *can, CUdevice device, CUdevice peer)
{
    FIND(known, device);
    FIND(other, peer);
    *can = KNOWN_REACHES(known, other);
    return CUDA_SUCCESS;
}

CUresult KNOWN(peer_attribute)(int *value, CUdevice_P2PAttribute which, CUdevice device,
                               CUdevice peer)
{
    FIND(known, device);
    FIND(other, peer);
    if (known == other)
        return CUDA_ERROR_INVALID_DEVICE;
    *value = which == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED && KNOWN_REACHES(known, other);
    return CUDA_SUCCESS;
}

/* ---- contexts -------------------------------------------------------------------------------- */

IS(context_retain, (CUcontext * context, CUdevice device), *context = (CUcontext)(void *)known)

IS(context_state, (CUdevice device, unsigned *flags, int *active),
   *flags = __atomic_load_n(&known->flags, __ATOMIC_RELAXED);
   *active = 1)

/* Remembers flags without effect: how a thread waits is no affair of these drivers. */
IS(context_flags, (CUdevice device, unsigned flags),
   if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0 ||
       (flags & CU_CTX_SCHED_MASK) > CU_CTX_SCHED_BLOCKING_SYNC) return CUDA_ERROR_INVALID_VALUE;
   __atomic_store_n(&known->flags, flags, __ATOMIC_RELAXED))

CUresult KNOWN(context_use)(CUcontext context)
{
    if (context != NULL && weft_known_in(&KNOWN_LIST, context) == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *KNOWN_LIST.now() = (struct weft_known *)(void *)context;
    return CUDA_SUCCESS;
}
#undef IS
#undef FIND
