/* kernels.c - the kernels of tests/remote for the fake driver; as a plug-in, and in test programs.
 */
#include "kernels.h"

#include "fake/fake.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>

static size_t threads_of(const struct weft_fake_launch *launch)
{
    size_t n = 1;

    for (int i = 0; i < 3; i++)
        n *= (size_t)launch->grid[i] * launch->block[i];
    return n;
}

static void vector_add(const struct weft_fake_launch *launch)
{
    const float *a = *(const float **)launch->parameters[0],
                *b = *(const float **)launch->parameters[1];
    float *c = *(float **)launch->parameters[2];
    const size_t threads = threads_of(launch);

    for (size_t i = 0; i < threads && i < (size_t) * (int *)launch->parameters[3]; i++)
        c[i] = a[i] + b[i];
}

static void scale(const struct weft_fake_launch *launch)
{
    unsigned *a = *(unsigned **)launch->parameters[0]; /* it wraps, as on a GPU */
    const unsigned factor = *(unsigned *)launch->parameters[1],
                   shift = *(unsigned *)launch->parameters[2];

    for (size_t i = 0; i < threads_of(launch); i++)
        a[i] = a[i] * factor + shift;
}

static void slow(const struct weft_fake_launch *launch)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    int *a = *(int **)launch->parameters[0];

    nanosleep(&pause, NULL);
    for (size_t i = 0; i < threads_of(launch); i++)
        a[i] += *(int *)launch->parameters[1];
}

static const struct weft_fake_registry *driver;

static void speak(const struct weft_fake_launch *launch)
{
    const int from = *(int *)launch->parameters[0], count = *(int *)launch->parameters[1];
    char line[80];

    for (int i = 0; i < count; i++) {
        snprintf(line, sizeof(line), "line %d of a kernel\n", from + i);
        driver->print(1, line);
    }
    driver->print(2, "a kernel's own error\n");
}

static void fetch(const struct weft_fake_launch *launch)
{
    int *out = *(int **)launch->parameters[0];
    const uint64_t texture = *(uint64_t *)launch->parameters[1];
    const int width = *(int *)launch->parameters[2], rows = *(int *)launch->parameters[3];

    for (int y = 0; y < (rows > 0 ? rows : 1); y++)
        for (int x = 0; x < width; x++) {
            const int *texel = driver->texel(texture, (size_t)x, (size_t)y, 0);
            out[y * width + x] = texel != NULL ? *texel : -1;
        }
}

static void store(const struct weft_fake_launch *launch)
{
    const uint64_t surface = *(uint64_t *)launch->parameters[0];
    const int width = *(int *)launch->parameters[1], rows = *(int *)launch->parameters[2];

    for (int y = 0; y < rows; y++)
        for (int x = 0; x < width; x++) {
            int *texel = driver->texel(surface, (size_t)x, (size_t)y, 0);
            if (texel != NULL)
                *texel += *(int *)launch->parameters[3];
        }
}

void weft_fake_kernels(const struct weft_fake_registry *registry);
__attribute__((visibility("default"))) void
weft_fake_kernels(const struct weft_fake_registry *registry)
{
    static const size_t add_sizes[] = {8, 8, 8, 4}, scale_sizes[] = {8, 4, 4},
                        slow_sizes[] = {8, 4}, speak_sizes[] = {4, 4}, fetch_sizes[] = {8, 8, 4, 4},
                        store_sizes[] = {8, 4, 4, 4};

    driver = registry;

    registry->kernel(KERNEL_ADD, vector_add, 4, add_sizes);
    registry->kernel(KERNEL_SCALE, scale, 3, scale_sizes);
    registry->kernel(KERNEL_SLOW, slow, 2, slow_sizes);
    registry->kernel(KERNEL_SPEAK, speak, 2, speak_sizes);
    registry->kernel(KERNEL_FETCH, fetch, 4, fetch_sizes);
    registry->kernel(KERNEL_STORE, store, 4, store_sizes);
    registry->global(GLOBAL_TABLE, 64 * sizeof(int));
}
