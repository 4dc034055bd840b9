/*
 * Blocks of several threads, as GPUs have them, played by threads of the host: some move data, the
 * last ones tell and hear. Random calls in place at odd addresses, in words and in pieces of one
 * round of the threads and more, over the wrap of the flags. The CPU device has one thread, which
 * does all: what threads do to each other shows here alone.
 */
#include <stdbool.h>
#include <stdint.h>

/* In place of the CPU device's block of one thread. */
#define WEFT_CCL_BLOCK
enum { WEFT_CCL_LANES = 2 }; /* of a warp */
struct weft_column;
static uint32_t weft_column_thread(void);
static uint32_t weft_column_threads(void);
static bool weft_column_all(bool good);
static bool weft_column_wait(const struct weft_column *c, uint32_t *rounds, int32_t member);
static void weft_column_waited(const struct weft_column *c, uint32_t rounds, int32_t member);

#include "ccl/call.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { THREADS = 6, MOVERS = 4 }; /* of a block */

/* A member's block. */
struct block {
    pthread_barrier_t barrier;
    bool bad[2]; /* by turn */
    struct weft_ccl_view view;
};

static __thread struct block *mine;
static __thread uint32_t my_thread, my_turn;

static uint32_t weft_column_thread(void)
{
    return my_thread;
}

static uint32_t weft_column_threads(void)
{
    return THREADS;
}

static bool weft_column_all(bool good)
{
    bool *const bad = &mine->bad[my_turn++ & 1];

    if (!good)
        __atomic_store_n(bad, true, __ATOMIC_RELAXED);
    pthread_barrier_wait(&mine->barrier);
    return !__atomic_load_n(bad, __ATOMIC_RELAXED);
}

static bool weft_column_wait(const struct weft_column *c, uint32_t *rounds, int32_t member)
{
    (void)member;
    if (++*rounds % 16 == 0)
        sched_yield();
    return *rounds < 100000000 && __atomic_load_n(&c->counters->broken, __ATOMIC_RELAXED) == 0;
}

static void weft_column_waited(const struct weft_column *c, uint32_t rounds, int32_t member)
{
    (void)c, (void)rounds, (void)member;
}

enum { MEMBERS_MOST = 4, CALLS = 60, COUNT = 700 };

struct play {
    struct block blocks[MEMBERS_MOST];
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

    mine = &play->blocks[actor->member];
    my_thread = actor->thread;
    for (int call = 0; call < CALLS; call++) {
        const uint32_t count = call % 3 == 0 ? COUNT : mixed((uint32_t)call) % COUNT;
        uint32_t *const data = play->data[actor->member] + call % 4; /* at odd addresses, too */
        for (uint32_t i = my_thread; i < count; i += THREADS)
            data[i] = element(call, actor->member, i);
        weft_column_all(true);
        const struct weft_ccl_call made =
            weft_ccl_call_of(WEFT_CCL_ALLREDUCE, data, data, count, WEFT_U32, WEFT_SUM, 0);
        const bool good = weft_ccl_run(NULL, &mine->view, 0, &made, MOVERS, WEFT_CCL_MEMBERS,
                                       weft_ccl_is_few(&mine->view, made.bytes));
        weft_column_all(true);
        for (uint32_t i = my_thread; i < count; i += THREADS)
            if (!good || data[i] != sum_of(call, play->members, i))
                __atomic_store_n(&play->failed, true, __ATOMIC_RELAXED);
        weft_column_all(true);
    }
    return NULL;
}

static void play_calls(int members, uint32_t few, uint64_t words)
{
    struct play play = {.members = members};
    struct actor actors[MEMBERS_MOST * THREADS];
    pthread_t threads[MEMBERS_MOST * THREADS];
    struct weft_ccl_counters counters[MEMBERS_MOST] = {{0}};
    struct weft_ccl_trouble trouble[WEFT_CCL_MEMBERS];
    unsigned char *rooms[MEMBERS_MOST];

    for (int m = 0; m < members; m++) {
        struct weft_ccl_view *const view = &play.blocks[m].view;
        *view = (struct weft_ccl_view){.members = members,
                                       .me = m,
                                       .columns = 1,
                                       .few = few,
                                       .piece = 512,
                                       .counters = &counters[m],
                                       .trouble = trouble};
        rooms[m] = calloc(1, weft_ccl_lay_out(view));
        assert_non_null(rooms[m]);
        counters[m].words = words;
        play.data[m] = aligned_alloc(64, (COUNT + 20) * sizeof(uint32_t) / 64 * 64 + 64);
        pthread_barrier_init(&play.blocks[m].barrier, NULL, THREADS);
    }
    for (int m = 0; m < members; m++)
        memcpy(play.blocks[m].view.room, rooms, (size_t)members * sizeof(rooms[0]));
    for (int i = 0; i < members * THREADS; i++) {
        actors[i] = (struct actor){&play, i / THREADS, (uint32_t)(i % THREADS)};
        assert_int_equal(pthread_create(&threads[i], NULL, act, &actors[i]), 0);
    }
    for (int i = 0; i < members * THREADS; i++)
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
