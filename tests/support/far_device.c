/* support/far_device.c - see the header. */
#include "support/far_device.h"

#include "abi/errand.h"
#include "base/say.h"
#include "device/keep.h"
#include "order/atomic.h"
#include "rank/state.h"
#include "support/far_stream.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { RANGES = 256 }; /* ranges of memory that it has given, at once */

struct weft_device {
    struct weft_device *cpu;
    struct {
        unsigned char *memory; /* NULL: the entry is free */
        size_t bytes;
        enum weft_memory whose; /* HOST: the host's, which the device reaches, too */
    } range[RANGES];
    pthread_mutex_t range_lock;
    struct weft_bell *bell; /* bell on which ranks sleep; NULL: no kernel runs */
    bool serves;            /* the kernel was prepared with room for a warp beside it */
    struct far_stream streams[WEFT_STREAMS];
    struct weft_keep keep;
};

struct far_watch far_watch;

/* Remembers what it has given, or maps, as long as there is room. */
static void *remember(struct weft_device *d, void *memory, size_t bytes, enum weft_memory whose)
{
    pthread_mutex_lock(&d->range_lock);
    for (int i = 0; i < RANGES && memory != NULL; i++)
        if (d->range[i].memory == NULL) {
            d->range[i].memory = memory;
            d->range[i].bytes = bytes;
            d->range[i].whose = whose;
            break;
        }
    pthread_mutex_unlock(&d->range_lock);
    return memory;
}

static void forget(struct weft_device *d, const void *memory)
{
    pthread_mutex_lock(&d->range_lock);
    for (int i = 0; i < RANGES; i++)
        if (d->range[i].memory == memory) {
            d->range[i].memory = NULL;
            break;
        }
    pthread_mutex_unlock(&d->range_lock);
}

/* Whether it has given the memory; any: also memory of the host's. */
static bool has_given(struct weft_device *d, const void *memory, bool any)
{
    bool has = false;

    pthread_mutex_lock(&d->range_lock);
    for (int i = 0; i < RANGES; i++)
        if (d->range[i].memory != NULL && (any || d->range[i].whose == WEFT_MEMORY_DEVICE) &&
            (uintptr_t)memory - (uintptr_t)d->range[i].memory < d->range[i].bytes)
            has = true;
    pthread_mutex_unlock(&d->range_lock);
    return has;
}

/* ---- streams --------------------------------------------------------------------------------- */

static weft_status give(struct weft_device *d, enum weft_device_stream which,
                        const struct far_work *work)
{
    return far_stream_give(&d->streams[which], work);
}

static weft_status far_copy(struct weft_device *d, enum weft_device_stream stream, void *target,
                            const void *source, size_t bytes)
{
    return give(d, stream,
                &(struct far_work){.kind = FAR_COPY,
                                   .target = target,
                                   .source = source,
                                   .pitch = bytes,
                                   .width = bytes,
                                   .rows = 1});
}

static weft_status far_gather(struct weft_device *d, enum weft_device_stream stream, void *target,
                              const void *source, size_t pitch, size_t width, size_t rows)
{
    return give(d, stream,
                &(struct far_work){.kind = FAR_COPY,
                                   .target = target,
                                   .source = source,
                                   .pitch = pitch,
                                   .width = width,
                                   .rows = rows});
}

static weft_status far_fill(struct weft_device *d, enum weft_device_stream stream, uint32_t *target,
                            uint32_t value, size_t words)
{
    return give(
        d, stream,
        &(struct far_work){
            .kind = FAR_FILL, .target = (unsigned char *)target, .rows = words, .value = value});
}

static weft_status far_store(struct weft_device *d, enum weft_device_stream stream, uint32_t *word,
                             uint32_t value, uint32_t group)
{
    (void)group;
    return give(d, stream,
                &(struct far_work){
                    .kind = FAR_STORE, .target = (unsigned char *)word, .rows = 1, .value = value});
}

static weft_status far_wait(struct weft_device *d, enum weft_device_stream which)
{
    far_stream_wait(&d->streams[which]);
    return WEFT_OK;
}

static weft_status far_mark(struct weft_device *d, enum weft_device_stream which, uint64_t *mark)
{
    if (far_watch.marked != NULL && !far_watch.marked(which))
        return weft_err(WEFT_ERR_DEVICE, "far: a mark fails");
    *mark = far_stream_given(&d->streams[which]);
    return WEFT_OK;
}

