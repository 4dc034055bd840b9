/*
 * thrust.cu - thrust's sort and scan against the host's. Plain CUDA: nothing of weft is in it. Its
 * kernels are thrust's own, so it needs a GPU. Status 1 if a value differs.
 */
#include <algorithm>
#include <cstdio>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

int main()
{
    enum { N = 1 << 20 };
    thrust::host_vector<unsigned> host(N);
    bool good = true;

    for (int i = 0; i < N; i++)
        host[i] = (unsigned)i * 48271u % 65537u;
    thrust::device_vector<unsigned> device = host, sums(N);
    thrust::sort(device.begin(), device.end());
    thrust::inclusive_scan(device.begin(), device.end(), sums.begin());
    const thrust::host_vector<unsigned> sorted = device, scanned = sums;
    std::sort(host.begin(), host.end());
    unsigned sum = 0;
    for (int i = 0; i < N; i++) {
        sum += host[i];
        good = good && sorted[i] == host[i] && scanned[i] == sum;
    }
    std::printf("thrust: %s\n", good ? "passed" : "FAILED");
    return !good;
}
