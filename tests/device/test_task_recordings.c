/*
 * Recordings: calls of a count; what bodies spawn; recordings beside created tasks; what is
 * refused; and how they do without a window.
 *
 * The linker gives this program the library's calls of weft_share_map (--wrap).
 */
#include "support/test.h"

#include <weft/task.h>

enum { CALLS = 37, SPAWNED = 0, COUNTED = 8, ALL = COUNTED + CALLS };

struct user {
    struct test_check check;
    weft_win win;
};

struct args {
    uint64_t number, words;
};

#define BODIES(X) X(tick) X(child) X(parent)
WEFT_TASK_IDS(BODIES)

/* Each call has a word of its own. */
WEFT_TASK(tick, struct args, args)
{
    uint64_t *const word = (uint64_t *)weft_task_data(task, 0) + weft_task_index(task);

    if (weft_thread(self) == 0) {
        test_will_write(word, 8);
        *word = 3 * *word + weft_task_index(task) + 1;
    }
}

WEFT_TASK(child, struct args, args)
{
    const struct user *const user = (const struct user *)weft_task_user(task);

    weft_add(self, user->win, weft_process(self), SPAWNED * 8, args->number);
}

/* Has room of its own, which nobody else uses meanwhile. */
WEFT_TASK(parent, struct args, args)
{
    struct user *const user = (struct user *)weft_task_user(task);
    uint64_t *const room = (uint64_t *)weft_task_data(task, 0);
    weft_task_desc desc = {0};

    weft_for (i, args->words)
        room[i] = args->number + i;
    weft_sync(self);
    for (uint32_t i = 0; i < args->words; i++)
        CHECK_EQ(self, &user->check, room[i], args->number + i);
    desc.body = child_id;
    desc.flags = WEFT_TASK_HOLD;
    desc.arguments = args;
    desc.arguments_bytes = sizeof(*args);
    if (weft_task_spawn(self, task, &desc) == 0)
        weft_add(self, user->win, weft_process(self), SPAWNED * 8, args->number);
}

WEFT_TASK_KERNEL(tasks, BODIES, struct user)

#ifndef __CUDACC__

#include "base/share.h"

#include <stdlib.h>
#include <time.h>

static bool slow; /* this process maps others' memory late */

void *__real_weft_share_map(const struct weft_share *share, bool one_address_space,
                            const char **reason);
void *__wrap_weft_share_map(const struct weft_share *share, bool one_address_space,
                            const char **reason);

void *__wrap_weft_share_map(const struct weft_share *share, bool one_address_space,
                            const char **reason)
{
    if (__atomic_load_n(&slow, __ATOMIC_RELAXED))
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return __real_weft_share_map(share, one_address_space, reason);
}

static weft_recording *record(struct test_env *env)
{
    weft_recording *recording = NULL;

    TEST_EQ(env, weft_tasks_record(env->job, &recording), WEFT_OK);
    return recording;
}

static void add(struct test_env *env, weft_recording *recording, uint32_t body,
                const struct args *args, const weft_task_data_desc *data, uint64_t count)
{
    const weft_task_desc desc = {.body = body,
                                 .count = count,
                                 .arguments = args,
                                 .arguments_bytes = sizeof(*args),
                                 .datas = 1,
                                 .data = {*data}};

    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_OK);
}

/* Two recordings in turns, of which one is left to weft_tasks_end. */
static void counts(struct test_env *env, const struct user *user, uint64_t *memory)
{
    weft_recording *const some = record(env), *const none = record(env);
    const struct args args = {.words = CALLS};
    const weft_task_data_desc data = {.win = user->win,
                                      .place = env->numbers->process,
                                      .offset = COUNTED * 8,
                                      .bytes = CALLS * 8,
                                      .mode = WEFT_TASK_INOUT};
    uint64_t seen[CALLS];

    for (int i = 0; i < 3; i++)
        add(env, some, tick_id, &args, &data, CALLS);
    TEST_EQ(env, weft_tasks_ready(some), WEFT_OK);
    TEST_EQ(env, weft_tasks_ready(none), WEFT_OK);
    for (int run = 0; run < 3; run++) {
        TEST_EQ(env, weft_tasks_run(some, 2), WEFT_OK);
        TEST_EQ(env, weft_tasks_run(none, 5), WEFT_OK);
    }
    TEST_EQ(
        env,
        weft_host_get(env->job, user->win, env->numbers->process, COUNTED * 8, seen, sizeof(seen)),
        WEFT_OK);
    for (uint64_t i = 0; i < CALLS; i++) {
        for (int times = 0; times < 18; times++)
            memory[COUNTED + i] = 3 * memory[COUNTED + i] + i + 1;
        TEST_EQ(env, seen[i], memory[COUNTED + i]);
    }
}

