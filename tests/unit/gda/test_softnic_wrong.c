/*
 * Requests to the software NIC that are wrong in every way, of which nothing is executed and which
 * fail with the syndrome that a NIC reports; and what fails under way. By the NIC of the host, and
 * the former by the kernel that is one.
 */
#include "softnic_run.h"

/* A right request, then what is to be wrong with its bytes; the syndrome it must have. */
static const struct wrong {
    const char *what;
    int byte;
    unsigned char to;
    uint32_t syndrome;
} wrongs[] = {
    {"a stale index", 2, 1, WEFT_MLX5_LOCAL_OPERATION},
    {"an opcode that is none", 3, 0x1f, WEFT_MLX5_LOCAL_OPERATION},
    {"an opcode modifier", 0, 1, WEFT_MLX5_LOCAL_OPERATION},
    {"a write that takes a receive", 3, 0x09, WEFT_MLX5_LOCAL_OPERATION},
    {"a send", 3, 0x0a, WEFT_MLX5_LOCAL_OPERATION},
    {"another queue", 6, QPN + 1, WEFT_MLX5_LOCAL_OPERATION},
    {"63 units", 7, 63, WEFT_MLX5_LOCAL_OPERATION},
    {"no units", 7, 0, WEFT_MLX5_LOCAL_OPERATION},
    {"two units", 7, 2, WEFT_MLX5_LOCAL_OPERATION},
    {"a signature", 8, 1, WEFT_MLX5_LOCAL_OPERATION},
    {"an unknown flag", 11, 1, WEFT_MLX5_LOCAL_OPERATION},
    {"an immediate", 15, 1, WEFT_MLX5_LOCAL_OPERATION},
    {"another rkey", 27, 1, WEFT_MLX5_REMOTE_ACCESS},
    {"a place outside", 17, 0xff, WEFT_MLX5_REMOTE_ACCESS}, /* 0 in an address of ours */
    {"reserved bits", 31, 1, WEFT_MLX5_LOCAL_OPERATION},
    {"no bytes", 35, 0, WEFT_MLX5_LOCAL_LENGTH},
    {"more bytes than there are", 34, 2, WEFT_MLX5_LOCAL_PROTECTION},
    {"more bytes than may be", 32, 0x7f, WEFT_MLX5_LOCAL_LENGTH},
    {"another lkey", 39, 1, WEFT_MLX5_LOCAL_PROTECTION},
    {"memory of nobody", 40, 0x10, WEFT_MLX5_LOCAL_PROTECTION},
};

static void test_hostile(void **unused)
{
    unsigned char before[BYTES];
    struct weft_wqe wqe;

    (void)unused;
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        open_bench(0);
        memset(b.memory, 0x5a, 8);
        memcpy(before, b.memory, BYTES);
        for (int k = 0; k < 2; k++) { /* and one behind it, which is not executed either */
            weft_wqe_move(&wqe, WEFT_MLX5_WRITE, b.here.posted, QPN, at(64), part(0, 8), true);
            if (k == 0)
                ((unsigned char *)wqe.word)[wrongs[i].byte] = wrongs[i].to;
            weft_gda_post(&b.here, &wqe, true);
        }
        if (ring_and_serve() || b.here.syndrome != wrongs[i].syndrome || b.here.failed != 0)
            fail_msg("%s: syndrome 0x%x at index %u", wrongs[i].what, b.here.syndrome,
                     b.here.failed);
        assert_memory_equal(b.memory, before, BYTES);
        assert_false(weft_gda_poll(&b.here)); /* it stays an error */
        assert_int_equal(report()->failures, by_block);
        assert_int_equal(report()->failed[0], by_block ? wrongs[i].syndrome : 0);
    }
}

/* A doorbell that goes beyond its record, or is another queue's; a record that goes too far. */
static void test_doorbells(void **unused)
{
    static const struct {
        uint32_t record, rung, qpn;
    } wrong[] = {{1, 2, QPN}, {1, 1, QPN + 1}, {DEPTH + 1, DEPTH + 1, QPN}, {0xffff, 0xffff, QPN}};

    (void)unused;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        open_bench(0);
        b.here.posted = wrong[i].rung;
        b.record[1] = weft_be32(wrong[i].record);
        b.doorbell = weft_mlx5_doorbell(wrong[i].rung, wrong[i].qpn);
        assert_false(serve());
        assert_int_equal(b.here.syndrome, WEFT_MLX5_LOCAL_OPERATION);
    }
}

static bool begin_third(struct weft_softnic_queue *queue, struct weft_softnic_work *work)
{
    if (work->index != 2)
        return weft_softnic_loop.begin(queue, work);
    weft_softnic_finish(work, WEFT_MLX5_RETRIES);
    return true;
}

/* The third request fails: the two before it are executed, those behind it are not. */
static void test_faults(void **unused)
{
    const struct weft_softnic_wire wire = {.begin = begin_third,
                                           .proceed = weft_softnic_loop.proceed};

    (void)unused;
    open_bench(0);
    b.there.wire = &wire;
    for (int i = 0; i < 5; i++)
        post_atomic(WEFT_MLX5_FETCH_ADD, 1, 0, 0);
    weft_gda_ring(&b.here);
    assert_true(weft_softnic_round(&b.there));
    assert_false(serve());
    assert_int_equal(b.here.syndrome, WEFT_MLX5_RETRIES);
    assert_int_equal(b.here.failed, 2);
    assert_int_equal(word_at(8), 2);
}

static bool copy_no_slot(void *context, void *target, const void *source, size_t bytes)
{
    (void)context;
    if (bytes == WEFT_MLX5_SLOT)
        return false;
    memcpy(target, source, bytes);
    return true;
}

/* Slots that the device does not hand out, so that the job ends: what was there before is not taken
 * for them. */
static void test_no_slots(void **unused)
{
    const struct weft_softnic_far far = {.copy = copy_no_slot};

    (void)unused;
    open_bench(0);
    b.nic.far = &far;
    b.there.wqe_far = true;
    post_nothing();
    weft_gda_ring(&b.here);
    for (int i = 0; i < 3; i++)
        weft_softnic_round(&b.there);
    assert_true(weft_gda_poll(&b.here));
    assert_int_equal(b.here.done, 0);
    assert_int_equal(b.there.broken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_doorbells),
        cmocka_unit_test(test_faults),  cmocka_unit_test(test_no_slots),
        BY_BLOCK(test_hostile),         BY_BLOCK(test_doorbells),
    };
    return cmocka_run_group_tests(tests, NULL, close_bench);
}
