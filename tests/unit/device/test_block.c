/*
 * The service block of a GPU (device/cuda/block/) without a GPU: its kernel on an emulated warp,
 * and this test as the host, which gives it errands of every kind, size and alignment while it
 * polls, in any order of lanes. Each answer, and the memory, is that of a plain model.
 *
 * The order in which lots become visible: stores are held back, and arrive in any order that the
 * kernel's fences and releases allow. With one of their labels weakened that is noticed.
 */
#include "abi/errand.h"
#include "device/port.h"
#include "order/atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/warp.h"

/* What nvcc and order/atomic_cuda.h have. */
#define __global__
#define __launch_bounds__(threads)
#define __shared__      static
#define __syncthreads() meet("block", 0)
static const struct {
    unsigned x;
} blockDim = {LANES};
#define weft_update_relaxed(word, change) weft_update(word, change)
#define weft_fence_release(order)         ((void)(order))
#define weft_fence_release_device(order)  fence(order)
#define weft_polled()                     ((void)0)
#define weft_port_ticks()                 now
static uint64_t now; /* the clock of the GPU */
#include "ring/command.h"

/* ---- stores that arrive late -----------------------------------------------------------------
 */

static struct held {
    void *to;
    uint64_t value;
    uint32_t bytes, lane;
    uint32_t fences;        /* of its lane, before it */
    uint64_t number;        /* of all stores */
    uint64_t covered, knew; /* other lanes' stores before these: by its last fence; known to it */
    bool release;
} held[64];
static uint32_t held_count, fences[LANES];
static uint64_t stores, met_at, covered[LANES]; /* met_at: stores at the last barrier of the warp */
static bool holds;                              /* else they arrive at once */
static enum weft_order weakened;                /* orders nothing */
static void (*arrived)(void);

static void fence(enum weft_order order)
{
    if (order == weakened)
        return;
    fences[threadIdx.x]++;
    covered[threadIdx.x] = met_at;
}

/* Whether `before`, which was stored earlier, arrives earlier. */
static bool precedes(const struct held *before, const struct held *store)
{
    const bool own = before->lane == store->lane;

    return before->to == store->to || before->number < store->covered ||
           (own && before->fences != store->fences) ||
           (store->release && (own || before->number < store->knew));
}

static void arrive_any(void)
{
    uint32_t at = any_below(held_count);

    for (uint32_t i = 0; i < at; i++)
        if (precedes(&held[i], &held[at])) {
            at = i;
            i = UINT32_MAX; /* the next is 0 */
        }
    memcpy(held[at].to, &held[at].value, held[at].bytes);
    memmove(&held[at], &held[at + 1], (--held_count - at) * sizeof(held[0]));
    arrived();
}

static void hold(void *to, uint64_t value, uint32_t bytes, bool release)
{
    if (!holds) {
        memcpy(to, &value, bytes);
        return;
    }
    if (held_count == sizeof(held) / sizeof(held[0]))
        arrive_any();
    held[held_count++] = (struct held){.to = to,
                                       .value = value,
                                       .bytes = bytes,
                                       .lane = threadIdx.x,
                                       .fences = fences[threadIdx.x],
                                       .number = stores++,
                                       .covered = covered[threadIdx.x],
                                       .knew = met_at,
                                       .release = release};
}

#define weft_store_relaxed_u64(word, value)        hold(word, value, 8, false)
#define weft_store_relaxed_u32(word, value)        hold(word, value, 4, false)
#define weft_store_release_u64(word, value, order) hold(word, value, 8, (order) != weakened)
#include "device/cuda/block/block.cu"

enum { ERRANDS = 4000, BYTES = 256, LARGE = 5000 /* most bytes of a copy, and some */ };

static struct weft_block_control control;
static struct weft_command_producer errands;
static uint32_t next, answered;
static _Alignas(8) unsigned char memory[BYTES], model[BYTES];
static _Alignas(8) unsigned char pattern[LARGE + 16], large[LARGE + 16], large_model[LARGE + 16];
static struct weft_errand given[WEFT_BLOCK_DEPTH];
static uint64_t counts[5]; /* by kind */
static bool quiet;         /* errands come seldom */

static uint64_t any_word(void)
{
    return (uint64_t)any_below(1u << 31) << 33 ^ (uint64_t)any_below(1u << 31) << 11 ^
           any_below(1u << 11);
}

