/* remote/client/device.c - devices and contexts: all but the calls here is known since the sessions
 * were opened. Any thread. */
#include "remote/client/inside.h"

#define KNOWN(field)     client_##field
#define KNOWN_LIST       client.known
#define KNOWN_ATTRIBUTES CU_DEVICE_ATTRIBUTE_MAX
#define KNOWN_REACHES    client_can_reach
#include "remote/table/known_table.h"

static CUresult set_peer(CUcontext context, unsigned flags, bool on)
{
    struct weft_known *peer = weft_known_in(&client.known, context);
    struct client_device *device = client_now();

    if (peer == NULL || device == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (flags != 0 || peer == &device->known)
        return CUDA_ERROR_INVALID_VALUE;
    if (on && !client_can_reach(&device->known, peer))
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return client_let(device, (struct client_device *)(void *)peer, on);
}

CUresult client_peer_enable(CUcontext context, unsigned flags)
{
    return set_peer(context, flags, true);
}

CUresult client_peer_disable(CUcontext context)
{
    return set_peer(context, 0, false);
}

CUresult client_context_reset(CUdevice ordinal)
{
    struct client_device *device =
        (struct client_device *)(void *)weft_known_device(&client.known, ordinal);

    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    client_managed_forget(device);
    client_forget_memory(device);
    client_reach_reset(device);
    return client_tell(client_call(device, WEFT_CALL_reset, NULL, 0, NULL, 0, NULL));
}
