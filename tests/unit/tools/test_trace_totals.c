/*
 * What weft-trace adds up over a timeline: what each rank sent to each, waiting by tag, and regions
 * with the waiting inside of them, where a wait lies in another.
 */
#include "totals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SPAN(name, category, begin, lasted, rank, args)                                            \
    "{\"name\":\"" name "\",\"cat\":\"" category "\",\"ph\":\"X\",\"ts\":" #begin                  \
    ".000,\"dur\":" #lasted ".000,\"pid\":1,\"tid\":" #rank ",\"args\":{" args "}}"
#define NAME(rank)                                                                                 \
    "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":" #rank                              \
    ",\"args\":{\"name\":\"rank " #rank "\"}},\n"

/* clang-format off */
static const char file[] =
    "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"weft_trace\":1,\"job\":\"0123456789abcdef\"},"
    "\"traceEvents\":[\n" NAME(0) NAME(1)
    /* rank 0: two puts and a notification to rank 1, and one put to itself */
    SPAN("put", "put", 0, 10, 0, "\"tag\":3,\"bytes\":100,\"to\":1") ",\n"
    SPAN("put", "put", 10, 10, 0, "\"bytes\":28,\"to\":1") ",\n"
    SPAN("notify", "put", 20, 10, 0, "\"tag\":4,\"to\":1") ",\n"
    SPAN("put", "put", 30, 10, 0, "\"bytes\":1000,\"to\":0") ",\n"
    /* rank 1: two regions of 100 us of which 60 are waited; then one, and a wait outside */
    SPAN("outer", "region", 0, 100, 1, "") ",\n"
    SPAN("inner", "region", 10, 60, 1, "") ",\n"
    SPAN("wait tag 3", "wait", 20, 40, 1, "\"tag\":3,\"count\":1") ",\n"
    SPAN("not delivered yet", "stuck", 30, 10, 1, "") ",\n"
    SPAN("wait tag 4", "wait", 80, 20, 1, "\"tag\":4,\"count\":1") ",\n"
    SPAN("inner", "region", 100, 10, 1, "") ",\n"
    SPAN("wait tag 3", "wait", 200, 50, 1, "\"tag\":3,\"count\":1") "\n]}\n";
/* clang-format on */

static void sums(void **state)
{
    struct trace trace;
    struct trace_totals t;
    FILE *in = fmemopen((void *)(uintptr_t)file, strlen(file), "r");

    (void)state;
    assert_non_null(in);
    assert_true(trace_read(in, "made up", &trace));
    fclose(in);
    assert_true(trace_totals(&trace, &t));
    assert_int_equal(t.pairs_count, 2);
    assert_true(t.pairs[0].from == 0 && t.pairs[0].to == 0);
    assert_int_equal(t.pairs[0].bytes, 1000);
    assert_true(t.pairs[1].from == 0 && t.pairs[1].to == 1);
    assert_int_equal(t.pairs[1].puts, 2);
    assert_int_equal(t.pairs[1].bytes, 128);
    assert_int_equal(t.pairs[1].notices, 2);
    assert_int_equal(t.tags_count, 2);
    assert_int_equal(t.tags[0].tag, 3);
    assert_int_equal(t.tags[0].waits, 2);
    assert_int_equal(t.tags[0].ns, 90000);
    assert_int_equal(t.tags[0].longest, 50000);
    assert_int_equal(t.tags[1].tag, 4);
    assert_int_equal(t.tags[1].ns, 20000);
    assert_int_equal(t.regions_count, 2);
    assert_string_equal(t.regions[0].name, "outer");
    assert_int_equal(t.regions[0].ns, 100000);
    assert_int_equal(t.regions[0].waiting, 60000);
    assert_string_equal(t.regions[1].name, "inner");
    assert_int_equal(t.regions[1].count, 2);
    assert_int_equal(t.regions[1].ns, 70000);
    assert_int_equal(t.regions[1].waiting, 40000);
    trace_totals_free(&t);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
