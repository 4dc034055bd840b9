/*
 * two_model/exchange_mpi.c - MPI. Whether the arena goes to MPI as it is or through host memory is
 * asked of the library itself: where it cannot read the memory of GPUs, messages are staged, all
 * copies down before the first is sent, and the name says so.
 */
#include "exchange.h"
#include "machine.h"

#include <mpi.h>
#if defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WEFT_TWO_MODEL_CUDA
#include <cuda_runtime_api.h>
const char exchange_name[] = "mpi-cuda";
#else
const char exchange_name[] = "mpi";
#endif
const bool exchange_enqueues = false;

static char *arena;
static char *stage; /* host memory laid out as the arena, or the arena itself */

static bool fail(const char *what)
{
    fprintf(stderr, "two-model: MPI: %s failed\n", what);
    return false;
}

bool exchange_open(int *argc, char ***argv, int *process, int *processes)
{
    if (MPI_Init(argc, argv) != MPI_SUCCESS)
        return fail("MPI_Init");
    MPI_Comm_rank(MPI_COMM_WORLD, process);
    MPI_Comm_size(MPI_COMM_WORLD, processes);
    return true;
}

#ifdef WEFT_TWO_MODEL_CUDA

static bool reads_gpus(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
}

static bool staged(void)
{
    return stage != arena;
}

void *exchange_arena(size_t bytes)
{
    int process;
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    if (cudaMalloc((void **)&arena, bytes) != cudaSuccess ||
        cudaMemset(arena, 0, bytes) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) {
        fprintf(stderr, "two-model: no device memory for %zu bytes\n", bytes);
        return NULL;
    }
    stage = arena;
    if (!reads_gpus() && cudaMallocHost((void **)&stage, bytes) != cudaSuccess) {
        fprintf(stderr, "two-model: no pinned memory for %zu bytes\n", bytes);
        return NULL;
    }
    if (process == 0)
        fprintf(stderr, "two-model: MPI %s\n",
                staged() ? "cannot read GPU memory: messages are staged in host memory"
                         : "reads GPU memory itself");
    return arena;
}

/* Between the arena and the stage; one wait for all of them follows. */
static void copy(const struct message *message, bool down)
{
    const size_t at = down ? message->from : message->to;
    cudaMemcpyAsync(down ? stage + at : arena + at, down ? arena + at : stage + at, message->bytes,
                    cudaMemcpyDefault, (cudaStream_t)machine_stream());
}

static void free_arena(void)
{
    if (stage && staged())
        cudaFreeHost(stage);
    cudaFree(arena);
}

#else

static bool staged(void)
{
    return false;
}

void *exchange_arena(size_t bytes)
{
    stage = arena = calloc(1, bytes);
    if (!arena)
        fprintf(stderr, "two-model: no memory for %zu bytes\n", bytes);
    return arena;
}

static void copy(const struct message *message, bool down)
{
    (void)message, (void)down;
}

static void free_arena(void)
{
    free(arena);
}

#endif

bool exchange_run(const struct message *sends, int send_count, const struct message *receives,
                  int receive_count)
{
    MPI_Request request[EXCHANGE_MESSAGES];
    int count = 0;
    if (send_count + receive_count > EXCHANGE_MESSAGES)
        return fail("an exchange of too many messages");
    for (int i = 0; i < receive_count; i++)
        if (MPI_Irecv(stage + receives[i].to, (int)receives[i].bytes, MPI_BYTE, receives[i].process,
                      receives[i].slot, MPI_COMM_WORLD, &request[count++]) != MPI_SUCCESS)
            return fail("MPI_Irecv");
    for (int i = 0; staged() && i < send_count; i++)
        copy(&sends[i], true);
    if (!machine_wait()) /* the kernels that made what is sent, and the copies */
        return false;
    for (int i = 0; i < send_count; i++)
        if (MPI_Isend(stage + sends[i].from, (int)sends[i].bytes, MPI_BYTE, sends[i].process,
                      sends[i].slot, MPI_COMM_WORLD, &request[count++]) != MPI_SUCCESS)
            return fail("MPI_Isend");
    if (MPI_Waitall(count, request, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
        return fail("MPI_Waitall");
    for (int i = 0; staged() && i < receive_count; i++)
        copy(&receives[i], false); /* the next kernel comes after them in the stream */
    return true;
}

bool exchange_barrier(void)
{
    return MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS || fail("MPI_Barrier");
}

bool exchange_largest(double *value)
{
    double mine = *value;
    return MPI_Allreduce(&mine, value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS ||
           fail("MPI_Allreduce");
}

bool exchange_sum(double *values, size_t count)
{
    return MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) ==
               MPI_SUCCESS ||
           fail("MPI_Allreduce");
}

/* In pieces: MPI counts in int. */
bool exchange_gather(const void *mine, size_t bytes, void *all)
{
    enum { PIECE = 1 << 26 };
    int process, processes;
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    if (process == 0)
        memcpy(all, mine, bytes);
    for (size_t at = 0; at < bytes; at += PIECE) {
        const int count = (int)(bytes - at < PIECE ? bytes - at : PIECE);
        if (process > 0 &&
            MPI_Send((const char *)mine + at, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
            return fail("MPI_Send");
        for (int other = 1; process == 0 && other < processes; other++)
            if (MPI_Recv((char *)all + (size_t)other * bytes + at, count, MPI_BYTE, other, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                return fail("MPI_Recv");
    }
    return true;
}

void exchange_close(bool good)
{
    if (!good)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    if (arena)
        free_arena();
    MPI_Finalize();
}
