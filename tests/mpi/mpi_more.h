/* tests/mpi/mpi_more.h - the parts of test_mpi_more.c. */
#ifndef WEFT_TESTS_MPI_MORE_H
#define WEFT_TESTS_MPI_MORE_H

#include "mpi_test.h"

/* more_errors.c */
void error_codes(void);
/* more_contents.c */
void attributes(void);
void contents(void);
void arrays(void);
/* more_packing.c */
void external(void);
void beyond_int(void);
void small_ones(void);
/* more_requests.c */
void general(void);
void persistent(void);
void persistent_names(void);
/* more_graphs.c */
void graphs(void);
void of_groups(void);
/* more_inter.c */
void intercommunicators(void);

#endif
