/*
 * peers/cuda/stage.cu - two stages of the way from GPU to GPU through host memory, each alone:
 * copies from a GPU to pinned host memory (to_host), and from there to a GPU (to_device). Many are
 * under way in a stream of the GPU. One way: GPU 0 sends and GPU 1 receives. Both ways: each stage
 * on both GPUs at once, the rates added.
 */
#include "contents.h"
#include "machine.h"

#include <thread>

namespace
{

/* Copies go round and round through pinned memory, as much as weft has by default. */
enum { MOST = 64 << 20, PINNED = 16 << 20 };

/* Of a GPU. */
struct end {
    uint32_t *memory;          /* of MOST bytes */
    unsigned long long *wrong; /* words, that it found */
    char *host;                /* pinned, of MOST bytes */
    cudaStream_t stream;
};

struct stage {
    end ends[2];
    size_t bytes, slots; /* of a copy; places for it in pinned memory */
};

void start(const stage *stage, int device, bool to_host, uint64_t i)
{
    const end *end = &stage->ends[device];
    char *host = end->host + i % stage->slots * stage->bytes;
    check(to_host
              ? cudaMemcpyAsync(host, end->memory, stage->bytes, cudaMemcpyDefault, end->stream)
              : cudaMemcpyAsync(end->memory, host, stage->bytes, cudaMemcpyDefault, end->stream),
          "cudaMemcpyAsync");
}

void finish(const end *end)
{
    check(cudaStreamSynchronize(end->stream), "cudaStreamSynchronize");
}

/* New contents to every place in pinned memory, and back from each. */
void copy_checked(const stage *stage, int device)
{
    const end *end = &stage->ends[device];
    check(cudaSetDevice(device), "cudaSetDevice");
    for (uint64_t i = 0; i < stage->slots; i++) {
        fill<<<FILL_BLOCKS, FILL_THREADS, 0, end->stream>>>(end->memory, stage->bytes, i);
        check(cudaGetLastError(), "fill");
        start(stage, device, true, i);
    }
    for (uint64_t i = 0; i < stage->slots; i++) {
        start(stage, device, false, i);
        compare<<<FILL_BLOCKS, FILL_THREADS, 0, end->stream>>>(end->memory, stage->bytes, i,
                                                               end->wrong);
        check(cudaGetLastError(), "compare");
    }
    finish(end);
}

void copy_all(const stage *stage, int device, bool to_host, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        start(stage, device, to_host, i);
    finish(&stage->ends[device]);
}

/* Of one device, or of both, each by a thread of its own: starting a copy takes a while, too. */
double time_copies(const stage *stage, int device, bool both, bool to_host, uint64_t count)
{
    std::thread other;
    const double start_s = now();
    if (both)
        other = std::thread(copy_all, stage, 1 - device, to_host, count);
    copy_all(stage, device, to_host, count);
    if (both)
        other.join();
    return now() - start_s;
}

void measure_way(const measure_options *options, const stage *stage, bool to_host)
{
    const measure_stream stream = measure_stream_of(options, stage->bytes, 1);
    double seconds = 0;
    for (const uint64_t groups : stream.groups)
        seconds =
            time_copies(stage, to_host ? 0 : 1, options->both, to_host, groups * stream.group);
    measure_ranks_line(to_host ? "to_host" : "to_device", options->both ? "both_ways" : "one_way",
                       stage->bytes, 0, 1,
                       measure_stream_rate(options, &stream, stage->bytes, 1, seconds), "GB/s");
}

void measure_size(measure_options *options, stage *stage, size_t bytes)
{
    stage->bytes = bytes;
    stage->slots = bytes < PINNED ? PINNED / bytes : 1;
    for (int device = 0; device < 2; device++)
        copy_checked(stage, device);
    for (int both = 0; both < 2; both++) {
        options->both = both != 0;
        measure_way(options, stage, true);
        measure_way(options, stage, false);
    }
}

void open_end(end *end, int device)
{
    end->memory = (uint32_t *)new_memory(device, MOST);
    end->wrong = (unsigned long long *)new_memory(device, sizeof(*end->wrong));
    check(cudaMallocHost(&end->host, MOST), "cudaMallocHost");
    check(cudaStreamCreateWithFlags(&end->stream, cudaStreamNonBlocking), "cudaStreamCreate");
}

uint64_t wrong_of(const stage *stage)
{
    uint64_t sum = 0;
    for (const end &end : stage->ends) {
        unsigned long long wrong;
        check(cudaMemcpy(&wrong, end.wrong, sizeof(wrong), cudaMemcpyDefault), "cudaMemcpy");
        sum += wrong;
    }
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    stage stage = {};
    measure_parse(&options, argc, argv,
                  MEASURE_HAS_TO | MEASURE_HAS_PUTS | MEASURE_HAS_FROM | MEASURE_NO_REPEATS |
                      MEASURE_NO_THREADS,
                  "Copies from a GPU to pinned host memory and from there to another GPU, each "
                  "alone, one way and both ways. Takes two GPUs; they need not map each other.",
                  NULL, 0);
    for (int device = 0; device < 2; device++) /* freed by the end of the process */
        open_end(&stage.ends[device], device);
    measure_header();
    for (size_t bytes = options.from; bytes <= options.to; bytes *= 4)
        measure_size(&options, &stage, bytes);
    return measure_right("a copy", options.to, wrong_of(&stage)) ? EXIT_SUCCESS : EXIT_FAILURE;
}
