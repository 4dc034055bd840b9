/*
 * queue.c - what waits in the way of a message of 8 bytes: receives with other tags that were
 * posted before its own (--form posted), or messages with other tags that nobody has asked for
 * (unexpected). The sizes of the command line are their number. And overlap: how long a message of
 * 16 MiB takes to be complete after both sides have computed for 20 ms.
 */
#include "peer.h"
#include "support/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const forms[] = {"posted", "unexpected", "overlap", NULL};
enum form { POSTED, UNEXPECTED, OVERLAP };
enum { TAG, OTHERS, OVERLAP_BYTES = 16 << 20, OVERLAP_ROUNDS = 11 };

/* Round trips of a message with TAG; repetition i carries i. Returns what was wrong. */
static uint64_t round_trips(int me, uint64_t repeats)
{
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < repeats; i++)
        for (int turn = 0; turn < 2; turn++) {
            uint64_t word = i;
            if (turn == me) {
                MPI_Send(&word, 1, MPI_UINT64_T, 1 - me, TAG, MPI_COMM_WORLD);
                continue;
            }
            MPI_Recv(&word, 1, MPI_UINT64_T, 1 - me, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += word != i;
        }
    return wrong;
}

static uint64_t measure(int me, enum form form, int depth, uint64_t repeats)
{
    MPI_Request *request = calloc(2 * (size_t)depth, sizeof(*request));
    uint64_t *words = calloc(2 * (size_t)depth, sizeof(*words)), wrong = 0;

    if (!request || !words)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    for (int i = 0; i < depth; i++) {
        words[depth + i] = (uint64_t)i;
        if (form == POSTED)
            MPI_Irecv(&words[i], 1, MPI_UINT64_T, 1 - me, OTHERS + i, MPI_COMM_WORLD, &request[i]);
        else
            MPI_Isend(&words[depth + i], 1, MPI_UINT64_T, 1 - me, OTHERS + i, MPI_COMM_WORLD,
                      &request[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    wrong += round_trips(me, bench_warm_up(repeats));
    const double start = bench_seconds();
    wrong += round_trips(me, repeats);
    const double seconds = bench_seconds() - start;
    for (int i = depth; i-- > 0;) { /* the last ones first: what waits is found anywhere */
        if (form == POSTED)
            MPI_Isend(&words[depth + i], 1, MPI_UINT64_T, 1 - me, OTHERS + i, MPI_COMM_WORLD,
                      &request[depth + i]);
        else
            MPI_Irecv(&words[i], 1, MPI_UINT64_T, 1 - me, OTHERS + i, MPI_COMM_WORLD,
                      &request[depth + i]);
    }
    MPI_Waitall(2 * depth, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < depth; i++)
        wrong += words[i] != (uint64_t)i;
    if (me == 0)
        bench_line((uint64_t)depth, repeats, seconds / (double)repeats / 2 * 1e6);
    free(request);
    free(words);
    return wrong;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint64_t overlap(int me)
{
    double waits[OVERLAP_ROUNDS];
    uint64_t *const data = malloc(OVERLAP_BYTES), wrong = 0;

    if (!data)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    for (uint64_t i = 0; i < OVERLAP_ROUNDS; i++) {
        MPI_Request request;
        memset(data, 0, OVERLAP_BYTES);
        if (me == 0) {
            pattern_fill(data, 1, OVERLAP_BYTES, 0, 1);
            pattern_stamp(data, 1, OVERLAP_BYTES, i, 0, 1);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (me == 0)
            MPI_Isend(data, OVERLAP_BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(data, OVERLAP_BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        for (const double end = bench_seconds() + 20e-3; bench_seconds() < end;)
            continue;
        const double begin = bench_seconds();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        waits[i] = (bench_seconds() - begin) * 1e3;
        wrong += me == 1 ? pattern_wrong(data, 1, OVERLAP_BYTES, i, 0, 1) : 0;
    }
    qsort(waits, OVERLAP_ROUNDS, sizeof(*waits), by_value);
    if (me == 1)
        printf("complete %.2f ms after computing\n", waits[OVERLAP_ROUNDS / 2]);
    free(data);
    return wrong;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    uint64_t wrong = 0;
    int me, size;

    bench_parse(&options, argc, argv, BENCH_HAS_SIZES,
                "A message behind others, or during computing. Run: mpirun -n 2", forms);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "bench: runs as 2 processes, not %d\n", size);
        MPI_Finalize();
        return EXIT_FAILURE;
    }
    if (options.form == OVERLAP) {
        wrong = overlap(me);
        return peer_close(wrong);
    }
    if (me == 0)
        bench_header("others", "round_trips", "one_way_us");
    for (size_t depth = options.from; depth <= options.to; depth *= 2)
        wrong += measure(me, (enum form)options.form, (int)depth, options.repeats);
    return peer_close(wrong);
}
