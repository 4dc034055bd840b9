/*
 * the command ring: from near the wrap of its indexes, at its smallest size, full and empty, and
 * with two threads.
 */
#include "base/task.h"
#include "ring/command.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- the command ring ------------------------------------------------------------------------ */

enum { MOST_DEPTH = 64 };

struct commands {
    struct weft_line lines[MOST_DEPTH];
    uint32_t credit;
    struct weft_command_producer in;
    struct weft_command_consumer out;
};

static void commands_open(struct commands *c, uint32_t depth, uint32_t start)
{
    memset(c, 0xff, sizeof(*c)); /* what is left in memory must not look like a command */
    weft_command_ring_init(c->lines, depth, start, &c->credit);
    c->in = (struct weft_command_producer){
        .lines = c->lines, .credit = &c->credit, .depth = depth, .head = start, .seen = start};
    c->out = (struct weft_command_consumer){
        .lines = c->lines, .credit = &c->credit, .depth = depth, .tail = start};
}

static struct weft_command command_of(uint32_t number, uint32_t payload)
{
    return (struct weft_command){.kind = (uint8_t)(number % 250 + 1),
                                 .object = number,
                                 .offset = ~(uint64_t)number << 20,
                                 .source_pitch = number * 3ull,
                                 .width = payload};
}

static unsigned char payload_byte(uint32_t number, uint32_t i)
{
    return (unsigned char)(number * 31 + i);
}

static void push(struct commands *c, uint32_t number, uint32_t payload)
{
    unsigned char bytes[1024];
    struct weft_command command = command_of(number, payload);

    for (uint32_t i = 0; i < payload; i++)
        bytes[i] = payload_byte(number, i);
    weft_command_push(&c->in, &command, bytes, payload, true);
}

/* Takes the next command, checks all of it. False: there is none. */
static bool take(struct commands *c, uint32_t number, uint32_t payload)
{
    struct weft_command command, want = command_of(number, payload);
    unsigned char bytes[1024];

    if (!weft_command_peek(&c->out, &command) ||
        !weft_command_payload(&c->out, bytes, (uint32_t)command.width))
        return false;
    if (memcmp(&command, &want, sizeof(want)) != 0)
        abort();
    for (uint32_t i = 0; i < payload; i++)
        if (bytes[i] != payload_byte(number, i))
            abort();
    weft_command_pop(&c->out, payload);
    return true;
}

static void test_command_wrap(void **state)
{
    static const uint32_t depths[] = {2, 4, 64};
    static const uint32_t starts[] = {0, 1, 0xfffffff0u, 0x7fffffffu, 255 * 64u};
    static struct commands c;

    (void)state;
    for (int d = 0; d < 3; d++) {
        for (int s = 0; s < 5; s++) {
            commands_open(&c, depths[d], starts[s]);
            assert_false(take(&c, 0, 0));
            for (uint32_t n = 0; n < 2000; n++) { /* many laps: the sequence byte wraps, too */
                push(&c, n, 0);
                assert_true(take(&c, n, 0));
                assert_false(take(&c, n, 0));
            }
        }
    }
}

static void test_command_full(void **state)
{
    static struct commands c;

    (void)state;
    commands_open(&c, 4, 0xfffffffeu);
    for (uint32_t round = 0; round < 300; round++) {
        for (uint32_t n = 0; n < 4; n++) {
            assert_true(weft_command_space(&c.in, 1));
            push(&c, n, 0);
        }
        assert_false(weft_command_space(&c.in, 1));
        assert_true(take(&c, 0, 0));
        assert_true(weft_command_space(&c.in, 1));
        assert_false(weft_command_space(&c.in, 2));
        for (uint32_t n = 1; n < 4; n++)
            assert_true(take(&c, n, 0));
        assert_true(weft_command_space(&c.in, 4));
    }
}

static void test_command_payloads(void **state)
{
    static struct commands c;

    (void)state;
    commands_open(&c, 32, 0xffffffe5u);
    for (uint32_t bytes = 0; bytes <= 1024; bytes++) {
        assert_true(weft_command_space(&c.in, weft_command_lines(bytes)));
        push(&c, bytes, bytes);
        assert_true(take(&c, bytes, bytes));
    }
}

/* A command whose payload has not arrived yet is not there. */
static void test_command_partial(void **state)
{
    static struct commands c;
    struct weft_command command;
    unsigned char bytes[100];

    (void)state;
    commands_open(&c, 8, 5);
    push(&c, 1, 100);
    const uint64_t held = c.lines[6].word[3];
    c.lines[6].word[3] = weft_lap(6 - 8, 8); /* a word of the lap before */
    assert_true(weft_command_peek(&c.out, &command));
    assert_false(weft_command_payload(&c.out, bytes, 100));
    c.lines[6].word[3] = held;
    assert_true(take(&c, 1, 100));
    push(&c, 2, 0);
    c.lines[0].word[7] = 0; /* of the header: index 8 */
    assert_false(weft_command_peek(&c.out, &command));
}

/* ---- two threads ------------------------------------------------- */

/* As many, or as many as there are in so long: on a busy machine each turn is a time slice. */
enum { STRESS = 100000, LEAST = 100 };
static const uint64_t LONG_NS = 4000000000;

struct stress {
    atomic_bool over;
    bool (*push)(void *queue, uint32_t number);
    bool (*take)(void *queue, uint32_t number);
    void *queue;
};

static void *produce(void *argument)
{
    struct stress *s = argument;
    for (uint32_t n = 0; n < STRESS; n++)
        while (!s->push(s->queue, n)) {
            if (atomic_load(&s->over))
                return NULL;
            sched_yield();
        }
    return NULL;
}

static void run_stress(struct stress *s)
{
    const uint64_t end = weft_now_ns() + LONG_NS;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, produce, s), 0);
    for (uint32_t n = 0; n < STRESS && (n < LEAST || weft_now_ns() < end); n++)
        while (!s->take(s->queue, n))
            sched_yield();
    atomic_store(&s->over, true);
    pthread_join(thread, NULL);
}

static bool stress_push_command(void *queue, uint32_t number)
{
    struct commands *c = queue;
    const uint32_t payload = number % 7 * 9;

    if (!weft_command_space(&c->in, weft_command_lines(payload)))
        return false;
    push(c, number, payload);
    return true;
}

static bool stress_take_command(void *queue, uint32_t number)
{
    return take(queue, number, number % 7 * 9);
}

static void test_command_stress(void **state)
{
    static struct commands c;
    struct stress s = {.push = stress_push_command, .take = stress_take_command, .queue = &c};

    (void)state;
    commands_open(&c, 4, 0xfffff000u);
    run_stress(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command_wrap),     cmocka_unit_test(test_command_full),
        cmocka_unit_test(test_command_payloads), cmocka_unit_test(test_command_partial),
        cmocka_unit_test(test_command_stress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
