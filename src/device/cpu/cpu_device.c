/*
 * device/cpu/cpu_device.c - the CPU as a device: its memory is shared memory, its ranks are fibers
 * on a few worker threads.
 */
#include "abi/notice.h"
#include "base/say.h"
#include "base/task.h"
#include "device/cpu/worker.h"
#include "device/device.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEFAULT_RANKS = 16, MOST_RANKS = WEFT_SLOTS - 1, SPIN_NS = 1000000 };

struct weft_device {
    struct weft_workers workers;
    bool one_address_space;
    int processors;
    const struct weft_config *config;
};

static int processors_here(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) < 1)
        return 1;
    return CPU_COUNT(&set);
}

/* Gives each process of the node its share of the processors, one worker at least. */
static uint64_t cpu_share(struct weft_device *device, const struct weft_sharing *with)
{
    const struct weft_config *config = device->config;
    int workers = (int)config->cpu_workers;

    if (workers == 0)
        workers = device->processors / with->processes;
    if (workers < 1)
        workers = 1;
    device->workers.count = workers;
    device->workers.first = config->cpu_bind == WEFT_CPU_BIND_ON ? with->index * workers : -1;
    if (config->spin_us >= 0)
        device->workers.spin_ns = (uint64_t)config->spin_us * 1000;
    else
        device->workers.spin_ns = workers * with->processes <= device->processors ? SPIN_NS : 0;
    return device->workers.spin_ns;
}

static weft_status cpu_open(struct weft_device **device, const struct weft_config *config, int turn,
                            bool one_address_space)
{
    struct weft_device *d = calloc(1, sizeof(*d));

    (void)turn;
    if (d == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for the CPU device");
    if (config->device_id > 0) {
        free(d);
        return weft_err(WEFT_ERR_CONFIG, "WEFT_DEVICE_ID=%lld: there is one CPU device, 0",
                        (long long)config->device_id);
    }
    d->config = config;
    d->one_address_space = one_address_space;
    d->processors = processors_here();
    d->workers.stack_bytes = config->cpu_stack;
    cpu_share(d, &(struct weft_sharing){.processes = 1, .on_device = 1});
    *device = d;
    return WEFT_OK;
}

static void cpu_close(struct weft_device *device)
{
    weft_workers_close(&device->workers);
    free(device);
}

static void cpu_describe(const struct weft_device *device, char *text, size_t bytes)
{
    snprintf(text, bytes, "CPU device: %d processor(s), %d worker(s) in this process",
             device->processors, device->workers.count);
}

static weft_status cpu_ranks(struct weft_device *device, const struct weft_wish *wish, int *ranks)
{
    const int most = (int)device->config->ranks;
    int n = wish->ranks > 0 ? wish->ranks : most > 0 ? most : DEFAULT_RANKS;

    if (most > 0 && n > most)
        n = most;
    *ranks = n < MOST_RANKS ? n : MOST_RANKS;
    return WEFT_OK;
}

static int cpu_at_once(const struct weft_device *device)
{
    return device->workers.count;
}

static int cpu_threads(const struct weft_device *device, int threads)
{
    const int most = (int)device->config->cpu_threads;

    return threads < most ? threads : most;
}

static void *cpu_alloc(struct weft_device *device, size_t bytes, struct weft_share *handle)
{
    void *memory = NULL;

    (void)device;
    if (weft_share_create(bytes, &memory, handle) != WEFT_OK)
        return NULL;
    return memory;
}

static void cpu_free(struct weft_device *device, void *memory, const struct weft_share *handle)
{
    (void)device;
    weft_share_destroy(memory, handle);
}

static void *cpu_map(struct weft_device *device, const struct weft_share *handle,
                     const char **reason)
{
    return weft_share_map(handle, device->one_address_space, reason);
}

static void cpu_unmap(struct weft_device *device, void *memory, const struct weft_share *handle)
{
    weft_share_unmap(memory, handle, device->one_address_space);
}

/* Gives an id of this process's own: each process drives a CPU device of its own. */
static void cpu_identify(const struct weft_device *device, unsigned char id[WEFT_DEVICE_ID_BYTES])
{
    (void)device;
    memset(id, 0, WEFT_DEVICE_ID_BYTES);
}

static void *cpu_host_alloc(struct weft_device *device, size_t bytes)
{
    const size_t size = (bytes + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size);

    (void)device;
    if (memory == NULL)
        weft_err(WEFT_ERR_MEMORY, "no %zu bytes of memory", size);
    else
        memset(memory, 0, size);
    return memory;
}

static void cpu_host_free(struct weft_device *device, void *memory)
{
    (void)device;
    free(memory);
}

static weft_status cpu_copy(struct weft_device *device, enum weft_device_stream stream,
                            void *target, const void *source, size_t bytes)
{
    (void)device, (void)stream;
    memmove(target, source, bytes);
    return WEFT_OK;
}

static weft_status cpu_wait(struct weft_device *device, enum weft_device_stream stream)
{
    (void)device, (void)stream; /* copies are done when they return */
    return WEFT_OK;
}

static weft_status cpu_run(struct weft_device *device, const struct weft_launch *launch, double *ms)
{
    const uint64_t start = weft_now_ns();
    weft_status status = weft_workers_run(&device->workers, launch);

    if (status == WEFT_OK)
        *ms = (double)(weft_now_ns() - start) * 1e-6;
    return status;
}

/* Checks that the memory is mapped; not that it may be written. */
static const char *cpu_no_access(struct weft_device *d, const void *memory, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t at = (uintptr_t)memory & (page - 1);

    (void)d;
    /* This msync only looks where there are pages: msync(2), MS_ASYNC and ENOMEM. */
    if (bytes != 0 && msync((char *)memory - at, bytes + at, MS_ASYNC) != 0 && errno == ENOMEM)
        return "it is not all mapped";
    return NULL;
}

const struct weft_device_ops weft_cpu_device = {
    .name = "cpu",
    .host_access = true,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .identify = cpu_identify,
    .share = cpu_share,
    .ranks = cpu_ranks,
    .threads = cpu_threads,
    .at_once = cpu_at_once,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .map = cpu_map,
    .unmap = cpu_unmap,
    .no_access = cpu_no_access,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
    .copy = cpu_copy,
    .wait = cpu_wait,
    .run = cpu_run,
};
