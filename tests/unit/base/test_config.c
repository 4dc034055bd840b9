/*
 * The configuration, from the environment: every kind of value, good and bad, and unknown names.
 */
#include "config_run.h"

#include <locale.h>
#include <stdio.h>
#include <unistd.h>

/* ---- values ---------------------------------------------------------------------------------- */

static void test_defaults(void **state)
{
    struct weft_config c;

    (void)state;
    assert_int_equal(weft_config_load(&c, NULL, NULL), WEFT_OK);
#define WEFT_CONFIG_INT(name, field, def, min, max, unit, doc)  assert_int_equal(c.field, def);
#define WEFT_CONFIG_SIZE(name, field, def, min, max, doc)       assert_int_equal(c.field, def);
#define WEFT_CONFIG_REAL(name, field, def, min, max, unit, doc) assert_true(c.field == (def));
#define WEFT_CONFIG_CHOICE(name, field, def, words, doc)                                           \
    assert_true(c.field >= 0 && strstr(words, def) != NULL);
#define WEFT_CONFIG_TEXT(name, field, def, doc) assert_string_equal(c.field, def);
#include "base/config.def"
    assert_int_equal(c.device, WEFT_DEVICE_AUTO);
    assert_int_equal(c.log, WEFT_SAY_WARN);
}

