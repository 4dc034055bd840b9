/* Which memory stays registered (device/keep.h): from which use on, with what beside it. */
#include "keep_run.h"

#include <sys/wait.h>

static void from_the_second_use_on(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE };
    unsigned char *memory = map(2 * BYTES);

    (void)state;
    open_keep(&keep, BYTES + BYTES / 2);
    assert_false(weft_keep_hold(&keep, memory, BYTES, false));
    for (int i = 0; i < 100; i++) {
        assert_true(weft_keep_hold(&keep, memory, BYTES, false));
        weft_keep_release(&keep);
    }
    assert_true(weft_keep_hold(&keep, memory + 100, BYTES - 100, false)); /* a part of it */
    weft_keep_release(&keep);
    assert_int_equal(ever_pinned, 1);
    weft_keep_drop(&keep);
    for (int i = 0; i < 10; i++) /* pieces of one message */
        assert_false(weft_keep_hold(&keep, memory, BYTES, i != 0));
    assert_true(weft_keep_hold(&keep, memory, BYTES, false));
    weft_keep_release(&keep);
    assert_false(weft_keep_hold(&keep, memory, 2 * BYTES, false)); /* more than `most` */
    assert_true(weft_keep_drop(&keep));
    assert_false(weft_keep_drop(&keep));
    for (int i = 0; i < 2; i++)
        if (weft_keep_hold(&keep, memory, BYTES, false))
            weft_keep_release(&keep);
    assert_int_equal(pinned, 1);
    weft_keep_turn(&keep, true);
    assert_int_equal(pinned, 0);
    assert_false(weft_keep_hold(&keep, memory, BYTES, false));
    assert_false(weft_keep_hold(&keep, memory, BYTES, false));
    weft_keep_turn(&keep, false);
    weft_keep_close(&keep);
    munmap(memory, 2 * BYTES);
}

/* Two ranges that overlap, or have no room together, are not registered in turns for ever. */
static void those_that_displace_each_other_become_rare(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE, USES = 4000 };
    unsigned char *memory = map(4 * BYTES);

    (void)state;
    for (size_t apart = BYTES / 2; apart <= 2 * BYTES; apart += 3 * BYTES / 2) {
        open_keep(&keep, BYTES + BYTES / 2);
        for (int i = 0; i < USES; i++)
            if (weft_keep_hold(&keep, memory + (size_t)(i % 2) * apart, BYTES, false))
                weft_keep_release(&keep);
        assert_in_range(ever_pinned, 2, 40);
        weft_keep_close(&keep);
    }
    munmap(memory, 4 * BYTES);
}

/* One that grows is registered as soon as any, and those beside it again. */
static void growing_is_not_displacing(void **state)
{
    struct weft_keep keep;
    enum { LEAST = 4 * PAGE, LARGEST = 32 * PAGE };
    unsigned char *memory = map(2 * LARGEST);
    int uses = 0;

    (void)state;
    open_keep(&keep, 64 << 20);
    for (size_t bytes = LEAST; bytes <= LARGEST; bytes *= 2)
        for (int i = 0; i < 4; i++)
            for (int side = 0; side < 2; side++)
                if (weft_keep_hold(&keep, memory + side * bytes, bytes, false)) {
                    weft_keep_release(&keep);
                    uses++;
                }
    assert_in_range(uses, 4 * 4, 4 * 6); /* four sizes, of 8 each; at most half are the first */
    weft_keep_close(&keep);
    munmap(memory, 2 * LARGEST);
}

/* Buffers side by side, of which two share a page: in any order, and while others are used, too. */
static void neighbours_are_one_registration(void **state)
{
    struct weft_keep keep;
    enum { COUNT = 20, APART = 2 * PAGE + 64 };
    unsigned char *memory = map(COUNT * APART), *other = map(COUNT * APART);

    (void)state;
    open_keep(&keep, 64 << 20);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < COUNT; i++)
            for (int side = 0; side < 2; side++) {
                const int at = round == 1 ? i : (7 * i) % COUNT;
                const bool held =
                    weft_keep_hold(&keep, (side == 0 ? memory : other) + at * APART, APART, false);
                assert_int_equal(held, round != 0);
                if (held)
                    weft_keep_release(&keep);
            }
    assert_true(weft_keep_hold(&keep, memory, COUNT * APART, false)); /* both are whole */
    assert_int_equal(pinned, 2);
    assert_int_equal(keep.bytes, (COUNT * APART + PAGE - 1) / PAGE * PAGE * 2);
    weft_keep_release(&keep);
    munmap(memory, COUNT * APART);
    assert_int_equal(__atomic_load_n(&pinned, __ATOMIC_RELAXED), 0);
    weft_keep_close(&keep);
    munmap(other, COUNT * APART);
}

/* A hole in a file makes no event. */
static void shared_memory_is_not_registered(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE };
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, BYTES);
    open_keep(&keep, 64 << 20);
    for (int i = 0; i < 5000; i++)
        assert_false(weft_keep_hold(&keep, memory, BYTES, false));
    assert_in_range(ever_pinned, 0, 20);
    assert_int_equal(pinned, 0);
    weft_keep_close(&keep);
    munmap(memory, BYTES);
}

/* Else every unmapping of it would drop all. */
static void what_is_refused_is_not_watched(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE };
    unsigned char *kept = map(BYTES), *refused = map(BYTES);

    (void)state;
    open_keep(&keep, 64 << 20);
    refuses = true;
    for (int i = 0; i < 3; i++)
        assert_false(weft_keep_hold(&keep, refused, BYTES, false));
    refuses = false;
    register_it(&keep, kept, BYTES);
    munmap(refused, BYTES);
    assert_int_equal(__atomic_load_n(&pinned, __ATOMIC_RELAXED), 1);
    weft_keep_close(&keep);
    munmap(kept, BYTES);
}

/* Its memory is not watched, and the registration stays. */
static void a_child_of_fork_frees_its_own(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE };
    unsigned char *memory = map(BYTES);
    int status;

    (void)state;
    open_keep(&keep, 64 << 20);
    for (int i = 0; i < 2; i++)
        if (weft_keep_hold(&keep, memory, BYTES, false))
            weft_keep_release(&keep);
    const pid_t child = fork();
    if (child == 0) {
        munmap(memory, BYTES);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(pinned, 1);
    weft_keep_close(&keep);
    munmap(memory, BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_the_second_use_on),
        cmocka_unit_test(those_that_displace_each_other_become_rare),
        cmocka_unit_test(growing_is_not_displacing),
        cmocka_unit_test(neighbours_are_one_registration),
        cmocka_unit_test(shared_memory_is_not_registered),
        cmocka_unit_test(what_is_refused_is_not_watched),
        cmocka_unit_test(a_child_of_fork_frees_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
