/*
 * Elements put together exactly: every value of 16 bits there and back, rounding against double,
 * the least and largest, NaN, zeros of both signs, integers that wrap; and the caller's
 * floating-point mode, which changes nothing.
 */
#include "order/element.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

static uint64_t random_state = 1;

static uint64_t draw(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state ^ random_state >> 29;
}

static float f32_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint64_t put(uint64_t a, uint64_t b, uint32_t type, uint32_t how)
{
    struct weft_elements all = weft_elements_open(a, type);
    weft_elements_put(&all, b, type, how);
    return weft_elements_close(&all, type);
}

/* What a real of 16 bits is worth, by its definition. */
static double worth(uint32_t bits, uint32_t type)
{
    const int digits = type == WEFT_F16 ? 10 : 7, bias = type == WEFT_F16 ? 15 : 127;
    const int most = type == WEFT_F16 ? 31 : 255, exponent = (bits & 0x7fff) >> digits;
    const double sign = bits >> 15 ? -1 : 1, rest = bits & ((1u << digits) - 1);

    if (exponent == most)
        return rest != 0 ? (double)NAN : sign * HUGE_VAL;
    if (exponent == 0)
        return sign * ldexp(rest, 1 - bias - digits);
    return sign * ldexp(rest + (1 << digits), exponent - bias - digits);
}

static void widens_and_rounds(void **state)
{
    (void)state;
    for (uint32_t type = WEFT_F16; type <= WEFT_BF16; type++)
        for (uint32_t bits = 0; bits < 1u << 16; bits++) {
            const double is = worth(bits, type);
            const uint32_t wide = weft_element_widen(bits, type);
            if (isnan(is)) {
                assert_true(isnan(f32_of(wide)));
                assert_int_equal(weft_element_round(wide, type), 0x7fff);
            } else {
                assert_true((double)f32_of(wide) == is && !signbit(f32_of(wide)) == !signbit(is));
                assert_int_equal(weft_element_round(wide, type), bits);
            }
        }
}

/* The nearest value, and of two the one with an even last bit. */
static void rounds_to_nearest(void **state)
{
    (void)state;
    for (uint32_t type = WEFT_F16; type <= WEFT_BF16; type++)
        for (int i = 0; i < 400000; i++) {
            const uint32_t low = (uint32_t)draw() & 0x7fff;
            if (isnan(worth(low, type)) || isinf(worth(low, type)))
                continue;
            const uint32_t begin = weft_element_widen(low, type);
            const float half =
                (float)((worth(low, type) + (isinf(worth(low + 1, type))
                                                 ? 2 * worth(low, type) - worth(low - 1, type)
                                                 : worth(low + 1, type))) /
                        2);
            const uint32_t middle = weft_bits_of_f32(half);
            const uint32_t even = low % 2 == 0 ? low : low + 1;
            assert_int_equal(weft_element_round(begin, type), low);
            assert_int_equal(weft_element_round(middle, type), even);
            if (middle > begin + 1)
                assert_int_equal(weft_element_round(middle - 1, type), low);
            assert_int_equal(weft_element_round(middle + 1, type), low + 1);
            assert_int_equal(weft_element_round(middle | 1u << 31, type), even | 0x8000);
        }
}

/* Three members: the sum of two is not rounded in between. */
static void rounds_once(void **state)
{
    struct weft_elements all = weft_elements_open(0x3f803f803f803f80u, WEFT_BF16); /* 1 */

    (void)state;
    weft_elements_put(&all, 0x3b803b803b803b80u, WEFT_BF16, WEFT_SUM); /* 2^-8: half of a step */
    weft_elements_put(&all, 0x3b803b803b803b80u, WEFT_BF16, WEFT_SUM);
    assert_int_equal(weft_elements_close(&all, WEFT_BF16), 0x3f813f813f813f81u);
}

