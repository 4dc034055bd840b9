/*
 * Calls by a warp and by a thread: each warp of each rank sends to two others and takes what comes
 * for it, while the others do the same; gets; notifications that several warps wait for; what one
 * warp did, told by another; a warp that waits for another one of its rank; words that all threads
 * update. With WEFT_CPU_THREADS a rank has several warps.
 */
#include <weft/warp.h>

#include "support/test.h"

enum {
    LANES = 32,
    MOST_WARPS = 32,
    MOST = 1536, /* bytes of a message */
    AREAS = 2 * MOST_WARPS * MOST,
    STABLE = AREAS, /* what others get */
    WORDS = STABLE + MOST,
    COUNT = WORDS, /* at rank 0: tickets taken, */
    COUNT2 = WORDS + 8,
    TAKEN = WORDS + 16, /* and a word for each */
    MOST_TICKETS = 4096,
    EACH = TAKEN + 8 * MOST_TICKETS,
    TAG_DATA = 10, /* + warp */
    TAG_FREE = 50, /* + warp */
    TAG_ANY = 90,
    TAG_TOLD = 91,
    TAG_SELF = 92,
    TAG_TURNS = 93,
    TURNS = 6,
    SHARED = 6 /* notifications of TAG_ANY for each warp */
};
static_assert(EACH % 16 == 0 && COUNT % 8 == 0, "all words are aligned");

struct data {
    struct test_check check;
    unsigned char *windows, *scratch; /* EACH bytes a rank */
    uint32_t rounds;
};

WEFT_DEVICE_FN int warps_of(weft_self *self)
{
    return (weft_threads(self) + LANES - 1) / LANES;
}

WEFT_DEVICE_FN int warp_of(weft_self *self)
{
    return weft_thread(self) / LANES;
}

/* By the lanes of one warp. */
WEFT_DEVICE_FN void fill(weft_self *self, unsigned char *memory, size_t bytes, uint64_t key)
{
    const int lane = weft_thread(self) % LANES, left = weft_threads(self) - warp_of(self) * LANES;
    const size_t lanes = left < LANES ? (size_t)left : LANES;

    test_will_write(memory, bytes);
    for (size_t i = (size_t)lane; i < bytes; i += lanes)
        memory[i] = test_byte(key, i);
}

WEFT_DEVICE_FN size_t differs(const unsigned char *memory, size_t bytes, uint64_t key)
{
    size_t wrong = 0;

    test_will_read(memory, bytes);
    for (size_t i = 0; i < bytes; i++)
        wrong += memory[i] != test_byte(key, i);
    return wrong;
}

WEFT_DEVICE_FN size_t bytes_of(int warp, uint64_t round)
{
    const uint64_t k = ((uint64_t)warp + round) % 10;

    return k == 0   ? 0
           : k == 1 ? 4
           : k == 2 ? 8
           : k == 3 ? 12
           : k == 4 ? 2
           : k == 5 ? 64
           : k == 6 ? 101
           : k == 7 ? 512
           : k == 8 ? 1024
                    : MOST;
}

WEFT_DEVICE_FN uint64_t key_of(int rank, int warp, int way, uint64_t round)
{
    return ((round * 2 + (uint64_t)way) * 1000 + (uint64_t)rank) * MOST_WARPS + (uint64_t)warp;
}

WEFT_DEVICE_FN int at_distance(weft_self *self, int way, bool back)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), d = way == 0 ? 1 % n : n / 2;

    return (weft_rank(self, WEFT_COMM_WORLD) + (back ? n - d : d)) % n;
}

WEFT_DEVICE_FN size_t area_of(int warp, int way)
{
    return ((size_t)warp * 2 + (size_t)way) * MOST;
}

/* ---- each warp by itself --------------------------------------------------------------------- */

