/* tests/mpi/test_mpi_comm.c - groups, communicators, attributes, topologies and neighbours. */
#include "mpi_comm.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    groups();
    no_sleep();
    apart();
    many();
    attributes();
    callbacks();
    places();
    dims();
    grid();
    graph();
    handlers();
    MPI_Finalize();
    all_deleted();
    return 0;
}
