/*
 * two_model/exchange_nvshmem.cu - NVSHMEM's calls on streams: a put with a signal for each message,
 * and a wait for the signal at the receiver, all of it in a graph.
 *
 * A signal is a word for each slot, set to 1 by the put. The receiver waits for the 1 and clears
 * the word before its next step, which is before the next put to the slot can be sent (exchange.h).
 */
#include <cuda_runtime_api.h>
#include <nvshmem.h>
#include <nvshmemx.h>

extern "C" {
#include "exchange.h"
#include "hosts.h"
#include "machine.h"
}

#include <cstdio>

extern "C" {
extern const char exchange_name[];
extern const bool exchange_enqueues;
}
const char exchange_name[] = "nvshmem";
const bool exchange_enqueues = true;

static bool ready;
static char *arena;
static uint64_t *signals;

extern "C" void *exchange_arena(size_t bytes)
{
    const weft_numbers *numbers = weft_numbers_of(hosts_job);
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (numbers->process == 0 && nvshmemx_get_uniqueid(&id) != 0) {
        fprintf(stderr, "two-model: nvshmemx_get_uniqueid failed\n");
        return nullptr;
    }
    if (!hosts_broadcast(&id, sizeof(id)))
        return nullptr;
    nvshmemx_set_attr_uniqueid_args(numbers->process, numbers->processes, &id, &attributes);
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0) {
        fprintf(stderr, "two-model: nvshmemx_init_attr failed\n");
        return nullptr;
    }
    ready = true;
    arena = (char *)nvshmem_calloc(1, bytes);
    signals = (uint64_t *)nvshmem_calloc(EXCHANGE_SLOTS, sizeof(*signals));
    if (!arena || !signals) {
        fprintf(stderr, "two-model: no symmetric memory for %zu bytes: NVSHMEM_SYMMETRIC_SIZE\n",
                bytes);
        return nullptr;
    }
    return arena;
}

extern "C" bool exchange_run(const struct message *sends, int send_count,
                             const struct message *receives, int receive_count)
{
    cudaStream_t stream = (cudaStream_t)machine_stream();
    for (int i = 0; i < send_count; i++) {
        if (sends[i].bytes > 0)
            nvshmemx_putmem_signal_on_stream(arena + sends[i].to, arena + sends[i].from,
                                             sends[i].bytes, signals + sends[i].slot, 1,
                                             NVSHMEM_SIGNAL_SET, sends[i].process, stream);
        else
            nvshmemx_signal_op_on_stream(signals + sends[i].slot, 1, NVSHMEM_SIGNAL_SET,
                                         sends[i].process, stream);
    }
    for (int i = 0; i < receive_count; i++) {
        nvshmemx_signal_wait_until_on_stream(signals + receives[i].slot, NVSHMEM_CMP_EQ, 1, stream);
        if (cudaMemsetAsync(signals + receives[i].slot, 0, sizeof(*signals), stream) !=
            cudaSuccess) {
            fprintf(stderr, "two-model: a signal could not be cleared\n");
            return false;
        }
    }
    return true;
}

extern "C" void exchange_free(void)
{
    if (!ready)
        return;
    nvshmem_free(signals);
    nvshmem_free(arena);
    nvshmem_finalize();
}
