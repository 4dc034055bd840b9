/*
 * pgas_places.h - what host programs do by global pointers, for test_pgas: puts to every place,
 * memory of their own, segments of groups.
 */
#ifndef WEFT_TESTS_PGAS_PLACES_H
#define WEFT_TESTS_PGAS_PLACES_H

#include "support/pgas_open.h"

#include <stdlib.h>
#include <string.h>

enum { PART = 70000 /* bytes of each sender in a part */, GUARD = 16 };

/* Of each process. */
struct buffers {
    unsigned char source[PART + GUARD], seen[PART + 2 * GUARD];
};

static inline void fill(struct buffers *b, uint64_t key, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        b->source[i] = test_byte(key, i);
}

static inline size_t differ(const unsigned char *p, uint64_t key, size_t first, size_t bytes)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++)
        count += p[i] != test_byte(key, first + i);
    return count;
}

/* Each process to each place: sizes, alignments, rows, and the bytes beside them. */
static inline void pairs(struct test_env *env, struct buffers *b, const weft_gspan *span)
{
    static const size_t sizes[] = {0, 1, 7, 8, 63, 64, 1000, 4097, 65539};
    const int me = env->numbers->process, n = env->numbers->processes;
    weft_op op;

    for (int q = 0; q < n; q++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            const size_t bytes = sizes[i], skew = (i + (size_t)q) % 16;
            weft_gptr g = weft_gspan_member(env->job, span, q);
            if (env->random && bytes > 1000)
                continue;
            g = weft_gptr_add(g, (int64_t)((size_t)me * PART + skew));
            fill(b, bytes + (size_t)me * 7 + (size_t)q, bytes);
            memset(b->seen, 0, sizeof(b->seen));
            TEST_OK(env, weft_host_gput(env->job, g, b->source, bytes));
            TEST_OK(env, weft_host_gget(env->job, g, b->seen + GUARD, bytes));
            TEST_EQ(env, differ(b->seen + GUARD, bytes + (size_t)me * 7 + (size_t)q, 0, bytes), 0);
            TEST_EQ(env, b->seen[GUARD - 1] + b->seen[GUARD + bytes], 0);
            TEST_OK(env, weft_host_gput_begin(env->job, g, b->source, bytes, &op));
            TEST_OK(env, weft_host_op_wait(env->job, op, WEFT_REMOTE));
            TEST_OK(env, weft_host_gget_begin(env->job, g, b->seen, bytes, &op));
            TEST_OK(env, weft_host_op_wait(env->job, op, WEFT_LOCAL));
            TEST_EQ(env, differ(b->seen, bytes + (size_t)me * 7 + (size_t)q, 0, bytes), 0);
        }
    TEST_OK(env, weft_host_gflush(env->job));
}

static inline void rows(struct test_env *env, struct buffers *b, const weft_gspan *span)
{
    const int me = env->numbers->process, n = env->numbers->processes;
    weft_op op;

    for (int q = 0; q < n; q++) {
        const weft_gptr g = weft_gptr_add(weft_gspan_member(env->job, span, q), me * PART + 3);
        fill(b, (size_t)me + 3, 20 * 50);
        TEST_OK(env, weft_host_gput_2d_begin(env->job, g, 100, b->source, 50, 40, 20, &op));
        TEST_OK(env, weft_host_op_wait(env->job, op, WEFT_REMOTE));
        memset(b->seen, 0, 20 * 60);
        TEST_OK(env, weft_host_gget_2d_begin(env->job, g, 100, b->seen, 60, 40, 20, &op));
        TEST_OK(env, weft_host_op_wait(env->job, op, WEFT_LOCAL));
        for (size_t row = 0; row < 20; row++) {
            TEST_EQ(env, differ(b->seen + row * 60, (size_t)me + 3, row * 50, 40), 0);
            TEST_EQ(env, b->seen[row * 60 + 40], 0);
        }
    }
}

/* A word that all processes update; the span's carry; blocks of one's own. */
static inline void words(struct test_env *env, struct buffers *b, weft_gspan *span)
{
    const int n = env->numbers->processes, me = env->numbers->process;
    const uint64_t zero[8] = {0};
    uint64_t old = 0;
    weft_gptr g, block;

    g = weft_gspan_at(env->job, span, span->bytes * (uint64_t)(n - 1) + 64);
    TEST_EQ(env, weft_gptr_place(g), n - 1);
    TEST_EQ(env, g.offset, 64);
    TEST(env, weft_gptr_is_null(weft_gspan_at(env->job, span, span->bytes * (uint64_t)n)));
    if (me == 0)
        TEST_OK(env, weft_host_gput(env->job, g, zero, sizeof(zero)));
    test_pgas_meet(env);
    TEST_OK(env, weft_host_gfetch_add(env->job, g, 3, NULL));
    TEST_OK(env, weft_host_gcompare_swap(env->job, weft_gptr_add(g, 8), 0, 5, &old));
    TEST(env, old == 0 || old == 5);
    TEST_OK(env, weft_host_barrier(env->job));
    TEST_OK(env, weft_host_gfetch_add(env->job, g, 0, &old));
    TEST_EQ(env, old, 3 * n);
    TEST_OK(env, weft_host_local_alloc(env->job, 1000, &block));
    TEST_EQ(env, weft_gptr_place(block), me);
    TEST_OK(env, weft_host_gput(env->job, block, b->source, 1000));
    TEST_OK(env, weft_host_local_free(env->job, block));
    TEST_OK(env, weft_host_barrier(env->job));
}

