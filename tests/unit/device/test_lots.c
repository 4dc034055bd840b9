/*
 * What a GPU's receive stream is given (device/cuda/move.c and lots.c) without a GPU: copies of all
 * sizes, words and marks at random, while the service block comes and goes with kernels. A stream
 * and a block that are late do the work, each at any moment. In the end, and at each mark that has
 * been passed, memory is that of a plain model; words are stored in their order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cuda/lots.c"
#include "device/cuda/move.c"

enum { BYTES = 80000, STEPS = 60000, WORK = 4096, SOURCES = 1 << 22 };

static struct weft_device device;
static _Alignas(8) unsigned char memory[BYTES], model[BYTES];
static unsigned char *sources; /* a stream reads them late */
static size_t sourced;
static uint64_t delivered; /* lots */
static uint32_t lot_pieces[2], lot_words[2];
static uint64_t launches_given, by_stream, by_lots;
static bool refused; /* the next lot: the block has left, and the stream refuses its word */

static uint32_t any_below(uint32_t end)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % end;
}

/* ---- a stream that is late: copies and stores, and how many were done before an event ----------
 */

static struct work {
    uintptr_t to;
    const void *from; /* NULL: a word */
    uint64_t value;
    size_t bytes;
} work[WORK];
static uint64_t given, done;
static uint64_t events[WEFT_CUDA_MARKS];

static void stream_step(void)
{
    const struct work *w = &work[done % WORK];

    if (done == given)
        return;
    memcpy((void *)w->to, w->from != NULL ? w->from : (const void *)&w->value, w->bytes);
    done++;
}

static CUresult stream_give(struct work w)
{
    while (given - done == WORK)
        stream_step();
    work[given++ % WORK] = w;
    by_stream++;
    return CUDA_SUCCESS;
}

