/*
 * endless.c - a program that copies to, between and from its two devices until one of them fails,
 * or for so many seconds, and looks at what comes back.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 1 << 20 };

static unsigned char there[BYTES], back[BYTES];
static void *memory[2];

static cudaError_t go_round(int d)
{
    cudaError_t error = cudaMemcpy(memory[d], there, BYTES, cudaMemcpyHostToDevice);

    if (error == cudaSuccess)
        error = cudaMemcpyPeer(memory[1 - d], 1 - d, memory[d], d, BYTES);
    if (error == cudaSuccess)
        error = cudaMemcpy(back, memory[1 - d], BYTES, cudaMemcpyDeviceToHost);
    return error;
}

int main(int argc, char **argv)
{
    const time_t end = argc > 1 ? time(NULL) + atoi(argv[1]) : 0;
    cudaError_t error = cudaSuccess;
    int devices = 0, wrong = 0;

    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices != 2)
        return EXIT_FAILURE;
    for (int d = 0; d < 2; d++)
        if (cudaSetDevice(d) != cudaSuccess || cudaMalloc(&memory[d], BYTES) != cudaSuccess)
            return EXIT_FAILURE;
    printf("ready\n");
    fflush(stdout);
    for (int round = 0; error == cudaSuccess && (end == 0 || time(NULL) < end); round++) {
        for (size_t i = 0; i < BYTES; i++)
            there[i] = (unsigned char)(round + i * 7 + (i >> 8));
        error = go_round(round % 2);
        wrong += error == cudaSuccess && memcmp(there, back, BYTES) != 0;
    }
    printf("%d wrong, ended with %d\n", wrong, error);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
