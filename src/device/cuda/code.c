/* device/cuda/code.c - kernels of the library's own, launched on streams of the program's. Any
 * thread of the program calls it. */
#include "device/cuda/cuda_device.h"

weft_status weft_cuda_load(struct weft_device *d, struct weft_device_code *code)
{
    CUmodule module;
    CUresult result;

    d->driver->context_use(d->context);
    result = d->driver->module_load(&module, code->image);
    if (result != CUDA_SUCCESS)
        return weft_cuda_error(result, "loading kernels of the library");
    code->module = module;
    for (int i = 0; code->name[i] != NULL && result == CUDA_SUCCESS; i++)
        result =
            d->driver->module_function((CUfunction *)&code->function[i], module, code->name[i]);
    if (result != CUDA_SUCCESS)
        weft_cuda_unload(d, code);
    return weft_cuda_error(result, "looking for a kernel of the library");
}

void weft_cuda_unload(struct weft_device *d, struct weft_device_code *code)
{
    d->driver->context_use(d->context);
    if (code->module != NULL)
        d->driver->module_unload(code->module);
    code->module = NULL;
}

/* Launches a kernel. The stream may be capturing: then this is a node of its graph. */
weft_status weft_cuda_launch(struct weft_device *d, const struct weft_device_code *code, int kernel,
                             void *argument, int blocks, int threads, void *stream)
{
    void *arguments[] = {argument};

    weft_lock(&d->giving);
    CUresult result = d->driver->context_use(d->context);
    if (result == CUDA_SUCCESS)
        result = d->driver->launch_plain(code->function[kernel], (unsigned)blocks, 1, 1,
                                         (unsigned)threads, 1, 1, 0, stream, arguments, NULL);
    weft_unlock(&d->giving);
    return weft_cuda_error(result, code->name[kernel]);
}

void *weft_cuda_stream(const struct weft_device *d, enum weft_device_stream stream)
{
    return d->streams[stream];
}