static weft_status far_passed(struct weft_device *d, enum weft_device_stream which, uint64_t mark,
                              bool *passed)
{
    *passed = far_stream_passed(&d->streams[which], mark);
    if (!*passed)
        sched_yield(); /* who asks again and again keeps no stream from its processor */
    return WEFT_OK;
}

static const char *far_pin(struct weft_device *d, void *memory, size_t bytes)
{
    (void)d, (void)memory, (void)bytes;
    return NULL;
}

static void far_unpin(struct weft_device *d, void *memory)
{
    (void)d, (void)memory;
}

static struct weft_keep *far_keep(struct weft_device *d)
{
    return &d->keep;
}

/* Serves errands as the warp of a GPU does; it is never late. It reaches no other memory, and has
 * no room beside a kernel that was prepared without it, as if ranks filled the GPU (FAR_FULL). */
static weft_status far_serve(struct weft_device *d, struct weft_errand *errands, size_t count)
{
    if (!d->serves && getenv("FAR_FULL") != NULL &&
        __atomic_load_n(&d->bell, __ATOMIC_ACQUIRE) != NULL)
        return weft_err(WEFT_ERR_UNSUPPORTED, "far: the kernel leaves no room for a warp");
    for (size_t i = 0; i < count; i++) {
        struct weft_errand *errand = &errands[i];
        unsigned char *const memory = (unsigned char *)(uintptr_t)errand->address;
        if (errand->kind == WEFT_ERRAND_COPY &&
            !(has_given(d, memory, true) &&
              has_given(d, (const void *)(uintptr_t)errand->data[0], true)))
            return weft_err(WEFT_ERR_DEVICE, "far: a copy between %p and 0x%llx", (void *)memory,
                            (unsigned long long)errand->data[0]);
        far_errand(errand);
    }
    return WEFT_OK;
}

static bool far_serve_now(struct weft_device *d, struct weft_errand *errand)
{
    return far_serve(d, errand, 1) == WEFT_OK;
}

/* ---- the rest is the CPU device's ---------------------------------------------------------- */

static void far_close(struct weft_device *d)
{
    weft_keep_close(&d->keep);
    for (int i = 0; i < WEFT_STREAMS; i++)
        far_stream_close(&d->streams[i]);
    weft_cpu_device.close(d->cpu);
    free(d);
}

static weft_status far_open(struct weft_device **device, const struct weft_config *config,
                            int process, bool one_address_space)
{
    struct weft_device *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a far device");
    weft_status status = weft_cpu_device.open(&d->cpu, config, process, one_address_space);
    if (status != WEFT_OK) {
        free(d);
        return status;
    }
    d->keep = (struct weft_keep){.pin = far_pin, .unpin = far_unpin, .device = d, .most = 64 << 20};
    pthread_mutex_init(&d->range_lock, NULL);
    for (int i = 0; i < WEFT_STREAMS; i++)
        far_stream_open(&d->streams[i], (enum weft_device_stream)i, &d->bell);
    *device = d;
    return WEFT_OK;
}

/* At its end a GPU's rank takes from its counters what it consumed (rank/state_cuda.h). */
static void take_consumed(weft_self *self)
{
    for (uint32_t tag = 0; tag < WEFT_TAGS; tag++) {
        weft_add_relaxed_u32(&self->counters[weft_count_index(self->slot, tag)].local,
                             self->none - self->consumed[tag]);
        self->consumed[tag] = self->none;
    }
}

/* Ranks are told through the image, so they sleep on the bell that is there. A rank's state begins
 * as on a GPU. */
static weft_status far_run(struct weft_device *d, const struct weft_launch *launch, double *ms)
{
    struct weft_launch here = *launch;

    for (int r = 0; r < launch->ranks; r++) {
        weft_self *self = (weft_self *)(void *)(launch->selves + (size_t)r * launch->self_bytes);
        memset(self->meeting, 0, offsetof(weft_self, consumed) - offsetof(weft_self, meeting));
        self->port.bell = &self->state->exposed->bell;
        here.bell = self->port.bell;
    }
    __atomic_store_n(&d->bell, here.bell, __ATOMIC_RELEASE);
    struct far_beside beside = {.nic = launch->beside.argument, .bell = here.bell};
    weft_status status = WEFT_OK;
    if (launch->beside.blocks != 0)
        status = far_beside_begin(&beside);
    if (status == WEFT_OK) {
        status = weft_cpu_device.run(d->cpu, &here, ms);
        if (launch->beside.blocks != 0)
            far_beside_end(&beside);
    }
    __atomic_store_n(&d->bell, NULL, __ATOMIC_RELEASE);
    for (int r = 0; r < launch->ranks; r++)
        take_consumed((weft_self *)(void *)(launch->selves + (size_t)r * launch->self_bytes));
    return status;
}

