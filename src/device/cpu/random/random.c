/*
 * device/cpu/random/random.c - the functions of the model, over the tasks, the held-back stores and
 * the cells. The rules are those of random.h; each function is one of them.
 *
 * Stamps: a task's own stamp rises after each release. So what it did up to the release has at most
 * the stamp that the release carries, and all it does later has a higher one.
 */
#include "device/cpu/random/random.h"

#include "base/say.h"
#include "device/cpu/random/tasks.h"
#include "order/element.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_NS = 1000000 }; /* of virtual time, where all are idle */

struct machine {
    struct weft_model_tasks *tasks;
    struct weft_cells cells;
    struct weft_holding holding;
    uint64_t calls;
    uint64_t arrived; /* stores that the tasks know of (weft_tasks_changed) */
    struct {
        bool found; /* a race was found, after which nothing is checked */
        void (*handler)(const char *text, void *argument);
        void *argument;
    } races;
};

static struct machine *m;

/* Begins every call of the model: stores that are due arrive, and others may run. */
static struct weft_model_task *begin_call(void)
{
    weft_held_due(&m->holding, ++m->calls);
    weft_tasks_call(m->tasks);
    return m->tasks->current;
}

/* Returns where the stamp of a task's loads is: its own, until it has sent a message. */
static uint32_t loads_of(const struct weft_model_task *task)
{
    return task->readers != 0 ? task->reader[0].index : task->index;
}

/* Returns the clock that a release by the task carries, with one user; the task's stamp rises. */
static struct weft_clock *release(struct weft_model_task *task)
{
    struct weft_clock *clock = weft_clock_copy(task->stamps, m->tasks->slots);

    task->stamps[task->index]++;
    task->stamps[loads_of(task)]++;
    return clock;
}

/* Returns the clock that a store or add carries: of a release, or of fence and message; or NULL. */
static struct weft_clock *carried(struct weft_model_task *task, bool releases)
{
    return releases ? release(task)
                    : weft_clock_merge(weft_clock_share(task->message), task->fence);
}

/* The task learns the clock of a word; what has thereby happened before arrives. */
static void acquire(struct weft_model_task *task, const void *word, int size)
{
    uint32_t own = 0;

    if (weft_cells_join(&m->cells, word, size, task->stamps, task->index, &own))
        weft_held_before(&m->holding, task->stamps, task->index, own);
    else if (own != 0)
        weft_held_until(&m->holding, &task->held, own);
}

/* Loads a word by way of the model. Words are little-endian, as in ring/command.h. */
static uint64_t model_load(const void *address, int size, bool acquires)
{
    struct weft_model_task *task = begin_call();
    uint64_t value = 0;

    weft_held_overlap(&m->holding, &task->held, address, (size_t)size);
    memcpy(&value, address, (size_t)size);
    if (acquires)
        acquire(task, address, size);
    weft_tasks_call(m->tasks); /* others may run before the value is used, too */
    return value;
}

/* Makes a store take effect now, or holds it back until a call that is drawn now, at the latest. */
static void make_store(struct weft_model_task *task, const struct weft_store *store, uint32_t stamp)
{
    struct weft_model_tasks *tasks = m->tasks;
    const uint32_t calls = tasks->hold_rounds * tasks->runnables;

    weft_tasks_changed(tasks);
    weft_held_overlap(&m->holding, &task->held, store->target, store->bytes);
    if (weft_draw(tasks, 256) >= tasks->hold_odds || task->held.count >= WEFT_HELD_MOST)
        weft_store_apply(&m->cells, store);
    else
        weft_held_add(&m->holding, &task->held, store, stamp,
                      m->calls + 1 +
                          weft_draw(tasks, calls < WEFT_HELD_CALLS ? calls : WEFT_HELD_CALLS - 1));
}

static void model_store(void *address, const void *source, int size, bool releases, bool late)
{
    struct weft_model_task *task = begin_call();
    const uint32_t stamp = task->stamps[task->index];
    const struct weft_store store = {.target = address,
                                     .source = source,
                                     .bytes = (size_t)size,
                                     .late = late,
                                     .atomic = true,
                                     .clock = carried(task, releases)};

    make_store(task, &store, stamp);
    weft_clock_drop(store.clock);
}

