/*
 * Blocks of several threads, as GPUs have them, played by threads of the host: some move data, the
 * last ones tell and hear. Random calls in place at odd addresses, in words and in pieces of one
 * round of the threads and more, over the wrap of the flags. The CPU device has one thread, which
 * does all: what threads do to each other shows here alone.
 */
#include "support/ccl_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MEMBERS_MOST = 4, CALLS = 60, COUNT = 700 };

struct play {
    struct block blocks[MEMBERS_MOST];
    struct weft_ccl_view views[MEMBERS_MOST];
    int members;
    uint32_t *data[MEMBERS_MOST]; /* in place: source and target */
    bool failed;
};

struct actor {
    struct play *play;
    int member;
    uint32_t thread;
};

static uint32_t mixed(uint32_t x)
{
    x = (x ^ x >> 16) * 0x45d9f3bu;
    return (x ^ x >> 15) * 0x45d9f3bu ^ x >> 3;
}

static uint32_t element(int call, int member, uint32_t i)
{
    return mixed((uint32_t)call * 7919u + (uint32_t)member * 104729u + i);
}

static uint32_t sum_of(int call, int members, uint32_t i)
{
    uint32_t sum = 0;
    for (int m = 0; m < members; m++)
        sum += element(call, m, i);
    return sum;
}

/* One thread of one member's block. */
static void *act(void *argument)
{
    const struct actor *const actor = argument;
    struct play *const play = actor->play;

    const struct weft_ccl_view *const view = &play->views[actor->member];
    my_block = &play->blocks[actor->member];
    my_thread = actor->thread;
    for (int call = 0; call < CALLS; call++) {
        const uint32_t count = call % 3 == 0 ? COUNT : mixed((uint32_t)call) % COUNT;
        uint32_t *const data = play->data[actor->member] + call % 4; /* at odd addresses, too */
        for (uint32_t i = my_thread; i < count; i += BLOCK_THREADS)
            data[i] = element(call, actor->member, i);
        weft_column_all(true);
        const struct weft_ccl_call made =
            weft_ccl_call_of(WEFT_CCL_ALLREDUCE, data, data, count, WEFT_U32, WEFT_SUM, 0);
        const bool good = weft_ccl_run(NULL, view, 0, &made, BLOCK_MOVERS, WEFT_CCL_MEMBERS,
                                       weft_ccl_is_few(view, made.bytes));
        weft_column_all(true);
        for (uint32_t i = my_thread; i < count; i += BLOCK_THREADS)
            if (!good || data[i] != sum_of(call, play->members, i))
                __atomic_store_n(&play->failed, true, __ATOMIC_RELAXED);
        weft_column_all(true);
    }
    return NULL;
}

static void play_calls(int members, uint32_t few, uint64_t words)
{
    struct play play = {.members = members};
    struct actor actors[MEMBERS_MOST * BLOCK_THREADS];
    pthread_t threads[MEMBERS_MOST * BLOCK_THREADS];
    struct weft_ccl_counters counters[MEMBERS_MOST] = {{0}};
    struct weft_ccl_trouble trouble[WEFT_CCL_MEMBERS] = {{0}};
    const uint32_t never = 0;
    unsigned char *rooms[MEMBERS_MOST];

    for (int m = 0; m < members; m++) {
        struct weft_ccl_view *const view = &play.views[m];
        *view = (struct weft_ccl_view){.members = members,
                                       .me = m,
                                       .columns = 1,
                                       .few = few,
                                       .piece = 512,
                                       .counters = &counters[m],
                                       .stop = &never,
                                       .trouble = trouble};
        rooms[m] = calloc(1, weft_ccl_lay_out(view));
        assert_non_null(rooms[m]);
        counters[m].words = words;
        play.data[m] = aligned_alloc(64, (COUNT + 20) * sizeof(uint32_t) / 64 * 64 + 64);
        pthread_barrier_init(&play.blocks[m].barrier, NULL, BLOCK_THREADS);
    }
    for (int m = 0; m < members; m++)
        memcpy(play.views[m].room, rooms, (size_t)members * sizeof(rooms[0]));
    for (int i = 0; i < members * BLOCK_THREADS; i++) {
        actors[i] = (struct actor){&play, i / BLOCK_THREADS, (uint32_t)(i % BLOCK_THREADS)};
        assert_int_equal(pthread_create(&threads[i], NULL, act, &actors[i]), 0);
    }
    for (int i = 0; i < members * BLOCK_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int m = 0; m < members; m++) {
        free(rooms[m]);
        free(play.data[m]);
        pthread_barrier_destroy(&play.blocks[m].barrier);
    }
    assert_false(play.failed);
}

static void words(void **state)
{
    (void)state;
    for (int members = 1; members <= MEMBERS_MOST; members++)
        play_calls(members, 1 << 20, 0);
}

static void pieces(void **state)
{
    (void)state;
    for (int members = 1; members <= MEMBERS_MOST; members++)
        play_calls(members, 0, 0);
}

static void both_over_the_wrap(void **state)
{
    (void)state;
    for (int members = 1; members <= MEMBERS_MOST; members++)
        play_calls(members, 600, 0xfffffff0u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(pieces),
        cmocka_unit_test(both_over_the_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
