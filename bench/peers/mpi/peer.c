/*
 * peer.c - see peer.h.
 */
#include "peer.h"

#include "support/pattern.h"

#include <stdio.h>
#include <stdlib.h>

int peer_close(uint64_t wrong)
{
    uint64_t sum = 0;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&wrong, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return rank == 0 ? bench_status(sum) : EXIT_SUCCESS;
}

/* One message size: prints the result, returns what was wrong here. */
static uint64_t measure(struct peer_pair *pair, uint64_t pairs, const struct bench_pair *measured,
                        uint64_t repeats, uint64_t (*step)(struct peer_pair *pair, uint64_t number))
{
    const uint64_t warm_up = bench_warm_up(repeats);
    uint64_t wrong = 0;
    double start = 0;
    pattern_fill(pair->source, pair->slots, pair->bytes, 0, 1);
    MPI_Barrier(MPI_COMM_WORLD); /* the other one is done with the size before */
    for (uint64_t i = 0; i < warm_up + repeats; i++) {
        if (i == warm_up)
            start = bench_seconds();
        wrong += step(pair, i);
    }
    const double seconds = bench_seconds() - start;
    double slowest = 0;
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (me == 0)
        bench_line(pair->bytes, repeats, measured->value(pair->bytes, repeats * pairs, slowest));
    if (pair->rank == 1 || measured->answered)
        wrong += pattern_wrong(pair->target, pair->slots, pair->bytes, warm_up + repeats - 1, 0, 1);
    return wrong;
}

int peer_main(int argc, char **argv, const char *about, const struct bench_pair *measured,
              const struct peer_windows *windows,
              uint64_t (*step)(struct peer_pair *pair, uint64_t number))
{
    struct bench_options options;
    struct peer_pair pair = {.slots = measured->slots};
    int me, size;
    bench_parse(&options, argc, argv, BENCH_HAS_SIZES, about,
                windows != NULL ? windows->forms : NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size % 2 || (size > 2 && (windows != NULL || measured->answered))) {
        fprintf(stderr, "bench: runs as 2 processes, not %d\n", size);
        MPI_Finalize();
        return EXIT_FAILURE;
    }
    pair.rank = me / (size / 2);
    pair.other = (me + size / 2) % size;
    struct peer_window window = {.form = (enum peer_form)options.form};
    pair.source = calloc(pair.slots, options.to);
    if (windows != NULL)
        windows->open(&pair, &window, pair.slots * options.to);
    else
        pair.target = calloc(pair.slots, options.to);
    if (!pair.source || !pair.target)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    if (me == 0)
        bench_header("bytes", measured->repeats_title, measured->value_title);
    uint64_t wrong = 0;
    for (pair.bytes = options.from; pair.bytes <= options.to; pair.bytes *= 2)
        wrong +=
            measure(&pair, (uint64_t)size / 2, measured, bench_repeats(&options, pair.bytes), step);
    if (windows != NULL)
        windows->close(&window);
    else
        free(pair.target);
    free(pair.source);
    return peer_close(wrong);
}
