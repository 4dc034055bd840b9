/*
 * Device memory as it is offered to processes that map it (runtime/space/regions.c): a word leads
 * to the same bytes there, and no other word leads anywhere.
 */
#include "runtime/job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BYTES = 4096, AT = 0x10000 };

static struct weft_job job;
static struct weft_process processes[2];
static struct weft_segment here[2], there[2];
static unsigned char mapped[BYTES];

/* Process 0 has a segment, which process 1 maps; for both the job says who looks. */
static void begin(uint32_t serial)
{
    const struct weft_share share = {.bytes = BYTES, .address = AT};

    memset(&job, 0, sizeof(job));
    job.processes = processes;
    here[1] = (struct weft_segment){.share = share, .address = (void *)AT, .serial = serial};
    there[1] = (struct weft_segment){.share = share, .address = mapped, .serial = serial};
    processes[0].segments_count = 2;
}

static uint64_t offer(uint64_t at, size_t bytes)
{
    job.numbers.process = 0;
    processes[0].segments = here;
    return weft_memory_offer(&job, (const void *)(uintptr_t)at, bytes);
}

static void *offered(uint64_t word, size_t bytes)
{
    job.numbers.process = 1;
    processes[0].segments = there;
    return weft_memory_offered(&job, 0, word, bytes);
}

static void test_same(void **unused)
{
    (void)unused;
    begin(7);
    assert_true(weft_memory_is_offer(offer(AT, BYTES)));
    assert_ptr_equal(offered(offer(AT, BYTES), BYTES), mapped);
    assert_ptr_equal(offered(offer(AT + 100, 5), 5), mapped + 100);
    assert_int_equal(offer(AT + 1, BYTES), 0);
    assert_int_equal(offer(AT - 1, 2), 0);
    assert_int_equal(offer(((uint64_t)1 << 48) + AT, 1), 0);
}

/* The memory was freed, and other memory is at its address: the mapping there is still the old. */
static void test_again(void **unused)
{
    (void)unused;
    begin(7);
    const uint64_t old = offer(AT, 8);
    here[1].serial = 8;
    assert_null(offered(offer(AT, 8), 8));
    there[1].serial = 8;
    assert_non_null(offered(offer(AT, 8), 8));
    assert_null(offered(old, 8));
    there[1].address = NULL;
    assert_null(offered(offer(AT, 8), 8));
}

static void test_hostile(void **unused)
{
    (void)unused;
    begin(7);
    const uint64_t word = offer(AT, 1);
    assert_null(offered(word, BYTES + 1));
    assert_null(offered(word, SIZE_MAX));
    assert_null(offered(word - 1, 1));
    assert_null(offered(word + BYTES, 1));
    assert_null(offered(UINT64_MAX, 1));
    assert_null(offered(AT, 1));
    srand(1);
    for (int i = 0; i < 100000; i++) {
        const uint64_t any = word ^ (uint64_t)rand() << (rand() % 64);
        const size_t bytes = (size_t)(rand() % (2 * BYTES));
        const unsigned char *at = offered(any, bytes);
        assert_true(at == NULL || (at >= mapped && at + bytes <= mapped + BYTES));
    }
}

/* Who has the tables is not waited for. */
static void test_busy(void **unused)
{
    (void)unused;
    begin(7);
    const uint64_t word = offer(AT, 1);
    weft_lock(&job.space.tables);
    assert_int_equal(offer(AT, 1), 0);
    assert_null(offered(word, 1));
    weft_unlock(&job.space.tables);
    assert_non_null(offered(word, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
