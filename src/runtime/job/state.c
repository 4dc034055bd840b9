/*
 * runtime/job/state.c - what the host program and the ranks of a process see of it, as far as it
 * does not depend on the kernel: counters, tables, lists, and the host program's own rank. Opening
 * and closing thread only.
 */
#include "runtime/job/job.h"

#include "abi/errand.h"
#include "base/say.h"
#include "runtime/service/ask.h"
#include "runtime/space/image.h"
#include "runtime/space/tables.h"

#include <stdlib.h>

enum {
    EAGER_ON_GPUS = WEFT_EAGER_MOST, /* bytes of WEFT_EAGER by default; measured on an H200 */
    INLINE_HERE = 224, /* bytes of WEFT_INLINE by default, where the network reads sources itself */
    INLINE_ELSE = WEFT_INLINE_MOST /* where the host fetches sources first; measured on an H200 */
};

struct weft_kept {
    struct weft_kept *next;
    max_align_t memory[];
};

void *weft_job_keep(struct weft_job *job, size_t count, size_t bytes)
{
    struct weft_kept *kept = calloc(1, sizeof(*kept) + count * bytes);

    if (kept == NULL) {
        weft_err(WEFT_ERR_MEMORY, "no memory for %zu times %zu bytes of a job", count, bytes);
        return NULL;
    }
    kept->next = job->kept;
    job->kept = kept;
    return kept->memory;
}

void weft_job_free_kept(struct weft_job *job)
{
    while (job->kept != NULL) {
        struct weft_kept *next = job->kept->next;
        free(job->kept);
        job->kept = next;
    }
}

/* Moves data of the host program's puts that only the device and its driver reach. */
static void copy_by_device(void *context, void *target, const void *source, size_t bytes)
{
    struct weft_job *job = context;

    if (weft_job_copy(job, target, source, bytes) != WEFT_OK)
        weft_job_cannot(job, WEFT_ERR_DEVICE, "put %zu bytes", bytes);
}

/* Updates such a word for the host program: by the device, as ranks do. */
static uint64_t update_by_device(void *context, void *address, const struct weft_change *change)
{
    struct weft_job *job = context;
    struct weft_errand errand = {.kind = WEFT_ERRAND_UPDATE,
                                 .how = (uint8_t)change->how,
                                 .type = (uint8_t)change->type,
                                 .bytes = (uint8_t)weft_type_bytes(change->type),
                                 .address = (uint64_t)(uintptr_t)address,
                                 .data = {change->value, change->expected}};

    const bool good =
        weft_element_is_half(change->type)
            ? weft_answer_halves(job, address, *change, (const void *)&change->value, 2)
            : job->device_ops->serve(job->device, &errand, 1) == WEFT_OK;
    if (!good)
        weft_job_cannot(job, WEFT_ERR_DEVICE, "update device memory");
    return errand.data[0];
}

/* Between processes only: ranks of one process share their counters, which is as fast. */
static void plan_channels(struct weft_job *job, size_t counters)
{
    struct weft_state *state = &job->space.state;

    if (job->config.eager >= 0)
        state->eager_bytes = (uint32_t)job->config.eager;
    else
        state->eager_bytes = job->device_ops->host_access ? 0 : EAGER_ON_GPUS;
    if (state->processes > 1 && state->eager_bytes > 0)
        state->channels = (uint32_t)job->config.channels;
    state->eager_after = (uint32_t)job->config.eager_after;
    state->channel_start = (uint32_t)job->config.counter_start;
    state->channels_at = sizeof(struct weft_exposed) + counters * sizeof(struct weft_counter);
    state->channels_at = (state->channels_at + 63) / 64 * 64;
}

size_t weft_exposed_bytes(const struct weft_state *state, size_t counters, bool of_ranks)
{
    return of_ranks ? state->channels_at + weft_channels_bytes(WEFT_SLOTS, state->channels)
                    : sizeof(struct weft_exposed) + counters * sizeof(struct weft_counter);
}

