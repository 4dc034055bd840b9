/*
 * latency_put.c - ping-pong of MPI_Put, MPI_Win_flush and a notification between two processes.
 * One-way time: half a round trip.
 */
#include "peer.h"
#include "support/pattern.h"

static uint64_t round_trip(struct peer_pair *pair, uint64_t number)
{
    const int bytes = (int)pair->bytes, other = pair->other;
    uint64_t late = 0;
    for (int turn = 0; turn < 2; turn++) {
        if (turn == pair->rank) {
            pattern_stamp(pair->source, 1, pair->bytes, number, 0, 1);
            MPI_Put(pair->source, bytes, MPI_BYTE, other, 0, bytes, MPI_BYTE, pair->window->win);
            peer_notify(pair);
        } else {
            peer_wait(pair);
            late += pattern_late(pair->target, 1, pair->bytes, number, 0, 1);
        }
    }
    return late;
}

int main(int argc, char **argv)
{
    return peer_main(argc, argv,
                     "Latency of MPI_Put + MPI_Win_flush + notification. Run: mpirun -n 2",
                     &bench_latency, &peer_windows, round_trip);
}
