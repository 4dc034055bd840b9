/* tests/mpi/comm/comm.h - the parts of test_mpi_comm.c. */
#ifndef WEFT_TESTS_MPI_COMM_H
#define WEFT_TESTS_MPI_COMM_H

#include "mpi/mpi_test.h"

/* groups.c */
void groups(void);
void apart(void);
void many(void);
void no_sleep(void);
/* attributes.c */
void attributes(void);
void callbacks(void);
void handlers(void);
void all_deleted(void);
/* topologies.c */
void places(void);
void dims(void);
void grid(void);
void graph(void);

#endif
