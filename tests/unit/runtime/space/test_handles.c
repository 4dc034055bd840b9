/* The largest tables that settings allow have indexes that fit into a handle. */
#include "base/config.h"
#include "rank/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void indexes_fit(void **state)
{
    (void)state;
    assert_true(2 * weft_config_rows[WEFT_CONFIG_AT_WINDOWS].max < 1 << WEFT_HANDLE_BITS);
    assert_true(2 * weft_config_rows[WEFT_CONFIG_AT_COMMS].max < 1 << WEFT_HANDLE_BITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(indexes_fit)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
