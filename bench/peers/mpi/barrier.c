/*
 * barrier.c - MPI_Barrier of all processes, one after the other.
 */
#include "peer.h"

enum { CHECKS = 3 };

/* Whether anyone left a barrier before the last had entered it, by the machine's one clock. */
static uint64_t check(void)
{
    double times[2]; /* minus the time of entry, and the time of leaving: the least of each */
    double least[2];
    MPI_Barrier(MPI_COMM_WORLD);
    times[0] = -bench_seconds();
    MPI_Barrier(MPI_COMM_WORLD);
    times[1] = bench_seconds();
    MPI_Allreduce(times, least, 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    return -least[0] > least[1];
}

int main(int argc, char **argv)
{
    struct bench_options options;
    int rank, size;
    bench_parse(&options, argc, argv, 0, "Time of MPI_Barrier. Run: mpirun -n RANKS", NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const uint64_t warm_up = bench_warm_up(options.repeats);
    uint64_t wrong = 0;
    double start = 0;
    for (int i = 0; i < CHECKS; i++)
        wrong += check();
    for (uint64_t i = 0; i < warm_up + options.repeats; i++) {
        if (i == warm_up)
            start = bench_seconds();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    double seconds = bench_seconds() - start;
    if (rank == 0) {
        bench_header("ranks", "barriers", "barrier_us");
        bench_line((uint64_t)size, options.repeats, seconds / (double)options.repeats * 1e6);
    }
    return peer_close(wrong);
}
