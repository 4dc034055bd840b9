/*
 * tests/dart/dart_2014.c - the byte-count interface: groups and teams, memory, pointers that go on
 * in the next unit, puts and gets with handles, collectives.
 */
#include <dart.h>

#include "dart_test.h"

static dart_group_t *new_group(void)
{
    size_t size;
    dart_group_t *group;

    GOOD(dart_group_sizeof(&size));
    group = malloc(size);
    CHECK(group != NULL);
    GOOD(dart_group_init(group));
    return group;
}

static void groups(void)
{
    dart_group_t *a = new_group(), *b = new_group(), *c = new_group(), *parts[] = {b, c};
    dart_unit_t members[4];
    int32_t there;
    size_t size;

    GOOD(dart_group_addmember(a, 5));
    GOOD(dart_group_addmember(a, 2));
    GOOD(dart_group_addmember(b, 2));
    GOOD(dart_group_addmember(b, 33));
    GOOD(dart_group_union(a, b, c));
    GOOD(dart_group_size(c, &size));
    CHECK(size == 3);
    GOOD(dart_group_getmembers(c, members));
    CHECK(members[0] == 2 && members[1] == 5 && members[2] == 33);
    GOOD(dart_group_intersect(a, b, c));
    GOOD(dart_group_size(c, &size));
    CHECK(size == 1);
    GOOD(dart_group_copy(a, c));
    GOOD(dart_group_delmember(c, 5));
    GOOD(dart_group_ismember(c, 5, &there));
    CHECK(!there);
    GOOD(dart_group_ismember(a, 5, &there));
    CHECK(there);
    GOOD(dart_group_split(a, 2, parts));
    GOOD(dart_group_getmembers(c, members));
    CHECK(members[0] == 5);
    CODE(DART_ERR_NOMEM, dart_group_split(a, SIZE_MAX, parts));
    GOOD(dart_group_fini(a));
    free(a);
    free(b);
    free(c);
}

/* Odd and even units: teams of both, one after the other. */
static void teams(void)
{
    dart_group_t *const groups_of[] = {new_group(), new_group()}, *all = new_group();
    dart_team_t team = DART_TEAM_NULL, made;
    dart_unit_t me, global;
    size_t size;
    int value;

    GOOD(dart_team_get_group(DART_TEAM_ALL, all));
    GOOD(dart_group_size(all, &size));
    CHECK(size == (size_t)units);
    for (int i = 0; i < units; i++)
        GOOD(dart_group_addmember(groups_of[i % 2], i));
    for (int i = 0; i < 2 && i < units; i++) {
        GOOD(dart_team_create(DART_TEAM_ALL, groups_of[i], &made));
        if (made != DART_TEAM_NULL)
            team = made;
    }
    GOOD(dart_team_myid(team, &me));
    GOOD(dart_team_size(team, &size));
    CHECK(me == unit / 2 && size == (size_t)(units + 1 - unit % 2) / 2);
    GOOD(dart_team_unit_l2g(team, me, &global));
    CHECK(global == unit);
    GOOD(dart_team_unit_g2l(team, unit, &me));
    CHECK(me == unit / 2);
    value = me == (int)size - 1 ? 7 : 0;
    GOOD(dart_bcast(&value, sizeof(value), (dart_unit_t)size - 1, team));
    CHECK(value == 7);
    GOOD(dart_team_destroy(team));
    CODE(DART_ERR_NOTFOUND, dart_barrier(team));
    free(groups_of[0]);
    free(groups_of[1]);
    free(all);
}

static void local(void)
{
    dart_gptr_t mine, theirs;
    void *address;
    int value = 5 + unit, got, *own, numbers[2];

    GOOD(dart_memalloc(8 * sizeof(int), &mine));
    CHECK(mine.unitid == unit && mine.segid == 0);
    GOOD(dart_gptr_getaddr(mine, &address));
    own = address;
    GOOD(dart_put_blocking(mine, &value, sizeof(value)));
    theirs = mine;
    GOOD(dart_bcast(&theirs, sizeof(theirs), units - 1, DART_TEAM_ALL));
    GOOD(dart_barrier(DART_TEAM_ALL));
    GOOD(dart_get_blocking(&got, theirs, sizeof(got)));
    CHECK(got == 5 + units - 1);
    GOOD(dart_gptr_incaddr(&mine, 4));
    GOOD(dart_put_blocking(mine, &value, sizeof(value)));
    GOOD(dart_gptr_incaddr(&mine, -4));
    GOOD(dart_get_blocking(numbers, mine, sizeof(numbers)));
    CHECK(numbers[0] == value && numbers[1] == value && (on_gpu() || own[1] == value));
    GOOD(dart_barrier(DART_TEAM_ALL));
    GOOD(dart_memfree(mine));
    BAD(dart_memfree(mine));
    mine = DART_GPTR_NULL;
    CHECK(DART_GPTR_ISNULL(mine) && DART_GPTR_EQUAL(mine, DART_GPTR_NULL));
    GOOD(dart_memfree(mine));
    GOOD(dart_team_memfree(DART_TEAM_ALL, mine));
    BAD(dart_gptr_incaddr(&mine, 8));
    BAD(dart_put_blocking(mine, &mine, 1));
}

