/*
 * The configuration: every kind of value, good and bad, from the environment and the command line;
 * unknown names; what is left of argv; settings that must agree; and the manual, which must list
 * every setting. A failed load leaves its output and says one line that names the culprit.
 */
#include "base/config.h"
#include "base/say.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGS = 16 };

/* A command line that weft_config_load may shorten. */
struct line {
    int argc;
    char *argv[MOST_ARGS + 1];
};

static int no_variables(void **state)
{
    (void)state;
    return clearenv();
}

static weft_status load_with(struct weft_config *config, const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
    weft_status status = weft_config_load(config, NULL, NULL);
    assert_int_equal(unsetenv(name), 0);
    return status;
}

static void good(struct weft_config *config, const char *name, const char *value)
{
    if (load_with(config, name, value) != WEFT_OK)
        fail_msg("%s=%s was refused: %s", name, value, weft_err_last());
}

/* Refused, in words that hold `why` and the name; the configuration is not touched. */
static void bad(const char *name, const char *value, const char *why)
{
    struct weft_config config, before;

    memset(&config, 0x5a, sizeof(config));
    before = config;
    if (load_with(&config, name, value) != WEFT_ERR_CONFIG)
        fail_msg("%s=%s was accepted", name, value);
    if (strstr(weft_err_last(), name) == NULL || strstr(weft_err_last(), why) == NULL)
        fail_msg("%s=%s: \"%s\" does not say \"%s\"", name, value, weft_err_last(), why);
    assert_memory_equal(&config, &before, sizeof(config));
}

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
    good(&c, "WEFT_RANKS", "16384");
    good(&c, "WEFT_SPIN_US", "-1");
    assert_int_equal(c.spin_us, -1);
    good(&c, "WEFT_COUNTER_START", "4294967295");
    assert_true(c.counter_start == INT64_C(4294967295));

    static const char *const malformed[] = {"",     " ",   "x",   "12x",
                                            " 12",  "12 ", "1.5", "1e3",
                                            "0x10", "1,2", "--1", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        bad("WEFT_RANKS", malformed[i], "not a whole number");
    bad("WEFT_RANKS", "-1", "not in 0..16384 ranks");
    bad("WEFT_RANKS", "16385", "not in 0..16384 ranks");
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
    static const char *const malformed[] = {
        "", "K", "-1", "+1", " 1K", "64KB", "64T", "64 K", "1.5M", "64KK", "18446744073709551616"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        bad("WEFT_CPU_STACK", malformed[i], "not a number of bytes");
    bad("WEFT_CPU_STACK", "16383", "not in 16384..1073741824 bytes");
    bad("WEFT_CPU_STACK", "15K", "not in 16384..");
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
    good(&c, "WEFT_LOG", "debug");
    assert_int_equal(c.log, WEFT_SAY_DEBUG);

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
    bad("WEFT_", "1", "is not a setting");
    memset(longest + 5, 'X', sizeof(longest) - 6);
    assert_int_equal(load_with(&c, longest, "1"), WEFT_ERR_CONFIG);

    good(&c, "WEFTRUN_X", "1"); /* other names are other people's */
    good(&c, "weft_LOG", "1");
    good(&c, "XWEFT_LOG", "1");
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Loads with these arguments (the last one NULL) after argv[0]. */
static weft_status load_line(struct weft_config *config, struct line *line,
                             const char *const *arguments)
{
    line->argc = 1;
    line->argv[0] = (char *)"program";
    for (; arguments[line->argc - 1] != NULL; line->argc++)
        line->argv[line->argc] = (char *)arguments[line->argc - 1];
    line->argv[line->argc] = NULL;
    return weft_config_load(config, &line->argc, line->argv);
}
#define LOAD(config, line, ...) load_line(config, line, (const char *const[]){__VA_ARGS__, NULL})

/* What is left of the line, words separated by spaces. */
static const char *left(const struct line *line)
{
    static char text[1024];

    text[0] = 0;
    for (int i = 1; i < line->argc; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s", i > 1 ? " " : "", line->argv[i]);
    }
    assert_null(line->argv[line->argc]);
    assert_string_equal(line->argv[0], "program");
    return text;
}

static void test_options(void **state)
{
    struct weft_config c;
    struct line line;

    (void)state;
    assert_int_equal(LOAD(&c, &line, "-n", "--weft-RANKS=4", "file", "--weft-LOG", "info", "end"),
                     WEFT_OK);
    assert_int_equal(c.ranks, 4);
    assert_int_equal(c.log, WEFT_SAY_INFO);
    assert_string_equal(left(&line), "-n file end");

    assert_int_equal(LOAD(&c, &line, "--weft-cpu-stack=64K", "--weft-cpu_workers", "3"), WEFT_OK);
    assert_int_equal(c.cpu_stack, 65536);
    assert_int_equal(c.cpu_workers, 3);
    assert_string_equal(left(&line), "");

    assert_int_equal(LOAD(&c, &line, "--weft-RANKS=4", "--", "--weft-RANKS=5", "-x"), WEFT_OK);
    assert_int_equal(c.ranks, 4);
    assert_string_equal(left(&line), "-- --weft-RANKS=5 -x");

    assert_int_equal(LOAD(&c, &line, "--weft-RANKS=4", "--weft-RANKS=5"), WEFT_OK);
    assert_int_equal(c.ranks, 5); /* the last one counts */
    assert_int_equal(LOAD(&c, &line, "--weft-SECRET=a=b"), WEFT_OK);
    assert_string_equal(c.secret, "a=b");
    assert_int_equal(LOAD(&c, &line, "--weft", "weft-LOG=info", "-weft-LOG=info"), WEFT_OK);
    assert_string_equal(left(&line), "--weft weft-LOG=info -weft-LOG=info");

    assert_int_equal(setenv("WEFT_RANKS", "7", 1), 0);
    assert_int_equal(LOAD(&c, &line, "x"), WEFT_OK);
    assert_int_equal(c.ranks, 7);
    assert_int_equal(LOAD(&c, &line, "--weft-RANKS=8"), WEFT_OK);
    assert_int_equal(c.ranks, 8); /* the command line comes after the environment */
}

static void test_bad_options(void **state)
{
    struct weft_config c;
    struct line line;

    (void)state;
    assert_int_equal(LOAD(&c, &line, "--weft-rnaks=4"), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_err_last(), "--weft-rnaks is not a setting of weft"));
    assert_non_null(strstr(weft_err_last(), "WEFT_RANKS "));
    assert_int_equal(LOAD(&c, &line, "--weft-RANKS"), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_err_last(), "--weft-RANKS needs a value"));
    assert_int_equal(LOAD(&c, &line, "--weft-RANKS="), WEFT_ERR_CONFIG);
    assert_int_equal(LOAD(&c, &line, "--weft-RANKS", "many"), WEFT_ERR_CONFIG);
    assert_int_equal(LOAD(&c, &line, "--weft-=1"), WEFT_ERR_CONFIG);
}

