/*
 * The host's side of a GPU's service block (device/cuda/block/block.c) without a GPU: lots and
 * other errands at random, while kernels begin and end, and a block that leaves by its lease, which
 * the host sees late. Each is done once and in order; with a kernel's end all lots are delivered. A
 * block that is beside a kernel stays there, however long nothing comes: the ranks leave no room
 * for another. A lot that fits in an errand says the same there. The numbers of errands wrap
 * meanwhile.
 */
#define WEFT_BLOCK_IMAGE __FILE__ /* any file: nobody loads it */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/cuda/cuda_device.h"

static uint64_t ticks(void)
{
    static uint64_t ns;
    return ns += 10000;
}
#define weft_now_ns ticks
#include "device/cuda/block/block.c"

enum { STEPS = 20000 };
#define LONG  (1ull << 60) /* ticks: longer than any kernel runs */
#define START 4294967290u  /* of errands' numbers */

static struct weft_device device;
static uint32_t launches;
static uint64_t done, wanted; /* errands that are no lots */
static uint64_t few;          /* lots that fitted in an errand */
static uint32_t lot_words[2];
enum { REGISTERS = 80 };        /* of a thread of the block */
static uint32_t rank_registers; /* of a rank beside it */
static bool broken;             /* the block's kernel has failed */
static bool refused;            /* the next launch of it */
static bool held;               /* others have the GPU: it does not begin */

static uint32_t any_below(uint32_t end)
{
    static uint64_t state = 11;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % end;
}

/* ---- the block: it has seen that there is nothing, and says later that it has left ------------
 */

static struct {
    uint32_t next;
    uint64_t turn, lease;
    bool there, leaves;
} gpu;

static void go(void)
{
    device.block.control->turn.left = gpu.turn;
    gpu.there = gpu.leaves = false;
}

/* What it stores, in its order, is what the lot's words are. */
static void take_few(const struct weft_errand *errand, const struct weft_lot *lot, uint32_t words)
{
    const uint32_t count = errand->data[2] != 0;
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < words - count; bytes += lot->size[i++]) {
        assert_int_equal(errand->address + bytes, lot->word[i].to);
        assert_memory_equal((const unsigned char *)errand->data + bytes, &lot->word[i].value,
                            lot->size[i]);
    }
    assert_int_equal(errand->bytes, bytes);
    assert_true(bytes <= 16 && (bytes & (bytes - 1)) == 0); /* what the block stores */
    if (count != 0) {
        assert_int_equal(lot->size[words - 1], 4);
        assert_int_equal(errand->data[2], lot->word[words - 1].to);
        assert_int_equal(errand->count, (uint32_t)lot->word[words - 1].value);
    }
    few++;
}

static void serve_one(struct weft_errand *errand)
{
    struct weft_command_producer answer = {
        .lines = device.block.control->answer, .depth = WEFT_BLOCK_DEPTH, .head = gpu.next++};

    if (errand->kind == WEFT_ERRAND_DELIVER || errand->kind == WEFT_ERRAND_FEW) {
        const uint64_t number = errand->data[4];
        assert_int_equal(device.block.control->turn.delivered + 1, number);
        if (errand->kind == WEFT_ERRAND_DELIVER)
            assert_ptr_equal(errand->address, device.block.lots[number % 2]);
        else
            take_few(errand, device.block.lots[number % 2], lot_words[number % 2]);
        device.block.control->turn.delivered = number;
        return;
    }
    assert_int_equal(errand->data[0], done);
    done++;
    weft_command_push(&answer, (const struct weft_command *)errand, NULL, 0, true);
}

static void step(void)
{
    const struct weft_command_consumer errands = {.lines = device.block.control->errand,
                                                  .depth = WEFT_BLOCK_DEPTH};
    struct weft_errand errand;

    if (!gpu.there || held)
        return;
    device.block.control->turn.begun = gpu.turn;
    if (gpu.leaves)
        go();
    else if (!weft_line_read(&errands, gpu.next, (unsigned char *)&errand, true))
        gpu.leaves = any_below(4) == 0 && gpu.lease < LONG;
    else if (errand.kind == WEFT_ERRAND_LEAVE)
        go();
    else
        serve_one(&errand);
}