static void any_errand(struct weft_errand *errand)
{
    static const uint8_t hows[] = {WEFT_SUM, WEFT_PROD, WEFT_MIN,     WEFT_MAX,    WEFT_AND,
                                   WEFT_OR,  WEFT_XOR,  WEFT_REPLACE, WEFT_COMPARE};
    const uint32_t align = 1u << any_below(4);

    *errand = (struct weft_errand){.kind = (uint8_t)(1 + any_below(4))};
    for (int w = 0; w < WEFT_ERRAND_BYTES / 8; w++)
        errand->data[w] = any_word();
    errand->bytes = (uint8_t)(any_below(WEFT_ERRAND_BYTES / align + 1) * align);
    errand->address =
        (uint64_t)(uintptr_t)memory + any_below((BYTES - WEFT_ERRAND_BYTES) / align) * align;
    if (errand->kind == WEFT_ERRAND_COPY) {
        errand->bytes = 0;
        errand->data[1] = any_below(LARGE / align) * align + any_below(2) * any_below(8);
        errand->address = (uint64_t)(uintptr_t)large + any_below(8 / align) * align;
        errand->data[0] = (uint64_t)(uintptr_t)pattern + any_below(8 / align) * align;
    }
    if (errand->kind != WEFT_ERRAND_UPDATE)
        return;
    do {
        errand->how = hows[any_below(sizeof(hows))];
        errand->type = (uint8_t)any_below(WEFT_F32); /* sums of NaN have no one value */
    } while (!weft_change_exists(errand->how, errand->type));
    const uint32_t size = weft_type_bytes(errand->type);
    errand->address &= ~(uint64_t)(size - 1);
    errand->bytes = (uint8_t)(errand->how == WEFT_COMPARE ? size : errand->bytes / size * size);
    if (errand->how == WEFT_COMPARE && any_below(2) == 0)
        memcpy(&errand->data[1], (const void *)(uintptr_t)errand->address, size);
}

/* What is to come back; the model's memory changes. */
static void do_model(const struct weft_errand *errand, unsigned char expected[WEFT_ERRAND_BYTES])
{
    unsigned char *at = model + (errand->address - (uint64_t)(uintptr_t)memory);
    const uint32_t size = weft_type_bytes(errand->type);

    memset(expected, 0, WEFT_ERRAND_BYTES);
    if (errand->kind == WEFT_ERRAND_COPY) {
        memcpy(large_model + (errand->address - (uint64_t)(uintptr_t)large),
               (const void *)(uintptr_t)errand->data[0], errand->data[1]);
        return;
    }
    if (errand->kind != WEFT_ERRAND_STORE)
        memcpy(expected, at, errand->bytes);
    if (errand->kind == WEFT_ERRAND_STORE)
        memcpy(at, errand->data, errand->bytes);
    for (uint32_t e = 0; errand->kind == WEFT_ERRAND_UPDATE && e < errand->bytes; e += size) {
        struct weft_change change = {
            .expected = errand->data[1], .how = errand->how, .type = errand->type};
        uint64_t old = 0;
        memcpy(&change.value, (const unsigned char *)errand->data + e, size);
        memcpy(&old, at + e, size);
        old = weft_change_of(old, &change);
        memcpy(at + e, &old, size);
    }
}

/* The host, whenever the lanes have met: it looks at an answer, or gives an errand. */
static void host(void)
{
    const struct weft_command_consumer answers = {.lines = control.answer,
                                                  .depth = WEFT_BLOCK_DEPTH};
    struct weft_errand found;
    unsigned char expected[WEFT_ERRAND_BYTES];

    if (answered != errands.head &&
        weft_line_read(&answers, answered, (unsigned char *)&found, true)) {
        const struct weft_errand *errand = &given[answered % WEFT_BLOCK_DEPTH];
        do_model(errand, expected);
        assert_int_equal(found.kind, errand->kind);
        assert_memory_equal(found.data, expected, errand->bytes);
        counts[errand->kind]++;
        answered++;
    } else if (errands.head != ERRANDS && errands.head - answered < WEFT_BLOCK_DEPTH &&
               any_below(quiet ? 100 : 4) == 0) {
        struct weft_errand *errand = &given[errands.head % WEFT_BLOCK_DEPTH];
        any_errand(errand);
        weft_command_push(&errands, (const struct weft_command *)errand, NULL, 0, true);
    }
    now++;
    if (any_below(1000) == 0)
        quiet = !quiet;
}

static void run_block(void)
{
    weft_block(&control, next, answered == ERRANDS ? 0 : 20, 1 + next);
}

