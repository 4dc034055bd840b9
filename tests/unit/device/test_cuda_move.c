/*
 * Copies of memory of which the program has registered a part (device/cuda/move.c), by a driver
 * with CUDA's rule: a copy that begins in registered memory and ends beyond it is refused. It is
 * done in parts, also that of a rectangle; what is refused for another reason fails, and soon, and
 * nothing of it is under way then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cuda/cuda_device.h"

enum { BYTES = 5000, RANGES = 3 };

static unsigned char host[BYTES], other[BYTES]; /* `host` has what is registered */
static struct {
    size_t begins, ends;
} ranges[RANGES];
static struct weft_device device;
static CUresult fails; /* if not CUDA_SUCCESS: each copy */
static int calls, waits;

weft_status weft_cuda_error(CUresult result, const char *what)
{
    (void)what;
    return result == CUDA_SUCCESS ? WEFT_OK : WEFT_ERR_DEVICE;
}

static CUresult use(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}

static CUresult answer(CUdeviceptr address, size_t bytes)
{
    const size_t at = (size_t)(address - (uintptr_t)host);

    for (int i = 0; i < RANGES && at < BYTES; i++)
        if (at >= ranges[i].begins && at < ranges[i].ends && at + bytes > ranges[i].ends)
            return CUDA_ERROR_INVALID_VALUE;
    return fails;
}

static CUresult copy(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream)
{
    const CUresult there = answer(target, bytes), here = answer(source, bytes);

    (void)stream;
    calls++;
    if (there == CUDA_SUCCESS && here == CUDA_SUCCESS)
        memmove((void *)(uintptr_t)target, (const void *)(uintptr_t)source, bytes);
    return there != CUDA_SUCCESS ? there : here;
}

static CUresult copy_rows(const CUDA_MEMCPY2D *all, CUstream stream)
{
    CUresult result = answer(all->srcDevice, (all->Height - 1) * all->srcPitch + all->WidthInBytes);

    calls++;
    for (size_t r = 0; r < all->Height && result == CUDA_SUCCESS; r++)
        result = copy(all->dstDevice + r * all->dstPitch, all->srcDevice + r * all->srcPitch,
                      all->WidthInBytes, stream);
    return result;
}

static CUresult stream_wait(CUstream stream)
{
    (void)stream;
    waits++;
    return CUDA_SUCCESS;
}

static int set_up(void **state)
{
    static const struct weft_cuda_driver driver = {
        .context_use = use, .copy_async = copy, .copy_rows = copy_rows, .stream_wait = stream_wait};

    (void)state;
    device.driver = &driver;
    memset(ranges, 0, sizeof(ranges));
    for (size_t i = 0; i < BYTES; i++)
        host[i] = (unsigned char)(i * 7 % 251);
    memset(other, 0, BYTES);
    fails = CUDA_SUCCESS;
    calls = waits = 0;
    return 0;
}

static size_t below(size_t most)
{
    return (size_t)rand() % most;
}

/* Up to three of them, which may follow each other at once. */
static void register_some(void)
{
    size_t at = 0;

    for (int i = 0; i < RANGES; i++) {
        ranges[i].begins = at + below(3) * below(1000);
        ranges[i].ends = ranges[i].begins + below(2) * (1 + below(1000));
        at = ranges[i].ends;
    }
}

static void parts_of_it_are_registered(void **state)
{
    unsigned char was[BYTES];

    (void)state;
    for (int i = 0; i < 20000; i++) {
        const size_t at = below(BYTES - 1), to = below(BYTES - 1);
        const size_t bytes = 1 + below(BYTES - (at > to ? at : to));
        const bool out = i % 2 == 0;
        register_some();
        memcpy(was, out ? other : host, BYTES);
        memcpy(was + to, (out ? host : other) + at, bytes);
        calls = 0;
        assert_int_equal(weft_cuda_copy(&device, WEFT_STREAM_CALLER, (out ? other : host) + to,
                                        (out ? host : other) + at, bytes),
                         WEFT_OK);
        assert_memory_equal(out ? other : host, was, BYTES);
        assert_in_range(calls, 1, 1 + 2 * RANGES * 13); /* 2^13: more than BYTES */
    }
}

static void all_or_nothing_is_one_copy(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        ranges[0].begins = i == 1 ? 0 : 100; /* nothing, all, or the end of it */
        ranges[0].ends = i == 0 ? 100 : BYTES;
        calls = 0;
        assert_int_equal(weft_cuda_copy(&device, WEFT_STREAM_MESSAGES, other, host, BYTES),
                         WEFT_OK);
        assert_int_equal(calls, 1);
    }
}

static void a_rectangle_goes_by_rows(void **state)
{
    enum { WIDTH = 70, PITCH = 100, ROWS = 40 };

    (void)state;
    for (int i = 0; i < 100; i++) {
        register_some();
        memset(other, 0, BYTES);
        assert_int_equal(
            weft_cuda_gather(&device, WEFT_STREAM_SEND, other, host, PITCH, WIDTH, ROWS), WEFT_OK);
        for (size_t r = 0; r < ROWS; r++)
            assert_memory_equal(other + r * WIDTH, host + r * PITCH, WIDTH);
    }
}

static void other_refusals_fail(void **state)
{
    (void)state;
    fails = CUDA_ERROR_UNKNOWN;
    assert_int_equal(weft_cuda_copy(&device, WEFT_STREAM_CALLER, other, host, BYTES),
                     WEFT_ERR_DEVICE);
    assert_int_equal(calls, 1);
    assert_int_equal(weft_cuda_gather(&device, WEFT_STREAM_SEND, other, host, 9, 8, 7),
                     WEFT_ERR_DEVICE);
    fails = CUDA_ERROR_INVALID_VALUE;
    calls = 0;
    assert_int_equal(weft_cuda_copy(&device, WEFT_STREAM_CALLER, other, host, BYTES),
                     WEFT_ERR_DEVICE);
    assert_in_range(calls, 1, 13);
    assert_int_equal(waits, 2); /* for parts that may have begun: memory is the program's again */
    assert_int_equal(weft_cuda_gather(&device, WEFT_STREAM_SEND, other, host, 9, 8, 7),
                     WEFT_ERR_DEVICE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(parts_of_it_are_registered, set_up),
        cmocka_unit_test_setup(all_or_nothing_is_one_copy, set_up),
        cmocka_unit_test_setup(a_rectangle_goes_by_rows, set_up),
        cmocka_unit_test_setup(other_refusals_fail, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
