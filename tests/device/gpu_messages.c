/*
 * gpu_messages.c - messages, copies and collectives from every kind of memory into every other, on
 * a GPU: pageable, pinned, registered in part, of cudaMalloc, managed, of cudaMallocAsync, of
 * weft_malloc. Then a program that waits for the device, allocates and frees between messages, a
 * hundred thousand times: whatever moves the messages is not to hold that up. Then one that frees
 * and maps its host memory between large messages (WEFT_CUDA_KEEP=64M): a registration that is kept
 * too long gives bytes that are gone, also to the program's own copies. Each process sends to the
 * next. Without a GPU: 77.
 *
 *     weftrun -n 2 test_gpu_messages [ROUNDS]
 */
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <weft/message.h>
#include <weft/team.h>

enum kind { PAGEABLE, PINNED, PART, DEVICE, MANAGED, POOL, WEFT, KINDS };
enum { MOST = (1 << 20) + 7, REGISTERED = 300000, ROUNDS = 100000 };

static const char *const names[KINDS] = {
    "malloc",     "cudaMallocHost",    "malloc, of which a part is registered",
    "cudaMalloc", "cudaMallocManaged", "cudaMallocAsync",
    "weft_malloc"};

static weft_job *job;
static weft_team *team; /* all processes */
static int to, from;

#define MUST(condition)                                                                            \
    do                                                                                             \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "FAILED %s:%d: %s\n", __FILE__, __LINE__, #condition);                 \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    while (0)
#define CUDA(call)                                                                                 \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "FAILED %s:%d: %s: %s\n", __FILE__, __LINE__, #call,                   \
                    cudaGetErrorString(error_));                                                   \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

static unsigned char *allocate(enum kind kind)
{
    void *memory = NULL;

    switch (kind) {
    case PAGEABLE:
        memory = malloc(MOST);
        break;
    case PINNED:
        CUDA(cudaMallocHost(&memory, MOST));
        break;
    case PART:
        memory = malloc(MOST);
        CUDA(cudaHostRegister(memory, REGISTERED, cudaHostRegisterDefault));
        break;
    case DEVICE:
        CUDA(cudaMalloc(&memory, MOST));
        break;
    case MANAGED:
        CUDA(cudaMallocManaged(&memory, MOST, cudaMemAttachGlobal));
        break;
    case POOL:
        CUDA(cudaMallocAsync(&memory, MOST, NULL));
        break;
    default:
        memory = weft_malloc(job, MOST);
    }
    MUST(memory != NULL);
    return memory;
}

/* One message each way round the processes. */
static void pass(const void *source, void *target, size_t bytes, int tag)
{
    weft_message_op op;
    weft_message message;

    MUST(weft_host_send_begin(job, WEFT_COMM_HOST, to, tag, source, bytes, &op) == WEFT_OK);
    MUST(weft_host_receive(job, WEFT_COMM_HOST, from, tag, target, bytes, &message) == WEFT_OK);
    MUST(message.bytes == bytes);
    MUST(weft_host_message_wait(job, &op, NULL) == WEFT_OK);
}

/* The program's own, which CUDA refuses of memory that is registered in part. */
static void copy(enum kind kind, void *target, const void *source, size_t bytes)
{
    if (kind == PART)
        memcpy(target, source, bytes);
    else
        CUDA(cudaMemcpy(target, source, bytes, cudaMemcpyDefault));
}

static void by_copy(const void *source, void *target, size_t bytes, int tag)
{
    (void)tag;
    MUST(weft_copy(job, target, source, bytes) == WEFT_OK);
}

/* A part of each process, which all have the same bytes, and the rest by a copy. */
static void together(const void *source, void *target, size_t bytes, int tag)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const size_t part = bytes / (size_t)numbers->processes, all = part * (size_t)numbers->processes;

    MUST(weft_team_allgather(team, (const char *)source + part * (size_t)numbers->process, part,
                             target, NULL) == WEFT_OK);
    by_copy((const char *)source + all, (char *)target + all, bytes - all, tag);
}

static void all_kinds(void)
{
    void (*const ways[])(const void *, void *, size_t, int) = {pass, by_copy, together};

    static const size_t sizes[] = {0,    1,    8,     33,     536,     1024,
                                   1025, 8185, 50000, 262144, 1 << 20, MOST};
    static unsigned char want[MOST], got[MOST];
    unsigned char *source[KINDS], *target[KINDS];

    for (enum kind k = 0; k < KINDS; k++) {
        source[k] = allocate(k);
        target[k] = allocate(k);
    }
    for (enum kind a = 0; a < KINDS; a++)
        for (enum kind b = 0; b < KINDS; b++)
            for (size_t w = 0; w < 3 * sizeof(sizes) / sizeof(sizes[0]); w++) {
                const size_t s = w / 3, bytes = sizes[s];
                for (size_t i = 0; i < bytes; i++)
                    want[i] = (unsigned char)(i * 7 + w + 13 * (a * KINDS + b));
                copy(a, source[a], want, bytes);
                memset(got, 0, bytes);
                copy(b, target[b], got, bytes);
                CUDA(cudaDeviceSynchronize());
                ways[w % 3](source[a], target[b], bytes, (int)s);
                copy(b, got, target[b], bytes);
                if (memcmp(want, got, bytes) != 0) {
                    fprintf(stderr, "FAILED: %zu bytes from %s to %s, way %zu\n", bytes, names[a],
                            names[b], w % 3);
                    exit(EXIT_FAILURE);
                }
            }
    printf("%d kinds of memory to each other: all bytes right\n", KINDS);
}