static void test_errands(void **unused)
{
    uint32_t credit;
    (void)unused;
    weft_command_ring_init(control.errand, WEFT_BLOCK_DEPTH, 0, &credit);
    weft_command_ring_init(control.answer, WEFT_BLOCK_DEPTH, 0, &credit);
    errands = (struct weft_command_producer){.lines = control.errand, .depth = WEFT_BLOCK_DEPTH};
    for (size_t i = 0; i < sizeof(pattern); i++)
        pattern[i] = (unsigned char)any_below(256);
    open_warp();
    warp.met = host;
    uint32_t launches = 0;
    for (; answered != ERRANDS; launches++) { /* it leaves, and another goes on where it was */
        run_warp(run_block);
        assert_int_equal(control.turn.left, 1 + next);
        host(); /* an answer that came last */
        next = answered;
    }
    assert_memory_equal(memory, model, BYTES);
    assert_memory_equal(large, large_model, sizeof(large));
    for (int kind = 1; kind < 5; kind++)
        assert_true(counts[kind] > ERRANDS / 6);
    warp.met = NULL;
    close_warp();
    assert_true(launches > 1);
}

static void pass_time(void)
{
    now++;
}

static void lease_block(void)
{
    weft_block(&control, next, 20, 78);
}

/* Lots: pieces of every size and alignment, which do not overlap, and words behind them that may
 * lie in them, more than a warp has lanes for. */
static struct weft_lot lot;

static uint32_t any_lot(unsigned char *expected, uint32_t most)
{
    uint32_t pieces = 0, used = 0;

    for (uint32_t to = any_below(16); pieces < most && to + WEFT_LOT_PIECE < LARGE;
         to += any_below(3) == 0 ? any_below(9) : 0) {
        const uint32_t bytes = 1 + any_below(any_below(2) != 0 ? 40 : WEFT_LOT_PIECE);
        const uint32_t at = (used + 7) / 8 * 8 + to % 8;
        for (uint32_t b = 0; b < bytes; b++)
            expected[to + b] = lot.bytes[at + b] = (unsigned char)any_below(256);
        lot.piece[pieces++] = (struct weft_lot_piece){(uint64_t)(uintptr_t)large + to, at, bytes};
        used = at + bytes;
        to += bytes;
    }
    return pieces;
}

static uint32_t any_words(unsigned char *expected, uint32_t most)
{
    const uint32_t words = any_below(most + 1);

    for (uint32_t i = 0; i < words; i++) { /* few places: the last of several stays */
        const uint32_t size = any_below(2) == 0 ? 4 : 8, to = any_below(16) * 8;
        lot.word[i] = (struct weft_lot_word){(uint64_t)(uintptr_t)large + to, any_word()};
        lot.size[i] = size | (size == 4 && most % 2 != 0 ? 1 + to : 0) << WEFT_LOT_GROUP;
        memcpy(expected + to, &lot.word[i].value, size);
    }
    return words;
}

/* As four warps do it, one after the other. */
static uint32_t shared_pieces;

static void share_pieces(void)
{
    for (uint32_t w = 0; w < 4; w++)
        weft_block_share(&lot, shared_pieces, threadIdx.x, w, 4);
}

static void test_share(void **unused)
{
    (void)unused;
    memcpy(large_model, large, sizeof(large));
    open_warp();
    for (uint32_t most = 0; most < 200; most++) {
        shared_pieces = any_lot(large_model, most);
        run_warp(share_pieces);
        assert_memory_equal(large, large_model, sizeof(large));
    }
    close_warp();
}

static void test_deliver(void **unused)
{
    struct weft_errand errand = {.kind = WEFT_ERRAND_DELIVER, .address = (uint64_t)(uintptr_t)&lot};
    static const uint32_t most[] = {0, 1, 7, 8, 9, 31, 32, 33, 100, WEFT_LOT_PIECES};
    uint32_t credit;
    (void)unused;
    weft_command_ring_init(control.errand, WEFT_BLOCK_DEPTH, 0, &credit);
    weft_command_ring_init(control.answer, WEFT_BLOCK_DEPTH, 0, &credit);
    errands.head = next = 0;
    memcpy(large_model, large, sizeof(large));
    open_warp();
    warp.met = pass_time;
    for (uint64_t number = 1; number <= 200; number++) {
        errand.data[0] = any_lot(large_model, most[number % 10]);
        errand.data[1] = any_words(large_model, most[number / 10 % 9]);
        errand.data[4] = number;
        weft_command_push(&errands, (const struct weft_command *)&errand, NULL, 0, true);
        run_warp(lease_block);
        assert_memory_equal(large, large_model, sizeof(large));
        assert_int_equal(control.turn.delivered, number);
        next = errands.head;
    }
    warp.met = NULL;
    close_warp();
}

