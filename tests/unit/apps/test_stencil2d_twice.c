/* Two iterations in one sweep as a GPU's warps run them: 32 threads are the lanes of a warp, which
 * meet at each exchange. Tiles of all widths and heights around a strip's, at all edges; also a
 * sweep of one iteration. */
#include "problem.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LANES = 32, WARPS = 2 };

static _Thread_local struct {
    unsigned x;
} threadIdx;
static pthread_barrier_t meeting;
static double lanes[LANES];

/* A lane's value; there is none: the caller's own. */
static double exchange(double own, int lane)
{
    lanes[threadIdx.x] = own;
    pthread_barrier_wait(&meeting);
    const double got = lane < 0 || lane >= LANES ? own : lanes[lane];
    pthread_barrier_wait(&meeting);
    return got;
}

#pragma GCC diagnostic ignored "-Wunknown-pragmas" /* unroll */
#define __CUDACC__
#define __device__
#define __forceinline__                      inline
#define __shfl_sync(mask, value, lane)       (value)
#define __shfl_up_sync(mask, value, delta)   exchange(value, (int)threadIdx.x - (delta))
#define __shfl_down_sync(mask, value, delta) exchange(value, (int)threadIdx.x + (delta))
#include "twice.h"

static struct field tile;

static void *lane_main(void *number)
{
    threadIdx.x = (unsigned)(size_t)number;
    for (uint32_t warp = 0; warp <= WARPS; warp++) /* the last one is not whole */
        sweep_twice(&tile, warp, WARPS);
    return NULL;
}

static void run_tile(void)
{
    pthread_t thread[LANES];

    for (size_t i = 0; i < LANES; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, lane_main, (void *)i), 0);
    for (size_t i = 0; i < LANES; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
}

/* Tiles of so many rows and columns, one after the other, against the plate by one thread. */
static void check(uint64_t n, uint64_t high, uint64_t wide, uint32_t iterations)
{
    const struct options options = {.variant = VARIANT_RANKS, .n = n, .iterations = iterations};
    const size_t width = n + 2, bytes = width * width * sizeof(double);
    double ms, *const want = solve(&options, &ms), *const in = malloc(bytes),
                      *const out = malloc(bytes);

    assert_true(want != NULL && in != NULL && out != NULL);
    start_rows(n, 0, width, in);
    start_rows(n, 0, width, out);
    for (uint64_t row = 1; row <= n; row += high)
        for (uint64_t column = 1; column <= n; column += wide) {
            const uint64_t rows = n + 1 - row < high ? n + 1 - row : high;
            const uint64_t columns = n + 1 - column < wide ? n + 1 - column : wide;
            tile = (struct field){.in = in + row * width + column,
                                  .out = out + row * width + column,
                                  .from = width,
                                  .to = width,
                                  .rows = rows,
                                  .columns = columns};
            tile.above = tile.in - width;
            tile.below = tile.in + rows * width;
            tile.above_two = row == 1 ? tile.above : tile.above - width;
            tile.two_below = row + rows > n ? tile.below : tile.below + width;
            tile.edges = (row == 1 ? EDGE_ABOVE : 0) | (row + rows > n ? EDGE_BELOW : 0) |
                         (column == 1 ? EDGE_LEFT : 0) | (column + columns > n ? EDGE_RIGHT : 0) |
                         (iterations == 1 ? EDGE_ALL : 0);
            run_tile();
        }
    assert_memory_equal(out, want, bytes);
    free(want);
    free(in);
    free(out);
}

static void test_whole_plates(void **state)
{
    static const uint64_t sizes[] = {1, 2, 3, 27, 28, 29, 56, 57, 85};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check(sizes[i], sizes[i], sizes[i], 2);
}

static void test_tiles(void **state)
{
    (void)state;
    check(61, 20, 61, 2);
    check(61, 61, 28, 2);
    check(61, 30, 29, 2);
    check(9, 1, 1, 2);
}

static void test_one_iteration(void **state)
{
    (void)state;
    check(61, 30, 29, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_plates),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_one_iteration),
    };

    assert_int_equal(pthread_barrier_init(&meeting, NULL, LANES), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
