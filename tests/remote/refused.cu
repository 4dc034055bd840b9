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

/* Functions that no call names: their addresses are in data, and in code. */
static cudaError_t (*in_data[])(cudaStream_t, cudaGraph_t *) = {cudaStreamEndCapture};
static cudaError_t make(cudaError_t (*volatile how)(cudaGraph_t *, unsigned), cudaGraph_t *graph)
{
    return how(graph, 0);
}

int main()
{
    void *memory = nullptr, *mapped = nullptr, *pinned = nullptr;
    const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    cudaMemPoolPtrExportData exported;
    cudaIpcMemHandle_t handle;
    cudaMipmappedArray_t array;
    cudaMemPool_t pool;
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    unsigned long long used;

    if (cudaMalloc(&memory, 4096) != cudaSuccess || cudaMallocHost(&pinned, 4096) != cudaSuccess ||
        cudaStreamCreate(&stream) != cudaSuccess || cudaEventCreate(&event) != cudaSuccess ||
        cudaDeviceGetDefaultMemPool(&pool, 0) != cudaSuccess)
        return EXIT_FAILURE;
    wrong += floats.x != 32 || floats.y != 0 || floats.f != cudaChannelFormatKindFloat;
    managed = 5; /* the host's own */
    wrong += managed != 5;
    nothing<<<1, 1>>>();
    REFUSED(cudaPeekAtLastError());
    REFUSED(cudaHostGetDevicePointer(&mapped, pinned, 0));
    wrong += cudaHostRegister(&stream, sizeof(stream), cudaHostRegisterMapped) != cudaSuccess;
    REFUSED(cudaHostGetDevicePointer(&mapped, &stream, 0));
    REFUSED(cudaIpcGetMemHandle(&handle, memory));
    REFUSED(cudaGraphicsMapResources(0, nullptr, stream));
    REFUSED(cudaMemPoolExportPointer(&exported, memory));
    REFUSED(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    REFUSED(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    REFUSED(in_data[wrong != 0](stream, &graph));
    REFUSED(make(cudaGraphCreate, &graph));
    REFUSED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    REFUSED(cudaMallocMipmappedArray(&array, &floats, make_cudaExtent(64, 64, 0), 2));
    std::printf("%d not refused\n", wrong);
    return wrong == 0 && cudaDeviceSynchronize() == cudaSuccess ? EXIT_SUCCESS : EXIT_FAILURE;
}
