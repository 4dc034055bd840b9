/* tests/mpi/mpi_point.h - the parts of test_mpi_point.c. */
#ifndef WEFT_TESTS_MPI_POINT_H
#define WEFT_TESTS_MPI_POINT_H

#include "mpi_test.h"

extern int left, right; /* neighbours in the ring */

/* point_messages.c */
void forms(void);
void order(void);
void both_ways(void);
void probes(void);
/* point_requests.c */
void persistent(void);
void several(void);
void many(void);
void cancelled_sends(void);
void cancelled(void);
void empty_statuses(void);
void errors(void);

#endif
