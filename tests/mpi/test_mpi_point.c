/* tests/mpi/test_mpi_point.c - point-to-point between a process and its neighbours in a ring. */
#include "mpi_point.h"

int left, right;

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    left = (rank - 1 + size) % size;
    right = (rank + 1) % size;
    forms();
    order();
    both_ways();
    probes();
    persistent();
    several();
    many();
    cancelled_sends();
    cancelled();
    empty_statuses();
    errors();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
