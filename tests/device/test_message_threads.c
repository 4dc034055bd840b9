/*
 * Several threads of each host program send and receive at once, each with its own tag, small and
 * large; one more waits all the time for what comes last.
 */
#ifndef __CUDACC__ /* no kernel */
#include "support/test.h"

#include "weft/message.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 60, LAST = 200, MOST = 20000 };

struct worker {
    struct test_env *env;
    pthread_t thread;
    int index;
    unsigned char out[MOST], in[MOST];
};

static void *work(void *argument)
{
    struct worker *w = argument;
    struct test_env *env = w->env;
    const int n = env->numbers->processes, me = env->numbers->process;
    const int to = (me + 1) % n, from = (me + n - 1) % n;

    for (int i = 0; i < ROUNDS * env->scale; i++) {
        const size_t bytes = (size_t)(i % 3 == 0 ? MOST - i : 8 + i);
        const uint64_t key = (uint64_t)i * THREADS + (uint64_t)w->index;
        weft_message_op ops[2];
        weft_message messages[2];
        for (size_t b = 0; b < bytes; b++)
            w->out[b] = test_byte(key, b);
        TEST_EQ(
            env,
            weft_host_receive_begin(env->job, WEFT_COMM_HOST, from, w->index, w->in, MOST, &ops[0]),
            WEFT_OK);
        TEST_EQ(
            env,
            weft_host_send_begin(env->job, WEFT_COMM_HOST, to, w->index, w->out, bytes, &ops[1]),
            WEFT_OK);
        TEST_EQ(env, weft_host_message_wait_all(env->job, ops, 2, messages), WEFT_OK);
        TEST_EQ(env, messages[0].bytes, bytes);
        TEST_EQ(env, memcmp(w->in, w->out, bytes), 0); /* the same key comes from the other side */
    }
    return NULL;
}

static void *wait_for_last(void *argument)
{
    struct worker *w = argument;

    TEST_EQ(w->env, weft_host_receive(w->env->job, WEFT_COMM_HOST, WEFT_ANY, LAST, NULL, 0, NULL),
            WEFT_OK);
    return NULL;
}

static int body(struct test_env *env)
{
    static _Thread_local struct worker workers[THREADS + 1];
    const int n = env->numbers->processes, me = env->numbers->process;

    if (env->random) /* it has one thread, which runs everything */
        return TEST_SKIPPED;
    for (int i = 0; i <= THREADS; i++) {
        workers[i].env = env;
        workers[i].index = i;
        TEST_EQ(env,
                pthread_create(&workers[i].thread, NULL, i < THREADS ? work : wait_for_last,
                               &workers[i]),
                0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    TEST_EQ(env, weft_host_send(env->job, WEFT_COMM_HOST, (me + 1) % n, LAST, NULL, 0), WEFT_OK);
    pthread_join(workers[THREADS].thread, NULL);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    test_threads = WEFT_THREAD_MULTIPLE;
    return test_main(argc, argv, body);
}
#endif
