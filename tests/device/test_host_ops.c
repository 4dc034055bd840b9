/*
 * What the host program does with other processes' memory, without a kernel: puts, gets and updates
 * as operations, waits with a limit, and what it is refused, which leaves the job as it was.
 */
#ifndef __CUDACC__ /* no kernel */
#include "support/test.h"

#include "runtime/job/job.h"

#include <string.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum { WORDS = 1000, TAG = 3 };

/* Host programs update where they store themselves, or where the device does it for them. */
static bool updates(const struct test_env *env)
{
    const struct weft_state *state = &env->job->space.state;
    return state->copy == NULL || state->update != NULL;
}

struct ring {
    weft_win win;
    int me, n, to;
};

static void check_moves(struct test_env *env, const struct ring *ring)
{
    weft_job *job = env->job;
    uint64_t *source = test_memory(env, TEST_HOST, WORDS * 8);
    uint64_t *back = test_memory(env, TEST_HOST, WORDS * 8);
    uint64_t *more = test_memory(env, TEST_HOST, 2 * WORDS * 8);
    uint64_t word = 0;
    weft_op op[2];
    int done = 0;

    for (size_t i = 0; i < WORDS; i++)
        source[i] = (uint64_t)ring->me << 32 | i;
    TEST_EQ(env, weft_host_put_begin(job, ring->win, ring->to, 0, source, WORDS * 8, &op[0]), 0);
    TEST_EQ(env, weft_host_get_begin(job, ring->win, ring->to, 0, back, WORDS * 8, &op[1]), 0);
    TEST_EQ(env, weft_host_op_wait(job, op[1], WEFT_LOCAL), WEFT_OK);
    TEST_EQ(env, memcmp(source, back, WORDS * 8), 0); /* a get sees the puts before it */
    TEST_EQ(env, weft_host_op_wait_for(job, op[0], WEFT_REMOTE, 60), WEFT_OK);
    TEST_EQ(env, weft_host_op_test(job, op[0], WEFT_LOCAL, &done), WEFT_OK);
    TEST_EQ(env, done, 1);
    for (int i = 0; i < 2; i++) /* long ones, into memory that nobody has registered */
        TEST_EQ(
            env,
            weft_host_get_begin(job, ring->win, ring->to, 0, more + i * WORDS, WORDS * 8, &op[i]),
            WEFT_OK);
    for (int i = 0; i < 2; i++) {
        TEST_EQ(env, weft_host_op_wait(job, op[i], WEFT_LOCAL), WEFT_OK);
        TEST_EQ(env, memcmp(source, more + i * WORDS, WORDS * 8), 0);
    }
    TEST_EQ(env, weft_host_get(job, ring->win, ring->to, 8 * 77, &word, 8), WEFT_OK);
    TEST_EQ(env, word, source[77]);
    TEST_EQ(env, weft_host_get(job, ring->win, ring->to, 8 * 78, &word, 4), WEFT_OK);
    TEST_EQ(env, (uint32_t)word, 78);
    TEST_EQ(env, weft_host_get(job, ring->win, ring->to, 0, back, 0), WEFT_OK);
    TEST_EQ(env, weft_host_flush(job, ring->win), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
    TEST_EQ(env, weft_host_get_begin(job, ring->win, ring->me, 8, back, 100, &op[0]), WEFT_OK);
    for (done = 0; !done && env->failures == 0;)
        TEST_EQ(env, weft_host_op_test(job, op[0], WEFT_LOCAL, &done), WEFT_OK);
}

/* All processes update the same words: sums are exact, and every old value comes once. */
static void check_sums(struct test_env *env, const struct ring *ring)
{
    enum { EACH = 20 };
    const uint64_t ones[4] = {1, 1, 1, 1}, n = (uint64_t)ring->n;
    weft_job *job = env->job;
    uint64_t old = 0, last = 0, words[4];
    uint32_t narrow = 0;
    weft_op op;

    for (uint64_t i = 0; i < EACH; i++) {
        TEST_EQ(env, weft_host_fetch_add(job, ring->win, 0, 0, 1, &old), WEFT_OK);
        TEST(env, i == 0 || old > last);
        last = old;
        TEST_EQ(env, weft_host_add(job, ring->win, 0, 8, 3), WEFT_OK);
        TEST_EQ(env, weft_host_fetch_add_u32(job, ring->win, 0, 20, 1, &narrow), WEFT_OK);
    }
    TEST_EQ(env,
            weft_host_accumulate_begin(job, ring->win, 0, 32, ones, 4, WEFT_U64, WEFT_SUM, &op),
            WEFT_OK);
    TEST_EQ(env, weft_host_op_wait(job, op, WEFT_REMOTE), WEFT_OK);
    TEST_EQ(env, weft_host_flush(job, ring->win), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
    TEST_EQ(env, weft_host_fetch_add(job, ring->win, 0, 0, 0, &old), WEFT_OK);
    TEST_EQ(env, old, EACH * n);
    TEST_EQ(env, weft_host_fetch_add(job, ring->win, 0, 8, 0, &old), WEFT_OK);
    TEST_EQ(env, old, 3 * EACH * n);
    TEST_EQ(env, weft_host_fetch_add_u32(job, ring->win, 0, 20, 0, &narrow), WEFT_OK);
    TEST_EQ(env, narrow, EACH * n);
    TEST_EQ(env, weft_host_get(job, ring->win, 0, 32, words, sizeof(words)), WEFT_OK);
    for (int i = 0; i < 4; i++)
        TEST_EQ(env, words[i], n);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
}

/* Rows that all update at once, and what each was: every old value comes once. */
static void check_fetches(struct test_env *env, const struct ring *ring)
{
    enum { FROM = 100, MANY = 700, EACH = 5 };
    const uint64_t n = (uint64_t)ring->n;
    uint64_t ones[MANY], old[MANY], sum = 0;
    weft_job *job = env->job;
    uint32_t halves[2] = {9, 9};
    double factor[2] = {3, 0.5};
    weft_op op;

    for (int i = 0; i < MANY; i++) {
        ones[i] = 0;
        old[i] = 1; /* the source, too */
    }
    TEST_EQ(env, weft_host_put(job, ring->win, ring->me, 8 * FROM, ones, sizeof(ones)), WEFT_OK);
    TEST_EQ(env, weft_host_flush(job, ring->win), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
    for (int i = 0; i < MANY; i++)
        ones[i] = 1;
    for (int i = 0; i < EACH; i++) {
        uint64_t *const source = i == 0 ? old : ones;
        TEST_EQ(env,
                weft_host_fetch_accumulate_begin(job, ring->win, 0, 8 * FROM, source, old, MANY,
                                                 WEFT_U64, WEFT_SUM, &op),
                WEFT_OK);
        TEST_EQ(env, weft_host_op_wait(job, op, WEFT_LOCAL), WEFT_OK);
        for (int k = 0; k < MANY; k++)
            TEST(env, old[k] < EACH * n);
        sum += old[MANY - 1];
    }
    TEST_EQ(env, weft_host_fetch_add(job, ring->win, 0, 72, sum, NULL), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
    TEST_EQ(env, weft_host_get(job, ring->win, 0, 72, &sum, 8), WEFT_OK);
    TEST_EQ(env, sum, EACH * n * (EACH * n - 1) / 2);
    /* Words of 4 bytes, replaced; reals. */
    TEST_EQ(env,
            weft_host_fetch_accumulate_begin(job, ring->win, ring->to, 8 * FROM, halves, halves, 2,
                                             WEFT_U32, WEFT_REPLACE, &op),
            WEFT_OK);
    TEST_EQ(env, weft_host_op_wait(job, op, WEFT_LOCAL), WEFT_OK);
    TEST_EQ(env, halves[0], ring->to == 0 ? EACH * n : 0);
    TEST_EQ(env, halves[1], 0);
    for (int i = 0; i < 2; i++) {
        const weft_operation how = i == 0 ? WEFT_REPLACE : WEFT_PROD;
        TEST_EQ(env,
                weft_host_fetch_accumulate_begin(job, ring->win, ring->to, 8 * FROM, factor, old, 2,
                                                 WEFT_F64, how, &op),
                WEFT_OK);
        TEST_EQ(env, weft_host_op_wait(job, op, WEFT_LOCAL), WEFT_OK);
    }
    TEST_EQ(env, memcmp(old, factor, sizeof(factor)), 0);
    TEST_EQ(env, weft_host_get(job, ring->win, ring->to, 8 * FROM, factor, sizeof(factor)),
            WEFT_OK);
    TEST(env, factor[0] == 9 && factor[1] == 0.25);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
}

/* Sums of reals of 16 bits keep subnormals, also where the program takes them for 0. */
static void check_halves(struct test_env *env, const struct ring *ring)
{
    static const uint16_t before[2] = {1, 1}, after[2] = {2, 2};
    static const weft_type types[2] = {WEFT_F16, WEFT_BF16};
    weft_job *job = env->job;
    uint16_t found[2];
    weft_op op;

    TEST_EQ(env, weft_host_put(job, ring->win, ring->to, 96, before, sizeof(before)), WEFT_OK);
#ifdef __x86_64__
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040); /* flush to zero, denormals are zeros */
#endif
    for (size_t i = 0; i < 2; i++)
        TEST_EQ(env,
                weft_host_accumulate_begin(job, ring->win, ring->to, 96 + 2 * i, &before[i], 1,
                                           types[i], WEFT_SUM, &op),
                WEFT_OK);
#ifdef __x86_64__
    TEST_EQ(env, _mm_getcsr() & 0x8040, 0x8040);
    _mm_setcsr(mode);
#endif
    TEST_EQ(env, weft_host_op_wait(job, op, WEFT_REMOTE), WEFT_OK);
    TEST_EQ(env, weft_host_get(job, ring->win, ring->to, 96, found, sizeof(found)), WEFT_OK);
    TEST_EQ(env, memcmp(found, after, sizeof(found)), 0);
}

/* Of the own process's window, and of the next one's. */
static void check_updates(struct test_env *env, const struct ring *ring)
{
    const uint64_t zeros[100] = {0};
    weft_job *job = env->job;
    uint64_t old = 1;
    uint32_t narrow = 1;

    TEST_EQ(env, weft_host_put(job, ring->win, ring->me, 0, zeros, sizeof(zeros)), WEFT_OK);
    TEST_EQ(env, weft_host_flush(job, ring->win), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
    check_sums(env, ring);
    check_fetches(env, ring);
    check_halves(env, ring);
    TEST_EQ(env, weft_host_swap(job, ring->win, ring->to, 80, 5, &old), WEFT_OK);
    TEST_EQ(env, old, 0);
    TEST_EQ(env, weft_host_compare_swap(job, ring->win, ring->to, 80, 4, 9, &old), WEFT_OK);
    TEST_EQ(env, old, 5);
    TEST_EQ(env, weft_host_compare_swap(job, ring->win, ring->to, 80, 5, 9, &old), WEFT_OK);
    TEST_EQ(env, old, 5);
    TEST_EQ(env, weft_host_swap(job, ring->win, ring->to, 80, 0, NULL), WEFT_OK);
    TEST_EQ(env, weft_host_swap_u32(job, ring->win, ring->to, 92, 7, &narrow), WEFT_OK);
    TEST_EQ(env, narrow, 0);
    TEST_EQ(env, weft_host_compare_swap_u32(job, ring->win, ring->to, 92, 7, 8, &narrow), WEFT_OK);
    TEST_EQ(env, narrow, 7);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
    TEST_EQ(env, weft_host_fetch_add(job, ring->win, ring->me, 80, 1, &old), WEFT_OK);
    TEST_EQ(env, old, 0);
    TEST_EQ(env, weft_host_fetch_add_u32(job, ring->win, ring->me, 92, 1, &narrow), WEFT_OK);
    TEST_EQ(env, narrow, 8);
}

/* A wait that is not over in time takes nothing, and the next one finds what came. */
static void check_limits(struct test_env *env, const struct ring *ring)
{
    const double seconds = env->brief ? 1e-5 : 0.05;
    weft_job *job = env->job;
    const uint64_t before = weft_now_ns();

    TEST_EQ(env, weft_host_wait_for(job, TAG, 1, seconds), WEFT_ERR_TIMEOUT);
    TEST(env, (double)(weft_now_ns() - before) * 1e-9 >= seconds);
    TEST_EQ(env, weft_host_wait_for(job, TAG, 1, 0), WEFT_ERR_TIMEOUT);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
    TEST_EQ(env, weft_host_notify(job, ring->to, TAG), WEFT_OK);
    while (weft_host_wait_for(job, TAG, 2, seconds) != WEFT_ERR_TIMEOUT && env->failures == 0)
        TEST(env, false);
    TEST_EQ(env, weft_host_wait_for(job, TAG, 1, 60), WEFT_OK);
    TEST_EQ(env, weft_host_wait_for(job, TAG, 1, -1), WEFT_ERR_TIMEOUT);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
}

static void check_refused(struct test_env *env, const struct ring *ring)
{
    weft_job *job = env->job;
    const weft_win win = ring->win;
    uint64_t word = 0;
    uint32_t narrow = 0;
    weft_op op, other = {7, 0, 0x00011}; /* of the future, and of no stamp of this job */

    TEST_EQ(env, weft_host_get(job, win, ring->n, 0, &word, 8), WEFT_ERR_RANK);
    TEST_EQ(env, weft_host_get(job, win, -1, 0, &word, 8), WEFT_ERR_RANK);
    TEST_EQ(env, weft_host_get(job, win, 0, WORDS * 8 - 7, &word, 8), WEFT_ERR_BOUNDS);
    TEST_EQ(env, weft_host_get(job, win, 0, 0, NULL, 8), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_get(job, WEFT_WIN_NONE, 0, 0, &word, 8), WEFT_ERR_WINDOW);
    TEST_EQ(env, weft_host_get_begin(job, win, 0, SIZE_MAX, &word, 8, &op), WEFT_ERR_BOUNDS);
    TEST_EQ(env, weft_host_put_begin(job, win, 0, 0, &word, 8, NULL), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_fetch_add(job, win, 0, 4, 1, &word), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_fetch_add_u32(job, win, 0, 2, 1, &narrow), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_swap(job, win, 0, WORDS * 8, 1, &word), WEFT_ERR_BOUNDS);
    TEST_EQ(env, weft_host_add(job, win, ring->n, 0, 1), WEFT_ERR_RANK);
    TEST_EQ(env, weft_host_accumulate_begin(job, win, 0, 0, &word, 1, WEFT_F64, WEFT_XOR, &op),
            WEFT_ERR_ARGUMENT);
    TEST_EQ(env,
            weft_host_accumulate_begin(job, win, 0, 0, &word, SIZE_MAX, WEFT_U64, WEFT_SUM, &op),
            WEFT_ERR_BOUNDS);
    TEST_EQ(env, weft_host_accumulate_begin(job, win, 0, 1, &word, 1, WEFT_F16, WEFT_SUM, &op),
            WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_accumulate_begin(job, win, 0, 0, &word, 1, WEFT_U8, WEFT_SUM, &op),
            WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_accumulate_begin(job, win, 0, 0, &word, 1, WEFT_U64, 9, &op),
            WEFT_ERR_ARGUMENT);
    TEST_EQ(
        env,
        weft_host_fetch_accumulate_begin(job, win, 0, 0, &word, &word, 1, WEFT_F16, WEFT_SUM, &op),
        WEFT_ERR_ARGUMENT);
    TEST_EQ(
        env,
        weft_host_fetch_accumulate_begin(job, win, 0, 0, &word, NULL, 1, WEFT_U64, WEFT_SUM, &op),
        WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_pid(job, -1), 0);
    TEST_EQ(env, weft_host_pid(job, ring->n), 0);
    TEST_EQ(env, weft_host_op_wait(job, other, WEFT_LOCAL), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_op_test(job, other, WEFT_LOCAL, NULL), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_wait_for(job, 256, 1, 0), WEFT_ERR_TAG);
    env->expect = WEFT_ERR_RANK; /* of weft_close: the first that was refused */
}

static int body(struct test_env *env)
{
    struct ring ring = {.me = env->numbers->process, .n = env->numbers->processes};
    uint64_t *memory = test_memory(env, TEST_MAPPED, WORDS * 8);
    uint64_t old;

    ring.to = (ring.me + 1) % ring.n;
    TEST_EQ(env, weft_host_win_create(env->job, memory, WORDS * 8, &ring.win), WEFT_OK);
    check_moves(env, &ring);
    check_limits(env, &ring);
    if (updates(env))
        check_updates(env, &ring);
    check_refused(env, &ring);
    if (!updates(env))
        TEST_EQ(env, weft_host_fetch_add(env->job, ring.win, ring.me, 0, 1, &old),
                WEFT_ERR_UNSUPPORTED);
    TEST_EQ(env, weft_host_win_free(env->job, &ring.win), WEFT_OK);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
