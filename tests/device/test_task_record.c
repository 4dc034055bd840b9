/*
 * Recorded tasks: random ones, whose data overlap anyhow, leave what a serial run leaves, in epoch
 * after epoch, at one place and at all. What else recordings do: test_task_recordings.c.
 */
#include "support/test.h"

#include <weft/task.h>

enum { SIDE = 64, PITCH = SIDE + 16, WORDS = SIDE * PITCH, FLAT = 4096, MOST = 200, DATAS = 4 };
enum { CALLS = 37, COUNTED = WORDS + FLAT, ALL = COUNTED + CALLS };

struct user {
    struct test_check check;
    weft_win win;
};

struct args {
    uint64_t number;
    uint32_t bytes[DATAS], rows[DATAS], mode[DATAS];
    uint32_t datas, unused;
};

#define BODIES(X) X(blend) X(tick)
WEFT_TASK_IDS(BODIES)

/* What a task makes of its data: a sum of all that it reads; what it writes depends on that. The
 * host's and the rank's. */
WEFT_DEVICE_FN uint64_t sum_of(const uint64_t *words, uint64_t pitch, uint64_t rows, uint64_t width)
{
    uint64_t sum = 0;

    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t i = 0; i < width; i++)
            sum = 3 * sum + words[r * pitch + i];
    return sum;
}

WEFT_DEVICE_FN uint64_t blended(uint64_t old, uint64_t sum, uint64_t at, uint32_t mode)
{
    return (mode == WEFT_TASK_INOUT ? 5 * old : 0) + test_mix(sum + at);
}

WEFT_TASK(blend, struct args, args)
{
    uint64_t sum = args->number;

    for (uint32_t d = 0; d < args->datas; d++) {
        const uint64_t *const words = (const uint64_t *)weft_task_data(task, (int)d);
        for (uint32_t r = 0; args->mode[d] == WEFT_TASK_IN && r < args->rows[d]; r++)
            test_will_read(words + r * (weft_task_pitch(task, (int)d) / 8), args->bytes[d]);
        if (args->mode[d] == WEFT_TASK_IN)
            sum +=
                sum_of(words, weft_task_pitch(task, (int)d) / 8, args->rows[d], args->bytes[d] / 8);
    }
    for (uint32_t d = 0; d < args->datas; d++) {
        uint64_t *const words = (uint64_t *)weft_task_data(task, (int)d);
        const uint64_t pitch = weft_task_pitch(task, (int)d) / 8, width = args->bytes[d] / 8;
        weft_sync(self);
        for (uint32_t r = 0; args->mode[d] != WEFT_TASK_IN && r < args->rows[d]; r++) {
            test_will_write(words + r * pitch, args->bytes[d]);
            weft_for (i, width)
                words[r * pitch + i] =
                    blended(words[r * pitch + i], sum, r * width + i, args->mode[d]);
        }
    }
}

/* Each call has a word of its own. */
WEFT_TASK(tick, struct args, args)
{
    uint64_t *const word = (uint64_t *)weft_task_data(task, 0) + weft_task_index(task);

    if (weft_thread(self) == 0) {
        test_will_write(word, 8);
        *word = 3 * *word + weft_task_index(task) + 1;
    }
}

WEFT_TASK_KERNEL(tasks, BODIES, struct user)

#ifndef __CUDACC__

#include <malloc.h>
#include <stdlib.h>

struct recorded {
    struct args args[MOST];
    weft_task_data_desc data[MOST][DATAS];
    uint32_t count;
};

/* A piece in rows of the first part, or a stretch of the second. */
static void draw_piece(uint64_t *state, weft_win win, int place, weft_task_data_desc *data)
{
    uint64_t at;

    *data = (weft_task_data_desc){.win = win, .place = place, .mode = 1 + test_random(state, 3)};
    if (test_random(state, 3) == 0) {
        data->rows = 1;
        data->bytes = 8 * (1 + test_random(state, 200));
        at = WORDS + test_random(state, FLAT - 200);
    } else {
        const uint32_t row = test_random(state, SIDE - 9), column = test_random(state, PITCH - 17);
        data->rows = 1 + test_random(state, 8);
        data->bytes = 8 * (1 + test_random(state, 16));
        data->pitch = test_random(state, 8) != 0 ? PITCH * 8 : 8 * (16 + test_random(state, 32));
        at = row * PITCH + column;
    }
    data->offset = 8 * at;
}

/* all_places: data are at any of them; else at this one. */
static void draw_tasks(struct test_env *env, uint64_t seed, weft_win win, bool all_places,
                       struct recorded *all)
{
    const uint32_t places = (uint32_t)env->numbers->processes;
    uint64_t state = seed;

