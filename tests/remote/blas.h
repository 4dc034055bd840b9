/* blas.h - what blas.c does, as a program (blas_main.c) and over tasks (test_library.c). */
#ifndef TESTS_REMOTE_BLAS_H
#define TESTS_REMOTE_BLAS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

/* All of it on each device; fake: over fake_blas.c. The exit status. */
int blas_run(bool fake);
/* The caller's: a copy from pinned memory to the current device in a stream, by a way that takes
 * long. */
void blas_far_copy(void *to, const void *from, size_t bytes, cudaStream_t stream);

#endif
