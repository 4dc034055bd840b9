/*
 * How often a rank rings for its host: for each command, or, in a batch, once for all of it, for
 * each turn of the host, and whenever the rank waits, tests or ends.
 */
#include "rank/path/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { LINES = 256, PROCESSES = 2 };

/* A rank without a job: nobody takes its commands, and a sleeper counts the bells. */
struct lone {
    weft_self self;
    struct weft_state state;
    struct weft_signals signals;
    struct weft_bell host, own;
    struct weft_port_call call;
    struct weft_waiting waiting;
    struct weft_counter counters[WEFT_TAGS * 2];
    struct weft_line lines[LINES];
    _Alignas(64) unsigned char exposed[sizeof(struct weft_exposed)];
    uint64_t sent_to[PROCESSES], asked[PROCESSES], answered[PROCESSES];
    uint32_t settled[PROCESSES];
    _Alignas(8) unsigned char link[sizeof(struct weft_link) + 3 * PROCESSES * sizeof(uint32_t)];
};

static struct lone lone;

static int setup(void **state)
{
    weft_self *self = &lone.self;

    (void)state;
    memset(&lone, 0, sizeof(lone));
    lone.state = (struct weft_state){.processes = PROCESSES,
                                     .signals = &lone.signals,
                                     .exposed = (struct weft_exposed *)(void *)lone.exposed,
                                     .command_bell = &lone.host};
    self->state = &lone.state;
    self->port = (struct weft_port){.host = true, .bell = &lone.own, .call = &lone.call};
    self->counters = lone.counters;
    self->link = (struct weft_link *)(void *)lone.link;
    self->waiting = &lone.waiting;
    self->slot = 1;
    self->sent_to = lone.sent_to;
    self->asked = lone.asked;
    self->answered = lone.answered;
    self->settled = lone.settled;
    weft_command_ring_init(lone.lines, LINES, 0, &self->link->credit);
    self->commands = (struct weft_command_producer){
        .lines = lone.lines, .credit = &self->link->credit, .depth = LINES};
    weft_bell_prepare(&lone.host);
    return 0;
}

static uint32_t rung(void)
{
    return lone.host.rung;
}

static void post(int commands)
{
    struct weft_command command = {.kind = WEFT_COMMAND_COUNT};

    for (int i = 0; i < commands; i++)
        weft_post_put(&lone.self, 1, &command, NULL, 0, true);
}

static void without_a_batch_each_command_rings(void **state)
{
    (void)state;
    post(5);
    assert_int_equal(rung(), 5);
}

static void a_batch_rings_at_its_end(void **state)
{
    (void)state;
    weft_batch_begin(&lone.self);
    post(5);
    assert_int_equal(rung(), 0);
    weft_batch_end(&lone.self);
    assert_int_equal(rung(), 1);
    post(1);
    assert_int_equal(rung(), 2);
}

static void an_empty_batch_does_not_ring(void **state)
{
    (void)state;
    weft_batch_begin(&lone.self);
    weft_batch_end(&lone.self);
    assert_int_equal(rung(), 0);
}

static void the_outermost_batch_counts(void **state)
{
    (void)state;
    weft_batch_begin(&lone.self);
    weft_batch_begin(&lone.self);
    post(1);
    weft_batch_end(&lone.self);
    post(1);
    assert_int_equal(rung(), 0);
    weft_batch_end(&lone.self);
    assert_int_equal(rung(), 1);
}

static void a_batch_rings_for_each_turn_of_the_host(void **state)
{
    (void)state;
    weft_batch_begin(&lone.self);
    post(WEFT_COMMANDS_A_TURN - 1);
    assert_int_equal(rung(), 0);
    post(1);
    assert_int_equal(rung(), 1);
    post(2 * WEFT_COMMANDS_A_TURN);
    assert_int_equal(rung(), 3);
    weft_batch_end(&lone.self); /* nothing is held back */
    assert_int_equal(rung(), 3);
}

static void a_wait_rings_once(void **state)
{
    uint32_t rounds = 0;

    (void)state;
    weft_batch_begin(&lone.self);
    post(3);
    for (int i = 0; i < 4; i++)
        weft_wait_round(&lone.self, &rounds, WEFT_WAIT_TAG, 0, 0, 1);
    assert_int_equal(rung(), 1);
    post(1); /* the batch goes on */
    assert_int_equal(rung(), 1);
    weft_batch_end(&lone.self);
    assert_int_equal(rung(), 2);
}

static void a_test_in_vain_rings(void **state)
{
    const weft_op op = {.sequence = 4, .process = 1, .kind = 1 | 4 << 12}; /* the fourth put */

    (void)state;
    weft_batch_begin(&lone.self);
    post(3);
    assert_int_equal(weft_test(&lone.self, 3, 1), 0);
    assert_int_equal(rung(), 1);
    post(1);
    assert_int_equal(weft_op_test(&lone.self, op, WEFT_REMOTE), 0);
    assert_int_equal(rung(), 2);
    weft_batch_end(&lone.self);
    assert_int_equal(rung(), 2);
}

static void the_end_of_the_kernel_rings(void **state)
{
    (void)state;
    weft_batch_begin(&lone.self);
    post(3);
    weft_end(&lone.self);
    assert_int_equal(rung(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_a_batch_each_command_rings, setup),
        cmocka_unit_test_setup(a_batch_rings_at_its_end, setup),
        cmocka_unit_test_setup(an_empty_batch_does_not_ring, setup),
        cmocka_unit_test_setup(the_outermost_batch_counts, setup),
        cmocka_unit_test_setup(a_batch_rings_for_each_turn_of_the_host, setup),
        cmocka_unit_test_setup(a_wait_rings_once, setup),
        cmocka_unit_test_setup(a_test_in_vain_rings, setup),
        cmocka_unit_test_setup(the_end_of_the_kernel_rings, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