/* Tasks that recorded ones spawn, and created ones beside them. */
static void others(struct test_env *env, const struct user *user, uint64_t *memory)
{
    const uint32_t n = env->brief ? 5 : 50;
    struct args args = {.number = 1, .words = 8};
    const weft_task_data_desc room = {.bytes = 64, .mode = WEFT_TASK_SCRATCH};
    weft_task_desc created = {.body = child_id,
                              .arguments = &args,
                              .arguments_bytes = sizeof(args),
                              .flags = WEFT_TASK_HOLD};
    weft_recording *recording = record(env);
    uint64_t seen;

    (void)memory;
    for (uint32_t i = 0; i < n; i++)
        add(env, recording, parent_id, &args, &room, 1);
    TEST_EQ(env, weft_tasks_ready(recording), WEFT_OK);
    for (uint32_t i = 0; i < n; i++)
        TEST_EQ(env, weft_task_create(env->job, &created, NULL), WEFT_OK);
    TEST_EQ(env, weft_tasks_run(recording, 4), WEFT_OK);
    TEST_EQ(env, weft_task_run(env->job, &created), WEFT_OK);
    TEST_EQ(env, weft_tasks_finish(env->job), WEFT_OK);
    TEST_EQ(env,
            weft_host_fetch_add(env->job, user->win, env->numbers->process, SPAWNED * 8, 0, &seen),
            WEFT_OK);
    TEST_EQ(env, seen, 4 * n + n + 1);
    TEST_EQ(env, weft_tasks_free(&recording), WEFT_OK);
    TEST(env, recording == NULL);
}

/* Recordings come and go: windows of those that were freed are there again (WEFT_WINDOWS). Tasks
 * that were created before are done when one is ready, their slots are free (WEFT_TASK_SLOTS), and
 * their names still known. */
static void again(struct test_env *env, const struct user *user, uint64_t *memory)
{
    const struct args args = {.number = 0};
    const weft_task_desc created = {.body = child_id,
                                    .arguments = &args,
                                    .arguments_bytes = sizeof(args),
                                    .flags = WEFT_TASK_HOLD};
    weft_task_desc desc = created;
    weft_task_status status = WEFT_TASK_NONE;
    weft_task_id task;

    (void)memory;
    desc.datas = 1;
    desc.data[0] = (weft_task_data_desc){.win = user->win,
                                         .place = env->numbers->processes - 1,
                                         .offset = COUNTED * 8,
                                         .bytes = 8,
                                         .mode = WEFT_TASK_IN};
    for (int i = 0; i < (env->random || env->brief ? 2 : 6); i++) {
        weft_recording *recording = NULL;
        for (int t = 0; t < 20; t++)
            TEST_EQ(env, weft_task_create(env->job, &created, t == 7 ? &task : NULL), WEFT_OK);
        TEST_EQ(env, weft_tasks_record_all(env->job, &recording), WEFT_OK);
        TEST_EQ(env, weft_tasks_add_at(recording, &desc, 0, 0), WEFT_OK);
        TEST_EQ(env, weft_tasks_ready(recording), WEFT_OK);
        TEST_EQ(env, weft_tasks_run(recording, 2), WEFT_OK);
        TEST_EQ(env, weft_tasks_free(&recording), WEFT_OK);
        TEST_EQ(env, weft_task_wait(env->job, task, &status), WEFT_OK);
        TEST_EQ(env, status, WEFT_TASK_DONE);
    }
}

