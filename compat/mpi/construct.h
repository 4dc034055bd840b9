/* compat/mpi/construct.h - how datatypes are put together. */
#ifndef WEFTMPI_CONSTRUCT_H
#define WEFTMPI_CONSTRUCT_H

#include "internal.h"

/* An empty one; NULL: no memory. */
struct weftmpi_type *weftmpi_type_make(void);
/* Behind what is there, `count` elements of old, `stride` apart, the first at offset: the memory.
 */
bool weftmpi_type_add(struct weftmpi_type *type, const struct weftmpi_type *old, size_t count,
                      MPI_Aint offset, MPI_Aint stride);
/* The type is complete (or, if not, there was no memory): *handle. Takes it. */
int weftmpi_type_give(const char *call, struct weftmpi_type *type, bool complete,
                      MPI_Datatype *handle);
/* The datatype that one is made of, `count` times. */
int weftmpi_type_old(const char *call, MPI_Datatype handle, MPI_Count count,
                     struct weftmpi_type **old);

#endif
