/* device/device.c - which device runs the kernels. */
#include "device/device.h"

#include "base/say.h"

const struct weft_device_ops *weft_device_choose(const struct weft_config *config)
{
    if (config->device == WEFT_DEVICE_CUDA) {
        weft_err(WEFT_ERR_CONFIG, "WEFT_DEVICE=cuda: this build of weft has the CPU device only");
        return NULL;
    }
    return &weft_cpu_device;
}
