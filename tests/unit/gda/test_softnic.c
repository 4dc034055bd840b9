/*
 * A rank's end of a queue and the software NIC's, in one thread: indexes that wrap, rings that are
 * full, and requests that are wrong in every way, of which nothing is executed and which fail with
 * the syndrome that a NIC reports. All of it twice: by the NIC of the host, and by the kernel that
 * is one, on an emulated warp.
 */
#include "base/task.h"
#include "gda/softnic/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/warp.h"

/* What nvcc has. */
#define __global__
#define __shared__                       static
#define __launch_bounds__(threads, each) /* nothing */
#define __syncthreads()                  __syncwarp()
static struct {
    unsigned x;
} blockIdx, gridDim = {1}, blockDim = {LANES};
#include "gda/softnic/block.cu"

enum { DEPTH = 16, QPN = 7, KEY = 0x300, BYTES = 256 };

/* A queue with both ends. */
static struct bench {
    _Alignas(64) unsigned char wqe[DEPTH * WEFT_MLX5_SLOT], cqe[DEPTH * WEFT_MLX5_CQE_BYTES];
    uint32_t record[2];
    uint64_t doorbell;
    _Alignas(8) unsigned char memory[BYTES];
    struct weft_bell bell;
    struct weft_gda_keys keys;
    struct weft_softnic nic;
    struct weft_softnic_queue there;
    struct weft_gda_queue here;
    struct weft_nic block;
    struct weft_nic_queue block_there;
    _Alignas(8) unsigned char report[sizeof(struct weft_nic_report) + sizeof(uint64_t)];
} b;
static bool by_block; /* which of the two serves */

static struct weft_nic_report *report(void)
{
    return (struct weft_nic_report *)(void *)b.report;
}

static void open_bench(uint64_t start)
{
    const uint64_t memory = (uint64_t)(uintptr_t)b.memory;

    weft_softnic_close(&b.there);
    memset(&b, 0, sizeof(b));
    memset(b.cqe, 0xff, sizeof(b.cqe));
    b.record[1] = weft_be32((uint32_t)(start & 0xffff));
    b.doorbell = weft_mlx5_doorbell(start, QPN);
    b.keys = (struct weft_gda_keys){.count = 1,
                                    .key = {{.begin = memory, .end = memory + BYTES, .lkey = KEY}}};
    b.nic = (struct weft_softnic){.keys = &b.keys, .bell = &b.bell};
    b.there = (struct weft_softnic_queue){.nic = &b.nic,
                                          .wire = &weft_softnic_loop,
                                          .wqe = b.wqe,
                                          .cqe = b.cqe,
                                          .record = b.record,
                                          .doorbell = &b.doorbell,
                                          .qpn = QPN,
                                          .slots = DEPTH};
    b.here = (struct weft_gda_queue){.wqe = (uint64_t *)(void *)b.wqe,
                                     .cqe = b.cqe,
                                     .record = b.record,
                                     .doorbell = &b.doorbell,
                                     .sink = memory,
                                     .sink_lkey = KEY,
                                     .qpn = QPN,
                                     .slots = DEPTH,
                                     .posted = start,
                                     .rung = start,
                                     .done = start,
                                     .asked = start};
    assert_true(weft_softnic_open(&b.there, start));
    b.block_there = (struct weft_nic_queue){.wqe = b.here.wqe,
                                            .cqe = b.cqe,
                                            .record = b.record,
                                            .doorbell = &b.doorbell,
                                            .qpn = QPN,
                                            .slots = DEPTH,
                                            .fetched = start,
                                            .failed = report()->failed};
    b.block = (struct weft_nic){
        .queues = &b.block_there, .keys = &b.keys, .report = report(), .count = 1};
}

static struct weft_gda_remote at(size_t offset)
{
    return (struct weft_gda_remote){(uint64_t)(uintptr_t)b.memory + offset, KEY};
}

static struct weft_gda_local part(size_t offset, uint32_t bytes)
{
    return (struct weft_gda_local){(uint64_t)(uintptr_t)b.memory + offset, bytes, KEY};
}

