/* base/task.c - tasks and time: POSIX threads and the monotonic clock, or the model's. */
#include "base/task.h"

#include "base/say.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct weft_model *weft_model;

static _Thread_local void *local;

static void *thread_main(void *argument)
{
    struct weft_task *task = argument;

    local = task->local;
    pthread_setname_np(pthread_self(), task->name); /* for debuggers only: may fail */
    task->run(task->argument);
    return NULL;
}

/*
 * Signals are for the program's own threads: a handler of the program's must not run on a thread of
 * ours, nor on a fiber's stack, and a reader of standard output that has left ends no process.
 * Those that say what a thread itself did wrong, and a profiler's, come all the same.
 */
static void block_signals(sigset_t *before)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigset_t all;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

/* Starts the thread with a stack as ulimit -s says, but never less than libraries need. */
static int create(struct weft_task *task)
{
    enum { LEAST = 1 << 20 };
    pthread_attr_t attributes;
    size_t stack;
    int error = pthread_attr_init(&attributes);

    if (error != 0)
        return error;
    if (pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < LEAST)
        pthread_attr_setstacksize(&attributes, LEAST);
    error = pthread_create(&task->thread, &attributes, thread_main, task);
    pthread_attr_destroy(&attributes);
    return error;
}

weft_status weft_task_start(struct weft_task *task, const char *name, void (*run)(void *),
                            void *argument)
{
    sigset_t before;
    int error;

    task->run = run;
    task->argument = argument;
    task->local = *weft_task_local();
    snprintf(task->name, sizeof(task->name), "%s", name);
    if (weft_model != NULL) {
        task->model = weft_model->start(task->name, run, argument);
        return task->model != NULL ? WEFT_OK
                                   : weft_err(WEFT_ERR_SYSTEM,
                                              "cannot start task %s: the model "
                                              "has no memory or no room for it",
                                              name);
    }
    block_signals(&before);
    error = create(task);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return weft_err(WEFT_ERR_SYSTEM, "cannot start thread %s: %s", name, strerror(error));
    return WEFT_OK;
}

void weft_task_join(struct weft_task *task)
{
    if (weft_model != NULL)
        weft_model->join(task->model);
    else if (pthread_join(task->thread, NULL) != 0)
        abort(); /* not a started task: its stack and data could still be in use */
}

void weft_task_yield(bool idle)
{
    if (weft_model != NULL)
        weft_model->yield(idle);
    else
        sched_yield(); /* never fails on Linux */
}

void **weft_task_local(void)
{
    return weft_model != NULL ? &weft_model->own()->local : &local;
}

uint64_t weft_now_ns(void)
{
    struct timespec now;

    if (weft_model != NULL)
        return weft_model->now();
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        abort(); /* every Linux has this clock */
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
