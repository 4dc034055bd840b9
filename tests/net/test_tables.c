/*
 * net/test_tables.c - the tables of ranks that the host does not share memory with grow while a
 * kernel runs, keep what they got for the next run, use again what was freed, also for entries of
 * other sizes, and end the job with the numbers where the device has no more. Two processes, as
 * threads of this one, on a device that the host cannot reach (support/far_device.h).
 */
#include "support/far_device.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EACH = 64, MOST = 24, TURNS = 100, RUNS = 3, PROCESSES = 2, TAG = 2 };

struct data {
    struct test_check check;
    unsigned char *memory; /* EACH bytes a rank */
    uint32_t at_once;      /* windows */
};

static uint32_t grown; /* times, of all processes */
static uint32_t may_grow = UINT32_MAX;

static bool on_growth(size_t bytes)
{
    (void)bytes;
    return __atomic_fetch_add(&grown, 1, __ATOMIC_RELAXED) < may_grow;
}

/* What is put through the window arrives at the right-hand neighbour. */
WEFT_DEVICE_FN void use(weft_self *self, struct data *user, weft_comm comm, weft_win win,
                        uint32_t i)
{
    const int n = weft_size(self, comm), me = weft_rank(self, comm);
    uint32_t *memory = (uint32_t *)test_mine(self, user->memory, EACH);

    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    memory[1] = i;
    weft_put_notify(self, win, (me + 1) % n, 0, memory + 1, sizeof(i), TAG);
    weft_wait(self, TAG, 1);
    CHECK_EQ(self, &user->check, memory[0], i);
    weft_barrier(self, WEFT_COMM_WORLD); /* the next one comes from another */
}

/* Windows of the world; then every other one makes place for smaller ones, some of no bytes. */
WEFT_KERNEL(tables_kernel, struct data, user)
{
    weft_win wins[MOST];
    const uint32_t n = user->at_once;
    unsigned char *memory = test_mine(self, user->memory, EACH);

    weft_enter(self);
    for (uint32_t i = 0; i < n; i++)
        wins[i] = weft_win_create(self, WEFT_COMM_WORLD, memory, EACH);
    for (uint32_t i = 0; i < n; i++)
        use(self, user, WEFT_COMM_WORLD, wins[i], i);
    for (uint32_t i = 0; i < n; i += 2)
        weft_win_free(self, &wins[i]);
    weft_comm half =
        weft_comm_split(self, WEFT_COMM_WORLD, weft_rank(self, WEFT_COMM_WORLD) % 2, 0);
    for (uint32_t i = 0; i < n; i += 2)
        wins[i] = weft_win_create(self, half, i % 4 == 0 ? memory : NULL, i % 4 == 0 ? EACH : 0);
    for (uint32_t i = 0; i < n; i++)
        if (i % 4 != 2)
            use(self, user, i % 2 == 0 ? half : WEFT_COMM_WORLD, wins[i], TURNS + i);
    for (uint32_t i = n; i-- > 0;)
        weft_win_free(self, &wins[i]);
    weft_comm_free(self, &half);
    for (uint32_t i = 0; i < TURNS; i++) {
        weft_win win = weft_win_create(self, WEFT_COMM_WORLD, memory, EACH);
        use(self, user, WEFT_COMM_WORLD, win, i);
        weft_win_free(self, &win);
    }
    weft_leave(self);
    test_done(self, &user->check);
}

static uint32_t at_once;
static weft_status expected;
static uint32_t grown_at_first;

static int body(struct test_env *env)
{
    if (!test_prepare(env, &tables_kernel))
        return TEST_FAILED;
    struct data data = {.memory =
                            test_memory(env, TEST_MAPPED, (size_t)env->numbers->ranks_here * EACH),
                        .at_once = at_once};
    env->expect = expected;
    for (int i = 0; i < (expected == WEFT_OK ? RUNS : 1); i++) {
        test_run(env, &data, sizeof(data));
        if (i == 0)
            __atomic_store_n(&grown_at_first, __atomic_load_n(&grown, __ATOMIC_RELAXED),
                             __ATOMIC_RELAXED);
    }
    return TEST_PASSED;
}

static int main_of(int argc, char **argv)
{
    return test_main(argc, argv, body);
}

static int run(const char *tables, uint32_t windows, weft_status status, char **text)
{
    char *argv[] = {"test_tables", "--local", "2", "--path", "proxy", "--ranks", "48", NULL};

    setenv("WEFT_TABLES", tables, 1);
    at_once = windows;
    expected = status;
    __atomic_store_n(&grown, 0, __ATOMIC_RELAXED);
    return text == NULL ? main_of(7, argv) : test_capture(main_of, 7, argv, text);
}

static int expect(bool good, const char *what, long long number)
{
    if (!good)
        fprintf(stderr, "FAILED: %s: %lld\n", what, number);
    return good ? 0 : 1;
}

int main(void)
{
    static const char *const says[] = {"WEFT_ERR_LIMIT",  "no room for a window of 96 ranks",
                                       "taken",           "told to give none",
                                       "set WEFT_TABLES", NULL};
    char *text = NULL;

    far_watch.grown = on_growth;
    setenv("WEFT_LOG", "error", 1);
    int result = run("1M", MOST, WEFT_OK, NULL);
    result |= expect(grown == 0, "growths where there is room", grown);
    result |= run("0", 2, WEFT_OK, NULL);
    result |= expect(grown == 0, "growths for few windows", grown);
    result |= run("0", MOST, WEFT_OK, NULL);
    result |= expect(grown_at_first > PROCESSES && grown == grown_at_first,
                     "growths, of which all but the first run's are too many", grown);
    may_grow = 0;
    const int failed = run("0", MOST, WEFT_ERR_LIMIT, &text);
    const int lines = test_lines_with(text, says);
    result |= expect(failed == 0, "where the device has no more", failed);
    result |= expect(lines >= 1, "lines that say so", lines);
    if (lines < 1)
        fputs(text, stderr);
    free(text);
    printf("%s\n", result == 0 ? "all good" : "FAILED");
    return result;
}
