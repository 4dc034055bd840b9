/*
 * A rank's ticks as nanoseconds: looks at both clocks that are made up, and what lies between,
 * before and after them. The truth is a multiprocessor whose clock changes its rate.
 */
#include "runtime/trace/ticks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 64 };

static struct weft_trace_log *made;

static void forget(void)
{
    memset(made, 0, weft_trace_bytes(MOST));
}

static uint64_t add(enum weft_trace_kind kind, uint64_t ticks, uint64_t ns)
{
    struct weft_trace_event *e = &made->event[made->count % MOST];
    *e = (struct weft_trace_event){.begin = ticks, .end = ns, .kind = (uint8_t)kind};
    return made->count++;
}

/* One of which only the number matters. */
static uint64_t call(void)
{
    return add(WEFT_TRACE_PUT, 0, 0);
}

static struct weft_trace_ticks reader(double rate)
{
    struct weft_trace_ticks t;
    const uint64_t first = made->count > MOST ? made->count - MOST : 0;
    assert_true(weft_trace_ticks_begin(&t, made, first, made->count, MOST, rate));
    return t;
}

static void near_to(uint64_t got, uint64_t want, uint64_t by)
{
    if (got > want + by || got + by < want)
        fail_msg("%llu, not %llu", (unsigned long long)got, (unsigned long long)want);
}

/* Two looks, and calls between: on the line. Begins and ends of an event in any order. */
static void between(void **state)
{
    (void)state;
    forget();
    add(WEFT_TRACE_RUN_BEGIN, 1000, 500000);
    const uint64_t a = call(), b = call();
    add(WEFT_TRACE_RUN_END, 3000, 501000); /* 0.5 ns a tick */
    struct weft_trace_ticks t = reader(7);
    assert_int_equal(weft_trace_ticks_at(&t, a, 1000), 500000);
    assert_int_equal(weft_trace_ticks_at(&t, a, 1800), 500400);
    assert_int_equal(weft_trace_ticks_at(&t, a, 1400), 500200);
    assert_int_equal(weft_trace_ticks_at(&t, b, 3000), 501000);
    assert_int_equal(weft_trace_ticks_at(&t, b, 3200), 501100); /* beyond: the same line */
    assert_true(t.rate == 0.5);
}

/* The clock becomes slower and faster: each piece has its own line, and they meet. */
static void drift(void **state)
{
    static const double rates[] = {0.5, 0.9, 0.51, 4.0};
    uint64_t ticks = 77, ns = 1000000, at[4];

    (void)state;
    forget();
    add(WEFT_TRACE_RUN_BEGIN, ticks, ns);
    for (int i = 0; i < 4; i++) {
        at[i] = call();
        ticks += 1000000;
        ns += (uint64_t)(1e6 * rates[i]);
        add(i < 3 ? WEFT_TRACE_CLOCK : WEFT_TRACE_RUN_END, ticks, ns);
    }
    struct weft_trace_ticks t = reader(1);
    uint64_t begun = 1000000;
    for (int i = 0; i < 4; i++) {
        const uint64_t first = 77 + (uint64_t)i * 1000000;
        near_to(weft_trace_ticks_at(&t, at[i], first), begun, 0);
        near_to(weft_trace_ticks_at(&t, at[i], first + 250000),
                begun + (uint64_t)(250000 * rates[i]), 1);
        begun += (uint64_t)(1e6 * rates[i]);
        near_to(weft_trace_ticks_at(&t, at[i], first + 1000000), begun, 1);
    }
}

/* Counters wrap, a wait is longer than 2^32 ticks, and the device's clock may be anywhere, too. */
static void wraps(void **state)
{
    const uint64_t ticks = UINT64_MAX - 99, ns = (uint64_t)1 << 62, long_wait = (uint64_t)20 << 32;

    (void)state;
    forget();
    add(WEFT_TRACE_RUN_BEGIN, ticks, ns);
    const uint64_t a = call();
    add(WEFT_TRACE_RUN_END, ticks + long_wait, ns + long_wait / 2);
    struct weft_trace_ticks t = reader(1);
    assert_int_equal(weft_trace_ticks_at(&t, a, ticks + 50), ns + 25);
    assert_int_equal(weft_trace_ticks_at(&t, a, 100), ns + 100);
    assert_int_equal(weft_trace_ticks_at(&t, a, ticks + long_wait), ns + long_wait / 2);
}

/* One look alone: the rate that other logs have given. None: no times. */
static void one_look(void **state)
{
    struct weft_trace_ticks t;

    (void)state;
    forget();
    const uint64_t before = call();
    add(WEFT_TRACE_CLOCK, 5000, 90000);
    const uint64_t after = call();
    t = reader(0.5);
    assert_int_equal(weft_trace_ticks_at(&t, before, 4000), 89500);
    assert_int_equal(weft_trace_ticks_at(&t, after, 6000), 90500);

    forget();
    call();
    assert_false(weft_trace_ticks_begin(&t, made, 0, made->count, MOST, 1));
    assert_false(weft_trace_ticks_begin(&t, made, 0, 0, MOST, 1));
}