/* The GPU of another process of this host, if there is one, is not this process's to send from. */
static void other_gpu(int gpu)
{
    void *memory;
    int gpus;

    CUDA(cudaGetDeviceCount(&gpus));
    if (gpus < 2)
        return;
    CUDA(cudaSetDevice((gpu + 1) % gpus));
    CUDA(cudaMalloc(&memory, 64));
    MUST(weft_host_send(job, WEFT_COMM_HOST, to, 0, memory, 64) == WEFT_ERR_ARGUMENT);
    CUDA(cudaFree(memory));
    CUDA(cudaSetDevice(gpu));
}

static void between_calls(long rounds)
{
    uint64_t *const source = (void *)allocate(DEVICE), *const target = (void *)allocate(DEVICE);
    void *more = NULL;

    for (long i = 0; i < rounds; i++) {
        const uint64_t sent = (uint64_t)i * 3 + 1;
        uint64_t got = 0;
        CUDA(cudaMemcpy(source, &sent, sizeof(sent), cudaMemcpyHostToDevice));
        CUDA(cudaStreamSynchronize(NULL)); /* out of pageable memory it returns before the end */
        pass(source, target, sizeof(sent), 1);
        if (i % 3 == 0)
            CUDA(cudaDeviceSynchronize());
        else if (i % 3 == 1)
            CUDA(cudaMalloc(&more, 4096));
        else
            CUDA(cudaFree(more));
        CUDA(cudaMemcpy(&got, target, sizeof(got), cudaMemcpyDeviceToHost));
        MUST(got == sent);
    }
    printf("%ld messages with cudaDeviceSynchronize, cudaMalloc and cudaFree in between\n", rounds);
}

enum { LARGE = 65536, SLOTS = 4 };

/* Host memory that is often another's soon: unmapped, emptied, or malloc's. */
static unsigned char *change(unsigned char *memory, bool mapped, long round)
{
    if (mapped && round % 2 == 0) {
        MUST(madvise(memory, LARGE, MADV_DONTNEED) == 0);
        return memory;
    }
    if (mapped) {
        MUST(munmap(memory, LARGE) == 0);
        memory = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(memory != MAP_FAILED);
        return memory;
    }
    free(memory);
    memory = malloc(LARGE + 512 * (size_t)(round % 3));
    MUST(memory != NULL);
    return memory;
}

static void write_on(unsigned char *memory, long round)
{
    for (size_t at = 0; at < LARGE; at += 1024)
        memcpy(memory + at, &round, sizeof(round));
}

static void is_right(const unsigned char *memory, long round)
{
    for (size_t at = 0; at < LARGE; at += 1024)
        MUST(memcmp(memory + at, &round, sizeof(round)) == 0);
}

/* Host to device, back by the program's own copies, and device to host. */
static void memory_that_goes(long rounds)
{
    static unsigned char got[LARGE];
    unsigned char *const near = weft_malloc(job, LARGE), *host[SLOTS];

    MUST(near != NULL);
    for (int i = 0; i < SLOTS; i++) {
        host[i] = i % 2 == 0 ? mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                             : malloc(LARGE);
        MUST(host[i] != NULL && host[i] != MAP_FAILED);
    }
    for (long i = 0; i < rounds; i++) {
        const int slot = (int)(i / 2 % SLOTS);
        if (i / 2 % 16 / SLOTS == 3) /* after some uses, in which it is registered */
            host[slot] = change(host[slot], slot % 2 == 0, i / 2 / 16);
        write_on(host[slot], i);
        pass(host[slot], near, LARGE, 2);
        CUDA(cudaMemcpy(got, near, LARGE, cudaMemcpyDeviceToHost));
        is_right(got, i);
        write_on(host[slot], -i); /* a part of it, and all, by the program, or by weft */
        if (slot % 2 == 0) {
            CUDA(cudaMemcpy(near + 1024, host[slot] + 1024, LARGE - 1024, cudaMemcpyHostToDevice));
            CUDA(cudaMemcpy(near, host[slot], LARGE, cudaMemcpyHostToDevice));
            CUDA(cudaStreamSynchronize(NULL));
        } else { /* of which another part may have been registered */
            MUST(weft_copy(job, near, host[slot], LARGE) == WEFT_OK);
        }
        pass(near, host[slot], LARGE, 3);
        is_right(host[slot], -i);
    }
    printf("%ld messages each way with host memory that was freed and used again\n", rounds);
}

int main(int argc, char **argv)
{
    struct cudaPointerAttributes where;
    weft_comm group;
    int gpus = 0;

    MUST(weft_open(&job, &argc, argv) == WEFT_OK);
    const weft_numbers *numbers = weft_numbers_of(job);
    const long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : ROUNDS;
    void *const probe = weft_malloc(job, 64);
    MUST(probe != NULL && rounds > 0);
    if (weft_host_reaches(job, probe) || cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        printf("skipped: this process drives no GPU\n");
        weft_close(job);
        return 77;
    }
    CUDA(cudaPointerGetAttributes(&where, probe));
    CUDA(cudaSetDevice(where.device));
    to = (numbers->process + 1) % numbers->processes;
    from = (numbers->process + numbers->processes - 1) % numbers->processes;
    MUST(weft_host_split(job, 0, numbers->process, &group) == WEFT_OK);
    MUST(weft_team_open(job, group, numbers->processes, numbers->process, "all", NULL, &team) ==
         WEFT_OK);
    all_kinds();
    MUST(weft_team_close(&team) == WEFT_OK);
    between_calls(rounds);
    memory_that_goes(getenv("WEFT_CUDA_KEEP") != NULL ? rounds : rounds / 10 + 1);
    other_gpu(where.device);
    return weft_close(job) != (gpus > 1 ? WEFT_ERR_ARGUMENT : WEFT_OK);
}
