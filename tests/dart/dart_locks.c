/*
 * tests/dart/dart_locks.c - locks: units, and threads of units, add to one number by a get and a
 * put; a lock that is held is not given by a try; two at once; of a team.
 */
#include <dash/dart/if/dart.h>

#include "dart_test.h"

#include <pthread.h>

enum { ROUNDS = 50 };

static dart_lock_t lock;
static dart_gptr_t number;

static void add(void)
{
    int32_t had, value;

    GOOD(dart_lock_try_acquire(lock, &had));
    if (!had)
        GOOD(dart_lock_acquire(lock));
    GOOD(dart_lock_try_acquire(lock, &had));
    CHECK(!had);
    GOOD(dart_get_blocking(&value, number, 1, DART_TYPE_INT, DART_TYPE_INT));
    value++;
    GOOD(dart_put(number, &value, 1, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_lock_release(lock)); /* flushes */
}

static void *add_often(void *nothing)
{
    for (int i = 0; i < ROUNDS; i++)
        add();
    return nothing;
}

/* Which unit has the number? The last one of the team. */
static void contend(dart_team_t team, int members, bool threads)
{
    pthread_t thread;
    int32_t value = 0;

    GOOD(dart_team_lock_init(team, &lock));
    CHECK(dart_lock_initialized(lock) && !dart_lock_initialized(DART_LOCK_NULL));
    GOOD(dart_team_memalloc_aligned(team, 1, DART_TYPE_INT, &number));
    GOOD(dart_gptr_setunit(&number, DART_TEAM_UNIT_ID(members - 1)));
    GOOD(dart_put_blocking(number, &value, 1, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_barrier(team));
    if (threads)
        CHECK(pthread_create(&thread, NULL, add_often, NULL) == 0);
    add_often(NULL);
    if (threads)
        CHECK(pthread_join(thread, NULL) == 0);
    GOOD(dart_barrier(team));
    GOOD(dart_get_blocking(&value, number, 1, DART_TYPE_INT, DART_TYPE_INT));
    CHECK(value == ROUNDS * members * (threads ? 2 : 1));
    BAD(dart_lock_release(lock));
    GOOD(dart_lock_acquire(lock));
    BAD(dart_lock_acquire(lock));
    BAD(dart_team_lock_destroy(&lock)); /* it is held */
    GOOD(dart_lock_release(lock));
    GOOD(dart_barrier(team));
    GOOD(dart_team_memfree(number));
    GOOD(dart_team_lock_destroy(&lock));
    CHECK(lock == DART_LOCK_NULL);
}

/* One within the other. */
static void nested(void)
{
    dart_lock_t outer, inner;

    GOOD(dart_team_lock_init(DART_TEAM_ALL, &outer));
    GOOD(dart_team_lock_init(DART_TEAM_ALL, &inner));
    for (int i = 0; i < 10; i++) {
        GOOD(dart_lock_acquire(outer));
        GOOD(dart_lock_acquire(inner));
        GOOD(dart_lock_release(inner));
        GOOD(dart_lock_release(outer));
    }
    GOOD(dart_barrier(DART_TEAM_ALL));
    GOOD(dart_team_lock_destroy(&inner));
    GOOD(dart_team_lock_destroy(&outer));
}

/* The same again, with two threads a unit. */
static void with_threads(void)
{
    dart_thread_support_level_t level;
    char *more[] = {"program", NULL, "--weft-NONE", NULL}, **argv = more;
    int argc = 3; /* more than argv holds */

    GOOD(dart_barrier(DART_TEAM_ALL));
    GOOD(dart_exit());
    CHECK(!dart_initialized());
    CODE(DART_ERR_NOTINIT, dart_barrier(DART_TEAM_ALL));
    GOOD(dart_init_thread(&argc, &argv, &level));
    CHECK(argc == 1 && argv[1] == NULL);
    CHECK(level == DART_THREAD_MULTIPLE && dart_initialized());
    contend(DART_TEAM_ALL, units, true);
}

static void run(void)
{
    dart_group_t half;
    dart_team_t team;

    contend(DART_TEAM_ALL, units, false);
    nested();
    GOOD(dart_group_create(&half));
    for (int i = unit % 2; i < units; i += 2)
        GOOD(dart_group_addmember(half, DART_GLOBAL_UNIT_ID(i)));
    GOOD(dart_team_create(DART_TEAM_ALL, half, &team));
    contend(team, (units + 1 - unit % 2) / 2, false);
    GOOD(dart_team_destroy(&team));
    GOOD(dart_group_destroy(&half));
    with_threads();
}
