/* Random mode's memory: what its orders promise, and that it is weak where they promise nothing. */
#include "model_run.h"

/* Message passing: data, then a released flag. */
static void send(void *argument)
{
    (void)argument;
    put_data(7);
    weft_store_release_u32(&s.flag, 1, ORDER_ring_publish);
}

static void receive(void *argument)
{
    (void)argument;
    await(&s.flag, 1, ORDER_ring_poll);
    look_for(7);
}

static void message_passing(void **state)
{
    (void)state;
    expect_good(RUN(ORDER_none, send, receive));
    expect_caught(RUN(ORDER_ring_publish, send, receive));
    expect_caught(RUN(ORDER_ring_poll, send, receive));
}

/* The same through a third task, which only passes the flag on: order is transitive. */
static void pass_on(void *argument)
{
    (void)argument;
    await(&s.flag, 1, ORDER_ring_poll);
    weft_add_release_u32(&s.credit, 1, ORDER_count_add_local);
}

static void receive_passed(void *argument)
{
    (void)argument;
    await(&s.credit, 1, ORDER_count_read_local);
    look_for(7);
}

static void transitivity(void **state)
{
    (void)state;
    expect_good(RUN(ORDER_none, send, pass_on, receive_passed));
    expect_caught(RUN(ORDER_ring_poll, send, pass_on, receive_passed));
    /* the data has arrived where the task between saw it, so these show only as races */
    assert_int_equal(RUN(ORDER_count_add_local, send, pass_on, receive_passed).races, SEEDS);
    assert_int_equal(RUN(ORDER_count_read_local, send, pass_on, receive_passed).races, SEEDS);
}

/* A fence makes a later relaxed store carry what came before the fence, and nothing after it. */
static void send_fenced(void *argument)
{
    (void)argument;
    put_data(7);
    weft_fence_release(ORDER_fence);
    weft_store_relaxed_u32(&s.flag, 1);
}

static void send_fenced_early(void *argument)
{
    (void)argument;
    weft_fence_release(ORDER_fence);
    put_data(7);
    weft_store_relaxed_u32(&s.flag, 1);
}

static void send_fenced_add(void *argument)
{
    (void)argument;
    put_data(7);
    weft_fence_release(ORDER_fence);
    weft_add_relaxed_u32(&s.flag, 1);
}

static void fences(void **state)
{
    (void)state;
    expect_good(RUN(ORDER_none, send_fenced, receive));
    expect_good(RUN(ORDER_none, send_fenced_add, receive));
    expect_caught(RUN(ORDER_fence, send_fenced, receive));
    expect_caught(RUN(ORDER_fence, send_fenced_add, receive));
    expect_caught(RUN(ORDER_none, send_fenced_early, receive));
}

/* A relaxed add continues the release sequence of another task; a relaxed store ends it. */
static void add_second(void *argument)
{
    (void)argument;
    while (weft_load_relaxed_u32(&s.flag) != 1)
        weft_task_yield(true);
    weft_add_relaxed_u32(&s.flag, 1);
}

static void store_second(void *argument)
{
    (void)argument;
    while (weft_load_relaxed_u32(&s.flag) != 1)
        weft_task_yield(true);
    weft_store_relaxed_u32(&s.flag, 2);
}

static void receive_second(void *argument)
{
    (void)argument;
    while (weft_load_relaxed_u32(&s.flag) != 2) /* an acquire of 1 would order the data */
        weft_task_yield(true);
    await(&s.flag, 2, ORDER_ring_poll);
    look_for(7);
}

static void release_sequences(void **state)
{
    (void)state;
    expect_good(RUN(ORDER_none, send, add_second, receive_second));
    expect_caught(RUN(ORDER_none, send, store_second, receive_second));
}

/* What others add to a word does not flow back into the fence that the word's value carried. */
static void reuse_fence(void *argument)
{
    (void)argument;
    weft_fence_release(ORDER_fence);
    weft_store_relaxed_u32(&s.flag, 1);
    while (weft_load_relaxed_u32(&s.flag) != 2)
        weft_task_yield(true);
    weft_store_relaxed_u32(&s.credit, 1);
}

static void write_and_add(void *argument)
{
    (void)argument;
    while (weft_load_relaxed_u32(&s.flag) != 1)
        weft_task_yield(true);
    put_data(7);
    weft_add_release_u32(&s.flag, 1, ORDER_count_add_local);
}

static void fences_stay_as_they_were(void **state)
{
    (void)state;
    expect_caught(RUN(ORDER_none, reuse_fence, write_and_add, receive_passed));
}

/* Two notifiers, one counter: whoever sees both has what both did. */
static void notify_x(void *argument)
{
    (void)argument;
    weft_write_shared(&s.x, &(uint32_t){5}, 4);
    weft_add_release_u32(&s.flag, 1, ORDER_count_add_local);
}

static void notify_y(void *argument)
{
    (void)argument;
    weft_write_shared(&s.y, &(uint32_t){6}, 4);
    weft_add_release_u32(&s.flag, 1, ORDER_count_add_local);
}

