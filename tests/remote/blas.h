/* blas.h - what blas.c and more.c do, as a program (blas_main.c) and over tasks (test_library.c).
 */
#ifndef TESTS_REMOTE_BLAS_H
#define TESTS_REMOTE_BLAS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

/* How many of them are not true: a line says each. */
void blas_check(bool good, const char *file, int line, const char *text);
#define CHECK(condition) blas_check(condition, __FILE_NAME__, __LINE__, #condition)
#define OK(call)         CHECK((call) == 0)
/* The first call's status, at once or with the second one. */
#define COMES(status, first, second)                                                               \
    do {                                                                                           \
        int came = (int)(first);                                                                   \
        if (came == 0)                                                                             \
            came = (int)(second);                                                                  \
        CHECK(came == (status));                                                                   \
    } while (0)

enum { BLAS_FAKE = 1, BLAS_MANAGED = 2 }; /* over fake libraries; managed memory, too */

/* All of it on each device. The exit status. */
int blas_run(unsigned options);
/* cuFFT, cuRAND, cuSPARSE and cuBLASLt on the current device. A line says which is not there. */
void more_run(unsigned options);
/* The caller's: a copy from pinned memory to the current device in a stream, by a way that takes
 * long. */
void blas_far_copy(void *to, const void *from, size_t bytes, cudaStream_t stream);

#endif
