/* compat/mpi/memory.c - memory of the library, which is there, or the job ends. */
#include "handle.h"

#include <stdio.h>

static void *there(void *memory, size_t bytes)
{
    char text[64];

    if (memory == NULL) {
        snprintf(text, sizeof(text), "%s: no memory for %zu bytes", weftmpi_call.name, bytes);
        weftmpi_end_job(MPI_ERR_NO_MEM, text);
    }
    return memory;
}

void *weftmpi_zeros(size_t bytes)
{
    return there(calloc(1, bytes + 1), bytes);
}

void *weftmpi_room(void *before, size_t bytes)
{
    return there(realloc(before, bytes + 1), bytes);
}