static uint64_t model_update(void *address, const struct weft_change *change, bool acquires,
                             bool releases)
{
    struct weft_model_task *task = begin_call();
    const int size = (int)weft_element_bytes(change->type);
    uint64_t old = 0;

    weft_tasks_changed(m->tasks);
    weft_held_overlap(&m->holding, &task->held, address, (size_t)size);
    if (acquires)
        acquire(task, address, size);
    struct weft_clock *clock = carried(task, releases);
    memcpy(&old, address, (size_t)size);
    const uint64_t value =
        size == 2 ? weft_half_of((uint32_t)old, change) : weft_change_of(old, change);
    memcpy(address, &value, (size_t)size);
    weft_cells_add(&m->cells, address, size, clock);
    weft_clock_drop(clock);
    return old;
}

static void model_fence(void)
{
    struct weft_model_task *task = begin_call();

    weft_clock_drop(task->fence);
    task->fence = release(task);
}

/* Checks an access by the current task or a reader (who); the first race of a run is said. */
static void access_bytes(const void *address, size_t bytes, enum weft_access_kind kind,
                         uint32_t who)
{
    static const char *const does[] = {"reads", "reads", "writes", "is about to reuse"};
    const struct weft_model_task *const self = m->tasks->current;
    struct weft_conflict conflict;
    char text[256];

    if (m->races.found ||
        weft_cells_access(&m->cells, address, bytes, kind, who, self->stamps, &conflict))
        return;
    m->races.found = true;
    snprintf(text, sizeof(text),
             "race: %s %s %zu bytes at %p, not ordered after %s, which %s the byte at %p",
             self->name, does[kind], bytes, address, m->tasks->slot[conflict.task]->name,
             conflict.wrote ? "wrote" : "read", (void *)conflict.address);
    weft_err(WEFT_ERR_RACE, "%s", text);
    if (m->races.handler != NULL)
        m->races.handler(text, m->races.argument);
}

static void model_write(void *target, const void *source, size_t bytes, bool late)
{
    struct weft_model_task *task = begin_call();
    const struct weft_store store = {
        .target = target, .source = source, .bytes = bytes, .late = late};

    access_bytes(target, bytes, WEFT_ACCESS_WRITE, task->index);
    make_store(task, &store, task->stamps[task->index]);
}

static void model_reuse(const void *target, size_t bytes)
{
    weft_held_sources(&begin_call()->held, target, bytes);
}

static void model_read(const void *source, size_t bytes)
{
    struct weft_model_task *task = begin_call();

    weft_held_overlap(&m->holding, &task->held, source, bytes);
    access_bytes(source, bytes, task->readers != 0 ? WEFT_ACCESS_READER : WEFT_ACCESS_READ,
                 loads_of(task));
}

/* Sends a message's words, which carry the stamps of two readers. */
static void model_send(const void *target, const void *source, size_t bytes)
{
    struct weft_model_task *task = begin_call();
    const uint32_t loads = target != NULL ? weft_tasks_reader(m->tasks, NULL) : 0;
    const uint32_t reader = target != NULL ? weft_tasks_reader(m->tasks, target) : 0;

    weft_held_overlap(&m->holding, &task->held, source, bytes);
    weft_clock_drop(task->message);
    task->message = NULL;
    if (reader != 0) {
        task->message = weft_clock_new(m->tasks->slots);
        task->message->stamp[loads] = task->stamps[loads]++;
        task->message->stamp[reader] = ++task->stamps[reader];
    }
    access_bytes(source, bytes, reader != 0 ? WEFT_ACCESS_READER : WEFT_ACCESS_READ,
                 reader != 0 ? reader : task->index);
}

static void model_claim(const void *address, size_t bytes)
{
    access_bytes(address, bytes, WEFT_ACCESS_CLAIM, begin_call()->index);
}

static void model_forget(const void *address, size_t bytes)
{
    weft_held_forget(&m->holding, address, bytes);
    weft_cells_forget(&m->cells, address, bytes);
}

static struct weft_model_task *model_start(const char *name, void (*run)(void *), void *argument)
{
    struct weft_model_task *parent = begin_call();
    struct weft_model_task *task = weft_tasks_start(m->tasks, name, run, argument);

    if (task == NULL)
        return NULL;
    weft_held_until(&m->holding, &parent->held, UINT32_MAX);
    struct weft_clock *clock = release(parent);
    task->stamps[task->index]++; /* also after the last task of this place */
    weft_clock_join(task->stamps, clock);
    weft_clock_drop(clock);
    task->own.local = parent->own.local;
    return task;
}

