/*
 * A rank's track, from logs that are made up: of a GPU, whose memory any program may write into.
 * The file is read by the tool's own reader. Whatever the log holds, nothing ends before it begins,
 * nothing lies outside of its run or of what encloses it, and nothing is later than the writing.
 */
#include "runtime/trace/trace.h"

#include "read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 64, OPENED = 1000000, NOW = 90000000, BEGAN = 2000000, DEVICE = 500 };

static struct weft_trace_log *made;
static char path[] = "/tmp/weft-test-trace-rank.XXXXXX";

static struct weft_process_entry entry = {.first_rank = 0, .ranks = 2};
static struct weft_trace timeline;
static struct weft_job job = {.trace = &timeline, .space.state = {.process_table = &entry}};

static void forget(void)
{
    memset(made, 0, weft_trace_bytes(MOST));
}

static void add(enum weft_trace_kind kind, uint64_t begin, uint64_t end)
{
    struct weft_trace_event *e = &made->event[made->count++ % MOST];
    *e = (struct weft_trace_event){.begin = begin,
                                   .end = end,
                                   .process = 0,
                                   .slot = 2,
                                   .amount = 8,
                                   .tag = 3,
                                   .kind = (uint8_t)kind};
}

/* The device's clock showed DEVICE when the host's showed BEGAN. */
static void write_and_read(struct trace *trace)
{
    job.numbers.processes = 1;
    timeline = (struct weft_trace){.owns_clock = true,
                                   .offset = -OPENED,
                                   .now = NOW,
                                   .most = MOST,
                                   .tick_ns = 1,
                                   .launched = BEGAN - 1000,
                                   .ended = NOW - 1000,
                                   .runs = {{DEVICE, BEGAN}},
                                   .runs_count = 1};
    assert_int_equal(weft_trace_file_open(&timeline.file, path, 1, true), WEFT_OK);
    assert_int_equal(weft_trace_file_begin(timeline.file), WEFT_OK);
    weft_trace_slot(&job, 1, made);
    assert_int_equal(weft_trace_file_end(timeline.file), WEFT_OK);
    weft_trace_file_close(timeline.file);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_true(trace_read(in, path, trace));
    fclose(in);
}

static const struct trace_event *find(const struct trace *trace, enum trace_category category,
                                      int which)
{
    for (size_t i = 0; i < trace->events_count; i++)
        if (trace->events[i].category == category && which-- == 0)
            return &trace->events[i];
    fail_msg("no such event");
    return NULL;
}

/* A run of 1 ms at 2 GHz: a put, in it a wait for room, and what is between. */
static void known(void **state)
{
    struct trace trace;

    (void)state;
    forget();
    add(WEFT_TRACE_RUN_BEGIN, 7000, DEVICE);
    add(WEFT_TRACE_PUT, 7000 + 200000, 7000 + 600000);
    add(WEFT_TRACE_ROOM, 7000 + 300000, 7000 + 400000);
    add(WEFT_TRACE_CLOCK, 7000 + 1000000, DEVICE + 500000);
    add((enum weft_trace_kind)0, 1, 2); /* of a call for several targets: this one was left */
    add(WEFT_TRACE_WAIT, 7000 + 1500000, 0);
    add(WEFT_TRACE_RUN_END, 7000 + 2000000, DEVICE + 1000000);
    write_and_read(&trace);
    const uint64_t began = BEGAN - OPENED;
    const struct trace_event *run = find(&trace, TRACE_RUN, 0), *put = find(&trace, TRACE_PUT, 0),
                             *room = find(&trace, TRACE_STUCK, 0),
                             *wait = find(&trace, TRACE_WAIT, 0);
    assert_int_equal(run->begin, began);
    assert_int_equal(run->end, began + 1000000);
    assert_int_equal(put->begin, began + 100000);
    assert_int_equal(put->end, began + 300000);
    assert_int_equal(put->to, 1);
    assert_int_equal(room->begin, began + 150000);
    assert_int_equal(room->end, began + 200000);
    assert_int_equal(find(&trace, TRACE_COMPUTE, 1)->begin, put->end);
    assert_int_equal(find(&trace, TRACE_COMPUTE, 1)->end, wait->begin);
    assert_int_equal(wait->begin, began + 750000);
    assert_int_equal(wait->end, run->end);
    assert_true(wait->unfinished && !put->unfinished);
    assert_int_equal(trace.events_count, 6); /* a run, three calls, two times of computing */
    trace_free(&trace);
}

static void add_region(enum weft_trace_kind kind, const char *name, uint64_t at)
{
    add(kind, at, at);
    weft_trace_set_region(&made->event[(made->count - 1) % MOST], kind, name);
}

/* One region in another, whose name JSON and the log's room change; one that the run's end ends;
 * and an end too many. Computing is cut where they begin and end. */