weft_status weft_state_open(struct weft_job *job)
{
    struct weft_state *state = &job->space.state;
    void *exposed;

    state->process = job->numbers.process;
    state->processes = job->numbers.processes;
    state->windows_count = 2 * (uint32_t)job->config.windows + 1; /* space/tables.h */
    state->comms_count = 2 * (uint32_t)job->config.comms + 1;
    state->windows = weft_job_keep(job, state->windows_count, sizeof(*state->windows));
    state->comms = weft_job_keep(job, state->comms_count, sizeof(*state->comms));
    const size_t counters = weft_space_counters(&job->space);
    plan_channels(job, counters);
    WEFT_TRY(weft_share_create(weft_exposed_bytes(state, counters, job->device_ops->host_access),
                               &exposed, &job->space.exposed_share));
    state->exposed = exposed;
    state->signals = job->device_ops->host_alloc(job->device, sizeof(*state->signals));
    state->process_table =
        weft_job_keep(job, (size_t)state->processes, sizeof(*state->process_table));
    state->inline_bytes = job->config.inline_bytes >= 0  ? (uint32_t)job->config.inline_bytes
                          : job->device_ops->host_access ? INLINE_HERE
                                                         : INLINE_ELSE;
    state->intervals_most = (uint32_t)job->config.timer_intervals;
    state->intervals =
        job->device_ops->host_alloc(job->device, state->intervals_most * sizeof(*state->intervals));
    if (!job->device_ops->host_access) {
        state->hosts_apart = 1;
        state->copy = copy_by_device;
        if (job->config.cuda_service != WEFT_CUDA_SERVICE_OFF)
            state->update = update_by_device;
        state->copy_context = job;
    }
    job->ranks.selves = weft_job_keep(job, WEFT_SLOTS, sizeof(weft_self *));
    job->proxy.of_ranks = weft_job_keep(job, WEFT_SLOTS, sizeof(*job->proxy.of_ranks));
    if (state->windows == NULL || state->comms == NULL || state->signals == NULL ||
        state->process_table == NULL || state->intervals == NULL || job->ranks.selves == NULL ||
        job->proxy.of_ranks == NULL)
        return WEFT_ERR_MEMORY;

    const uint32_t start = (uint32_t)job->config.counter_start;
    for (size_t i = 0; start != 0 && i < counters; i++)
        state->exposed->counters[i].local = state->exposed->counters[i].peer = start;
    state->start_here = state->start_others = start; /* host words start at 0 */
    WEFT_TRY(weft_image_open(job));
    weft_delivery_open(job);
    return WEFT_OK;
}

weft_status weft_state_open_host(struct weft_job *job)
{
    const int n = job->numbers.processes;
    WEFT_FREED struct weft_member *members = calloc((size_t)n, sizeof(*members));
    weft_comm comm;

    if (members == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %d processes", n);
    for (int p = 0; p < n; p++)
        members[p] = (struct weft_member){p, WEFT_HOST_SLOT};
    WEFT_TRY(weft_comm_make(&job->space.state, WEFT_COMM_HOST, false, members, n, &comm));
    job->ranks.host_rings = job->device_ops->host_alloc(job->device, weft_rank_bytes(job));
    weft_self *self = weft_job_keep(job, 1, sizeof(*self));
    if (job->ranks.host_rings == NULL || self == NULL)
        return WEFT_ERR_MEMORY;
    weft_rank_make(job, WEFT_HOST_SLOT, self, job->ranks.host_rings);
    self->port.lock = job->threads ? &job->host_lock : NULL;
    __atomic_store_n(&job->ranks.slots, 1, __ATOMIC_RELEASE);
    return WEFT_OK;
}

void weft_state_close(struct weft_job *job)
{
    struct weft_state *state = &job->space.state;

    weft_ranks_free(job);
    for (int p = 0; state->process_table != NULL && p < job->numbers.processes; p++)
        if (state->process_table[p].exposed != NULL)
            weft_share_unmap(state->process_table[p].exposed, &job->processes[p].exposed_share,
                             job->one_address_space);
    weft_image_close(job);
    weft_job_host_free(job, state->signals);
    weft_job_host_free(job, state->intervals);
    weft_job_host_free(job, job->ranks.host_rings);
    if (state->exposed != NULL)
        weft_share_destroy(state->exposed, &job->space.exposed_share);
    weft_tables_close(state);
}
