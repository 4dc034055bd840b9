/*
 * Atomic updates: what each call does to a word, alone and when all ranks go for the same one; each
 * type and operation of accumulate; and their order: who sees an update, or is notified behind it,
 * sees what came before it.
 */
#include "support/test.h"

enum {
    OWN = 128, /* of a window, for the words of the rank at one distance */
    DISTANCES = 3,
    COUNT = 600, /* words of 8 bytes: a long accumulate, of the rank at a distance, too */
    LONG = OWN * DISTANCES,
    MESSAGE = LONG + COUNT * 8 * DISTANCES,
    MESSAGE_BYTES = 1500,
    SUM = MESSAGE + 1504, /* words of rank 0 that all update */
    SUM32 = SUM + 8,
    LOCK = SUM + 16,
    GUARDED = SUM + 24, /* by the lock */
    TOTAL = SUM + 32,   /* an accumulated one */
    FLAG = SUM + 40,
    TICKETS = SUM + 48, /* a word of 4 bytes each */
    MOST = 4096,
    EACH = TICKETS + MOST * 4,
    SCRATCH = COUNT * 8 + 1504 + 64,
    TAG_TOLD = 3,
    TAG_FREE = 4
};
static_assert(EACH % 16 == 0 && SCRATCH % 16 == 0 && SUM % 8 == 0, "all words are aligned");

struct data {
    struct test_check check;
    unsigned char *windows, *scratch; /* EACH and SCRATCH bytes a rank */
    uint32_t rounds;
};

WEFT_DEVICE_FN int at_distance(weft_self *self, int way)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), d = way == 0 ? 0 : way == 1 ? 1 : n / 2;
    return (weft_rank(self, WEFT_COMM_WORLD) + d) % n;
}

WEFT_DEVICE_FN uint64_t *words_of(weft_self *self, struct data *user)
{
    return (uint64_t *)(void *)test_mine(self, user->scratch, SCRATCH);
}

/* A word, by a get. */
WEFT_DEVICE_FN uint64_t fetch(weft_self *self, struct data *user, weft_win win, int from,
                              size_t offset)
{
    uint64_t *const to = words_of(self, user);

    weft_get(self, win, from, offset, to, 8);
    const uint64_t value = *to;
    weft_sync(self);
    return value;
}

/* ---- one word ------------------------------------------------------------------------------- */

