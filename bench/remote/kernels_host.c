/* triangles_host.c - the kernels of triangles.cu for the driver in host memory
 * (tests/remote/fake). */
#include "triangles.h"

#include "fake/fake.h"

#include <time.h>

#define ARGUMENT(type, index) (*(type *)launch->parameters[index])

static void starts(const struct weft_fake_launch *launch)
{
    for (int i = 0; i <= ARGUMENT(int, 1); i++)
        starts_step(i, i, ARGUMENT(const struct edge *, 0), ARGUMENT(int, 1), ARGUMENT(int *, 2),
                    ARGUMENT(int, 3));
}

/* All in the first chunk, as far as the scan sees. */
static void kept(const struct weft_fake_launch *launch)
{
    const struct edge *edge = ARGUMENT(const struct edge *, 0);

    for (unsigned chunk = 0; chunk < launch->grid[0]; chunk++)
        ARGUMENT(int *, 3)[chunk] = 0;
    for (int i = 0; i < ARGUMENT(int, 1); i++)
        ARGUMENT(int *, 3)[0] += is_kept(edge[i].from, edge[i].to, ARGUMENT(const int *, 2));
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
    const struct edge *edge = ARGUMENT(const struct edge *, 0);
    const int edges = ARGUMENT(int, 1), *starts_of = ARGUMENT(const int *, 2);

    for (int i = 0, at = 0; i <= edges; i++) {
        keep_step(i, at, edge, edges, starts_of, ARGUMENT(int, 4), ARGUMENT(int *, 5),
                  ARGUMENT(int *, 6), ARGUMENT(int *, 7));
        at += i < edges && is_kept(edge[i].from, edge[i].to, starts_of);
    }
}

static void count(const struct weft_fake_launch *launch)
{
    const int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int t = 0; t < threads; t++) {
        const int i = striped(t, ARGUMENT(int, 4), ARGUMENT(int, 5));
        if (i < ARGUMENT(int, 3))
            *ARGUMENT(unsigned long long *, 6) += (unsigned long long)count_step(
                i, ARGUMENT(const int *, 0), ARGUMENT(const int *, 1), ARGUMENT(const int *, 2));
    }
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

/* peers.cu */
static void peers_move(const struct weft_fake_launch *launch)
{
    for (long long i = 0; i < 4 * ARGUMENT(long long, 2); i++)
        ARGUMENT(int *, 0)[i] = ARGUMENT(const int *, 1)[i] + ARGUMENT(int, 3);
}

static void peers_count(const struct weft_fake_launch *launch)
{
    for (unsigned i = 0; i < launch->grid[0] * launch->block[0]; i++)
        __atomic_fetch_add(ARGUMENT(int *, 0), 1, __ATOMIC_RELAXED);
}

/* empty.cu */
static void nothing(const struct weft_fake_launch *launch)
{
    (void)launch;
}

void weft_fake_kernels(const struct weft_fake_registry *registry);
__attribute__((visibility("default"))) void
weft_fake_kernels(const struct weft_fake_registry *registry)
{
    static const size_t starts_sizes[] = {8, 4, 8, 4}, kept_sizes[] = {8, 4, 8, 8},
                        scan_sizes[] = {8, 4}, keep_sizes[] = {8, 4, 8, 8, 4, 8, 8, 8},
                        count_sizes[] = {8, 8, 8, 4, 4, 4, 8}, spin_sizes[] = {8},
                        scale_sizes[] = {8, 4, 4, 4}, cooperate_sizes[] = {8, 4, 8},
                        move_sizes[] = {8, 8, 8, 4};

    registry->kernel("triangles_starts", starts, 4, starts_sizes);
    registry->kernel("triangles_kept", kept, 4, kept_sizes);
    registry->kernel("triangles_scan", scan, 2, scan_sizes);
    registry->kernel("triangles_keep", keep, 8, keep_sizes);
    registry->kernel("triangles_count", count, 7, count_sizes);
    registry->kernel("copy_spin", spin, 1, spin_sizes);
    registry->kernel("samples_scale", scale, 4, scale_sizes);
    registry->kernel("samples_cooperate", cooperate, 3, cooperate_sizes);
    registry->kernel("peers_move", peers_move, 4, move_sizes);
    registry->kernel("peers_count", peers_count, 1, scale_sizes);
    registry->kernel("empty_kernel", nothing, 0, NULL);
}
