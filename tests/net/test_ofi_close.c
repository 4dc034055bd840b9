/*
 * net/test_ofi_close.c - an end of the network ofi closes with a message in its queue that nobody
 * took. ofi_rxm over verbs would post that message's buffer to a connection that is gone. Two ends
 * in one thread: the second one's receive side stands still once the two are connected.
 */
#include "support/net_ends.h"

#include "abi/notice.h"
#include "base/task.h"

enum { SKIPPED = 77 };

static struct ends ends = {.count = 2, .one_space = true};

static void turn(int end, enum weft_net_side side)
{
    bool did = false;

    CHECK(&ends, weft_net_progress(ends.end[end].net, side, &did) == WEFT_OK);
}

/* Puts from the first end to the second. */
static void put(uint64_t *word)
{
    const struct weft_net_put put = {.process = 1,
                                     .key = ends.end[1].key,
                                     .source = word,
                                     .bytes = sizeof(*word),
                                     .notice = weft_notice(WEFT_NOTICE_COUNT, 7, 1)};

    CHECK(&ends, end_try(&ends.end[0], &put, END_KEEP) == WEFT_OK);
}

int main(void)
{
    static uint64_t words[] = {77, 78};
    char text[2048];

    setbuf(stdout, NULL);
    ends.ops = weft_transport_find("ofi");
    if (ends.ops == NULL || !weft_transport_is_here(ends.ops, text, sizeof(text))) {
        printf("skipped: there is no ofi\n");
        return SKIPPED;
    }
    for (int i = 0; i < 2; i++) {
        ends.end[i].all = &ends;
        ends.end[i].me = i;
        ends.end[i].memory = ends.memory[i];
        end_open(&ends.end[i]);
    }
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < 2; p++)
            CHECK(&ends, weft_net_connect(ends.end[i].net, p, ends.end[p].address) == WEFT_OK);
    put(&words[0]);
    const uint64_t until = weft_now_ns() + END_PATIENCE_NS;
    while (ends.end[0].puts[0].delivered == 0 && weft_now_ns() < until)
        for (int i = 0; i < 4; i++)
            turn(i / 2, i % 2 == 0 ? WEFT_NET_SEND : WEFT_NET_RECEIVE);
    CHECK(&ends, ends.end[1].notice_count[0] == 1);
    put(&words[1]);
    for (const uint64_t from = weft_now_ns(); weft_now_ns() - from < 300000000;)
        turn(0, WEFT_NET_SEND);
    end_close(&ends.end[1]);
    end_close(&ends.end[0]);
    printf("%u checks failed\n", ends.failures);
    return ends.failures != 0;
}