/* Words of 8 and of 4 bytes; their neighbours stay. */
WEFT_DEVICE_FN void check_words(weft_self *self, struct data *user, weft_win win, int way)
{
    struct test_check *const check = &user->check;
    const uint64_t big = 0x8000000000000001u;
    const int to = at_distance(self, way);
    const size_t at = (size_t)way * OWN;
    uint64_t *const old = words_of(self, user) + 1;

    CHECK_EQ(self, check, weft_fetch_add(self, win, to, at, big), 0);
    CHECK_EQ(self, check, weft_fetch_add(self, win, to, at, big), big);
    CHECK_EQ(self, check, weft_swap(self, win, to, at, 7), 2); /* the sum has wrapped */
    CHECK_EQ(self, check, weft_compare_swap(self, win, to, at, 8, 9), 7);
    CHECK_EQ(self, check, weft_compare_swap(self, win, to, at, 7, big), 7);
    CHECK_EQ(self, check, fetch(self, user, win, to, at), big);
    weft_add(self, win, to, at, big);
    CHECK_EQ(self, check, weft_swap(self, win, to, at, 0), 2);

    CHECK_EQ(self, check, weft_fetch_add_u32(self, win, to, at + 12, 0xfffffffeu), 0);
    CHECK_EQ(self, check, weft_fetch_add_u32(self, win, to, at + 12, 3), 0xfffffffeu);
    CHECK_EQ(self, check, weft_swap_u32(self, win, to, at + 12, 0x80000000u), 1);
    CHECK_EQ(self, check, weft_compare_swap_u32(self, win, to, at + 12, 1, 2), 0x80000000u);
    CHECK_EQ(self, check, weft_compare_swap_u32(self, win, to, at + 12, 0x80000000u, 5),
             0x80000000u);
    CHECK_EQ(self, check, fetch(self, user, win, to, at + 8), (uint64_t)5 << 32);

    weft_op op = weft_fetch_add_begin(self, win, to, at + 16, 11, old);
    weft_op_wait(self, op, WEFT_LOCAL);
    CHECK_EQ(self, check, *old, 0);
    weft_sync(self);
    for (int i = 0; i < 40; i++) /* more than may be under way at once */
        op = weft_fetch_add_begin(self, win, to, at + 16, 1, i == 39 ? old : NULL);
    weft_op_wait(self, op, WEFT_REMOTE);
    CHECK_EQ(self, check, *old, 50);
    weft_sync(self);
    CHECK_EQ(self, check, weft_swap(self, win, to, at + 16, 0), 51);
    CHECK_EQ(self, check, weft_swap_u32(self, win, to, at + 12, 0), 5);
    CHECK_EQ(self, check, fetch(self, user, win, to, at + 24), 0);

    CHECK_EQ(self, check, weft_fetch_add_relaxed(self, win, to, at + 16, big), 0);
    CHECK_EQ(self, check, weft_swap_relaxed(self, win, to, at + 16, 7), big);
    CHECK_EQ(self, check, weft_compare_swap_relaxed(self, win, to, at + 16, 8, 9), 7);
    CHECK_EQ(self, check, weft_compare_swap_relaxed(self, win, to, at + 16, 7, 0), 7);
    CHECK_EQ(self, check, weft_fetch_add_u32_relaxed(self, win, to, at + 12, 0xffffffffu), 0);
    CHECK_EQ(self, check, weft_swap_u32_relaxed(self, win, to, at + 12, 3), 0xffffffffu);
    CHECK_EQ(self, check, weft_compare_swap_u32_relaxed(self, win, to, at + 12, 3, 0), 3);
    CHECK_EQ(self, check, fetch(self, user, win, to, at + 8), 0);
    CHECK_EQ(self, check, fetch(self, user, win, to, at + 16), 0);
}

/* ---- each type and operation ------------------------------------------------------------------
 */

struct sample {
    weft_type type;
    weft_operation operation;
    uint64_t before, value, after; /* bits, of 4 bytes in the lower half */
};

#define F32_NAN     0x7fc00000u
#define F64_NAN     0x7ff8000000000000u
#define F64_MINUS_0 0x8000000000000000u

