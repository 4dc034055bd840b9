/*
 * device/cpu/random/tasks.h - the tasks of random mode: fibers of one thread, and the choice of the
 * one that runs. See random.h for the moods, the virtual time and what quiet means.
 */
#ifndef WEFT_DEVICE_CPU_RANDOM_TASKS_H
#define WEFT_DEVICE_CPU_RANDOM_TASKS_H

#include "base/fiber.h"
#include "base/say.h"
#include "device/cpu/random/held.h"
#include "order/model.h"

enum {
    WEFT_RANDOM_TASKS = 1024, /* tasks at once, the root and all readers included */
    WEFT_TASK_READERS = 17    /* readers of a task: a rank has 16 channels */
};

enum weft_task_state { WEFT_TASK_FREE, WEFT_TASK_RUNNABLE, WEFT_TASK_JOINING, WEFT_TASK_ENDED };

/*
 * Reads that messages tell of, which release nothing else: they have stamps of their own, as if
 * another task had read. A task's first reader has its loads, each other one its puts to a target.
 */
struct weft_reader {
    const void *target;
    uint32_t index;
};

/* A task, and then, when it was joined, a place for another one, whose stamps go on from its. */
struct weft_model_task {
    char name[16];
    uint32_t index;
    struct weft_model_tasks *tasks;
    enum weft_task_state state;
    struct weft_model_own own;
    void (*run)(void *);
    void *argument;
    struct weft_say_task say;
    struct weft_model_task *joiner; /* sleeps until this one has ended */

    uint32_t place;   /* in runnable[] */
    int64_t priority; /* for MOOD_PRIORITY */
    uint32_t idle;    /* yields in a row that found nothing */
    uint64_t change;  /* `change` of all tasks at these yields */

    struct weft_held_queue held;
    struct weft_clock *fence;
    struct weft_clock *message; /* clock that the words of a message being stored carry */
    struct weft_reader reader[WEFT_TASK_READERS];
    uint32_t readers;
    uint32_t stamps[WEFT_RANDOM_TASKS];
};

enum weft_mood { MOOD_ANYONE, MOOD_FAVOUR, MOOD_SHUN, MOOD_PRIORITY, MOODS };

struct weft_model_tasks {
    struct weft_model_task *slot[WEFT_RANDOM_TASKS]; /* live, or a free place, or a reader's */
    struct weft_model_task *runnable[WEFT_RANDOM_TASKS];
    uint32_t slots, runnables;
    struct weft_model_task *current;
    size_t stack_bytes; /* of a new task */
    uint64_t draw;      /* state of the generator */

    enum weft_mood mood;
    uint32_t turn;                   /* calls that a turn may last, at most */
    uint32_t left;                   /* calls that are left of the present turn */
    uint32_t hold_odds;              /* chances in 256 that a store is held back */
    uint32_t hold_rounds;            /* calls of each task for which a store is held, at most */
    uint32_t mood_turns;             /* turns until the mood is drawn anew; 0: never */
    uint32_t mood_left;              /* turns left of this mood */
    struct weft_model_task *special; /* favoured or shunned; may have ended */
    int64_t lowest;                  /* lowest priority given so far */

    uint64_t time_ns;
    uint64_t change;      /* counts what may end someone's wait */
    uint32_t idle, quiet; /* runnable tasks with IDLE_YIELDS, with QUIET_YIELDS at this change */
};

/* Returns a number below n (n > 0), drawn from the seed. */
uint32_t weft_draw(struct weft_model_tasks *tasks, uint32_t n);

/* Makes the tasks of a run; the calling thread becomes the root task. */
struct weft_model_tasks *weft_tasks_create(uint64_t seed);
/* Frees them. All other tasks have ended, or will never run again. */
void weft_tasks_destroy(struct weft_model_tasks *tasks);

/* Starts a task, which runs once it is chosen, and knows nothing yet. NULL: no stack, or too
 * many. */
struct weft_model_task *weft_tasks_start(struct weft_model_tasks *tasks, const char *name,
                                         void (*run)(void *), void *argument);
/* Waits until the task has ended; its place and name stay until weft_tasks_reap. */
void weft_tasks_wait(struct weft_model_tasks *tasks, struct weft_model_task *task);
void weft_tasks_reap(struct weft_model_task *task);
void weft_tasks_exit(struct weft_model_tasks *tasks) __attribute__((noreturn));

/* Returns the current task's reader for a target; NULL, first: for its loads. 0: no room. */
uint32_t weft_tasks_reader(struct weft_model_tasks *tasks, const void *target);

/* Counts a call of the model by the current task, whose turn may end. */
void weft_tasks_call(struct weft_model_tasks *tasks);
/* Gives up the turn if another task can run. idle: the task found nothing to do. */
void weft_tasks_yield(struct weft_model_tasks *tasks, bool idle);

/* Tells that something changed for which an idle task may wait. */
void weft_tasks_changed(struct weft_model_tasks *tasks);

#endif
