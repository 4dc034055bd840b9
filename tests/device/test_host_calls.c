/*
 * The host's own calls: numbers, memory, copies, status texts; and what the host program does
 * wrong, which is returned with its reason and leaves the job as it was.
 */
#include "support/test.h"

#include <string.h>

struct data {
    struct test_check check;
    uint64_t *memory; /* a word for each rank of the device */
};

WEFT_KERNEL(host_calls_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_DEVICE);

    weft_enter(self);
    CHECK_EQ(self, &user->check, user->memory[me], 1000 + me);
    weft_sync(self);
    if (weft_thread(self) == 0)
        user->memory[me]++;
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
/* The highest free tags, the same everywhere; what is given back is taken again. */
static void check_tags(struct test_env *env)
{
    int a = 0, b = 0, c = 0;

    TEST_EQ(env, weft_tags_take(env->job, 3, &a), WEFT_OK);
    TEST_EQ(env, weft_tags_take(env->job, 2, &b), WEFT_OK);
    TEST_EQ(env, a, WEFT_TAGS - 3);
    TEST_EQ(env, b, WEFT_TAGS - 5);
    TEST_EQ(env, weft_tags_give(env->job, a, 3), WEFT_OK);
    TEST_EQ(env, weft_tags_take(env->job, 4, &c), WEFT_OK); /* no room above b */
    TEST_EQ(env, c, WEFT_TAGS - 9);
    TEST_EQ(env, weft_tags_take(env->job, 1, &a), WEFT_OK);
    TEST_EQ(env, a, WEFT_TAGS - 1);
    TEST_EQ(env, weft_tags_give(env->job, a, 1), WEFT_OK);
    TEST_EQ(env, weft_tags_give(env->job, c, 6), WEFT_OK); /* both, which lie side by side */
    TEST_EQ(env, weft_tags_take(env->job, WEFT_TAGS, &a), WEFT_OK);
    TEST_EQ(env, a, 0);
    TEST_EQ(env, weft_tags_give(env->job, 0, WEFT_TAGS), WEFT_OK);
}

static void check_numbers(struct test_env *env)
{
    const weft_numbers *n = env->numbers;

    TEST(env, n->process >= 0 && n->process < n->processes);
    TEST(env, n->device >= 0 && n->device < n->devices && n->devices <= n->processes);
    TEST(env, n->node_process >= 0 && n->node_process < n->node_processes);
    TEST(env, n->node_device >= 0 && n->node_device < n->node_devices);
    if (n->nodes == 1) {
        TEST(env, n->node_processes == n->processes && n->node_process == n->process);
        TEST(env, n->node_devices == n->devices && n->node_device == n->device);
    }
    TEST(env, n->node >= 0 && n->node < n->nodes && n->nodes <= n->processes);
    TEST_EQ(env, strcmp(weft_status_name(WEFT_ERR_BOUNDS), "WEFT_ERR_BOUNDS"), 0);
    TEST_EQ(env, strcmp(weft_status_name(WEFT_OK), "WEFT_OK"), 0);
    for (int s = 0; s < WEFT_STATUS_COUNT; s++)
        TEST(env, weft_status_text((weft_status)s)[0] != 0);
    TEST(env, weft_status_text((weft_status)9999) != NULL);
}

/* Zeroed and aligned, also when it was used before. */
static void check_memory(struct test_env *env)
{
    weft_job *job = env->job;
    unsigned char byte = 1;

    for (int round = 0; round < 3; round++) {
        unsigned char *memory = weft_malloc(job, 10001);
        if (!TEST(env, memory != NULL))
            return;
        TEST_EQ(env, (uintptr_t)memory % 256, 0);
        for (size_t i = 0; i < 10001; i += 1000) {
            TEST_EQ(env, weft_copy(job, &byte, memory + i, 1), WEFT_OK);
            TEST_EQ(env, byte, 0);
        }
        byte = 7;
        TEST_EQ(env, weft_copy(job, memory + 5000, &byte, 1), WEFT_OK);
        TEST_EQ(env, weft_copy(job, memory, memory + 5000, 1), WEFT_OK);
        byte = 0;
        TEST_EQ(env, weft_copy(job, &byte, memory, 1), WEFT_OK);
        TEST_EQ(env, byte, 7);
        weft_free(job, memory);
    }
    weft_free(job, NULL);
    TEST(env, weft_malloc(job, SIZE_MAX / 2) == NULL);
    TEST(env, weft_error(job)[0] != 0);
}

