/* device/cpu/random/tasks.c - see the header. Nothing here may depend on addresses or real time. */
#include "device/cpu/random/tasks.h"

#include "base/say.h"
#include "device/cpu/random/random.h"
#include "device/cpu/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_NS = 100, IDLE_YIELDS = 20, QUIET_YIELDS = 200 };

/* Draws 64 bits, by splitmix64. */
static uint64_t draw_bits(struct weft_model_tasks *tasks)
{
    uint64_t z = tasks->draw += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint32_t weft_draw(struct weft_model_tasks *tasks, uint32_t n)
{
    return (uint32_t)((draw_bits(tasks) >> 32) * n >> 32);
}

static struct weft_model_task *draw_runnable(struct weft_model_tasks *tasks)
{
    return tasks->runnable[weft_draw(tasks, tasks->runnables)];
}

/* Draws a mood from tables of values in which extremes, where most errors show, come up often. */
static void draw_mood(struct weft_model_tasks *tasks)
{
    static const uint32_t turns[] = {2, 8, 8, 64, 512, 2048};
    static const uint32_t odds[] = {0, 64, 128, 230, 256, 256};
    static const uint32_t rounds[] = {1, 8, 64, 512};

    tasks->mood = (enum weft_mood)weft_draw(tasks, MOODS);
    tasks->turn = turns[weft_draw(tasks, sizeof(turns) / sizeof(turns[0]))];
    tasks->hold_odds = odds[weft_draw(tasks, sizeof(odds) / sizeof(odds[0]))];
    tasks->hold_rounds = rounds[weft_draw(tasks, sizeof(rounds) / sizeof(rounds[0]))];
    tasks->special = draw_runnable(tasks);
    tasks->mood_left = tasks->mood_turns;
}

static struct weft_model_task *highest(const struct weft_model_tasks *tasks)
{
    struct weft_model_task *best = tasks->runnable[0];

    for (uint32_t i = 1; i < tasks->runnables; i++)
        if (tasks->runnable[i]->priority > best->priority)
            best = tasks->runnable[i];
    return best;
}

/* Chooses who runs next. The current task, if it can run, has the least claim. */
static struct weft_model_task *choose(struct weft_model_tasks *tasks)
{
    struct weft_model_task *next = draw_runnable(tasks);

    if (tasks->mood_turns != 0 && --tasks->mood_left == 0)
        draw_mood(tasks);
    switch (tasks->mood) {
    case MOOD_FAVOUR:
        if (tasks->special->state == WEFT_TASK_RUNNABLE && weft_draw(tasks, 4) != 0)
            next = tasks->special;
        break;
    case MOOD_SHUN:
        if (next == tasks->special && weft_draw(tasks, 16) != 0)
            next = draw_runnable(tasks);
        break;
    case MOOD_PRIORITY:
        tasks->current->priority = --tasks->lowest;
        return highest(tasks);
    default:
        break;
    }
    if (weft_draw(tasks, 256) == 0)
        tasks->special = draw_runnable(tasks);
    if (next != tasks->current)
        return next;
    /* the one after it; if it is alone, itself */
    return tasks->runnable[(next->place + 1) % tasks->runnables];
}

static void switch_to(struct weft_model_tasks *tasks, struct weft_model_task *next)
{
    struct weft_model_task *last = tasks->current;

    tasks->left = 1 + weft_draw(tasks, tasks->turn);
    if (next == last)
        return;
    const struct weft_strand strand = weft_strand_get();
    tasks->current = next;
    weft_fiber_switch(last->own.fiber, next->own.fiber);
    weft_strand_set(strand.thread, strand.threads, strand.rank);
}

static void set_runnable(struct weft_model_tasks *tasks, struct weft_model_task *task)
{
    task->state = WEFT_TASK_RUNNABLE;
    task->place = tasks->runnables;
    tasks->runnable[tasks->runnables++] = task;
    weft_tasks_changed(tasks);
}

static void set_waiting(struct weft_model_tasks *tasks, struct weft_model_task *task,
                        enum weft_task_state state)
{
    struct weft_model_task *last = tasks->runnable[--tasks->runnables];

    tasks->runnable[task->place] = last;
    last->place = task->place;
    task->state = state;
    weft_tasks_changed(tasks);
}

/* Leaves the current task, which cannot run, for another one. */
static void leave(struct weft_model_tasks *tasks)
{
    if (tasks->runnables == 0) {
        weft_say(WEFT_SAY_ERROR, "random mode: %s waits for itself: every task is in a join",
                 tasks->current->name);
        abort();
    }
    switch_to(tasks, choose(tasks));
}

/* Finds a place whose last task was joined, or a new one. */
static struct weft_model_task *find_place(struct weft_model_tasks *tasks)
{
    for (uint32_t i = 0; i < tasks->slots; i++)
        if (tasks->slot[i]->state == WEFT_TASK_FREE)
            return tasks->slot[i];
    if (tasks->slots == WEFT_RANDOM_TASKS)
        return NULL;
    struct weft_model_task *task = weft_random_memory(sizeof(*task));
    task->index = tasks->slots;
    weft_held_queue_init(&task->held, task->index);
    return tasks->slot[tasks->slots++] = task;
}

struct weft_model_tasks *weft_tasks_create(uint64_t seed)
{
    struct weft_model_tasks *tasks = weft_random_memory(sizeof(*tasks));

    tasks->draw = seed;
    tasks->stack_bytes = WEFT_RANDOM_STACK;
    struct weft_model_task *root = find_place(tasks);
    root->own.fiber = weft_fiber_adopt();
    snprintf(root->name, sizeof(root->name), "root");
    root->stamps[0] = 1;
    tasks->current = root;
    set_runnable(tasks, root);
    tasks->mood_turns = weft_draw(tasks, 2) == 0 ? 0 : 64 << weft_draw(tasks, 8);
    draw_mood(tasks);
    tasks->left = 1 + weft_draw(tasks, tasks->turn);
    return tasks;
}

void weft_tasks_destroy(struct weft_model_tasks *tasks)
{
    for (uint32_t i = tasks->slots; i-- > 0;) { /* readers come after their tasks */
        if (tasks->slot[i]->index != i)
            continue;
        weft_tasks_reap(tasks->slot[i]);
        free(tasks->slot[i]);
    }
    free(tasks);
}

static void task_main(void *argument)
{
    struct weft_model_task *task = argument;

    weft_strand_set(0, 1, -1);
    task->run(task->argument);
    weft_tasks_exit(task->tasks);
}

struct weft_model_task *weft_tasks_start(struct weft_model_tasks *tasks, const char *name,
                                         void (*run)(void *), void *argument)
{
    struct weft_model_task *task = find_place(tasks);

    if (task == NULL)
        return NULL;
    task->own.fiber = weft_fiber_create(task_main, task, tasks->stack_bytes);
    if (task->own.fiber == NULL)
        return NULL;
    task->tasks = tasks;
    snprintf(task->name, sizeof(task->name), "%s", name);
    task->run = run;
    task->argument = argument;
    task->say = (struct weft_say_task){.process = -1};
    task->own.say = &task->say;
    task->priority = weft_draw(tasks, UINT32_MAX);
    task->idle = task->readers = 0;
    set_runnable(tasks, task);
    return task;
}

void weft_tasks_wait(struct weft_model_tasks *tasks, struct weft_model_task *task)
{
    if (task->state == WEFT_TASK_ENDED)
        return;
    task->joiner = tasks->current;
    set_waiting(tasks, tasks->current, WEFT_TASK_JOINING);
    leave(tasks);
}

void weft_tasks_reap(struct weft_model_task *task)
{
    if (task->own.fiber != NULL)
        weft_fiber_destroy(task->own.fiber);
    task->own.fiber = NULL;
    weft_clock_drop(task->fence);
    weft_clock_drop(task->message);
    task->fence = task->message = NULL;
    task->state = WEFT_TASK_FREE;
}

void weft_tasks_exit(struct weft_model_tasks *tasks)
{
    struct weft_model_task *task = tasks->current;

    set_waiting(tasks, task, WEFT_TASK_ENDED);
    if (task->joiner != NULL)
        set_runnable(tasks, task->joiner);
    task->joiner = NULL;
    leave(tasks);
    abort(); /* an ended task is never chosen */
}

uint32_t weft_tasks_reader(struct weft_model_tasks *tasks, const void *target)
{
    struct weft_model_task *task = tasks->current;
    uint32_t i = 0;

    while (i < task->readers && task->reader[i].target != target)
        i++;
    if (i < task->readers)
        return task->reader[i].index;
    if (i == WEFT_TASK_READERS)
        return 0;
    struct weft_reader *reader = &task->reader[i];
    if (reader->index == 0) { /* else of a task that had this place */
        if (tasks->slots == WEFT_RANDOM_TASKS)
            return 0;
        reader->index = tasks->slots++;
        tasks->slot[reader->index] = task;
        task->stamps[reader->index] = 1;
    }
    reader->target = target;
    task->readers++;
    return reader->index;
}

void weft_tasks_call(struct weft_model_tasks *tasks)
{
    tasks->time_ns += CALL_NS;
    if (--tasks->left == 0)
        switch_to(tasks, choose(tasks));
}

/* Counts a task once when it has been idle for so many yields. */
static void count_idle(struct weft_model_tasks *tasks, struct weft_model_task *task)
{
    if (task->change != tasks->change) {
        task->change = tasks->change;
        task->idle = 0;
    }
    task->idle++;
    tasks->idle += task->idle == IDLE_YIELDS;
    tasks->quiet += task->idle == QUIET_YIELDS;
}

void weft_tasks_yield(struct weft_model_tasks *tasks, bool idle)
{
    tasks->time_ns += CALL_NS;
    if (idle)
        count_idle(tasks, tasks->current);
    else
        weft_tasks_changed(tasks);
    switch_to(tasks, choose(tasks));
}

void weft_tasks_changed(struct weft_model_tasks *tasks)
{
    tasks->change++;
    tasks->idle = 0;
    tasks->quiet = 0;
}
