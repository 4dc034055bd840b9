/* more.h - what the parts of more.c share. */
#ifndef TESTS_REMOTE_MORE_H
#define TESTS_REMOTE_MORE_H

#include "blas.h"

enum { N = 24, CELLS = N * N, DRAWS = 20000 };

struct more {
    cudaStream_t stream;
    float *there[3], *pinned; /* room for DRAWS numbers each */
};
extern struct more more;

/* Whether the library is there; `missing` is the status of one that is not. */
bool more_begins(const char *library, int status, int missing);
void more_sparse(unsigned options); /* cuSPARSE */
void more_lt(bool fake);            /* cuBLASLt */

#endif