/* Places that do not record the same. */
static void unequal(struct test_env *env, weft_task_desc *desc)
{
    const bool last = env->numbers->process == env->numbers->processes - 1;
    weft_recording *other = NULL, *fewer = NULL;

    if (env->numbers->processes == 1)
        return;
    desc->data[0].place = 0;
    TEST_EQ(env, weft_tasks_record_all(env->job, &other), WEFT_OK);
    TEST_EQ(env, weft_tasks_record_all(env->job, &fewer), WEFT_OK);
    for (uint64_t i = 0; i < 20; i++) {
        TEST_EQ(env, weft_tasks_add_at(other, desc, 0, i == 13 && last), WEFT_OK);
        if (i != 13 || !last)
            TEST_EQ(env, weft_tasks_add_at(fewer, desc, -1, i), WEFT_OK);
    }
    TEST_EQ(env, weft_tasks_add_at(other, desc, env->numbers->processes, 0), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_tasks_ready(other), WEFT_ERR_MISMATCH);
    TEST_EQ(env, weft_tasks_ready(fewer), WEFT_ERR_MISMATCH);
    desc->data[0].place = env->numbers->process;
}

/* A task whose data are nothing, of another place. More data than a task has. */
static void nothing(struct test_env *env, weft_task_desc *desc)
{
    weft_recording *recording = NULL;

    TEST_EQ(env, weft_tasks_record_all(env->job, &recording), WEFT_OK);
    desc->datas = 1 << 20;
    TEST_EQ(env, weft_tasks_add(recording, desc), WEFT_ERR_ARGUMENT);
    desc->datas = 1;
    desc->data[0].place = env->numbers->processes - 1;
    desc->data[0].bytes = 0;
    TEST_EQ(env, weft_tasks_add_at(recording, desc, 0, 0), WEFT_OK);
    TEST_EQ(env, weft_tasks_ready(recording), WEFT_OK);
    desc->data[0].place = env->numbers->process;
    desc->data[0].bytes = 8;
}

/* A window that is freed before it runs, or is ready. */
static void freed(struct test_env *env, weft_task_desc *desc)
{
    weft_recording *const recording = record(env), *const late = record(env);

    TEST_EQ(env, weft_host_win_create(env->job, NULL, 0, &desc->data[0].win), WEFT_OK);
    desc->data[0].bytes = 0;
    TEST_EQ(env, weft_tasks_add(recording, desc), WEFT_OK);
    TEST_EQ(env, weft_tasks_add(late, desc), WEFT_OK);
    TEST_EQ(env, weft_tasks_ready(recording), WEFT_OK);
    TEST_EQ(env, weft_host_win_free(env->job, &(weft_win){desc->data[0].win}), WEFT_OK);
    TEST_EQ(env, weft_tasks_run(recording, 1), WEFT_ERR_WINDOW);
    TEST_EQ(env, weft_tasks_ready(late), WEFT_ERR_WINDOW);
}

static void refused(struct test_env *env, const struct user *user)
{
    weft_recording *const recording = record(env);
    weft_task_desc desc = {.body = tick_id, .datas = 1};
    weft_task_data_desc *const data = &desc.data[0];

    *data = (weft_task_data_desc){
        .win = user->win, .place = env->numbers->process, .bytes = 8, .mode = WEFT_TASK_IN};
    TEST_EQ(env, weft_tasks_run(recording, 1), WEFT_ERR_STATE);
    data->offset = ALL * 8;
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_ERR_BOUNDS);
    data->offset = 0;
    data->rows = 3;
    data->pitch = ALL * 4;
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_ERR_BOUNDS);
    data->pitch = UINT64_MAX / 2 + 1; /* twice that is nothing */
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_ERR_BOUNDS);
    data->place = env->numbers->processes;
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_ERR_ARGUMENT);
    data->place = env->numbers->process;
    data->rows = 1;
    data->win ^= 1 << 30;
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_ERR_WINDOW);
    data->win ^= 1 << 30;
    data->mode = 7;
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_ERR_ARGUMENT);
    data->mode = WEFT_TASK_SCRATCH;
    data->bytes = 1 << 30;
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_ERR_LIMIT);
    data->bytes = 8;
    data->mode = WEFT_TASK_IN;
    desc.count = UINT64_MAX;
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_ERR_ARGUMENT);
    desc.count = 1;
    desc.body = 77;
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_tasks_add(recording, NULL), WEFT_ERR_ARGUMENT);
    desc.body = tick_id;
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_OK);
    TEST_EQ(env, weft_tasks_ready(recording), WEFT_OK);
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_ERR_STATE);
    TEST_EQ(env, weft_tasks_ready(recording), WEFT_ERR_STATE);
    TEST_EQ(env, weft_tasks_add(NULL, &desc), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_tasks_run(NULL, 1), WEFT_ERR_ARGUMENT);
    unequal(env, &desc);
    nothing(env, &desc);
    freed(env, &desc);
}

