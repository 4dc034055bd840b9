/*
 * Windows of the host program, without a kernel: put, notify, wait, test, flush, barrier, gather,
 * scatter; different sizes, none at all, plain, mapped and malloc's memory, and after a run as
 * well.
 */
#include "support/test.h"

#include <string.h>

enum { BYTES = 70000, TAG = 5, TAG_FREE = 6 };

WEFT_KERNEL(host_window_kernel, struct test_check, check)
{
    weft_enter(self);
    weft_notify(self, WEFT_COMM_WORLD, 0, TAG); /* dropped, and not the host's */
    weft_leave(self);
    test_done(self, check);
}

#ifndef __CUDACC__
static const unsigned char zeros[BYTES + 8];

static void fill(unsigned char *p, size_t bytes, uint64_t key)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = test_byte(key, i);
}

static size_t wrong(const unsigned char *p, size_t bytes, uint64_t key)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += p[i] != test_byte(key, i);
    return count;
}

/* How many bytes of device memory differ. */
static size_t wrong_there(struct test_env *env, const unsigned char *p, size_t bytes, uint64_t key)
{
    unsigned char here[BYTES];

    TEST_EQ(env, weft_copy(env->job, here, p, bytes), WEFT_OK);
    return wrong(here, bytes, key);
}

/* Around the ring, all sizes, in the three ways to tell the next process. */
static void check_ring(struct test_env *env, weft_win win, unsigned char *window,
                       unsigned char *source)
{
    static const size_t sizes[] = {0, 1, 4, 7, 8, 100, 1025, 4097, BYTES - 3};
    weft_job *job = env->job;
    const int n = env->numbers->processes, me = env->numbers->process;
    const int to = (me + 1) % n, from = (me + n - 1) % n;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const size_t bytes = sizes[i], offset = i % 4;
        const uint64_t key = i * 100;
        TEST_EQ(env, weft_copy(job, window, zeros, offset + bytes), WEFT_OK);
        TEST_EQ(env, weft_host_notify(job, from, TAG_FREE), WEFT_OK);
        fill(source, bytes, key + (uint64_t)me);
        TEST_EQ(env, weft_host_wait(job, TAG_FREE, 1), WEFT_OK);
        if (i % 3 == 0) {
            TEST_EQ(env, weft_host_put_notify(job, win, to, offset, source, bytes, TAG), WEFT_OK);
        } else {
            TEST_EQ(env, weft_host_put(job, win, to, offset, source, bytes), WEFT_OK);
            if (i % 3 == 1)
                TEST_EQ(env, weft_host_flush(job, win), WEFT_OK);
            TEST_EQ(env, weft_host_notify(job, to, TAG), WEFT_OK);
        }
        if (i % 2 == 0) {
            TEST_EQ(env, weft_host_wait(job, TAG, 1), WEFT_OK);
        } else {
            int done = 0;
            while (!done && TEST_EQ(env, weft_host_test(job, TAG, 1, &done), WEFT_OK))
                ;
        }
        TEST_EQ(env, wrong_there(env, window + offset, bytes, key + (uint64_t)from), 0);
        TEST_EQ(env, weft_host_flush(job, win), WEFT_OK); /* the source is used again */
    }
}

