/*
 * base/fiber.h - switching stacks: the primitive under ranks on the CPU device and under random
 * mode. A fiber runs on the thread that switches to it; it knows no scheduler.
 */
#ifndef WEFT_BASE_FIBER_H
#define WEFT_BASE_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_fiber;

/*
 * Makes a fiber that will call run(argument) on its own stack of at least stack_bytes, with a guard
 * below it. run must not return: it switches away for good. NULL when memory is short.
 */
struct weft_fiber *weft_fiber_create(void (*run)(void *), void *argument, size_t stack_bytes);

/*
 * Makes the calling thread's own stack a fiber, so that others can switch back to it. Cannot fail;
 * a thread has one at a time.
 */
struct weft_fiber *weft_fiber_adopt(void);

/*
 * Leaves `from` (which is running) and continues `to`. ThreadSanitizer is told that the switch
 * synchronises nothing: order between ranks comes from labels only. (Except in random mode, which
 * has its own check of order.)
 */
void weft_fiber_switch(struct weft_fiber *from, struct weft_fiber *to);

/*
 * Frees a fiber that is not running; an adopted one only ends being one. All that the fiber did
 * happened before this.
 */
void weft_fiber_destroy(struct weft_fiber *fiber);

/* Destroys a fiber, not an adopted one; leaves its stack's memory, for the caller to munmap. */
struct weft_stack {
    void *map;
    size_t bytes;
} weft_fiber_leave_stack(struct weft_fiber *fiber);

/*
 * For ThreadSanitizer, which takes fibers of one thread for several threads: what they did before
 * they said release of a place happened before what they do after they say acquire of it. UNSEEN:
 * functions whose accesses it must not see, as they belong to whoever runs.
 */
void weft_fiber_release(const void *place);
void weft_fiber_acquire(const void *place);
#define WEFT_UNSEEN __attribute__((no_sanitize("thread")))

/* Whether the address lies in the guard below the fiber's stack: it ran over. In signal handlers,
 * too. */
bool weft_fiber_guards(const struct weft_fiber *fiber, const void *address);
/* Give the lowest address of a fiber's stack, and its bytes. Not of an adopted fiber. */
uintptr_t weft_fiber_stack(const struct weft_fiber *fiber);
size_t weft_fiber_stack_bytes(const struct weft_fiber *fiber);

#endif
