/*
 * config_run.h - loads a configuration with one variable, for the tests of base/config.c: a failed
 * load leaves its output and says one line that names the culprit.
 */
#ifndef WEFT_TESTS_CONFIG_RUN_H
#define WEFT_TESTS_CONFIG_RUN_H

#include "base/config.h"
#include "base/say.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static inline int no_variables(void **state)
{
    (void)state;
    return clearenv();
}

static inline weft_status load_with(struct weft_config *config, const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
    weft_status status = weft_config_load(config, NULL, NULL);
    assert_int_equal(unsetenv(name), 0);
    return status;
}

static inline void good(struct weft_config *config, const char *name, const char *value)
{
    if (load_with(config, name, value) != WEFT_OK)
        fail_msg("%s=%s was refused: %s", name, value, weft_err_last());
}

/* Refused, in words that hold `why` and the name; the configuration is not touched. */
static inline void bad(const char *name, const char *value, const char *why)
{
    struct weft_config config, before;

    memset(&config, 0x5a, sizeof(config));
    before = config;
    if (load_with(&config, name, value) != WEFT_ERR_CONFIG)
        fail_msg("%s=%s was accepted", name, value);
    if (strstr(weft_err_last(), name) == NULL || strstr(weft_err_last(), why) == NULL)
        fail_msg("%s=%s: \"%s\" does not say \"%s\"", name, value, weft_err_last(), why);
    assert_int_not_equal(weft_err_last()[strlen(weft_err_last()) - 1], ' ');
    assert_memory_equal(&config, &before, sizeof(config));
}

#define TEST(name) cmocka_unit_test_setup(name, no_variables)

#endif
