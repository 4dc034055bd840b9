/*
 * tests/dart/dart_collectives.c - collectives of all units and of halves of them; every operation
 * on every type; operations of the program; messages.
 */
#include <dash/dart/if/dart.h>

#include "dart_test.h"

/* Collectives of a team of so many, as member `me`. */
static void moves(dart_team_t team, int me, int members)
{
    enum { MOST = 64 };
    const dart_team_unit_t root = DART_TEAM_UNIT_ID(members - 1);
    int source[MOST], target[MOST], value = me == root.id ? 42 : 0;
    size_t numbers[MOST], places[MOST], at = 0;

    GOOD(dart_bcast(&value, 1, DART_TYPE_INT, root, team));
    CHECK(value == 42);
    for (int i = 0; i < members; i++)
        source[i] = 100 * me + i;
    memset(target, 0, sizeof(target));
    GOOD(dart_scatter(source, &value, 1, DART_TYPE_INT, root, team));
    CHECK(value == 100 * root.id + me);
    GOOD(dart_gather(&me, target, 1, DART_TYPE_INT, root, team));
    for (int i = 0; i < members; i++)
        CHECK(target[i] == (me == root.id ? i : 0));
    GOOD(dart_gather(me == root.id ? NULL : &me, target, 1, DART_TYPE_INT, root, team));
    CHECK(target[root.id] == (me == root.id ? me : 0));
    GOOD(dart_allgather(&me, target, 1, DART_TYPE_INT, team));
    for (int i = 0; i < members; i++)
        CHECK(target[i] == i);
    GOOD(dart_alltoall(source, target, 1, DART_TYPE_INT, team));
    for (int i = 0; i < members; i++)
        CHECK(target[i] == 100 * i + me);
    for (int i = 0; i < members; i++) { /* i elements of unit i, with one free between */
        numbers[i] = (size_t)i;
        places[i] = at;
        at += (size_t)i + 1;
    }
    memset(target, 0, sizeof(target));
    GOOD(dart_allgatherv(source, (size_t)me, DART_TYPE_INT, target, numbers, places, team));
    for (int i = 0; i < members; i++) {
        for (int k = 0; k < i; k++)
            CHECK(target[places[i] + (size_t)k] == 100 * i + k);
        CHECK(target[places[i] + numbers[i]] == 0);
    }
    GOOD(dart_allreduce(&me, &value, 1, DART_TYPE_INT, DART_OP_SUM, team));
    CHECK(value == members * (members - 1) / 2);
    value = -1;
    GOOD(dart_reduce(&me, &value, 1, DART_TYPE_INT, DART_OP_MAX, root, team));
    CHECK(value == (me == root.id ? members - 1 : -1));
    GOOD(dart_barrier(team));
    BAD(dart_bcast(&value, 1, DART_TYPE_INT, DART_TEAM_UNIT_ID(members), team));
}

/* What n members that bring 1 to n make of it. */
#define REDUCES_TO(op, wanted)                                                                     \
    do {                                                                                           \
        GOOD(dart_allreduce(&mine, &result, 1, type_of, op, DART_TEAM_ALL));                       \
        CHECK(result == (wanted));                                                                 \
    } while (0)
#define NUMBERS(name, type)                                                                        \
    do {                                                                                           \
        const dart_datatype_t type_of = name;                                                      \
        type mine = (type)(unit + 1), result, pair[2] = {(type)(unit + 1), (type)(unit + 2)};      \
        type both[2];                                                                              \
        REDUCES_TO(DART_OP_SUM, (type)(units * (units + 1) / 2));                                  \
        REDUCES_TO(DART_OP_MIN, 1);                                                                \
        REDUCES_TO(DART_OP_MAX, (type)units);                                                      \
        mine = 2;                                                                                  \
        REDUCES_TO(DART_OP_PROD, (type)(1 << units));                                              \
        GOOD(dart_allreduce(pair, both, 2, type_of, DART_OP_MINMAX, DART_TEAM_ALL));               \
        CHECK(both[DART_OP_MINMAX_MIN] == 1 && both[DART_OP_MINMAX_MAX] == (type)(units + 1));     \
    } while (0)
#define INTEGERS(name, type)                                                                       \
    NUMBERS(name, type);                                                                           \
    do {                                                                                           \
        const dart_datatype_t type_of = name;                                                      \
        type mine = (type)(8 | unit), result;                                                      \
        REDUCES_TO(DART_OP_BAND, 8);                                                               \
        mine = (type)(1 << unit);                                                                  \
        REDUCES_TO(DART_OP_BOR, (type)((1 << units) - 1));                                         \
        REDUCES_TO(DART_OP_BXOR, (type)((1 << units) - 1));                                        \
        REDUCES_TO(DART_OP_LAND, 1);                                                               \
        mine = unit == 0;                                                                          \
        REDUCES_TO(DART_OP_LOR, 1);                                                                \
        REDUCES_TO(DART_OP_LXOR, 1);                                                               \
    } while (0)

