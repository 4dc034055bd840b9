/*
 * order/model.h - the hooks through which random mode takes over memory, tasks and time.
 *
 * Outside random mode weft_model is NULL and order/atomic.h, base/task.h and base/lock.h use the
 * machine. In random mode one thread runs every rank and every host task as a fiber, and these
 * functions are a model of a weakly ordered machine (device/cpu/random/ implements them):
 *
 * - write and relaxed or release stores may be held back after the call returns, and delivered
 *   later in any order, except that one fiber's stores to overlapping bytes keep their order;
 * - an acquire load (or add) that reads a release forces delivery of all that happened before it;
 * - a write or read that is not ordered after a conflicting earlier one by another fiber is a race
 *   and is reported;
 * - every call may switch to another fiber.
 *
 * Repeatable from the seed: nothing depends on real time, addresses or thread identity.
 */
#ifndef WEFT_ORDER_MODEL_H
#define WEFT_ORDER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_change;
struct weft_fiber;
struct weft_model_task;
struct weft_say_task;

struct weft_model_own {
    void *local;               /* pointer of weft_task_local: NULL at first, inherited */
    struct weft_fiber *fiber;  /* fiber on which the task runs */
    struct weft_say_task *say; /* state of base/say.c; NULL: the thread's, which goes on after it */
};

struct weft_model {
    /* size is 4 or 8; addresses are aligned. update returns the old value. */
    uint64_t (*load)(const void *address, int size, bool acquire);
    void (*store)(void *address, const void *value, int size, bool release, bool late);
    uint64_t (*update)(void *address, const struct weft_change *change, bool acquire, bool release);
    /* A release fence: later stores and adds of this fiber carry what came before it. */
    void (*fence)(void);

    /*
     * Data: copy bytes to shared memory. Late, also of a store: the source may be read when the
     * store arrives, but before the task's next reuse, which says that it is about to reuse the
     * sources of what it has written into a range.
     */
    void (*write)(void *target, const void *source, size_t bytes, bool late);
    void (*reuse)(const void *target, size_t bytes);
    /* Note that bytes were read; forget a range's history. */
    void (*read)(const void *source, size_t bytes);
    void (*forget)(const void *address, size_t bytes);
    /*
     * Notes a put's source as read. With a target, until the next send: what this fiber stores is a
     * message, and who acquires a word of it knows what was read for that target, and by `read`.
     */
    void (*send)(const void *target, const void *source, size_t bytes);
    /* Checks, as write does, that the caller may overwrite a range; writes nothing. */
    void (*claim)(const void *address, size_t bytes);

    /* Tasks. yield(idle): idle means "found nothing to do". now: virtual nanoseconds. */
    struct weft_model_task *(*start)(const char *name, void (*run)(void *), void *argument);
    void (*join)(struct weft_model_task *task);
    void (*yield)(bool idle);
    /* Ends the calling task at once, never to return to it. */
    void (*exit)(void) __attribute__((noreturn));
    uint64_t (*now)(void);
    /* True when every task has been idle for long and no store is held back. */
    bool (*quiet)(void);
    /* What the calling task has of its own. */
    struct weft_model_own *(*own)(void);
    /* A number below n (n > 0), from the seed. */
    uint32_t (*draw)(uint32_t n);
    /* Mutual exclusion of tasks, with acquire and release. No idle task waits for a lock that
     * others try_lock. */
    bool (*try_lock)(void *lock);
    void (*unlock)(void *lock);
};

/* Non-NULL while random mode is on; set before any task starts, cleared after the last ended. */
extern const struct weft_model *weft_model;

#endif