/* Told to leave, it does what there is first. */
static void run_block(void)
{
    static struct weft_beside_control control = {.leave = {{.word = 1}}};
    weft_nic_block(&b.block, &control, 1);
}

/* The NIC does all that it can; the rank hears of it. False: a request failed. */
static bool serve(void)
{
    if (by_block)
        run_warp(run_block);
    while (!by_block && weft_softnic_round(&b.there))
        continue;
    for (int i = 0; i < DEPTH; i++)
        if (!weft_gda_poll(&b.here))
            return false;
    return true;
}

/* Writes and sums, as many as fit, from an index on: none lost, none twice. */
static void run_through(uint64_t start)
{
    const uint64_t REQUESTS = by_block ? 2002 : 100000; /* each at the cost of many fibers */
    uint64_t sum = 0, adds = 0;

    open_bench(start);
    for (uint64_t i = 0; i < REQUESTS; i++) {
        const bool add = i % 3 == 0;
        const uint32_t bytes = 1 + (uint32_t)(i % WEFT_MLX5_INLINE_MOST);
        unsigned char data[WEFT_MLX5_INLINE_MOST];
        struct weft_wqe wqe;
        while (!weft_gda_has_room(&b.here, 2)) {
            if (b.here.asked != b.here.posted) {
                weft_wqe_control(&wqe, WEFT_MLX5_NOP, b.here.posted, QPN, 1, true);
                weft_gda_post(&b.here, &wqe, true);
            }
            weft_gda_ring(&b.here);
            assert_true(serve());
        }
        memset(data, (int)(i & 0xff), sizeof(data));
        const bool complete = add || (bytes <= WEFT_MLX5_INLINE_SLOT && weft_gda_is_due(&b.here));
        if (add)
            weft_wqe_atomic(&wqe, WEFT_MLX5_FETCH_ADD, b.here.posted, QPN, at(8), 1, 0, part(0, 8),
                            true);
        else
            weft_wqe_inline(&wqe, b.here.posted, QPN, at(16), data, bytes, complete);
        weft_gda_post(&b.here, &wqe, complete);
        adds += add;
        if (i % 7 == 0) { /* a batch of seven */
            weft_gda_ring(&b.here);
            assert_true(serve());
        }
    }
    weft_gda_ring(&b.here);
    assert_true(serve());
    memcpy(&sum, b.memory + 8, sizeof(sum));
    assert_int_equal(sum, adds);
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
    uint64_t old;
    struct weft_wqe wqe;

    (void)unused;
    open_bench(0);
    memcpy(b.memory + 8, &first, 8);
    weft_wqe_atomic(&wqe, WEFT_MLX5_COMPARE_SWAP, 0, QPN, at(8), 9, 5, part(32, 8), true);
    weft_gda_post(&b.here, &wqe, true);
    weft_wqe_move(&wqe, WEFT_MLX5_READ, 1, QPN, at(8), part(40, 8), true);
    weft_gda_post(&b.here, &wqe, true);
    weft_gda_ring(&b.here);
    assert_true(serve());
    assert_int_equal(b.here.done, 2);
    memcpy(&old, b.memory + 32, 8);
    assert_int_equal(old, 5);
    memcpy(&old, b.memory + 40, 8);
    assert_int_equal(old, 9);
}

