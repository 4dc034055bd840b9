/* endless.c - a program that copies to and from its devices until one of them fails. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 1 << 20 };

int main(void)
{
    static char host[BYTES];
    cudaError_t error = cudaSuccess;
    void *memory[2];
    int devices = 0;

    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices != 2)
        return EXIT_FAILURE;
    for (int d = 0; d < 2; d++)
        if (cudaSetDevice(d) != cudaSuccess || cudaMalloc(&memory[d], BYTES) != cudaSuccess)
            return EXIT_FAILURE;
    printf("ready\n");
    fflush(stdout);
    while (error == cudaSuccess) {
        for (int d = 0; d < 2 && error == cudaSuccess; d++) {
            error = cudaMemcpy(memory[d], host, BYTES, cudaMemcpyHostToDevice);
            if (error == cudaSuccess)
                error = cudaMemcpyPeer(memory[1 - d], 1 - d, memory[d], d, BYTES);
            if (error == cudaSuccess)
                error = cudaMemcpy(host, memory[d], BYTES, cudaMemcpyDeviceToHost);
        }
    }
    printf("ended with %d\n", error);
    return EXIT_SUCCESS;
}
