/*
 * two_model/exchange_nccl.c - NCCL's send and receive, grouped, on the stream of the kernels: no
 * host between the steps, and all of it in a graph.
 */
#include "exchange.h"
#include "hosts.h"
#include "machine.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdio.h>

const char exchange_name[] = "nccl";
const bool exchange_enqueues = true;

static ncclComm_t comm;
static char *arena;
static size_t arena_bytes; /* after it: words for notices, which NCCL has not without data */

enum { NOTICE = 8 };

static bool good(ncclResult_t result, const char *what)
{
    if (result == ncclSuccess)
        return true;
    fprintf(stderr, "two-model: %s: %s\n", what, ncclGetErrorString(result));
    return false;
}

void *exchange_arena(size_t bytes)
{
    const weft_numbers *numbers = weft_numbers_of(hosts_job);
    ncclUniqueId id;
    if (numbers->process == 0 && !good(ncclGetUniqueId(&id), "ncclGetUniqueId"))
        return NULL;
    if (!hosts_broadcast(&id, sizeof(id)) ||
        !good(ncclCommInitRank(&comm, numbers->processes, id, numbers->process),
              "ncclCommInitRank"))
        return NULL;
    arena_bytes = (bytes + NOTICE - 1) / NOTICE * NOTICE;
    bytes = arena_bytes + (size_t)2 * EXCHANGE_SLOTS * NOTICE;
    if (cudaMalloc((void **)&arena, bytes) != cudaSuccess ||
        cudaMemset(arena, 0, bytes) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) {
        fprintf(stderr, "two-model: no device memory for %zu bytes\n", bytes);
        return NULL;
    }
    return arena;
}

static bool one(const struct message *message, bool sends)
{
    cudaStream_t stream = (cudaStream_t)machine_stream();
    const size_t bytes = message->bytes > 0 ? message->bytes : NOTICE;
    size_t at = sends ? message->from : message->to;
    if (message->bytes == 0)
        at = arena_bytes + (size_t)(2 * message->slot + sends) * NOTICE;
    return sends ? good(ncclSend(arena + at, bytes, ncclChar, message->process, comm, stream),
                        "ncclSend")
                 : good(ncclRecv(arena + at, bytes, ncclChar, message->process, comm, stream),
                        "ncclRecv");
}

bool exchange_run(const struct message *sends, int send_count, const struct message *receives,
                  int receive_count)
{
    if (send_count + receive_count == 0)
        return true;
    bool all = good(ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; all && i < send_count; i++)
        all = one(&sends[i], true);
    for (int i = 0; all && i < receive_count; i++)
        all = one(&receives[i], false);
    return good(ncclGroupEnd(), "ncclGroupEnd") && all;
}

void exchange_free(void)
{
    if (comm)
        ncclCommDestroy(comm);
    cudaFree(arena);
}