/* A ring that has lost the run's beginning: the first line goes back to the first event. */
static void lost_begin(void **state)
{
    (void)state;
    forget();
    add(WEFT_TRACE_RUN_BEGIN, 0, 1);
    for (uint64_t i = 1; i < 10 * MOST; i++)
        if (i % 16 == 0)
            add(WEFT_TRACE_CLOCK, 1000 * i, 250 * i);
        else
            call();
    const uint64_t first = made->count - MOST;
    assert_int_not_equal(made->event[(first + 1) % MOST].kind, WEFT_TRACE_CLOCK);
    struct weft_trace_ticks t = reader(1);
    for (uint64_t i = first; i < made->count; i++)
        near_to(weft_trace_ticks_at(&t, i, 1000 * i), 250 * i, 1);
}

/* Two runs: on another multiprocessor the second time, whose counter is behind. */
static void two_runs(void **state)
{
    (void)state;
    forget();
    add(WEFT_TRACE_RUN_BEGIN, 900000, 1000);
    const uint64_t a = call();
    add(WEFT_TRACE_RUN_END, 902000, 2000);
    add(WEFT_TRACE_RUN_BEGIN, 100, 50000);
    const uint64_t b = call();
    add(WEFT_TRACE_RUN_END, 1100, 51000);
    struct weft_trace_ticks t = reader(9);
    assert_int_equal(weft_trace_ticks_at(&t, a, 901000), 1500);
    assert_int_equal(weft_trace_ticks_at(&t, b, 600), 50500);

    /* The first one failed: it has no other look, and the line to the second run is none. */
    forget();
    add(WEFT_TRACE_RUN_BEGIN, 100, 1000);
    const uint64_t c = call();
    add(WEFT_TRACE_RUN_BEGIN, 100100, 11000);
    t = reader(0.5);
    assert_int_equal(weft_trace_ticks_at(&t, c, 300), 1100);
}

/* The counter jumps, as a rank that was moved sees it; the clock goes back, as it never does. */
static void out_of_order(void **state)
{
    (void)state;
    forget();
    add(WEFT_TRACE_RUN_BEGIN, 100000, 1000);
    add(WEFT_TRACE_CLOCK, 102000, 2000);
    const uint64_t a = call();
    add(WEFT_TRACE_CLOCK, 500, 3000); /* 98500 ticks back */
    const uint64_t b = call();
    add(WEFT_TRACE_CLOCK, 2500, 4000);
    const uint64_t c = call();
    add(WEFT_TRACE_CLOCK, 4500, 10);
    const uint64_t d = call();
    add(WEFT_TRACE_RUN_END, 6500, 6000);
    struct weft_trace_ticks t = reader(1);
    assert_int_equal(weft_trace_ticks_at(&t, a, 103000), 2500);
    assert_int_equal(weft_trace_ticks_at(&t, a, 109000), 3000); /* no further than the next */
    assert_int_equal(weft_trace_ticks_at(&t, b, 1500), 3500);
    assert_int_equal(weft_trace_ticks_at(&t, c, 3500), 4500);
    assert_int_equal(weft_trace_ticks_at(&t, d, 5500),
                     5500); /* from the look before the false one */
}

/* Numbers that no program of ours has written: something comes out, and it ends. */
static void anything(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 20000; round++) {
        struct weft_trace_ticks t;
        forget();
        made->count = (uint64_t)rand() % (3 * MOST);
        for (size_t i = 0; i < MOST * sizeof(made->event[0]); i++)
            ((unsigned char *)made->event)[i] = (unsigned char)(rand() % 3 ? rand() : 255);
        for (int i = 0; i < MOST; i++)
            if (rand() % 2)
                made->event[i].kind = (uint8_t)(rand() % 4);
        const uint64_t first = made->count > MOST ? made->count - MOST : 0;
        if (!weft_trace_ticks_begin(&t, made, first, made->count, MOST, 1))
            continue;
        for (uint64_t i = first; i < made->count; i++) {
            weft_trace_ticks_at(&t, i, made->event[i % MOST].begin);
            weft_trace_ticks_at(&t, i, made->event[i % MOST].end);
        }
        assert_true(t.rate > 0 && t.rate <= 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between),      cmocka_unit_test(drift),      cmocka_unit_test(wraps),
        cmocka_unit_test(one_look),     cmocka_unit_test(lost_begin), cmocka_unit_test(two_runs),
        cmocka_unit_test(out_of_order), cmocka_unit_test(anything),
    };
    made = calloc(1, weft_trace_bytes(MOST));
    const int failed = made != NULL ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    free(made);
    return failed;
}
