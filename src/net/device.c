/* net/device.c - what transports need of a device whose memory the windows are; see transport.h. */
#include "net/transport.h"

#include "base/say.h"

static bool has_ops(const struct weft_net_open *open)
{
    return open->device != NULL && open->device->ops != NULL;
}

bool weft_net_pin(const struct weft_net_open *open, const char *name, void *memory, size_t bytes)
{
    const char *reason =
        has_ops(open) ? open->device->ops->pin(open->device->device, memory, bytes) : NULL;

    if (reason != NULL)
        weft_say(WEFT_SAY_WARN,
                 "%s: %zu bytes of buffers stay unpinned (%s): what goes between them and device "
                 "memory takes longer",
                 name, bytes, reason);
    return reason == NULL;
}

void weft_net_unpin(const struct weft_net_open *open, void *memory)
{
    if (memory != NULL && has_ops(open))
        open->device->ops->unpin(open->device->device, memory);
}

bool weft_net_has_dmabuf(const struct weft_net_open *open)
{
    return has_ops(open) && open->device->ops->dmabuf != NULL;
}

int weft_net_dmabuf(const struct weft_net_open *open, void *base, size_t bytes, uint64_t *offset)
{
    return open->device->ops->dmabuf(open->device->device, base, bytes, offset);
}
