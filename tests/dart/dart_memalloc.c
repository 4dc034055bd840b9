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
    GOOD(dart_team_memfree(first)); /* it ends in the next call, after which its number is free */
    GOOD(dart_team_memalloc_aligned(DART_TEAM_ALL, 0, DART_TYPE_INT, &again));
    GOOD(dart_team_memfree(again));
    GOOD(dart_team_memalloc_aligned(DART_TEAM_ALL, 0, DART_TYPE_INT, &again));
    CHECK(again.segid == number);
    BAD(dart_put_blocking(again, &value, 4, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_team_memfree(again));
    GOOD(dart_team_memfree(second));
    CODE(DART_ERR_NOMEM,
         dart_team_memalloc_aligned(DART_TEAM_ALL, (size_t)1 << 40, DART_TYPE_BYTE, &g));
}

/* Units that ask for other sizes get the largest: also the last one, which asks for none. */
static void unequal(void)
{
    const size_t mine = unit < units - 1 || units == 1 ? 8 * (size_t)unit + 1 : 0;
    const size_t largest = units > 1 ? 8 * ((size_t)units - 2) + 1 : 1;
    int value = 11 * unit;
    dart_gptr_t g;

    GOOD(dart_team_memalloc_aligned(DART_TEAM_ALL, mine, DART_TYPE_INT, &g));
    GOOD(dart_gptr_setunit(&g, DART_TEAM_UNIT_ID((unit + 1) % units)));
    GOOD(dart_gptr_incaddr(&g, (int64_t)((largest - 1) * sizeof(int))));
    GOOD(dart_put_blocking(g, &value, 1, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_barrier(DART_TEAM_ALL));
    GOOD(dart_gptr_setunit(&g, DART_TEAM_UNIT_ID(unit)));
    GOOD(dart_get_blocking(&value, g, 1, DART_TYPE_INT, DART_TYPE_INT));
    CHECK(value == 11 * ((unit + units - 1) % units));
    GOOD(dart_gptr_incaddr(&g, 2 * sizeof(int)));
    BAD(dart_put_blocking(g, &value, 1, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_gptr_incaddr(&g, -8));
    GOOD(dart_team_memfree(g));
}

/* What frees nothing. */
static void none(void)
{
    GOOD(dart_memfree(DART_GPTR_NULL));
    GOOD(dart_team_memfree(DART_GPTR_NULL));
    GOOD(dart_team_memderegister(DART_GPTR_NULL));
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
    CHECK(g.segid < 0); /* as DASH tells registered memory */
    dart_gptr_t other = g;
    other.segid = (int16_t)-g.segid;
    CODE(DART_ERR_NOTFOUND, dart_get_blocking(&value, other, 1, DART_TYPE_INT, DART_TYPE_INT));
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

/* Each unit deregisters on its own, in its own order; numbers come back when all have. */
static void deregistered(void)
{
    static int memory[8];
    dart_gptr_t a, b, c;
    dart_team_t team;

    GOOD(dart_team_memregister(DART_TEAM_ALL, 4, DART_TYPE_INT, memory, &a));
    GOOD(dart_team_memregister(DART_TEAM_ALL, 4, DART_TYPE_INT, memory + 4, &b));
    GOOD(dart_team_memderegister(unit == 0 ? a : b));
    if (unit == 0)
        CODE(DART_ERR_NOTFOUND, dart_team_memderegister(a));
    GOOD(dart_team_memregister(DART_TEAM_ALL, 4, DART_TYPE_INT, memory, &c));
    CHECK(units == 1 ? c.segid == a.segid : c.segid != a.segid && c.segid != b.segid);
    GOOD(dart_team_memderegister(unit == 0 ? b : a));
    GOOD(dart_team_memderegister(c));
    GOOD(dart_team_memregister_aligned(DART_TEAM_ALL, 4, DART_TYPE_INT, memory, &c));
    CHECK(c.segid == (a.segid > b.segid ? a.segid : b.segid));
    GOOD(dart_team_memderegister(c));

    GOOD(dart_team_clone(DART_TEAM_ALL, &team));
    GOOD(dart_team_memregister(team, 4, DART_TYPE_INT, memory, &c));
    if (unit == 0) /* the others know of it only there */
        GOOD(dart_team_memderegister(c));
    if (units > 1)
        BAD(dart_team_destroy(&team));
    if (unit != 0)
        GOOD(dart_team_memderegister(c));
    GOOD(dart_team_destroy(&team));
    /* Left to dart_exit, where unit 0 has nothing to free. */
    GOOD(dart_team_memregister(DART_TEAM_ALL, 4, DART_TYPE_INT, memory, &a));
    if (unit == 0)
        GOOD(dart_team_memderegister(a));
}

/* Pieces of each size fill a pool, and are aligned to the next power of two. */
static void pieces(void)
{
    static const struct {
        size_t bytes, pieces;
    } of[] = {{1, 512}, {8, 512}, {9, 256}, {24, 128}, {32, 128}, {64, 64}, {100, 32}, {4096, 1}};
    dart_gptr_t g, small, all[512];
    dart_allocator_t pool;

    CODE(DART_ERR_NOMEM, dart_allocator_new(SIZE_MAX, DART_TEAM_ALL, &pool));
    GOOD(dart_allocator_new(4096, DART_TEAM_ALL, &pool));
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        for (size_t p = 0; p < of[i].pieces; p++) {
            GOOD(dart_allocator_alloc(of[i].bytes, DART_TYPE_BYTE, &all[p], pool));
            CHECK(all[p].addr_or_offs.offset == p * (4096 / of[i].pieces));
        }
        CODE(DART_ERR_NOMEM, dart_allocator_alloc(of[i].bytes, DART_TYPE_BYTE, &g, pool));
        for (size_t p = 0; p < of[i].pieces; p++)
            GOOD(dart_allocator_free(&all[p], pool));
    }
    /* Between two small ones, and not over the second. */
    GOOD(dart_allocator_alloc(8, DART_TYPE_BYTE, &all[0], pool));
    GOOD(dart_allocator_alloc(8, DART_TYPE_BYTE, &small, pool));
    GOOD(dart_allocator_alloc(64, DART_TYPE_BYTE, &g, pool));
    CHECK(small.addr_or_offs.offset == 8 && g.addr_or_offs.offset == 64);
    GOOD(dart_allocator_alloc(32, DART_TYPE_BYTE, &g, pool));
    CHECK(g.addr_or_offs.offset == 32);
    CODE(DART_ERR_NOMEM, dart_allocator_alloc(4096 - 64, DART_TYPE_BYTE, &g, pool));
    GOOD(dart_allocator_destroy(&pool));
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
    unequal();
    none();
    GOOD(dart_allreduce(&gpu, &gpus, 1, DART_TYPE_INT, DART_OP_SUM, DART_TEAM_ALL));
    pieces();
    pools();
    if (gpus == 0) { /* a GPU does not reach this program's memory */
        registered();
        deregistered();
    }
}
