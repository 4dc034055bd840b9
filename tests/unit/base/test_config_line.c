/*
 * The configuration, from the command line: what is taken from it and what is left of argv;
 * settings that must agree; and the manual, which must list every setting.
 */
#include "config_run.h"
#include "manual.h"

#include <stdio.h>

enum { MOST_ARGS = 16 };

/* A command line that weft_config_load may shorten. */
struct line {
    int argc;
    char *argv[MOST_ARGS + 1];
};

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

/* A count that is more than there is, as who takes arguments away may leave it. */
static void test_short(void **state)
{
    char name[] = "program", option[] = "--weft-RANKS=3", rest[] = "rest", *none = NULL;
    char *argv[] = {name, option, rest, NULL, option, NULL};
    struct weft_config c;

    (void)state;
    for (int more = 3; more <= 5; more++) {
        int argc = more;
        argv[1] = option;
        argv[2] = rest;
        assert_int_equal(weft_config_load(&c, &argc, argv), WEFT_OK);
        assert_int_equal(c.ranks, 3);
        assert_int_equal(argc, 2);
        assert_ptr_equal(argv[1], rest);
        assert_null(argv[2]);
    }
    for (int argc = 0, given = 0; given < 2; argc = ++given) {
        assert_int_equal(weft_config_load(&c, &argc, &none), WEFT_OK);
        assert_int_equal(argc, given);
        assert_null(none);
    }
    argv[1] = (char[]){"--weft-RANKS"};
    argv[2] = NULL;
    assert_int_equal(weft_config_load(&c, &(int){5}, argv), WEFT_ERR_CONFIG);
    assert_string_equal(weft_err_last(), "--weft-RANKS needs a value");
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
    assert_int_equal(LOAD(&c, &line, "--weft-RANKS=31", "--weft-LOG=info", "--weft-SECRET=xyzzy",
                          "--weft-STALL_S=2.5", "--weft-CPU_STACK=32K", "--weft-PATH=auto"),
                     WEFT_OK);
    FILE *out = fmemopen(manual, sizeof(manual), "w");
    assert_non_null(out);
    print_manual(out, &c);
    assert_int_equal(fclose(out), 0);

#define WEFT_CONFIG_INT(name, field, def, min, max, unit, doc)  says(manual, #name, doc);
#define WEFT_CONFIG_SIZE(name, field, def, min, max, doc)       says(manual, #name, doc);
#define WEFT_CONFIG_REAL(name, field, def, min, max, unit, doc) says(manual, #name, doc);
#define WEFT_CONFIG_CHOICE(name, field, def, words, doc)        says(manual, #name, doc);
#define WEFT_CONFIG_TEXT(name, field, def, doc)                 says(manual, #name, doc);
#include "base/config.def"
    assert_non_null(strstr(manual, "WEFT_RANKS = 31\n"));
    assert_non_null(strstr(manual, "default 0, range 0..4096 ranks\n"));
    assert_non_null(strstr(manual, "WEFT_LOG = info\n"));
    assert_non_null(strstr(manual, "default warn, one of error|warn|info\n"));
    assert_non_null(strstr(manual, "\n\n---- devices and ranks ----\nWEFT_DEVICE = "));
    assert_non_null(strstr(manual, "WEFT_PATH = auto\n"));
    assert_non_null(strstr(manual, "WEFT_STALL_S = 2.5\n"));
    assert_non_null(strstr(manual, "WEFT_CPU_STACK = 32768\n"));
    assert_non_null(strstr(manual, "range 0..4096 ranks\n    set by the command line\n"));
    assert_null(strstr(manual, "xyzzy")); /* the secret stays one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_options),      TEST(test_short),  TEST(test_bad_options),
        TEST(test_cross_checks), TEST(test_manual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