static void regions(void **state)
{
    const uint64_t began = BEGAN - OPENED;
    struct trace trace;

    (void)state;
    forget();
    add(WEFT_TRACE_RUN_BEGIN, 7000, DEVICE);
    add_region(WEFT_TRACE_REGION_END, "", 7000 + 100000);
    add_region(WEFT_TRACE_REGION, "outer", 7000 + 200000);
    add_region(WEFT_TRACE_REGION, "a \"name\" of 19 bytes", 7000 + 400000);
    add(WEFT_TRACE_PUT, 7000 + 600000, 7000 + 800000);
    add_region(WEFT_TRACE_REGION_END, "", 7000 + 1000000);
    add_region(WEFT_TRACE_REGION_END, "", 7000 + 1200000);
    add_region(WEFT_TRACE_REGION, "left", 7000 + 1600000);
    add(WEFT_TRACE_RUN_END, 7000 + 2000000, DEVICE + 1000000);
    write_and_read(&trace);
    const struct trace_event *outer = find(&trace, TRACE_REGION, 0),
                             *inner = find(&trace, TRACE_REGION, 1),
                             *last = find(&trace, TRACE_REGION, 2);
    assert_string_equal(outer->name, "outer");
    assert_int_equal(outer->begin, began + 100000);
    assert_int_equal(outer->end, began + 600000);
    assert_string_equal(inner->name, "a \"name\" of 19 ");
    assert_int_equal(inner->begin, began + 200000);
    assert_int_equal(inner->end, began + 500000);
    assert_string_equal(last->name, "left");
    assert_int_equal(last->begin, began + 800000);
    assert_int_equal(last->end, began + 1000000);
    assert_int_equal(find(&trace, TRACE_COMPUTE, 2)->begin, inner->begin);
    assert_int_equal(find(&trace, TRACE_COMPUTE, 2)->end, began + 300000);
    trace_free(&trace);
}

/* Nothing says what time it was: all of it is lost, and that is said. */
static void no_look(void **state)
{
    struct trace trace;

    (void)state;
    forget();
    add(WEFT_TRACE_PUT, 1, 2);
    add(WEFT_TRACE_PUT, 3, 4);
    write_and_read(&trace);
    assert_int_equal(trace.tracks_count, 1);
    assert_int_equal(trace.tracks[0].lost, 2);
    assert_int_equal(timeline.lost, 2);
    trace_free(&trace);
}

/* trace_read has refused what has a negative length. */
static void check_inside(const struct trace *trace)
{
    uint64_t ends[16];
    int deep = 0;

    assert_int_equal(trace->tracks_count, 1);
    for (size_t i = 0; i < trace->events_count; i++) {
        const struct trace_event *e = &trace->events[i];
        if (e->moment)
            continue;
        assert_true(e->end >= e->begin && e->end <= NOW - OPENED);
        while (deep > 0 && ends[deep - 1] <= e->begin)
            deep--;
        assert_true(deep < 16 && (deep == 0 || e->end <= ends[deep - 1]));
        if (e->category != TRACE_RUN && e->begin < e->end)
            assert_true(deep > 0);
        ends[deep++] = e->end;
    }
}

static uint64_t odd_time(void)
{
    static const uint64_t odd[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, NOW, BEGAN, DEVICE};
    switch (rand() % 4) {
    case 0:
        return odd[(size_t)rand() % (sizeof(odd) / sizeof(odd[0]))];
    case 1:
        return (uint64_t)rand() << 33 ^ (uint64_t)rand();
    default:
        return (uint64_t)rand() % (2 * (uint64_t)NOW);
    }
}

static void anything(void **state)
{
    struct trace trace;

    (void)state;
    srand(1);
    for (int round = 0; round < 600; round++) {
        forget();
        const int events = 1 + rand() % (2 * MOST);
        if (rand() % 2)
            add(WEFT_TRACE_RUN_BEGIN, odd_time(), DEVICE);
        for (int i = 0; i < events; i++) {
            add((enum weft_trace_kind)(rand() % 8 ? WEFT_TRACE_PUT + rand() % 9 : rand() % 256),
                odd_time(), rand() % 4 ? odd_time() : 0);
            if (rand() % 8 == 0)
                add((enum weft_trace_kind)(WEFT_TRACE_RUN_BEGIN + rand() % 5), odd_time(),
                    odd_time());
        }
        write_and_read(&trace);
        check_inside(&trace);
        trace_free(&trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(regions),
                                       cmocka_unit_test(no_look), cmocka_unit_test(anything)};
    const int file = mkstemp(path);
    made = calloc(1, weft_trace_bytes(MOST));
    if (file < 0 || made == NULL)
        return 1;
    close(file);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    free(made);
    return failed;
}