enum { SAMPLES = 41 };
WEFT_DEVICE_FN struct sample sample_at(int i)
{
    const uint64_t m5 = (uint64_t)-5, m5_32 = (uint32_t)-5, low = 0x8000000000000000u;
    const struct sample all[SAMPLES] = {
        {WEFT_I32, WEFT_SUM, 3, m5_32, (uint32_t)-2},
        {WEFT_I32, WEFT_SUM, 0x7fffffff, 1, 0x80000000u}, /* wraps */
        {WEFT_I32, WEFT_MIN, 3, m5_32, m5_32},
        {WEFT_I32, WEFT_MIN, m5_32, 3, m5_32},
        {WEFT_I32, WEFT_MAX, m5_32, 3, 3},
        {WEFT_I32, WEFT_AND, 0xf0f0f0f0u, 0xff00ff00u, 0xf000f000u},
        {WEFT_I32, WEFT_OR, 0xf0f0f0f0u, 0xff00ff00u, 0xfff0fff0u},
        {WEFT_I32, WEFT_XOR, 0xf0f0f0f0u, 0xff00ff00u, 0x0ff00ff0u},
        {WEFT_I32, WEFT_PROD, 3, m5_32, (uint32_t)-15},
        {WEFT_U32, WEFT_SUM, 0xffffffffu, 2, 1},
        {WEFT_U32, WEFT_MIN, m5_32, 3, 3},
        {WEFT_U32, WEFT_MAX, m5_32, 3, m5_32},
        {WEFT_U32, WEFT_XOR, 0xffffffffu, 0x80000001u, 0x7ffffffeu},
        {WEFT_I64, WEFT_SUM, 3, m5, (uint64_t)-2},
        {WEFT_I64, WEFT_MIN, 3, m5, m5},
        {WEFT_I64, WEFT_MIN, low, 3, low},
        {WEFT_I64, WEFT_MAX, m5, 3, 3},
        {WEFT_I64, WEFT_AND, m5, 0xff, 0xfb},
        {WEFT_U64, WEFT_SUM, m5, 6, 1},
        {WEFT_U64, WEFT_MIN, m5, 3, 3},
        {WEFT_U64, WEFT_MAX, 3, low, low},
        {WEFT_U64, WEFT_OR, low, 1, low + 1},
        {WEFT_U64, WEFT_XOR, low + 1, 1, low},
        {WEFT_U64, WEFT_PROD, low + 1, 3, low + 3},                  /* wraps */
        {WEFT_F32, WEFT_SUM, 0x3fc00000u, 0xbf000000u, 0x3f800000u}, /* 1.5 - 0.5 */
        {WEFT_F32, WEFT_MIN, 0x3fc00000u, 0xbf000000u, 0xbf000000u},
        {WEFT_F32, WEFT_MAX, 0xbf800000u, 0xbf000000u, 0xbf000000u}, /* -1, -0.5 */
        {WEFT_F32, WEFT_MIN, 0x3f800000u, F32_NAN, 0x3f800000u},     /* a NaN is not taken, */
        {WEFT_F32, WEFT_MIN, F32_NAN, 0x3f800000u, 0x3f800000u},     /* and replaced */
        {WEFT_F32, WEFT_MAX, 0, 0x80000000u, 0},
        {WEFT_F64, WEFT_SUM, 0x3ff8000000000000u, 0xbfe0000000000000u, 0x3ff0000000000000u},
        {WEFT_F64, WEFT_PROD, 0x3ff8000000000000u, 0xbfe0000000000000u, 0xbfe8000000000000u},
        {WEFT_F64, WEFT_MIN, 0x3ff0000000000000u, 0xbfe0000000000000u, 0xbfe0000000000000u},
        {WEFT_F64, WEFT_MAX, 0xbff0000000000000u, 0xbfe0000000000000u, 0xbfe0000000000000u},
        {WEFT_F64, WEFT_MAX, 0x3ff0000000000000u, F64_NAN, 0x3ff0000000000000u},
        {WEFT_F64, WEFT_MAX, F64_NAN, 0x3ff0000000000000u, 0x3ff0000000000000u},
        {WEFT_F64, WEFT_MAX, F64_NAN, F64_NAN, F64_NAN},
        {WEFT_F64, WEFT_MIN, 0, F64_MINUS_0, 0}, /* zeros are equal: the word stays */
        {WEFT_F64, WEFT_MIN, F64_MINUS_0, 0, F64_MINUS_0},
        {WEFT_F64, WEFT_MAX, F64_MINUS_0, 0, F64_MINUS_0},
        {WEFT_F64, WEFT_SUM, F64_MINUS_0, F64_MINUS_0, F64_MINUS_0},
    };
    return all[i];
}

/* A word behind it stays, also of the same 8 bytes. */
WEFT_DEVICE_FN void check_sample(weft_self *self, struct data *user, weft_win win, int way,
                                 const struct sample *s)
{
    const bool small = s->type == WEFT_I32 || s->type == WEFT_U32 || s->type == WEFT_F32;
    const uint64_t beside = small ? (uint64_t)0xabcdabcdu << 32 : 0;
    const int to = at_distance(self, way);
    const size_t at = (size_t)way * OWN + 32;
    uint64_t *const source = words_of(self, user) + 1;

    weft_sync(self);
    if (weft_thread(self) == 0)
        *source = s->value | (small ? (uint64_t)0x11111111u << 32 : 0);
    weft_swap(self, win, to, at, beside | s->before);
    const weft_op op = weft_accumulate_begin(self, win, to, at, source, 1, s->type, s->operation);
    weft_sync(self);
    if (weft_thread(self) == 0)
        *source = 0; /* it may be reused at once */
    weft_op_wait(self, op, WEFT_REMOTE);
    CHECK_EQ(self, &user->check, weft_swap(self, win, to, at, 0), beside | s->after);
}

