/*
 * msg.c - messages between the host programs of two processes, as peers/mpi/latency_send.c and
 * bandwidth_send.c measure MPI's: ping-pong (latency), windows of messages one way (bandwidth;
 * rate: their number), and a message that arrives while both programs compute (overlap). Also
 * ping-pong of memory of the device: at process 1 alone (host_device), or at both (device); and the
 * rate from a host to a device, back, and between devices. The host's memory is as malloc gives it,
 * or the program registers it with CUDA before the clock runs (--memory), all of it or a part.
 *
 *     weftrun -n 2 bench_msg --form latency
 */
#include "support/bench.h"
#include "support/pattern.h"

#include <weft/message.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { DATA, ANSWER }; /* tags */
enum { OVERLAP_BYTES = 16 << 20, OVERLAP_MS = 20, OVERLAP_ROUNDS = 11 };

static const char *const forms[] = {"latency",     "bandwidth",        "rate",
                                    "overlap",     "host_device",      "device",
                                    "device_rate", "host_device_rate", "device_host_rate",
                                    NULL};
enum form {
    LATENCY,
    BANDWIDTH,
    RATE,
    OVERLAP,
    HOST_DEVICE,
    DEVICE,
    DEVICE_RATE,
    HOST_DEVICE_RATE,
    DEVICE_HOST_RATE
};

static bool is_on_device(enum form form, int process)
{
    return form == DEVICE || form == DEVICE_RATE || (form == DEVICE_HOST_RATE && process == 0) ||
           ((form == HOST_DEVICE || form == HOST_DEVICE_RATE) && process == 1);
}

static double millions_per_s(size_t bytes, uint64_t repeats, double seconds)
{
    (void)bytes;
    return BENCH_WINDOW * (double)repeats / seconds * 1e-6;
}

static const struct bench_pair rate = {.slots = BENCH_WINDOW,
                                       .repeats_title = "windows",
                                       .value_title = "million_messages_per_s",
                                       .value = millions_per_s};

struct side {
    weft_job *job;
    int me;
    const struct bench_pair *pair;
    uint64_t *source, *target;  /* all slots of the largest size */
    uint64_t *sends, *receives; /* the same, or memory of the device */
    bool stamped;               /* each message has its number: not where one is in such memory */
};

static void must(weft_status status)
{
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "bench: %s\n", weft_status_text(status));
    exit(EXIT_FAILURE);
}

/* By the driver, which the job has loaded, and whose context is this thread's since then. */
static void register_memory(void *memory, size_t bytes)
{
    typedef int host_register(void *memory, size_t bytes, unsigned flags);
    void *const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    host_register *const call =
        driver != NULL ? (host_register *)dlsym(driver, "cuMemHostRegister_v2") : NULL;
    const int result = call != NULL ? call(memory, bytes, 0) : 0;

    if (call != NULL && result == 0)
        return;
    fprintf(stderr, "bench: %zu bytes cannot be registered: ", bytes);
    fprintf(stderr, call == NULL ? "this process drives no GPU\n" : "CUDA error %d\n", result);
    exit(EXIT_FAILURE);
}

static uint64_t round_trip(struct side *s, size_t bytes, uint64_t number)
{
    uint64_t late = 0;

    for (int turn = 0; turn < 2; turn++) {
        if (turn == s->me) {
            if (s->stamped)
                pattern_stamp(s->source, 1, bytes, number, 0, 1);
            must(weft_host_send(s->job, WEFT_COMM_HOST, 1 - s->me, DATA, s->sends, bytes));
        } else {
            must(weft_host_receive(s->job, WEFT_COMM_HOST, 1 - s->me, DATA, s->receives, bytes,
                                   NULL));
            if (s->stamped)
                late += pattern_late(s->target, 1, bytes, number, 0, 1);
        }
    }
    return late;
}

static uint64_t window_of_messages(struct side *s, size_t bytes, uint64_t number)
{
    const size_t words = bytes / 8;
    weft_message_op ops[BENCH_WINDOW];

    if (s->me == 0) {
        if (s->stamped)
            pattern_stamp(s->source, BENCH_WINDOW, bytes, number, 0, 1);
        for (size_t i = 0; i < BENCH_WINDOW; i++)
            must(weft_host_send_begin(s->job, WEFT_COMM_HOST, 1, DATA, s->sends + i * words, bytes,
                                      &ops[i]));
        must(weft_host_message_wait_all(s->job, ops, BENCH_WINDOW, NULL));
        must(weft_host_receive(s->job, WEFT_COMM_HOST, 1, ANSWER, NULL, 0, NULL));
        return 0;
    }
    for (size_t i = 0; i < BENCH_WINDOW; i++)
        must(weft_host_receive_begin(s->job, WEFT_COMM_HOST, 0, DATA, s->receives + i * words,
                                     bytes, &ops[i]));
    must(weft_host_message_wait_all(s->job, ops, BENCH_WINDOW, NULL));
    const uint64_t late =
        s->stamped ? pattern_late(s->target, BENCH_WINDOW, bytes, number, 0, 1) : 0;
    must(weft_host_send(s->job, WEFT_COMM_HOST, 0, ANSWER, NULL, 0));
    return late;
}

