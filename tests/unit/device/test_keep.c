/* What stays registered (device/keep.h): from when on, how much, and what never. */
#include "keep_run.h"

static void from_the_second_use_on(void **state)
{
    (void)state;
    open_keep(BYTES + BYTES / 2);
    assert_false(hold(memory, BYTES));
    for (int i = 0; i < 100; i++)
        assert_true(hold(memory, BYTES));
    assert_true(hold(memory + 100, BYTES - 100)); /* a part of it */
    assert_int_equal(ever_pinned, 1);
    weft_keep_turn(&keep, false);
    assert_int_equal(pinned, 0);
    for (int i = 0; i < 10; i++) /* pieces of one message */
        assert_false(weft_keep_hold(&keep, memory, BYTES, i != 0));
    assert_true(hold(memory, BYTES));
    assert_false(hold(memory, 2 * BYTES)); /* more than `most` */
    weft_keep_turn(&keep, false);
    hold(memory, BYTES);
    hold(memory, BYTES);
    assert_int_equal(pinned, 1);
    weft_keep_turn(&keep, true);
    assert_int_equal(pinned, 0);
    assert_false(hold(memory, BYTES));
    assert_false(hold(memory, BYTES));
    weft_keep_turn(&keep, false);
}

/* Two ranges that overlap, or have no room together, are not registered in turns for ever. */
static void those_that_displace_each_other_become_rare(void **state)
{
    enum { USES = 4000 };

    (void)state;
    for (size_t apart = BYTES / 2; apart <= 2 * BYTES; apart += 3 * BYTES / 2) {
        weft_keep_close(&keep);
        open_keep(BYTES + BYTES / 2);
        for (int i = 0; i < USES; i++)
            hold(memory + (size_t)(i % 2) * apart, BYTES);
        assert_in_range(ever_pinned, 1, 40);
    }
}

/* A window of messages: each two have a page in common, which cannot be registered twice. */
static void neighbours_are_one_registration(void **state)
{
    enum { COUNT = 6, EACH = PAGE + 100, APART = EACH + 16 };
    unsigned char *other = map(PAGE);

    (void)state;
    register_it(other, PAGE);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(hold(memory + (size_t)i * APART, EACH), round != 0);
    assert_int_equal(ever_pinned, 2); /* all at once */
    assert_int_equal(pinned, 2);      /* the other stayed */
    munmap(other, PAGE);
}

/* One that grows is registered as soon as any, and those beside it again. */
static void growing_is_not_displacing(void **state)
{
    int uses = 0;

    (void)state;
    for (size_t bytes = BYTES / 4; bytes <= 2 * BYTES; bytes *= 2)
        for (int i = 0; i < 4; i++)
            for (int side = 0; side < 2; side++)
                uses += hold(memory + side * bytes, bytes);
    assert_in_range(uses, 4 * 4, 4 * 6); /* four sizes, of 8 each; at most half are the first */
}

/* A hole in a file makes no event. */
static void shared_memory_is_not_registered(void **state)
{
    void *file = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(file != MAP_FAILED);
    memset(file, 1, BYTES);
    for (int i = 0; i < 5000; i++)
        assert_false(hold(file, BYTES));
    assert_in_range(ever_pinned, 0, 20);
    assert_int_equal(pinned, 0);
    munmap(file, BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(from_the_second_use_on),          TEST(those_that_displace_each_other_become_rare),
        TEST(neighbours_are_one_registration), TEST(growing_is_not_displacing),
        TEST(shared_memory_is_not_registered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
