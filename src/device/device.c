/* device/device.c - chooses which device runs the kernels. Opening thread only. */
#include "device/device.h"

#include "base/say.h"

/* Defined by every object that nvcc compiled (weft/device.h): whether the program has kernels. */
extern WEFT_API const int weft_program_has_cuda __attribute__((weak)); /* the program's */

#ifdef WEFT_HAVE_CUDA

#include "device/cuda/driver.h"

const char *weft_device_no_gpu(void)
{
    const char *reason = NULL;
    int count = 0;

    const struct weft_cuda_driver *driver = weft_cuda_driver(&reason);
    if (driver == NULL)
        return reason;
    return driver->device_count(&count) == CUDA_SUCCESS && count > 0 ? NULL : "no GPU";
}

/* Returns why this program cannot use a GPU; NULL: it can. One without kernels for it may still
 * want a GPU's memory for the host's windows (asked); a kernel without code is refused by name. */
static const char *why_no_cuda(bool local, bool asked)
{
    if (local)
        return "processes that are threads share no GPU";
    if (!asked && &weft_program_has_cuda == NULL)
        return "no kernel of this program was compiled by nvcc";
    return weft_device_no_gpu();
}

#else

const char *weft_device_no_gpu(void)
{
    return "this build of weft has the CPU device only";
}
static const char *why_no_cuda(bool local, bool asked)
{
    (void)local, (void)asked;
    return weft_device_no_gpu();
}
const struct weft_device_ops weft_cuda_device;

#endif

/* Whether this process has to warn that kernels which were compiled for GPUs, too, run on the CPU,
 * since this library was built without CUDA. Only process 0 has to. */
static bool in_vain(const struct weft_config *config)
{
#ifdef WEFT_HAVE_CUDA
    (void)config;
    return false;
#else
    return &weft_program_has_cuda != NULL && config->process <= 0;
#endif
}

const struct weft_device_ops *weft_device_choose(const struct weft_config *config, bool local)
{
    const bool asked = config->device == WEFT_DEVICE_CUDA;
    const char *reason = config->device == WEFT_DEVICE_CPU ? "" : why_no_cuda(local, asked);

    if (reason == NULL)
        return &weft_cuda_device;
    if (asked) {
        weft_err(WEFT_ERR_CONFIG, "WEFT_DEVICE=cuda: %s", reason);
        return NULL;
    }
    if (config->device == WEFT_DEVICE_AUTO)
        weft_say(in_vain(config) ? WEFT_SAY_WARN : WEFT_SAY_INFO,
                 "kernels run on the CPU device: %s", reason);
    return &weft_cpu_device;
}