static void test_int(void **state)
{
    struct weft_config c;

    (void)state;
    good(&c, "WEFT_RANKS", "208");
    assert_int_equal(c.ranks, 208);
    good(&c, "WEFT_RANKS", "0");
    good(&c, "WEFT_RANKS", "4096");
    good(&c, "WEFT_SPIN_US", "-1");
    assert_int_equal(c.spin_us, -1);
    good(&c, "WEFT_COUNTER_START", "4294967295");
    assert_true(c.counter_start == INT64_C(4294967295));

    static const char *const malformed[] = {"",    " ",   "x",    "12x", " 12", "12 ",
                                            "1.5", "1e3", "0x10", "1,2", "--1"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        bad("WEFT_RANKS", malformed[i], "not a whole number");
    bad("WEFT_RANKS", "-1", "not in 0..4096 ranks");
    bad("WEFT_RANKS", "4097", "not in 0..4096 ranks");
    bad("WEFT_RANKS", "99999999999999999999999", "not in 0..4096 ranks");
    bad("WEFT_RANKS", "-99999999999999999999999", "not in 0..4096 ranks");
    bad("WEFT_COUNTER_START", "4294967296", "not in 0..4294967295");
}

static void test_size(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {{"65536", 65536},
                 {"64K", 65536},
                 {"64k", 65536},
                 {"16384", 16384},
                 {"3M", UINT64_C(3) << 20},
                 {"1g", UINT64_C(1) << 30},
                 {"1G", UINT64_C(1) << 30},
                 {"1073741824", UINT64_C(1) << 30}};
    struct weft_config c;

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        good(&c, "WEFT_CPU_STACK", sizes[i].text);
        assert_true(c.cpu_stack == sizes[i].bytes);
    }
    static const char *const malformed[] = {"",     "K",   "-1",   "+1",   " 1K",
                                            "64KB", "64T", "64 K", "1.5M", "64KK"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        bad("WEFT_CPU_STACK", malformed[i], "not a number of bytes");
    bad("WEFT_CPU_STACK", "16383", "not in 16384..1073741824 bytes");
    bad("WEFT_CPU_STACK", "15K", "not in 16384..");
    bad("WEFT_CPU_STACK", "18446744073709551616", "not in 16384..");
    bad("WEFT_CPU_STACK", "1073741825", "not in 16384..");
    bad("WEFT_CPU_STACK", "17179869185G", "not in 16384.."); /* 2^64 + 2^30 bytes: no wrap */
}

static void test_real(void **state)
{
    struct weft_config c;

    (void)state;
    good(&c, "WEFT_STALL_S", "0.25");
    assert_true(c.stall_s == 0.25);
    good(&c, "WEFT_STALL_S", "1e1");
    assert_true(c.stall_s == 10);
    good(&c, "WEFT_STALL_S", "0");
    good(&c, "WEFT_STALL_S", "86400");

    static const char *const malformed[] = {"",    " 1",  "1 ",    "1s", "x",
                                            "nan", "inf", "1e999", "1,5"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        bad("WEFT_STALL_S", malformed[i], "not a number");
    bad("WEFT_STALL_S", "-0.001", "not in 0..86400 s");
    bad("WEFT_STALL_S", "86400.5", "not in 0..86400 s");
    bad("WEFT_CONNECT_S", "0.05", "not in 0.1..3600 s");
}

/* The program's locale has a decimal comma. It is made here, as few machines have one. */
static void test_comma(void **state)
{
    char folder[] = "/tmp/weft-locale-XXXXXX", command[200], text[8];

    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof(command), "localedef -c -i de_DE -f UTF-8 %s/comma >%s/said 2>&1",
             folder, folder);
    int made = system(command); /* warnings count, too: what counts is what there is */
    assert_int_equal(setenv("LOCPATH", folder, 1), 0);
    made = setlocale(LC_ALL, "comma") != NULL && localeconv()->decimal_point[0] == ',';
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    if (!made)
        skip();
    test_real(state);
    snprintf(text, sizeof(text), "%.1f", 0.5); /* it is the program's as before */
    assert_string_equal(text, "0,5");
    assert_non_null(setlocale(LC_ALL, "C"));
}

static void test_choice(void **state)
{
    struct weft_config c;

    (void)state;
    good(&c, "WEFT_DEVICE", "cpu");
    assert_int_equal(c.device, WEFT_DEVICE_CPU);
    good(&c, "WEFT_DEVICE", "cuda");
    assert_int_equal(c.device, WEFT_DEVICE_CUDA);
    good(&c, "WEFT_PATH", "proxy");
    assert_int_equal(c.path, WEFT_PATH_PROXY);
    good(&c, "WEFT_LOG", "error");
    assert_int_equal(c.log, WEFT_SAY_ERROR);

    assert_string_equal(weft_config_word(WEFT_CONFIG_AT_NET, WEFT_NET_AUTO).text, "auto");
    assert_string_equal(weft_config_word(WEFT_CONFIG_AT_NET, WEFT_NET_MPI).text, "mpi");
    assert_string_equal(weft_config_word(WEFT_CONFIG_AT_PATH, WEFT_PATH_PROXY).text, "proxy");
    assert_string_equal(weft_config_word(WEFT_CONFIG_AT_PATH, WEFT_PATH_QUEUE + 1).text, "?");
    assert_string_equal(weft_config_word(WEFT_CONFIG_AT_PATH, UINT32_MAX).text, "?");

    static const char *const malformed[] = {"", "cp", "cpux", "CPU", "auto|cpu", "|", "1"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        bad("WEFT_DEVICE", malformed[i], "not one of auto|cpu|cuda");
}

static void test_text(void **state)
{
    struct weft_config c;
    char text[130];

    (void)state;
    memset(text, 'a', sizeof(text));
    text[127] = 0;
    good(&c, "WEFT_SECRET", text);
    assert_string_equal(c.secret, text);
    good(&c, "WEFT_SECRET", "");
    assert_string_equal(c.secret, "");
    text[127] = 'a';
    text[128] = 0;
    bad("WEFT_SECRET", text, "128 bytes, at most 127");
    assert_null(strstr(weft_err_last(), "aaa")); /* a secret is not repeated */
}

/* ---- names ----------------------------------------------------------------------------------- */

static void test_unknown(void **state)
{
    struct weft_config c;
    char longest[300] = "WEFT_";

    (void)state;
    bad("WEFT_LOGG", "info", "the nearest is WEFT_LOG ");
    bad("WEFT_RANK", "4", "the nearest is WEFT_RANKS ");
    bad("WEFT_STALLS", "4", "the nearest is WEFT_STALL_S ");
    bad("WEFT_CPU_SHEDULE", "fair", "the nearest is WEFT_CPU_SCHEDULE ");
    bad("WEFT_log", "info", "the nearest is WEFT_LOG ");            /* variables: upper case */
    bad("WEFT_CPU-STACK", "64K", "the nearest is WEFT_CPU_STACK "); /* and underscores */
    bad("WEFT_", "1", "WEFT_ is not a setting of weft (weft-info");
    bad("WEFT_NONSENSE", "1", "WEFT_NONSENSE is not a setting of weft (weft-info"); /* near none */
    memset(longest + 5, 'X', sizeof(longest) - 6);
    assert_int_equal(load_with(&c, longest, "1"), WEFT_ERR_CONFIG);

    good(&c, "WEFTRUN_X", "1"); /* other names are other people's */
    good(&c, "weft_LOG", "1");
    good(&c, "XWEFT_LOG", "1");
}

/* ---- random mode ----------------------------------------------------------------------------- */

static void test_random(void **state)
{
    struct weft_config c;
    uint64_t seed = 77;

    (void)state;
    good(&c, "WEFT_CPU_SCHEDULE", "fair");
    assert_false(weft_config_random(&c, &seed));
    assert_int_equal(seed, 77);
    good(&c, "WEFT_CPU_SCHEDULE", "random:0");
    assert_true(weft_config_random(&c, &seed));
    assert_int_equal(seed, 0);
    good(&c, "WEFT_CPU_SCHEDULE", "random:18446744073709551615");
    assert_true(weft_config_random(&c, &seed));
    assert_true(seed == UINT64_MAX);

    static const char *const malformed[] = {
        "",          "Fair",      "random",    "random:",   "random:x",
        "random:-1", "random: 1", "random:1x", "random:+1", "random:18446744073709551616"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        bad("WEFT_CPU_SCHEDULE", malformed[i], "neither fair nor random:SEED");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_defaults), TEST(test_int),     TEST(test_size),
        TEST(test_real),     TEST(test_comma),   TEST(test_choice),
        TEST(test_text),     TEST(test_unknown), TEST(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
