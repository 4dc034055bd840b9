/* Formats come from kernels and are not trusted: whatever they hold, a line of text comes out. */
#include "runtime/job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The format and its arguments as a rank packs them, formatted. */
static const char *formatted(const char *format, int count, const weft_log_arg *args)
{
    static char out[256];
    unsigned char payload[WEFT_LOG_TEXT + WEFT_LOG_ARGS * sizeof(weft_log_arg)];
    const uint32_t length = (uint32_t)strlen(format);

    memcpy(payload, format, length);
    memcpy(payload + length, args, (size_t)count * sizeof(*args));
    memset(out, 'u', sizeof(out)); /* nothing of it may come through */
    weft_log_format(out, sizeof(out), payload, length,
                    length + (uint32_t)((size_t)count * sizeof(*args)), (uint32_t)count);
    assert_non_null(memchr(out, 0, sizeof(out)));
    return out;
}

static const char *number(const char *format, uint64_t value)
{
    const weft_log_arg arg = {value, WEFT_LOG_INT, 0};

    return formatted(format, 1, &arg);
}

static void plain_conversions(void **state)
{
    (void)state;
    assert_string_equal(number("%d", 42), "42");
    assert_string_equal(number("[%5d] %%", 42), "[   42] %");
    assert_string_equal(number("%s", 42), "42");
    assert_string_equal(number("%n", 42), "42");
    assert_string_equal(formatted("%s", 1, &(weft_log_arg){0x5eed, WEFT_LOG_PTR, 0}), "0x5eed");
    assert_string_equal(number("%d %d", 42), "42 %d");
    assert_string_equal(number("%", 42), "%");
    assert_string_equal(number("%-", 42), "%-");
}

/* A width is at most 999, and a conversion that is too long for its line is cut. */
static void widths_are_bounded(void **state)
{
    (void)state;
    assert_string_equal(number("%2000d", 42), "%2000d");
    assert_string_equal(number("%.2000d", 42), "%.2000d");
    assert_string_equal(number("%2000000000d", 42), "%2000000000d");
    assert_string_equal(number("%99999999999d", 42), "%99999999999d");
    assert_true(strlen(number("%999d", 42)) < 256);
    assert_int_equal(strspn(number("%999d", 42), " "), strlen(number("%999d", 42)));
}

/* Text comes behind the values; lengths that lie are cut to what is there. */
static void texts(void **state)
{
    static const char bytes[] = "onetwo";
    weft_log_arg args[] = {{3, WEFT_LOG_STRING, 0}, {7, WEFT_LOG_INT, 0}, {99, WEFT_LOG_STRING, 0}};
    unsigned char payload[256];
    char out[64];

    (void)state;
    memcpy(payload, "%-5s%d %s", 9);
    memcpy(payload + 9, args, sizeof(args));
    memcpy(payload + 9 + sizeof(args), bytes, 6);
    weft_log_format(out, sizeof(out), payload, 9, 9 + sizeof(args) + 6, 3);
    assert_string_equal(out, "one  7 two");
    assert_string_equal(formatted("%s!", 1, &(weft_log_arg){1000, WEFT_LOG_STRING, 0}), "!");
    assert_string_equal(formatted("%s", 1, &(weft_log_arg){0, WEFT_LOG_PTR, 0}), "(null)");
}

static void malformed_messages(void **state)
{
    char out[32];
    const unsigned char payload[8] = "%d";

    (void)state;
    weft_log_format(out, sizeof(out), payload, 2, 8, 1);
    assert_string_equal(out, "(malformed message)");
    weft_log_format(out, sizeof(out), payload, 9, 8, 0);
    assert_string_equal(out, "(malformed message)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_conversions),
        cmocka_unit_test(widths_are_bounded),
        cmocka_unit_test(texts),
        cmocka_unit_test(malformed_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
