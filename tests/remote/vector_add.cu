/* vector_add.cu - a CUDA program as users write them: nothing in it knows of weft. */
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        c[i] = a[i] + b[i];
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(EXIT_FAILURE);
}

static bool add_on(int device, int n)
{
    std::vector<float> a(n), b(n), c(n);
    float *da, *db, *dc;

    for (int i = 0; i < n; i++) {
        a[i] = (float)i;
        b[i] = 0.5f * i;
    }
    must(cudaSetDevice(device), "cudaSetDevice");
    must(cudaMalloc(&da, n * sizeof(float)), "cudaMalloc");
    must(cudaMalloc(&db, n * sizeof(float)), "cudaMalloc");
    must(cudaMalloc(&dc, n * sizeof(float)), "cudaMalloc");
    must(cudaMemcpy(da, a.data(), n * sizeof(float), cudaMemcpyHostToDevice), "to the device");
    must(cudaMemcpy(db, b.data(), n * sizeof(float), cudaMemcpyHostToDevice), "to the device");
    vector_add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    must(cudaGetLastError(), "launch");
    must(cudaMemcpy(c.data(), dc, n * sizeof(float), cudaMemcpyDeviceToHost), "from the device");
    must(cudaFree(da), "cudaFree");
    must(cudaFree(db), "cudaFree");
    must(cudaFree(dc), "cudaFree");
    for (int i = 0; i < n; i++)
        if (c[i] != 1.5f * i)
            return false;
    return true;
}

int main()
{
    int devices = 0;
    bool right = true;

    must(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    for (int device = 0; device < devices; device++)
        right = add_on(device, 50000) && right;
    must(cudaDeviceReset(), "cudaDeviceReset");
    std::printf("%d devices: Test %s\n", devices, right ? "PASSED" : "FAILED");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
