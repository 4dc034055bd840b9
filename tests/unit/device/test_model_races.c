/* Random mode's race check: slots reused too early, bytes shared, memory that was freed. */
#include "model_run.h"

enum { ROUNDS = 5 };

/* Credits: a slot is overwritten only after it was read. */
static void produce(void *argument)
{
    (void)argument;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        await(&s.credit, i - 1, ORDER_ring_space);
        put_data((unsigned char)i);
        weft_store_release_u32(&s.flag, i, ORDER_ring_publish);
    }
}

static void consume(void *argument)
{
    (void)argument;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        await(&s.flag, i, ORDER_ring_poll);
        look_for((unsigned char)i);
        weft_store_release_u32(&s.credit, i, ORDER_ring_credit);
    }
}

static void credits(void **state)
{
    (void)state;
    expect_good(RUN(ORDER_none, produce, consume));
    expect_caught(RUN(ORDER_ring_publish, produce, consume));
    expect_caught(RUN(ORDER_ring_poll, produce, consume));
    /* reads are not held back, so these cannot show but as races */
    assert_int_equal(RUN(ORDER_ring_credit, produce, consume).races, SEEDS);
    assert_int_equal(RUN(ORDER_ring_space, produce, consume).races, SEEDS);
}

/* Slots of atomic words, whose reuse is announced by used and claim. */
static void reuse(void *argument)
{
    (void)argument;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        await(&s.credit, i - 1, ORDER_command_space);
        weft_claim_shared(&s.wide, sizeof(s.wide));
        weft_store_relaxed_u64(&s.wide, i);
    }
}

static void use(void *argument)
{
    (void)argument;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        while (weft_load_relaxed_u64(&s.wide) != i)
            weft_task_yield(true);
        weft_used_shared(&s.wide, sizeof(s.wide));
        weft_store_release_u32(&s.credit, i, ORDER_command_credit);
    }
}

static void claims(void **state)
{
    (void)state;
    expect_good(RUN(ORDER_none, reuse, use));
    assert_int_equal(RUN(ORDER_command_credit, reuse, use).races, SEEDS);
    assert_int_equal(RUN(ORDER_command_space, reuse, use).races, SEEDS);
}

/* The check is exact to the byte, and reads of the same bytes do not conflict. */
static void write_low(void *argument)
{
    (void)argument;
    weft_write_shared(s.data, "abc", 3);
}

static void write_high(void *argument)
{
    (void)argument;
    weft_write_shared(s.data + 3, "de", 2);
}

static void write_middle(void *argument)
{
    (void)argument;
    weft_write_shared(s.data + 2, "x", 1);
}

static void read_high(void *argument)
{
    unsigned char bytes[2];
    (void)argument;
    weft_read_shared(bytes, s.data + 3, 2);
}

static void races_are_exact(void **state)
{
    (void)state;
    assert_int_equal(RUN(ORDER_none, write_low, write_high).races, 0);
    assert_int_equal(RUN(ORDER_none, write_middle, write_high).races, 0);
    assert_int_equal(RUN(ORDER_none, write_low, read_high, read_high).races, 0);
    assert_int_equal(RUN(ORDER_none, write_low, write_middle).races, SEEDS);
    assert_int_equal(RUN(ORDER_none, write_high, read_high).races, SEEDS);
}

/* Memory that was freed or reused has no history, and nothing arrives there later. */
static void use_and_forget(void *argument)
{
    uint32_t word;
    (void)argument;
    weft_write_shared(&s.x, &(uint32_t){5}, 4);
    weft_read_shared(&word, &s.x, 4);
    weft_store_release_u32(&s.y, 1, ORDER_ring_publish);
    weft_model->forget(&s.x, sizeof(s.x));
    weft_model->forget(&s.y, sizeof(s.y));
    s.stale |= s.x != 5 || s.y != 1;
    weft_store_relaxed_u32(&s.flag, 1);
}

static void use_again(void *argument)
{
    (void)argument;
    await(&s.flag, 1, ORDER_ring_poll);
    weft_write_shared(&s.x, &(uint32_t){6}, 4);
    weft_load_acquire_u32(&s.y, ORDER_ring_poll);
}

