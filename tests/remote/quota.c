/* quota.c - a program that takes 4 MiB three times, has a child, and may then rest for a while. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child has no connection of its own; its end is not the program's. */
static int child(void)
{
    void *memory = NULL;
    int ended = -1;
    const pid_t pid = fork();

    if (pid == 0)
        exit(cudaMalloc(&memory, 4096) == cudaErrorInitializationError ? EXIT_SUCCESS
                                                                       : EXIT_FAILURE);
    return pid > 0 && waitpid(pid, &ended, 0) == pid ? ended : -1;
}

int main(int argc, char **argv)
{
    void *memory = NULL;

    for (int i = 1; i <= 3; i++)
        printf("allocation %d: %s\n", i, cudaGetErrorName(cudaMalloc(&memory, 4 << 20)));
    fflush(stdout);
    const int ended = child();
    if (argc > 1)
        sleep((unsigned)atoi(argv[1]));
    const cudaError_t error = cudaMemset(memory, 1, 4096);
    printf("child %d, then %s\n", ended, cudaGetErrorName(error));
    return ended == 0 && cudaDeviceSynchronize() == cudaSuccess ? EXIT_SUCCESS : EXIT_FAILURE;
}