/* Lots that are in the errand: puts to two places, each with a count or without, and counts alone.
 * What they store is the number of the lot. */
enum { FEW = 2000 };

static struct few {
    uint32_t place[2][4], count;
} few, there[FEW + 1]; /* memory; what is there at least when a lot is delivered */
static uint64_t few_wrong, few_given;

/* Who sees a count, or `delivered`, sees that lot and all before; who sees data, all before its
 * lot.
 */
static void look_few(void)
{
    uint64_t seen = control.turn.delivered > few.count ? control.turn.delivered : few.count;

    for (int w = 0; w < 8; w++)
        if (few.place[w / 4][w % 4] > seen + 1)
            seen = few.place[w / 4][w % 4] - 1;
    few_wrong += few.count < there[seen].count;
    for (int w = 0; w < 8; w++)
        few_wrong += few.place[w / 4][w % 4] < there[seen].place[w / 4][w % 4];
}

static void give_few(void)
{
    static const uint8_t sizes[] = {0, 4, 8, 16};
    const uint64_t number = ++few_given, words = number << 32 | number;
    uint32_t *const place = few.place[number % 2];
    struct weft_errand errand = {.kind = WEFT_ERRAND_FEW,
                                 .bytes = sizes[any_below(4)],
                                 .count = (uint32_t)number,
                                 .address = (uint64_t)(uintptr_t)place,
                                 .data = {words, words, 0, 0, number}};

    there[number] = there[number - 1];
    for (uint32_t w = 0; w < errand.bytes / 4; w++)
        there[number].place[number % 2][w] = (uint32_t)number;
    if (errand.bytes == 0 || any_below(2) == 0) {
        errand.data[2] = (uint64_t)(uintptr_t)&few.count;
        there[number].count = (uint32_t)number;
    }
    weft_command_push(&errands, (const struct weft_command *)&errand, NULL, 0, true);
}

static void few_host(void)
{
    now++;
    if (strcmp(warp.at[0], "barrier") == 0)
        met_at = stores;
    if (few_given != FEW && few_given - control.turn.delivered < WEFT_BLOCK_DEPTH)
        give_few();
    if (held_count != 0 && any_below(2) == 0)
        arrive_any();
}

/* How often something was seen too early. */
static uint64_t run_few(enum weft_order label)
{
    const uint32_t start = UINT32_MAX - FEW / 2;
    uint32_t credit;

    weft_command_ring_init(control.errand, WEFT_BLOCK_DEPTH, start, &credit);
    memset(&few, 0, sizeof(few));
    control.turn.delivered = few_given = few_wrong = 0;
    errands.head = next = start;
    weakened = label;
    holds = true;
    arrived = look_few;
    open_warp();
    warp.met = few_host;
    while (control.turn.delivered != FEW) {
        run_warp(lease_block);
        while (held_count != 0)
            arrive_any();
        next = start + (uint32_t)control.turn.delivered;
    }
    warp.met = NULL;
    close_warp();
    holds = false;
    assert_memory_equal(&few, &there[FEW], sizeof(few));
    return few_wrong;
}

static void test_few(void **unused)
{
    (void)unused;
    assert_int_equal(run_few(ORDER_none), 0);
    assert_true(run_few(ORDER_deliver_small) > 0);
    assert_true(run_few(ORDER_count_store_host) > 0);
    assert_true(run_few(ORDER_command_credit) > 0);
}

/* Counts of three groups, two each, behind a piece, all of them the number of their lot. */
enum { GROUPS = 3, GROUPED = 1000 };

static struct {
    uint64_t data[4];
    uint32_t count[GROUPS][2];
} grouped;
static uint64_t grouped_wrong;

/* Who sees a count sees the data, and what was counted before in that group. */
static void look_grouped(void)
{
    for (int g = 0; g < GROUPS; g++) {
        grouped_wrong += grouped.count[g][0] < grouped.count[g][1];
        for (int w = 0; w < 4; w++)
            grouped_wrong += grouped.data[w] < grouped.count[g][0];
        grouped_wrong += grouped.count[g][1] < control.turn.delivered;
    }
}

