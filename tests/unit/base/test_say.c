/*
 * What weft says: one whole line a message, with its prefix, from the chosen level up; and an
 * error's text stays with the thread that met it. stderr is a pipe here, read back after each call.
 */
#include "base/say.h"
#include "base/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, LINES = 200, SHORT = 256, FULL = 65536 };

struct capture {
    int stderr_was, read_end;
};

static int begin(void **state)
{
    static struct capture capture;
    struct capture *c = &capture;
    int ends[2];

    if (pipe(ends) != 0)
        return -1;
    c->stderr_was = dup(STDERR_FILENO);
    c->read_end = ends[0];
    if (c->stderr_was < 0 || dup2(ends[1], STDERR_FILENO) < 0 ||
        fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return -1;
    close(ends[1]);
    weft_say_level(WEFT_SAY_WARN);
    weft_say_process(-1);
    *state = c;
    return 0;
}

static int end(void **state)
{
    struct capture *c = *state;

    dup2(c->stderr_was, STDERR_FILENO);
    close(c->stderr_was);
    close(c->read_end);
    weft_say_process(-1);
    weft_say_level(WEFT_SAY_WARN);
    return 0;
}

/* All that has been said since the last call. */
static const char *said(void **state)
{
    static char text[65536];
    const struct capture *c = *state;
    size_t bytes = 0;
    ssize_t n;

    while ((n = read(c->read_end, text + bytes, sizeof(text) - 1 - bytes)) > 0)
        bytes += (size_t)n;
    text[bytes] = 0;
    return text;
}

static void test_prefix(void **state)
{
    weft_say(WEFT_SAY_ERROR, "%d of %s", 3, "four");
    assert_string_equal(said(state), "weft: 3 of four\n");
    weft_say_process(0);
    weft_say(WEFT_SAY_ERROR, "now known");
    assert_string_equal(said(state), "weft: [p0] now known\n");
    weft_say_process(123);
    weft_say(WEFT_SAY_ERROR, "%s", "");
    assert_string_equal(said(state), "weft: [p123] \n");
    weft_say_process_of_all(7); /* of threads that have said nothing of themselves */
    weft_say(WEFT_SAY_ERROR, "own");
    weft_say_process(-1);
    weft_say(WEFT_SAY_ERROR, "all");
    weft_say_process_of_all(-1);
    assert_string_equal(said(state), "weft: [p123] own\nweft: [p7] all\n");
}

/* Text that grows ends at its room, and with a zero; what comes then is dropped. */
static void test_text(void **state)
{
    char room[8] = "";
    struct weft_text text = {room, sizeof(room), 0};

    (void)state;
    weft_text_add(&text, "%d", 12);
    weft_text_add(&text, ",%d", 34);
    assert_string_equal(room, "12,34");
    assert_int_equal(text.used, 5);
    weft_text_add(&text, "%s", "567");
    assert_string_equal(room, "12,3456");
    weft_text_add(&text, "%s", "8");
    assert_string_equal(room, "12,3456");
    assert_int_equal(text.used, 7);
}

static void test_levels(void **state)
{
    static const char *const words[] = {"error", "warn", "info"};

    for (int most = WEFT_SAY_ERROR; most <= WEFT_SAY_INFO; most++) {
        weft_say_level((enum weft_level)most);
        for (int level = WEFT_SAY_ERROR; level <= WEFT_SAY_INFO; level++) {
            char line[SHORT];
            weft_say((enum weft_level)level, "%s", words[level]);
            snprintf(line, sizeof(line), "weft: %s\n", words[level]);
            assert_string_equal(said(state), level <= most ? line : "");
        }
    }
}

/* A message that is too long is cut; it stays one line. */
static void test_long(void **state)
{
    char text[5000];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    weft_say(WEFT_SAY_ERROR, "%s", text);
    const char *line = said(state);
    assert_in_range(strlen(line), 1000, 1100);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_int_equal(weft_err(WEFT_ERR_MEMORY, "%s", text), WEFT_ERR_MEMORY);
    line = said(state);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_in_range(strlen(weft_err_last()), 1000, 1100);
}

static void test_error(void **state)
{
    assert_int_equal(weft_err(WEFT_ERR_BOUNDS, "%d bytes at %d", 8, 64), WEFT_ERR_BOUNDS);
    assert_string_equal(said(state), "weft: WEFT_ERR_BOUNDS: 8 bytes at 64\n");
    assert_string_equal(weft_err_last(), "8 bytes at 64");
    weft_say(WEFT_SAY_ERROR, "something else");
    assert_string_equal(weft_err_last(), "8 bytes at 64");
    weft_say_level(WEFT_SAY_ERROR);
    said(state);
    weft_err_say(WEFT_ERR_TAG, "tag %d", 256);
    assert_string_equal(said(state), "weft: WEFT_ERR_TAG: tag 256\n");
    assert_string_equal(weft_err_last(), "tag 256");
}

/* A trial's error is kept and not said; whoever passes a text on can tell which it is. */
static void test_error_level(void **state)
{
    weft_say_level(WEFT_SAY_WARN);
    assert_int_equal(weft_err_level(WEFT_SAY_INFO), WEFT_SAY_ERROR);
    assert_int_equal(weft_err(WEFT_ERR_NETWORK, "no device"), WEFT_ERR_NETWORK);
    assert_string_equal(said(state), "");
    assert_string_equal(weft_err_last(), "no device");
    assert_false(weft_err_was_said("process 1: no device"));
    assert_int_equal(weft_err_level(WEFT_SAY_ERROR), WEFT_SAY_INFO);
    weft_err_say(WEFT_ERR_NETWORK, "no device");
    assert_string_equal(said(state), "weft: WEFT_ERR_NETWORK: no device\n");
    assert_true(weft_err_was_said("no device"));
    assert_true(weft_err_was_said("process 1: no device"));
    assert_false(weft_err_was_said("no device here"));
    assert_false(weft_err_was_said("device"));
}

static void *other_thread(void *failed)
{
    *(int *)failed = strcmp(weft_err_last(), "") != 0;
    weft_err_say(WEFT_ERR_RANK, "of the other thread");
    *(int *)failed |= strcmp(weft_err_last(), "of the other thread") != 0;
    return NULL;
}

static void test_last_is_per_thread(void **state)
{
    pthread_t thread;
    int failed = 1;

    (void)state;
    weft_err_say(WEFT_ERR_RANK, "of this thread");
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &failed), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(failed, 0);
    assert_string_equal(weft_err_last(), "of this thread");
}

