/*
 * tests/mpi/test_mpi_rma.c - one-sided communication, as the standard has it: windows of all kinds,
 * what is put, got and updated under every synchronisation, what is refused; and attacks on the
 * order of puts, updates, flushes and epochs.
 *
 * usage: test_mpi_rma [refused|unwritten [PROCESS]]: the kernel gives all processes, or that one,
 * no other's memory, or lets them only read it.
 */
#include "mpi_refuse.h"
#include "mpi_rma.h"

#include <stdbool.h>

int main(int argc, char **argv)
{
    const char *process = getenv("LOCAL_RANK");

    if (argc > 1 && (strcmp(argv[1], "refused") == 0 || strcmp(argv[1], "unwritten") == 0) &&
        (argc == 2 || (process != NULL && strcmp(argv[2], process) == 0)))
        refuse_memory(argv[1][0] == 'r');
    begin(&argc, &argv);
    attributes();
    fences();
    updates();
    single_elements();
    many_counters();
    private_memory();
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
