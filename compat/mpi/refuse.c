/* compat/mpi/refuse.c - functions that link, and say that they are not there. */
#include "internal.h"

#define WEFT_MPI_FUNCTION(name, parameters)
#define WEFT_MPI_HANDLE(kind, type)
/* A definition without names of parameters would be C23's: the names are not used. */
#define WEFT_MPI_REFUSED(function, parameters)                                                     \
    API(function, parameters)                                                                      \
    {                                                                                              \
        OPEN_IN;                                                                                   \
        weftmpi_call.name = NULL;                                                                  \
        return weftmpi_fail(MPI_ERR_UNSUPPORTED_OPERATION,                                         \
                            "%s is not supported by this library (docs/mpi.md)", __func__);        \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <mpi_functions.def>
