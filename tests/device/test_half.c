/*
 * Accumulates of reals of 16 bits: what each operation makes of one, at each place of a word, whose
 * other bytes stay; many in one call; all ranks at the elements of one word and at one element.
 */
#include "support/test.h"

enum {
    DISTANCES = 3,
    COUNT = 1500, /* elements of a long accumulate: more than one message carries */
    LONG_BYTES = (COUNT + 2) * 2 + 4,
    LONG = DISTANCES * 8,                   /* behind the words of the samples */
    SHARED = LONG + DISTANCES * LONG_BYTES, /* of rank 0: four elements, then one */
    ALL = 256, /* elements that all ranks add to at once, of each type */
    EVERY = SHARED + 16,
    EACH = EVERY + 2 * ALL * 2,
    SCRATCH = COUNT * 2 + 8,
    MOST = 256, /* BF16 counts so far */
    TAG_TOLD = 3
};
static_assert(LONG_BYTES % 8 == 0 && EACH % 8 == 0 && SCRATCH % 8 == 0, "all words are aligned");

struct data {
    struct test_check check;
    unsigned char *windows, *scratch; /* EACH and SCRATCH bytes a rank */
    uint32_t rounds;
};

WEFT_DEVICE_FN uint64_t *words_of(weft_self *self, struct data *user)
{
    return (uint64_t *)(void *)test_mine(self, user->scratch, SCRATCH);
}

WEFT_DEVICE_FN int at_distance(weft_self *self, int way)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), d = way == 0 ? 0 : way == 1 ? 1 : n / 2;
    return (weft_rank(self, WEFT_COMM_WORLD) + d) % n;
}

/* ---- each operation ---------------------------------------------------------------------------
 */

struct sample {
    weft_type type;
    weft_operation operation;
    uint16_t before, value, after;
};

enum { SAMPLES = 28 };
WEFT_DEVICE_FN struct sample sample_at(int i)
{
    const struct sample all[SAMPLES] = {
        {WEFT_F16, WEFT_SUM, 0x3e00, 0xb800, 0x3c00},  /* 1.5 - 0.5 */
        {WEFT_F16, WEFT_SUM, 0x6800, 0x3c00, 0x6800},  /* 2048 + 1 rounds to even, */
        {WEFT_F16, WEFT_SUM, 0x6800, 0x4200, 0x6802},  /* 2048 + 3 too */
        {WEFT_F16, WEFT_SUM, 0x7bff, 0x4b80, 0x7bff},  /* 65504 + 15 stays, */
        {WEFT_F16, WEFT_SUM, 0x7bff, 0x4c00, 0x7c00},  /* + 16 is infinite */
        {WEFT_F16, WEFT_SUM, 0x0001, 0x0001, 0x0002},  /* subnormal */
        {WEFT_F16, WEFT_SUM, 0x8000, 0x8000, 0x8000},  /* -0 */
        {WEFT_F16, WEFT_SUM, 0x7c00, 0xfc00, 0x7fff},  /* not a number */
        {WEFT_F16, WEFT_PROD, 0x3e00, 0xb800, 0xba00}, /* 1.5 * -0.5 */
        {WEFT_F16, WEFT_PROD, 0x0003, 0x3800, 0x0002}, /* half a subnormal, to even */
        {WEFT_F16, WEFT_MIN, 0x3e00, 0xb800, 0xb800},
        {WEFT_F16, WEFT_MIN, 0x3c00, 0x7e00, 0x3c00}, /* a NaN is not taken, */
        {WEFT_F16, WEFT_MIN, 0x7e00, 0x3c00, 0x3c00}, /* and replaced */
        {WEFT_F16, WEFT_MAX, 0xbc00, 0xb800, 0xb800},
        {WEFT_F16, WEFT_MAX, 0x0000, 0x8000, 0x0000}, /* zeros are equal: the element stays */
        {WEFT_BF16, WEFT_SUM, 0x3fc0, 0xbf00, 0x3f80},
        {WEFT_BF16, WEFT_SUM, 0x4380, 0x3f80, 0x4380}, /* 256 + 1 */
        {WEFT_BF16, WEFT_SUM, 0x4380, 0x4040, 0x4382}, /* 256 + 3 */
        {WEFT_BF16, WEFT_SUM, 0x7f7f, 0x7f7f, 0x7f80}, /* infinite */
        {WEFT_BF16, WEFT_SUM, 0x0001, 0x0001, 0x0002},
        {WEFT_BF16, WEFT_SUM, 0x7f80, 0xff80, 0x7fff},
        {WEFT_BF16, WEFT_PROD, 0x3fc0, 0xbf00, 0xbf40},
        {WEFT_BF16, WEFT_PROD, 0x0003, 0x3f00, 0x0002},
        {WEFT_BF16, WEFT_MIN, 0x3fc0, 0xbf00, 0xbf00},
        {WEFT_BF16, WEFT_MIN, 0x7fc0, 0x3f80, 0x3f80},
        {WEFT_BF16, WEFT_MAX, 0xbf80, 0xbf00, 0xbf00},
        {WEFT_BF16, WEFT_MAX, 0x3f80, 0x7fc0, 0x3f80},
        {WEFT_BF16, WEFT_MAX, 0x8000, 0x0000, 0x8000},
    };
    return all[i];
}