static void *talk(void *index)
{
    const int me = *(const int *)index;

    weft_say_process(me);
    for (int i = 0; i < LINES; i++)
        weft_say(WEFT_SAY_ERROR, "line %d of thread %d", i, me);
    return NULL;
}

/* Lines of several threads do not mix, each thread's come in its order, with its own prefix. */
static void test_threads(void **state)
{
    pthread_t threads[THREADS];
    int index[THREADS], next[THREADS] = {0};

    for (int t = 0; t < THREADS; t++) {
        index[t] = t;
        assert_int_equal(pthread_create(&threads[t], NULL, talk, &index[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    for (const char *line = said(state); *line != 0; line = strchr(line, '\n') + 1) {
        char wanted[SHORT];
        int process;
        assert_int_equal(sscanf(line, "weft: [p%d] ", &process), 1);
        assert_in_range(process, 0, THREADS - 1);
        snprintf(wanted, sizeof(wanted), "weft: [p%d] line %d of thread %d\n", process,
                 next[process]++, process);
        assert_memory_equal(line, wanted, strlen(wanted));
    }
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(next[t], LINES);
}

/* Nobody reads stderr: saying something is no error, and does not hang. */
static void test_closed(void **state)
{
    (void)state;
    close(STDERR_FILENO);
    weft_say(WEFT_SAY_ERROR, "into the void");
    assert_int_equal(weft_err(WEFT_ERR_STATE, "kept"), WEFT_ERR_STATE);
    assert_string_equal(weft_err_last(), "kept");
}

static void *read_later(void *end)
{
    char filler[FULL];

    usleep(20000); /* of the second that it gets, even where nobody runs soon */
    return read(*(const int *)end, filler, FULL) == FULL ? end : NULL;
}

/* stderr is full and does not block: who reads it gets time, but not for ever. */
static void test_full(void **state)
{
    struct capture *c = *state;
    static const char filler[FULL];
    pthread_t reader;
    void *read_all;

    assert_int_equal(fcntl(STDERR_FILENO, F_SETPIPE_SZ, FULL), FULL);
    assert_int_equal(fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(write(STDERR_FILENO, filler, FULL), FULL);
    assert_int_equal(pthread_create(&reader, NULL, read_later, &c->read_end), 0);
    weft_say(WEFT_SAY_ERROR, "late");
    assert_int_equal(pthread_join(reader, &read_all), 0);
    assert_non_null(read_all);
    assert_string_equal(said(state), "weft: late\n");
    assert_int_equal(write(STDERR_FILENO, filler, FULL), FULL);
    const uint64_t before = weft_now_ns();
    for (int i = 0; i < 100; i++) /* the first waits for a second, the others do not */
        weft_say(WEFT_SAY_ERROR, "too late");
    assert_true(weft_now_ns() - before > 500000000 && weft_now_ns() - before < 50000000000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_prefix),
        TEST(test_text),
        TEST(test_levels),
        TEST(test_long),
        TEST(test_error),
        TEST(test_error_level),
        TEST(test_last_is_per_thread),
        TEST(test_threads),
        TEST(test_closed),
        TEST(test_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
