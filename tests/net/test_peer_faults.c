/*
 * net/test_peer_faults.c - the peer layer over transports that do the worst that they may
 * (support/faulty_net.h): the suite passes whatever packets overtake, cut and delay. A packet that
 * is lost, and a connection that is said to be broken, end in WEFT_ERR_PEER_LOST.
 */
#include "conformance.h"
#include "support/faulty_net.h"

#include "base/task.h"

static struct ends with = {.ops = &faulty_net_ops, .count = ENDS_MOST, .one_space = true};

static bool run(struct faulty_net net, const char *name)
{
    static const uint64_t starts[] = {0, 0xffffffe0u};
    bool good = true;

    for (uint32_t seed = 1; seed <= 2; seed++) {
        net.seed = seed;
        faulty_net = net;
        with.counter_start = starts[seed % 2];
        const bool writes = net.immediate != 0 || net.silent;
        with.later = seed % 2 == 0 && !writes;
        with.places = writes;
        with.register_sources = seed % 2 == 0;
        good &= ends_run(&with, suite, 0);
    }
    with.counter_start = 0;
    with.places = false; /* real writes outside of windows are refused by devices */
    for (int m = 0; m < malices(); m++)
        good &= ends_run(&with, suffer, m);
    printf("%s: %s\n", name, good ? "good" : "FAILED");
    return good;
}

static void soon(struct weft_config *config, int me)
{
    (void)me;
    config->silence_s = 1;
}

/* Each end puts until somebody says that something was lost. */
static void lose(struct end *end, int unused)
{
    const int to = (end->me + 1) % end->all->count;
    const uint64_t deadline = weft_now_ns() + END_PATIENCE_NS;
    static const uint64_t source = 1;
    static uint32_t heard;
    weft_status status = WEFT_OK;

    (void)unused;
    __atomic_store_n(&heard, 0, __ATOMIC_RELEASE);
    end_meet(end);
    for (int i = 0; i < 100 && status == WEFT_OK; i++)
        status = end_put(end, to, (size_t)i * 8, &source, sizeof(source), 0, END_KEEP);
    while (status == WEFT_OK && __atomic_load_n(&heard, __ATOMIC_ACQUIRE) == 0 &&
           weft_now_ns() < deadline)
        status = end_move(end);
    if (status == WEFT_ERR_PEER_LOST)
        __atomic_store_n(&heard, 1, __ATOMIC_RELEASE);
    CHECK(end->all, status == WEFT_OK || status == WEFT_ERR_PEER_LOST);
    end_meet(end);
    CHECK(end->all, __atomic_load_n(&heard, __ATOMIC_ACQUIRE) == 1);
}

static bool run_lost(struct faulty_net net, const char *name)
{
    struct ends losing = with;

    faulty_net = net;
    losing.configure = soon;
    losing.later = false;
    const bool good = ends_run(&losing, lose, 0);
    printf("%s: %s\n", name, good ? "good" : "FAILED");
    return good;
}

int main(void)
{
    bool good = true;

    setbuf(stdout, NULL);
    good &=
        run((struct faulty_net){.ordered = true, .acknowledges = true}, "ordered, acknowledges");
    good &= run((struct faulty_net){.ordered = true}, "ordered");
    good &= run((struct faulty_net){.strangers = true}, "out of order, beside strangers");
    good &= run((struct faulty_net){.one_thread = true}, "out of order, one thread");
    good &= run((struct faulty_net){.ordered = true, .immediate = 32}, "writes in order");
    good &=
        run((struct faulty_net){.ordered = true, .silent = true}, "writes of which nobody says");
    good &= run((struct faulty_net){.immediate = 39}, "writes out of order");
    good &= run((struct faulty_net){.immediate = 7}, "writes that bring no notice");
    good &= run_lost((struct faulty_net){.seed = 1, .drop = 5}, "a packet is lost");
    good &= run_lost((struct faulty_net){.seed = 1, .broke_at = 5}, "a connection breaks");
    printf("%s\n", good ? "all good" : "FAILED");
    return !good;
}