/* More than one message carries, by each type's width. */
WEFT_DEVICE_FN void check_long(weft_self *self, struct data *user, weft_win win, int way)
{
    const int to = at_distance(self, way), me = weft_rank(self, WEFT_COMM_WORLD);
    const size_t at = LONG + (size_t)way * COUNT * 8;
    uint64_t *const source = words_of(self, user);
    uint32_t *const narrow = (uint32_t *)source;
    uint64_t wrong = 0;

    weft_sync(self);
    weft_for (i, COUNT)
        source[i] = ((uint64_t)me << 32) + i;
    weft_sync(self);
    weft_accumulate_begin(self, win, to, at, source, COUNT, WEFT_U64, WEFT_SUM);
    weft_accumulate_begin(self, win, to, at, source, COUNT, WEFT_U64, WEFT_SUM);
    weft_sync(self);
    weft_for (i, COUNT + 1)
        narrow[i] = (uint32_t)i;
    weft_sync(self);
    /* The upper halves of some and the lower of others: one of 4 bytes at an odd place. */
    weft_accumulate_begin(self, win, to, at + 4, narrow, COUNT + 1, WEFT_U32, WEFT_XOR);
    weft_accumulate_begin(self, win, to, at + 4, narrow, COUNT + 1, WEFT_U32, WEFT_XOR);
    weft_get(self, win, to, at, source, COUNT * 8);
    weft_for (i, COUNT)
        wrong += source[i] != 2 * (((uint64_t)me << 32) + i);
    CHECK_EQ(self, &user->check, wrong, 0);
    weft_sync(self);
    weft_for (i, COUNT)
        source[i] = 0;
    weft_accumulate_begin(self, win, to, at, source, COUNT, WEFT_U64, WEFT_AND);
    CHECK_EQ(self, &user->check, fetch(self, user, win, to, at + (COUNT - 1) * 8), 0);
    weft_accumulate_begin(self, win, to, at, source, 0, WEFT_U64, WEFT_AND);
}

/* ---- all ranks at one word ---------------------------------------------------------------------
 */

/* Every old value is seen by one rank: each marks its own at rank 0, where all are looked at. */
WEFT_DEVICE_FN void check_contention(weft_self *self, struct data *user, weft_win win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const uint32_t each = user->rounds * (uint32_t)n < MOST ? user->rounds : MOST / (uint32_t)n;
    const uint64_t all = (uint64_t)each * (uint64_t)n;
    const unsigned char *const window = test_mine(self, user->windows, EACH);
    uint64_t *const one = words_of(self, user) + 2;

    weft_sync(self);
    if (weft_thread(self) == 0) {
        const double half = 0.5;
        *one = 0;
        for (int i = 0; i < 8; i++)
            ((unsigned char *)one)[i] = ((const unsigned char *)&half)[i];
    }
    for (uint32_t i = 0; i < each; i++) {
        const uint64_t old = i % 2 == 0 ? weft_fetch_add(self, win, 0, SUM, 1)
                                        : weft_fetch_add_relaxed(self, win, 0, SUM, 1);
        CHECK(self, &user->check, old < all);
        if (old < all)
            CHECK_EQ(self, &user->check, weft_swap_u32(self, win, 0, TICKETS + (size_t)old * 4, 1),
                     0);
        weft_fetch_add_u32(self, win, 0, SUM32, 3);
        weft_accumulate_begin(self, win, 0, TOTAL, one, 1, WEFT_F64, WEFT_SUM);
        /* A lock by compare_swap; what it guards is read and written by its holder alone. */
        while (weft_compare_swap(self, win, 0, LOCK, 0, (uint64_t)me + 1) != 0)
            continue;
        const uint64_t guarded = fetch(self, user, win, 0, GUARDED);
        if (weft_thread(self) == 0)
            *words_of(self, user) = guarded + 1;
        weft_put(self, win, 0, GUARDED, words_of(self, user), 8);
        weft_flush(self, win);
        CHECK_EQ(self, &user->check, weft_swap(self, win, 0, LOCK, 0), me + 1);
    }
    weft_flush(self, win);
    weft_barrier(self, WEFT_COMM_WORLD);
    if (me == 0) {
        uint64_t marked = 0;
        test_will_read(window + TICKETS, all * 4);
        for (uint64_t i = 0; i < all; i++)
            marked += *(const uint32_t *)(const void *)(window + TICKETS + i * 4);
        CHECK_EQ(self, &user->check, marked, all);
        CHECK_EQ(self, &user->check, weft_swap(self, win, 0, SUM, 0), all);
        CHECK_EQ(self, &user->check, weft_swap_u32(self, win, 0, SUM32, 0), 3 * all);
        CHECK_EQ(self, &user->check, fetch(self, user, win, 0, GUARDED), all);
        const double sum = 0.5 * (double)all;
        uint64_t bits = 0;
        for (int i = 0; i < 8; i++)
            ((unsigned char *)&bits)[i] = ((const unsigned char *)&sum)[i];
        CHECK_EQ(self, &user->check, weft_swap(self, win, 0, TOTAL, 0), bits);
    }
    weft_barrier(self, WEFT_COMM_WORLD);
}

