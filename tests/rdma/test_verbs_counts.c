/*
 * rdma/test_verbs_counts.c - what puts cost over verbs, counted: work requests, doorbells,
 * completions, receives; and what a process holds. Where the machine is emulated these numbers say
 * what time cannot.
 */
#include "verbs_pair.h"

enum { PUTS = 2000 };

static struct weft_verbs_counts before[2], after[2];

static void begin(void)
{
    for (int i = 0; i < 2; i++)
        before[i] = pair[i].net->counts;
}

#define DELTA(end, field) (after[end].field - before[end].field)

static void end_phase(const char *what)
{
    for (int i = 0; i < 2; i++)
        after[i] = pair[i].net->counts;
    printf("%-34s each put: %.3f requests, %.3f doorbells, %.3f completions, %.3f fences, %.3f "
           "receives, %.3f acknowledgements\n",
           what, (double)DELTA(0, requests) / PUTS, (double)DELTA(0, doorbells) / PUTS,
           (double)DELTA(0, completions) / PUTS, (double)DELTA(0, fences) / PUTS,
           (double)DELTA(1, receives) / PUTS, (double)DELTA(1, acks) / PUTS);
    CHECK(DELTA(0, puts) == PUTS);
    CHECK(DELTA(1, puts) == 0 && DELTA(1, requests) == 0);
}

static void put_all(uint32_t notice, size_t bytes, bool one_by_one)
{
    static uint64_t values[PUTS][64];
    const uint32_t landed = pair[0].landed;

    for (int i = 0; i < PUTS; i++) {
        values[i][0] = (uint64_t)i + 1;
        pair_put(0, (size_t)(i % 1000) * 512, values[i], bytes, notice);
        if (one_by_one)
            PAIR_UNTIL(pair[0].landed == landed + (uint32_t)i + 1, 20);
    }
    PAIR_UNTIL(pair[0].landed == landed + PUTS, 60);
}

/* What holds for notified puts of inline data, gathered or one after the other. */
static void check_notified(void)
{
    CHECK(DELTA(0, requests) == PUTS);
    CHECK(DELTA(1, receives) == PUTS);
    CHECK(DELTA(0, fences) == 0);
    CHECK_LESS(DELTA(0, doorbells), PUTS + 1);
    CHECK_LESS(DELTA(0, completions) * 8, PUTS);
    CHECK_LESS(DELTA(1, acks), PUTS + 1);
    CHECK_LESS(DELTA(1, refills) * 64, PUTS);
}

static void count_notified(void)
{
    const uint32_t notice = weft_notice(WEFT_NOTICE_COUNT, 7, 12345);

    begin();
    put_all(notice, 8, false);
    end_phase("8 B with a notice, at once");
    check_notified();
    CHECK_LESS(DELTA(0, doorbells) * 2, PUTS);
    CHECK_LESS(DELTA(1, acks) * 2, PUTS);
    CHECK(pair[1].arrived == PUTS && pair[1].last_notice == notice);
    begin();
    put_all(notice, 8, true);
    end_phase("8 B with a notice, one by one");
    check_notified();
    begin();
    put_all(notice, 0, false);
    end_phase("a notice alone");
    check_notified();
}

static void count_plain(void)
{
    begin();
    put_all(0, 8, false);
    end_phase("8 B without, at once");
    CHECK(DELTA(0, requests) == PUTS);
    CHECK(DELTA(1, receives) == 0 && DELTA(1, acks) == 0);
    CHECK(DELTA(0, fences) <= DELTA(0, doorbells));
    CHECK_LESS(DELTA(0, doorbells) * 2, PUTS);
    CHECK_LESS(DELTA(0, completions) * 2, PUTS);
    begin();
    put_all(0, 500, false);
    end_phase("500 B without, at once");
    CHECK(DELTA(0, requests) == PUTS && DELTA(1, receives) == 0);
    CHECK_LESS(DELTA(0, completions) * 2, PUTS);
}

/* A connection is there when it has been used, in the direction in which it was. */
static void check_holdings(bool talked)
{
    struct weft_verbs_counts c[2];

    for (int i = 0; i < 2; i++)
        c[i] = pair[i].net->counts;
    printf("queue pairs of a process that %s: %llu, of the other %llu, of %d in the job\n",
           talked ? "has put to one" : "has put to nobody", (unsigned long long)c[0].queue_pairs,
           (unsigned long long)c[1].queue_pairs, PAIR_PROCESSES);
    CHECK(c[0].queue_pairs == (talked ? 2 : 1));
    CHECK(c[1].queue_pairs == (talked ? 2 : 1));
}

int main(void)
{
    setbuf(stdout, NULL);
    pair_open("", true, NULL);
    check_holdings(false);
    count_notified();
    check_holdings(true);
    count_plain();
    pair_close();
    printf("%d checks failed\n", failures);
    return failures != 0;
}