static void check_wrong_calls(struct test_env *env)
{
    weft_job *job = env->job;
    unsigned char *memory = test_memory(env, TEST_PLAIN, 64);
    weft_win win = WEFT_WIN_NONE, freed = WEFT_WIN_NONE;
    const int n = env->numbers->processes, next = (env->numbers->process + 1) % n;

    TEST_EQ(env, weft_host_win_create(job, memory, 64, &win), WEFT_OK);
    TEST_EQ(env, weft_host_put(job, win, next, 61, memory, 4), WEFT_ERR_BOUNDS);
    TEST_EQ(env, weft_host_put(job, win, next, SIZE_MAX, memory, 2), WEFT_ERR_BOUNDS);
    TEST_EQ(env, weft_host_put(job, win, n, 0, memory, 4), WEFT_ERR_RANK);
    TEST_EQ(env, weft_host_put(job, win, -1, 0, memory, 4), WEFT_ERR_RANK);
    TEST_EQ(env, weft_host_put_notify(job, win, next, 0, memory, 4, 256), WEFT_ERR_TAG);
    TEST_EQ(env, weft_host_put(job, win, next, 0, NULL, 4), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_put(job, WEFT_WIN_NONE, next, 0, memory, 4), WEFT_ERR_WINDOW);
    TEST_EQ(env, weft_host_notify(job, n, 0), WEFT_ERR_RANK);
    TEST_EQ(env, weft_host_notify(job, next, -1), WEFT_ERR_TAG);
    TEST_EQ(env, weft_host_wait(job, 256, 1), WEFT_ERR_TAG);
    freed = win;
    TEST_EQ(env, weft_host_win_free(job, &win), WEFT_OK);
    TEST_EQ(env, weft_host_flush(job, freed), WEFT_ERR_WINDOW);
    TEST_EQ(env, weft_host_win_free(job, &freed), WEFT_ERR_WINDOW);
    TEST_EQ(env, weft_unregister(job, memory), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_prepare(job, &host_calls_kernel, 0, 1), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_prepare(job, &host_calls_kernel, 1, -1), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_first_rank_of(NULL, 0), -1);
    TEST_EQ(env, weft_ranks_of(NULL, 0), -1);
    TEST_EQ(env, weft_device_of(NULL, 0), -1);
    TEST(env, weft_numbers_of(NULL) == NULL && weft_process_kind(NULL, 0) == WEFT_KIND_NONE);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK); /* the job is as it was */
}

static int body(struct test_env *env)
{
    struct data data = {0};

    TEST_EQ(env, weft_run(env->job, &data, sizeof(data), NULL), WEFT_ERR_STATE);
    check_numbers(env);
    check_tags(env);
    check_memory(env);
    check_wrong_calls(env);
    if (!test_prepare(env, &host_calls_kernel))
        return TEST_FAILED;
    TEST_EQ(env, weft_run(env->job, &data, sizeof(data) - 1, NULL), WEFT_ERR_ARGUMENT);
    const size_t ranks = (size_t)env->numbers->ranks_here;
    uint64_t *words = test_memory(env, TEST_HOST, ranks * sizeof(*words));
    data.memory = test_memory(env, TEST_MAPPED, ranks * sizeof(*words));
    for (size_t r = 0; r < ranks; r++)
        words[r] = 1000 + r;
    TEST_EQ(env, weft_copy(env->job, data.memory, words, ranks * sizeof(*words)), WEFT_OK);
    test_run(env, &data, sizeof(data));
    TEST_EQ(env, weft_copy(env->job, words, data.memory, ranks * sizeof(*words)), WEFT_OK);
    for (size_t r = 0; r < ranks; r++)
        TEST_EQ(env, words[r], 1001 + r);
    env->expect = WEFT_ERR_STATE; /* of weft_close: the first call's that was refused */
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
