/*
 * The threads that run the ranks: if one of them cannot be started, no rank runs, and weft_run says
 * so; a rank that polls gives way to others. The program's own pthread_create refuses on demand,
 * its own sched_yield and sched_setaffinity take notes. On a random schedule ranks are tasks:
 * there, one too many is asked for.
 */
#include "support/test.h"

struct data {
    struct test_check check;
    int polls;
};

WEFT_KERNEL(workers_kernel, struct data, user)
{
    for (int i = 0; i < user->polls; i++)
        CHECK_EQ(self, &user->check, weft_test(self, 1, 1), 0);
    weft_barrier(self, WEFT_COMM_WORLD);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse_in; /* threads; 0: none is refused */
static int yields;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    if (create == NULL)
        *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (refuse_in > 0 && --refuse_in == 0)
        return EAGAIN;
    return create(thread, attributes, run, argument);
}

int sched_yield(void)
{
    __atomic_fetch_add(&yields, 1, __ATOMIC_RELAXED);
    return (int)syscall(SYS_sched_yield);
}

static pthread_mutex_t binding = PTHREAD_MUTEX_INITIALIZER;
static cpu_set_t bound; /* the processors that some thread keeps to */

int sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t *set)
{
    const long result = syscall(SYS_sched_setaffinity, thread, bytes, set);

    pthread_mutex_lock(&binding);
    if (result == 0 && CPU_COUNT(set) == 1)
        CPU_OR(&bound, &bound, set);
    pthread_mutex_unlock(&binding);
    return (int)result;
}

/* Four ranks on four workers (WEFT_CPU_BIND=on): on as many processors as there are, up to four. */
static void check_bound(struct test_env *env)
{
    struct data data = {.polls = 1};
    cpu_set_t allowed;

    TEST_EQ(env, sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    TEST_EQ(env, weft_prepare(env->job, &workers_kernel, 1, 4), WEFT_OK);
    test_run(env, &data, sizeof(data));
    TEST_EQ(env, CPU_COUNT(&bound), CPU_COUNT(&allowed) < 4 ? CPU_COUNT(&allowed) : 4);
}

/* One rank, which never waits: whoever yields is its worker. */
static void check_polling(struct test_env *env)
{
    struct data data = {.polls = 100000};

    TEST_EQ(env, weft_prepare(env->job, &workers_kernel, 1, 1), WEFT_OK);
    __atomic_store_n(&yields, 0, __ATOMIC_RELAXED);
    test_run(env, &data, sizeof(data));
    TEST(env, __atomic_load_n(&yields, __ATOMIC_RELAXED) > 0);
}

static int body(struct test_env *env)
{
    struct data data = {.polls = 1};

    if (!env->random) {
        check_polling(env);
        check_bound(env);
    }
    if (weft_prepare(env->job, &workers_kernel, 1, env->brief ? 1100 : 4) != WEFT_OK)
        return TEST_FAILED;
    if (!env->random)
        refuse_in = 3; /* two start */
    env->expect = WEFT_ERR_SYSTEM;
    test_run(env, &data, sizeof(data));
    TEST_EQ(env, data.check.done, 0);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    if (setenv("WEFT_CPU_WORKERS", "4", 1) != 0 || setenv("WEFT_TIMEOUT_S", "120", 1) != 0 ||
        setenv("WEFT_CPU_BIND", "on", 1) != 0) {
        perror("setenv");
        return TEST_FAILED;
    }
    return test_main(argc, argv, body);
}
#endif
