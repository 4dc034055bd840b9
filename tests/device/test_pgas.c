/*
 * The global address space: what host programs and ranks of each place put to every place by global
 * pointers is there, by any path; blocks that ranks take in a kernel are reached by all, and never
 * overlap; nothing of the heap is lost.
 */
#include "support/test.h"

#include <weft/pgas.h>

enum {
    PART = 70000, /* bytes of each sender in a part */
    GUARD = 16,
    HELD = 8, /* blocks that a rank has at once */
    WORDS = 4096
};

struct data {
    struct test_check check;
    weft_gspace *space;
    unsigned char *memory; /* PART bytes a rank, twice */
    weft_gptr *pointer;    /* by rank of the device: a block, as it is put to others */
    weft_gspan span, table;
    uint64_t seed;
    uint32_t rounds, refused;
};

/* ---- ranks ---------------------------------------------------------------------------------- */

WEFT_DEVICE_FN uint64_t word_of(weft_self *self, uint32_t key, uint32_t round)
{
    return test_mix((uint64_t)weft_rank(self, WEFT_COMM_WORLD) << 40 | (uint64_t)key << 32 | round);
}

/* Writes a block, or checks that it is as it was written. */
WEFT_DEVICE_FN void use_block(weft_self *self, struct data *user, weft_gptr g, size_t bytes,
                              uint64_t value, bool check)
{
    uint64_t *const word = (uint64_t *)weft_gaddress(self, user->space, g);

    CHECK(self, &user->check, word != NULL);
    if (word == NULL)
        return;
    if (check)
        test_will_read(word, bytes / 8 * 8);
    else
        test_will_write(word, bytes / 8 * 8);
    weft_for (i, bytes / 8) {
        if (check)
            CHECK_EQ(self, &user->check, word[i], value + i);
        else
            word[i] = value + i;
    }
    weft_sync(self);
}

/* Blocks of all sizes are taken and freed at random by all ranks. */
WEFT_DEVICE_FN void take_and_free(weft_self *self, struct data *user)
{
    weft_gptr held[HELD];
    size_t bytes[HELD];
    uint64_t value[HELD], state = user->seed + (uint64_t)weft_rank(self, WEFT_COMM_WORLD);

    for (int i = 0; i < HELD; i++)
        held[i] = weft_gptr_null();
    for (uint32_t round = 0; round < user->rounds + HELD; round++) {
        const uint32_t draw = test_random(&state, HELD);
        const uint32_t slot = round < user->rounds ? draw : round - user->rounds;
        if (!weft_gptr_is_null(held[slot])) {
            use_block(self, user, held[slot], bytes[slot], value[slot], true);
            weft_local_free(self, user->space, held[slot]);
            held[slot] = weft_gptr_null();
        } else if (round < user->rounds) {
            bytes[slot] = 8 + test_random(&state, 256u << test_random(&state, 7));
            value[slot] = word_of(self, slot, round);
            held[slot] = weft_local_alloc(self, user->space, bytes[slot]);
            if (!weft_gptr_is_null(held[slot]))
                use_block(self, user, held[slot], bytes[slot], value[slot], false);
            else if (weft_thread(self) == 0)
                test_add_u32(&user->refused, 1);
        }
    }
}

/*
 * Each rank takes a block and tells the next one in the job where it is, by the table; that one
 * puts to it, and its owner sees it.
 */
