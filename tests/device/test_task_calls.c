/*
 * Tasks: each runs once, wherever; what it wrote is there when its end is known; priorities,
 * calls by index, trees of tasks; cancelled in every state; nothing is finished before all is done.
 */
#include "support/test.h"

#include <weft/task.h>

struct cell {
    uint64_t count, value;
};

enum { CELLS = 256 };

/* In the window of each process: cells of its own tasks, then a counter and a go-ahead. */
enum { COUNTER = CELLS * sizeof(struct cell), GO = COUNTER + 8, BYTES = GO + 8 };

struct user {
    struct test_check check;
    weft_win win;
    int32_t processes;
};

struct args {
    uint32_t index, depth, body;
};

#define BODIES(X) X(mark) X(leaf) X(stamp) X(tick) X(spin) X(whose)
WEFT_TASK_IDS(BODIES)

/* The cell is counted once, and gets its value. */
WEFT_TASK(mark, struct args, args)
{
    struct cell *const cell = (struct cell *)weft_task_data(task, 0);

    weft_sync(self);
    if (weft_thread(self) == 0) {
        test_will_read(cell, sizeof(*cell));
        test_will_write(cell, sizeof(*cell));
        cell->count++;
        cell->value = test_mix(args->index);
    }
}

/* A tree: each spawns two, or counts what it could not spawn. */
WEFT_TASK(leaf, struct args, args)
{
    struct user *const user = (struct user *)weft_task_user(task);
    struct args next = {args->index, args->depth - 1, 0};
    weft_task_desc desc = {0};
    uint64_t alone = args->depth == 0;

    desc.body = leaf_id;
    desc.priority = args->depth % 2 + 1;
    desc.arguments = &next;
    desc.arguments_bytes = sizeof(next);
    for (int i = 0; args->depth != 0 && i < 2; i++)
        alone += weft_task_spawn(self, task, &desc) ? 0 : 1ull << (args->depth - 1);
    if (alone != 0)
        weft_fetch_add(self, user->win, (int)args->index, COUNTER, alone);
}

/* When it ran: the next of its place's numbers. */
WEFT_TASK(stamp, struct args, args)
{
    struct user *const user = (struct user *)weft_task_user(task);
    const int place = weft_task_place(task);
    const uint64_t now = weft_fetch_add(self, user->win, place, COUNTER, 1);

    weft_fetch_add(self, user->win, place, args->index * sizeof(struct cell), 1);
    weft_fetch_add(self, user->win, place, args->index * sizeof(struct cell) + 8, now);
}

WEFT_TASK(tick, struct args, args)
{
    struct user *const user = (struct user *)weft_task_user(task);

    weft_fetch_add(self, user->win, weft_task_place(task),
                   weft_task_index(task) * sizeof(struct cell), 1);
}

/* Says that it runs, and does so until it may go on, or is cancelled. */
WEFT_TASK(spin, struct args, args)
{
    struct user *const user = (struct user *)weft_task_user(task);
    const int place = weft_task_place(task);
    int cancelled = 0;

    weft_fetch_add(self, user->win, place, args->index * sizeof(struct cell), 1);
    while (!cancelled && weft_fetch_add(self, user->win, place, GO, 0) == 0)
        cancelled = weft_task_cancelled(self, task);
    weft_fetch_add(self, user->win, place, args->index * sizeof(struct cell) + 8,
                   cancelled ? 2 : 1);
}

/* The cell is counted once, and says who has run it. */
WEFT_TASK(whose, struct args, args)
{
    struct user *const user = (struct user *)weft_task_user(task);
    const size_t cell = args->index * sizeof(struct cell);

    weft_fetch_add(self, user->win, weft_task_place(task), cell, 1);
    weft_fetch_add(self, user->win, weft_task_place(task), cell + 8, (uint64_t)weft_process(self));
}

WEFT_TASK_KERNEL(tasks, BODIES, struct user)

#ifndef __CUDACC__

static const unsigned char zero[BYTES];

static bool begin(struct test_env *env, struct user *user, int ranks)
{
    user->processes = env->numbers->processes;
    return TEST_EQ(env, weft_tasks_begin(env->job, &tasks, user, env->threads, ranks), WEFT_OK);
}

/* As an update, since tasks may update it at the same time. 1 where the job has failed. */
static uint64_t word_at(struct test_env *env, const struct user *user, size_t offset)
{
    uint64_t word = 1;

    TEST_EQ(env, weft_host_fetch_add(env->job, user->win, env->numbers->process, offset, 0, &word),
            WEFT_OK);
    return word;
}

static struct cell cell_at(struct test_env *env, const struct user *user, uint32_t i)
{
    return (struct cell){word_at(env, user, i * sizeof(struct cell)),
                         word_at(env, user, i * sizeof(struct cell) + 8)};
}

static void clear(struct test_env *env, const struct user *user)
{
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_put(env->job, user->win, env->numbers->process, 0, zero, BYTES),
            WEFT_OK);
    TEST_EQ(env, weft_host_flush(env->job, user->win), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
}

