/* tests/mpi/mpi_types.h - the parts of test_mpi_types.c. */
#ifndef WEFT_TESTS_MPI_TYPES_H
#define WEFT_TESTS_MPI_TYPES_H

#include "mpi_test.h"

/* types_random.c */
void random_types(void);
/* types_bounds.c */
void negative_extents(void);
void paddings(void);
void refused_types(void);
void subarrays(void);
/* types_operations.c */
void elements(void);
void operations(void);
/* types_environment.c */
void infos(void);
void environment(void);

#endif