static void forgotten_memory_has_no_history(void **state)
{
    (void)state;
    expect_good(RUN(ORDER_none, use_and_forget, use_again));
}

/* A put's source is overwritten after the reuse of the put's target, or of memory beside it. */
static void overwrite(const void *reused)
{
    static uint32_t source;

    source = 1;
    weft_put_shared(&s.x, &source, sizeof(source));
    weft_reuse(reused, 4);
    source = 2;
    weft_store_release_u32(&s.flag, 1, ORDER_ring_publish);
}

static void reuse_then_overwrite(void *argument)
{
    (void)argument;
    overwrite(&s.x);
}

static void reuse_another_then_overwrite(void *argument)
{
    (void)argument;
    overwrite(&s.y);
}

static void read_put(void *argument)
{
    uint32_t word;
    (void)argument;
    await(&s.flag, 1, ORDER_ring_poll);
    weft_read_shared(&word, &s.x, sizeof(word));
    s.stale |= word != 1;
}

static void sources_are_read_late(void **state)
{
    (void)state;
    expect_good(RUN(ORDER_none, reuse_then_overwrite, read_put));
    assert_true(RUN(DRAIN_sources, reuse_then_overwrite, read_put).stale > 0);
    assert_true(RUN(ORDER_none, reuse_another_then_overwrite, read_put).stale > 0);
}

/*
 * A message, of a relaxed store. Who takes it knows what was read for it, and what its sender had
 * loaded before; nothing that was read for another target or later, and no write.
 */
enum { SOURCE, OTHER, LOADED, LATER, WRITTEN, FIELDS, FIELD = 8 };

static void send(void *argument)
{
    (void)argument;
    weft_sent_shared(&s.flag, NULL, 0);
    weft_used_shared(s.data + LOADED * FIELD, FIELD);
    weft_write_shared(s.data + WRITTEN * FIELD, "abcdefgh", FIELD);
    weft_sent_shared(&s.y, s.data + OTHER * FIELD, FIELD);
    weft_sent_shared(&s.flag, s.data + SOURCE * FIELD, FIELD);
    weft_store_relaxed_u32(&s.flag, 1);
    weft_sent_shared(NULL, NULL, 0);
    weft_used_shared(s.data + LATER * FIELD, FIELD);
}

static void take(void *argument)
{
    (void)argument;
    await(&s.flag, 1, ORDER_ring_poll);
    weft_store_release_u32(&s.credit, 1, ORDER_ring_credit);
}

static void reuse_field(int field)
{
    await(&s.credit, 1, ORDER_ring_space);
    weft_write_shared(s.data + field * FIELD, "ABCDEFGH", FIELD);
}

#define REUSE(field, name)                                                                         \
    static void name(void *argument)                                                               \
    {                                                                                              \
        (void)argument;                                                                            \
        reuse_field(field);                                                                        \
    }
REUSE(SOURCE, reuse_source)
REUSE(OTHER, reuse_other)
REUSE(LOADED, reuse_loaded)
REUSE(LATER, reuse_later)
REUSE(WRITTEN, reuse_written)

static void messages_tell_of_reads(void **state)
{
    (void)state;
    assert_true(sizeof(s.data) >= FIELDS * FIELD);
    expect_good(RUN(ORDER_none, send, take, reuse_source));
    expect_good(RUN(ORDER_none, send, take, reuse_loaded));
    assert_int_equal(RUN(ORDER_ring_credit, send, take, reuse_source).races, SEEDS);
    assert_int_equal(RUN(ORDER_ring_poll, send, take, reuse_source).races, SEEDS);
    assert_int_equal(RUN(ORDER_none, send, take, reuse_other).races, SEEDS);
    assert_int_equal(RUN(ORDER_none, send, take, reuse_later).races, SEEDS);
    assert_int_equal(RUN(ORDER_none, send, take, reuse_written).races, SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credits),
        cmocka_unit_test(claims),
        cmocka_unit_test(races_are_exact),
        cmocka_unit_test(forgotten_memory_has_no_history),
        cmocka_unit_test(sources_are_read_late),
        cmocka_unit_test(messages_tell_of_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
