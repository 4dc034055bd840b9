/*
 * gpu/errand.c - what the service block takes for a few bytes of the GPU's memory, there and back:
 * while it stays beside a kernel, and with a launch for each; beside it a copy by the driver.
 */
#include "abi/errand.h"
#include "base/task.h"
#include "device/cuda/cuda_device.h"
#include "gpu/measure.h"
#include "order/update.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bench {
    struct weft_device *device;
    uint64_t *memory;
    struct measure_trips trips;
};

/* One kind of errand, `count` at once; their words one behind the other. */
static bool measure(const struct bench *b, const char *kind, struct weft_errand errand,
                    size_t count, bool rests)
{
    struct weft_errand errands[64];
    uint64_t all = b->trips.warm_up + b->trips.timed, ns = 0, wrong = 0;

    for (uint64_t i = 0; i < all; i++) {
        for (size_t e = 0; e < count; e++) {
            errands[e] = errand;
            errands[e].address = (uint64_t)(uintptr_t)(b->memory + e);
        }
        if (rests) /* longer than the lease */
            usleep(50);
        const uint64_t start = weft_now_ns();
        if (weft_cuda_serve(b->device, errands, count) != WEFT_OK)
            return false;
        if (i >= b->trips.warm_up)
            ns += weft_now_ns() - start;
        wrong += errand.kind == WEFT_ERRAND_UPDATE && errands[count - 1].data[0] != i;
    }
    measure_line("weft", kind, errand.bytes, 32, (double)ns * 1e-3 / (double)b->trips.timed);
    return measure_right(kind, errand.bytes, wrong);
}

static bool clear(const struct bench *b)
{
    return weft_cuda_fill(b->device, WEFT_STREAM_CALLER, (uint32_t *)b->memory, 0, 128) ==
               WEFT_OK &&
           weft_cuda_wait(b->device, WEFT_STREAM_CALLER) == WEFT_OK;
}

static bool measure_copy(const struct bench *b, void *host)
{
    const uint64_t all = b->trips.warm_up + b->trips.timed;
    uint64_t start = 0;

    for (uint64_t i = 0; i < all; i++) {
        if (i == b->trips.warm_up)
            start = weft_now_ns();
        if (weft_cuda_copy(b->device, WEFT_STREAM_CALLER, host, b->memory, 8) != WEFT_OK ||
            weft_cuda_wait(b->device, WEFT_STREAM_CALLER) != WEFT_OK)
            return false;
    }
    measure_line("driver", "errand_copy", 8, 1,
                 (double)(weft_now_ns() - start) * 1e-3 / (double)b->trips.timed);
    return true;
}

static bool measure_all(struct bench *b, void *host)
{
    const struct weft_errand fetch = {.kind = WEFT_ERRAND_FETCH, .bytes = 8};
    const struct weft_errand most = {.kind = WEFT_ERRAND_FETCH, .bytes = WEFT_ERRAND_BYTES};
    const struct weft_errand store = {.kind = WEFT_ERRAND_STORE, .bytes = 8};
    const struct weft_errand add = {
        .kind = WEFT_ERRAND_UPDATE, .how = WEFT_SUM, .type = WEFT_U64, .bytes = 8, .data = {1}};
    bool good = weft_cuda_block_stay(b->device, true, false, 0) == WEFT_OK;

    good = good && measure(b, "errand_fetch", fetch, 1, false);
    good = good && measure(b, "errand_fetch", most, 1, false);
    good = good && measure(b, "errand_store", store, 1, false);
    good = good && clear(b) && measure(b, "errand_add", add, 1, false);
    good = good && clear(b) && measure(b, "errand_add_16", add, 16, false);
    good = good && weft_cuda_block_leave(b->device) == WEFT_OK;
    b->trips.warm_up = b->trips.warm_up < 100 ? b->trips.warm_up : 100;
    b->trips.timed = b->trips.timed < 2000 ? b->trips.timed : 2000;
    good = good && clear(b) && measure(b, "errand_add_lease", add, 1, false);
    good = good && clear(b) && measure(b, "errand_add_launch", add, 1, true);
    return good && measure_copy(b, host);
}

int main(int argc, char **argv)
{
    struct bench b;
    struct measure_options options;
    struct weft_config config;
    struct weft_share share;

    measure_parse(&options, argc, argv, 0,
                  "The service block: a few bytes of the GPU's memory, there and back.", "", 0);
    if (weft_config_load(&config, &argc, argv) != WEFT_OK ||
        weft_cuda_device.open(&b.device, &config, 0, false) != WEFT_OK)
        return EXIT_FAILURE;
    b.trips = measure_trips_of(&options, 0);
    b.memory = weft_cuda_alloc(b.device, 4096, &share);
    void *host = weft_cuda_host_alloc(b.device, 4096);
    measure_header();
    const bool good = b.memory != NULL && host != NULL && measure_all(&b, host);
    if (host != NULL)
        weft_cuda_host_free(b.device, host);
    if (b.memory != NULL)
        weft_cuda_free(b.device, b.memory, &share);
    weft_cuda_device.close(b.device);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