/* ---- the driver ---------------------------------------------------------------------------------
 */

static CUresult use(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}
static CUresult query(CUstream stream)
{
    (void)stream;
    if (broken)
        return CUDA_ERROR_UNKNOWN;
    step();
    return CUDA_ERROR_NOT_READY;
}
static CUresult stream_wait(CUstream stream)
{
    (void)stream;
    while (gpu.there)
        step();
    return CUDA_SUCCESS;
}
static CUresult launch_block(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                             unsigned bx, unsigned by, unsigned bz, unsigned shared,
                             CUstream stream, void **arguments, void **extra)
{
    (void)function, (void)gx, (void)gy, (void)gz, (void)by, (void)bz, (void)shared;
    (void)stream, (void)extra;
    assert_false(gpu.there);
    assert_false(device.block.stays); /* it would not begin before the kernel has ended */
    if (refused)
        return refused = false, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    assert_true(bx % 32 == 0 && bx <= WEFT_BLOCK_THREADS_MOST);
    assert_true(bx == WEFT_BLOCK_THREADS || (!device.mps && bx * REGISTERS <= rank_registers));
    memcpy(&gpu.next, arguments[1], sizeof(gpu.next));
    memcpy(&gpu.lease, arguments[2], sizeof(gpu.lease));
    memcpy(&gpu.turn, arguments[3], sizeof(gpu.turn));
    gpu.there = true;
    if (!held)
        device.block.control->turn.begun = gpu.turn;
    launches++;
    return CUDA_SUCCESS;
}

weft_status weft_cuda_error(CUresult result, const char *what)
{
    (void)what;
    return result == CUDA_SUCCESS ? WEFT_OK : WEFT_ERR_DEVICE;
}

void *weft_cuda_host_alloc(struct weft_device *d, size_t bytes)
{
    (void)d;
    return calloc(1, bytes);
}

void weft_cuda_host_free(struct weft_device *d, void *memory)
{
    (void)d;
    free(memory);
}

static CUresult load(CUmodule *module, const void *image)
{
    (void)module, (void)image;
    return CUDA_SUCCESS;
}
static CUresult find(CUfunction *function, CUmodule module, const char *name)
{
    (void)function, (void)module, (void)name;
    return CUDA_SUCCESS;
}
static CUresult attribute(int *value, CUfunction_attribute which, CUfunction function)
{
    (void)which, (void)function;
    *value = REGISTERS;
    return CUDA_SUCCESS;
}
static CUresult create(CUstream *stream, unsigned flags, int priority)
{
    (void)stream, (void)flags, (void)priority;
    return CUDA_SUCCESS;
}

/* ---- the test ----------------------------------------------------------------------------------
 */

/* Words of 4 and 8 bytes, of which some follow each other. */
static uint32_t any_words(struct weft_lot *lot)
{
    const uint32_t words = any_below(4);
    uint64_t to = 4096;

    for (uint32_t i = 0; i < words; i++) {
        lot->size[i] = any_below(2) == 0 ? 4 : 8;
        to = (to + 7) / 8 * 8 + (any_below(3) == 0 ? 64 : 0);
        lot->word[i].to = to;
        lot->word[i].value =
            (uint64_t)any_below(1u << 30) << (lot->size[i] == 8 ? 30 : 0) | any_below(1u << 30);
        to += lot->size[i];
    }
    return words;
}

/* As lots.c: at most two are open. */
static void give_lot(void)
{
    struct weft_block *const block = &device.block;
    bool given;

    while (weft_cuda_block_delivered(&device) + 1 < block->lots_given)
        step();
    const uint64_t number = block->lots_given + 1;
    const uint32_t words = lot_words[number % 2] = any_words(block->lots[number % 2]);
    const uint32_t pieces = words == 0 || any_below(3) == 0;
    weft_cuda_block_give(&device, pieces, words, &given);
    assert_true(given == block->stays);
}

