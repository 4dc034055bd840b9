/*
 * tests/dart/dart_onesided.c - puts and gets: all pairs, sizes and alignments, blocking, by handle,
 * with a flush; strided, indexed and custom types, here and there; updates of every type.
 */
#include <dash/dart/if/dart.h>

#include "dart_test.h"

enum { PART = 70000 };

static unsigned char byte_of(int key, size_t i)
{
    return (unsigned char)((size_t)key * 31 + i * 7 + i / 256);
}

/* Unit `to`'s part of the segment, where this unit's bytes go. */
static dart_gptr_t part(dart_gptr_t base, int to, size_t at)
{
    dart_gptr_t g = base;

    GOOD(dart_gptr_setunit(&g, DART_TEAM_UNIT_ID(to)));
    GOOD(dart_gptr_incaddr(&g, (int64_t)((size_t)unit * PART + at)));
    return g;
}

static void pairs(dart_gptr_t base)
{
    static const size_t sizes[] = {0, 1, 7, 8, 63, 64, 1000, 4097, 65539};
    static unsigned char source[PART], seen[PART];
    dart_handle_t handles[2];
    int32_t finished = 0;

    for (int to = 0; to < units; to++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            const size_t bytes = sizes[s];
            const dart_gptr_t g = part(base, to, (s + (size_t)to) % 16);
            for (size_t i = 0; i < bytes; i++)
                source[i] = byte_of(unit + to + (int)s, i);
            memset(seen, 0, sizeof(seen));
            GOOD(dart_put_blocking(g, source, bytes, DART_TYPE_BYTE, DART_TYPE_BYTE));
            GOOD(dart_get_blocking(seen, g, bytes, DART_TYPE_BYTE, DART_TYPE_BYTE));
            CHECK(memcmp(source, seen, bytes) == 0 && seen[bytes] == 0);
            source[0]++;
            GOOD(dart_put_handle(g, source, bytes, DART_TYPE_BYTE, DART_TYPE_BYTE, &handles[0]));
            GOOD(dart_get_handle(seen, g, bytes, DART_TYPE_BYTE, DART_TYPE_BYTE, &handles[1]));
            if (s % 2 == 0)
                GOOD(dart_waitall(handles, 2));
            else
                for (finished = 0; !finished;)
                    GOOD(dart_testall(handles, 2, &finished));
            CHECK(handles[0] == DART_HANDLE_NULL && handles[1] == DART_HANDLE_NULL);
            CHECK(memcmp(source, seen, bytes) == 0);
            source[0]++;
            GOOD(dart_put(g, source, bytes, DART_TYPE_BYTE, DART_TYPE_BYTE));
            GOOD(dart_get(seen, g, bytes, DART_TYPE_BYTE, DART_TYPE_BYTE));
            GOOD(s % 2 == 0 ? dart_flush(g) : dart_flush_all(g));
            CHECK(memcmp(source, seen, bytes) == 0);
        }
    GOOD(dart_put_handle(part(base, 0, 0), source, 8, DART_TYPE_BYTE, DART_TYPE_BYTE, handles));
    GOOD(dart_wait_local(handles));
    GOOD(dart_put_handle(part(base, 0, 0), source, 8, DART_TYPE_BYTE, DART_TYPE_BYTE, handles));
    GOOD(dart_waitall_local(handles, 1));
    GOOD(dart_put_handle(part(base, 0, 0), source, 8, DART_TYPE_BYTE, DART_TYPE_BYTE, handles));
    for (finished = 0; !finished;)
        GOOD(dart_test_local(handles, &finished));
    GOOD(dart_put_handle(part(base, 0, 0), source, 8, DART_TYPE_BYTE, DART_TYPE_BYTE, handles));
    for (finished = 0; !finished;)
        GOOD(dart_testall_local(handles, 1, &finished));
    GOOD(dart_put_handle(part(base, 0, 0), source, 8, DART_TYPE_BYTE, DART_TYPE_BYTE, handles));
    GOOD(dart_handle_free(handles));
    GOOD(dart_flush_local(base));
    GOOD(dart_flush_local_all(base));
    GOOD(dart_wait(handles));
    for (finished = 0; !finished;)
        GOOD(dart_test(handles, &finished));
}

