/*
 * peer.c - see peer.h.
 */
#include "peer.h"

#include "support/pattern.h"

#include <stdio.h>
#include <stdlib.h>

const char *const peer_forms[] = {"put", "accumulate", "send", NULL};

int peer_close(uint64_t wrong)
{
    uint64_t sum = 0;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&wrong, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return rank == 0 ? bench_status(sum) : EXIT_SUCCESS;
}

/* Collective. Memory from MPI_Win_allocate: MPI places it where it serves its puts best. */
static void open_window(struct peer_pair *pair, struct peer_window *window, size_t bytes)
{
    window->flag = (MPI_Aint)((bytes + 127) / 128 * 128); /* not in a line of the data */
    MPI_Win_allocate(window->flag + (MPI_Aint)sizeof(uint64_t), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &pair->target, &window->win);
    pair->window = window;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win);
    *(volatile uint64_t *)((unsigned char *)pair->target + window->flag) = 0;
    MPI_Win_sync(window->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(struct peer_window *window)
{
    MPI_Win_unlock_all(window->win);
    MPI_Win_free(&window->win);
}

void peer_notify(struct peer_pair *pair)
{
    struct peer_window *window = pair->window;
    const int other = 1 - pair->rank;
    MPI_Win_flush(other, window->win);
    window->sent++;
    switch (window->form) {
    case PEER_PUT:
        MPI_Put(&window->sent, 1, MPI_UINT64_T, other, window->flag, 1, MPI_UINT64_T, window->win);
        MPI_Win_flush(other, window->win);
        break;
    case PEER_ACCUMULATE:
        MPI_Accumulate(&window->sent, 1, MPI_UINT64_T, other, window->flag, 1, MPI_UINT64_T,
                       MPI_REPLACE, window->win);
        MPI_Win_flush(other, window->win);
        break;
    case PEER_SEND:
        MPI_Send(NULL, 0, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        break;
    }
}

void peer_wait(struct peer_pair *pair)
{
    struct peer_window *window = pair->window;
    const volatile uint64_t *flag =
        (const volatile uint64_t *)((unsigned char *)pair->target + window->flag);
    window->received++;
    if (window->form == PEER_SEND) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1 - pair->rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        while (*flag < window->received)
            MPI_Win_sync(window->win); /* also drives a transport that is not shared memory */
    }
    MPI_Win_sync(window->win); /* what was put before is read after */
}

/* One message size: prints the result, returns what was wrong here. */
static uint64_t measure(struct peer_pair *pair, const struct bench_pair *measured, uint64_t repeats,
                        uint64_t (*step)(struct peer_pair *pair, uint64_t number))
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
    double seconds = bench_seconds() - start;
    if (pair->rank == 0)
        bench_line(pair->bytes, repeats, measured->value(pair->bytes, repeats, seconds));
    if (pair->rank == 1 || measured->answered)
        wrong += pattern_wrong(pair->target, pair->slots, pair->bytes, warm_up + repeats - 1, 0, 1);
    return wrong;
}

int peer_main(int argc, char **argv, const char *about, const struct bench_pair *measured,
              bool one_sided, uint64_t (*step)(struct peer_pair *pair, uint64_t number))
{
    struct bench_options options;
    struct peer_pair pair = {.slots = measured->slots};
    int size;
    bench_parse(&options, argc, argv, BENCH_HAS_SIZES, about, one_sided ? peer_forms : NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &pair.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "bench: runs as 2 processes, not %d\n", size);
        MPI_Finalize();
        return EXIT_FAILURE;
    }
    struct peer_window window = {.form = (enum peer_form)options.form};
    pair.source = calloc(pair.slots, options.to);
    if (one_sided)
        open_window(&pair, &window, pair.slots * options.to);
    else
        pair.target = calloc(pair.slots, options.to);
    if (!pair.source || !pair.target)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    if (pair.rank == 0)
        bench_header("bytes", measured->repeats_title, measured->value_title);
    uint64_t wrong = 0;
    for (pair.bytes = options.from; pair.bytes <= options.to; pair.bytes *= 2)
        wrong += measure(&pair, measured, bench_repeats(&options, pair.bytes), step);
    if (one_sided)
        close_window(&window);
    else
        free(pair.target);
    free(pair.source);
    return peer_close(wrong);
}