/* A field over all units of a team: every unit writes some of everybody's part. */
static void field(dart_team_t team, const int *global, int members, int me)
{
    enum { WORDS = 10 };
    dart_gptr_t first, g;
    dart_handle_t handles[64];
    int32_t finished = 0;
    int source[64], got[64], total = WORDS * members;
    void *address;

    GOOD(dart_team_memalloc_aligned(team, WORDS * sizeof(int), &first));
    CHECK(first.unitid == global[0] && first.addr_or_offs.offset == 0);
    for (int i = me, n = 0; i < total; i += members, n++) {
        g = first;
        GOOD(dart_gptr_incaddr(&g, i * (int)sizeof(int)));
        CHECK(g.unitid == global[i / WORDS]);
        CHECK(g.addr_or_offs.offset == (uint64_t)(i % WORDS) * sizeof(int));
        source[n] = 100 + i;
        GOOD(dart_put(g, &source[n], sizeof(int), &handles[n]));
    }
    BAD(dart_testall(NULL, 1, &finished));
    GOOD(dart_test(handles[0], &finished));
    GOOD(dart_waitall(handles, WORDS));
    GOOD(dart_barrier(team));
    for (int i = 0; i < total; i++) {
        g = first;
        GOOD(dart_gptr_incaddr(&g, i * (int)sizeof(int)));
        GOOD(dart_get(&got[i], g, sizeof(int), &handles[i]));
    }
    for (finished = 0; !finished;)
        GOOD(dart_testall(handles, (size_t)total, &finished));
    for (int i = 0; i < total; i++) {
        GOOD(dart_wait(handles[i]));
        CHECK(got[i] == 100 + i);
    }
    GOOD(dart_gptr_incaddr(&g, -(total - 1) * (int)sizeof(int)));
    CHECK(memcmp(&g, &first, sizeof(g)) == 0);
    BAD(dart_gptr_incaddr(&g, -1));
    BAD(dart_gptr_incaddr(&g, total * (int)sizeof(int)));
    GOOD(dart_gptr_setunit(&g, unit));
    GOOD(dart_gptr_getaddr(g, &address));
    CHECK(on_gpu() || ((int *)address)[3] == 100 + WORDS * me + 3);
    GOOD(dart_gptr_setaddr(&g, (int *)address + 2));
    CHECK(g.addr_or_offs.offset == 2 * sizeof(int));
    GOOD(dart_barrier(team));
    if (team != DART_TEAM_ALL)
        BAD(dart_team_memfree(DART_TEAM_ALL, g));
    GOOD(dart_team_memfree(team, g));
}

static void fields(void)
{
    dart_group_t *const group = new_group();
    int all[64], half[64], members = 0;
    dart_team_t team;

    for (int i = 0; i < units; i++)
        all[i] = i;
    field(DART_TEAM_ALL, all, units, unit);
    for (int i = unit % 2; i < units; i += 2) {
        half[members++] = i;
        GOOD(dart_group_addmember(group, i));
    }
    GOOD(dart_team_create(DART_TEAM_ALL, group, &team));
    field(team, half, members, unit / 2);
    GOOD(dart_team_destroy(team));
    free(group);
}

static void collectives(void)
{
    int source[64], target[64], value;

    for (int i = 0; i < units; i++)
        source[i] = 10 * unit + i;
    GOOD(dart_scatter(source, &value, sizeof(int), 0, DART_TEAM_ALL));
    CHECK(value == unit);
    GOOD(dart_gather(&unit, target, sizeof(int), 0, DART_TEAM_ALL));
    GOOD(dart_allgather(&value, target, sizeof(int), DART_TEAM_ALL));
    for (int i = 0; i < units; i++)
        CHECK(target[i] == i);
}

/* A pointer's bytes are those of the paper: unit, segment, flags, offset. */
static void layout(void)
{
    static const unsigned char recorded[16] = {0x78, 0x56, 0x34, 0x12, 0x22, 0x11, 0x44, 0x33,
                                               0xef, 0xcd, 0xab, 0x90, 0x78, 0x56, 0x34, 0x12};
    const dart_gptr_t g = {0x12345678, 0x1122, 0x3344, {0x1234567890abcdef}};

    CHECK(memcmp(&g, recorded, sizeof(recorded)) == 0);
}

static void run(void)
{
    layout();
    groups();
    teams();
    local();
    fields();
    collectives();
}