/* Writes and reads of every alignment, and a sum whose old value comes to an odd place. */
static void test_alignments(void **unused)
{
    unsigned char model[BYTES];
    struct weft_wqe wqe;
    uint64_t old;

    (void)unused;
    open_bench(0);
    for (int i = 0; i < BYTES; i++)
        b.memory[i] = (unsigned char)(i * 7);
    memcpy(model, b.memory, BYTES);
    for (uint32_t i = 0; i < 200; i++) {
        const uint32_t bytes = 1 + i % 61, from = i % 17, to = 128 + i % 13;
        const bool reads = i % 2 == 0;
        weft_wqe_move(&wqe, reads ? WEFT_MLX5_READ : WEFT_MLX5_WRITE, b.here.posted, QPN,
                      at(reads ? from : to), part(reads ? to : from, bytes), true);
        weft_gda_post(&b.here, &wqe, true);
        memcpy(model + to, model + from, bytes);
        weft_gda_ring(&b.here);
        assert_true(serve());
        assert_memory_equal(b.memory, model, BYTES);
    }
    memcpy(&old, b.memory + 8, 8);
    weft_wqe_atomic(&wqe, WEFT_MLX5_FETCH_ADD, b.here.posted, QPN, at(8), 5, 0, part(101, 8), true);
    weft_gda_post(&b.here, &wqe, true);
    weft_gda_ring(&b.here);
    assert_true(serve());
    assert_memory_equal(b.memory + 101, &old, 8);
    old += 5;
    assert_memory_equal(b.memory + 8, &old, 8);
}

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
        weft_gda_ring(&b.here);
        if (serve() || b.here.syndrome != wrongs[i].syndrome || b.here.failed != 0)
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
    struct weft_wqe wqe;
    uint64_t sum;

    (void)unused;
    open_bench(0);
    b.there.wire = &wire;
    for (int i = 0; i < 5; i++) {
        weft_wqe_atomic(&wqe, WEFT_MLX5_FETCH_ADD, b.here.posted, QPN, at(8), 1, 0, part(0, 8),
                        true);
        weft_gda_post(&b.here, &wqe, true);
    }
    weft_gda_ring(&b.here);
    assert_true(weft_softnic_round(&b.there));
    assert_false(serve());
    assert_int_equal(b.here.syndrome, WEFT_MLX5_RETRIES);
    assert_int_equal(b.here.failed, 2);
    memcpy(&sum, b.memory + 8, sizeof(sum));
    assert_int_equal(sum, 2);
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
    struct weft_wqe wqe;

    (void)unused;
    open_bench(0);
    b.nic.far = &far;
    b.there.wqe_far = true;
    weft_wqe_control(&wqe, WEFT_MLX5_NOP, 0, QPN, 1, true);
    weft_gda_post(&b.here, &wqe, true);
    weft_gda_ring(&b.here);
    for (int i = 0; i < 3; i++)
        weft_softnic_round(&b.there);
    assert_true(weft_gda_poll(&b.here));
    assert_int_equal(b.here.done, 0);
    assert_int_equal(b.there.broken, 0);
}

static void test_keys(void **unused)
{
    struct weft_gda_keys keys = {.count = 3,
                                 .key = {{.begin = 100, .end = 200, .lkey = 1},
                                         {.begin = 200, .end = 300, .lkey = 2},
                                         {.begin = 400, .end = 500, .lkey = 3}}};

    (void)unused;
    assert_int_equal(weft_gda_key_of(&keys, 100, 100), 1);
    assert_int_equal(weft_gda_key_of(&keys, 199, 2), 0); /* in two */
    assert_int_equal(weft_gda_key_of(&keys, 200, 1), 2);
    assert_int_equal(weft_gda_key_of(&keys, 299, 1), 2);
    assert_int_equal(weft_gda_key_of(&keys, 300, 1), 0);
    assert_int_equal(weft_gda_key_of(&keys, 99, 1), 0);
    assert_int_equal(weft_gda_key_of(&keys, 499, UINT64_MAX), 0);
    assert_int_equal(weft_gda_key_of(&keys, 500, 1), 0);
    keys.count = 0;
    assert_int_equal(weft_gda_key_of(&keys, 100, 1), 0);
}

static int turn_block(void **unused) /* before and after a test */
{
    (void)unused;
    by_block = !by_block;
    (by_block ? open_warp : close_warp)();
    return 0;
}

int main(void)
{
#define BY_BLOCK(test)                                                                             \
    {                                                                                              \
        "block: " #test, test, turn_block, turn_block, NULL                                        \
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_alignments),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_doorbells),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_no_slots),
        cmocka_unit_test(test_keys),
        BY_BLOCK(test_wrap),
        BY_BLOCK(test_atomics),
        BY_BLOCK(test_alignments),
        BY_BLOCK(test_hostile),
        BY_BLOCK(test_doorbells),
    };
#undef BY_BLOCK
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_softnic_close(&b.there);
    return failed;
}