static void serve_some(size_t count)
{
    struct weft_errand errands[40] = {0};

    for (size_t i = 0; i < count; i++)
        errands[i] = (struct weft_errand){.kind = WEFT_ERRAND_STORE, .data = {wanted++}};
    assert_int_equal(weft_cuda_serve(&device, errands, count), WEFT_OK);
    assert_int_equal(done, wanted);
}

static void serve_brief(void)
{
    struct weft_errand errand = {.kind = WEFT_ERRAND_STORE, .data = {wanted}};

    wanted += weft_cuda_serve_now(&device, &errand);
    assert_int_equal(done, wanted);
}

static void other_kernel(void)
{
    if (!device.block.stays) {
        rank_registers = any_below(6 * 32 * REGISTERS);
        device.mps = any_below(4) == 0;
        assert_int_equal(
            weft_cuda_block_stay(&device, true, any_below(2) == 0, (int)rank_registers), WEFT_OK);
        return;
    }
    assert_int_equal(weft_cuda_block_leave(&device), WEFT_OK);
    assert_int_equal(weft_cuda_block_delivered(&device), device.block.lots_given);
    assert_false(gpu.there);
}

static void test_random(void **unused)
{
    (void)unused;
    assert_int_equal(weft_cuda_block_open(&device), WEFT_OK);
    for (int i = 0; i < STEPS; i++) {
        const uint32_t what = any_below(16);
        if (what < 6)
            give_lot();
        else if (what < 7)
            serve_some(1 + any_below(40));
        else if (what < 9)
            serve_brief();
        else if (what < 11)
            other_kernel();
        else
            step();
    }
    if (device.block.stays)
        other_kernel();
    assert_int_equal(weft_cuda_block_delivered(&device), device.block.lots_given);
    assert_true(device.block.lots_given > STEPS / 10 && launches > STEPS / 20);
    assert_true(few > STEPS / 40 && device.block.errands.head < START);
}

/* No lot is answered: an errand whose number has the lap of an old answer is not taken for done. */
static void test_laps(void **unused)
{
    enum { LAPS = 256 * WEFT_BLOCK_DEPTH };

    (void)unused;
    other_kernel();
    serve_some(1);
    for (uint32_t last = device.block.errands.head - 1; device.block.errands.head != last + LAPS;)
        give_lot();
    serve_some(1);
    other_kernel();
}

/* What came for a bad address fails the block: who waits for it is told. */
static void test_broken(void **unused)
{
    enum { LOOK = 4096 };
    uint64_t since = 0;

    (void)unused;
    other_kernel();
    give_lot();
    broken = true;
    assert_int_equal(weft_cuda_block_look(&device, LOOK, &since), WEFT_ERR_DEVICE);
    broken = false;
    other_kernel();
}

/* A kernel that did not run, since its block could not, holds up no errand. */
static void test_refused(void **unused)
{
    (void)unused;
    assert_false(device.block.stays);
    refused = true;
    assert_int_equal(weft_cuda_block_stay(&device, true, true, 0), WEFT_ERR_DEVICE);
    serve_some(1);
}

/* Nor does one that begins after its kernel was given up: it leaves at once. */
static void test_late(void **unused)
{
    (void)unused;
    stream_wait(device.block.stream);
    held = true;
    assert_int_equal(weft_cuda_block_stay(&device, true, true, 0), WEFT_ERR_DEVICE);
    assert_true(gpu.there && !device.block.stays);
    held = false;
    step();
    assert_false(gpu.there);
    serve_some(1);
    weft_cuda_block_close(&device);
}

int main(void)
{
    static const struct weft_cuda_driver driver = {.context_use = use,
                                                   .stream_query = query,
                                                   .stream_wait = stream_wait,
                                                   .launch_plain = launch_block,
                                                   .module_load = load,
                                                   .module_function = find,
                                                   .function_attribute = attribute,
                                                   .stream_create = create};
    static const struct weft_config config = {.counter_start = START};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),  cmocka_unit_test(test_laps), cmocka_unit_test(test_broken),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_late),
    };

    device.driver = &driver;
    device.config = &config;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
