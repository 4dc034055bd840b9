/*
 * bandwidth_send.c - windows of messages from process 0 to process 1, each from and to a place of
 * its own, by MPI_Isend and MPI_Irecv; an empty message back when all have arrived. Of several
 * pairs at once: peer_main.
 */
#include "peer.h"
#include "support/pattern.h"

enum { DATA, ANSWER }; /* MPI tags */

static uint64_t window_of_messages(struct peer_pair *pair, uint64_t number)
{
    const int bytes = (int)pair->bytes, count = (int)pair->slots;
    const size_t words = pair->bytes / 8;
    MPI_Request requests[BENCH_WINDOW];
    if (pair->rank == 0) {
        pattern_stamp(pair->source, pair->slots, pair->bytes, number, 0, 1);
        for (int i = 0; i < count; i++)
            MPI_Isend(pair->source + (size_t)i * words, bytes, MPI_BYTE, pair->other, DATA,
                      MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(NULL, 0, MPI_BYTE, pair->other, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return 0;
    }
    for (int i = 0; i < count; i++)
        MPI_Irecv(pair->target + (size_t)i * words, bytes, MPI_BYTE, pair->other, DATA,
                  MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    const uint64_t late = pattern_late(pair->target, pair->slots, pair->bytes, number, 0, 1);
    MPI_Send(NULL, 0, MPI_BYTE, pair->other, ANSWER, MPI_COMM_WORLD);
    return late;
}

int main(int argc, char **argv)
{
    return peer_main(
        argc, argv, "Bandwidth of MPI_Isend and MPI_Irecv, 64 at a time. Run: mpirun -n 2, or more",
        &bench_bandwidth, NULL, window_of_messages);
}
