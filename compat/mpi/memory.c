/* compat/mpi/memory.c - what a program asserts of the memory that it gives to a communicator. */
#include "internal.h"

#include <string.h>

int weftmpi_assert_memory(const char *call, MPI_Comm handle, MPI_Info info)
{
    char kinds[MPI_MAX_INFO_VAL] = "";
    struct weftmpi_comm *comm;
    int found, taken;

    TRY(weftmpi_comm_in(call, handle, &comm));
    if (info != MPI_INFO_NULL)
        TRY(PMPI_Info_get(info, "mpi_assert_memory_alloc_kinds", sizeof(kinds) - 1, kinds, &found));
    return weftmpi_failed(comm, call,
                          weft_team_device(comm->team, strcmp(kinds, "cuda:device") == 0, &taken));
}