    all->count = env->brief ? 12 : MOST;
    for (uint32_t t = 0; t < all->count; t++) {
        struct args *const args = &all->args[t];
        *args = (struct args){.number = test_mix(t), .datas = 1 + test_random(&state, DATAS)};
        for (uint32_t d = 0; d < args->datas; d++) {
            draw_piece(&state, win,
                       all_places ? (int)test_random(&state, places) : env->numbers->process,
                       &all->data[t][d]);
            args->bytes[d] = (uint32_t)all->data[t][d].bytes;
            args->rows[d] = all->data[t][d].rows;
            args->mode[d] = all->data[t][d].mode;
        }
    }
}

/* memory: of this place, or of all, ALL words each. */
static void run_serially(const struct recorded *all, bool all_places, uint64_t *memory)
{
    for (uint32_t t = 0; t < all->count; t++) {
        const struct args *const args = &all->args[t];
        uint64_t sum = args->number;
        for (int writes = 0; writes < 2; writes++)
            for (uint32_t d = 0; d < args->datas; d++) {
                uint64_t *const words = memory + all->data[t][d].offset / 8 +
                                        (all_places ? (size_t)all->data[t][d].place * ALL : 0);
                const uint64_t width = args->bytes[d] / 8, pitch = all->data[t][d].pitch / 8;
                if (!writes && args->mode[d] == WEFT_TASK_IN)
                    sum += sum_of(words, pitch, args->rows[d], width);
                for (uint64_t i = 0;
                     writes && args->mode[d] != WEFT_TASK_IN && i < args->rows[d] * width; i++) {
                    uint64_t *const word = words + i / width * pitch + i % width;
                    *word = blended(*word, sum, i, args->mode[d]);
                }
            }
    }
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
    weft_task_desc desc = {.body = body,
                           .count = count,
                           .arguments = args,
                           .arguments_bytes = sizeof(*args),
                           .datas = args->datas};

    memcpy(desc.data, data, args->datas * sizeof(*data));
    TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_OK);
}

/* Words of this place's part, against those of a serial run. */
static void compare(struct test_env *env, const struct user *user, const uint64_t *want)
{
    uint64_t *const got = malloc(ALL * 8);
    size_t wrong = 0;

    TEST_EQ(env, weft_host_get(env->job, user->win, env->numbers->process, 0, got, ALL * 8),
            WEFT_OK);
    for (size_t i = 0; i < WORDS + FLAT; i++)
        wrong += got[i] != want[i];
    TEST_EQ(env, wrong, 0);
    free(got);
}

static void at_random(struct test_env *env, const struct user *user, uint64_t *memory)
{
    static const uint32_t epochs[] = {1, 3, 2};
    struct recorded *const all = malloc(sizeof(*all));
    weft_recording *const recording = record(env);
    weft_recording_numbers numbers;
    uint64_t ran = 0;

    draw_tasks(env, env->seed + (uint64_t)env->numbers->process, user->win, false, all);
    for (uint32_t t = 0; t < all->count; t++)
        add(env, recording, blend_id, &all->args[t], all->data[t], 1);
    TEST_EQ(env, weft_tasks_ready(recording), WEFT_OK);
    TEST_EQ(env, weft_tasks_run(recording, 0), WEFT_OK);
    for (size_t i = 0; i < sizeof(epochs) / sizeof(epochs[0]); i++) {
        TEST_EQ(env, weft_tasks_run(recording, epochs[i]), WEFT_OK);
        for (uint32_t e = 0; e < epochs[i]; e++, ran++)
            run_serially(all, false, memory);
        compare(env, user, memory);
    }
    TEST_EQ(env, weft_tasks_recorded(recording, &numbers), WEFT_OK);
    TEST_EQ(env, numbers.tasks, all->count);
    TEST_EQ(env, numbers.steps, all->count);
    TEST_EQ(env, numbers.epochs, ran);
    TEST_EQ(env, weft_tasks_free(&(weft_recording *){recording}), WEFT_OK);
    free(all);
}

/* The tasks of all places, in one recording, at given and at chosen homes. */
static weft_recording *record_all(struct test_env *env, const struct recorded *all, weft_win win)
{
    const int places = env->numbers->processes;
    weft_recording *recording = NULL;
    uint64_t state = env->seed + 7;

    TEST_EQ(env, weft_tasks_record_all(env->job, &recording), WEFT_OK);
    for (uint32_t t = 0; t < all->count; t++) {
        const int home = (int)test_random(&state, 2 * (uint32_t)places) - places;
        weft_task_desc desc = {.body = blend_id,
                               .arguments = &all->args[t],
                               .arguments_bytes = sizeof(all->args[t]),
                               .datas = all->args[t].datas};
        memcpy(desc.data, all->data[t], sizeof(all->data[t]));
        if (home == -places)
            TEST_EQ(env, weft_tasks_add(recording, &desc), WEFT_OK);
        else
            TEST_EQ(env, weft_tasks_add_at(recording, &desc, home < 0 ? -1 : home, t), WEFT_OK);
        if (t % 16 != 5)
            continue;
        desc = (weft_task_desc){.body = tick_id, .count = CALLS, .datas = 1};
        desc.data[0] = (weft_task_data_desc){.win = win,
                                             .place = (int)(t / 16) % places,
                                             .offset = COUNTED * 8,
                                             .bytes = CALLS * 8,
                                             .mode = WEFT_TASK_INOUT};
        TEST_EQ(env, weft_tasks_add_at(recording, &desc, -1, t), WEFT_OK);
    }
    TEST_EQ(env, weft_tasks_ready(recording), WEFT_OK);
    return recording;
}

