/*
 * Memory that a GPU reaches (device/cuda/reach.c), and a kernel beside the ranks that cannot be
 * loaded (beside.c), by a driver that knows 64 bytes and counts what it gives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/cuda/beside.c"
#include "device/cuda/reach.c"

enum { BYTES = 64 };

static unsigned char known[3 * BYTES]; /* the part in the middle */
static struct weft_device device;
static int given;   /* modules, streams and memory */
static int refused; /* the call that fails; 0: none */
static int calls;

weft_status weft_cuda_error(CUresult result, const char *what)
{
    (void)what;
    return result == CUDA_SUCCESS ? WEFT_OK : WEFT_ERR_DEVICE;
}

static CUresult answer(int gives)
{
    if (++calls == refused)
        return CUDA_ERROR_UNKNOWN;
    given += gives;
    return CUDA_SUCCESS;
}

static CUresult use(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}
static CUresult pointer_attribute(void *data, CUpointer_attribute what, CUdeviceptr at)
{
    (void)data, (void)what;
    return at - (uintptr_t)&known[BYTES] < BYTES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
static CUresult device_attribute(int *value, CUdevice_attribute what, CUdevice which)
{
    (void)what, (void)which;
    *value = 1 << 16;
    return CUDA_SUCCESS;
}
static CUresult load_module(CUmodule *module, const void *image)
{
    const CUresult result = answer(1);

    if (result == CUDA_SUCCESS)
        *module = (CUmodule)(uintptr_t)image;
    return result;
}
static CUresult find(CUfunction *function, CUmodule module, const char *name)
{
    (void)function, (void)module, (void)name;
    return answer(0);
}
static CUresult attribute(int *value, CUfunction_attribute what, CUfunction function)
{
    (void)what, (void)function;
    *value = 0;
    return answer(0);
}
static CUresult set(CUfunction function, CUfunction_attribute what, int value)
{
    (void)function, (void)what, (void)value;
    return answer(0);
}
static CUresult create(CUstream *stream, unsigned flags, int priority)
{
    const CUresult result = answer(1);

    (void)flags, (void)priority;
    if (result == CUDA_SUCCESS)
        *stream = (CUstream)&given;
    return result;
}
static CUresult host_alloc(void **memory, size_t bytes, unsigned flags)
{
    const CUresult result = answer(1);

    (void)flags;
    if (result == CUDA_SUCCESS)
        *memory = malloc(bytes);
    return result;
}
static CUresult host_free(void *memory)
{
    free(memory);
    given--;
    return CUDA_SUCCESS;
}
static CUresult unload_module(CUmodule module)
{
    (void)module;
    given--;
    return CUDA_SUCCESS;
}
static CUresult destroy(CUstream stream)
{
    (void)stream;
    given--;
    return CUDA_SUCCESS;
}
static CUresult done(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

/* No byte of memory is asked for before its first one, nor where there is none. */
static void test_no_access(void **unused)
{
    (void)unused;
    assert_null(weft_cuda_no_access(&device, &known[BYTES], BYTES));
    assert_null(weft_cuda_no_access(&device, &known[BYTES], 0));
    assert_non_null(weft_cuda_no_access(&device, &known[BYTES], BYTES + 1));
    assert_non_null(weft_cuda_no_access(&device, &known[BYTES - 1], 2));
}

/* Whatever fails, all that was there is freed, and the next try begins anew. */
static void test_beside(void **unused)
{
    const struct weft_beside beside = {.image = &known, .name = "none", .blocks = 1};
    int failed = 0;

    (void)unused;
    for (refused = 1;; refused++) {
        calls = 0;
        if (load(&device, &beside) == WEFT_OK)
            break;
        failed++;
        assert_int_equal(given, 0);
    }
    assert_int_equal(failed, 7);
    assert_int_equal(given, 3);
    weft_cuda_beside_close(&device);
    assert_int_equal(given, 0);
}

int main(void)
{
    static const struct weft_cuda_driver driver = {.context_use = use,
                                                   .pointer_attribute = pointer_attribute,
                                                   .device_attribute = device_attribute,
                                                   .module_load = load_module,
                                                   .module_function = find,
                                                   .module_unload = unload_module,
                                                   .function_attribute = attribute,
                                                   .function_set = set,
                                                   .stream_create = create,
                                                   .stream_destroy = destroy,
                                                   .stream_query = done,
                                                   .host_alloc = host_alloc,
                                                   .host_free = host_free};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_access),
                                       cmocka_unit_test(test_beside)};

    device.driver = &driver;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
