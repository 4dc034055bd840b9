/*
 * weft-info --tune: which limit of eager channels measured times give. A gain within the noise is
 * none, and what comes after the first size without one does not count.
 */
#include "limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const size_t sizes[] = {4, 8, 16, 32};

static void wanted(size_t limit, double a, double b, double c, double d)
{
    const double direct[] = {2, 2, 2, 3}, channel[] = {a, b, c, d};

    assert_int_equal(limit_of(sizes, channel, direct, 4), limit);
}

static void limits(void **state)
{
    (void)state;
    wanted(32, 1, 1.2, 1.4, 2.9);
    wanted(16, 1, 1.2, 1.4, 3.1);
    wanted(0, 2.1, 1, 1, 1);
    wanted(4, 1, 2.1, 1, 1);
    wanted(8, 1, 1.9, 1.99, 1); /* 1.99 of 2 is noise */
    wanted(0, 1.99, 1, 1, 1);
    assert_int_equal(limit_of(sizes, NULL, NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
