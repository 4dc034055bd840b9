/*
 * By which regions of other processes queues find a put's target: network keys whose lower 16 bits
 * are the same, as devices make them, name different memory; a key that is used again, the new one.
 */
#include "runtime/gda/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PROCESSES = 2, REGIONS = 1000 };

static struct weft_job *a_job(void)
{
    struct weft_job *job = calloc(1, sizeof(*job));

    assert_non_null(job);
    job->queues = calloc(1, sizeof(*job->queues));
    assert_non_null(job->queues);
    job->queues->peers = calloc(PROCESSES, sizeof(*job->queues->peers));
    assert_non_null(job->queues->peers);
    return job;
}

static void drop(struct weft_job *job)
{
    for (int p = 0; p < PROCESSES; p++)
        free(job->queues->peers[p].regions);
    free(job->queues->peers);
    free(job->queues);
    free(job);
}

static void expect(struct weft_job *job, int process, uint64_t key, uint64_t base)
{
    struct weft_queue_region region = {0};

    assert_true(weft_queues_find(job, process, weft_gda_rkey(key), &region));
    assert_true(region.key == key && region.base == base);
}

/* As rkeys of a device are: an index above 8 bits, which differ in each key. The i-th, in an order
 * that goes up and down. */
static uint64_t key_of(uint64_t i)
{
    const uint64_t index = i * 37 % REGIONS;

    return (index & 0x3ff) << 32 | index << 16 | 0x1100;
}

static void test_same_lower_bits(void **state)
{
    struct weft_job *job = a_job();
    struct weft_queue_region region;

    (void)state;
    for (uint64_t i = 0; i < REGIONS; i++)
        weft_queues_region(job, 1, key_of(i), 0x100000 * (i + 1));
    for (uint64_t i = 0; i < REGIONS; i++)
        expect(job, 1, key_of(i), 0x100000 * (i + 1));
    assert_false(weft_queues_find(job, 0, weft_gda_rkey(key_of(0)), &region));
    assert_false(weft_queues_find(job, 1, weft_gda_rkey(key_of(0) + 1), &region));
    assert_false(weft_queues_find(job, 1, 0, &region));
    drop(job);
}

/* Another generation, as net/net.h and verbs count them. */
static void test_used_again(void **state)
{
    struct weft_job *job = a_job();

    (void)state;
    weft_queues_region(job, 0, 1ull << 32 | 7, 0x1000);
    weft_queues_region(job, 0, 1ull << 32 | 0, 0x2000);
    weft_queues_region(job, 0, 2ull << 32 | 7, 0x3000);
    expect(job, 0, 2ull << 32 | 7, 0x3000);
    expect(job, 0, 1ull << 32, 0x2000);
    assert_int_equal(job->queues->peers[0].regions_count, 2);
    drop(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_lower_bits),
                                       cmocka_unit_test(test_used_again)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
