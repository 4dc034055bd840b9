/*
 * base/fiber.c - stacks and the switch between them. The machine's part is in fiber_machine.h; here
 * are the stacks with their guard pages, and what the sanitizers have to be told: they keep a
 * shadow of every stack and must know which one is in use.
 */
#include "base/fiber.h"

#include "base/fiber_machine.h"
#include "order/model.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(__has_feature) /* gcc says it by a macro */
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif

/* So much below a stack cannot be touched: address space alone, and a large array does not reach
 * over it into the next stack, unless it is larger still. */
enum { GUARD = 16 << 20 };

struct weft_fiber {
    struct weft_context context;
    void (*run)(void *);
    void *argument;
    void *map; /* mapping of the guard and the stack; NULL: adopted */
    size_t map_bytes;
    const void *stack; /* lowest address of the stack; an adopted one's is known once it was left */
    size_t stack_bytes;
    void *sanitizer; /* TSan's fiber, or ASan's fake stack */
};

/*
 * A fiber's record is touched by whoever switches, on one thread, but ThreadSanitizer must take
 * the two sides for two threads: what they do to the record is kept from it.
 */
#if defined(FIBER_TSAN)
#include <sanitizer/tsan_interface.h>

static void sanitizer_create(struct weft_fiber *fiber)
{
    fiber->sanitizer = __tsan_create_fiber(0);
}

static void sanitizer_adopt(struct weft_fiber *fiber)
{
    fiber->sanitizer = __tsan_get_current_fiber();
}

/* All that a fiber did until its last switch happened before it is destroyed. */
static void sanitizer_destroy(struct weft_fiber *fiber)
{
    __tsan_acquire(fiber);
    if (fiber->map != NULL)
        __tsan_destroy_fiber(fiber->sanitizer);
}

/*
 * Order between ranks comes from labels only, so the switch synchronises nothing; but in random
 * mode, which checks races itself, all fibers share the model's own state in turn.
 *
 * Always inline: a call would be entered on one shadow stack and left on the other.
 */
WEFT_UNSEEN static inline __attribute__((always_inline)) void
sanitizer_leave(struct weft_fiber *from, struct weft_fiber *to)
{
    void *target = to->sanitizer; /* read before the release: `to` may be destroyed after it */

    __tsan_release(from);
    __tsan_switch_to_fiber(target, weft_model != NULL ? 0 : __tsan_switch_to_fiber_no_sync);
}

#define sanitizer_arrive(fiber) ((void)(fiber))

void weft_fiber_release(const void *place)
{
    __tsan_release((void *)(uintptr_t)place);
}

void weft_fiber_acquire(const void *place)
{
    __tsan_acquire((void *)(uintptr_t)place);
}

#else
void weft_fiber_release(const void *place)
{
    (void)place;
}

void weft_fiber_acquire(const void *place)
{
    (void)place;
}

#define sanitizer_adopt(fiber)   ((void)(fiber))
#define sanitizer_destroy(fiber) ((void)(fiber))

#if defined(FIBER_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/* Makes the stack usable: one may have lain there that was left in the middle of its functions. */
static void sanitizer_create(struct weft_fiber *fiber)
{
    __asan_unpoison_memory_region(fiber->stack, fiber->stack_bytes);
}

static _Thread_local struct weft_fiber *left; /* the one that the switch under way leaves */

static void sanitizer_leave(struct weft_fiber *from, struct weft_fiber *to)
{
    left = from;
    __sanitizer_start_switch_fiber(&from->sanitizer, to->stack, to->stack_bytes);
}

static void sanitizer_arrive(struct weft_fiber *fiber)
{
    __sanitizer_finish_switch_fiber(fiber->sanitizer, &left->stack, &left->stack_bytes);
}

#else
#define sanitizer_create(fiber)   ((void)(fiber))
#define sanitizer_leave(from, to) ((void)(from), (void)(to))
#define sanitizer_arrive(fiber)   ((void)(fiber))
#endif
#endif

static void fiber_main(void *argument)
{
    struct weft_fiber *fiber = argument;

    sanitizer_arrive(fiber);
    fiber->run(fiber->argument);
    abort(); /* the contract: run does not return */
}

struct weft_fiber *weft_fiber_create(void (*run)(void *), void *argument, size_t stack_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct weft_fiber *fiber = calloc(1, sizeof(*fiber));

    if (fiber == NULL)
        return NULL;
    fiber->run = run;
    fiber->argument = argument;
    fiber->stack_bytes = (stack_bytes + page - 1) & ~(page - 1);
    fiber->map_bytes = fiber->stack_bytes + GUARD;
    fiber->map = mmap(NULL, fiber->map_bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (fiber->map == MAP_FAILED)
        goto free_record;
    unsigned char *const stack = (unsigned char *)fiber->map + GUARD;
    if (mprotect(stack, fiber->stack_bytes, PROT_READ | PROT_WRITE) != 0)
        goto unmap_stack;
    fiber->stack = stack;
    weft_context_make(&fiber->context, stack, fiber->stack_bytes, fiber_main, fiber);
    sanitizer_create(fiber);
    return fiber;

unmap_stack:
    munmap(fiber->map, fiber->map_bytes);
free_record:
    free(fiber);
    return NULL;
}

struct weft_fiber *weft_fiber_adopt(void)
{
    static _Thread_local struct weft_fiber own;

    own = (struct weft_fiber){0};
    sanitizer_adopt(&own);
    return &own;
}

WEFT_UNSEEN void weft_fiber_switch(struct weft_fiber *from, struct weft_fiber *to)
{
    sanitizer_leave(from, to);
    weft_context_switch(&from->context, &to->context);
    sanitizer_arrive(from);
}

void weft_fiber_destroy(struct weft_fiber *fiber)
{
    sanitizer_destroy(fiber);
    if (fiber->map == NULL)
        return; /* adopted */
    if (munmap(fiber->map, fiber->map_bytes) != 0)
        abort(); /* the range is the one that mmap returned */
    free(fiber);
}

bool weft_fiber_guards(const struct weft_fiber *fiber, const void *address)
{
    const unsigned char *const guard = fiber->map, *const at = address;

    return guard != NULL && at >= guard && at < guard + GUARD;
}

uintptr_t weft_fiber_stack(const struct weft_fiber *fiber)
{
    return (uintptr_t)fiber->stack;
}

size_t weft_fiber_stack_bytes(const struct weft_fiber *fiber)
{
    return fiber->stack_bytes;
}

struct weft_stack weft_fiber_leave_stack(struct weft_fiber *fiber)
{
    const struct weft_stack stack = {fiber->map, fiber->map_bytes};

    sanitizer_destroy(fiber);
    free(fiber);
    return stack;
}
