/*
 * The file of measured values: what was written is read, behind the environment and before the
 * defaults; one that is malformed, or of another machine or version, changes nothing and says so
 * in one line; one that cannot be written is an error.
 */
#include "base/say.h"
#include "base/tune.h"
#include "file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/weft_tune_XXXXXX";
static char path[128];

static int begin(void **state)
{
    (void)state;
    return clearenv() != 0 || setenv("XDG_CONFIG_HOME", folder, 1) != 0;
}

static void write_file(const char *text, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* Loads the configuration; what was said goes to *said. */
static void load(struct weft_config *config, char *said, size_t bytes)
{
    FILE *into = tmpfile();
    const int before = dup(STDERR_FILENO);

    assert_non_null(into);
    fflush(stderr);
    assert_true(dup2(fileno(into), STDERR_FILENO) >= 0);
    const weft_status status = weft_config_load(config, NULL, NULL);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(into);
    said[fread(said, 1, bytes - 1, into)] = 0;
    fclose(into);
    assert_int_equal(status, WEFT_OK);
}

static void written_is_read(void **state)
{
    const struct tuned values[] = {{"STAGE_PIECE", 262144, NULL}, {"STAGE_DEPTH", 3, NULL}};
    struct weft_config c;
    char said[512];

    (void)state;
    load(&c, said, sizeof(said));
    assert_int_equal(c.stage_depth, 0); /* no file: the default, in silence */
    assert_string_equal(said, "");
    assert_int_equal(tuned_write(path, values, 2), WEFT_OK); /* makes its folder */
    load(&c, said, sizeof(said));
    assert_string_equal(said, "");
    assert_int_equal(c.stage_piece, 262144);
    assert_int_equal(c.stage_depth, 3);
    assert_int_equal(c.source[WEFT_CONFIG_AT_STAGE_DEPTH], WEFT_CONFIG_TUNED);
    assert_int_equal(c.source[WEFT_CONFIG_AT_SHM_RING], WEFT_CONFIG_DEFAULT);
}

static void others_come_first(void **state)
{
    const struct tuned values[] = {
        {"STAGE_PIECE", 262144, NULL}, {"STAGE_DEPTH", 3, NULL}, {"SHM_RING", 1 << 20, NULL}};
    char *argv[] = {"program", "--weft-stage-depth=5", NULL};
    int argc = 2;
    struct weft_config c;

    (void)state;
    assert_int_equal(tuned_write(path, values, 3), WEFT_OK);
    assert_int_equal(setenv("WEFT_STAGE_PIECE", "128K", 1), 0);
    assert_int_equal(weft_config_load(&c, &argc, argv), WEFT_OK);
    assert_int_equal(c.stage_piece, 128 << 10);
    assert_int_equal(c.source[WEFT_CONFIG_AT_STAGE_PIECE], WEFT_CONFIG_ENVIRONMENT);
    assert_int_equal(c.stage_depth, 5);
    assert_int_equal(c.source[WEFT_CONFIG_AT_STAGE_DEPTH], WEFT_CONFIG_OPTION);
    assert_int_equal(c.shm_ring, 1 << 20);
    assert_int_equal(setenv("WEFT_TUNE", "off", 1), 0);
    assert_int_equal(weft_config_load(&c, NULL, NULL), WEFT_OK);
    assert_int_equal(c.shm_ring, 0);
}

/* What was measured on one kind of device is for that one only. */
static void of_a_device(void **state)
{
    const struct tuned values[] = {{"EAGER", 64, "cuda"}, {"STAGE_DEPTH", 3, NULL}};
    struct weft_config c, on_gpu;
    char said[512];

    (void)state;
    assert_int_equal(tuned_write(path, values, 2), WEFT_OK);
    load(&c, said, sizeof(said));
    assert_string_equal(said, "");
    assert_int_equal(c.eager, 64);
    assert_int_equal(c.source[WEFT_CONFIG_AT_EAGER], WEFT_CONFIG_TUNED_CUDA);
    on_gpu = c;
    weft_tune_keep(&on_gpu, "cuda");
    assert_int_equal(on_gpu.eager, 64);
    weft_tune_keep(&c, "cpu");
    assert_int_equal(c.eager, -1);
    assert_int_equal(c.source[WEFT_CONFIG_AT_EAGER], WEFT_CONFIG_DEFAULT);
    assert_int_equal(c.stage_depth, 3);
    /* What somebody said is not the file's to take back. */
    assert_int_equal(setenv("WEFT_EAGER", "32", 1), 0);
    load(&c, said, sizeof(said));
    weft_tune_keep(&c, "cpu");
    assert_int_equal(c.eager, 32);
}

/* What a good file of this machine begins with; then `rest`. */
static void good_with(const char *rest)
{
    char machine[WEFT_TUNE_MACHINE], text[1024];

    weft_tune_machine(machine);
    const int bytes =
        snprintf(text, sizeof(text), "weft-tune 1\nversion %d.%d.%d\nmachine %s\n%s",
                 WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH, machine, rest);
    write_file(text, (size_t)bytes);
}

static void refused(const char *why)
{
    struct weft_config c;
    char said[1024];

    load(&c, said, sizeof(said));
    if (strstr(said, why) == NULL || strstr(said, path) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", said, why);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one line */
    assert_int_equal(c.stage_piece, 0);
    assert_int_equal(c.stage_depth, 0);
    assert_int_equal(c.shm_ring, 0);
    assert_int_equal(c.source[WEFT_CONFIG_AT_STAGE_PIECE], WEFT_CONFIG_DEFAULT);
}

static void malformed(void **state)
{
    static const struct {
        const char *rest, *why;
    } files[] = {
        {"STAGE_PIECE=4096\nSTAGE_DEPTH=x\n", "line 5: \"STAGE_DEPTH=x\" is not a whole number"},
        {"STAGE_PIECE=4096\nSTAGE_DEPTH=65\n", "is not a whole number in 0..64"},
        {"STAGE_PIECE=\n", "is not a whole number"},
        {"STAGE_PIECE=-1\n", "is not a whole number"},
        {"STAGE_PIECE= 1\n", "is not a whole number"},
        {"STAGE_PIECE=1K\n", "is not a whole number"},
        {"STAGE_PIECE=99999999999999999999999\n", "is not a whole number"},
        {"STAGE_PIECE=4096\nSHM_RING=5000\n", "is not a power of two"},
        {"STAGE_PIECE=4096\nEAGER=64 gpu\n", "line 5: \"EAGER=64 gpu\" is not a whole number"},
        {"STAGE_PIECE=4096\nEAGER=64  cuda\n", "is not a whole number"},
        {"STAGE_PIECE=4096\nSECRET=1\n", "line 5: \"SECRET=1\" is no setting that is tuned"},
        {"STAGE_PIECE=4096\nSTAGE_PIEC=1\n", "is no setting that is tuned"},
        {"STAGE_PIECE=4096\n=1\n", "is no setting that is tuned"},
        {"STAGE_PIECE=4096\nrubbish\n", "is no setting that is tuned"},
        {"STAGE_PIECE=4096\nversion 99.0.0\n", "it was made by version 99.0.0"},
        {"STAGE_PIECE=4096\nmachine elsewhere\n", "it was made on \"elsewhere\""}};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        good_with(files[i].rest);
        refused(files[i].why);
    }
    write_file("", 0);
    refused("does not begin with");
    write_file("weft-tune 2\n", 12);
    refused("does not begin with");
    write_file("weft-tune 1\n", 12);
    refused("names no version or no machine");
    write_file("weft-tune 1\nSTAGE_PIECE=1\n", 26);
    refused("a value before");
    write_file("weft-tune 1\n\0STAGE_PIECE=1\n", 27);
    refused("no text");
    char many[5000];
    memset(many, '#', sizeof(many));
    write_file(many, sizeof(many));
    refused("more than 4096 bytes");
}

/* A comment, an empty line, no line end at the end. */
static void is_text(void **state)
{
    struct weft_config c;
    char said[512];

    (void)state;
    good_with("# by hand\n\nSTAGE_DEPTH=7");
    load(&c, said, sizeof(said));
    assert_string_equal(said, "");
    assert_int_equal(c.stage_depth, 7);
}

static void not_there(void **state)
{
    const struct tuned value = {"STAGE_DEPTH", 3, NULL};
    struct weft_config c;
    char said[512];

    (void)state;
    assert_int_equal(setenv("WEFT_TUNE", "/nowhere/tune", 1), 0);
    load(&c, said, sizeof(said));
    assert_non_null(strstr(said, "/nowhere/tune is not used: No such file"));
    assert_int_equal(tuned_write("/proc/nowhere/weft/tune", &value, 1), WEFT_ERR_SYSTEM);
    assert_non_null(strstr(weft_err_last(), "cannot write /proc/nowhere/weft/tune"));
    assert_int_equal(tuned_try("/proc/nowhere/weft/tune"), WEFT_ERR_SYSTEM);
    assert_non_null(strstr(weft_err_last(), "cannot write /proc/nowhere/weft/tune"));
    /* A folder in its place: nothing is left beside it. */
    char place[sizeof(path) + 16], beside[sizeof(place) + 16];
    snprintf(place, sizeof(place), "%s/weft/folder", folder);
    snprintf(beside, sizeof(beside), "%s.%ld", place, (long)getpid());
    assert_int_equal(tuned_try(place), WEFT_OK); /* and makes no file */
    assert_int_not_equal(access(place, F_OK), 0);
    assert_int_not_equal(access(beside, F_OK), 0);
    assert_int_equal(mkdir(place, 0777), 0);
    assert_int_equal(tuned_write(place, &value, 1), WEFT_ERR_SYSTEM);
    assert_int_not_equal(access(beside, F_OK), 0);
    rmdir(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(written_is_read, begin),
        cmocka_unit_test_setup(others_come_first, begin),
        cmocka_unit_test_setup(of_a_device, begin),
        cmocka_unit_test_setup(malformed, begin),
        cmocka_unit_test_setup(is_text, begin),
        cmocka_unit_test_setup(not_there, begin),
    };
    char command[128];

    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof(path), "%s/weft/tune", folder);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    snprintf(command, sizeof(command), "%s/weft", folder);
    rmdir(command);
    rmdir(folder);
    return failed;
}
