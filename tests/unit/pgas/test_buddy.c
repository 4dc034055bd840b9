/*
 * The buddy allocator: threads take and give blocks of all sizes at random; no two blocks overlap,
 * and in the end all memory is one block. Small heaps, odd sizes, and what is no block's beginning.
 */
#include "pgas/buddy_heap.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#ifdef __SANITIZE_THREAD__ /* it sees in fewer what orders accesses */
enum { ALL_OPERATIONS = 200000 };
#else
enum { ALL_OPERATIONS = 1000000 };
#endif
enum { THREADS = 8, HELD = 64, OPERATIONS = ALL_OPERATIONS / THREADS };

struct heap {
    struct weft_buddy buddy;
    uint64_t *words;
    unsigned char *owner; /* of each unit: the thread that has it + 1 */
};

struct worker {
    struct heap *heap;
    uint32_t number, overlaps, refused, operations;
    pthread_t thread;
};

static void open_heap(struct heap *heap, uint64_t bytes, uint32_t least_log2)
{
    const uint64_t words = weft_buddy_shape(&heap->buddy, bytes, least_log2);

    heap->words = malloc(words * sizeof(uint64_t));
    heap->owner = calloc(bytes >> least_log2, 1);
    weft_buddy_place(&heap->buddy, heap->words);
    weft_buddy_fill(&heap->buddy, heap->words);
}

static void close_heap(struct heap *heap)
{
    free(heap->words);
    free(heap->owner);
}

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Plain accesses: ThreadSanitizer sees whether giving and taking order them. */
static uint32_t mark(struct heap *heap, uint64_t offset, uint64_t bytes, unsigned char from,
                     unsigned char to)
{
    uint32_t wrong = 0;

    for (uint64_t i = 0; i * weft_buddy_unit(&heap->buddy, 0) < bytes; i++) {
        unsigned char *const owner = &heap->owner[(offset >> heap->buddy.least_log2) + i];
        wrong += *owner != from;
        *owner = to;
    }
    return wrong;
}

static void *work(void *argument)
{
    struct worker *const worker = argument;
    struct heap *const heap = worker->heap;
    const unsigned char me = (unsigned char)(worker->number + 1);
    uint64_t seed = 88172645463325252ull + worker->number, at[HELD], bytes[HELD];

    for (int i = 0; i < HELD; i++)
        at[i] = WEFT_BUDDY_NONE;
    for (uint32_t i = 0; i < worker->operations + HELD; i++) {
        const uint64_t draw = next(&seed);
        const uint32_t slot = i < worker->operations ? draw % HELD : i - worker->operations;
        if (at[slot] != WEFT_BUDDY_NONE) {
            worker->overlaps += mark(heap, at[slot], bytes[slot], me, 0);
            worker->overlaps += !weft_buddy_give(&heap->buddy, at[slot], worker->number);
            at[slot] = WEFT_BUDDY_NONE;
        } else if (i < worker->operations) {
            bytes[slot] = 1 + (draw >> 8) % ((uint64_t)256 << (draw >> 40) % 13);
            at[slot] = weft_buddy_take(&heap->buddy, bytes[slot], worker->number);
            if (at[slot] == WEFT_BUDDY_NONE)
                worker->refused++;
            else
                worker->overlaps += mark(heap, at[slot], bytes[slot], 0, me);
        }
    }
    return NULL;
}

static void attack(uint64_t bytes, uint32_t operations)
{
    struct heap heap;
    struct worker worker[THREADS];
    struct weft_buddy_numbers n;
    uint32_t overlaps = 0;

    open_heap(&heap, bytes, 8);
    for (uint32_t t = 0; t < THREADS; t++) {
        worker[t] = (struct worker){.heap = &heap, .number = t, .operations = operations};
        assert_int_equal(pthread_create(&worker[t].thread, NULL, work, &worker[t]), 0);
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(worker[t].thread, NULL);
        overlaps += worker[t].overlaps;
    }
    weft_buddy_count(&heap.buddy, &n);
    print_message("test_buddy: %llu free block of %llu\n", (unsigned long long)n.blocks,
                  (unsigned long long)n.largest);
    assert_int_equal(overlaps, 0);
    assert_int_equal(n.blocks, 1);
    assert_int_equal(n.largest, bytes);
    close_heap(&heap);
}

static void threads(void **state)
{
    (void)state;
    attack(268435456, OPERATIONS);
}