WEFT_DEVICE_FN void pass_blocks(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int next = (me + 1) % n;
    const uint64_t at = (uint64_t)next * sizeof(weft_gptr);
    weft_gptr *const mine = (weft_gptr *)test_mine(self, user->pointer, 4 * sizeof(weft_gptr));
    unsigned char *const memory = test_mine(self, user->memory, 2 * PART);
    const weft_gptr block = weft_local_alloc(self, user->space, 3000);
    weft_gptr table = user->table.base; /* place 0's part */

    CHECK(self, &user->check, !weft_gptr_is_null(block));
    if (weft_thread(self) == 0) {
        test_will_write(mine, sizeof(*mine));
        mine[0] = block;
    }
    test_fill(self, memory, 3000, (uint64_t)me + 5);
    weft_gput(self, user->space, weft_gptr_add(table, (int64_t)at), &mine[0], sizeof(*mine));
    weft_gflush(self, user->space);
    weft_barrier(self, WEFT_COMM_WORLD);
    table = weft_gptr_add(table, (int64_t)me * (int64_t)sizeof(weft_gptr));
    weft_gget(self, user->space, table, &mine[1], sizeof(*mine));
    test_will_read(&mine[1], sizeof(*mine));
    const weft_gptr theirs = mine[1];
    weft_sync(self);
    weft_op_wait(self, weft_gput_begin(self, user->space, theirs, memory, 3000), WEFT_REMOTE);
    weft_op_wait(
        self,
        weft_gput_2d_begin(self, user->space, weft_gptr_add(theirs, 100), 300, memory, 200, 50, 9),
        WEFT_REMOTE);
    weft_barrier(self, WEFT_COMM_WORLD);
    weft_op_wait(self, weft_gget_begin(self, user->space, block, memory + PART, 3000), WEFT_LOCAL);
    for (size_t i = 0; i < 3000; i++) {
        const size_t row = (i - 100) / 300, column = (i - 100) % 300;
        const bool beside = i < 100 || row >= 9 || column >= 50;
        if (i % 61 == 0 || i % 300 == 149 || i % 300 == 150)
            CHECK_EQ(self, &user->check, memory[PART + i],
                     test_byte((uint64_t)next + 5, beside ? i : row * 200 + column));
    }
    weft_barrier(self, WEFT_COMM_WORLD);
    weft_local_free(self, user->space, block);
}

/* Words that all ranks of the job update. */
WEFT_DEVICE_FN void update(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const weft_gptr counter = weft_gptr_add(user->table.base, WORDS);
    uint64_t *const one = (uint64_t *)test_mine(self, user->memory, 2 * PART);

    weft_gfetch_add(self, user->space, counter, 1);
    if (weft_gcompare_swap(self, user->space, weft_gptr_add(counter, 8), 0, 7) == 0)
        weft_gswap(self, user->space, weft_gptr_add(counter, 16), (uint64_t)me + 1);
    weft_sync(self);
    if (weft_thread(self) == 0) {
        test_will_write(one, 16);
        one[0] = 1;
        one[1] = 2;
    }
    weft_sync(self);
    weft_op_wait(
        self,
        weft_gaccumulate(self, user->space, weft_gptr_add(counter, 24), one, 2, WEFT_U64, WEFT_SUM),
        WEFT_REMOTE);
    weft_barrier(self, WEFT_COMM_WORLD);
    CHECK_EQ(self, &user->check, weft_gfetch_add(self, user->space, counter, 0), n);
    CHECK(self, &user->check,
          weft_gfetch_add(self, user->space, weft_gptr_add(counter, 16), 0) - 1 < (uint64_t)n);
    CHECK_EQ(self, &user->check, weft_gfetch_add(self, user->space, weft_gptr_add(counter, 32), 0),
             2 * n);
}

WEFT_KERNEL(pgas, struct data, user)
{
    weft_barrier(self, WEFT_COMM_WORLD);
    take_and_free(self, user);
    pass_blocks(self, user);
    update(self, user);
    weft_barrier(self, WEFT_COMM_WORLD);
    test_done(self, &user->check);
}

#ifndef __CUDACC__

#include "support/pgas_open.h"

#include <stdlib.h>
#include <string.h>

/* ---- host programs -------------------------------------------------------------------------- */

/* Of each process. */
struct buffers {
    unsigned char source[PART + GUARD], seen[PART + 2 * GUARD];
};

static void fill(struct buffers *b, uint64_t key, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        b->source[i] = test_byte(key, i);
}