WEFT_DEVICE_FN void check_sample(weft_self *self, struct data *user, weft_win win, int way, int i)
{
    const struct sample s = sample_at(i);
    const int to = at_distance(self, way), place = 16 * (i % 4);
    const uint64_t beside = 0xabcd123456789876u & ~((uint64_t)0xffff << place);
    const size_t at = (size_t)way * 8;
    uint64_t *const source = words_of(self, user);

    weft_sync(self);
    if (weft_thread(self) == 0)
        *source = 0x1111111111110000u | s.value;
    weft_swap(self, win, to, at, beside | (uint64_t)s.before << place);
    const weft_op op = weft_accumulate_half_begin(self, win, to, at + (size_t)place / 8, source, 1,
                                                  s.type, s.operation);
    weft_sync(self);
    if (weft_thread(self) == 0)
        *source = 0; /* it may be reused at once */
    weft_op_wait(self, op, WEFT_REMOTE);
    CHECK_EQ(self, &user->check, weft_swap(self, win, to, at, 0),
             beside | (uint64_t)s.after << place);
}

/* ---- many in one call --------------------------------------------------------------------------
 */

/* From the upper half of a word to the lower of another; what lies around them stays. */
WEFT_DEVICE_FN void check_long(weft_self *self, struct data *user, weft_win win, int way)
{
    const int to = at_distance(self, way);
    const size_t at = LONG + (size_t)way * LONG_BYTES;
    uint16_t *const source = (uint16_t *)(void *)words_of(self, user);
    uint64_t wrong = 0;

    weft_sync(self);
    weft_for (i, COUNT)
        source[i] = (uint16_t)(0x3f80 + i % 8); /* from 1.0 in steps of 2^-7 */
    weft_sync(self);
    weft_accumulate_half_begin(self, win, to, at + 2, source, COUNT, WEFT_BF16, WEFT_MAX);
    weft_accumulate_half_begin(self, win, to, at + 2, source, COUNT, WEFT_BF16, WEFT_SUM);
    weft_accumulate_half_begin(self, win, to, at + 2, source, 0, WEFT_F16, WEFT_SUM);
    weft_get(self, win, to, at + 2, source, COUNT * 2);
    weft_for (i, COUNT)
        wrong += source[i] != 0x4000 + i % 8; /* twice as much */
    CHECK_EQ(self, &user->check, wrong, 0);
    weft_get(self, win, to, at, source, 2);
    CHECK_EQ(self, &user->check, source[0], 0);
    weft_get(self, win, to, at + 2 + COUNT * 2, source, 2);
    CHECK_EQ(self, &user->check, source[0], 0);
}

