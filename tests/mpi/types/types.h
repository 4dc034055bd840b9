/* tests/mpi/types/types.h - the parts of test_mpi_types.c. */
#ifndef WEFT_TESTS_MPI_TYPES_H
#define WEFT_TESTS_MPI_TYPES_H

#include "mpi/mpi_test.h"

/* random.c */
void random_types(void);
/* bounds.c */
void negative_extents(void);
void paddings(void);
void refused_types(void);
void subarrays(void);
/* operations.c */
void elements(void);
void operations(void);
/* environment.c */
void infos(void);
void environment(void);

#endif
