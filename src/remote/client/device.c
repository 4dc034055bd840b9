/* remote/client/device.c - devices and contexts: all that is known since the sessions were opened.
 */
#include "remote/client/inside.h"

#include <stdio.h>
#include <string.h>

static struct client_device *device_of(CUdevice ordinal)
{
    return ordinal >= 0 && ordinal < client.devices ? &client.device[ordinal] : NULL;
}

static struct client_device *device_in(CUcontext context)
{
    struct client_device *device = (struct client_device *)(void *)context;

    return device >= client.device && device < client.device + client.devices ? device : NULL;
}

CUresult client_init(unsigned flags)
{
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult client_driver_version(int *version)
{
    *version = client.devices > 0 ? client.device[0].facts.driver : CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult client_device_count(int *count)
{
    *count = client.devices;
    return CUDA_SUCCESS;
}

CUresult client_device_get(CUdevice *device, int ordinal)
{
    if (device_of(ordinal) == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult client_device_name(char *name, int bytes, CUdevice ordinal)
{
    const struct client_device *device = device_of(ordinal);

    if (device == NULL || bytes <= 0)
        return device == NULL ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)bytes, "%s", device->facts.name);
    return CUDA_SUCCESS;
}

CUresult client_device_total(size_t *bytes, CUdevice ordinal)
{
    const struct client_device *device = device_of(ordinal);

    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = device->facts.memory;
    return CUDA_SUCCESS;
}

CUresult client_device_attribute(int *value, CUdevice_attribute attribute, CUdevice ordinal)
{
    enum { DOMAINS = 0x8000 }; /* of the servers: no local device has these */
    const struct client_device *device = device_of(ordinal);

    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (attribute < 1 || (int)attribute >= WEFT_ATTRIBUTES || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID ? DOMAINS + device->process
                                                            : device->facts.attributes[attribute];
    return CUDA_SUCCESS;
}

CUresult client_device_uuid(CUuuid *uuid, CUdevice ordinal)
{
    const struct client_device *device = device_of(ordinal);

    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid, device->facts.uuid, sizeof(device->facts.uuid));
    return CUDA_SUCCESS;
}

static void pci_of(const struct client_device *device, char text[64])
{
    const char *colon = strchr(device->facts.pci, ':'); /* after the domain */

    snprintf(text, 64, "%04X%s", 0x8000u + (unsigned)device->process,
             colon != NULL ? colon : ":00:00.0");
}

CUresult client_device_pci(char *text, int bytes, CUdevice ordinal)
{
    const struct client_device *device = device_of(ordinal);
    char own[64];

    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    pci_of(device, own);
    return snprintf(text, bytes > 0 ? (size_t)bytes : 0, "%s", own) < bytes
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult client_device_by_pci(CUdevice *ordinal, const char *text)
{
    char own[64];

    for (int d = 0; d < client.devices; d++) {
        pci_of(&client.device[d], own);
        if (strcasecmp(own, text) == 0) {
            *ordinal = d;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- peers: only within a server does a kernel reach another device's memory -------------------
 */

static bool reaches(const struct client_device *device, const struct client_device *peer)
{
    return device != peer && device->process == peer->process &&
           (device->facts.peers & 1ull << peer->number) != 0;
}

CUresult client_peer_can(int *can, CUdevice ordinal, CUdevice other)
{
    if (device_of(ordinal) == NULL || device_of(other) == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    *can = reaches(device_of(ordinal), device_of(other));
    return CUDA_SUCCESS;
}

CUresult client_peer_attribute(int *value, CUdevice_P2PAttribute attribute, CUdevice ordinal,
                               CUdevice other)
{
    if (device_of(ordinal) == NULL || device_of(other) == NULL || ordinal == other)
        return CUDA_ERROR_INVALID_DEVICE;
    *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED &&
             reaches(device_of(ordinal), device_of(other));
    return CUDA_SUCCESS;
}

static CUresult set_peer(CUcontext context, unsigned flags, bool on)
{
    const struct client_device *peer = device_in(context), *device = client_now();

    if (peer == NULL || device == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (flags != 0 || peer == device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!reaches(device, peer))
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    const uint64_t words[] = {(uint64_t)peer->number, on};
    return client_call(device, WEFT_CALL_peer_enable, words, 2, NULL, 0, NULL);
}

CUresult client_peer_enable(CUcontext context, unsigned flags)
{
    return set_peer(context, flags, true);
}

CUresult client_peer_disable(CUcontext context)
{
    return set_peer(context, 0, false);
}

/* ---- contexts: a device's is the device itself -------------------------------------------------
 */

CUresult client_context_retain(CUcontext *context, CUdevice ordinal)
{
    struct client_device *device = device_of(ordinal);

    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    __atomic_fetch_add(&device->retained, 1, __ATOMIC_RELAXED);
    *context = (CUcontext)(void *)device;
    return CUDA_SUCCESS;
}

CUresult client_context_release(CUdevice ordinal)
{
    struct client_device *device = device_of(ordinal);

    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    __atomic_fetch_sub(&device->retained, 1, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

CUresult client_context_state(CUdevice ordinal, unsigned *flags, int *active)
{
    const struct client_device *device = device_of(ordinal);

    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    *flags = device->flags;
    *active = __atomic_load_n(&device->retained, __ATOMIC_RELAXED) != 0;
    return CUDA_SUCCESS;
}

/* How this thread waits is the client's affair: remembered, without effect. */
CUresult client_context_flags(CUdevice ordinal, unsigned flags)
{
    struct client_device *device = device_of(ordinal);

    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    device->flags = flags;
    return CUDA_SUCCESS;
}

CUresult client_context_use(CUcontext context)
{
    if (context != NULL && device_in(context) == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    client_use(device_in(context));
    return CUDA_SUCCESS;
}

CUresult client_context_now(CUcontext *context)
{
    *context = (CUcontext)(void *)client_now();
    return CUDA_SUCCESS;
}

CUresult client_context_synchronize(void)
{
    return client_now() != NULL
               ? client_call(client_now(), WEFT_CALL_context_synchronize, NULL, 0, NULL, 0, NULL)
               : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult client_context_reset(CUdevice ordinal)
{
    struct client_device *device = device_of(ordinal);

    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    const CUresult result = client_call(device, WEFT_CALL_reset, NULL, 0, NULL, 0, NULL);
    client_forget_memory(device);
    return result;
}

CUresult client_context_priorities(int *least, int *greatest)
{
    if (client_now() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *least = client_now()->facts.least;
    *greatest = client_now()->facts.greatest;
    return CUDA_SUCCESS;
}
