/* refused.cu - functions that remote GPUs do not serve: each says so, and is the thread's last
 * error. */
#include <cstdio>
#include <cstdlib>

static int wrong;
__managed__ int managed;

__global__ void nothing()
{
}

static void refused(cudaError_t error, const char *what)
{
    const cudaError_t last = cudaGetLastError();

    if (error == cudaErrorNotSupported && last == error)
        return;
    std::printf("%s: %s, then %s\n", what, cudaGetErrorName(error), cudaGetErrorName(last));
    wrong++;
}
#define REFUSED(call) refused(call, #call)

int main()
{
    void *memory = nullptr, *mapped = nullptr, *pinned = nullptr;
    const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    cudaMemPoolPtrExportData exported;
    cudaIpcMemHandle_t handle;
    cudaMipmappedArray_t array;
    cudaStream_t stream;

    if (cudaMalloc(&memory, 4096) != cudaSuccess || cudaMallocHost(&pinned, 4096) != cudaSuccess ||
        cudaStreamCreate(&stream) != cudaSuccess)
        return EXIT_FAILURE;
    wrong += floats.x != 32 || floats.y != 0 || floats.f != cudaChannelFormatKindFloat;
    managed = 5; /* the host's own */
    wrong += managed != 5;
    nothing<<<1, 1>>>();
    REFUSED(cudaPeekAtLastError());
    REFUSED(cudaHostGetDevicePointer(&mapped, pinned, 0));
    REFUSED(cudaHostRegister(&stream, sizeof(stream), cudaHostRegisterMapped));
    REFUSED(cudaIpcGetMemHandle(&handle, memory));
    REFUSED(cudaGraphicsMapResources(0, nullptr, stream));
    REFUSED(cudaMemPoolExportPointer(&exported, memory));
    REFUSED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    REFUSED(cudaMallocMipmappedArray(&array, &floats, make_cudaExtent(64, 64, 0), 2));
    std::printf("%d not refused\n", wrong);
    return wrong == 0 && cudaDeviceSynchronize() == cudaSuccess ? EXIT_SUCCESS : EXIT_FAILURE;
}