static weft_task_desc desc_of(struct test_env *env, const struct user *user, uint32_t body,
                              struct args *args)
{
    weft_task_desc desc = {.body = body, .arguments = args, .arguments_bytes = sizeof(*args)};

    if (body == mark_id) {
        desc.datas = 1;
        desc.data[0] = (weft_task_data_desc){.win = user->win,
                                             .place = env->numbers->process,
                                             .offset = args->index * sizeof(struct cell),
                                             .bytes = sizeof(struct cell),
                                             .mode = WEFT_TASK_INOUT};
    }
    return desc;
}

static weft_status create(struct test_env *env, const struct user *user, uint32_t body,
                          uint32_t index, uint32_t priority, weft_task_id *task)
{
    struct args args = {.index = index};
    weft_task_desc desc = desc_of(env, user, body, &args);

    desc.priority = priority;
    return weft_task_create(env->job, &desc, task);
}

/* Each task once; a word that was waited for is there. */
static void once(struct test_env *env, const struct user *user)
{
    const uint32_t n = env->brief ? 20 : CELLS;
    weft_task_id first[8];

    clear(env, user);
    for (uint32_t i = 0; env->numbers->process == 0 && i < n; i++)
        TEST_EQ(env, create(env, user, mark_id, i, i % 4, i < 8 ? &first[i] : NULL), WEFT_OK);
    for (uint32_t i = 0; env->numbers->process == 0 && i < 8; i++) {
        weft_task_status status;
        TEST_EQ(env, weft_task_wait(env->job, first[i], &status), WEFT_OK);
        TEST_EQ(env, status, WEFT_TASK_DONE);
        TEST_EQ(env, cell_at(env, user, i).value, test_mix(i));
    }
    TEST_EQ(env, weft_tasks_finish(env->job), WEFT_OK);
    for (uint32_t i = 0; env->numbers->process == 0 && i < n; i++) {
        TEST_EQ(env, cell_at(env, user, i).count, 1);
        TEST_EQ(env, cell_at(env, user, i).value, test_mix(i));
    }
}

static void trees(struct test_env *env, const struct user *user)
{
    const uint32_t depth = env->brief ? 3 : 10;
    const int n = env->numbers->processes;

    clear(env, user);
    for (int of = 0; of < n; of++) { /* a tree for each counter */
        struct args args = {.index = (uint32_t)of, .depth = depth};
        weft_task_desc desc = desc_of(env, user, leaf_id, &args);
        TEST_EQ(env, weft_task_create(env->job, &desc, NULL), WEFT_OK);
    }
    TEST_EQ(env, weft_tasks_finish(env->job), WEFT_OK);
    TEST_EQ(env, word_at(env, user, COUNTER), (uint64_t)n << depth);
}

static void indexed(struct test_env *env, const struct user *user)
{
    const uint32_t n = env->brief ? 20 : CELLS;
    struct args args = {0};
    weft_task_desc desc = desc_of(env, user, tick_id, &args);

    clear(env, user);
    desc.count = n;
    desc.priority = 1;
    if (env->numbers->process == 0) {
        TEST_EQ(env, weft_task_create(env->job, &desc, NULL), WEFT_OK);
        TEST_EQ(env, weft_task_run(env->job, &desc), WEFT_OK);
        TEST_EQ(env, cell_at(env, user, n / 2).count >= 1, 1);
    }
    TEST_EQ(env, weft_tasks_finish(env->job), WEFT_OK);
    for (uint32_t i = 0; i < n; i++)
        TEST_EQ(env, cell_at(env, user, i).count, env->numbers->process == 0 ? 2 : 0);
}

/* Running here or away, and ended. */
static void cancelled(struct test_env *env, const struct user *user)
{
    weft_task_id runs, done;
    weft_task_status status;

    clear(env, user);
    TEST_EQ(env, create(env, user, spin_id, 1, 0, &runs), WEFT_OK);
    TEST_EQ(env, create(env, user, mark_id, 2, 0, &done), WEFT_OK);
    while (cell_at(env, user, 1).count == 0)
        TEST_EQ(env, weft_task_test(env->job, runs, &status), WEFT_OK);
    TEST_EQ(env, weft_task_cancel(env->job, runs), WEFT_OK);
    TEST_EQ(env, weft_task_wait(env->job, runs, &status), WEFT_OK);
    TEST_EQ(env, status, WEFT_TASK_DONE);
    TEST_EQ(env, cell_at(env, user, 1).value, 2);
    TEST_EQ(env, weft_task_wait(env->job, done, &status), WEFT_OK);
    TEST_EQ(env, status, WEFT_TASK_DONE);
    TEST_EQ(env, weft_tasks_finish(env->job), WEFT_OK);
}

