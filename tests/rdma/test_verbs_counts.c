/*
 * rdma/test_verbs_counts.c - what puts cost over verbs, counted: work requests and receives; and
 * what a process holds. Where the machine is emulated these numbers say
 * what time cannot.
 */
#include "verbs_pair.h"

enum { PUTS = 2000 };

static struct weft_verbs_counts before[2], after[2];

static void begin(void)
{
    for (int i = 0; i < 2; i++)
        before[i] = *pair_counts(i);
}

#define DELTA(end, field) (after[end].field - before[end].field)

static void end_phase(const char *what)
{
    for (int i = 0; i < 2; i++)
        after[i] = *pair_counts(i);
    printf("%-34s each put: %.3f requests, %.3f receives, %.3f acknowledgements\n", what,
           (double)DELTA(0, requests) / PUTS, (double)DELTA(1, receives) / PUTS,
           (double)DELTA(1, requests) / PUTS);
    CHECK(DELTA(0, requests) == DELTA(1, receives));
    CHECK(DELTA(1, requests) == DELTA(0, receives));
}

static void put_all(uint32_t notice, size_t bytes, bool one_by_one)
{
    static uint64_t values[PUTS][64];
    const uint32_t delivered = pair[0].delivered;

    for (int i = 0; i < PUTS; i++) {
        values[i][0] = (uint64_t)i + 1;
        pair_put(0, (size_t)(i % 1000) * 512, values[i], bytes, notice);
        if (one_by_one)
            PAIR_UNTIL(pair[0].delivered == delivered + (uint32_t)i + 1);
    }
    PAIR_UNTIL(pair[0].delivered == delivered + PUTS);
}

/* Many puts at once share requests; one after the other each has its own. */
static void count(const char *what, size_t bytes, uint32_t notice, bool one_by_one)
{
    const uint32_t arrived = pair[1].arrived;

    begin();
    put_all(notice, bytes, one_by_one);
    end_phase(what);
    CHECK(pair[1].arrived - arrived == (notice != 0 ? PUTS : 0));
    if (one_by_one) {
        CHECK_LESS(DELTA(0, requests), 2 * PUTS + PUTS / 8); /* it asks for each to be told */
        return;
    }
    CHECK_LESS(DELTA(0, requests) * 4, PUTS);
    CHECK_LESS(DELTA(1, requests) * 8, PUTS);
}

/* One that is long is a request of its own, with its notice, and is not copied. */
static void count_long(void)
{
    enum { LONG = 50, BYTES = 20000 };
    const uint32_t notice = weft_notice(WEFT_NOTICE_COUNT, 7, 12345), delivered = pair[0].delivered;

    begin();
    for (int i = 0; i < LONG; i++) /* within registered memory */
        pair_put(0, (size_t)i * BYTES, pair[0].memory + (size_t)i * BYTES, BYTES, notice);
    PAIR_UNTIL(pair[0].delivered == delivered + LONG);
    end_phase("20000 B with a notice, 50 of them");
    CHECK_LESS(DELTA(0, requests), LONG + 8);
    CHECK(pair[1].last_notice == notice);
}

/* A connection is there when it has been used, one for both directions. */
static void check_holdings(bool talked)
{
    struct weft_verbs_counts c[2];

    for (int i = 0; i < 2; i++)
        c[i] = *pair_counts(i);
    printf("queue pairs of a process that %s: %llu, of the other %llu, of %d in the job\n",
           talked ? "has put to one" : "has put to nobody", (unsigned long long)c[0].queue_pairs,
           (unsigned long long)c[1].queue_pairs, PAIR_PROCESSES);
    CHECK(c[0].queue_pairs == (talked ? 2 : 1));
    CHECK(c[1].queue_pairs == (talked ? 2 : 1));
}

int main(void)
{
    setbuf(stdout, NULL);
    pair_open("", NULL);
    check_holdings(false);
    const uint32_t notice = weft_notice(WEFT_NOTICE_COUNT, 7, 12345);
    count("8 B with a notice, at once", 8, notice, false);
    check_holdings(true);
    count("8 B with a notice, one by one", 8, notice, true);
    count("a notice alone", 0, notice, false);
    count("8 B without, at once", 8, 0, false);
    count_long();
    pair_close();
    printf("%d checks failed\n", failures);
    return failures != 0;
}
