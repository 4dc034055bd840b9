/*
 * latency_send.c - ping-pong of MPI_Send and MPI_Recv between two processes. One-way time: half a
 * round trip.
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
            MPI_Send(pair->source, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(pair->target, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            late += pattern_late(pair->target, 1, pair->bytes, number, 0, 1);
        }
    }
    return late;
}

int main(int argc, char **argv)
{
    return peer_main(argc, argv, "Latency of MPI_Send and MPI_Recv. Run: mpirun -n 2",
                     &bench_latency, NULL, round_trip);
}
