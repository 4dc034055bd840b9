/* access.c - see the header. */
#include "access.h"

void access_on(int device)
{
    OK(cudaSetDevice(device));
}

int *access_memory(int device, size_t bytes)
{
    int *memory = NULL;

    access_on(device);
    OK(cudaMalloc((void **)&memory, bytes));
    return memory;
}

void access_slowly(int *a, int add, cudaStream_t stream)
{
    void *parameters[] = {&a, &add};

    OK(cudaLaunchKernel(&suite_slow, (dim3){N / BLOCK, 1, 1}, (dim3){BLOCK, 1, 1}, parameters, 0,
                        stream));
}

bool access_all_are(const int *from, int device, int value)
{
    int back[N];
    bool are = true;

    access_on(device);
    OK(cudaMemcpy(back, from, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        are = are && back[i] == value;
    return are;
}

bool access_works(int device, int *far, int owner)
{
    access_on(owner);
    OK(cudaMemset(far, 0, BYTES));
    OK(cudaDeviceSynchronize());
    access_on(device);
    access_slowly(far, 3, NULL);
    access_slowly(far, 4, NULL);
    OK(cudaDeviceSynchronize());
    return access_all_are(far, owner, 7);
}

bool access_can(int device, int peer)
{
    int is = -1, attribute = -1;

    OK(cudaDeviceCanAccessPeer(&is, device, peer));
    if (device != peer)
        OK(cudaDeviceGetP2PAttribute(&attribute, cudaDevP2PAttrAccessSupported, device, peer));
    CHECK(device == peer || attribute == is);
    return is == 1;
}

void access_enable(int device, int peer)
{
    access_on(device);
    OK(cudaDeviceEnablePeerAccess(peer, 0));
}
