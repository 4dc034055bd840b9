/* runtime/gda/queues.c - see the header. */
#include "runtime/gda/queues.h"

#include "base/say.h"
#include "runtime/job/exchange.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 }; /* of a rank: where it fetches to */

/* ---- memory that only the device reaches ----------------------------------------------------- */

static bool far_copy(void *context, void *target, const void *source, size_t bytes)
{
    struct weft_job *job = context;
    const struct weft_device_ops *ops = job->device_ops;
    const bool good = ops->copy(job->device, WEFT_STREAM_SEND, target, source, bytes) == WEFT_OK &&
                      ops->wait(job->device, WEFT_STREAM_SEND) == WEFT_OK;

    if (!good)
        weft_job_cannot(job, WEFT_ERR_DEVICE, "copy %zu bytes for its queues", bytes);
    return good;
}

static bool far_store(void *context, uint32_t *word, uint32_t value)
{
    struct weft_job *job = context;
    const bool good =
        job->device_ops->store(job->device, WEFT_STREAM_SEND, word, value, 0) == WEFT_OK;

    if (!good)
        weft_job_cannot(job, WEFT_ERR_DEVICE, "complete a request of its queues");
    return good;
}

static bool far_update(void *context, void *word, const struct weft_change *change, uint64_t *old)
{
    struct weft_job *job = context;

    *old = job->space.state.update(job->space.state.copy_context, word, change);
    return !weft_job_is_failing(job);
}

/* ---- opening --------------------------------------------------------------------------------- */

weft_status weft_queues_open(struct weft_job *job)
{
    struct weft_state *state = &job->space.state;

    if (job->config.gda == WEFT_GDA_OFF) {
        if (job->config.path != WEFT_PATH_QUEUE)
            return WEFT_OK;
        return weft_err(WEFT_ERR_CONFIG, "WEFT_PATH=queue needs WEFT_GDA=softnic");
    }
    struct weft_queues *queues = job->queues = weft_job_keep(job, 1, sizeof(*queues));
    if (queues == NULL)
        return WEFT_ERR_MEMORY;
    if (!job->device_ops->host_access && state->update == NULL)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_GDA=softnic on a GPU needs WEFT_CUDA_SERVICE");
    WEFT_TRY(weft_nic_check(job));
    queues->peers = weft_job_keep(job, (size_t)job->numbers.processes, sizeof(*queues->peers));
    if (queues->peers == NULL)
        return WEFT_ERR_MEMORY;
    queues->far = (struct weft_softnic_far){
        .copy = far_copy, .store = far_store, .update = far_update, .context = job};
    queues->nic.far = job->device_ops->host_access ? NULL : &queues->far;
    queues->nic.keys = &queues->keys;
    queues->nic.bell = &state->exposed->bell;
    return WEFT_OK;
}

void weft_queues_close(struct weft_job *job)
{
    if (job->queues == NULL)
        return;
    weft_queues_free(job);
    for (int p = 0; job->queues->peers != NULL && p < job->numbers.processes; p++)
        free(job->queues->peers[p].regions);
    job->queues = NULL;
}

uint32_t weft_queues_words(const struct weft_job *job)
{
    return job->queues != NULL ? ((uint32_t)job->numbers.ranks_here + 1) * WEFT_TAGS : 0;
}

/* ---- a prepared kernel ----------------------------------------------------------------------- */

weft_status weft_queues_meet(struct weft_job *job, int ranks)
{
    struct weft_queues *queues = job->queues;
    const size_t slots = (size_t)ranks + 1, n = (size_t)job->numbers.processes;
    struct counts {
        uint64_t address, base, key; /* base: of the region whose key it is */
    } mine = {0};
    struct weft_place place = {0};

    if (queues == NULL)
        return WEFT_OK;
    weft_free(job, queues->counts);
    queues->counts_bytes = slots * (WEFT_TAGS * sizeof(uint64_t) + LINE);
    queues->counts = weft_malloc(job, queues->counts_bytes);
    if (queues->counts == NULL)
        return WEFT_ERR_MEMORY;
    weft_lock(&job->space.tables);
    weft_memory_in_segment(job, queues->counts, queues->counts_bytes, &place);
    weft_unlock(&job->space.tables);
    mine.address = (uint64_t)(uintptr_t)queues->counts;
    mine.base = mine.address - place.segment_offset;
    mine.key = place.key;
    weft_status status;
    WEFT_FREED struct counts *all =
        weft_exchange_all(job, WEFT_EXCHANGE_QUEUES, &mine, sizeof(mine), &status);
    WEFT_TRY(status);
    weft_lock(&job->space.tables);
    for (size_t p = 0; p < n; p++) {
        queues->peers[p].counts = all[p].address;
        queues->peers[p].key = all[p].key;
        weft_queues_region(job, (int)p, all[p].key, all[p].base);
    }
    weft_unlock(&job->space.tables);
    return WEFT_OK;
}

void weft_queues_free(struct weft_job *job)
{
    struct weft_queues *queues = job->queues;

    if (queues == NULL)
        return;
    for (uint32_t i = 0; i < queues->count; i++)
        weft_softnic_close(&queues->list[i]);
    free(queues->list);
    free(queues->wires);
    if (queues->there != NULL)
        job->device_ops->free(job->device, queues->there, &queues->there_share);
    weft_job_host_free(job, queues->host);
    weft_nic_close(job);
    queues->list = NULL;
    queues->wires = NULL;
    queues->there = queues->host = NULL;
    queues->count = 0;
}

void weft_queues_place(struct weft_job *job, weft_self *self)
{
    if (!job->ranks.queues || self->slot == WEFT_HOST_SLOT)
        return;
    self->queues = (struct weft_gda_queue *)(void *)job->queues->there +
                   (size_t)(self->slot - 1) * (size_t)job->numbers.processes;
}

/* ---- a run ----------------------------------------------------------------------------------- */

weft_status weft_queues_reset(struct weft_job *job)
{
    struct weft_queues *queues = job->queues;

    if (queues == NULL)
        return WEFT_OK;
    WEFT_FREED unsigned char *zero = calloc(1, queues->counts_bytes);
    if (zero == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no %zu bytes", queues->counts_bytes);
    WEFT_TRY(weft_job_copy(job, queues->counts, zero, queues->counts_bytes));
    weft_queues_own_keys(job, &queues->keys);
    return weft_job_copy(job, (void *)(uintptr_t)job->space.state.nic_keys, &queues->keys,
                         sizeof(queues->keys));
}

bool weft_queues_quiet(const struct weft_job *job)
{
    const struct weft_queues *queues = job->queues;

    for (uint32_t i = 0; queues != NULL && i < queues->count; i++) {
        const struct weft_softnic_queue *queue = &queues->list[i];
        if (queue->works == NULL)
            continue; /* the device's NIC ends with the kernel, when nothing is left to do */
        const uint64_t rung = weft_load_relaxed_u64(queue->doorbell);
        if (__atomic_load_n(&queue->quiet_at, __ATOMIC_ACQUIRE) != rung)
            return false;
    }
    return true;
}
