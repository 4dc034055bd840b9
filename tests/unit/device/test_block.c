/*
 * The service block of a GPU without a GPU (block_run.h): this test is the host, which gives it
 * errands of every kind, size and alignment while it polls, in any order of lanes. Each answer, and
 * the memory, is that of a plain model.
 */
#include "block_run.h"

enum { ERRANDS = 4000, BYTES = 256, LARGE = 5000 /* most bytes of a copy, and some */ };

static uint32_t answered;
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
    (void)unused;
    open_rings(0);
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

/* Lots: pieces of every size and alignment, which do not overlap, and words behind them that may
 * lie in them, more than a warp has lanes for. */
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
    (void)unused;
    open_rings(0);
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
        open_rings(starts[s]);
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
        cmocka_unit_test(test_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
