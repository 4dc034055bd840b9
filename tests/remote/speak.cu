/* speak.cu - kernels that print, between lines of the host: every line in its place. */
#include <cstdio>
#include <cstdlib>

enum { LINES = 20000 };

__global__ void speak(int from, int count)
{
    for (int i = 0; i < count; i++)
        printf("line %d of a kernel\n", from + i);
}

static void must(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "speak: %s\n", cudaGetErrorString(error));
    std::exit(EXIT_FAILURE);
}

int main()
{
    int devices, line = 0, copied, *word;
    cudaStream_t stream;
    cudaEvent_t event;

    must(cudaGetDeviceCount(&devices));
    for (int d = 0; d < devices; d++) {
        must(cudaSetDevice(d));
        must(cudaMalloc(&word, sizeof(*word)));
        must(cudaStreamCreate(&stream));
        must(cudaEventCreate(&event));
        for (int way = 0; way < 4; way++) {
            const int count = way == 0 ? LINES : 3;
            std::printf("line %d of the host\n", line++);
            speak<<<1, 1, 0, stream>>>(line, count);
            line += count;
            must(cudaEventRecord(event, stream));
            switch (way) {
            case 0:
                must(cudaDeviceSynchronize());
                break;
            case 1:
                must(cudaStreamSynchronize(stream));
                break;
            case 2:
                must(cudaEventSynchronize(event));
                break;
            default:
                must(cudaMemcpy(&copied, word, sizeof(copied), cudaMemcpyDeviceToHost));
            }
        }
        must(cudaFree(word));
    }
    std::printf("line %d of the host\n", line);
    return EXIT_SUCCESS;
}