/* ---- order -------------------------------------------------------------------------------------
 */

/*
 * Each rank puts to its right neighbour and updates a flag there. The neighbour sees what was put
 * when it has seen the update: by an update of its own, by polling, or by a notification behind it.
 */
WEFT_DEVICE_FN void check_order(weft_self *self, struct data *user, weft_win win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int right = (me + 1) % n, left = (me + n - 1) % n;
    const unsigned char *const window = test_mine(self, user->windows, EACH);
    unsigned char *const source = test_mine(self, user->scratch, SCRATCH) + COUNT * 8;

    for (uint64_t round = 1; round <= user->rounds; round++) {
        const size_t bytes = round % 3 == 0 ? MESSAGE_BYTES : round % 3 == 1 ? 8 : 100;
        test_fill(self, source, bytes, round * 1000 + (uint64_t)me);
        weft_put(self, win, right, MESSAGE, source, bytes);
        weft_add(self, win, right, FLAG, 1);
        if (round % 2 == 0) {
            weft_notify(self, WEFT_COMM_WORLD, right, TAG_TOLD);
            weft_wait(self, TAG_TOLD, 1);
            CHECK_EQ(self, &user->check, fetch(self, user, win, me, FLAG), round);
        } else {
            while (weft_fetch_add(self, win, me, FLAG, 0) != round)
                continue;
        }
        CHECK_EQ(self, &user->check,
                 test_differs(self, window + MESSAGE, bytes, round * 1000 + (uint64_t)left), 0);
        weft_notify(self, WEFT_COMM_WORLD, left, TAG_FREE);
        weft_wait(self, TAG_FREE, 1);
        weft_flush_local(self, win);
    }
    weft_barrier(self, WEFT_COMM_WORLD);
}

WEFT_KERNEL(update_kernel, struct data, user)
{
    weft_enter(self);
    weft_win win =
        weft_win_create(self, WEFT_COMM_WORLD, test_mine(self, user->windows, EACH), EACH);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    for (int way = 0; way < DISTANCES; way++) {
        check_words(self, user, win, way);
        for (int i = way; i < SAMPLES; i += user->rounds < 10 ? 5 : 1) {
            const struct sample s = sample_at(i);
            check_sample(self, user, win, way, &s);
        }
        check_long(self, user, win, way);
    }
    check_contention(self, user, win);
    check_order(self, user, win);
    weft_add(self, win, at_distance(self, 2), 0, 1); /* under way at the end: it counts */
    weft_win_free(self, &win);
    weft_leave(self);
    CHECK_EQ(self, &user->check,
             test_peek_u64((const uint64_t *)(const void *)test_mine(self, user->windows, EACH)),
             1);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN, TEST_REGISTERED};

    if (!test_prepare(env, &update_kernel))
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
