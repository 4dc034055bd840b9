/* compat/mpi/rma.h - what puts, gets (rma.c) and updates (update.c) share. */
#ifndef WEFTMPI_RMA_H
#define WEFTMPI_RMA_H

#include "win.h"

/* Where an operation goes. */
struct weftmpi_reach {
    struct weftmpi_win *win;
    struct weftmpi_target *target;    /* NULL: MPI_PROC_NULL, or nothing is to be done */
    struct weftmpi_elements elements; /* at the target */
    size_t at; /* place of the elements in the exposure; of a dynamic window: their address */
    weft_win exposure; /* of a dynamic window: the one that has the stretch at hand */
    uintptr_t home;    /* the address of byte 0 of the exposure */
    const struct weftmpi_table *table; /* of a dynamic window: what is attached there */
    weft_op last;
    size_t stretches;
};

/* Checks and finds where elements are at the target, as long as the request is under way. */
int weftmpi_reach_in(struct weftmpi_request *request, struct weftmpi_reach *reach, MPI_Win handle,
                     int to, MPI_Aint offset, MPI_Count count, MPI_Datatype type);
/* Calls `each` for every stretch of the elements, with its place in a row of their bytes. */
typedef int weftmpi_each(struct weftmpi_reach *reach, void *state, size_t offset, char *row,
                         size_t bytes);
int weftmpi_reach_each(struct weftmpi_reach *reach, char *row, weftmpi_each *each, void *state);
/* Puts the row into the elements, or gets it; many stretches leave together. */
int weftmpi_reach_move(struct weftmpi_reach *reach, bool puts, char *row);
int weftmpi_reach_flush(const struct weftmpi_reach *reach);
/* Opens the request of a call: finds its elements, which have to be as many bytes as the
 * target's. */
int weftmpi_reach_open(struct weftmpi_request *request, const struct weftmpi_reach *reach,
                       const void *user, MPI_Count count, MPI_Datatype type,
                       struct weftmpi_elements *elements);
/* Leaves an operation under way to the next flush. It ends at once, if its bytes are in the
 * request's memory, or if it is the program's and more stretches than one are to be waited for. */
int weftmpi_reach_leave(struct weftmpi_request *request, struct weftmpi_reach *reach);

/* Defines both forms of an operation, with parameters of each type of counts. */
#define RMA(name, rname, begin, parameters)                                                        \
    BOTH(name, rname, begin, parameters(int), MPI_Win win)                                         \
    BOTH(name##_c, rname##_c, begin, parameters(MPI_Count), MPI_Win win)
#define TO(N)   int to, MPI_Aint offset, N to_count, MPI_Datatype to_type
#define FROM(N) const void *from, N count, MPI_Datatype type
#define OLD(N)  void *old, N old_count, MPI_Datatype old_type
#define GIVEN   win, to, offset, to_count, to_type

#endif
