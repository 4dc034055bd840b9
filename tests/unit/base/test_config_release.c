/*
 * The table of settings as a library without tests has it: those for tests are unknown there.
 */
#define bad refuse /* both have a function of this name */
#include "base/config_table.c"
#undef bad

#include "config_run.h"

static void test_settings(void **state)
{
    struct weft_config c;
    int tests = 0;

    (void)state;
    for (int i = 0; i < WEFT_CONFIG_ROWS; i++)
        tests += !weft_config_offers(&weft_config_rows[i]);
    assert_in_range(WEFT_CONFIG_ROWS - tests, 1, 75); /* for users and experts */
    good(&c, "WEFT_RANKS", "208");
    bad("WEFT_COUNTER_START", "1", "WEFT_COUNTER_START is not a setting of weft");
    bad("WEFT_MUTAT", "x", "WEFT_MUTAT is not a setting of weft (weft-info"); /* nor offered */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_settings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
