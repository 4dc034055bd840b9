/*
 * test_library.c - blas.c and more.c over sessions that are tasks of this process, and fake
 * libraries. Where there are two servers, what a call needs comes from the other one. Arguments:
 * servers, seed.
 */
#include "blas.h"
#include "sessions.h"

#include "fake/fake.h"
#include "remote/table/table.h"

#include <stdio.h>
#include <stdlib.h>

static const struct weft_cuda_table *fake;
static int servers;
enum { FAR = 1 << 20 }; /* the largest copy */

/* What the fake libraries call. */
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn run, void *argument)
{
    return fake->launch_host(stream, run, argument);
}
CUresult cuStreamSynchronize(CUstream stream)
{
    return fake->stream_synchronize(stream);
}

/* By way of another server's memory. */
void blas_far_copy(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    static void *far[8];
    int device = 0;

    (void)cudaGetDevice(&device);
    const int other = (device + 1) % servers;
    (void)cudaSetDevice(other);
    if (far[other] == NULL)
        (void)cudaMalloc(&far[other], FAR);
    (void)cudaMemcpy(far[other], from, bytes, cudaMemcpyHostToDevice);
    (void)cudaSetDevice(device);
    (void)cudaMemcpyPeerAsync(to, device, far[other], other, bytes, stream);
}

int main(int argc, char **argv)
{
    char options[64], all[80];

    servers = argc > 1 ? atoi(argv[1]) : 1;
    snprintf(options, sizeof(options), "memory=256M,seed=%d", argc > 2 ? atoi(argv[2]) : 1);
    snprintf(all, sizeof(all), "devices=%d,%s", servers, options);
    weft_cudart_use(sessions_begin(servers, 1, options));
    if (weft_fake_open(&fake, all) != WEFT_OK)
        return EXIT_FAILURE;
    const int status = blas_run(BLAS_FAKE);
    return sessions_end() ? status : EXIT_FAILURE;
}