static void wait_for_both(void *argument)
{
    uint32_t x, y;
    (void)argument;
    await(&s.flag, 2, ORDER_count_read_local);
    weft_read_shared(&x, &s.x, 4);
    weft_read_shared(&y, &s.y, 4);
    s.stale |= x != 5 || y != 6;
}

static void counters_join(void **state)
{
    (void)state;
    expect_good(RUN(ORDER_none, notify_x, notify_y, wait_for_both));
    expect_caught(RUN(ORDER_count_add_local, notify_x, notify_y, wait_for_both));
}

/* A word that plain bytes have overwritten no longer releases anything. */
static void send_then_overwrite(void *argument)
{
    (void)argument;
    put_data(7);
    weft_store_release_u64(&s.wide, 1, ORDER_ring_publish);
    weft_write_shared(&s.wide, &(uint64_t){2}, 8);
}

static void receive_overwritten(void *argument)
{
    (void)argument;
    while (weft_load_relaxed_u64(&s.wide) != 2) /* an acquire of 1 would order the data */
        weft_task_yield(true);
    weft_load_acquire_u64(&s.wide, ORDER_ring_poll);
    look_for(7);
}

static void plain_bytes_release_nothing(void **state)
{
    (void)state;
    expect_caught(RUN(ORDER_none, send_then_overwrite, receive_overwritten));
}

/* One task's stores to the same bytes keep their order, whatever their kinds. */
static void count_up(void *argument)
{
    (void)argument;
    for (uint32_t i = 1; i <= 30; i++)
        if (i % 3 == 0)
            weft_write_shared(&s.x, &i, sizeof(i));
        else
            weft_store_relaxed_u32(&s.x, i);
}

static void watch_count(void *argument)
{
    uint32_t last = 0;
    (void)argument;
    while (last < 30) {
        const uint32_t now = weft_load_relaxed_u32(&s.x);
        s.stale |= now < last;
        last = now;
        weft_task_yield(true);
    }
}

static void overlapping_stores_keep_their_order(void **state)
{
    (void)state;
    expect_good(RUN(ORDER_none, count_up, watch_count));
}

/* A task sees its own stores. */
static void read_own(void *argument)
{
    uint32_t x;
    (void)argument;
    weft_store_relaxed_u32(&s.x, 3);
    s.stale |= weft_load_relaxed_u32(&s.x) != 3;
    weft_write_shared(&s.x, &(uint32_t){4}, 4);
    weft_read_shared(&x, &s.x, 4);
    s.stale |= x != 4;
    put_data(7);
    weft_add_release_u32(&s.flag, 1, ORDER_count_add_local);
    await(&s.flag, 1, ORDER_count_read_local);
    s.stale |= s.data[1] != 7; /* by a plain load, too, after its own notification */
}

static void own_stores_are_seen(void **state)
{
    (void)state;
    expect_good(RUN(ORDER_none, read_own));
}

/* The machine is weak: it shows what x86 (store, store) or any machine without fences may show. */
static void store_x_y(void *argument)
{
    (void)argument;
    weft_store_relaxed_u32(&s.x, 1);
    weft_store_relaxed_u32(&s.y, 1);
}

static void look_y_x(void *argument)
{
    (void)argument;
    while (weft_load_relaxed_u32(&s.y) == 0)
        weft_task_yield(true);
    s.stale = weft_load_relaxed_u32(&s.x) == 0;
}

static uint32_t saw_y;

static void store_x_load_y(void *argument)
{
    (void)argument;
    weft_store_release_u32(&s.x, 1, ORDER_ring_publish);
    saw_y = weft_load_acquire_u32(&s.y, ORDER_ring_poll);
    weft_store_release_u32(&s.flag, 1, ORDER_ring_publish);
}

static void store_y_load_x(void *argument)
{
    uint32_t x;
    (void)argument;
    weft_store_release_u32(&s.y, 1, ORDER_ring_publish);
    x = weft_load_acquire_u32(&s.x, ORDER_ring_poll);
    await(&s.flag, 1, ORDER_ring_poll);
    s.stale = x == 0 && saw_y == 0;
}

static void the_machine_is_weak(void **state)
{
    (void)state;
    assert_true(RUN(ORDER_none, store_x_y, look_y_x).stale > SEEDS / 50);
    assert_true(RUN(ORDER_none, store_x_load_y, store_y_load_x).stale > SEEDS / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_passing),
        cmocka_unit_test(transitivity),
        cmocka_unit_test(fences),
        cmocka_unit_test(release_sequences),
        cmocka_unit_test(fences_stay_as_they_were),
        cmocka_unit_test(counters_join),
        cmocka_unit_test(plain_bytes_release_nothing),
        cmocka_unit_test(overlapping_stores_keep_their_order),
        cmocka_unit_test(own_stores_are_seen),
        cmocka_unit_test(the_machine_is_weak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
