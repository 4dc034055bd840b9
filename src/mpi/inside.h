/*
 * mpi/inside.h - the table of mpi/library.h for processes that are tasks of one address space, and
 * for a job of one: no MPI, and MPI's rules. Messages of one sender and tag are matched in order; a
 * large one is not sent before it has been received.
 */
#ifndef WEFT_MPI_INSIDE_H
#define WEFT_MPI_INSIDE_H

#include "mpi/library.h"

extern const struct weft_mpi_ops weft_mpi_inside;

/* A process's end. Its address is where the others find it. Errors: MEMORY. */
weft_status weft_mpi_inside_open(struct weft_mpi_handle *comm, int process, int processes);
uint64_t weft_mpi_inside_address(const struct weft_mpi_handle *comm);
void weft_mpi_inside_connect(struct weft_mpi_handle *comm, int process, uint64_t address);
/* What others sent and nobody received is gone. No other end sends any more. */
void weft_mpi_inside_close(struct weft_mpi_handle *comm);

#endif