static void check_special(void)
{
    const uint64_t two = 0x100000001u; /* both elements of a word */

    /* Subnormals, infinities, NaN. */
    assert_int_equal(put(1 * two, 2 * two, WEFT_F32, WEFT_SUM), 3 * two);
    assert_int_equal(put(1, 2, WEFT_F64, WEFT_SUM), 3);
    assert_int_equal(put(0x0001000100010001u, 0x0002000200020002u, WEFT_F16, WEFT_SUM),
                     0x0003000300030003u);
    assert_int_equal(put(0x0001000100010001u, 0x0002000200020002u, WEFT_BF16, WEFT_SUM),
                     0x0003000300030003u);
    assert_int_equal(put(0x7f800000u * two, 0xff800000u * two, WEFT_F32, WEFT_SUM),
                     0x7fffffffu * two);
    assert_int_equal(put(0xffc12345u * two, two, WEFT_F32, WEFT_PROD), 0x7fffffffu * two);
    assert_int_equal(put(0xfff8000000000001u, 0, WEFT_F64, WEFT_SUM), 0x7ff8000000000000u);
    assert_int_equal(put(0x7bff7bff7bff7bffu, 0x7bff7bff7bff7bffu, WEFT_F16, WEFT_SUM),
                     0x7c007c007c007c00u);
    /* MIN, MAX: any number is preferred to a NaN, subnormals differ, of zeros the first stays. */
    assert_int_equal(put(0x7fc00000u * two, 5 * two, WEFT_F32, WEFT_MIN), 5 * two);
    assert_int_equal(put(5 * two, 0xffc00000u * two, WEFT_F32, WEFT_MAX), 5 * two);
    assert_int_equal(put(0x7fc00001u * two, 0xffc00000u * two, WEFT_F32, WEFT_MAX),
                     0x7fffffffu * two);
    assert_int_equal(put(2 * two, 1 * two, WEFT_F32, WEFT_MIN), 1 * two);
    assert_int_equal(put(0x80000001u * two, 0x80000002u * two, WEFT_F32, WEFT_MIN),
                     0x80000002u * two);
    assert_int_equal(put(0, 1ull << 63, WEFT_F64, WEFT_MIN), 0);
    assert_int_equal(put(1ull << 63, 0, WEFT_F64, WEFT_MAX), 1ull << 63);
    assert_int_equal(put(0xbf80000040000000u, 0x3f800000bf800000u, WEFT_F32, WEFT_MAX),
                     0x3f80000040000000u);
}

static void special(void **state)
{
    (void)state;
    check_special();
}

/* The caller flushes subnormals, and rounds down. */
static void modes_of_the_caller(void **state)
{
    fenv_t callers;

    (void)state;
#ifdef __SSE__
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0xa040);
    weft_exact_begin(&callers);
    check_special();
    weft_exact_end(&callers);
    assert_int_equal(_mm_getcsr() & 0xe040, (mode & 0xe040) | 0xa040);
    _mm_setcsr(mode);
#else
    weft_exact_begin(&callers);
    check_special();
    weft_exact_end(&callers);
#endif
}

static void integers(void **state)
{
    (void)state;
    assert_int_equal(put(0xff00ff00ff00ff01u, 0x02ff02ff02ff02ffu, WEFT_U8, WEFT_SUM),
                     0x01ff01ff01ff0100u);
    assert_int_equal(put(0x7fu, 0x80u, WEFT_U8, WEFT_MAX), 0x80u);
    assert_int_equal(put(0x10u, 0x11u, WEFT_U8, WEFT_PROD), 0x10u);
    assert_int_equal(put(0xffffffff00000001u, 0x00000001ffffffffu, WEFT_I32, WEFT_MIN),
                     0xffffffffffffffffu);
    assert_int_equal(put(0xffffffff00000001u, 0x00000001ffffffffu, WEFT_U32, WEFT_SUM), 0);
    assert_int_equal(put(1ull << 63, 1, WEFT_I64, WEFT_MAX), 1);
    assert_int_equal(put(0xf0f0u, 0xff00u, WEFT_U8, WEFT_XOR), 0x0ff0u);
    assert_true(weft_element_exists(WEFT_U8, WEFT_XOR) && weft_element_exists(WEFT_F16, WEFT_PROD));
    assert_false(weft_element_exists(WEFT_BF16, WEFT_AND) || weft_element_exists(WEFT_U8 + 1, 0) ||
                 weft_element_exists(WEFT_F32, WEFT_PROD + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widens_and_rounds),   cmocka_unit_test(rounds_to_nearest),
        cmocka_unit_test(rounds_once),         cmocka_unit_test(special),
        cmocka_unit_test(modes_of_the_caller), cmocka_unit_test(integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
