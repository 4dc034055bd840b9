/*
 * Lines of threads that have not said whose they are: they begin with the process's number as long
 * as any of its jobs is open, also when another one was closed, or could not be opened.
 */
#include "base/say.h"
#include "weft/weft.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void *speak(void *unused)
{
    (void)unused;
    weft_say(WEFT_SAY_ERROR, "a line");
    return NULL;
}

static void another_says(int from, const char *wanted)
{
    char text[256] = "";
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, speak, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(read(from, text, sizeof(text) - 1) > 0);
    assert_string_equal(text, wanted);
}

static void lines_keep_their_prefix(void **state)
{
    weft_job *first, *second, *none;
    char text[4096];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    weft_say_to(ends[1]);
    another_says(ends[0], "weft: a line\n");
    assert_int_equal(weft_open(&first, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_open(&second, NULL, NULL), WEFT_OK);
    another_says(ends[0], "weft: [p0] a line\n");
    assert_int_equal(weft_close(first), WEFT_OK);
    another_says(ends[0], "weft: [p0] a line\n");
    setenv("WEFT_NET", "verbs", 1); /* wherever it is, it finds no such device */
    setenv("WEFT_VERBS_DEVICE", "none_of_that_name", 1);
    assert_int_not_equal(weft_open(&none, NULL, NULL), WEFT_OK);
    assert_true(read(ends[0], text, sizeof(text)) > 0);
    another_says(ends[0], "weft: [p0] a line\n");
    assert_int_equal(weft_close(second), WEFT_OK);
    another_says(ends[0], "weft: a line\n");
    weft_say_to(STDERR_FILENO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_keep_their_prefix)};

    setenv("WEFT_DEVICE", "cpu", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
