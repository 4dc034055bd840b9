/* How the particles' box is cut into segments: all cells, each once, none too small or too large.
 */
#include "problem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void check(uint32_t width, uint32_t height, uint32_t segments, uint32_t less)
{
    const struct settings settings = {.size = {width, height, width * height * 2}};
    struct particles_box box;

    assert_true(particles_make_box(&settings, 0, 3, false, &box));
    particles_divide(&settings, segments, less, &box);
    const uint32_t cells = particles_cells(&box), most = particles_most_cells(&box);
    const uint32_t least = cells / segments >= 2 * width - 1 ? 2 * width - 1 : width;

    assert_int_equal(particles_first(&box, 0), 0);
    assert_int_equal(particles_first(&box, segments), cells);
    for (uint32_t s = 0; s < segments; s++) {
        const uint32_t here = particles_first(&box, s + 1) - particles_first(&box, s);
        assert_in_range(here, least, most);
        assert_true(here + (s == 0 || s == segments - 1 ? box.less : 0) >= most - box.grain);
    }
    const bool can = segments > 2 && cells / segments >= 2 * width - 1 + less;
    assert_int_equal(box.less, can ? less : 0);
}

static void test_even(void **state)
{
    (void)state;
    for (uint32_t segments = 1; segments <= 40; segments++)
        check(23, 40, segments, 0);
}

static void test_less_at_the_ends(void **state)
{
    (void)state;
    for (uint32_t segments = 1; segments <= 40; segments++)
        for (uint32_t less = 1; less < 40; less += 6)
            check(23, 40, segments, less);
    check(416, 416, 132, 208);
}

/* With the sizes of the case study the two at the ends are smaller, and the others hardly larger.
 */
static void test_thesis(void **state)
{
    const struct settings settings = {.size = {416, 416, 410600}};
    struct particles_box box;

    (void)state;
    assert_true(particles_make_box(&settings, 0, 2, false, &box));
    particles_divide(&settings, 132, 208, &box);
    assert_int_equal(box.less, 208);
    assert_in_range(particles_first(&box, 1), 1103, 1107);
    assert_in_range(particles_most_cells(&box), 1314, 1315);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_even),
                                       cmocka_unit_test(test_less_at_the_ends),
                                       cmocka_unit_test(test_thesis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