static size_t differ(const unsigned char *p, uint64_t key, size_t first, size_t bytes)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++)
        count += p[i] != test_byte(key, first + i);
    return count;
}

/* Each process to each place: sizes, alignments, rows, and the bytes beside them. */
static void pairs(struct test_env *env, struct buffers *b, const weft_gspan *span)
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
            TEST_EQ(env, weft_host_gput(env->job, g, b->source, bytes), WEFT_OK);
            TEST_EQ(env, weft_host_gget(env->job, g, b->seen + GUARD, bytes), WEFT_OK);
            TEST_EQ(env, differ(b->seen + GUARD, bytes + (size_t)me * 7 + (size_t)q, 0, bytes), 0);
            TEST_EQ(env, b->seen[GUARD - 1] + b->seen[GUARD + bytes], 0);
            TEST_EQ(env, weft_host_gput_begin(env->job, g, b->source, bytes, &op), WEFT_OK);
            TEST_EQ(env, weft_host_op_wait(env->job, op, WEFT_REMOTE), WEFT_OK);
            TEST_EQ(env, weft_host_gget_begin(env->job, g, b->seen, bytes, &op), WEFT_OK);
            TEST_EQ(env, weft_host_op_wait(env->job, op, WEFT_LOCAL), WEFT_OK);
            TEST_EQ(env, differ(b->seen, bytes + (size_t)me * 7 + (size_t)q, 0, bytes), 0);
        }
    TEST_EQ(env, weft_host_gflush(env->job), WEFT_OK);
}

static void rows(struct test_env *env, struct buffers *b, const weft_gspan *span)
{
    const int me = env->numbers->process, n = env->numbers->processes;
    weft_op op;

    for (int q = 0; q < n; q++) {
        const weft_gptr g = weft_gptr_add(weft_gspan_member(env->job, span, q), me * PART + 3);
        fill(b, (size_t)me + 3, 20 * 50);
        TEST_EQ(env, weft_host_gput_2d_begin(env->job, g, 100, b->source, 50, 40, 20, &op),
                WEFT_OK);
        TEST_EQ(env, weft_host_op_wait(env->job, op, WEFT_REMOTE), WEFT_OK);
        memset(b->seen, 0, 20 * 60);
        TEST_EQ(env, weft_host_gget_2d_begin(env->job, g, 100, b->seen, 60, 40, 20, &op), WEFT_OK);
        TEST_EQ(env, weft_host_op_wait(env->job, op, WEFT_LOCAL), WEFT_OK);
        for (size_t row = 0; row < 20; row++) {
            TEST_EQ(env, differ(b->seen + row * 60, (size_t)me + 3, row * 50, 40), 0);
            TEST_EQ(env, b->seen[row * 60 + 40], 0);
        }
    }
}

/* A word that all processes update; the span's carry; blocks of one's own. */
static void words(struct test_env *env, struct buffers *b, weft_gspan *span)
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
        TEST_EQ(env, weft_host_gput(env->job, g, zero, sizeof(zero)), WEFT_OK);
    TEST_EQ(env, weft_host_gflush(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_gfetch_add(env->job, g, 3, NULL), WEFT_OK);
    TEST_EQ(env, weft_host_gcompare_swap(env->job, weft_gptr_add(g, 8), 0, 5, &old), WEFT_OK);
    TEST(env, old == 0 || old == 5);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_gfetch_add(env->job, g, 0, &old), WEFT_OK);
    TEST_EQ(env, old, 3 * n);
    TEST_EQ(env, weft_host_local_alloc(env->job, 1000, &block), WEFT_OK);
    TEST_EQ(env, weft_gptr_place(block), me);
    TEST_EQ(env, weft_host_gput(env->job, block, b->source, 1000), WEFT_OK);
    TEST_EQ(env, weft_host_local_free(env->job, block), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
}

