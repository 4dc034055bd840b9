/*
 * tests/mpi/test_mpi_rma.c - one-sided communication, as the standard has it: windows of all kinds,
 * what is put, got and updated under every synchronisation, what is refused; and attacks on the
 * order of puts, updates, flushes and epochs.
 */
#include "mpi_rma.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    attributes();
    fences();
    updates();
    single_elements();
    many_counters();
    locks();
    some_targets();
    requests();
    dynamic();
    shared();
    errors();
    flag_behind_data();
    rewrites();
    updates_in_order();
    epochs_in_order();
    MPI_Finalize();
    return 0;
}