/* Where element i of a type is: of blocks that begin every `extent`. */
static size_t strided_at(size_t i, size_t stride, size_t length)
{
    return i / length * stride + i % length;
}

static void types(dart_gptr_t base)
{
    enum { ELEMENTS = 120, ROOM = 600 };
    static const size_t lengths[] = {2, 1, 3}, offsets[] = {1, 5, 10};
    static const size_t too_long[] = {SIZE_MAX / 2, SIZE_MAX / 2, 2};
    static int source[ROOM], seen[ROOM], whole[ROOM];
    dart_datatype_t far, strided, wider, indexed, pair, bad = DART_TYPE_UNDEFINED;
    const dart_gptr_t g = part(base, (unit + 1) % units, 8);

    GOOD(dart_type_create_strided(DART_TYPE_INT, 4, 3, &strided));
    GOOD(dart_type_create_strided(DART_TYPE_INT, 5, 2, &wider));
    GOOD(dart_type_create_indexed(DART_TYPE_INT, 3, lengths, offsets, &indexed));
    for (int i = 0; i < ROOM; i++)
        source[i] = 1000 * unit + i;

    /* Strided there. */
    memset(whole, 0, sizeof(whole));
    GOOD(dart_put_blocking(g, whole, ROOM, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_put_blocking(g, source, ELEMENTS, DART_TYPE_INT, strided));
    GOOD(dart_get_blocking(whole, g, ROOM, DART_TYPE_INT, DART_TYPE_INT));
    for (size_t i = 0; i < ELEMENTS; i++)
        CHECK(whole[strided_at(i, 4, 3)] == source[i]);
    for (size_t i = 3; i < 160; i += 4)
        CHECK(whole[i] == 0);
    memset(seen, 0, sizeof(seen));
    GOOD(dart_get_blocking(seen, g, ELEMENTS, strided, DART_TYPE_INT));
    CHECK(memcmp(seen, source, ELEMENTS * sizeof(int)) == 0 && seen[ELEMENTS] == 0);

    /* Differently strided here, blocks of neither length. */
    memset(seen, 0, sizeof(seen));
    GOOD(dart_get_blocking(seen, g, ELEMENTS, strided, wider));
    for (size_t i = 0; i < ELEMENTS; i++)
        CHECK(seen[strided_at(i, 5, 2)] == source[i]);
    CHECK(seen[2] == 0 && seen[3] == 0 && seen[4] == 0);

    /* Indexed: it goes on behind its last block, 12 elements further. */
    GOOD(dart_put_blocking(g, source, ELEMENTS, DART_TYPE_INT, indexed));
    GOOD(dart_get_blocking(whole, g, ROOM, DART_TYPE_INT, DART_TYPE_INT));
    for (size_t i = 0; i < ELEMENTS; i++) {
        static const size_t at[] = {1, 2, 5, 10, 11, 12};
        CHECK(whole[i / 6 * 12 + at[i % 6]] == source[i]);
    }
    memset(seen, 0, sizeof(seen));
    GOOD(dart_get_blocking(seen, g, ELEMENTS, indexed, strided));
    for (size_t i = 0; i < ELEMENTS; i++)
        CHECK(seen[strided_at(i, 4, 3)] == source[i]);

    /* Custom. */
    GOOD(dart_type_create_custom(2 * sizeof(int), &pair));
    GOOD(dart_put_blocking(g, source, 50, pair, pair));
    memset(seen, 0, sizeof(seen));
    GOOD(dart_get_blocking(seen, g, 100, DART_TYPE_INT, DART_TYPE_INT));
    CHECK(memcmp(seen, source, 100 * sizeof(int)) == 0);

    BAD(dart_put_blocking(g, source, 100, pair, DART_TYPE_INT));
    BAD(dart_put_blocking(g, source, 100, DART_TYPE_INT, strided));
    BAD(dart_put_blocking(g, source, 1, bad, DART_TYPE_INT));
    BAD(dart_type_create_strided(DART_TYPE_INT, 2, 3, &bad));
    BAD(dart_type_create_indexed(DART_TYPE_BYTE, 3, too_long, offsets, &bad));
    GOOD(dart_type_create_strided(DART_TYPE_INT, SIZE_MAX / 8, 1, &far));
    BAD(dart_get_blocking(seen, g, 8, far, DART_TYPE_INT));
    BAD(dart_get_blocking(seen, g, 8, DART_TYPE_INT, far));
    GOOD(dart_type_destroy(&far));
    GOOD(dart_type_create_indexed(DART_TYPE_INT, 1, lengths, offsets,
                                  &far)); /* one block, not at 0 */
    BAD(dart_bcast(seen, 2, far, DART_TEAM_UNIT_ID(0), DART_TEAM_ALL));
    GOOD(dart_type_destroy(&far));
    BAD(dart_type_create_strided(strided, 4, 3, &bad));
    BAD(dart_type_destroy(&bad));
    GOOD(dart_type_destroy(&pair));
    GOOD(dart_type_destroy(&strided));
    GOOD(dart_type_destroy(&wider));
    GOOD(dart_type_destroy(&indexed));
    CHECK(indexed == DART_TYPE_UNDEFINED);
}

/* Element `index` of unit 0's first bytes. */
static dart_gptr_t element(dart_gptr_t base, size_t index, size_t size)
{
    GOOD(dart_gptr_incaddr(&base, (int64_t)(index * size)));
    return base;
}

/* All units update elements of one type at unit 0, two side by side. */
#define UPDATES(name, type)                                                                        \
    do {                                                                                           \
        type one[2] = {1, 2}, zero[2] = {0, 0}, old, swapped = 7, got[2];                          \
        const dart_gptr_t g = element(base, 3, 2 * sizeof(type));                                  \
        if (unit == 0)                                                                             \
            GOOD(dart_put_blocking(g, zero, 2, name, name));                                       \
        GOOD(dart_barrier(DART_TEAM_ALL));                                                         \
        for (int i = 0; i < 8; i++) {                                                              \
            GOOD(dart_accumulate(g, one, 2, name, DART_OP_SUM));                                   \
            GOOD(dart_fetch_and_op(g, one, &old, name, DART_OP_SUM));                              \
            CHECK((double)old >= 0 && (double)old < 16 * units);                                   \
        }                                                                                          \
        GOOD(dart_flush(g));                                                                       \
        GOOD(dart_barrier(DART_TEAM_ALL));                                                         \
        GOOD(dart_fetch_and_op(g, NULL, &got[0], name, DART_OP_NO_OP));                            \
        GOOD(dart_fetch_and_op(element(g, 1, sizeof(type)), NULL, &got[1], name, DART_OP_NO_OP));  \
        CHECK(got[0] == (type)(16 * units) && got[1] == (type)(16 * units));                       \
        GOOD(dart_barrier(DART_TEAM_ALL));                                                         \
        GOOD(dart_fetch_and_op(g, &swapped, &old, name, DART_OP_REPLACE));                         \
        CHECK(old == 7 || old == (type)(16 * units));                                              \
        GOOD(dart_barrier(DART_TEAM_ALL));                                                         \
        old = (type)(unit + 3);                                                                    \
        GOOD(dart_accumulate_blocking_local(g, &old, 1, name, DART_OP_MAX));                       \
        GOOD(dart_accumulate(element(g, 1, sizeof(type)), &old, 1, name, DART_OP_MIN));            \
        GOOD(dart_flush(g));                                                                       \
        GOOD(dart_barrier(DART_TEAM_ALL));                                                         \
        GOOD(dart_get_blocking(got, g, 2, name, name));                                            \
        CHECK(got[0] == (type)(units + 2 > 7 ? units + 2 : 7) && got[1] == 3);                     \
        GOOD(dart_barrier(DART_TEAM_ALL));                                                         \
    } while (0)

/* One of all units swaps the element. */
#define SWAPS(name, type)                                                                          \
    do {                                                                                           \
        type zero[2] = {0, 0}, mine = (type)(unit + 1), old, got[2];                               \
        int32_t won, sum;                                                                          \
        const dart_gptr_t g = element(base, 3, 2 * sizeof(type));                                  \
        if (unit == 0)                                                                             \
            GOOD(dart_put_blocking(g, zero, 2, name, name));                                       \
        GOOD(dart_barrier(DART_TEAM_ALL));                                                         \
        GOOD(dart_compare_and_swap(g, &mine, zero, &old, name));                                   \
        won = old == 0;                                                                            \
        GOOD(dart_allreduce(&won, &sum, 1, DART_TYPE_INT, DART_OP_SUM, DART_TEAM_ALL));            \
        CHECK(sum == 1);                                                                           \
        GOOD(dart_get_blocking(got, g, 2, name, name));                                            \
        CHECK(got[0] == (won ? mine : old) && got[1] == 0);                                        \
        GOOD(dart_barrier(DART_TEAM_ALL));                                                         \
        mine = 0x0f;                                                                               \
        GOOD(dart_accumulate(element(g, 1, sizeof(type)), &mine, 1, name, DART_OP_BXOR));          \
        GOOD(dart_flush(g));                                                                       \
        GOOD(dart_barrier(DART_TEAM_ALL));                                                         \
        GOOD(dart_fetch_and_op(element(g, 1, sizeof(type)), &mine, &old, name, DART_OP_LAND));     \
        CHECK(old == 1 || old == (type)(units % 2 * 0x0f));                                        \
        GOOD(dart_barrier(DART_TEAM_ALL));                                                         \
    } while (0)

static void updates(dart_gptr_t base)
{
    long double big = 1, big_was;
    float real = 1, was;
    int two[2] = {1, 2};

    UPDATES(DART_TYPE_BYTE, signed char);
    UPDATES(DART_TYPE_SHORT, short);
    UPDATES(DART_TYPE_INT, int);
    UPDATES(DART_TYPE_UINT, unsigned);
    UPDATES(DART_TYPE_LONG, long);
    UPDATES(DART_TYPE_ULONG, unsigned long);
    UPDATES(DART_TYPE_LONGLONG, long long);
    UPDATES(DART_TYPE_ULONGLONG, unsigned long long);
    UPDATES(DART_TYPE_FLOAT, float);
    UPDATES(DART_TYPE_DOUBLE, double);
    SWAPS(DART_TYPE_BYTE, signed char);
    SWAPS(DART_TYPE_SHORT, short);
    SWAPS(DART_TYPE_INT, int);
    SWAPS(DART_TYPE_ULONG, unsigned long);
    BAD(dart_accumulate(base, &big, 1, DART_TYPE_LONG_DOUBLE, DART_OP_SUM));
    BAD(dart_fetch_and_op(base, &big, &big_was, DART_TYPE_LONG_DOUBLE, DART_OP_SUM));
    BAD(dart_accumulate(base, two, 2, DART_TYPE_INT, DART_OP_MINMAX));
    BAD(dart_accumulate(base, &real, 1, DART_TYPE_FLOAT, DART_OP_BAND));
    BAD(dart_compare_and_swap(base, &real, &real, &was, DART_TYPE_FLOAT));
    BAD(dart_fetch_and_op(element(base, 1, 1), two, two, DART_TYPE_INT, DART_OP_SUM));
}

/* A handle of many runs of unequal lengths: when it is done all of them are. */
static void many_runs(dart_gptr_t g)
{
    enum { RUNS = 20, REACH = 9000 };
    static int source[REACH], seen[REACH], want[REACH];
    size_t lengths[RUNS], offsets[RUNS], elements = 0;
    dart_datatype_t indexed;
    dart_handle_t handle;

    for (size_t i = 0, at = 0; i < RUNS; i++, at += lengths[i - 1] + i) {
        lengths[i] = 1 + (i * i * 151) % 700;
        offsets[i] = at;
        elements += lengths[i];
    }
    GOOD(dart_type_create_indexed(DART_TYPE_INT, RUNS, lengths, offsets, &indexed));
    GOOD(dart_put_blocking(g, want, REACH, DART_TYPE_INT, DART_TYPE_INT));
    for (size_t i = 0; i < elements; i++)
        source[i] = (int)i + 1;
    for (size_t i = 0, next = 0; i < RUNS; i++)
        for (size_t k = 0; k < lengths[i]; k++)
            want[offsets[i] + k] = source[next++];
    GOOD(dart_put_handle(g, source, elements, DART_TYPE_INT, indexed, &handle));
    GOOD(dart_wait(&handle));
    GOOD(dart_get_blocking(seen, g, REACH, DART_TYPE_INT, DART_TYPE_INT));
    CHECK(memcmp(seen, want, sizeof(seen)) == 0);
    memset(seen, 0, sizeof(seen));
    GOOD(dart_get_handle(seen, g, elements, indexed, DART_TYPE_INT, &handle));
    for (int32_t finished = 0; !finished;)
        GOOD(dart_test_local(&handle, &finished));
    CHECK(memcmp(seen, source, elements * sizeof(seen[0])) == 0);
    GOOD(dart_type_destroy(&indexed));
}

/* g: where the segment ends. */
static void outside(dart_gptr_t g)
{
    unsigned char bytes[2] = {1, 2}, was;
    dart_gptr_t before = g;
    int number = 1;

    BAD(dart_accumulate(g, &number, 1, DART_TYPE_INT, DART_OP_SUM));
    BAD(dart_accumulate(g, bytes, 1, DART_TYPE_BYTE, DART_OP_SUM));
    BAD(dart_fetch_and_op(g, bytes, &was, DART_TYPE_BYTE, DART_OP_SUM));
    BAD(dart_compare_and_swap(g, bytes, bytes, &was, DART_TYPE_BYTE));
    before.addr_or_offs.offset = (uint64_t)0 - 1; /* the element ends where the segment begins */
    BAD(dart_accumulate(before, bytes, 1, DART_TYPE_BYTE, DART_OP_SUM));
    GOOD(dart_gptr_incaddr(&g, -1));
    BAD(dart_accumulate(g, bytes, 2, DART_TYPE_BYTE, DART_OP_SUM));
    BAD(dart_accumulate(g, bytes, SIZE_MAX, DART_TYPE_BYTE, DART_OP_SUM));
    GOOD(dart_accumulate(g, bytes, 1, DART_TYPE_BYTE, DART_OP_SUM));
}

static void run(void)
{
    dart_gptr_t base, g;
    char byte = 0;

    GOOD(dart_team_memalloc_aligned(DART_TEAM_ALL, (size_t)units * PART + 64, DART_TYPE_BYTE,
                                    &base));
    pairs(base);
    types(base);
    GOOD(dart_barrier(DART_TEAM_ALL));
    many_runs(part(base, unit, 0));
    GOOD(dart_barrier(DART_TEAM_ALL));
    updates(base);
    g = base;
    GOOD(dart_gptr_incaddr(&g, (int64_t)units * PART + 64));
    BAD(dart_put_blocking(g, &byte, 64, DART_TYPE_BYTE, DART_TYPE_BYTE));
    outside(g);
    GOOD(dart_gptr_setunit(&g, DART_TEAM_UNIT_ID(units)));
    BAD(dart_get_blocking(&byte, g, 1, DART_TYPE_BYTE, DART_TYPE_BYTE));
    BAD(dart_get_blocking(&byte, DART_GPTR_NULL, 1, DART_TYPE_BYTE, DART_TYPE_BYTE));
    GOOD(dart_team_memfree(base));
    CODE(DART_ERR_NOTFOUND, dart_get_blocking(&byte, base, 1, DART_TYPE_BYTE, DART_TYPE_BYTE));
}
