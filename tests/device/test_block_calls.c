/*
 * Inside a rank: values of its threads put together, of all types, by all operations, with the
 * place of a smallest and largest one, and up to each thread; and atomics of threads and ranks on
 * one word, in device memory and in what a rank's threads share.
 */
#include "support/test.h"

enum { ROUNDS = 40, MOST_RANKS = 1024 };

struct words {
    int64_t sum;
    uint64_t most, any;
    double real;
    float real32;
    uint32_t count, least;
    int32_t swapped, unused;
};

struct data {
    struct test_check check;
    struct words words; /* of all ranks of the device */
    uint32_t taken[MOST_RANKS];
};

/* What a thread brings: small, so that no sum is rounded, of both signs, some alike. */
WEFT_DEVICE_FN int brought(int thread, int round)
{
    return (thread * 7 + round * 5) % 11 - 4;
}

WEFT_DEVICE_FN int64_t combine(int64_t a, int64_t b, weft_operation how)
{
    switch (how) {
    case WEFT_SUM:
        return a + b;
    case WEFT_PROD:
        return a * b;
    case WEFT_MIN:
        return b < a ? b : a;
    case WEFT_MAX:
        return b > a ? b : a;
    case WEFT_AND:
        return a & b;
    case WEFT_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* Numbers that the type has, and of which no product leaves 64 bits. */
WEFT_DEVICE_FN int64_t number(int thread, int round, weft_operation how, bool negative)
{
    const int value = brought(thread, round);

    if (how == WEFT_PROD) /* few that are not 1 */
        return thread % 5 != round % 5 ? 1 : negative && value < 0 ? -1 : thread < 40 ? 2 : 1;
    return negative ? value : value + 4;
}

#define COMBINES(name, T, type, negative)                                                          \
    WEFT_DEVICE_FN void name(weft_self *self, struct test_check *check, weft_operation how,        \
                             int round)                                                            \
    {                                                                                              \
        const int me = weft_thread(self), threads = weft_threads(self);                            \
        const T mine = (T)number(me, round, how, negative);                                        \
        int64_t below = number(0, round, how, negative), all = below;                              \
        uint64_t place = 100, index = 100 + (uint64_t)me;                                          \
        T value = mine, up = mine, total = 0;                                                      \
        for (int t = 1; t < threads; t++) {                                                        \
            const int64_t next = number(t, round, how, negative);                                  \
            const int64_t made = combine(all, next, how);                                          \
            if (t <= me)                                                                           \
                below = made;                                                                      \
            if (made != all)                                                                       \
                place = 100 + (uint64_t)t;                                                         \
            all = made;                                                                            \
        }                                                                                          \
        weft_block_reduce(self, &value, type, how, NULL);                                          \
        CHECK_EQ(self, check, value, (T)all);                                                      \
        weft_block_scan(self, &up, type, how, round % 2 == 0 ? &total : NULL);                     \
        CHECK_EQ(self, check, up, (T)below);                                                       \
        CHECK_EQ(self, check, total, round % 2 == 0 ? (T)all : 0);                                 \
        if (how != WEFT_MIN && how != WEFT_MAX)                                                    \
            return;                                                                                \
        value = mine;                                                                              \
        weft_block_reduce(self, &value, type, how, &index);                                        \
        CHECK_EQ(self, check, value, (T)all);                                                      \
        CHECK_EQ(self, check, index, place);                                                       \
    }
COMBINES(combines_i32, int32_t, WEFT_I32, true)
COMBINES(combines_u32, uint32_t, WEFT_U32, false)
COMBINES(combines_i64, int64_t, WEFT_I64, true)
COMBINES(combines_u64, uint64_t, WEFT_U64, false)
COMBINES(combines_f32, float, WEFT_F32, true)
COMBINES(combines_f64, double, WEFT_F64, true)

/* No number, zeros of both signs, indexes that fall, and all bits. */
WEFT_DEVICE_FN void combine_edges(weft_self *self, struct test_check *check)
{
    const int me = weft_thread(self), threads = weft_threads(self);
    const uint64_t nan_bits = 0x7ff8000000000000u;
    double value, nan;
    uint64_t index = (uint64_t)(1000 - me), wide = ~(uint64_t)0 - (uint64_t)me;

    memcpy(&nan, &nan_bits, sizeof(nan));
    value = me == threads - 1 ? -3 : nan;
    weft_block_reduce(self, &value, WEFT_F64, WEFT_MAX, &index);
    CHECK(self, check, value == -3);
    CHECK_EQ(self, check, index, 1001 - threads);
    value = me % 2 == 0 ? 0.0 : -0.0;
    index = (uint64_t)(1000 - me);
    weft_block_reduce(self, &value, WEFT_F64, WEFT_MIN, &index);
    CHECK(self, check, value == 0);
    CHECK_EQ(self, check, index, 1001 - threads);
    index = 7;
    weft_block_reduce(self, &wide, WEFT_U64, WEFT_MIN, &index);
    CHECK_EQ(self, check, wide, ~(uint64_t)0 - (uint64_t)(threads - 1));
    CHECK_EQ(self, check, index, 7);
}

/* Each thread by itself, with all others of the device. */
WEFT_DEVICE_FN void change_words(weft_self *self, struct data *data, int ranks)
{
    struct words *const words = &data->words;
    const int rank = weft_rank(self, WEFT_COMM_DEVICE), me = weft_thread(self);
    const uint32_t id = (uint32_t)(rank * weft_threads(self) + me), one = 1;
    const uint64_t wide = (uint64_t)id << 32, bit = (uint64_t)1 << (id % 64);
    const int64_t less = -(int64_t)id - ((int64_t)1 << 40);
    const double half = 0.5;
    const float quarter = 0.25f;
    uint32_t was, ticket;

    weft_atomic(self, &words->sum, &less, WEFT_I64, WEFT_SUM, NULL);
    weft_atomic(self, &words->most, &wide, WEFT_U64, WEFT_MAX, NULL);
    weft_atomic(self, &words->any, &bit, WEFT_U64, WEFT_OR, NULL);
    weft_atomic(self, &words->real, &half, WEFT_F64, WEFT_SUM, NULL);
    weft_atomic(self, &words->real32, &quarter, WEFT_F32, WEFT_SUM, NULL);
    weft_atomic(self, &words->least, &id, WEFT_U32, WEFT_MIN, NULL);
    weft_atomic(self, &words->count, &one, WEFT_U32, WEFT_SUM, &ticket);
    CHECK(self, &data->check, ticket < (uint32_t)(ranks * weft_threads(self)));
    /* Tickets of ranks: each is another's. */
    weft_atomic(self, &data->taken[ticket / (uint32_t)weft_threads(self)], &one, WEFT_U32, WEFT_SUM,
                &was);
    CHECK(self, &data->check, was < (uint32_t)weft_threads(self));
    weft_atomic_swap(self, &words->swapped, &id, WEFT_U32, NULL);
}

/* By compare_swap, in memory that the threads share. */
WEFT_DEVICE_FN void count_shared(weft_self *self, struct test_check *check)
{
    WEFT_SHARED(uint64_t, shared, 1);
    uint64_t was, next;
    const uint64_t one = 1;

    if (weft_thread(self) == 0)
        shared[0] = 0;
    weft_sync(self);
    for (was = 0, next = 1;; was = next, next++) {
        uint64_t seen;
        weft_atomic_compare_swap(self, shared, &was, &next, WEFT_U64, &seen);
        if (seen == was)
            break;
        next = seen;
    }
    weft_atomic(self, shared, &one, WEFT_U64, WEFT_SUM, &was);
    CHECK(self, check, was >= 1);
    weft_sync(self);
    CHECK_EQ(self, check, shared[0], 2 * weft_threads(self));
    weft_sync(self);
}

WEFT_KERNEL(block_kernel, struct data, data)
{
    weft_enter(self);
    for (int round = 0; round < ROUNDS; round++) {
        const weft_operation how = (weft_operation)(round % (WEFT_PROD + 1));
        const bool bits = how == WEFT_AND || how == WEFT_OR || how == WEFT_XOR;
        combines_i32(self, &data->check, how, round);
        combines_u32(self, &data->check, how, round);
        combines_i64(self, &data->check, how, round);
        combines_u64(self, &data->check, how, round);
        if (!bits)
            combines_f32(self, &data->check, how, round);
        if (!bits)
            combines_f64(self, &data->check, how, round);
    }
    combine_edges(self, &data->check);
    change_words(self, data, weft_size(self, WEFT_COMM_DEVICE));
    count_shared(self, &data->check);
    weft_leave(self);
    test_done(self, &data->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    const weft_numbers *n = env->numbers;
    struct data *data = test_memory(env, TEST_HOST, sizeof(*data));

    env->ranks = env->ranks < MOST_RANKS ? env->ranks : MOST_RANKS;
    if (!test_prepare(env, &block_kernel))
        return TEST_FAILED;
    memset(data, 0, sizeof(*data));
    data->words.least = UINT32_MAX;
    test_run(env, data, sizeof(*data));

    const int64_t all = (int64_t)n->ranks_here * n->threads;
    TEST_EQ(env, data->words.sum, -all * (all - 1) / 2 - all * ((int64_t)1 << 40));
    TEST_EQ(env, data->words.most, (uint64_t)(all - 1) << 32);
    TEST_EQ(env, data->words.any, all < 64 ? ((uint64_t)1 << all) - 1 : ~(uint64_t)0);
    TEST_EQ(env, data->words.real == (double)all / 2, 1);
    TEST_EQ(env, data->words.real32 == (float)all / 4, 1);
    TEST_EQ(env, data->words.count, all);
    TEST_EQ(env, data->words.least, 0);
    TEST_EQ(env, data->words.swapped < all, 1);
    for (int r = 0; r < n->ranks_here; r++)
        TEST_EQ(env, data->taken[r], n->threads);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