static CUresult copy_async(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    return stream_give((struct work){.to = to, .from = (const void *)from, .bytes = bytes});
}
static CUresult write_word(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned flags)
{
    (void)stream, (void)flags;
    if (refused)
        return refused = false, CUDA_ERROR_UNKNOWN;
    return stream_give((struct work){.to = to, .value = value, .bytes = 4});
}
static CUresult write_wide(CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned flags)
{
    (void)stream, (void)flags;
    return stream_give((struct work){.to = to, .value = value, .bytes = 8});
}
static CUresult use(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}
static CUresult query(CUstream stream)
{
    if (stream == device.block.stream)
        return CUDA_ERROR_NOT_READY; /* it runs */
    if (any_below(2) == 0)
        stream_step();
    return done == given ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
static CUresult stream_wait(CUstream stream)
{
    (void)stream;
    while (done != given)
        stream_step();
    return CUDA_SUCCESS;
}
static CUresult record(CUevent event, CUstream stream)
{
    (void)stream;
    events[(uintptr_t)event - 1] = given;
    return CUDA_SUCCESS;
}
static CUresult passed(CUevent event)
{
    if (any_below(2) == 0)
        stream_step();
    return done >= events[(uintptr_t)event - 1] ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

weft_status weft_cuda_error(CUresult result, const char *what)
{
    (void)what;
    return result == CUDA_SUCCESS ? WEFT_OK : WEFT_ERR_DEVICE;
}

/* ---- a service block that is late: pieces in any order, words in theirs ------------------------
 */

static void store_word(const struct weft_lot_word *word, uint32_t bytes)
{
    assert_int_equal(word->to % bytes, 0);
    memcpy((void *)(uintptr_t)word->to, &word->value, bytes);
}

/* The end of the words that may be stored at once with that one. */
static uint32_t same_step(const struct weft_lot *lot, uint32_t i, uint32_t words)
{
    const bool grouped = lot->size[i] >> WEFT_LOT_GROUP != 0;

    do
        i++;
    while (grouped && i < words && lot->size[i] >> WEFT_LOT_GROUP != 0);
    return i;
}

static void block_step(void)
{
    if (delivered == device.block.lots_given)
        return;
    const uint64_t number = delivered + 1;
    const struct weft_lot *lot = device.block.lots[number % 2];
    const uint32_t pieces = lot_pieces[number % 2], first = any_below(pieces + 1);
    for (uint32_t i = 0; i < pieces; i++) {
        const struct weft_lot_piece *piece = &lot->piece[(first + i) % pieces];
        assert_int_equal(piece->to % 8, (uintptr_t)&lot->bytes[piece->at] % 8);
        memcpy((void *)(uintptr_t)piece->to, &lot->bytes[piece->at], piece->bytes);
    }
    for (uint32_t i = 0; i < lot_words[number % 2];) {
        const uint32_t end = same_step(lot, i, lot_words[number % 2]), odd = any_below(2);
        for (uint32_t k = i; k < 2 * end - i; k++) { /* groups in another order than they came */
            const uint32_t w = k < end ? k : k - end + i;
            const uint32_t group = lot->size[w] >> WEFT_LOT_GROUP;
            if ((group % 2 == odd) == (k < end))
                store_word(&lot->word[w], weft_lot_bytes(lot->size[w]));
        }
        i = end;
    }
    delivered = number;
}

void weft_cuda_block_give(struct weft_device *d, uint32_t pieces, uint32_t words, bool *has)
{
    const uint64_t number = d->block.lots_given + 1;

    assert_int_equal(done, given); /* the stream has nothing to do */
    *has = d->block.stays && !refused;
    if (!*has)
        return;
    assert_true(delivered + 2 > d->block.lots_given);
    lot_pieces[number % 2] = pieces;
    lot_words[number % 2] = words;
    d->block.lots_given = number;
    by_lots += pieces + words;
}

uint64_t weft_cuda_block_delivered(const struct weft_device *d)
{
    (void)d;
    if (any_below(3) == 0)
        block_step();
    return delivered;
}

weft_status weft_cuda_block_look(struct weft_device *d, uint32_t looks, uint64_t *since)
{
    (void)d, (void)looks, (void)since;
    return WEFT_OK;
}

/* A kernel begins, or has ended: then all lots are delivered, and the block is gone. */
static void other_kernel(void)
{
    if (device.block.stays)
        while (delivered != device.block.lots_given)
            block_step();
    device.block.stays = !device.block.stays;
    launches_given += device.block.stays;
}

/* ---- the test ----------------------------------------------------------------------------------
 */

/* No two steps between a mark and its passing write the same byte, but for the last ones. */
static void any_copy(void)
{
    static const uint32_t sizes[] = {4, 8, 16, 1, 2, 3, 40, 255, 256, 257, 832, 4096, 9000, 36000};
    const uint32_t kind = any_below(14), bytes = sizes[kind];
    const uint32_t align = kind < 3 ? bytes < 8 ? 4 : 8 : 1u << any_below(4);
    const uint32_t at = any_below((BYTES - bytes) / align) * align;

    if (sourced + bytes > SOURCES)
        sourced = 0;
    unsigned char *const from = sources + sourced;
    sourced += bytes;
    for (uint32_t b = 0; b < bytes; b++)
        from[b] = (unsigned char)any_below(256);
    memcpy(model + at, from, bytes);
    assert_int_equal(weft_cuda_copy(&device, WEFT_STREAM_RECEIVE, memory + at, from, bytes),
                     WEFT_OK);
}

static void any_store(void)
{
    const uint32_t at = any_below(BYTES / 64) * 64 / 4 * 4, value = any_below(1u << 30);

    memcpy(model + at, &value, 4);
    assert_int_equal(weft_cuda_store(&device, WEFT_STREAM_RECEIVE,
                                     (uint32_t *)(void *)(memory + at), value, at / 64 % 5),
                     WEFT_OK);
}

static void pass(uint64_t mark)
{
    for (bool there = false; !there;)
        assert_int_equal(weft_cuda_passed(&device, WEFT_STREAM_RECEIVE, mark, &there), WEFT_OK);
    assert_memory_equal(memory, model, BYTES);
}

static void test_random(void **unused)
{
    (void)unused;
    uint64_t mark = 0;
    bool marked = false; /* and nothing was given since */

    for (int step = 0; step < STEPS; step++) {
        const uint32_t what = any_below(100);
        if (what < 55)
            any_copy();
        else if (what < 85)
            any_store();
        else if (what < 95)
            assert_int_equal(weft_cuda_mark(&device, WEFT_STREAM_RECEIVE, &mark), WEFT_OK);
        else if (what < 97)
            assert_int_equal(weft_cuda_wait(&device, WEFT_STREAM_RECEIVE), WEFT_OK);
        else if (what < 98)
            other_kernel();
        marked = what < 85 ? false : marked || (what < 95);
        if (what >= 95 && what < 97)
            assert_memory_equal(memory, model, BYTES);
        if (marked && any_below(3) == 0)
            pass(mark);
        if (any_below(4) == 0)
            stream_step();
        if (any_below(8) == 0)
            block_step();
    }
    assert_true(by_lots > STEPS / 20 && by_stream > STEPS / 20 && launches_given > 100);
}

/* Words of one lot in the order in which they came, also to the same place. */
static void test_words(void **unused)
{
    uint64_t mark;

    (void)unused;
    if (!device.block.stays)
        other_kernel();
    assert_int_equal(weft_cuda_wait(&device, WEFT_STREAM_RECEIVE), WEFT_OK);
    for (uint32_t i = 0; i < 3 * WEFT_LOT_WORDS; i++) {
        const uint32_t at = i % 5 * 8;
        memcpy(model + at, &i, 4);
        assert_int_equal(weft_cuda_store(&device, WEFT_STREAM_RECEIVE,
                                         (uint32_t *)(void *)(memory + at), i, 1 + i % 5),
                         WEFT_OK);
    }
    assert_int_equal(weft_cuda_mark(&device, WEFT_STREAM_RECEIVE, &mark), WEFT_OK);
    pass(mark);
}

/* What is in a lot that could not be given is not lost in silence: it comes with what follows. */
static void test_refused(void **unused)
{
    static const unsigned char late[40] = {1};
    uint64_t mark;

    (void)unused;
    if (!device.block.stays)
        other_kernel();
    assert_int_equal(weft_cuda_wait(&device, WEFT_STREAM_RECEIVE), WEFT_OK);
    memset(model + 8, 0x5a, 4);
    assert_int_equal(weft_cuda_store(&device, WEFT_STREAM_RECEIVE, (uint32_t *)(void *)(memory + 8),
                                     0x5a5a5a5a, 0),
                     WEFT_OK);
    refused = true;
    memcpy(model + 10, late, sizeof(late)); /* meets the word, which must go first */
    assert_int_equal(weft_cuda_copy(&device, WEFT_STREAM_RECEIVE, memory + 10, late, sizeof(late)),
                     WEFT_OK);
    assert_false(refused);
    assert_int_equal(weft_cuda_mark(&device, WEFT_STREAM_RECEIVE, &mark), WEFT_OK);
    pass(mark);
}

int main(void)
{
    static const struct weft_cuda_driver driver = {.context_use = use,
                                                   .copy_async = copy_async,
                                                   .stream_write = write_word,
                                                   .stream_write_wide = write_wide,
                                                   .stream_query = query,
                                                   .stream_wait = stream_wait,
                                                   .event_record = record,
                                                   .event_query = passed};
    static const struct weft_config config = {.cuda_lots = 32768};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_refused),
    };

    device.driver = &driver;
    device.config = &config;
    device.block.stream = (CUstream)&device.block;
    for (uintptr_t m = 0; m < WEFT_CUDA_MARKS; m++)
        device.marks[WEFT_STREAM_RECEIVE][m] = (CUevent)(m + 1);
    sources = malloc(SOURCES);
    for (int i = 0; i < 2; i++)
        device.block.lots[i] = calloc(1, sizeof(struct weft_lot));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < 2; i++)
        free(device.block.lots[i]);
    free(sources);
    return failed;
}