/* ---- what belongs together ------------------------------------------------------------------- */

static void test_cross_checks(void **state)
{
    struct weft_config c;
    struct line line;

    (void)state;
    bad("WEFT_PROCESSES", "2", "needs WEFT_PROCESS");
    bad("WEFT_PROCESS", "1", "not below WEFT_PROCESSES=1");
    assert_int_equal(LOAD(&c, &line, "--weft-PROCESSES=2", "--weft-PROCESS=1"), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_err_last(), "WEFT_ROOT"));
    assert_int_equal(
        LOAD(&c, &line, "--weft-PROCESSES=2", "--weft-PROCESS=2", "--weft-ROOT=host:1"),
        WEFT_ERR_CONFIG);
    assert_int_equal(
        LOAD(&c, &line, "--weft-PROCESSES=2", "--weft-PROCESS=1", "--weft-ROOT=host:1"), WEFT_OK);

    bad("WEFT_COMMAND_RING", "33", "not a power of two");
    good(&c, "WEFT_COMMAND_RING", "128");
    bad("WEFT_SHM_RING", "5000", "not a power of two");
    good(&c, "WEFT_SHM_RING", "4K");

    bad("WEFT_MUTATE", "no_such_label", "no label or drain");
    bad("WEFT_MUTATE", "ring_poll", "random mode only");
    assert_int_equal(LOAD(&c, &line, "--weft-MUTATE=ring_poll", "--weft-CPU_SCHEDULE=random:1"),
                     WEFT_OK);
}

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

/* ---- the manual ------------------------------------------------------------------------------ */

/* Where the manual speaks of a setting: its current value stands in that line. */
static void says(const char *manual, const char *name, const char *doc)
{
    char heading[64];

    snprintf(heading, sizeof(heading), "WEFT_%s = ", name);
    const char *at = strstr(manual, heading);
    if (at == NULL || strstr(at, doc) == NULL)
        fail_msg("the manual does not explain WEFT_%s", name);
}

static void test_manual(void **state)
{
    static char manual[65536];
    struct weft_config c;
    struct line line;

    (void)state;
    assert_int_equal(LOAD(&c, &line, "--weft-RANKS=31", "--weft-LOG=debug", "--weft-SECRET=xyzzy",
                          "--weft-STALL_S=2.5", "--weft-CPU_STACK=32K", "--weft-PATH=auto"),
                     WEFT_OK);
    FILE *out = fmemopen(manual, sizeof(manual), "w");
    assert_non_null(out);
    weft_config_print(out, &c);
    assert_int_equal(fclose(out), 0);

#define WEFT_CONFIG_INT(name, field, def, min, max, unit, doc)  says(manual, #name, doc);
#define WEFT_CONFIG_SIZE(name, field, def, min, max, doc)       says(manual, #name, doc);
#define WEFT_CONFIG_REAL(name, field, def, min, max, unit, doc) says(manual, #name, doc);
#define WEFT_CONFIG_CHOICE(name, field, def, words, doc)        says(manual, #name, doc);
#define WEFT_CONFIG_TEXT(name, field, def, doc)                 says(manual, #name, doc);
#include "base/config.def"
    assert_non_null(strstr(manual, "WEFT_RANKS = 31\n"));
    assert_non_null(strstr(manual, "default 0, range 0..16384 ranks\n"));
    assert_non_null(strstr(manual, "WEFT_LOG = debug\n"));
    assert_non_null(strstr(manual, "default warn, one of error|warn|info|debug\n"));
    assert_non_null(strstr(manual, "WEFT_PATH = auto\n"));
    assert_non_null(strstr(manual, "WEFT_STALL_S = 2.5\n"));
    assert_non_null(strstr(manual, "WEFT_CPU_STACK = 32768\n"));
    assert_non_null(strstr(manual, "range 0..16384 ranks\n    set by the command line\n"));
    assert_null(strstr(manual, "xyzzy")); /* the secret stays one */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, no_variables)
    const struct CMUnitTest tests[] = {
        TEST(test_defaults),    TEST(test_int),          TEST(test_size),    TEST(test_real),
        TEST(test_choice),      TEST(test_text),         TEST(test_unknown), TEST(test_options),
        TEST(test_bad_options), TEST(test_cross_checks), TEST(test_random),  TEST(test_manual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