static void grouped_host(void)
{
    now++;
    if (strcmp(warp.at[0], "barrier") == 0) /* and nothing else orders memory */
        met_at = stores;
    if (held_count != 0 && any_below(2) == 0)
        arrive_any();
}

static void fill_grouped(uint64_t number)
{
    const uint64_t data[4] = {number, number, number, number};

    lot.piece[0] = (struct weft_lot_piece){(uint64_t)(uintptr_t)grouped.data, 0, sizeof(data)};
    memcpy(lot.bytes, data, sizeof(data));
    for (uint32_t i = 0; i < 2 * GROUPS; i++) {
        const uint32_t g = i % GROUPS;
        lot.word[i].to = (uint64_t)(uintptr_t)&grouped.count[g][i / GROUPS];
        lot.word[i].value = number;
        lot.size[i] = 4 | (1 + g) << WEFT_LOT_GROUP;
    }
}

static uint64_t run_grouped(enum weft_order label)
{
    struct weft_errand errand = {
        .kind = WEFT_ERRAND_DELIVER, .address = (uint64_t)(uintptr_t)&lot, .data = {1, 2 * GROUPS}};
    uint32_t credit;

    weft_command_ring_init(control.errand, WEFT_BLOCK_DEPTH, 0, &credit);
    memset(&grouped, 0, sizeof(grouped));
    grouped_wrong = errands.head = next = 0;
    control.turn.delivered = 0;
    weakened = label;
    holds = true;
    arrived = look_grouped;
    open_warp();
    warp.met = grouped_host;
    for (uint64_t number = 1; number <= GROUPED; number++) {
        fill_grouped(number);
        errand.data[4] = number;
        weft_command_push(&errands, (const struct weft_command *)&errand, NULL, 0, true);
        run_warp(lease_block);
        next = errands.head;
    }
    while (held_count != 0)
        arrive_any();
    warp.met = NULL;
    close_warp();
    holds = false;
    assert_int_equal(grouped.count[0][1], GROUPED);
    return grouped_wrong;
}

static void test_grouped(void **unused)
{
    (void)unused;
    assert_int_equal(run_grouped(ORDER_none), 0);
    assert_true(run_grouped(ORDER_count_store_host) > 0);
}

/* Told to go, it goes, whatever its lease, and answers nothing. */
static void leave_block(void)
{
    weft_block(&control, next, UINT64_MAX, 77);
}

static void test_leave(void **unused)
{
    const struct weft_errand leave = {.kind = WEFT_ERRAND_LEAVE};
    (void)unused;
    weft_command_push(&errands, (const struct weft_command *)&leave, NULL, 0, true);
    const struct weft_block_control before = control;
    open_warp();
    run_warp(leave_block);
    close_warp();
    assert_memory_equal(control.answer, before.answer, sizeof(before.answer));
    assert_int_equal(control.turn.left, 77);
}

/* An errand that no block has seen is taken back: the next block does nothing, and takes the next
 * errand in the same place once. Around the wrap of laps and of the index, too. */
static void test_retract(void **unused)
{
    static const uint32_t starts[] = {0,         15, 16, 255 * 16, 256 * 16 - 1, UINT32_MAX - 15,
                                      UINT32_MAX};
    (void)unused;
    for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
        struct weft_errand errand = {
            .kind = WEFT_ERRAND_STORE, .bytes = 8, .address = (uint64_t)(uintptr_t)memory};
        uint32_t credit;
        weft_command_ring_init(control.errand, WEFT_BLOCK_DEPTH, starts[s], &credit);
        weft_command_ring_init(control.answer, WEFT_BLOCK_DEPTH, starts[s], &credit);
        errands.head = next = starts[s];
        memset(memory, 0, 8);
        errand.data[0] = 1;
        weft_command_push(&errands, (const struct weft_command *)&errand, NULL, 0, true);
        weft_command_retract(&errands);
        assert_int_equal(errands.head, starts[s]);
        open_warp();
        warp.met = pass_time;
        run_warp(lease_block);
        assert_int_equal(memory[0], 0);
        errand.data[0] = 2;
        weft_command_push(&errands, (const struct weft_command *)&errand, NULL, 0, true);
        run_warp(lease_block);
        warp.met = NULL;
        close_warp();
        assert_int_equal(memory[0], 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errands), cmocka_unit_test(test_leave),
        cmocka_unit_test(test_retract), cmocka_unit_test(test_deliver),
        cmocka_unit_test(test_share),   cmocka_unit_test(test_few),
        cmocka_unit_test(test_grouped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
