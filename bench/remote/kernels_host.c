/* triangles_host.c - the kernels of triangles.cu for the driver in host memory
 * (tests/remote/fake). */
#include "triangles.h"

#include "fake/fake.h"

#include <time.h>

#define ARGUMENT(type, index) (*(type *)launch->parameters[index])

static void starts(const struct weft_fake_launch *launch)
{
    for (int i = 0; i <= ARGUMENT(int, 1); i++)
        starts_step(i, ARGUMENT(const struct edge *, 0), ARGUMENT(int, 1), ARGUMENT(int *, 2),
                    ARGUMENT(int, 3));
}

static void kept(const struct weft_fake_launch *launch)
{
    for (int node = 0; node < ARGUMENT(int, 3); node++)
        kept_step(node, ARGUMENT(const struct edge *, 0), ARGUMENT(const int *, 1),
                  ARGUMENT(int *, 2));
}

static void scan(const struct weft_fake_launch *launch)
{
    int *value = ARGUMENT(int *, 0), sum = 0;

    for (int i = 0; i < ARGUMENT(int, 1); i++) {
        const int here = value[i];
        value[i] = sum;
        sum += here;
    }
    value[ARGUMENT(int, 1)] = sum;
}

static void keep(const struct weft_fake_launch *launch)
{
    for (int node = 0; node < ARGUMENT(int, 5); node++)
        keep_step(node, ARGUMENT(const struct edge *, 0), ARGUMENT(const int *, 1),
                  ARGUMENT(const int *, 2), ARGUMENT(int *, 3), ARGUMENT(int *, 4));
}

static void count(const struct weft_fake_launch *launch)
{
    for (int i = ARGUMENT(int, 3); i < ARGUMENT(int, 4); i++)
        *ARGUMENT(unsigned long long *, 5) += (unsigned long long)count_step(
            i, ARGUMENT(const int *, 0), ARGUMENT(const int *, 1), ARGUMENT(const int *, 2));
}

/* copy.cu: so many nanoseconds. */
static void spin(const struct weft_fake_launch *launch)
{
    const long long ns = ARGUMENT(long long, 0);

    nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

/* samples.cu: value = value * factor + shift, of `count` values. */
static void scale(const struct weft_fake_launch *launch)
{
    for (int i = 0; i < ARGUMENT(int, 1); i++)
        ARGUMENT(int *, 0)[i] = ARGUMENT(int *, 0)[i] * ARGUMENT(int, 2) + ARGUMENT(int, 3);
}

/* samples.cu: the sum of all values is added to each. */
static void cooperate(const struct weft_fake_launch *launch)
{
    int *value = ARGUMENT(int *, 0), sum = 0;

    for (int i = 0; i < ARGUMENT(int, 1); i++)
        sum += value[i];
    for (int i = 0; i < ARGUMENT(int, 1); i++)
        value[i] += sum;
    *ARGUMENT(int *, 2) = sum;
}

void weft_fake_kernels(const struct weft_fake_registry *registry);
__attribute__((visibility("default"))) void
weft_fake_kernels(const struct weft_fake_registry *registry)
{
    static const size_t starts_sizes[] = {8, 4, 8, 4}, kept_sizes[] = {8, 8, 8, 4},
                        scan_sizes[] = {8, 4}, keep_sizes[] = {8, 8, 8, 8, 8, 4},
                        count_sizes[] = {8, 8, 8, 4, 4, 8}, spin_sizes[] = {8},
                        scale_sizes[] = {8, 4, 4, 4}, cooperate_sizes[] = {8, 4, 8};

    registry->kernel("triangles_starts", starts, 4, starts_sizes);
    registry->kernel("triangles_kept", kept, 4, kept_sizes);
    registry->kernel("triangles_scan", scan, 2, scan_sizes);
    registry->kernel("triangles_keep", keep, 6, keep_sizes);
    registry->kernel("triangles_count", count, 6, count_sizes);
    registry->kernel("copy_spin", spin, 1, spin_sizes);
    registry->kernel("samples_scale", scale, 4, scale_sizes);
    registry->kernel("samples_cooperate", cooperate, 3, cooperate_sizes);
}