/* Memory of the program's own, of another size at each place. */
static void adopted(struct test_env *env, struct buffers *b)
{
    const int me = env->numbers->process, n = env->numbers->processes, q = (me + 1) % n;
    unsigned char *const memory = test_memory(env, TEST_MAPPED, 5000);
    const size_t bytes = 1000 + 100 * (size_t)me;
    weft_gspan span;
    weft_gwhere where;
    weft_gptr g;

    TEST_EQ(env, weft_gadopt(env->job, WEFT_COMM_HOST, memory, bytes, &span), WEFT_OK);
    g = weft_gptr_add(weft_gptr_at_place(span.base, me), 8);
    TEST_EQ(env, weft_host_gwhere(env->job, g, &where), WEFT_OK);
    TEST(env, where.address == memory + 8 && where.offset == 8 && where.member == me);
    g = weft_gspan_member(env->job, &span, q);
    TEST_EQ(env, weft_host_gwhere(env->job, g, &where), WEFT_OK);
    TEST_EQ(env, where.address == NULL, q != me);
    fill(b, me + 9u, 1000);
    TEST_EQ(env, weft_host_gput(env->job, weft_gptr_add(g, 100 * q), b->source, 1000), WEFT_OK);
    TEST_EQ(env, weft_host_gflush(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    TEST_EQ(env, weft_copy(env->job, b->seen, memory + 100 * me, 1000), WEFT_OK);
    TEST_EQ(env, differ(b->seen, (uint64_t)((me + n - 1) % n) + 9, 0, 1000), 0);
    TEST_EQ(env, weft_gfree(env->job, &span), WEFT_OK);
}

/* Halves of the job make segments of their own. */
static void groups(struct test_env *env)
{
    const int me = env->numbers->process, n = env->numbers->processes;
    weft_comm half;
    weft_gspan span;
    uint64_t value = (uint64_t)me, got;

    TEST_EQ(env, weft_host_split(env->job, me % 2, -me, &half), WEFT_OK);
    TEST_EQ(env, weft_galloc(env->job, half, 4000, &span), WEFT_OK);
    TEST_EQ(env, span.members, (n + 1 - me % 2) / 2);
    for (int i = 0; i < span.members; i++)
        TEST_EQ(env,
                weft_host_gput(env->job,
                               weft_gptr_add(weft_gspan_member(env->job, &span, i), 8 * me), &value,
                               8),
                WEFT_OK);
    TEST_EQ(env, weft_host_gflush(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_group_barrier(env->job, half), WEFT_OK);
    for (int q = me % 2; q < n; q += 2) {
        const weft_gptr g = weft_gptr_at_place(span.base, me);
        TEST_EQ(env, weft_host_gget(env->job, weft_gptr_add(g, 8 * q), &got, 8), WEFT_OK);
        TEST_EQ(env, got, q);
    }
    TEST_EQ(env, weft_gfree(env->job, &span), WEFT_OK);
    if (me % 2 == 0) { /* the others do not take part */
        weft_comm quarter;
        TEST_EQ(env, weft_host_group_split(env->job, half, me % 4, me, &quarter), WEFT_OK);
        TEST_EQ(env, weft_galloc(env->job, quarter, 8, &span), WEFT_OK);
        TEST_EQ(env, span.members, (n + 3 - me % 4) / 4);
        TEST_EQ(env, weft_gptr_place(weft_gspan_member(env->job, &span, me / 4)), me);
        TEST_EQ(env, weft_gfree(env->job, &span), WEFT_OK);
        TEST_EQ(env, weft_host_group_free(env->job, &quarter), WEFT_OK);
    }
    TEST_EQ(env, weft_host_group_free(env->job, &half), WEFT_OK);
}

/* The kernels: heap, pointers between ranks, updates. */
static void ranks(struct test_env *env)
{
    struct data user = {.space = weft_pgas_space(env->job), .seed = env->seed};
    const uint64_t zero[16] = {0};

    if (!test_prepare(env, &pgas))
        return;
    const size_t here = (size_t)env->numbers->ranks_here;
    user.rounds = env->brief ? 6 : 400 * (uint32_t)env->scale;
    user.memory = test_memory(env, TEST_MAPPED, here * 2 * PART);
    user.pointer = test_memory(env, TEST_MAPPED, here * 4 * sizeof(weft_gptr));
    TEST_EQ(env, weft_galloc(env->job, WEFT_COMM_HOST, 64, &user.span), WEFT_OK);
    TEST_EQ(env, weft_galloc(env->job, WEFT_COMM_HOST, WORDS + 128, &user.table), WEFT_OK);
    if (env->numbers->process == 0)
        TEST_EQ(env,
                weft_host_gput(env->job, weft_gptr_add(user.table.base, WORDS), zero, sizeof(zero)),
                WEFT_OK);
    TEST_EQ(env, weft_host_gflush(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    test_run(env, &user, sizeof(user));
    TEST_EQ(env, weft_gfree(env->job, &user.table), WEFT_OK);
    TEST_EQ(env, weft_gfree(env->job, &user.span), WEFT_OK);
}

/* What one place has freed is there for the others; what all have freed makes room for the next. */
static void dropped(struct test_env *env, size_t most)
{
    const int me = env->numbers->process;
    weft_gspan span;
    uint64_t value = 5;

    TEST_EQ(env, weft_galloc(env->job, WEFT_COMM_HOST, 64, &span), WEFT_OK);
    if (me == 0)
        TEST_EQ(env, weft_gfree(env->job, &span), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    if (me != 0) {
        TEST_EQ(env, weft_host_gput(env->job, weft_gptr_at_place(span.base, 0), &value, 8),
                WEFT_OK);
        TEST_EQ(env, weft_host_gflush(env->job), WEFT_OK);
        TEST_EQ(env, weft_gfree(env->job, &span), WEFT_OK);
    }
    for (int i = 0; i < 3; i++) {
        TEST_EQ(env, weft_galloc_v(env->job, WEFT_COMM_HOST, most / 8 * 5, &span), WEFT_OK);
        TEST_EQ(env, weft_gfree(env->job, &span), WEFT_OK);
    }
}

/* All segments but one, and always the same one, are free, and not only dropped. */
static void end_dropped(struct test_env *env)
{
    weft_gspan span;

    for (int i = 0; i < 2; i++) {
        TEST_EQ(env, weft_galloc(env->job, WEFT_COMM_HOST, 8, &span), WEFT_OK);
        TEST_EQ(env, weft_gfree(env->job, &span), WEFT_OK);
    }
}

static int body(struct test_env *env)
{
    weft_gspan span;
    weft_heap_numbers before, after;

    if (!test_pgas_open(env))
        return TEST_PASSED;
    struct buffers *const b = calloc(1, sizeof(*b));
    if (b == NULL)
        return TEST_FAILED;
    end_dropped(env);
    TEST_EQ(env, weft_host_heap_numbers(env->job, &before), WEFT_OK);
    TEST_EQ(env,
            weft_galloc(env->job, WEFT_COMM_HOST, (size_t)env->numbers->processes * PART, &span),
            WEFT_OK);
    pairs(env, b, &span);
    rows(env, b, &span);
    words(env, b, &span);
    adopted(env, b);
    groups(env);
    TEST_EQ(env, weft_gfree(env->job, &span), WEFT_OK);
    dropped(env, before.largest);
    ranks(env);
    end_dropped(env);
    TEST_EQ(env, weft_host_heap_numbers(env->job, &after), WEFT_OK);
    TEST_EQ(env, after.free, before.free);
    TEST_EQ(env, after.largest >= before.largest / 2, true); /* one lies in it */
    TEST_EQ(env, weft_pgas_close(env->job), WEFT_OK);
    free(b);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    setenv("WEFT_HEAP", "16M", 0);
    return test_main(argc, argv, body);
}
#endif
