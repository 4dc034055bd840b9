/*
 * network.c - a network alone: host memory over one of src/net, without ranks and command
 * rings. What is above it in a put is not in the figure.
 *
 * Latency, by one thread: one message, data and notice in one put, as weft sends them; or two: the
 * data in a put of its own and then the notice, which is what a library must do that knows no
 * notified put; dCUDA did over MPI.
 *
 * Bandwidth: as many puts under way as the network takes, from process 0 to process 1 (stream), or
 * both ways at once (exchange), until all are delivered; 128 MiB of each size, four puts at least.
 * As in a job, a thread drives the side that sends and another the one that receives.
 *
 *     WEFT_NET=shm weftrun -n 2 bench_network        WEFT_NET=mpi mpirun -n 2 bench_network
 */
#include "abi/notice.h"
#include "base/task.h"
#include "boot/control.h"
#include "boot/mpi.h"
#include "net/transport.h"
#include "support/bench.h"
#include "support/pattern.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, FRAME = 1, PATIENCE_S = 30 };

/* What the two tell each other at the start. */
struct card {
    uint32_t status; /* of opening */
    uint64_t key, place[2];
    unsigned char address[WEFT_NET_ADDRESS_MAX];
};

struct side {
    struct weft_config config;
    struct weft_control *control;
    struct weft_net *net;
    struct weft_notice_kinds kinds;
    int me;
    uint64_t keys[2]; /* by process */
    uint64_t places[2][2];
    uint64_t *source;         /* of the largest size */
    uint64_t *window;         /* as large; the other one puts here */
    uint32_t arrived, caught; /* notices; of them, looked at */
    uint32_t puts, sent;      /* so far; of them, whose source is free */
    uint32_t delivered;
    pthread_t receiver; /* of streams: drives the receive side, until stop is set */
    bool receives;
    uint32_t stop;
};

static const char *const forms[] = {"one", "two", "stream", "exchange", NULL};
enum form { ONE, TWO, STREAM, EXCHANGE };
enum { STREAM_BYTES = 128 << 20, STREAM_LEAST = 4 };

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

static weft_status arrived(void *context, const struct weft_net_delivery *delivery)
{
    struct side *side = context;

    __atomic_fetch_add(&side->arrived, 1, __ATOMIC_RELEASE); /* the data is read after it */
    return delivery->process == 1 - side->me ? WEFT_OK : WEFT_ERR_PROTOCOL;
}

static void sent(void *context, void *cookie)
{
    struct side *side = context;

    (void)cookie;
    side->sent++;
}

static void delivered(void *context, void *cookie)
{
    struct side *side = context;

    (void)cookie;
    side->delivered++;
}

/* ---- start ----------------------------------------------------------------------------------- */

