/* suite_kernels.cu - the kernels of kernels.h for GPUs, as an image that test_remote_suite reads.
 */
#include <cstddef>

__device__ int table[64];

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        c[i] = a[i] + b[i];
}

/* The thread's number in the grid. */
static __device__ size_t own()
{
    const size_t block =
                     blockIdx.x + (size_t)gridDim.x * (blockIdx.y + (size_t)gridDim.y * blockIdx.z),
                 thread = threadIdx.x +
                          (size_t)blockDim.x * (threadIdx.y + (size_t)blockDim.y * threadIdx.z);

    return block * blockDim.x * blockDim.y * blockDim.z + thread;
}

__global__ void scale(int *a, int factor, int shift)
{
    a[own()] = (int)((unsigned)a[own()] * (unsigned)factor + (unsigned)shift);
}

__global__ void slow(int *a, int shift)
{
    const long long begun = clock64();

    while (clock64() - begun < 5000000)
        continue;
    a[own()] += shift;
}

__global__ void fetch(int *out, unsigned long long texture, int width, int rows)
{
    for (size_t i = own(); i < (size_t)width * (rows > 0 ? rows : 1);
         i += (size_t)gridDim.x * blockDim.x) {
        const int x = (int)(i % width), y = (int)(i / width);
        out[i] = rows > 0 ? tex2D<int>(texture, (float)x, (float)y) : tex1Dfetch<int>(texture, x);
    }
}

/* With bounds: no more threads a block, and shared memory of its own. */
__global__ void __launch_bounds__(512)
    store(unsigned long long surface, int width, int rows, int shift)
{
    __shared__ volatile int own_shared[8192];

    own_shared[threadIdx.x] = shift;
    shift = own_shared[threadIdx.x];
    for (size_t i = own(); i < (size_t)width * rows; i += (size_t)gridDim.x * blockDim.x) {
        const int x = (int)(i % width) * (int)sizeof(int), y = (int)(i / width);
        surf2Dwrite(surf2Dread<int>(surface, x, y) + shift, surface, x, y);
    }
}