/* One window is left: homes stay as they are. And none: all places hear so, also one that maps
 * another's memory late, and go on. */
static void windows(struct test_env *env, const struct user *user)
{
    const bool shared = env->numbers->processes > 1;
    weft_task_desc desc = {.body = child_id, .datas = 1};
    weft_recording *recording[3] = {NULL};
    weft_recording_numbers numbers;
    weft_win win[256];
    size_t n = 0;

    desc.arguments = &(struct args){.number = 0};
    desc.arguments_bytes = sizeof(struct args);
    for (int i = 0; i < 3; i++)
        TEST_EQ(env, weft_tasks_record_all(env->job, &recording[i]), WEFT_OK);
    TEST_EQ(env, weft_tasks_ready(recording[0]), WEFT_OK); /* windows of those before are free */
    TEST_EQ(env, weft_tasks_run(recording[0], 2), WEFT_OK);
    while (n < 256 && weft_host_win_create(env->job, NULL, 0, &win[n]) == WEFT_OK)
        n++;
    TEST(env, n > 0);
    if (n == 0) /* a job that has failed */
        return;
    TEST_EQ(env, weft_host_win_free(env->job, &win[--n]), WEFT_OK);
    for (uint64_t t = 0; t < 40; t++) {
        desc.data[0] = (weft_task_data_desc){.win = user->win,
                                             .place = (int)t % env->numbers->processes,
                                             .offset = COUNTED * 8,
                                             .bytes = CALLS * 8,
                                             .mode = WEFT_TASK_IN};
        TEST_EQ(env, weft_tasks_add_at(recording[1], &desc, -1, t), WEFT_OK);
    }
    __atomic_store_n(&slow, env->numbers->process == 0, __ATOMIC_RELAXED);
    TEST_EQ(env, weft_tasks_ready(recording[1]), WEFT_OK);
    TEST_EQ(env, weft_tasks_run(recording[1], 5), WEFT_OK);
    TEST_EQ(env, weft_tasks_recorded(recording[1], &numbers), WEFT_OK);
    TEST_EQ(env, numbers.epochs, 5);
    TEST_EQ(env, numbers.plans, shared);
    if (shared)
        TEST_EQ(env, weft_tasks_ready(recording[2]), WEFT_ERR_LIMIT);
    TEST_EQ(env, weft_tasks_free(&recording[0]), WEFT_OK);
    TEST_EQ(env, weft_tasks_free(&recording[1]), WEFT_OK);
    while (n > 0)
        TEST_EQ(env, weft_host_win_free(env->job, &win[--n]), WEFT_OK);
    __atomic_store_n(&slow, false, __ATOMIC_RELAXED);
}

static int body(struct test_env *env)
{
    static const struct {
        const char *name;
        void (*run)(struct test_env *, const struct user *, uint64_t *);
    } cases[] = {{"counts", counts}, {"others", others}, {"again", again}};
    struct user user = {.check = {.failed = 0}};
    uint64_t want[ALL] = {0};
    weft_recording *early = NULL;
    void *const memory = test_memory(env, TEST_MAPPED, ALL * 8);

    if (!env->random) {
        TEST_EQ(env, weft_tasks_record(env->job, &early), WEFT_ERR_STATE);
        env->expect = WEFT_ERR_STATE; /* what weft_close returns */
    }
    TEST_EQ(env, weft_host_win_create(env->job, memory, ALL * 8, &user.win), WEFT_OK);
    if (TEST_EQ(env, weft_tasks_begin(env->job, &tasks, &user, env->threads, env->ranks),
                WEFT_OK)) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            if (env->only == NULL || strcmp(env->only, cases[i].name) == 0)
                cases[i].run(env, &user, want);
        if (!env->random && env->only == NULL) {
            windows(env, &user);
            refused(env, &user);
        }
        TEST_EQ(env, weft_tasks_end(env->job), WEFT_OK);
        TEST_EQ(env, user.check.failed, 0);
    }
    TEST_EQ(env, weft_host_win_free(env->job, &user.win), WEFT_OK);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
