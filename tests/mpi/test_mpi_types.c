/*
 * tests/mpi/test_mpi_types.c - datatypes, packing, operations and info objects: what one process
 * can tell by itself. Random types are compared with a list of their bytes.
 */
#include "mpi_types.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    random_types();
    negative_extents();
    paddings();
    refused_types();
    subarrays();
    elements();
    operations();
    infos();
    environment();
    MPI_Finalize();
    return 0;
}
