/* blas_main.c - blas.c as a program. An argument: the libraries are fake. */
#include "blas.h"

#include <curand.h>

void blas_far_copy(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    (void)cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream);
}

int main(int argc, char **argv)
{
    curandGenerator_t generator;

    (void)argv;
    CHECK(curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_DEFAULT) ==
          CURAND_STATUS_ARCH_MISMATCH);
    return blas_run(BLAS_MANAGED | (argc > 1 ? BLAS_FAKE : 0));
}