/* Too small for all: some are refused, all the time. */
static void crowded(void **state)
{
    (void)state;
    attack(1048576, OPERATIONS / 4);
}

/* Capacity 2. */
static void two_blocks(void **state)
{
    struct heap heap;
    (void)state;

    open_heap(&heap, 512, 8);
    const uint64_t a = weft_buddy_take(&heap.buddy, 256, 0);
    const uint64_t b = weft_buddy_take(&heap.buddy, 1, 1);
    assert_true(a + b == 256 && a != b);
    assert_true(weft_buddy_take(&heap.buddy, 1, 0) == WEFT_BUDDY_NONE);
    assert_true(weft_buddy_give(&heap.buddy, a, 0));
    assert_false(weft_buddy_give(&heap.buddy, a, 0));
    assert_true(weft_buddy_take(&heap.buddy, 512, 0) == WEFT_BUDDY_NONE);
    assert_true(weft_buddy_give(&heap.buddy, b, 0));
    assert_true(weft_buddy_take(&heap.buddy, 512, 0) == 0);
    close_heap(&heap);
}

/* A heap of 0 bytes: what a GPU's kernels have where its host program has all. */
static void nothing(void **state)
{
    struct heap heap;
    struct weft_buddy_numbers n;
    (void)state;

    open_heap(&heap, 0, 8);
    assert_true(weft_buddy_take(&heap.buddy, 1, 0) == WEFT_BUDDY_NONE);
    weft_buddy_count(&heap.buddy, &n);
    assert_int_equal(n.free, 0);
    assert_false(weft_buddy_give(&heap.buddy, 0, 0));
    close_heap(&heap);
}

/* Any size of a heap, and of a block: all is lent, little wasted, all comes back. */
static void sizes(void **state)
{
    struct heap heap;
    struct weft_buddy_numbers before, after;
    (void)state;

    for (uint64_t units = 1; units < 5000; units += 1 + units / 7) {
        open_heap(&heap, units * 256, 8);
        weft_buddy_count(&heap.buddy, &before);
        assert_int_equal(before.free, units * 256);
        for (uint64_t bytes = 1; bytes <= units * 256; bytes += 1 + bytes / 3) {
            const uint64_t at = weft_buddy_take(&heap.buddy, bytes, 3);
            if (at == WEFT_BUDDY_NONE) {
                assert_true(before.largest < bytes * 2); /* runs are aligned */
                continue;
            }
            weft_buddy_count(&heap.buddy, &after);
            const uint64_t taken = before.free - after.free;
            assert_true(taken >= bytes && (bytes < 2048 || taken - bytes <= taken / 8));
            assert_true(at + bytes <= units * 256);
            assert_false(weft_buddy_give(&heap.buddy, at + 256, 0));
            assert_false(weft_buddy_give(&heap.buddy, at + 1, 0));
            for (uint64_t inner = at + 256; inner < at + bytes; inner += 256)
                assert_false(weft_buddy_give(&heap.buddy, inner, 0));
            assert_true(weft_buddy_give(&heap.buddy, at, 0));
            assert_false(weft_buddy_give(&heap.buddy, at, 0));
            weft_buddy_count(&heap.buddy, &after);
            assert_int_equal(after.free, before.free);
            assert_int_equal(after.blocks, before.blocks);
        }
        assert_false(weft_buddy_give(&heap.buddy, units * 256, 0));
        close_heap(&heap);
    }
}

/* Small blocks until all is lent. */
static void full(void **state)
{
    struct heap heap;
    struct weft_buddy_numbers n;
    (void)state;

    open_heap(&heap, 300 * 256, 8);
    for (int i = 0; i < 300; i++)
        assert_true(weft_buddy_take(&heap.buddy, 256, (uint32_t)i) != WEFT_BUDDY_NONE);
    assert_true(weft_buddy_take(&heap.buddy, 256, 0) == WEFT_BUDDY_NONE);
    for (uint64_t i = 0; i < 300; i++)
        assert_true(weft_buddy_give(&heap.buddy, i * 256, 0));
    weft_buddy_count(&heap.buddy, &n);
    assert_int_equal(n.free, 300 * 256);
    close_heap(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads),    cmocka_unit_test(crowded),
                                       cmocka_unit_test(two_blocks), cmocka_unit_test(nothing),
                                       cmocka_unit_test(sizes),      cmocka_unit_test(full)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
