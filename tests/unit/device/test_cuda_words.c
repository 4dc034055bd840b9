/* What the CUDA driver says of its errors (device/cuda/driver.c), also of one that it does not
 * know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "device/cuda/driver.c"

/* As cuGetErrorString. */
static CUresult words_of(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_INVALID_VALUE ? "invalid argument" : NULL;
    return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void test_words(void **unused)
{
    (void)unused;
    assert_null(weft_cuda_why(&driver, CUDA_SUCCESS));
    assert_int_equal(weft_cuda_error(CUDA_SUCCESS, "copying"), WEFT_OK);
    assert_int_equal(weft_cuda_error(CUDA_ERROR_INVALID_VALUE, "copying"), WEFT_ERR_DEVICE);
    assert_string_equal(weft_err_last(), "CUDA: copying: invalid argument");
    assert_int_equal(weft_cuda_error((CUresult)12345, "copying"), WEFT_ERR_DEVICE);
    assert_string_equal(weft_err_last(), "CUDA: copying: unknown error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words)};

    driver.get_error = words_of;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
