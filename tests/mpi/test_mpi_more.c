/*
 * tests/mpi/test_mpi_more.c - the rest of what programs call, each from the standard's text with
 * its errors: error codes, attributes and contents of datatypes, arrays over processes, external
 * bytes, graphs, communicators of a group, persistent collectives, requests of the program,
 * Fortran's handles, and intercommunicators.
 */
#include "mpi_more.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    error_codes();
    attributes();
    contents();
    arrays();
    external();
    small_ones();
    beyond_int();
    general();
    graphs();
    of_groups();
    persistent();
    persistent_names();
    intercommunicators();
    MPI_Finalize();
    return 0;
}
