/*
 * two_model/hosts.c - see hosts.h.
 */
#include "hosts.h"

#include "exchange.h"

#include <stdlib.h>
#include <string.h>
#include <weft/team.h>

weft_job *hosts_job;
static weft_team *team;

bool exchange_open(int *argc, char ***argv, int *process, int *processes)
{
    if (weft_open(&hosts_job, argc, *argv) != WEFT_OK)
        return false;
    *process = weft_numbers_of(hosts_job)->process;
    *processes = weft_numbers_of(hosts_job)->processes;
    return weft_team_open(hosts_job, WEFT_COMM_HOST, *processes, *process, "the hosts", NULL,
                          &team) == WEFT_OK;
}

void exchange_close(bool good)
{
    if (!good)
        weft_abort(hosts_job, "a two-model program has failed");
    exchange_free();
    weft_team_close(&team);
    weft_close(hosts_job);
}

bool exchange_barrier(void)
{
    return weft_host_barrier(hosts_job) == WEFT_OK;
}

bool hosts_broadcast(void *data, size_t bytes)
{
    const size_t processes = (size_t)weft_numbers_of(hosts_job)->processes;
    char *copies = malloc(processes * bytes);
    if (!copies)
        return false;
    for (size_t i = 0; i < processes; i++)
        memcpy(copies + i * bytes, data, bytes);
    const bool good = weft_host_scatter(hosts_job, 0, copies, data, bytes) == WEFT_OK;
    free(copies);
    return good;
}

static void larger(const weft_combine *combine, const void *from, void *into, size_t count)
{
    const double *a = from;
    double *b = into;

    (void)combine;
    for (size_t i = 0; i < count; i++)
        b[i] = a[i] > b[i] ? a[i] : b[i];
}

static void sum(const weft_combine *combine, const void *from, void *into, size_t count)
{
    const double *a = from;
    double *b = into;

    (void)combine;
    for (size_t i = 0; i < count; i++)
        b[i] += a[i];
}

bool exchange_largest(double *value)
{
    static const weft_combine max = {.combine = larger, .bytes = sizeof(*value), .check = 1};
    weft_team_op *op = NULL;
    return weft_team_allreduce(team, value, value, 1, &max, &op) == WEFT_OK &&
           weft_team_wait(&op) == WEFT_OK;
}

bool exchange_sum(double *values, size_t count)
{
    static const weft_combine add = {.combine = sum, .bytes = sizeof(*values), .check = 2};
    weft_team_op *op = NULL;
    return weft_team_allreduce(team, values, values, count, &add, &op) == WEFT_OK &&
           weft_team_wait(&op) == WEFT_OK;
}

bool exchange_gather(const void *mine, size_t bytes, void *all)
{
    return weft_host_gather(hosts_job, 0, mine, bytes, all) == WEFT_OK;
}

#ifdef WEFT_TWO_MODEL_CUDA
#include <cuda_runtime_api.h>
#include <stdio.h>

/* The kernels must reach the arena: it has to lie on the GPU that the machine has opened. */
static bool reachable(const void *arena)
{
    struct cudaPointerAttributes found;
    int device = -1;
    if (cudaGetDevice(&device) == cudaSuccess &&
        cudaPointerGetAttributes(&found, arena) == cudaSuccess &&
        found.type == cudaMemoryTypeDevice && found.device == device)
        return true;
    fprintf(stderr,
            "two-model: weft's memory does not lie on GPU %d: WEFT_DEVICE, WEFT_DEVICE_ID\n",
            device);
    return false;
}
#else
static bool reachable(const void *arena)
{
    (void)arena;
    return true;
}
#endif

void *hosts_arena(size_t bytes)
{
    void *arena = weft_malloc(hosts_job, bytes);
    return arena && reachable(arena) ? arena : NULL;
}
