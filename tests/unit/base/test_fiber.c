/* Fibers: each keeps its own stack, registers and rounding mode over a switch; deep stacks work. */
#include "base/fiber.h"
#include "order/atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIBERS = 200, ROUNDS = 50, STACK = 64 * 1024 };

static struct weft_fiber *home;

/* A switch synchronises nothing, and ThreadSanitizer knows: what these fibers share needs a baton.
 */
static uint32_t baton;

static void take(void)
{
    weft_load_acquire_u32(&baton, ORDER_ring_poll);
}

static void pass(struct weft_fiber *from, struct weft_fiber *to)
{
    weft_store_release_u32(&baton, 1, ORDER_ring_publish);
    weft_fiber_switch(from, to);
    take();
}

struct counter {
    struct weft_fiber *fiber;
    uint64_t seed, sum;
    double product;
    int rounds;
};

/* Enough live values, of both kinds, that a lost callee-saved register changes the result. */
static void count(void *argument)
{
    take();
    struct counter *c = argument;
    uint64_t a = c->seed, b = a * 3, d = a ^ 5, e = a + 7, f = a - 11, g = a * 13;
    double x = (double)c->seed, y = x + 0.5;

    for (;;) {
        a += b;
        b ^= d;
        d += e;
        e ^= f;
        f += g;
        g += a;
        x = x * 0.5 + y;
        y = y * 0.25 + 1;
        c->sum = a ^ b ^ d ^ e ^ f ^ g;
        c->product = x + y;
        c->rounds++;
        if (home != NULL)
            pass(c->fiber, home);
        else if (c->rounds == ROUNDS)
            return;
    }
}

static void fibers_keep_their_state(void **state)
{
    static struct counter all[FIBERS], alone[FIBERS];
    (void)state;

    home = NULL;
    for (int i = 0; i < FIBERS; i++) {
        alone[i].seed = (uint64_t)i + 1;
        count(&alone[i]);
    }
    home = weft_fiber_adopt();
    assert_non_null(home);
    for (int i = 0; i < FIBERS; i++) {
        all[i].seed = (uint64_t)i + 1;
        all[i].fiber = weft_fiber_create(count, &all[i], STACK);
        assert_non_null(all[i].fiber);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < FIBERS; i++)
            pass(home, all[i].fiber);
    for (int i = 0; i < FIBERS; i++) {
        assert_int_equal(all[i].rounds, ROUNDS);
        assert_int_equal(all[i].sum, alone[i].sum);
        assert_true(all[i].product == alone[i].product);
        weft_fiber_destroy(all[i].fiber);
    }
    weft_fiber_destroy(home);
}

static struct weft_fiber *other;
static int rounding_seen[2];

static void round_up(void *argument)
{
    (void)argument;
    take();
    rounding_seen[0] = fegetround(); /* inherited from the creator */
    fesetround(FE_UPWARD);
    pass(other, home);
    rounding_seen[1] = fegetround();
    for (;;)
        pass(other, home);
}

static void rounding_is_per_fiber(void **state)
{
    (void)state;
    home = weft_fiber_adopt();
    other = weft_fiber_create(round_up, NULL, STACK);
    fesetround(FE_TONEAREST);
    pass(home, other);
    assert_int_equal(fegetround(), FE_TONEAREST);
    pass(home, other);
    assert_int_equal(rounding_seen[0], FE_TONEAREST);
    assert_int_equal(rounding_seen[1], FE_UPWARD);
    weft_fiber_destroy(other);
    weft_fiber_destroy(home);
}

static void touch(void *argument)
{
    take();
    size_t bytes = *(size_t *)argument;
    volatile unsigned char *deep = __builtin_alloca(bytes);

    for (size_t i = bytes; i > 0; i -= i < 1024 ? i : 1024)
        deep[i - 1] = 1;
    for (;;)
        pass(other, home);
}

static void touch_stack(size_t bytes)
{
    home = weft_fiber_adopt();
    other = weft_fiber_create(touch, &bytes, STACK);
    pass(home, other);
    weft_fiber_destroy(other);
    weft_fiber_destroy(home);
}

static void the_whole_stack_is_usable(void **state)
{
    (void)state;
    touch_stack(STACK - 8192); /* the rest: what sanitizers and the entry need */
}

static void overflow_meets_the_guard_page(void **state)
{
    int status;
    pid_t child;
    (void)state;

    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would write a report */
        signal(SIGBUS, SIG_DFL);
        touch_stack(STACK + 256);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fibers_keep_their_state),
        cmocka_unit_test(rounding_is_per_fiber),
        cmocka_unit_test(the_whole_stack_is_usable),
        cmocka_unit_test(overflow_meets_the_guard_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
