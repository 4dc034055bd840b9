/*
 * litmus/tasks.c - tasks of one host program, which ranks of both processes take: their arguments
 * and data are there, and what they wrote is there when the host program knows of their end.
 */
#include "messages.h"

#include <weft/task.h>

#include <stdio.h>

enum { COUNT = 6 };

struct none {
    int unused;
};
struct args {
    uint64_t value;
};

#define LITMUS_TASKS(X) X(store)
WEFT_TASK_IDS(LITMUS_TASKS)

WEFT_TASK(store, struct args, args)
{
    *(uint64_t *)weft_task_data(task, 0) = args->value;
}

WEFT_TASK_KERNEL(litmus_task_kernel, LITMUS_TASKS, struct none)

int litmus_tasks(weft_job *job)
{
    const int me = weft_numbers_of(job)->process;
    uint64_t *words = weft_malloc(job, COUNT * sizeof(*words));
    struct none none = {0};
    int wrong = 0;
    weft_win win;

    if (words == NULL ||
        weft_host_win_create(job, words, COUNT * sizeof(*words), &win) != WEFT_OK ||
        weft_tasks_begin(job, &litmus_task_kernel, &none, 1, 2) != WEFT_OK)
        return 1;
    for (uint64_t i = 0; me == 0 && i < COUNT; i++) {
        const struct args args = {i + 1};
        const weft_task_desc desc = {.body = store_id,
                                     .arguments = &args,
                                     .arguments_bytes = sizeof(args),
                                     .datas = 1,
                                     .data[0] = {.win = win,
                                                 .offset = i * sizeof(*words),
                                                 .bytes = sizeof(*words),
                                                 .mode = WEFT_TASK_OUT}};
        uint64_t seen = 0;
        if ((i % 2 == 0 ? weft_task_run(job, &desc) : weft_task_create(job, &desc, NULL)) !=
                WEFT_OK ||
            weft_host_get(job, win, me, i / 2 * 2 * sizeof(*words), &seen, sizeof(seen)) != WEFT_OK)
            return 1;
        wrong += seen != i / 2 * 2 + 1;
    }
    if (weft_tasks_end(job) != WEFT_OK)
        return 1;
    for (uint64_t i = 0; me == 0 && i < COUNT; i++)
        wrong += words[i] != i + 1;
    if (wrong != 0)
        fprintf(stderr, "litmus tasks: %d words are wrong\n", wrong);
    return weft_host_win_free(job, &win) != WEFT_OK || wrong != 0;
}