static void far_describe(const struct weft_device *d, char *text, size_t bytes)
{
    weft_cpu_device.describe(d->cpu, text, bytes);
}

static void far_identify(const struct weft_device *d, unsigned char id[WEFT_DEVICE_ID_BYTES])
{
    weft_cpu_device.identify(d->cpu, id);
}

static uint64_t far_share(struct weft_device *d, const struct weft_sharing *with)
{
    weft_cpu_device.share(d->cpu, with);
    return 0; /* the streams need the processors, too */
}

static weft_status far_ranks(struct weft_device *d, const struct weft_wish *wish, int *ranks)
{
    d->serves = wish->serves;
    return weft_cpu_device.ranks(d->cpu, wish, ranks);
}

static int far_threads(const struct weft_device *d, int threads)
{
    return weft_cpu_device.threads(d->cpu, threads);
}

static void *far_alloc(struct weft_device *d, size_t bytes, struct weft_share *handle)
{
    return remember(d, weft_cpu_device.alloc(d->cpu, bytes, handle), bytes, WEFT_MEMORY_DEVICE);
}

static enum weft_memory far_whose(struct weft_device *d, const void *memory)
{
    return has_given(d, memory, false) ? WEFT_MEMORY_DEVICE : WEFT_MEMORY_HOST;
}

static void *far_alloc_running(struct weft_device *d, size_t bytes, struct weft_share *handle)
{
    return weft_cpu_device.alloc(d->cpu, bytes, handle);
}

static void far_free(struct weft_device *d, void *memory, const struct weft_share *handle)
{
    forget(d, memory);
    weft_cpu_device.free(d->cpu, memory, handle);
}

static bool far_has_atomics(const struct weft_device *d,
                            const unsigned char other[WEFT_DEVICE_ID_BYTES])
{
    (void)d, (void)other;
    return !far_watch.no_atomics;
}

static void *far_host_alloc(struct weft_device *d, size_t bytes)
{
    return remember(d, weft_cpu_device.host_alloc(d->cpu, bytes), bytes, WEFT_MEMORY_HOST);
}

static void far_host_free(struct weft_device *d, void *memory)
{
    forget(d, memory);
    weft_cpu_device.host_free(d->cpu, memory);
}

static void *far_map(struct weft_device *d, const struct weft_share *handle, const char **reason)
{
    return remember(d, weft_cpu_device.map(d->cpu, handle, reason), handle->bytes,
                    WEFT_MEMORY_HOST);
}

static void far_unmap(struct weft_device *d, void *memory, const struct weft_share *handle)
{
    forget(d, memory);
    weft_cpu_device.unmap(d->cpu, memory, handle);
}

static const char *far_no_access(struct weft_device *d, const void *memory, size_t bytes)
{
    return weft_cpu_device.no_access(d->cpu, memory, bytes);
}

/* Is not used: a launch is done when it returns. */
static void *far_stream(const struct weft_device *d, enum weft_device_stream stream)
{
    (void)d, (void)stream;
    return NULL;
}

static const struct weft_device_ops far_ops = {
    .name = "far",
    .runs_beside = true,
    .open = far_open,
    .close = far_close,
    .describe = far_describe,
    .identify = far_identify,
    .has_atomics = far_has_atomics,
    .share = far_share,
    .ranks = far_ranks,
    .threads = far_threads,
    .alloc = far_alloc,
    .alloc_running = far_alloc_running,
    .free = far_free,
    .host_alloc = far_host_alloc,
    .host_free = far_host_free,
    .map = far_map,
    .unmap = far_unmap,
    .no_access = far_no_access,
    .whose = far_whose,
    .copy = far_copy,
    .gather = far_gather,
    .mark = far_mark,
    .passed = far_passed,
    .pin = far_pin,
    .unpin = far_unpin,
    .keep = far_keep,
    .fill = far_fill,
    .store = far_store,
    .serve = far_serve,
    .serve_now = far_serve_now,
    .wait = far_wait,
    .load = far_load,
    .unload = far_unload,
    .launch = far_launch,
    .stream = far_stream,
    .run = far_run,
};

const struct weft_device_ops *__wrap_weft_device_choose(const struct weft_config *config,
                                                        bool local);
const struct weft_device_ops *__wrap_weft_device_choose(const struct weft_config *config,
                                                        bool local)
{
    (void)local;
    return config->device == WEFT_DEVICE_CPU ? &weft_cpu_device : &far_ops;
}
