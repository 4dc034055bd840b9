/*
 * bench/tasks.cu - what tasks cost that do nothing: the calls of one task of many (indexed), a
 * record each from the host program (host), children that tasks make (spawn), a thousand recorded
 * tasks that run again and again (recorded). Each process has its own; process 0 prints its own
 * time.
 */
#include "support/bench.h"

#include <weft/task.h>

struct tree {
    uint32_t depth, unused;
};
struct nothing {
    uint32_t unused;
};
#define BODIES(X) X(leaf) X(branch)
WEFT_TASK_IDS(BODIES)

WEFT_TASK(leaf, struct tree, tree)
{
    (void)tree;
}

/* Two children. The newest goes first, so that few wait: there is room for them (WEFT_TASK_SLOTS).
 */
WEFT_TASK(branch, struct tree, tree)
{
    WEFT_SHARED(struct tree, child, 1);
    weft_task_desc desc = {0};

    if (tree->depth == 0)
        return;
    if (weft_thread(self) == 0)
        *child = (struct tree){tree->depth - 1, 0};
    weft_sync(self);
    desc.body = branch_id;
    desc.priority = 1;
    desc.flags = WEFT_TASK_HOLD;
    desc.arguments = child;
    desc.arguments_bytes = sizeof(*child);
    for (int i = 0; i < 2; i++)
        weft_task_spawn(self, task, &desc);
}

WEFT_TASK_KERNEL(bench_tasks, BODIES, struct nothing)

#ifndef __CUDACC__

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 32, RECORDED_TASKS = 1000, INDEXED = 0, HOST, SPAWN, RECORDED };

static const char *const forms[] = {"indexed", "host", "spawn", "recorded", NULL};

static weft_status record(weft_job *job, weft_recording **recording)
{
    struct tree tree = {0, 0};
    const weft_task_desc desc = {
        .body = leaf_id, .arguments = &tree, .arguments_bytes = sizeof(tree)};
    weft_status status = weft_tasks_record(job, recording);

    for (int i = 0; i < RECORDED_TASKS && status == WEFT_OK; i++)
        status = weft_tasks_add(*recording, &desc);
    return status == WEFT_OK ? weft_tasks_ready(*recording) : status;
}

static weft_status create(weft_job *job, int form, uint64_t count)
{
    struct tree tree = {0, 0};
    weft_task_desc desc = {.body = leaf_id,
                           .priority = 1,
                           .flags = WEFT_TASK_HOLD,
                           .count = form == HOST ? 1 : count,
                           .arguments = &tree,
                           .arguments_bytes = sizeof(tree)};
    weft_status status = WEFT_OK;

    if (form == SPAWN) {
        desc.body = branch_id;
        desc.count = 1;
        while (((uint64_t)2 << tree.depth) - 1 < count)
            tree.depth++;
    }
    for (uint64_t i = 0; i < (form == HOST ? count : 1) && status == WEFT_OK; i++)
        status = weft_task_create(job, &desc, NULL);
    return status == WEFT_OK ? weft_tasks_finish(job) : status;
}

static weft_status work(weft_job *job, weft_recording *recording, int form, uint64_t count)
{
    return form == RECORDED
               ? weft_tasks_run(recording, (count + RECORDED_TASKS - 1) / RECORDED_TASKS)
               : create(job, form, count);
}

/* Of count tasks, or, spawned, of 2^k - 1 that are as many at least; recorded, of thousands. */
static uint64_t tasks_of(int form, uint64_t count)
{
    uint64_t all = 1;

    if (form == RECORDED)
        return (count + RECORDED_TASKS - 1) / RECORDED_TASKS * RECORDED_TASKS;
    while (form == SPAWN && all < count)
        all = 2 * all + 1;
    return form == SPAWN ? all : count;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    struct nothing nothing = {0};
    weft_task_numbers numbers = {0};
    weft_recording *recording = NULL;
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return EXIT_FAILURE;
    bench_parse(&options, argc, argv, 0,
                "Time of a task that does nothing. Run alone, or: weftrun -n PROCESSES bench_tasks",
                forms);
    const int form = options.form;
    const uint64_t tasks = tasks_of(form, options.repeats);
    weft_status status = weft_tasks_begin(job, &bench_tasks, &nothing, THREADS, 0);
    if (status == WEFT_OK && form == RECORDED)
        status = record(job, &recording);
    if (status == WEFT_OK)
        status = work(job, recording, form, bench_warm_up(tasks));
    const double begun = bench_seconds();
    if (status == WEFT_OK)
        status = work(job, recording, form, options.repeats);
    const double us = (bench_seconds() - begun) * 1e6;
    const int ranks = weft_numbers_of(job)->ranks_here;
    if (status == WEFT_OK)
        status = weft_tasks_end(job);
    if (status == WEFT_OK)
        status = weft_tasks_numbers(job, &numbers);
    const uint64_t lost = tasks + tasks_of(form, bench_warm_up(tasks)) - numbers.executed;
    if (status == WEFT_OK && weft_numbers_of(job)->process == 0) {
        bench_header("ranks", "tasks", "us_each");
        bench_line((uint64_t)ranks, tasks, us / (double)tasks);
        if (lost != 0)
            fprintf(stderr, "bench: %llu tasks did not run\n", (unsigned long long)lost);
    }
    return weft_close(job) == WEFT_OK && status == WEFT_OK && lost == 0 ? EXIT_SUCCESS
                                                                        : EXIT_FAILURE;
}
#endif