static uint64_t measure(struct side *s, const struct bench_options *options, size_t bytes)
{
    const uint64_t repeats = bench_repeats(options, bytes), warm_up = bench_warm_up(repeats);
    const bool answered = s->pair->answered;
    uint64_t wrong = 0;
    double start = 0;

    pattern_fill(s->source, s->pair->slots, bytes, 0, 1);
    if (!s->stamped)
        pattern_stamp(s->source, s->pair->slots, bytes, 0, 0, 1);
    if (s->sends != s->source)
        must(weft_copy(s->job, s->sends, s->source, s->pair->slots * bytes));
    must(weft_host_barrier(s->job));
    for (uint64_t i = 0; i < warm_up + repeats; i++) {
        if (i == warm_up)
            start = bench_seconds();
        wrong += answered ? round_trip(s, bytes, i) : window_of_messages(s, bytes, i);
    }
    const double seconds = bench_seconds() - start;
    const uint64_t last = s->stamped ? warm_up + repeats - 1 : 0;
    if (s->receives != s->target)
        must(weft_copy(s->job, s->target, s->receives, s->pair->slots * bytes));
    if (answered || s->me == 1)
        wrong += pattern_wrong(s->target, s->pair->slots, bytes, last, 0, 1);
    if (s->me == 0)
        bench_line(bytes, repeats, s->pair->value(bytes, repeats, seconds));
    return wrong;
}

/* ---- overlap --------------------------------------------------------------------------------- */

static void compute(double seconds)
{
    const double end = bench_seconds() + seconds;

    while (bench_seconds() < end)
        continue;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Both begin, compute, and wait: how long does the receiver wait? The median of some rounds. */
static uint64_t measure_overlap(struct side *s)
{
    double waits[OVERLAP_ROUNDS];
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < OVERLAP_ROUNDS; i++) {
        weft_message_op op;
        pattern_fill(s->source, 1, OVERLAP_BYTES, 0, 1);
        pattern_stamp(s->source, 1, OVERLAP_BYTES, i, 0, 1);
        must(weft_host_barrier(s->job));
        must(s->me == 0 ? weft_host_send_begin(s->job, WEFT_COMM_HOST, 1, DATA, s->source,
                                               OVERLAP_BYTES, &op)
                        : weft_host_receive_begin(s->job, WEFT_COMM_HOST, 0, DATA, s->target,
                                                  OVERLAP_BYTES, &op));
        compute(OVERLAP_MS * 1e-3);
        const double begin = bench_seconds();
        must(weft_host_message_wait(s->job, &op, NULL));
        waits[i] = (bench_seconds() - begin) * 1e3;
        if (s->me == 1)
            wrong += pattern_wrong(s->target, 1, OVERLAP_BYTES, i, 0, 1);
        must(weft_host_barrier(s->job));
    }
    if (s->me == 1) {
        qsort(waits, OVERLAP_ROUNDS, sizeof(waits[0]), by_value);
        printf("complete %.2f ms after computing\n", waits[OVERLAP_ROUNDS / 2]);
    }
    return wrong;
}

static uint64_t measure_all(struct side *s, const struct bench_options *options)
{
    uint64_t wrong = 0;

    if (options->form == OVERLAP)
        return measure_overlap(s);
    if (s->me == 0)
        bench_header("bytes", s->pair->repeats_title, s->pair->value_title);
    for (size_t bytes = options->from; bytes <= options->to; bytes *= 2)
        wrong += measure(s, options, bytes);
    return wrong;
}

int main(int argc, char **argv)
{
    static const struct bench_pair *const pairs[] = {
        &bench_latency, &bench_bandwidth, &rate, &bench_latency,
        &bench_latency, &bench_latency,   &rate, &rate,
        &rate};
    struct bench_options options;
    struct side s = {0};

    must(weft_open(&s.job, &argc, argv));
    bench_parse(&options, argc, argv, BENCH_HAS_SIZES | BENCH_HAS_MEMORY,
                "Messages between two host programs: latency, bandwidth, their rate, or how much "
                "of a message's way is hidden by computing. Run: weftrun -n 2 bench_msg",
                forms);
    if (weft_numbers_of(s.job)->processes != 2) {
        fprintf(stderr, "bench: runs as 2 processes, not %d\n", weft_numbers_of(s.job)->processes);
        weft_close(s.job);
        return EXIT_FAILURE;
    }
    s.me = weft_numbers_of(s.job)->process;
    s.pair = pairs[options.form];
    const size_t bytes = options.form == OVERLAP ? OVERLAP_BYTES : options.to * s.pair->slots;
    s.source = calloc(1, bytes);
    s.target = calloc(1, bytes);
    if (s.source == NULL || s.target == NULL)
        must(WEFT_ERR_MEMORY);
    s.stamped = options.form < HOST_DEVICE;
    const bool on_device = is_on_device((enum form)options.form, s.me);
    for (int i = 0; i < 2 && !on_device && options.memory != BENCH_MALLOC; i++)
        register_memory(i == 0 ? s.source : s.target,
                        options.memory == BENCH_PART ? sizeof(*s.source) : bytes);
    s.sends = on_device ? weft_malloc(s.job, bytes) : s.source;
    s.receives = on_device ? weft_malloc(s.job, bytes) : s.target;
    if (s.sends == NULL || s.receives == NULL)
        must(WEFT_ERR_MEMORY);
    const uint64_t wrong = measure_all(&s, &options);
    const weft_status closed = weft_close(s.job);
    free(s.source);
    free(s.target);
    return closed == WEFT_OK ? bench_status(wrong) : EXIT_FAILURE;
}
