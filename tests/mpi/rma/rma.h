/* tests/mpi/rma/rma.h - the parts of test_mpi_rma.c. */
#ifndef WEFT_TESTS_MPI_RMA_H
#define WEFT_TESTS_MPI_RMA_H

#include "mpi/mpi_test.h"

enum { N = 64 };

static inline void open_window(int *base, MPI_Win *made)
{
    MPI_Win_create(base, N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, made);
}

/* windows.c */
void attributes(void);
void dynamic(void);
void shared(void);
void errors(void);
/* moves.c */
void fences(void);
void requests(void);
/* updates.c */
void updates(void);
void single_elements(void);
void many_counters(void);
/* epochs.c */
void locks(void);
void some_targets(void);
/* order.c */
void flag_behind_data(void);
void rewrites(void);
void updates_in_order(void);
void epochs_in_order(void);

#endif
