/*
 * bandwidth_put.c - windows of MPI_Put from process 0 to process 1, each from and to a place of its
 * own; then MPI_Win_flush and one notification. A notification back when all have arrived.
 */
#include "peer.h"
#include "support/pattern.h"

static uint64_t window_of_puts(struct peer_pair *pair, uint64_t number)
{
    const int bytes = (int)pair->bytes;
    const size_t words = pair->bytes / 8;
    if (pair->rank == 0) {
        pattern_stamp(pair->source, pair->slots, pair->bytes, number, 0, 1);
        for (size_t i = 0; i < pair->slots; i++)
            MPI_Put(pair->source + i * words, bytes, MPI_BYTE, 1, (MPI_Aint)(i * pair->bytes),
                    bytes, MPI_BYTE, pair->window->win);
        peer_notify(pair);
        peer_wait(pair);
        return 0;
    }
    peer_wait(pair);
    const uint64_t late = pattern_late(pair->target, pair->slots, pair->bytes, number, 0, 1);
    peer_notify(pair);
    return late;
}

int main(int argc, char **argv)
{
    return peer_main(argc, argv,
                     "Bandwidth of MPI_Put, 64 before a flush and a notification. Run: mpirun -n 2",
                     &bench_bandwidth, &peer_windows, window_of_puts);
}
