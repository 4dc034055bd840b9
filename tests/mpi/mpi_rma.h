/* tests/mpi/mpi_rma.h - the parts of test_mpi_rma.c. */
#ifndef WEFT_TESTS_MPI_RMA_H
#define WEFT_TESTS_MPI_RMA_H

#include "mpi_test.h"

enum { N = 64 };

static inline void open_window(int *base, MPI_Win *made)
{
    MPI_Win_create(base, N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, made);
}

/* rma_windows.c */
void attributes(void);
void dynamic(void);
void shared(void);
void errors(void);
/* rma_moves.c */
void fences(void);
void requests(void);
/* rma_updates.c */
void updates(void);
void single_elements(void);
void many_counters(void);
/* rma_private.c */
void private_memory(void);
/* rma_epochs.c */
void locks(void);
void some_targets(void);
/* rma_order.c */
void flag_behind_data(void);
void rewrites(void);
void updates_in_order(void);
void epochs_in_order(void);

#endif