/* One rank is busy: those that wait go by priority; one waits and is cancelled. */
static void priorities(struct test_env *env, const struct user *user)
{
    enum { EACH = 4 };
    weft_task_id last;
    weft_task_status status;

    clear(env, user);
    for (uint32_t i = 0; i < 1 + 4 * EACH; i++) { /* lowest first; the rank begins with the spin */
        struct args args = {.index = i};
        weft_task_desc desc = desc_of(env, user, i == 0 ? spin_id : stamp_id, &args);
        desc.flags = WEFT_TASK_HOLD;
        desc.priority = i == 0 ? 0 : 3 - (i - 1) / EACH;
        TEST_EQ(env, weft_task_create(env->job, &desc, i == 1 ? &last : NULL), WEFT_OK);
        while (i == 0 && cell_at(env, user, 0).count == 0)
            continue;
    }
    TEST_EQ(env, weft_task_cancel(env->job, last), WEFT_OK);
    TEST_EQ(env, weft_host_add(env->job, user->win, env->numbers->process, GO, 1), WEFT_OK);
    TEST_EQ(env, weft_task_wait(env->job, last, &status), WEFT_OK);
    TEST_EQ(env, status, WEFT_TASK_CANCELLED);
    TEST_EQ(env, weft_tasks_finish(env->job), WEFT_OK);
    TEST_EQ(env, cell_at(env, user, 1).count, 0);
    for (uint32_t i = 2; i < 1 + 4 * EACH; i++) {
        const uint32_t priority = 3 - (i - 1) / EACH;
        TEST_EQ(env, cell_at(env, user, i).value / EACH, priority);
    }
}

/* Tasks of one kind of device alone. */
static uint32_t kind_only(const struct test_env *env, bool own)
{
    const weft_kind kind = weft_process_kind(env->job, env->numbers->process);

    return own == (kind == WEFT_KIND_CUDA) ? WEFT_TASK_GPU_ONLY : WEFT_TASK_CPU_ONLY;
}

static void kinds(struct test_env *env, const struct user *user)
{
    const uint32_t n = env->brief ? 4 : 64;
    const weft_kind mine = weft_process_kind(env->job, env->numbers->process);

    clear(env, user);
    for (uint32_t i = 0; i < n; i++) {
        struct args args = {.index = i};
        weft_task_desc desc = desc_of(env, user, whose_id, &args);
        desc.flags = kind_only(env, true);
        TEST_EQ(env, weft_task_create(env->job, &desc, NULL), WEFT_OK);
    }
    TEST_EQ(env, weft_tasks_finish(env->job), WEFT_OK);
    for (uint32_t i = 0; i < n; i++) {
        const struct cell cell = cell_at(env, user, i);
        TEST_EQ(env, cell.count, 1);
        TEST_EQ(env, weft_process_kind(env->job, (int)cell.value), mine);
    }
}

static void refused(struct test_env *env, const struct user *user)
{
    struct args args = {0};
    weft_task_desc desc = desc_of(env, user, 77, &args);
    weft_task_status status;

    TEST_EQ(env, weft_task_create(env->job, &desc, NULL), WEFT_ERR_ARGUMENT);
    desc.body = mark_id;
    desc.priority = 4;
    TEST_EQ(env, weft_task_create(env->job, &desc, NULL), WEFT_ERR_ARGUMENT);
    desc.priority = 0;
    desc.flags = kind_only(env, false);
    TEST_EQ(env, weft_task_create(env->job, &desc, NULL), WEFT_ERR_ARGUMENT);
    desc.flags = 8;
    TEST_EQ(env, weft_task_create(env->job, &desc, NULL), WEFT_ERR_ARGUMENT);
    desc.flags = 0;
    TEST_EQ(env, weft_task_wait(env->job, (weft_task_id){0, 0}, &status), WEFT_ERR_ARGUMENT);
    env->expect = WEFT_ERR_ARGUMENT; /* what weft_close returns */
}

static bool wanted(const struct test_env *env, const char *name)
{
    return env->only == NULL || strcmp(env->only, name) == 0;
}

static int body(struct test_env *env)
{
    static const struct {
        const char *name;
        void (*run)(struct test_env *, const struct user *);
    } cases[] = {{"once", once},
                 {"trees", trees},
                 {"indexed", indexed},
                 {"cancelled", cancelled},
                 {"kinds", kinds}};
    struct user user = {.processes = 0};
    weft_task_numbers numbers;

    void *const memory = test_memory(env, TEST_MAPPED, BYTES);
    TEST_EQ(env, weft_host_win_create(env->job, memory, BYTES, &user.win), WEFT_OK);
    if (begin(env, &user, env->ranks)) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            if (wanted(env, cases[i].name))
                cases[i].run(env, &user);
        if (wanted(env, "refused") && !env->random)
            refused(env, &user);
        TEST_EQ(env, weft_tasks_end(env->job), WEFT_OK);
        TEST_EQ(env, weft_tasks_numbers(env->job, &numbers), WEFT_OK);
        TEST_EQ(env, user.check.failed, 0);
    }
    if (wanted(env, "priorities") && begin(env, &user, 1)) {
        priorities(env, &user);
        TEST_EQ(env, weft_tasks_end(env->job), WEFT_OK);
    }
    TEST_EQ(env, weft_host_win_free(env->job, &user.win), WEFT_OK);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
