/* device/cuda/cuda_device.c - a GPU as a device: one cooperative launch is one run, every thread
 * block is a rank. The rules are in README.md. */
#include "device/cuda/cuda_device.h"

#include "base/say.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { SPIN_NS = 200000 };

/* CU_DEVICE_ATTRIBUTE_MPS_ENABLED, which cuda.h has since CUDA 12. */
static const CUdevice_attribute MPS_ENABLED = (CUdevice_attribute)133;

/* ---- opening ------------------------------------------------------------------------------- */

static weft_status choose_gpu(struct weft_device *d, int turn)
{
    int count = 0;
    weft_status status = weft_cuda_error(d->driver->device_count(&count), "counting GPUs");

    if (status != WEFT_OK)
        return status;
    d->index = (int)d->config->device_id;
    if (d->index < 0)
        d->index = turn % count;
    if (d->index >= count)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_DEVICE_ID=%d: this machine shows %d GPU(s)",
                        d->index, count);
    return weft_cuda_error(d->driver->device_get(&d->device, d->index), "opening the GPU");
}

static weft_status check_gpu(struct weft_device *d)
{
    const int major = weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const int minor = weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);

    if (major * 10 + minor < 75)
        return weft_err(WEFT_ERR_UNSUPPORTED, "GPU %d has compute capability %d.%d; weft needs 7.5",
                        d->index, major, minor);
    if (!weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) ||
        !weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING))
        return weft_err(WEFT_ERR_UNSUPPORTED,
                        "GPU %d lacks cooperative launch or unified addressing", d->index);
    d->processors = weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    d->sharers = 1;
    return WEFT_OK;
}

static weft_status use_context(struct weft_device *d)
{
    CUresult result = d->driver->context_retain(&d->context, d->device);

    if (result == CUDA_SUCCESS)
        result = d->driver->context_use(d->context);
    return weft_cuda_error(result, "opening the GPU's context");
}

static weft_status choose_sharing(struct weft_device *d)
{
    const int wish = d->config->cuda_share;
    const bool fd =
        weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) &&
        weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);

    d->granularity = 2u << 20;
    if (wish == WEFT_CUDA_SHARE_FD && !fd)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_CUDA_SHARE=fd: GPU %d cannot pass memory on so",
                        d->index);
    d->descriptors = fd && wish != WEFT_CUDA_SHARE_IPC;
    if (!d->descriptors)
        return WEFT_OK;
    /* Where only ancestors may take a process's descriptors (Yama), let the job's others, too. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    const CUmemAllocationProp properties = weft_cuda_memory_kind(d);
    return weft_cuda_error(
        d->driver->granularity(&d->granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "the granularity of memory");
}

static weft_status make_streams(struct weft_device *d)
{
    const struct weft_cuda_driver *driver = d->driver;
    CUresult result = driver->stream_create(&d->kernels, CU_STREAM_NON_BLOCKING, 0);

    for (int i = 0; i < WEFT_STREAMS && result == CUDA_SUCCESS; i++) {
        result = driver->stream_create(&d->streams[i], CU_STREAM_NON_BLOCKING, 0);
        for (int m = 0; m < WEFT_CUDA_MARKS && result == CUDA_SUCCESS; m++)
            result = driver->event_create(&d->marks[i][m], CU_EVENT_DISABLE_TIMING);
    }
    if (result == CUDA_SUCCESS)
        result = driver->event_create(&d->before, CU_EVENT_DEFAULT);
    if (result == CUDA_SUCCESS)
        result = driver->event_create(&d->after, CU_EVENT_DEFAULT);
    return weft_cuda_error(result, "making streams");
}

static void cuda_close(struct weft_device *d)
{
    const struct weft_cuda_driver *driver = d->driver;

    if (d->context != NULL) {
        driver->context_use(d->context);
        weft_keep_close(&d->keep);
        weft_cuda_block_close(d);
        weft_cuda_beside_close(d);
        for (int i = 0; i < WEFT_STREAMS; i++) {
            for (int m = 0; m < WEFT_CUDA_MARKS; m++)
                if (d->marks[i][m] != NULL)
                    driver->event_destroy(d->marks[i][m]);
            if (d->streams[i] != NULL)
                driver->stream_destroy(d->streams[i]);
        }
        if (d->kernels != NULL)
            driver->stream_destroy(d->kernels);
        if (d->before != NULL)
            driver->event_destroy(d->before);
        if (d->after != NULL)
            driver->event_destroy(d->after);
        driver->context_release(d->device);
    }
    free(d);
}

static weft_status cuda_open(struct weft_device **device, const struct weft_config *config,
                             int turn, bool one_address_space)
{
    struct weft_device *d = calloc(1, sizeof(*d));
    const char *reason = "";

    (void)one_address_space; /* weft_device_choose has seen to it */
    if (d == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a device");
    d->config = config;
    d->keep = (struct weft_keep){.pin = weft_cuda_pin,
                                 .unpin = weft_cuda_unpin,
                                 .device = d,
                                 .most = (size_t)config->cuda_keep};
    d->driver = weft_cuda_driver(&reason);
    if (d->driver == NULL) {
        free(d);
        return weft_err(WEFT_ERR_DEVICE, "CUDA: %s", reason);
    }
    static weft_status (*const steps[])(struct weft_device *) = {
        check_gpu,    use_context,           choose_sharing,
        make_streams, weft_cuda_use_streams, weft_cuda_block_open};
    weft_status status = choose_gpu(d, turn);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && status == WEFT_OK; i++)
        status = steps[i](d);
    if (status != WEFT_OK) {
        cuda_close(d);
        return status;
    }
    *device = d;
    return WEFT_OK;
}

