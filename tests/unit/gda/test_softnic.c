/*
 * Requests to the software NIC that are right: indexes that wrap, rings that are full, atomics, and
 * every alignment; its keys. By the NIC of the host, and by the kernel that is one.
 */
#include "softnic_run.h"

/* Writes and sums, as many as fit, from an index on: none lost, none twice. */
static void run_through(uint64_t start)
{
    const uint64_t REQUESTS = by_block ? 2002 : 100000; /* each at the cost of many fibers */
    uint64_t adds = 0;

    open_bench(start);
    for (uint64_t i = 0; i < REQUESTS; i++) {
        const bool add = i % 3 == 0;
        const uint32_t bytes = 1 + (uint32_t)(i % WEFT_MLX5_INLINE_MOST);
        unsigned char data[WEFT_MLX5_INLINE_MOST];
        struct weft_wqe wqe;
        while (!weft_gda_has_room(&b.here, 2)) {
            if (b.here.asked != b.here.posted)
                post_nothing();
            assert_true(ring_and_serve());
        }
        memset(data, (int)(i & 0xff), sizeof(data));
        if (add) {
            post_atomic(WEFT_MLX5_FETCH_ADD, 1, 0, 0);
        } else {
            const bool complete = bytes <= WEFT_MLX5_INLINE_SLOT && weft_gda_is_due(&b.here);
            weft_wqe_inline(&wqe, b.here.posted, QPN, at(16), data, bytes, complete);
            weft_gda_post(&b.here, &wqe, complete);
        }
        adds += add;
        if (i % 7 == 0) /* a batch of seven */
            assert_true(ring_and_serve());
    }
    assert_true(ring_and_serve());
    assert_int_equal(word_at(8), adds);
    assert_int_equal(by_block ? b.block_there.fetched : b.there.fetched, b.here.posted);
    assert_int_equal(b.memory[16], (REQUESTS - 2) & 0xff); /* of the last write */
}

static void test_wrap(void **unused)
{
    static const uint64_t starts[] = {0, 0xfff0, UINT64_MAX - 40};

    (void)unused;
    for (int i = 0; i < 3; i++)
        run_through(starts[i]);
    printf("none lost, none twice\n");
}

static void test_atomics(void **unused)
{
    const uint64_t first = 5;

    (void)unused;
    open_bench(0);
    memcpy(b.memory + 8, &first, 8);
    post_atomic(WEFT_MLX5_COMPARE_SWAP, 9, 5, 32);
    post_move(WEFT_MLX5_READ, 8, 40, 8);
    assert_true(ring_and_serve());
    assert_int_equal(b.here.done, 2);
    assert_int_equal(word_at(32), 5);
    assert_int_equal(word_at(40), 9);
}

/* Writes and reads of every alignment, and a sum whose old value comes to an odd place. */
static void test_alignments(void **unused)
{
    unsigned char model[BYTES];

    (void)unused;
    open_bench(0);
    for (int i = 0; i < BYTES; i++)
        b.memory[i] = (unsigned char)(i * 7);
    memcpy(model, b.memory, BYTES);
    for (uint32_t i = 0; i < 200; i++) {
        const uint32_t bytes = 1 + i % 61, from = i % 17, to = 128 + i % 13;
        if (i % 2 == 0)
            post_move(WEFT_MLX5_READ, from, to, bytes);
        else
            post_move(WEFT_MLX5_WRITE, to, from, bytes);
        memcpy(model + to, model + from, bytes);
        assert_true(ring_and_serve());
        assert_memory_equal(b.memory, model, BYTES);
    }
    const uint64_t old = word_at(8);
    post_atomic(WEFT_MLX5_FETCH_ADD, 5, 0, 101);
    assert_true(ring_and_serve());
    assert_int_equal(word_at(101), old);
    assert_int_equal(word_at(8), old + 5);
}

static void test_keys(void **unused)
{
    static const struct {
        uint64_t at, bytes;
        uint32_t lkey;
    } cases[] = {{100, 100, 1}, {199, 2, 0 /* in two */}, {200, 1, 2}, {299, 1, 2}, {300, 1, 0},
                 {99, 1, 0},    {499, UINT64_MAX, 0},     {500, 1, 0}};
    struct weft_gda_keys keys = {.count = 3,
                                 .key = {{.begin = 100, .end = 200, .lkey = 1},
                                         {.begin = 200, .end = 300, .lkey = 2},
                                         {.begin = 400, .end = 500, .lkey = 3}}};

    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(weft_gda_key_of(&keys, cases[i].at, cases[i].bytes), cases[i].lkey);
    keys.count = 0;
    assert_int_equal(weft_gda_key_of(&keys, 100, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_alignments),
        cmocka_unit_test(test_keys),
        BY_BLOCK(test_wrap),
        BY_BLOCK(test_atomics),
        BY_BLOCK(test_alignments),
    };
    return cmocka_run_group_tests(tests, NULL, close_bench);
}
