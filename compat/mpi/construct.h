/* compat/mpi/construct.h - how datatypes are put together. */
#ifndef WEFTMPI_CONSTRUCT_H
#define WEFTMPI_CONSTRUCT_H

#include "internal.h"

/* An empty one. */
struct weftmpi_type *weftmpi_type_make(void);
/*
 * Behind what is there, `count` elements of old, `stride` apart, the first at offset. Of no type
 * (NULL), as where memory lacks, nothing.
 */
void weftmpi_type_add(struct weftmpi_type *type, const struct weftmpi_type *old, size_t count,
                      MPI_Aint offset, MPI_Aint stride);
/* Its bounds are those of the program. */
void weftmpi_type_bound(struct weftmpi_type *type, MPI_Aint lower, MPI_Aint upper);
/* The type is complete: *handle. Takes it. */
int weftmpi_type_give(struct weftmpi_type *type, MPI_Datatype *handle);
/* The datatype that one is made of, `count` times. */
int weftmpi_type_old(MPI_Datatype handle, MPI_Count count, struct weftmpi_type **old);

#endif
