/* tests/mpi/more/more.h - the parts of test_mpi_more.c. */
#ifndef WEFT_TESTS_MPI_MORE_H
#define WEFT_TESTS_MPI_MORE_H

#include "mpi/mpi_test.h"

/* errors.c */
void error_codes(void);
/* contents.c */
void attributes(void);
void contents(void);
void arrays(void);
/* packing.c */
void external(void);
void beyond_int(void);
void small_ones(void);
/* requests.c */
void general(void);
void persistent(void);
/* graphs.c */
void graphs(void);
void of_groups(void);
/* inter.c */
void intercommunicators(void);

#endif
