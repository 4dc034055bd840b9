/*
 * No wake-up is lost: partners pass a ball to and fro, sleeping without a useful timeout whenever
 * it is not theirs. Between threads, and between processes that map the bells at two addresses.
 * A lost wake-up shows as a sleep that lasted its whole timeout.
 */
#include "base/task.h"
#include "order/atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLAYERS = 3, PASSES = 20000, COLLISIONS = 100000 };
#define TIMEOUT_NS (UINT64_C(60) * 1000000000)

struct game {
    struct weft_bell bell[PLAYERS];
    uint32_t turn; /* whose: turn % PLAYERS */
    uint32_t lost; /* sleeps that nobody ended */
    char pad[4096];
};

struct player {
    struct game *game;
    uint32_t me;
};

static bool mine(struct player *p, uint32_t *turn)
{
    *turn = weft_load_acquire_u32(&p->game->turn, ORDER_ring_poll);
    return *turn % PLAYERS == p->me || *turn >= PASSES;
}

static void await(struct player *p, uint32_t *turn)
{
    struct weft_bell *bell = &p->game->bell[p->me];

    while (!mine(p, turn)) {
        const uint32_t ticket = weft_bell_prepare(bell);
        if (mine(p, turn)) {
            weft_bell_cancel(bell);
            return;
        }
        const uint64_t start = weft_now_ns();
        weft_bell_sleep(bell, ticket, TIMEOUT_NS);
        if (weft_now_ns() - start >= TIMEOUT_NS)
            weft_add_relaxed_u32(&p->game->lost, 1);
    }
}

static void play(void *argument)
{
    struct player *p = argument;
    uint32_t turn;

    for (await(p, &turn); turn < PASSES; await(p, &turn)) {
        weft_store_release_u32(&p->game->turn, turn + 1, ORDER_ring_publish);
        weft_bell_ring(&p->game->bell[(turn + 1) % PLAYERS]);
        if (turn + 1 == PASSES) /* nobody may be left asleep */
            for (int i = 0; i < PLAYERS; i++)
                weft_bell_ring(&p->game->bell[i]);
    }
}

static void finish(struct game *game)
{
    assert_int_equal(game->turn, PASSES);
    assert_int_equal(game->lost, 0);
    for (int i = 0; i < PLAYERS; i++)
        assert_int_equal(game->bell[i].sleepers, 0);
}

static void between_threads(void **state)
{
    static struct game game;
    struct player players[PLAYERS];
    struct weft_task tasks[PLAYERS];
    (void)state;

    for (uint32_t i = 0; i < PLAYERS; i++) {
        players[i] = (struct player){&game, i};
        assert_int_equal(weft_task_start(&tasks[i], "player", play, &players[i]), WEFT_OK);
    }
    for (int i = 0; i < PLAYERS; i++)
        weft_task_join(&tasks[i]);
    finish(&game);
}

static struct game *map_game(int fd)
{
    void *memory = mmap(NULL, sizeof(struct game), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void between_processes(void **state)
{
    const int fd = memfd_create("game", MFD_CLOEXEC);
    pid_t child[PLAYERS];
    struct game *game;
    (void)state;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(struct game)), 0);
    game = map_game(fd);
    assert_non_null(game);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) {
            struct player player = {map_game(fd), i};
            if (player.game == NULL)
                _exit(1);
            play(&player);
            _exit(0);
        }
    }
    for (int i = 0; i < PLAYERS; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    finish(game);
    munmap(game, sizeof(*game));
    close(fd);
}

/* Several ringers, one sleeper: what each of them added is seen without waiting for a timeout. */
static struct weft_bell common;
static uint32_t added;

static void add_and_ring(void *argument)
{
    (void)argument;
    for (int i = 0; i < PASSES; i++) {
        weft_add_relaxed_u32(&added, 1);
        weft_bell_ring(&common);
    }
}

static void many_ringers(void **state)
{
    struct weft_task tasks[PLAYERS];
    (void)state;

    for (int i = 0; i < PLAYERS; i++)
        assert_int_equal(weft_task_start(&tasks[i], "ringer", add_and_ring, NULL), WEFT_OK);
    for (;;) {
        const uint32_t ticket = weft_bell_prepare(&common);
        if (weft_load_relaxed_u32(&added) == (uint32_t)PLAYERS * PASSES) {
            weft_bell_cancel(&common);
            break;
        }
        const uint64_t start = weft_now_ns();
        weft_bell_sleep(&common, ticket, TIMEOUT_NS);
        assert_true(weft_now_ns() - start < TIMEOUT_NS);
    }
    for (int i = 0; i < PLAYERS; i++)
        weft_task_join(&tasks[i]);
    assert_int_equal(common.sleepers, 0);
}

/*
 * The narrow place: the change and the look at the same moment, again and again with other delays.
 * Without the bell's fences each side can miss the other here.
 */
static struct {
    struct weft_bell bell __attribute__((aligned(128)));
    uint32_t round __attribute__((aligned(128)));
    uint32_t seen __attribute__((aligned(128)));
} narrow;

static void delay(uint32_t *random)
{
    *random = *random * 1664525 + 1013904223;
    for (volatile uint32_t i = *random >> 26; i > 0; i--)
        ;
}

static void ring_rounds(void *argument)
{
    uint32_t random = 1;
    (void)argument;
    for (uint32_t i = 1; i <= COLLISIONS; i++) {
        for (uint32_t spins = 1; weft_load_relaxed_u32(&narrow.seen) != i - 1; spins++)
            if (spins % 1024 == 0)
                weft_task_yield(true);
        delay(&random);
        weft_store_relaxed_u32(&narrow.round, i);
        weft_bell_ring(&narrow.bell);
    }
}

static void change_and_look_collide(void **state)
{
    struct weft_task ringer;
    uint32_t random = 2, lost = 0;
    (void)state;

    assert_int_equal(weft_task_start(&ringer, "ringer", ring_rounds, NULL), WEFT_OK);
    for (uint32_t i = 1; i <= COLLISIONS; i++) {
        delay(&random);
        for (;;) {
            const uint32_t ticket = weft_bell_prepare(&narrow.bell);
            if (weft_load_relaxed_u32(&narrow.round) == i) {
                weft_bell_cancel(&narrow.bell);
                break;
            }
            const uint64_t start = weft_now_ns();
            weft_bell_sleep(&narrow.bell, ticket, lost == 0 ? TIMEOUT_NS : 0);
            lost += lost == 0 && weft_now_ns() - start >= TIMEOUT_NS;
        }
        weft_store_relaxed_u32(&narrow.seen, i);
    }
    weft_task_join(&ringer);
    assert_int_equal(lost, 0);
    assert_int_equal(narrow.bell.sleepers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_threads),
        cmocka_unit_test(between_processes),
        cmocka_unit_test(many_ringers),
        cmocka_unit_test(change_and_look_collide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