WEFT_DEVICE_FN void send_all(weft_self *self, weft_win win, unsigned char *sources, uint64_t round)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), warp = warp_of(self);
    const size_t bytes = bytes_of(warp, round), half = bytes / 8 * 4;

    for (int way = 0; way < 2; way++) {
        unsigned char *const source = sources + area_of(warp, way);
        const int to = at_distance(self, way, false);
        const size_t at = area_of(warp, way);
        fill(self, source, bytes, key_of(me, warp, way, round));
        if (round % 3 == 0) { /* in two parts */
            weft_put_warp(self, win, to, at, source, half);
            weft_put_notify_warp(self, win, to, at + half, source + half, bytes - half,
                                 TAG_DATA + warp);
        } else if (round % 3 == 1) {
            weft_put_warp(self, win, to, at, source, bytes);
            weft_notify_warp(self, WEFT_COMM_WORLD, to, TAG_DATA + warp);
        } else {
            weft_put_notify_warp(self, win, to, at, source, bytes, TAG_DATA + warp);
        }
    }
}

WEFT_DEVICE_FN void warps_exchange(weft_self *self, struct data *user, weft_win win, uint64_t round)
{
    unsigned char *const window = test_mine(self, user->windows, EACH);
    const int warp = warp_of(self);
    const size_t bytes = bytes_of(warp, round);

    send_all(self, win, test_mine(self, user->scratch, EACH), round);
    if (round % 2 == 0)
        weft_wait_warp(self, TAG_DATA + warp, 2);
    else
        while (!weft_test_warp(self, TAG_DATA + warp, 2))
            continue;
    for (int way = 0; way < 2; way++) {
        const int from = at_distance(self, way, true);
        CHECK_EQ(self, &user->check,
                 differs(window + area_of(warp, way), bytes, key_of(from, warp, way, round)), 0);
        weft_notify_warp(self, WEFT_COMM_WORLD, from, TAG_FREE + warp);
    }
    weft_wait_warp(self, TAG_FREE + warp, 2); /* the sources may be reused, and the areas there */
}

/* Each warp gets from another rank what nobody changes. */
WEFT_DEVICE_FN void warps_get(weft_self *self, struct data *user, weft_win win, uint64_t round)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), warp = warp_of(self);
    const int from = (weft_rank(self, WEFT_COMM_WORLD) + 1 + warp) % n;
    unsigned char *const to = test_mine(self, user->scratch, EACH) + area_of(warp, 0);
    const size_t bytes = bytes_of(warp, round);

    test_will_write(to, bytes);
    weft_get_warp(self, win, from, STABLE, to, bytes);
    CHECK_EQ(self, &user->check, differs(to, bytes, (uint64_t)from), 0);
}

/* ---- warps among each other ------------------------------------------------------------------ */

/* All warps wait for one tag; each notification is for one of them. */
WEFT_DEVICE_FN void warps_share(weft_self *self)
{
    for (int i = 0; i < SHARED; i++)
        weft_notify_warp(self, WEFT_COMM_WORLD, at_distance(self, 1, false), TAG_ANY);
    for (int i = 0; i < SHARED; i += 2)
        weft_wait_warp(self, TAG_ANY, 2);
}

/* One puts, all meet, another notifies; and the rank as a whole takes it. */
WEFT_DEVICE_FN void one_for_another(weft_self *self, struct data *user, weft_win win,
                                    uint64_t round)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), warp = warp_of(self);
    const int last = warps_of(self) - 1, to = at_distance(self, 0, false);
    unsigned char *const source = test_mine(self, user->scratch, EACH) + AREAS;

    if (warp == 0) {
        fill(self, source, MOST, key_of(me, 1, 1, round));
        weft_put_warp(self, win, to, 0, source, MOST);
    }
    weft_sync(self);
    if (warp == last)
        weft_notify_warp(self, WEFT_COMM_WORLD, to, TAG_TOLD);
    weft_wait(self, TAG_TOLD, 1);
    CHECK_EQ(self, &user->check,
             test_differs(self, test_mine(self, user->windows, EACH), MOST,
                          key_of(at_distance(self, 0, true), 1, 1, round)),
             0);
}

/* The first warp waits for what the last does after it; while it waits, that runs. */
WEFT_DEVICE_FN void one_waits(weft_self *self, uint64_t round)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), warp = warp_of(self);

    if (warp == warps_of(self) - 1)
        weft_notify_warp(self, WEFT_COMM_WORLD, me, TAG_SELF);
    if (warp == 0 && round % 2 == 0)
        weft_wait_warp(self, TAG_SELF, 1);
    else if (warp == 0)
        while (!weft_test_warp(self, TAG_SELF, 1))
            continue;
}

