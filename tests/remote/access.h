/*
 * access.h - kernels that use memory of another device: what the tests of
 * cudaDeviceEnablePeerAccess do again and again. Devices are the runtime's. One thread.
 */
#ifndef TESTS_REMOTE_ACCESS_H
#define TESTS_REMOTE_ACCESS_H

#include "suite.h"

enum { N = 4096, BLOCK = 256, BYTES = N * sizeof(int), SLAB = 2 << 20 };

/* Makes a device current. */
void access_on(int device);
/* Memory of a device, which is then current. */
int *access_memory(int device, size_t bytes);
/* Each of N numbers += add, after some milliseconds; in a stream of the current device. */
void access_slowly(int *a, int add, cudaStream_t stream);
/* Whether all N numbers are that, as their device copies them. */
bool access_all_are(const int *from, int device, int value);
/* Whether kernels of `device` find what was written there, and write it. */
bool access_works(int device, int *far, int owner);
/* What CUDA says of two devices, which all its functions say alike. */
bool access_can(int device, int peer);
/* cudaDeviceEnablePeerAccess, in `device`. */
void access_enable(int device, int peer);

#endif