/* Memory of the program's own, of another size at each place. */
static inline void adopted(struct test_env *env, struct buffers *b)
{
    const int me = env->numbers->process, n = env->numbers->processes, q = (me + 1) % n;
    unsigned char *const memory = test_memory(env, TEST_MAPPED, 5000);
    const size_t bytes = 1000 + 100 * (size_t)me;
    weft_gspan span;
    weft_gwhere where;
    weft_gptr g;

    TEST_OK(env, weft_gadopt(env->job, WEFT_COMM_HOST, memory, bytes, &span));
    g = weft_gptr_add(weft_gptr_at_place(span.base, me), 8);
    TEST_OK(env, weft_host_gwhere(env->job, g, &where));
    TEST(env, where.address == memory + 8 && where.offset == 8 && where.member == me);
    g = weft_gspan_member(env->job, &span, q);
    TEST_OK(env, weft_host_gwhere(env->job, g, &where));
    TEST_EQ(env, where.address == NULL, q != me);
    fill(b, me + 9u, 1000);
    TEST_OK(env, weft_host_gput(env->job, weft_gptr_add(g, 100 * q), b->source, 1000));
    test_pgas_meet(env);
    TEST_OK(env, weft_copy(env->job, b->seen, memory + 100 * me, 1000));
    TEST_EQ(env, differ(b->seen, (uint64_t)((me + n - 1) % n) + 9, 0, 1000), 0);
    TEST_OK(env, weft_gfree(env->job, &span));
}

/* Halves of the job make segments of their own. */
static inline void groups(struct test_env *env)
{
    const int me = env->numbers->process, n = env->numbers->processes;
    weft_comm half;
    weft_gspan span;
    uint64_t value = (uint64_t)me, got;

    TEST_OK(env, weft_host_split(env->job, me % 2, -me, &half));
    TEST_OK(env, weft_galloc(env->job, half, 4000, &span));
    TEST_EQ(env, span.members, (n + 1 - me % 2) / 2);
    for (int i = 0; i < span.members; i++)
        TEST_OK(env, weft_host_gput(env->job,
                                    weft_gptr_add(weft_gspan_member(env->job, &span, i), 8 * me),
                                    &value, 8));
    TEST_OK(env, weft_host_gflush(env->job));
    TEST_OK(env, weft_host_group_barrier(env->job, half));
    for (int q = me % 2; q < n; q += 2) {
        const weft_gptr g = weft_gptr_at_place(span.base, me);
        TEST_OK(env, weft_host_gget(env->job, weft_gptr_add(g, 8 * q), &got, 8));
        TEST_EQ(env, got, q);
    }
    TEST_OK(env, weft_gfree(env->job, &span));
    if (me % 2 == 0) { /* the others do not take part */
        weft_comm quarter;
        TEST_OK(env, weft_host_group_split(env->job, half, me % 4, me, &quarter));
        TEST_OK(env, weft_galloc(env->job, quarter, 8, &span));
        TEST_EQ(env, span.members, (n + 3 - me % 4) / 4);
        TEST_EQ(env, weft_gptr_place(weft_gspan_member(env->job, &span, me / 4)), me);
        TEST_OK(env, weft_gfree(env->job, &span));
        TEST_OK(env, weft_host_group_free(env->job, &quarter));
    }
    TEST_OK(env, weft_host_group_free(env->job, &half));
}

/* What one place has freed is there for the others; what all have freed makes room for the next. */
static inline void dropped(struct test_env *env, size_t most)
{
    const int me = env->numbers->process;
    weft_gspan span;
    uint64_t value = 5;

    TEST_OK(env, weft_galloc(env->job, WEFT_COMM_HOST, 64, &span));
    if (me == 0)
        TEST_OK(env, weft_gfree(env->job, &span));
    TEST_OK(env, weft_host_barrier(env->job));
    if (me != 0) {
        TEST_OK(env, weft_host_gput(env->job, weft_gptr_at_place(span.base, 0), &value, 8));
        TEST_OK(env, weft_host_gflush(env->job));
        TEST_OK(env, weft_gfree(env->job, &span));
    }
    for (int i = 0; i < 3; i++) {
        TEST_OK(env, weft_galloc_v(env->job, WEFT_COMM_HOST, most / 8 * 5, &span));
        TEST_OK(env, weft_gfree(env->job, &span));
    }
}

/* All of it. most: the largest block of the heap. */
static inline void test_places(struct test_env *env, size_t most)
{
    struct buffers *const b = calloc(1, sizeof(*b));
    weft_gspan span;

    if (b == NULL)
        abort();
    TEST_OK(env,
            weft_galloc(env->job, WEFT_COMM_HOST, (size_t)env->numbers->processes * PART, &span));
    pairs(env, b, &span);
    rows(env, b, &span);
    words(env, b, &span);
    adopted(env, b);
    groups(env);
    TEST_OK(env, weft_gfree(env->job, &span));
    dropped(env, most);
    free(b);
}

#endif