static void reductions(void)
{
    float real[3] = {1, 2, 3};
    int two[2] = {1, 2};
    dart_datatype_t strided;

    INTEGERS(DART_TYPE_BYTE, char);
    INTEGERS(DART_TYPE_SHORT, short);
    INTEGERS(DART_TYPE_INT, int);
    INTEGERS(DART_TYPE_UINT, unsigned);
    INTEGERS(DART_TYPE_LONG, long);
    INTEGERS(DART_TYPE_ULONG, unsigned long);
    INTEGERS(DART_TYPE_LONGLONG, long long);
    INTEGERS(DART_TYPE_ULONGLONG, unsigned long long);
    NUMBERS(DART_TYPE_FLOAT, float);
    NUMBERS(DART_TYPE_DOUBLE, double);
    NUMBERS(DART_TYPE_LONG_DOUBLE, long double);
    BAD(dart_allreduce(real, real, 1, DART_TYPE_FLOAT, DART_OP_BAND, DART_TEAM_ALL));
    BAD(dart_allreduce(real, real, 3, DART_TYPE_FLOAT, DART_OP_MINMAX, DART_TEAM_ALL));
    BAD(dart_allreduce(two, two, 1, DART_TYPE_INT, DART_OP_UNDEFINED, DART_TEAM_ALL));
    GOOD(dart_type_create_strided(DART_TYPE_INT, 2, 1, &strided));
    BAD(dart_bcast(two, 1, strided, DART_TEAM_UNIT_ID(0), DART_TEAM_ALL));
    GOOD(dart_type_destroy(&strided));
}

/* The greatest value, and who has it; of the greatest below a limit. */
struct value_at {
    int value, unit;
};

static void greatest(const void *in, void *inout, size_t len, void *user_data)
{
    const struct value_at *a = in;
    struct value_at *b = inout;
    const int limit = *(int *)user_data;

    for (size_t i = 0; i < len; i++)
        if ((a[i].value > b[i].value && a[i].value < limit) || b[i].value >= limit)
            b[i] = a[i];
}

/* x -> first * x + second, applied one after the other: the order of units matters. */
static void compose(const void *in, void *inout, size_t len, void *user_data)
{
    const unsigned *a = in;
    unsigned *b = inout;

    (void)user_data;
    for (size_t i = 0; i < 2 * len; i += 2) {
        b[i + 1] = b[i] * a[i + 1] + b[i + 1];
        b[i] *= a[i];
    }
}

static void own_operations(void)
{
    struct value_at mine = {10 * unit, unit}, got;
    unsigned map[2] = {2 * (unsigned)unit + 3, (unsigned)unit + 1}, all[2], want[2] = {1, 0};
    int limit = 10 * units - 5;
    dart_datatype_t type;
    dart_operation_t op = DART_OP_SUM;

    GOOD(dart_type_create_custom(sizeof(mine), &type));
    BAD(dart_op_destroy(&op));
    GOOD(dart_op_create(greatest, &limit, true, type, false, &op));
    GOOD(dart_allreduce(&mine, &got, 1, type, op, DART_TEAM_ALL));
    CHECK(got.unit == units - 1 && got.value == 10 * got.unit);
    BAD(dart_accumulate(DART_GPTR_NULL, &mine, 1, type, op));
    BAD(dart_allreduce(&limit, &limit, 1, DART_TYPE_INT, op, DART_TEAM_ALL));
    GOOD(dart_op_destroy(&op));
    CHECK(op == DART_OP_UNDEFINED);
    GOOD(dart_op_create(compose, NULL, false, type, true, &op));
    GOOD(dart_reduce(map, all, 1, type, op, DART_TEAM_UNIT_ID(0), DART_TEAM_ALL));
    for (unsigned i = 0; i < (unsigned)units; i++) {
        want[1] = (2 * i + 3) * want[1] + i + 1;
        want[0] *= 2 * i + 3;
    }
    if (unit == 0)
        CHECK(all[0] == want[0] && all[1] == want[1]);
    GOOD(dart_op_destroy(&op));
    GOOD(dart_type_destroy(&type));
}

static void messages(void)
{
    const dart_global_unit_t next = DART_GLOBAL_UNIT_ID((unit + 1) % units);
    const dart_global_unit_t before = DART_GLOBAL_UNIT_ID((unit + units - 1) % units);
    int mine = unit, got = -1, two[2];

    GOOD(dart_sendrecv(&mine, 1, DART_TYPE_INT, 3, next, &got, 1, DART_TYPE_INT, 3, before));
    CHECK(got == before.id);
    GOOD(dart_send(&mine, 1, DART_TYPE_INT, 1, next));
    mine += 100;
    GOOD(dart_send(&mine, 1, DART_TYPE_INT, 2, next));
    GOOD(dart_recv(&got, 1, DART_TYPE_INT, 2, before));
    CHECK(got == before.id + 100);
    GOOD(dart_recv(&got, 1, DART_TYPE_INT, 1, before));
    CHECK(got == before.id);
    two[0] = two[1] = 5;
    GOOD(dart_send(two, 2, DART_TYPE_INT, 4, next));
    BAD(dart_recv(&got, 1, DART_TYPE_INT, 4, before));
    BAD(dart_recv(&got, 1, DART_TYPE_INT, -1, before));
    BAD(dart_send(&got, 1, DART_TYPE_INT, 1, DART_GLOBAL_UNIT_ID(units)));
}

static void run(void)
{
    dart_group_t half;
    dart_team_t team, other = (dart_team_t)(units + 77);

    moves(DART_TEAM_ALL, unit, units);
    GOOD(dart_group_create(&half));
    for (int i = unit % 2; i < units; i += 2)
        GOOD(dart_group_addmember(half, DART_GLOBAL_UNIT_ID(i)));
    GOOD(dart_team_create(DART_TEAM_ALL, half, &team));
    moves(team, unit / 2, (units + 1 - unit % 2) / 2);
    GOOD(dart_team_destroy(&team));
    GOOD(dart_group_destroy(&half));
    CODE(DART_ERR_NOTFOUND, dart_barrier(other));
    reductions();
    own_operations();
    messages();
}