static void turn(struct side *side)
{
    bool did = false;

    if (!side->receives)
        must(weft_net_progress(side->net, WEFT_NET_RECEIVE, &did));
    must(weft_net_progress(side->net, WEFT_NET_SEND, &did));
    if (side->receives && !did)
        sched_yield();
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

static void open_table(struct side *side, size_t most)
{
    static const char *const names[] = {"shm",   "shm", "ofi",
                                        "verbs", "mpi", "shm"}; /* net/settings.def */
    struct card mine = {0}, all[2];

    const struct weft_transport_ops *const transport = weft_transport_find(names[side->config.net]);
    if (transport == NULL)
        die("this weft was built without that network");
    const struct weft_net_open open = {
        .config = &side->config,
        .process = side->me,
        .processes = 2,
        .polls = true, /* a processor for each of the two */
        .events = {.context = side, .sent = sent, .delivered = delivered},
        .kinds = &side->kinds};
    uint64_t source_key;
    weft_notice_add(&side->kinds, WEFT_NOTICE_COUNT, arrived, side);
    side->source = aligned_alloc(PAGE, (most + PAGE - 1) / PAGE * PAGE);
    side->window = aligned_alloc(PAGE, (most + PAGE - 1) / PAGE * PAGE);
    if (side->source == NULL || side->window == NULL)
        die("no memory");
    memset(side->window, 0, most);
    weft_status status = weft_net_open(&side->net, transport, &open);
    if (status == WEFT_OK)
        status = weft_net_reg(side->net, side->source, most, false, &source_key);
    if (status == WEFT_OK)
        status = weft_net_reg(side->net, side->window, most, false, &mine.key);
    if (status == WEFT_OK) {
        weft_net_place(side->net, mine.key, mine.place);
        weft_net_address(side->net, mine.address);
    }
    mine.status = (uint32_t)status;
    exchange(side, &mine, all, false);
    for (int p = 0; p < 2; p++) {
        must((weft_status)all[p].status);
        must(weft_net_connect(side->net, p, all[p].address));
        side->keys[p] = all[p].key;
        memcpy(side->places[p], all[p].place, sizeof(all[p].place));
    }
    exchange(side, &mine, all, false); /* nobody puts before both are connected */
}

static void open_side(struct side *side, size_t most)
{
    must(weft_config_load(&side->config, NULL, NULL));
    must(weft_boot_mpi(&side->config));
    must(weft_control_open(&side->control, &side->config));
    side->me = side->control->process;
    if (side->control->processes != 2)
        die("runs as 2 processes: weftrun -n 2, or mpirun -n 2 for WEFT_NET=mpi");
    open_table(side, most);
}

static void close_side(struct side *side)
{
    struct card card = {0}, all[2];

    exchange(side, &card, all, true); /* both have received all, and said so */
    weft_control_close(side->control, true);
    weft_net_close(side->net);
    free(side->source);
    free(side->window);
}

/* ---- the ball -------------------------------------------------------------------------------- */

static void put(struct side *side, const void *source, size_t bytes, uint32_t notice)
{
    const int other = 1 - side->me;
    const struct weft_net_put put = {.process = other,
                                     .key = side->keys[other],
                                     .place = {side->places[other][0], side->places[other][1]},
                                     .source = source,
                                     .bytes = bytes,
                                     .notice = notice};
    weft_status status;

    while ((status = weft_net_put(side->net, &put)) == WEFT_NET_FULL)
        turn(side);
    must(status);
}

/* As pattern_stamp, and pattern_late; 4 bytes are a number alone. */
static void stamp(struct side *side, size_t bytes, uint64_t number)
{
    if (bytes < sizeof(number))
        *(uint32_t *)(void *)side->source = (uint32_t)number;
    else
        pattern_stamp(side->source, 1, bytes, number, 0, 1);
}

static uint64_t late(const struct side *side, size_t bytes, uint64_t number)
{
    if (bytes < sizeof(number))
        return *(const uint32_t *)(const void *)side->window != (uint32_t)number;
    return pattern_late(side->window, 1, bytes, number, 0, 1);
}

static void serve(struct side *side, size_t bytes, uint64_t number, bool two)
{
    const uint32_t notice = weft_notice(WEFT_NOTICE_COUNT, 0, 1);

    while (side->sent < side->puts) /* the source is still being read */
        turn(side);
    stamp(side, bytes, number);
    if (two)
        put(side, side->source, bytes, 0);
    put(side, side->source, two ? 0 : bytes, notice);
    side->puts += two ? 2 : 1;
}

/* Waits for the ball of that number; 1 if it came before its data. */
static uint64_t catch (struct side *side, size_t bytes, uint64_t number)
{
    while (side->arrived == side->caught)
        turn(side);
    side->caught++;
    return late(side, bytes, number);
}

static uint64_t play(struct side *side, size_t bytes, uint64_t first, uint64_t count, bool two)
{
    uint64_t wrong = 0;

    for (uint64_t i = first; i < first + count; i++)
        for (int server = 0; server < 2; server++)
            if (server == side->me)
                serve(side, bytes, i, two);
            else
                wrong += catch (side, bytes, i);
    return wrong;
}

/* Everything that this process put is delivered. */
static void drain(struct side *side)
{
    must(weft_net_flush(side->net, 1 - side->me));
    while (side->delivered < side->puts)
        turn(side);
}

static uint64_t measure_latency(struct side *side, const struct bench_options *options,
                                size_t bytes)
{
    const uint64_t repeats = bench_repeats(options, bytes), warm_up = bench_warm_up(repeats);
    const bool two = options->form == TWO;
    struct card card = {0}, all[2];

    pattern_fill(side->source, 1, bytes, 0, 1);
    exchange(side, &card, all, true); /* the last ball of the size before has been looked at */
    uint64_t wrong = play(side, bytes, 0, warm_up, two);
    const double start = bench_seconds();
    wrong += play(side, bytes, warm_up, repeats, two);
    const double seconds = bench_seconds() - start;
    wrong += late(side, bytes, warm_up + repeats - 1);
    wrong += pattern_wrong(side->window, 1, bytes, warm_up + repeats - 1, 0, 1);
    drain(side);
    if (side->me == 0)
        bench_line(bytes, repeats, bench_latency.value(bytes, repeats, seconds));
    exchange(side, &card, all, true); /* the other one still flushes */
    return wrong;
}

/* ---- streams --------------------------------------------------------------------------------- */

static void *receive(void *argument)
{
    struct side *side = argument;

    while (__atomic_load_n(&side->stop, __ATOMIC_ACQUIRE) == 0) {
        bool did = false;
        must(weft_net_progress(side->net, WEFT_NET_RECEIVE, &did));
        if (!did)
            sched_yield();
    }
    return NULL;
}

static void start_receiver(struct side *side)
{
    side->receives = true;
    if (pthread_create(&side->receiver, NULL, receive, side) != 0)
        die("no thread to receive with");
}

static void stop_receiver(struct side *side)
{
    __atomic_store_n(&side->stop, 1, __ATOMIC_RELEASE);
    pthread_join(side->receiver, NULL);
    side->receives = false;
}

/* `count` puts that carry this number, from process 0 or from both; until all are delivered. */
static void stream(struct side *side, size_t bytes, uint64_t number, uint64_t count, bool both)
{
    const uint32_t notice = weft_notice(WEFT_NOTICE_COUNT, 0, 1);
    const bool sends = both || side->me == 0, receives = both || side->me == 1;

    stamp(side, bytes, number);
    for (uint64_t i = 0; i < count && sends; i++) {
        put(side, side->source, bytes, notice);
        side->puts++;
        turn(side);
    }
    drain(side);
    while (receives && __atomic_load_n(&side->arrived, __ATOMIC_ACQUIRE) - side->caught < count)
        turn(side);
    if (receives)
        side->caught += (uint32_t)count;
}

static uint64_t measure_stream(struct side *side, const struct bench_options *options, size_t bytes)
{
    enum { WARM_UP = 1, TIMED };
    const uint64_t volume = STREAM_BYTES / bytes;
    const uint64_t count = volume > STREAM_LEAST ? volume : STREAM_LEAST;
    const bool both = options->form == EXCHANGE;
    struct card card = {0}, all[2];

    pattern_fill(side->source, 1, bytes, 0, 1);
    exchange(side, &card, all, true); /* the stream before has been looked at */
    stream(side, bytes, WARM_UP, count / 4, both);
    exchange(side, &card, all, true);
    memset(side->window, 0, bytes); /* what is there later has come in the timed part */
    exchange(side, &card, all, true);
    const double start = bench_seconds();
    stream(side, bytes, TIMED, count, both);
    const double seconds = bench_seconds() - start;
    if (side->me == 0)
        bench_line(bytes, count, (double)bytes * (double)count * (both ? 2 : 1) / seconds * 1e-9);
    if (!both && side->me != 1)
        return 0;
    return late(side, bytes, TIMED) + pattern_wrong(side->window, 1, bytes, TIMED, 0, 1);
}

int main(int argc, char **argv)
{
    struct bench_options options;
    static struct side side;
    uint64_t wrong = 0;

    bench_parse(
        &options, argc, argv, BENCH_HAS_WORDS,
        "A network of weft alone, between two processes: latency of a notified put in one "
        "message or in two, or bandwidth (GB/s) of a stream of puts one way, or in exchange. "
        "Run: WEFT_NET=shm weftrun -n 2 bench_network",
        forms);
    const bool streams = options.form == STREAM || options.form == EXCHANGE;
    open_side(&side, options.to);
    if (side.me == 0)
        bench_header("bytes", streams ? "puts" : bench_latency.repeats_title,
                     streams ? "gigabytes_per_s" : bench_latency.value_title);
    if (streams)
        start_receiver(&side);
    for (size_t bytes = options.from; bytes <= options.to; bytes *= 2)
        wrong += streams ? measure_stream(&side, &options, bytes)
                         : measure_latency(&side, &options, bytes);
    if (streams)
        stop_receiver(&side);
    close_side(&side);
    return bench_status(wrong);
}
