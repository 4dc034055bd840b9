/*
 * network.c - a network alone: 4 bytes of host memory back and forth over a table of src/net,
 * without ranks, command rings or other threads. What is above it in a put is not in the figure.
 *
 * One message: data and notice in one put, as weft sends them. Two: the data in a put of its own
 * and then the notice, which is what a library must do that knows no notified put; dCUDA did over
 * MPI.
 *
 *     WEFT_NET=shm weftrun -n 2 bench_network        WEFT_NET=mpi mpirun -n 2 bench_network
 */
#include "base/task.h"
#include "boot/control.h"
#include "boot/mpi.h"
#include "net/net.h"
#include "support/bench.h"
#include "wire/notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4, FRAME = 1, PATIENCE_S = 30 };

/* What the two tell each other at the start. */
struct card {
    uint32_t status; /* of opening */
    uint64_t key;
    unsigned char address[WEFT_NET_ADDRESS_MAX];
};

struct side {
    struct weft_config config;
    struct weft_control *control;
    const struct weft_net_ops *ops;
    struct weft_net *net;
    int me;
    uint64_t keys[2]; /* by process */
    uint32_t window;  /* the other one puts here */
    uint32_t arrived; /* notices */
    uint32_t sent;    /* puts whose source is free */
    uint32_t landed;
};

static const char *const forms[] = {"one", "two", NULL};

static void die(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(EXIT_FAILURE);
}

static void must(weft_status status)
{
    if (status != WEFT_OK)
        die(weft_status_text(status));
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool arrived(void *context, int process, uint32_t notice)
{
    struct side *side = context;

    side->arrived++;
    return process == 1 - side->me && weft_notice_kind_of(notice) == WEFT_NOTICE_COUNT;
}

static void sent(void *context, void *cookie)
{
    struct side *side = context;

    (void)cookie;
    side->sent++;
}

static void landed(void *context, void *cookie)
{
    struct side *side = context;

    (void)cookie;
    side->landed++;
}

/* ---- start ----------------------------------------------------------------------------------- */

static void turn(struct side *side)
{
    bool did = false;

    must(side->ops->progress(side->net, WEFT_NET_RECEIVE, &did));
    must(side->ops->progress(side->net, WEFT_NET_SEND, &did));
    if (!did)
        weft_task_yield(true);
}

/* Each tells all; then each knows the cards of both. turning: the network goes on meanwhile. */
static void exchange(struct side *side, const struct card *mine, struct card all[2], bool turning)
{
    const uint64_t deadline = weft_now_ns() + PATIENCE_S * 1000000000ull;
    bool have[2] = {false, false};

    must(weft_control_send(side->control, FRAME, mine, sizeof(*mine)));
    while (!have[0] || !have[1]) {
        struct weft_frame frame;
        weft_status status = weft_control_next(side->control, &frame, turning ? 0 : 10000000);
        if (turning)
            turn(side);
        if (status == WEFT_ERR_TIMEOUT && weft_now_ns() < deadline)
            continue;
        must(status);
        if (frame.kind != FRAME || frame.bytes != sizeof(*mine))
            die("the other process is gone");
        memcpy(&all[frame.source], frame.payload, sizeof(*mine));
        have[frame.source] = true;
        free(frame.payload);
    }
}

static void open_table(struct side *side)
{
    static const char *const names[] = {"shm",   "shm", "ofi",
                                        "verbs", "mpi", "null"}; /* config.def */
    struct card mine = {0}, all[2];

    side->ops = weft_net_find(names[side->config.net]);
    if (side->ops == NULL)
        die("this weft was built without that network");
    const struct weft_net_open open = {
        .config = &side->config,
        .process = side->me,
        .processes = 2,
        .events = {.context = side, .arrived = arrived, .sent = sent, .landed = landed}};
    weft_status status = side->ops->open(&side->net, &open);
    if (status == WEFT_OK)
        status = side->ops->reg(side->net, &side->window, sizeof(side->window), &mine.key);
    if (status == WEFT_OK)
        status = side->ops->address(side->net, mine.address);
    mine.status = (uint32_t)status;
    exchange(side, &mine, all, false);
    for (int p = 0; p < 2; p++) {
        must((weft_status)all[p].status);
        must(side->ops->connect(side->net, p, all[p].address));
        side->keys[p] = all[p].key;
    }
    exchange(side, &mine, all, false); /* nobody puts before both are connected */
}

static void open_side(struct side *side)
{
    must(weft_config_load(&side->config, NULL, NULL));
    must(weft_boot_mpi(&side->config));
    must(weft_control_open(&side->control, &side->config));
    side->me = weft_control_process(side->control);
    if (weft_control_processes(side->control) != 2)
        die("runs as 2 processes: weftrun -n 2, or mpirun -n 2 for WEFT_NET=mpi");
    open_table(side);
}

static void close_side(struct side *side)
{
    struct card card = {0}, all[2];

    exchange(side, &card, all, true); /* both have received all, and said so */
    weft_control_close(side->control, true);
    side->ops->close(side->net);
}

/* ---- the ball -------------------------------------------------------------------------------- */

static void put(struct side *side, const void *source, size_t bytes, uint32_t notice)
{
    const struct weft_net_put put = {.process = 1 - side->me,
                                     .key = side->keys[1 - side->me],
                                     .source = source,
                                     .bytes = bytes,
                                     .notice = notice};
    weft_status status;

    while ((status = side->ops->put(side->net, &put)) == WEFT_NET_FULL)
        turn(side);
    must(status);
}

static void serve(struct side *side, const uint32_t *number, bool two)
{
    const uint32_t notice = weft_notice(WEFT_NOTICE_COUNT, 0, 1);

    if (two)
        put(side, number, BYTES, 0);
    put(side, number, two ? 0 : BYTES, notice);
}

/* Waits for the ball of that number; 1 if what it brings is wrong. */
static uint64_t catch (struct side *side, uint32_t number)
{
    while (side->arrived < number)
        turn(side);
    return side->window != number;
}

static uint64_t play(struct side *side, uint64_t repeats, bool two)
{
    const uint64_t warm_up = bench_warm_up(repeats);
    uint32_t number = 0, puts = 0;
    uint64_t wrong = 0;
    double start = 0;

    for (uint64_t i = 0; i < warm_up + repeats; i++) {
        if (i == warm_up)
            start = bench_seconds();
        number++;
        if (side->me == 1)
            wrong += catch (side, number);
        while (side->sent < puts)
            turn(side); /* the word below may be overwritten */
        static uint32_t word;
        word = number;
        serve(side, &word, two);
        puts += two ? 2 : 1;
        if (side->me == 0)
            wrong += catch (side, number);
    }
    const double seconds = bench_seconds() - start;
    while (side->landed < puts)
        turn(side);
    if (side->me == 0) {
        bench_header("bytes", bench_latency.repeats_title, bench_latency.value_title);
        bench_line(BYTES, repeats, bench_latency.value(BYTES, repeats, seconds));
    }
    return wrong;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    static struct side side;

    bench_parse(&options, argc, argv, 0, "4 bytes back and forth over a network of weft, alone",
                forms);
    open_side(&side);
    const uint64_t wrong = play(&side, bench_repeats(&options, BYTES), options.form == 1);
    close_side(&side);
    return bench_status(wrong);
}