/* ---- all ranks at one word ---------------------------------------------------------------------
 */

/* The whole number that the bits are; digits: of the mantissa, one: the bits of 1.0. */
WEFT_DEVICE_FN uint32_t whole(uint32_t bits, int digits, uint32_t one)
{
    const uint32_t above = bits >> digits, exponent = above - (one >> digits);
    const uint32_t mantissa = (bits & ((1u << digits) - 1)) | 1u << digits;

    return bits == 0 ? 0 : mantissa << 8 >> digits << exponent >> 8;
}

/* By 1.0: each at one of four neighbours, all at one element, and all at many. */
WEFT_DEVICE_FN void check_contention(weft_self *self, struct data *user, weft_win win,
                                     weft_type type)
{
    const uint16_t one = type == WEFT_F16 ? 0x3c00 : 0x3f80;
    const uint32_t n = (uint32_t)weft_size(self, WEFT_COMM_WORLD),
                   me = (uint32_t)weft_rank(self, WEFT_COMM_WORLD);
    const uint32_t each = user->rounds < MOST / n ? user->rounds : MOST / n;
    const size_t every = EVERY + (type == WEFT_F16 ? 0 : ALL * 2);
    const int digits = type == WEFT_F16 ? 10 : 7;
    uint16_t *const source = (uint16_t *)(void *)words_of(self, user);
    uint64_t wrong = 0;

    weft_sync(self);
    weft_for (i, ALL)
        source[i] = one;
    weft_sync(self);
    for (uint32_t i = 0; i < each; i++) {
        weft_accumulate_half_begin(self, win, 0, SHARED + 2 * (me % 4), source, 1, type, WEFT_SUM);
        weft_accumulate_half_begin(self, win, 0, SHARED + 8, source, 1, type, WEFT_SUM);
        weft_accumulate_half_begin(self, win, 0, every, source, ALL, type, WEFT_SUM);
    }
    weft_notify(self, WEFT_COMM_WORLD, 0, TAG_TOLD); /* behind them */
    if (me == 0) {
        weft_wait(self, TAG_TOLD, (int)n);
        const uint64_t four = weft_swap(self, win, 0, SHARED, 0);
        const uint64_t all = weft_swap(self, win, 0, SHARED + 8, 0);
        for (uint32_t k = 0; k < 5; k++) {
            const uint32_t bits = (uint32_t)(k < 4 ? four >> 16 * k : all) & 0xffff;
            const uint32_t adders = k < 4 ? (n + 3 - k) / 4 : n;
            CHECK_EQ(self, &user->check, whole(bits, digits, one), each * adders);
        }
        weft_get(self, win, 0, every, source, ALL * 2);
        weft_for (i, ALL)
            wrong += whole(source[i], digits, one) != each * n;
        CHECK_EQ(self, &user->check, wrong, 0);
    }
    weft_barrier(self, WEFT_COMM_WORLD);
}

WEFT_KERNEL(half_kernel, struct data, user)
{
    weft_enter(self);
    weft_win win =
        weft_win_create(self, WEFT_COMM_WORLD, test_mine(self, user->windows, EACH), EACH);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    for (int way = 0; way < DISTANCES; way++) {
        for (int i = way; i < SAMPLES; i += user->rounds < 10 ? 5 : 1)
            check_sample(self, user, win, way, i);
        check_long(self, user, win, way);
    }
    check_contention(self, user, win, WEFT_F16);
    check_contention(self, user, win, WEFT_BF16);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN, TEST_REGISTERED};

    if (!test_prepare(env, &half_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t ranks = (size_t)env->numbers->ranks_here;
        struct data data = {.windows = test_memory(env, kinds[i], ranks * EACH),
                            .scratch = test_memory(env, kinds[(i + 1) % 3], ranks * SCRATCH),
                            .rounds = env->brief ? 3 : 12 * (uint32_t)env->scale};
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
