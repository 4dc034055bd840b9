/* quota.c - a program that takes 4 MiB three times. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    for (int i = 1; i <= 3; i++) {
        void *memory = NULL;
        printf("allocation %d: %s\n", i, cudaGetErrorName(cudaMalloc(&memory, 4 << 20)));
    }
    return EXIT_SUCCESS;
}
