/*
 * peers/nvshmem/job.h - a job of processes with a GPU each, and kernels that run on all of them.
 */
#ifndef BENCH_PEERS_NVSHMEM_JOB_H
#define BENCH_PEERS_NVSHMEM_JOB_H

#include <nvshmem.h>
#include <nvshmemx.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

/* Results, in the memory of this process's GPU. */
struct result {
    unsigned long long wrong, ns;
    unsigned int lost; /* waits that were given up */
};

/* Does not call nvshmem_finalize: the other process may be gone. */
[[noreturn]] static void fail(const char *what, const char *why)
{
    fprintf(stderr, "nvshmem: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static inline void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        fail(what, cudaGetErrorString(error));
}

static __device__ inline unsigned long long clock_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

/* Launches on all processes; kernels of NVSHMEM that wait for each other must run at once. */
static inline result run(const void *kernel, int blocks, int threads, void **arguments,
                         result *device, const char *what)
{
    result host;
    check(cudaMemset(device, 0, sizeof(*device)), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaMemset");
    nvshmem_barrier_all();
    if (nvshmemx_collective_launch(kernel, dim3(blocks), dim3(threads), arguments, 0, 0) != 0)
        fail(what, "nvshmemx_collective_launch failed");
    check(cudaDeviceSynchronize(), what);
    check(cudaMemcpy(&host, device, sizeof(host), cudaMemcpyDefault), what);
    if (host.lost)
        fail(what, "a message never came");
    nvshmem_barrier_all();
    return host;
}

/* As many blocks as the device holds, and no more than `asked` unless that is 0. */
static inline int blocks_of(const void *kernel, int threads, void **arguments, int asked)
{
    int blocks = 0;
    if (nvshmemx_collective_launch_query_gridsize(kernel, dim3(threads), arguments, 0, &blocks) !=
        0)
        fail("nvshmemx_collective_launch_query_gridsize", "failed");
    return asked > 0 && asked < blocks ? asked : blocks;
}

/* Zeroed memory of the symmetric heap. */
static inline void *new_symmetric(size_t bytes)
{
    void *made = nvshmem_malloc(bytes);
    if (!made)
        fail("nvshmem_malloc", "out of memory");
    check(cudaMemset(made, 0, bytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaMemset");
    return made;
}

/* Process 0 writes the id beside the file and renames it: whoever finds the file finds all of it.
 */
static inline void give_id(const char *path, const nvshmemx_uniqueid_t *id)
{
    char part[4096];
    if (snprintf(part, sizeof(part), "%s.part", path) >= (int)sizeof(part))
        fail(path, "too long");
    FILE *file = fopen(part, "wb");
    if (!file || fwrite(id, sizeof(*id), 1, file) != 1 || fclose(file) != 0 ||
        rename(part, path) != 0)
        fail(path, strerror(errno));
}

static inline void take_id(const char *path, nvshmemx_uniqueid_t *id)
{
    enum { TRIES = 3000, PAUSE_US = 10000 };
    FILE *file = NULL;
    for (int i = 0; i < TRIES && !(file = fopen(path, "rb")); i++)
        usleep(PAUSE_US);
    if (!file || fread(id, sizeof(*id), 1, file) != 1)
        fail(path, "process 0 left no unique id there");
    fclose(file);
}

/* words: of the command line: PROCESS/PROCESSES, and the file that brings the id from process 0 to
 * the others. most: how many processes the program can have. The process; *processes of them. */
static inline int open_job(char **words, int most, int *processes)
{
    int process;
    char more;
    if (sscanf(words[0], "%d/%d%c", &process, processes, &more) != 2 || *processes < 2 ||
        *processes > most || process < 0 || process >= *processes) {
        fprintf(stderr, "nvshmem: %s is not PROCESS/PROCESSES, of 2 to %d; --help says more\n",
                words[0], most);
        exit(EXIT_FAILURE);
    }
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    check(cudaSetDevice(process), "cudaSetDevice");
    if (process == 0) {
        if (nvshmemx_get_uniqueid(&id) != 0)
            fail("nvshmemx_get_uniqueid", "failed");
        give_id(words[1], &id);
    } else {
        take_id(words[1], &id);
    }
    if (nvshmemx_set_attr_uniqueid_args(process, *processes, &id, &attributes) != 0 ||
        nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0)
        fail("nvshmemx_init_attr", "failed");
    return process;
}

#endif
