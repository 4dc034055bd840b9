/* device/cuda/beside.c - see device/beside.h. The kernel is there before the ranks, which need all
 * that is left. The program's thread, or the kernel's task, calls it. */
#include "device/cuda/cuda_device.h"

#include "base/say.h"
#include "order/atomic.h"

#include <limits.h>

static const uint64_t START_NS = 2000000000; /* another process may have the GPU meanwhile */

/* Frees what was loaded. */
static void unload(struct weft_device *d)
{
    struct weft_cuda_beside *own = &d->beside;

    if (own->stream != NULL)
        d->driver->stream_destroy(own->stream);
    if (own->control != NULL)
        weft_cuda_host_free(d, own->control);
    if (own->module != NULL)
        d->driver->module_unload(own->module);
    own->stream = NULL;
    own->control = NULL;
    own->module = NULL;
}

/* Loads the kernel at its first use. */
static weft_status load(struct weft_device *d, const struct weft_beside *beside)
{
    const struct weft_cuda_driver *driver = d->driver;
    struct weft_cuda_beside *own = &d->beside;
    int fixed = 0;

    if (own->control != NULL)
        return WEFT_OK;
    CUresult result = driver->module_load(&own->module, beside->image);
    if (result == CUDA_SUCCESS)
        result = driver->module_function(&own->function, own->module, beside->name);
    if (result == CUDA_SUCCESS)
        result =
            driver->function_attribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, own->function);
    own->shared =
        weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - fixed;
    if (result == CUDA_SUCCESS)
        result = driver->function_set(own->function,
                                      CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, own->shared);
    if (result == CUDA_SUCCESS) /* while it is there, ranks cannot be given more shared memory */
        result = driver->function_set(own->function,
                                      CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100);
    if (result == CUDA_SUCCESS)
        result = driver->stream_create(&own->stream, CU_STREAM_NON_BLOCKING, INT_MIN);
    weft_status status = weft_cuda_error(result, beside->name);
    if (status == WEFT_OK)
        own->control = weft_cuda_host_alloc(d, sizeof(*own->control)); /* zeroed */
    if (status == WEFT_OK && own->control == NULL)
        status = WEFT_ERR_MEMORY;
    if (status != WEFT_OK)
        unload(d);
    return status;
}

static void tell_to_leave(struct weft_cuda_beside *own)
{
    for (int i = 0; i < WEFT_BESIDE_BLOCKS; i++)
        weft_store_release_u32(&own->control->leave[i].word, own->turn, ORDER_none);
}

weft_status weft_cuda_beside_begin(struct weft_device *d, const struct weft_beside *beside)
{
    const uint64_t deadline = weft_now_ns() + START_NS;
    struct weft_cuda_beside *own = &d->beside;
    void *argument = beside->argument;

    if (beside->blocks == 0)
        return WEFT_OK;
    d->driver->context_use(d->context);
    weft_status status = load(d, beside);
    if (status != WEFT_OK)
        return status;
    own->turn++;
    void *arguments[] = {&argument, &own->control, &own->turn};
    weft_lock(&d->giving);
    const CUresult result = d->driver->launch_plain(
        own->function, (unsigned)beside->blocks, 1, 1, WEFT_BESIDE_THREADS, 1, 1,
        own->alone ? (unsigned)own->shared : 0, own->stream, arguments, NULL);
    weft_unlock(&d->giving);
    status = weft_cuda_error(result, beside->name);
    for (int i = 0; i < beside->blocks && status == WEFT_OK; i++)
        while (status == WEFT_OK && weft_load_relaxed_u32(&own->control->begun[i]) != own->turn)
            if (weft_now_ns() > deadline)
                status = weft_err(WEFT_ERR_DEVICE,
                                  "GPU %d did not begin block %d of %d of %s within %d s", d->index,
                                  i, beside->blocks, beside->name, (int)(START_NS / 1000000000));
    if (status != WEFT_OK) /* should it ever begin; what has the GPU may never end */
        tell_to_leave(own);
    return status;
}

weft_status weft_cuda_beside_end(struct weft_device *d, const struct weft_beside *beside)
{
    if (beside->blocks == 0)
        return WEFT_OK;
    tell_to_leave(&d->beside);
    return weft_cuda_error(d->driver->stream_wait(d->beside.stream), beside->name);
}

void weft_cuda_beside_close(struct weft_device *d)
{
    if (d->beside.stream == NULL || d->driver->stream_query(d->beside.stream) == CUDA_SUCCESS)
        unload(d); /* else what has not begun may still look at it */
}

/* Counts ranks by threads and by registers, of which a processor has 64 K. The kernel's other
 * blocks may lie on other processors. */
int weft_cuda_beside_ranks(int threads, int registers)
{
    const int by_threads = (WEFT_BESIDE_THREADS + threads - 1) / threads;
    const int own = 65536 / WEFT_BESIDE_EACH, rank = threads * registers;
    const int by_registers = (own + rank - 1) / rank;

    return by_threads > by_registers ? by_threads : by_registers;
}