static void model_join(struct weft_model_task *task)
{
    struct weft_model_task *parent = begin_call();

    weft_held_until(&m->holding, &parent->held, UINT32_MAX);
    weft_tasks_wait(m->tasks, task);
    struct weft_clock *clock = release(task);
    weft_clock_join(parent->stamps, clock);
    weft_clock_drop(clock);
    weft_held_before(&m->holding, parent->stamps, parent->index, UINT32_MAX);
    weft_tasks_reap(task);
}

/* Tells the tasks that stores have arrived, which may end a wait, too. */
static void notice_arrivals(void)
{
    if (m->arrived != m->holding.arrived)
        weft_tasks_changed(m->tasks);
    m->arrived = m->holding.arrived;
}

/* Everybody waits: the next held-back store arrives now, or, if there is none, time passes. */
static void move_on(void)
{
    const uint64_t arrived = m->holding.arrived;

    if (m->holding.count == 0)
        m->tasks->time_ns += IDLE_NS;
    else
        while (m->holding.arrived == arrived)
            weft_held_due(&m->holding, ++m->calls);
}

static void model_yield(bool idle)
{
    weft_held_due(&m->holding, ++m->calls);
    if (m->tasks->idle == m->tasks->runnables)
        move_on();
    notice_arrivals();
    weft_tasks_yield(m->tasks, idle);
}

static void __attribute__((noreturn)) model_exit(void)
{
    weft_tasks_exit(m->tasks);
}

static uint64_t model_now(void)
{
    begin_call();
    return m->tasks->time_ns;
}

static bool model_quiet(void)
{
    notice_arrivals();
    return m->holding.count == 0 && m->tasks->quiet == m->tasks->runnables;
}

static uint32_t model_draw(uint32_t n)
{
    return weft_draw(m->tasks, n);
}

static struct weft_model_own *model_own(void)
{
    return &m->tasks->current->own;
}

static bool model_try_lock(void *lock)
{
    struct weft_model_task *task = begin_call();
    uint32_t *word = lock;

    if (*word != 0)
        return false;
    *word = 1;
    acquire(task, word, sizeof(*word));
    return true;
}

static void model_unlock(void *lock)
{
    struct weft_model_task *task = begin_call();
    struct weft_clock *clock = release(task);

    weft_cells_set(&m->cells, lock, sizeof(uint32_t), clock);
    weft_clock_drop(clock);
    *(uint32_t *)lock = 0;
}

static const struct weft_model model = {
    .load = model_load,
    .store = model_store,
    .update = model_update,
    .fence = model_fence,
    .write = model_write,
    .reuse = model_reuse,
    .read = model_read,
    .send = model_send,
    .forget = model_forget,
    .claim = model_claim,
    .start = model_start,
    .join = model_join,
    .yield = model_yield,
    .exit = model_exit,
    .now = model_now,
    .quiet = model_quiet,
    .own = model_own,
    .draw = model_draw,
    .try_lock = model_try_lock,
    .unlock = model_unlock,
};

void weft_random_on_race(void (*handler)(const char *text, void *argument), void *argument)
{
    m->races.found = false;
    m->races.handler = handler;
    m->races.argument = argument;
}

size_t weft_random_stack(size_t bytes)
{
    return m->tasks->stack_bytes = bytes > WEFT_RANDOM_STACK ? bytes : WEFT_RANDOM_STACK;
}

weft_status weft_random_begin(uint64_t seed)
{
    if (m != NULL)
        return weft_err(WEFT_ERR_STATE, "random mode is on already");
    m = weft_random_memory(sizeof(*m));
    m->holding.cells = &m->cells;
    m->tasks = weft_tasks_create(seed);
    weft_model = &model;
    return WEFT_OK;
}

void weft_random_end(void)
{
    for (uint32_t i = 0; i < m->tasks->slots; i++) {
        struct weft_model_task *task = m->tasks->slot[i];
        if (i != 0 && task->index == i &&
            (task->state == WEFT_TASK_RUNNABLE || task->state == WEFT_TASK_JOINING))
            weft_err(WEFT_ERR_STATE, "random mode ends while task %s still runs", task->name);
        weft_held_until(&m->holding, &task->held, UINT32_MAX);
    }
    weft_tasks_destroy(m->tasks);
    weft_cells_free(&m->cells);
    free(m);
    m = NULL;
    weft_model = NULL;
}
