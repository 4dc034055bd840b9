/*
 * tests/dart/dart_stall.c - who waits in a call of DART, or is refused by one, is told by the
 * call's name. Unit 0 comes first to each call that waits for others; unit 1 follows when it has
 * read the name in the job's reports, which test_dart.sh has written to the file STALLS.
 */
#include <dash/dart/if/dart.h>

#include "dart_test.h"

#include <time.h>

/* Whether the reports name a call; they may be about to be written. */
static bool is_named(const char *call)
{
    char line[1000], name[100];
    bool found = false;
    FILE *const reports = fopen(getenv("STALLS"), "r");

    CHECK(reports != NULL);
    snprintf(name, sizeof(name), " s in %s", call);
    while (!found && fgets(line, sizeof(line), reports) != NULL) {
        const char *const at = strstr(line, name);
        found = at != NULL && strchr(": \n", at[strlen(name)]) != NULL;
    }
    fclose(reports);
    return found;
}

/* Unit 1 waits until the reports have named the call. */
static void follow(const char *call)
{
    const time_t begin = time(NULL);

    while (unit == 1 && !is_named(call)) {
        if (time(NULL) - begin > 100) {
            fprintf(stderr, "no report names %s\n", call);
            _exit(1);
        }
        usleep(5000);
    }
}

#define STALL(call, ...)                                                                           \
    do {                                                                                           \
        follow(#call);                                                                             \
        GOOD(call(__VA_ARGS__));                                                                   \
    } while (0)

static int value, all[4];
static int far; /* a unit is on a GPU: it asks for locks again and again, and no report names it */

static void collectives(dart_team_t team)
{
    const dart_team_unit_t zero = DART_TEAM_UNIT_ID(0), one = DART_TEAM_UNIT_ID(1);
    const size_t sizes[] = {1, 1}, places[] = {0, 1};

    STALL(dart_barrier, team);
    STALL(dart_bcast, &value, 1, DART_TYPE_INT, one, team);
    STALL(dart_gather, &value, all, 1, DART_TYPE_INT, zero, team);
    STALL(dart_scatter, all, &value, 1, DART_TYPE_INT, one, team);
    STALL(dart_allgather, &value, all, 1, DART_TYPE_INT, team);
    STALL(dart_allgatherv, &value, 1, DART_TYPE_INT, all, sizes, places, team);
    STALL(dart_alltoall, all, all + 2, 1, DART_TYPE_INT, team);
    STALL(dart_allreduce, &value, all, 1, DART_TYPE_INT, DART_OP_SUM, team);
    STALL(dart_reduce, &value, all, 1, DART_TYPE_INT, DART_OP_SUM, zero, team);
}

static void memory(dart_team_t team)
{
    dart_allocator_t pool;
    dart_gptr_t g;

    STALL(dart_team_memalloc_aligned, team, 1, DART_TYPE_INT, &g);
    GOOD(dart_team_memfree(g)); /* local, as are the other frees */
    if (!far) {
        STALL(dart_team_memregister, team, 1, DART_TYPE_INT, &value, &g);
        GOOD(dart_team_memderegister(g));
        STALL(dart_team_memregister_aligned, team, 1, DART_TYPE_INT, &value, &g);
        GOOD(dart_team_memderegister(g));
    }
    STALL(dart_allocator_new, 100, team, &pool);
    GOOD(dart_allocator_destroy(&pool));
}

static void messages(void)
{
    const dart_global_unit_t other = DART_GLOBAL_UNIT_ID(!unit);
    static char large[1 << 24];

    follow("dart_recv");
    if (unit == 0)
        GOOD(dart_recv(&value, 1, DART_TYPE_INT, 7, other));
    else
        GOOD(dart_send(&value, 1, DART_TYPE_INT, 7, other));
    follow("dart_send");
    if (unit == 0)
        GOOD(dart_send(large, sizeof(large), DART_TYPE_BYTE, 7, other));
    else
        GOOD(dart_recv(large, sizeof(large), DART_TYPE_BYTE, 7, other));
    STALL(dart_sendrecv, &value, 1, DART_TYPE_INT, 7, other, all, 1, DART_TYPE_INT, 7, other);
}

static void locks(dart_team_t team)
{
    dart_lock_t lock;

    STALL(dart_team_lock_init, team, &lock);
    if (unit == 1)
        GOOD(dart_lock_acquire(lock));
    GOOD(dart_barrier(team));
    if (!far)
        follow("dart_lock_acquire");
    if (unit == 0)
        GOOD(dart_lock_acquire(lock));
    GOOD(dart_lock_release(lock));
    GOOD(dart_team_lock_destroy(&lock));
}

static void teams(void)
{
    dart_group_t group;
    dart_team_t team, copy;

    GOOD(dart_team_get_group(DART_TEAM_ALL, &group));
    STALL(dart_team_create, DART_TEAM_ALL, group, &team);
    STALL(dart_team_clone, team, &copy);
    STALL(dart_team_destroy, &copy);
    memory(team);
    GOOD(dart_team_destroy(&team));
    GOOD(dart_group_destroy(&group));
}

/* This unit's next line says that the call was refused, and what for. */
static bool is_refused(const char *call, const char *why)
{
    char line[1000], text[200];
    bool found = false;
    FILE *const lines = fopen(getenv("STALLS"), "r");

    CHECK(lines != NULL);
    snprintf(text, sizeof(text), "dart: [unit %d] DART_ERR_INVAL: %s: %s\n", unit, call, why);
    while (!found && fgets(line, sizeof(line), lines) != NULL)
        found = strcmp(line, text) == 0;
    fclose(lines);
    return found;
}

#define REFUSED(why, call, ...)                                                                    \
    do {                                                                                           \
        CHECK(call(__VA_ARGS__) == DART_ERR_INVAL);                                                \
        CHECK(is_refused(#call, why));                                                             \
    } while (0)

static void refusals(void)
{
    dart_group_t group, made;
    dart_handle_t handle;
    size_t size;

    GOOD(dart_group_create(&group));
    REFUSED("size is NULL", dart_group_size, group, NULL);
    REFUSED("group is NULL", dart_group_size, NULL, &size);
    REFUSED("count_made is NULL", dart_group_split, group, 1, NULL, &made);
    REFUSED("b is NULL", dart_group_union, group, NULL, &made);
    REFUSED("gptr is NULL", dart_team_memalloc_aligned, DART_TEAM_ALL, 1, DART_TYPE_INT, NULL);
    REFUSED("the pointer is DART_GPTR_NULL", dart_get_handle, &value, DART_GPTR_NULL, 1,
            DART_TYPE_INT, DART_TYPE_INT, &handle);
    REFUSED("root 9 of 2", dart_bcast, &value, 1, DART_TYPE_INT, DART_TEAM_UNIT_ID(9),
            DART_TEAM_ALL);
    GOOD(dart_group_destroy(&group));
}

static void run(void)
{
    const int mine = on_gpu();

    CHECK(units == 2);
    GOOD(dart_allreduce(&mine, &far, 1, DART_TYPE_INT, DART_OP_MAX, DART_TEAM_ALL));
    refusals();
    collectives(DART_TEAM_ALL);
    messages();
    locks(DART_TEAM_ALL);
    teams();
    GOOD(dart_barrier(DART_TEAM_ALL));
    follow("dart_exit");
    GOOD(dart_exit());
    GOOD(dart_init(NULL, NULL));
}