static void run_all_serially(const struct recorded *all, int places, uint64_t *memory)
{
    run_serially(all, true, memory);
    for (uint32_t t = 5; t < all->count; t += 16)
        for (uint64_t i = 0; i < CALLS; i++) {
            uint64_t *const word = memory + (size_t)((int)(t / 16) % places) * ALL + COUNTED + i;
            *word = 3 * *word + i + 1;
        }
}

/* Between runs host programs write into their windows. */
static void at_all_places(struct test_env *env, const struct user *user, uint64_t *memory)
{
    static const uint32_t epochs[] = {1, 0, 2, 3, 9};
    const int places = env->numbers->processes, me = env->numbers->process;
    struct recorded *const all = malloc(sizeof(*all));
    uint64_t *const want = calloc((size_t)places * ALL, 8), some[64];
    weft_recording_numbers numbers;

    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    for (int p = 0; p < places; p++)
        TEST_EQ(env, weft_host_get(env->job, user->win, p, 0, want + (size_t)p * ALL, ALL * 8),
                WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    draw_tasks(env, env->seed, user->win, true, all);
    weft_recording *recording = record_all(env, all, user->win);
    for (size_t i = 0; i < sizeof(epochs) / sizeof(epochs[0]); i++) {
        for (int p = 0; p < places; p++)
            for (uint64_t k = 0; k < 64; k++)
                want[(size_t)p * ALL + 97 + k] = some[k] = test_mix(i * 64 + k);
        TEST_EQ(env, weft_host_put(env->job, user->win, me, 97 * 8, some, sizeof(some)), WEFT_OK);
        TEST_EQ(env, weft_host_flush(env->job, user->win), WEFT_OK);
        TEST_EQ(env, weft_tasks_run(recording, epochs[i]), WEFT_OK);
        for (uint32_t e = 0; e < epochs[i]; e++)
            run_all_serially(all, places, want);
        compare(env, user, want + (size_t)me * ALL);
        TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK); /* the next run changes windows */
    }
    TEST_EQ(env, weft_tasks_recorded(recording, &numbers), WEFT_OK);
    TEST_EQ(env, numbers.epochs, 15);
    TEST(env, numbers.plans >= (places > 1 ? 2 : 0));
    TEST_EQ(env, weft_tasks_free(&recording), WEFT_OK);
    memcpy(memory, want + (size_t)me * ALL, ALL * 8);
    free(want);
    free(all);
}

/* What is recorded takes memory of the host until it is freed, not until tasks end. */
static void freed(struct test_env *env, const struct user *user, uint64_t *memory)
{
    size_t bytes[8];

    (void)user, (void)memory;
    for (int i = 0; i < 8 && !env->random; i++) {
        weft_recording *recording = record(env);
        for (int t = 0; t < 20000; t++)
            weft_tasks_add(recording, &(weft_task_desc){.body = tick_id});
        TEST_EQ(env, weft_tasks_free(&recording), WEFT_OK);
        const struct mallinfo2 all = mallinfo2();
        bytes[i] = all.uordblks + all.hblkhd;
        TEST_EQ(env, bytes[i] < bytes[i > 0] + (8 << 20), 1);
    }
}

static int body(struct test_env *env)
{
    static const struct {
        const char *name;
        void (*run)(struct test_env *, const struct user *, uint64_t *);
    } cases[] = {{"random", at_random}, {"places", at_all_places}, {"freed", freed}};
    struct user user = {.check = {.failed = 0}};
    uint64_t *const want = calloc(ALL, 8);
    void *const memory = test_memory(env, TEST_MAPPED, ALL * 8);

    TEST_EQ(env, weft_host_win_create(env->job, memory, ALL * 8, &user.win), WEFT_OK);
    if (TEST_EQ(env, weft_tasks_begin(env->job, &tasks, &user, env->threads, env->ranks),
                WEFT_OK)) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            if (env->only == NULL || strcmp(env->only, cases[i].name) == 0)
                cases[i].run(env, &user, want);
        TEST_EQ(env, weft_tasks_end(env->job), WEFT_OK);
        TEST_EQ(env, user.check.failed, 0);
    }
    TEST_EQ(env, weft_host_win_free(env->job, &user.win), WEFT_OK);
    free(want);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
