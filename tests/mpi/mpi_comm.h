/* tests/mpi/mpi_comm.h - the parts of test_mpi_comm.c. */
#ifndef WEFT_TESTS_MPI_COMM_H
#define WEFT_TESTS_MPI_COMM_H

#include "mpi_test.h"

/* comm_groups.c */
void groups(void);
void apart(void);
void many(void);
void no_sleep(void);
/* comm_attributes.c */
void attributes(void);
void callbacks(void);
void handlers(void);
void all_deleted(void);
/* comm_topologies.c */
void places(void);
void dims(void);
void grid(void);
void graph(void);

#endif