/* The rank and its first warp put into one word in turns: what was put last stays. The pair gets a
 * channel on the way, which the rank opens, and both go by. */
WEFT_DEVICE_FN void in_turns(weft_self *self, struct data *user, weft_win win, uint64_t round)
{
    const int to = at_distance(self, 0, false), from = at_distance(self, 0, true);
    const uint64_t me = (uint64_t)weft_rank(self, WEFT_COMM_WORLD), count = 2 * TURNS;
    uint64_t *const words = (uint64_t *)(void *)(test_mine(self, user->scratch, EACH) + AREAS);
    const uint64_t *const there = (const uint64_t *)(void *)test_mine(self, user->windows, EACH);

    test_will_write(words, count * sizeof(*words));
    weft_for (i, (int)count)
        words[i] = (round << 32 | me) * count + (uint64_t)i;
    weft_sync(self);
    for (uint64_t i = 0; i < count; i += 2) {
        weft_put_notify(self, win, to, 0, &words[i], sizeof(*words), TAG_TURNS);
        if (warp_of(self) == 0)
            weft_put_notify_warp(self, win, to, 0, &words[i + 1], sizeof(*words), TAG_TURNS);
    }
    weft_wait(self, TAG_TURNS, (uint32_t)count);
    test_will_read(there, sizeof(*there));
    CHECK_EQ(self, &user->check, *there, (round << 32 | (uint64_t)from) * count + count - 1);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Every thread takes tickets, each of which is another, and counts up by comparing. */
WEFT_DEVICE_FN void threads_count(weft_self *self, struct data *user, weft_win win)
{
    const uint64_t ticket = weft_fetch_add_thread(self, win, 0, COUNT, 1);
    uint64_t old = 0, was;

    CHECK(self, &user->check, ticket < MOST_TICKETS);
    if (ticket < MOST_TICKETS)
        CHECK_EQ(self, &user->check, weft_swap_thread(self, win, 0, TAKEN + 8 * ticket, 1), 0);
    while ((was = weft_compare_swap_thread(self, win, 0, COUNT2, old, old + 3)) != old)
        old = was;
}

WEFT_DEVICE_FN void check_counts(weft_self *self, struct data *user, weft_win win)
{
    const uint64_t all = weft_fetch_add(self, win, 0, COUNT, 0);

    CHECK_EQ(self, &user->check, all,
             weft_size(self, WEFT_COMM_WORLD) * (uint64_t)weft_threads(self));
    CHECK_EQ(self, &user->check, weft_fetch_add(self, win, 0, COUNT2, 0), 3 * all);
}

WEFT_KERNEL(warp_kernel, struct data, user)
{
    unsigned char *const window = test_mine(self, user->windows, EACH);

    weft_enter(self);
    test_clear(self, window, EACH);
    test_fill(self, window + STABLE, MOST, (uint64_t)weft_rank(self, WEFT_COMM_WORLD));
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, window, EACH);
    weft_barrier(self, WEFT_COMM_WORLD);
    weft_timer_start(self); /* a call that threads of a warp leave at unlike places */
    for (uint64_t round = 0; round < user->rounds; round++) {
        warps_exchange(self, user, win, round);
        warps_get(self, user, win, round);
        warps_share(self);
        one_waits(self, round);
        weft_barrier(self, WEFT_COMM_WORLD); /* all areas are free */
        one_for_another(self, user, win, round);
        weft_flush(self, win);
        weft_barrier(self, WEFT_COMM_WORLD);
        in_turns(self, user, win, round);
        weft_flush(self, win);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    threads_count(self, user, win);
    weft_barrier(self, WEFT_COMM_WORLD);
    check_counts(self, user, win);
    weft_barrier(self, WEFT_COMM_WORLD);
    weft_timer_stop(self);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};
    const int most = MOST_TICKETS / env->threads / env->numbers->processes;

    env->ranks = env->ranks < most ? env->ranks : most;
    if (!test_prepare(env, &warp_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < 2; i++) {
        const size_t bytes = (size_t)env->numbers->ranks_here * EACH;
        struct data data = {.rounds = env->brief ? 3 : 20};
        data.windows = test_memory(env, kinds[i], bytes);
        data.scratch = test_memory(env, TEST_MAPPED, bytes);
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
