/*
 * litmus/tasks.c - tasks of one host program, which ranks of both processes take: their arguments
 * and data are there, and what they wrote is there when the host program knows of their end. And
 * recorded tasks, each of which reads what the one before has written.
 */
#include "messages.h"
#include "support/check.h"

#include <weft/task.h>

#include <stdio.h>

enum { COUNT = 6, EPOCHS = 3 };

struct none {
    int unused;
};
struct args {
    uint64_t value;
};

#define LITMUS_TASKS(X) X(store) X(follow)
WEFT_TASK_IDS(LITMUS_TASKS)

WEFT_TASK(store, struct args, args)
{
    *(uint64_t *)weft_task_data(task, 0) = args->value;
}

WEFT_TASK(follow, struct args, args)
{
    const uint64_t *const from = weft_task_data(task, 0);
    uint64_t *const to = weft_task_data(task, 1);

    test_will_read(from, sizeof(*from));
    test_will_write(to, sizeof(*to));
    *to = *from + args->value;
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

/* A ring: the sum goes round in each epoch. */
static weft_status run_ring(weft_job *job, weft_win win, int me)
{
    const struct args args = {1};
    weft_recording *ring;
    weft_status status = weft_tasks_record(job, &ring);

    for (uint64_t i = 0; i < COUNT && status == WEFT_OK; i++) {
        weft_task_desc desc = {
            .body = follow_id, .arguments = &args, .arguments_bytes = sizeof(args), .datas = 2};
        for (uint64_t k = 0; k < 2; k++)
            desc.data[k] = (weft_task_data_desc){.win = win,
                                                 .place = me,
                                                 .offset = (i + k) % COUNT * sizeof(uint64_t),
                                                 .bytes = sizeof(uint64_t),
                                                 .mode = k == 0 ? WEFT_TASK_IN : WEFT_TASK_OUT};
        status = weft_tasks_add(ring, &desc);
    }
    if (status == WEFT_OK)
        status = weft_tasks_ready(ring);
    return status == WEFT_OK ? weft_tasks_run(ring, EPOCHS) : status;
}

int litmus_recorded(weft_job *job)
{
    uint64_t *words = weft_malloc(job, COUNT * sizeof(*words)), sum = 0;
    const int me = weft_numbers_of(job)->process;
    struct none none = {0};
    weft_win win;

    if (words == NULL ||
        weft_host_win_create(job, words, COUNT * sizeof(*words), &win) != WEFT_OK ||
        weft_tasks_begin(job, &litmus_task_kernel, &none, 1, 2) != WEFT_OK)
        return 1;
    if (run_ring(job, win, me) != WEFT_OK ||
        weft_host_get(job, win, me, 0, &sum, sizeof(sum)) != WEFT_OK ||
        weft_tasks_end(job) != WEFT_OK || weft_host_win_free(job, &win) != WEFT_OK)
        return 1;
    if (sum != COUNT * EPOCHS)
        fprintf(stderr, "litmus recorded: %llu\n", (unsigned long long)sum);
    return sum != COUNT * EPOCHS;
}