static void cuda_describe(const struct weft_device *d, char *text, size_t bytes)
{
    char name[96] = "GPU";
    int version = 0;

    d->driver->device_name(name, sizeof(name), d->device);
    d->driver->driver_version(&version);
    snprintf(text, bytes, "GPU %d: %s, %d multiprocessors, shared by %d process(es); CUDA %d.%d",
             d->index, name, d->processors, d->sharers, version / 1000, version % 1000 / 10);
}

static void cuda_identify(const struct weft_device *d, unsigned char id[WEFT_DEVICE_ID_BYTES])
{
    CUuuid uuid = {0};

    d->driver->device_uuid(&uuid, d->device);
    memcpy(id, uuid.bytes, WEFT_DEVICE_ID_BYTES);
}

static_assert(sizeof(CUuuid) == WEFT_DEVICE_ID_BYTES, "a GPU's identity is its UUID");

static uint64_t cuda_share(struct weft_device *d, const struct weft_sharing *with)
{
    d->sharers = with->on_device;
    d->mps = weft_cuda_attribute(d, MPS_ENABLED) != 0;
    d->takes_turns = with->on_device > 1 && !d->mps;
    if (d->takes_turns && with->before == 0)
        weft_say(WEFT_SAY_WARN,
                 "%d processes share GPU %d without MPS: their kernels take turns, and a rank that "
                 "waits for one of another process waits for milliseconds",
                 with->on_device, d->index);
    return d->config->spin_us >= 0 ? (uint64_t)d->config->spin_us * 1000 : SPIN_NS;
}

static int cuda_threads(const struct weft_device *d, int threads)
{
    (void)d;
    return threads;
}

const struct weft_device_ops weft_cuda_device = {
    .name = "cuda",
    .runs_beside = true,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .identify = cuda_identify,
    .has_atomics = weft_cuda_has_atomics,
    .share = cuda_share,
    .ranks = weft_cuda_ranks,
    .threads = cuda_threads,
    .alloc = weft_cuda_alloc,
    .alloc_running = weft_cuda_alloc_running,
    .free = weft_cuda_free,
    .no_access = weft_cuda_no_access,
    .whose = weft_cuda_whose,
    .host_alloc = weft_cuda_host_alloc,
    .host_free = weft_cuda_host_free,
    .map = weft_cuda_map,
    .unmap = weft_cuda_unmap,
    .copy = weft_cuda_copy,
    .gather = weft_cuda_gather,
    .mark = weft_cuda_mark,
    .passed = weft_cuda_passed,
    .pin = weft_cuda_pin,
    .unpin = weft_cuda_unpin,
    .keep = weft_cuda_keep,
    .fill = weft_cuda_fill,
    .store = weft_cuda_store,
    .serve = weft_cuda_serve,
    .serve_now = weft_cuda_serve_now,
    .wait = weft_cuda_wait,
    .dmabuf = weft_cuda_dmabuf,
    .reached = weft_cuda_reached,
    .load = weft_cuda_load,
    .unload = weft_cuda_unload,
    .launch = weft_cuda_launch,
    .stream = weft_cuda_stream,
    .run = weft_cuda_run,
};