/* Everyone writes into everyone; behind the barrier all of it is there, and no count is left. */
static void check_all(struct test_env *env, weft_win win, unsigned char *window,
                      unsigned char *source)
{
    weft_job *job = env->job;
    const int n = env->numbers->processes, me = env->numbers->process;
    int done = 1;

    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
    fill(source, 100, 3000 + (uint64_t)me);
    for (int to = 0; to < n; to++) {
        TEST_EQ(env, weft_host_put(job, win, to, (size_t)me * 100, source, 100), WEFT_OK);
        TEST_EQ(env, weft_host_notify(job, to, 255), WEFT_OK);
    }
    TEST_EQ(env, weft_host_flush(job, win), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
    for (int p = 0; p < n; p++)
        TEST_EQ(env, wrong_there(env, window + p * 100, 100, 3000 + (uint64_t)p), 0);
    TEST_EQ(env, weft_host_wait(job, 255, (uint32_t)n), WEFT_OK);
    TEST_EQ(env, weft_host_test(job, 255, 1, &done), WEFT_OK);
    TEST_EQ(env, done, 0);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
}

/* Process p brings p * each bytes; every process is the root once. */
static void check_gather_scatter(struct test_env *env, size_t each)
{
    weft_job *job = env->job;
    const int n = env->numbers->processes, me = env->numbers->process;
    const size_t mine = (size_t)me * each, all = (size_t)n * ((size_t)n - 1) / 2 * each;
    unsigned char *send = test_memory(env, TEST_HOST, all + 1);
    unsigned char *receive = test_memory(env, TEST_HOST, all + 1);

    for (int root = 0; root < n; root++) {
        fill(send, mine, (uint64_t)(me * 10 + root));
        memset(receive, 0, all + 1);
        TEST_EQ(env, weft_host_gather(job, root, send, mine, me == root ? receive : NULL), WEFT_OK);
        if (me == root) {
            size_t at = 0;
            for (int p = 0; p < n; at += (size_t)p * each, p++)
                TEST_EQ(env, wrong(receive + at, (size_t)p * each, (uint64_t)(p * 10 + root)), 0);
            TEST_EQ(env, receive[all], 0);
        }
        /* And back: everyone gets what it sent. */
        memset(send, 0, mine);
        TEST_EQ(env, weft_host_scatter(job, root, me == root ? receive : NULL, send, mine),
                WEFT_OK);
        TEST_EQ(env, wrong(send, mine, (uint64_t)(me * 10 + root)), 0);
    }
}

static void check_window(struct test_env *env, enum test_memory kind)
{
    weft_job *job = env->job;
    const size_t bytes = BYTES + (size_t)env->numbers->process * 100;
    unsigned char *window = test_memory(env, kind, bytes);
    unsigned char *source = test_memory(env, TEST_HOST, BYTES);
    weft_win win = WEFT_WIN_NONE, none = WEFT_WIN_NONE;

    TEST_EQ(env, weft_host_win_create(job, window, bytes, &win), WEFT_OK);
    TEST(env, win != WEFT_WIN_NONE);
    TEST_EQ(env, weft_host_win_create(job, NULL, 0, &none), WEFT_OK);
    TEST(env, none != WEFT_WIN_NONE && none != win);
    check_ring(env, win, window, source);
    TEST_EQ(env, weft_host_win_free(job, &none), WEFT_OK);
    check_all(env, win, window, source);
    TEST_EQ(env, weft_host_win_free(job, &win), WEFT_OK);
    TEST_EQ(env, win, WEFT_WIN_NONE);
}

/* Memory of malloc: a GPU has no access to it, which is said when it is brought and not later. */
static void check_malloced(struct test_env *env)
{
    unsigned char *memory = test_memory(env, TEST_HOST, BYTES);
    weft_win win = WEFT_WIN_NONE;

    for (int p = 0; p < env->numbers->processes; p++) /* one of them refuses for all */
        if (weft_process_kind(env->job, p) != weft_process_kind(env->job, env->numbers->process))
            return;
    if (test_windows_of_malloc(env)) {
        if (!env->mapped_only)
            check_window(env, TEST_HOST);
        return;
    }
    TEST_EQ(env, weft_register(env->job, memory, BYTES), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_win_create(env->job, memory, BYTES, &win), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, win, WEFT_WIN_NONE);
    env->expect = WEFT_ERR_ARGUMENT; /* weft_close returns the first error */
}

/* Who polls a word sees what was put, and fenced, before it. */
static void check_fence(struct test_env *env)
{
    weft_job *job = env->job;
    const int n = env->numbers->processes, me = env->numbers->process, to = (me + 1) % n;
    uint32_t *const window = test_memory(env, TEST_MAPPED, 4096);
    const uint32_t *const word = window + 1023;
    uint32_t source[1024];
    weft_win win = WEFT_WIN_NONE;
    int there;

    for (int p = 0; p < n; p++)
        if (weft_process_kind(job, p) != WEFT_KIND_CPU)
            return; /* this program cannot poll there */
    TEST_EQ(env, weft_host_win_create(job, window, 4096, &win), WEFT_OK);
    for (uint32_t round = 1; round <= 20; round++) {
        const size_t words = round % 2 == 0 ? 1000 : 8;
        for (size_t i = 0; i < 1024; i++)
            source[i] = round;
        TEST_EQ(env, weft_host_put(job, win, to, 0, source, 4 * words), WEFT_OK);
        TEST_EQ(env, weft_host_fence(job), WEFT_OK);
        TEST_EQ(env, weft_host_put(job, win, to, 4092, source + 1023, 4), WEFT_OK);
        while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != round)
            if (!TEST_EQ(env, weft_host_test(job, TAG, 1, &there), WEFT_OK)) /* lets others run */
                return;
        for (size_t i = 0; i < words; i++)
            if (!TEST_EQ(env, window[i], round))
                return;
        TEST_EQ(env, weft_host_flush(job, win), WEFT_OK);
        TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
    }
    TEST_EQ(env, weft_host_win_free(job, &win), WEFT_OK);
}

static int body(struct test_env *env)
{
    struct test_check check;

    check_window(env, TEST_PLAIN);
    check_window(env, TEST_MAPPED);
    check_gather_scatter(env, 0);
    check_gather_scatter(env, 13);
    check_gather_scatter(env, env->brief ? 300 : 5000);
    if (!env->random)
        check_gather_scatter(env, 700001); /* several packets, and pieces of a proxy */
    if (test_prepare(env, &host_window_kernel))
        test_run(env, &check, sizeof(check));
    check_window(env, TEST_REGISTERED);
    check_malloced(env);
    if (!env->random) /* loads of this program are none of the model's */
        check_fence(env);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
