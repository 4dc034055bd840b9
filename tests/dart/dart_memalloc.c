/*
 * tests/dart/dart_memalloc.c - global memory: of one unit, of a team, of the program, of a pool;
 * pointers, their addresses and flags.
 */
#include <dash/dart/if/dart.h>

#include "dart_test.h"

/* A unit's own memory, which the next unit learns of and writes to. */
static void local(void)
{
    const dart_team_unit_t root = DART_TEAM_UNIT_ID(units - 1);
    dart_gptr_t mine, theirs;
    void *address;
    uint16_t flags = 0;
    int value = 100 + unit, numbers[64], *own;

    GOOD(dart_memalloc((size_t)units, DART_TYPE_INT, &mine));
    CHECK(mine.segid == DART_SEGMENT_LOCAL && mine.unitid == unit && !DART_GPTR_ISNULL(mine));
    theirs = mine;
    GOOD(dart_bcast(&theirs, sizeof(theirs), DART_TYPE_BYTE, root, DART_TEAM_ALL));
    CHECK(theirs.unitid == root.id);
    GOOD(dart_gptr_getaddr(theirs, &address));
    CHECK((address != NULL) == (unit == root.id));
    GOOD(dart_gptr_incaddr(&theirs, unit * (int)sizeof(int)));
    GOOD(dart_put_blocking(theirs, &value, 1, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_barrier(DART_TEAM_ALL));
    GOOD(dart_gptr_getaddr(mine, &address));
    own = address;
    GOOD(dart_get_blocking(numbers, mine, (size_t)units, DART_TYPE_INT, DART_TYPE_INT));
    for (int i = 0; i < units && unit == root.id; i++)
        CHECK(numbers[i] == 100 + i && (on_gpu() || own[i] == 100 + i));
    GOOD(dart_gptr_setflags(&mine, 0x1234));
    CHECK(mine.flags == 0x34);
    GOOD(dart_gptr_getflags(mine, &flags));
    CHECK(flags == 0x1234);
    GOOD(dart_barrier(DART_TEAM_ALL));
    theirs = mine;
    GOOD(dart_gptr_setaddr(&theirs, own + 1));
    CHECK(theirs.addr_or_offs.offset == mine.addr_or_offs.offset + sizeof(int));
    if (units > 1) {
        GOOD(dart_gptr_setunit(&theirs, DART_TEAM_UNIT_ID((unit + 1) % units)));
        BAD(dart_gptr_setaddr(&theirs, own));
        BAD(dart_memfree(theirs));
    }
    GOOD(dart_memfree(mine));
    BAD(dart_memfree(mine));
    CODE(DART_ERR_NOMEM, dart_memalloc((size_t)1 << 40, DART_TYPE_BYTE, &mine));
}

/* A segment's number is that of all its units, and is given again. */
static void aligned(void)
{
    dart_gptr_t first, second, again, g;
    void *address;
    int value = unit;
    int16_t number;

    GOOD(dart_team_memalloc_aligned(DART_TEAM_ALL, 100, DART_TYPE_INT, &first));
    GOOD(dart_team_memalloc_aligned(DART_TEAM_ALL, 1000, DART_TYPE_DOUBLE, &second));
    CHECK(first.segid != second.segid && first.unitid == 0 && first.addr_or_offs.offset == 0);
    number = first.segid;
    GOOD(dart_bcast(&number, 1, DART_TYPE_SHORT, DART_TEAM_UNIT_ID(0), DART_TEAM_ALL));
    CHECK(number == first.segid);
    g = first;
    GOOD(dart_gptr_setunit(&g, DART_TEAM_UNIT_ID((unit + 1) % units)));
    GOOD(dart_put_blocking(g, &value, 1, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_barrier(DART_TEAM_ALL));
    GOOD(dart_gptr_setunit(&g, DART_TEAM_UNIT_ID(unit)));
    GOOD(dart_gptr_getaddr(g, &address));
    CHECK(address != NULL);
    GOOD(dart_get_blocking(&value, g, 1, DART_TYPE_INT, DART_TYPE_INT));
    CHECK(value == (unit + units - 1) % units);
    CHECK(on_gpu() || value == *(int *)address);
    CHECK(DART_GPTR_EQUAL(first, first) && !DART_GPTR_EQUAL(first, second));
    GOOD(dart_barrier(DART_TEAM_ALL));
    BAD(dart_team_memderegister(first));
    GOOD(dart_team_memfree(first));
    GOOD(dart_team_memalloc_aligned(DART_TEAM_ALL, 0, DART_TYPE_INT, &again));
    CHECK(again.segid == number);
    BAD(dart_put_blocking(again, &value, 4, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_team_memfree(again));
    GOOD(dart_team_memfree(second));
    CODE(DART_ERR_NOMEM,
         dart_team_memalloc_aligned(DART_TEAM_ALL, (size_t)1 << 40, DART_TYPE_BYTE, &g));
}

/* Memory that the program has, as much at each unit and not. */
static void registered(void)
{
    static int memory[1000];
    const size_t elements = 10 + (size_t)unit;
    const int next = (unit + 1) % units;
    int value = 7 * unit + 1;
    dart_gptr_t g;
    void *address;

    memset(memory, 0, sizeof(memory));
    GOOD(dart_team_memregister_aligned(DART_TEAM_ALL, 1000, DART_TYPE_INT, memory, &g));
    GOOD(dart_gptr_setunit(&g, DART_TEAM_UNIT_ID(next)));
    GOOD(dart_gptr_incaddr(&g, 5 * (int)sizeof(int)));
    GOOD(dart_put_blocking(g, &value, 1, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_barrier(DART_TEAM_ALL));
    CHECK(memory[5] == 7 * ((unit + units - 1) % units) + 1);
    BAD(dart_team_memfree(g));
    GOOD(dart_team_memderegister(g));

    GOOD(dart_team_memregister(DART_TEAM_ALL, elements, DART_TYPE_INT, memory + 100, &g));
    GOOD(dart_gptr_setunit(&g, DART_TEAM_UNIT_ID(unit)));
    GOOD(dart_gptr_getaddr(g, &address));
    CHECK(address == memory + 100);
    GOOD(dart_gptr_setunit(&g, DART_TEAM_UNIT_ID(next)));
    GOOD(dart_gptr_incaddr(&g, (9 + next) * (int)sizeof(int)));
    GOOD(dart_put_blocking(g, &value, 1, DART_TYPE_INT, DART_TYPE_INT));
    BAD(dart_put_blocking(g, &memory[200], 2, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_barrier(DART_TEAM_ALL));
    CHECK(memory[100 + elements - 1] == 7 * ((unit + units - 1) % units) + 1);
    GOOD(dart_team_memderegister(g));
}

static void pools(void)
{
    dart_allocator_t pool;
    dart_gptr_t g, all[16], none = DART_GPTR_NULL;
    int value = unit, got;

    GOOD(dart_allocator_new(1024, DART_TEAM_ALL, &pool));
    if (unit == 0)
        GOOD(dart_allocator_alloc((size_t)units, DART_TYPE_INT, &g, pool));
    GOOD(dart_bcast(&g, sizeof(g), DART_TYPE_BYTE, DART_TEAM_UNIT_ID(0), DART_TEAM_ALL));
    GOOD(dart_gptr_incaddr(&g, unit * (int)sizeof(int)));
    GOOD(dart_put_blocking(g, &value, 1, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_get_blocking(&got, g, 1, DART_TYPE_INT, DART_TYPE_INT));
    CHECK(got == unit);
    GOOD(dart_barrier(DART_TEAM_ALL));
    if (unit == 0)
        GOOD(dart_allocator_free(&g, pool));
    for (int i = 0; i < 16; i++)
        GOOD(dart_allocator_alloc(64, DART_TYPE_BYTE, &all[i], pool));
    CODE(DART_ERR_NOMEM, dart_allocator_alloc(1, DART_TYPE_BYTE, &g, pool));
    CHECK(DART_GPTR_ISNULL(g));
    for (int i = 4; i < 8; i++)
        GOOD(dart_allocator_free(&all[i], pool));
    CHECK(DART_GPTR_EQUAL(all[4], none));
    GOOD(dart_allocator_alloc(256, DART_TYPE_BYTE, &g, pool));
    CHECK(g.addr_or_offs.offset == 256);
    BAD(dart_allocator_free(&all[4], pool));
    GOOD(dart_allocator_destroy(&pool));
    CHECK(pool == NULL);
}

/* A pointer's bytes are those that DART's sources give it. */
static void layout(void)
{
    static const unsigned char recorded[16] = {0x56, 0x34, 0x12, 0x78, 0x22, 0x11, 0x44, 0x33,
                                               0xef, 0xcd, 0xab, 0x90, 0x78, 0x56, 0x34, 0x12};
    dart_gptr_t g = DART_GPTR_NULL;

    CHECK(sizeof(g) == 16 && g.unitid == -1 && g.teamid == DART_TEAM_NULL);
    g.unitid = 0x123456;
    g.flags = 0x78;
    g.segid = 0x1122;
    g.teamid = 0x3344;
    g.addr_or_offs.offset = 0x1234567890abcdef;
    CHECK(memcmp(&g, recorded, sizeof(g)) == 0);
}

static void run(void)
{
    int gpu = on_gpu(), gpus;

    layout();
    local();
    aligned();
    GOOD(dart_allreduce(&gpu, &gpus, 1, DART_TYPE_INT, DART_OP_SUM, DART_TEAM_ALL));
    if (gpus == 0) /* a GPU does not reach this program's memory */
        registered();
    pools();
}
