/* runtime/gda/queues.c - see the header. */
#include "runtime/gda/queues.h"

#include "base/say.h"
#include "runtime/job/exchange.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 }; /* doorbells and records lie so far apart */

bool weft_queues_wanted(const struct weft_job *job)
{
    return job->config.gda == WEFT_GDA_SOFTNIC;
}

/* ---- memory that only the device reaches ------------------------------------------------------
 */

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
    const bool good = job->device_ops->store(job->device, WEFT_STREAM_SEND, word, value) == WEFT_OK;

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
    const bool power = (job->config.gda_depth & (job->config.gda_depth - 1)) == 0;

    if (job->config.path == WEFT_PATH_QUEUE && !weft_queues_wanted(job))
        return weft_err(WEFT_ERR_CONFIG, "WEFT_PATH=queue needs WEFT_GDA=softnic, which is %s",
                        weft_config_word(WEFT_CONFIG_AT_GDA, job->config.gda).text);
    if (!weft_queues_wanted(job))
        return WEFT_OK;
    struct weft_queues *queues = calloc(1, sizeof(*queues));
    if (queues == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for queues");
    job->queues = queues;
    if (!power || !weft_softnic_fault_parse(job->config.softnic_fault, &queues->nic.fault))
        return weft_err(WEFT_ERR_CONFIG,
                        "WEFT_GDA_DEPTH=%d must be a power of two, and WEFT_SOFTNIC_FAULT=%s be "
                        "SYNDROME@N or hold:MS",
                        (int)job->config.gda_depth, job->config.softnic_fault);
    if (!job->device_ops->host_access && state->update == NULL)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_GDA=softnic on a GPU needs WEFT_CUDA_SERVICE");
    const weft_status checked = weft_nic_check(job);
    if (checked != WEFT_OK)
        return checked;
    queues->peers = calloc((size_t)job->numbers.processes, sizeof(*queues->peers));
    if (queues->peers == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for queues to %d processes",
                        job->numbers.processes);
    queues->far = (struct weft_softnic_far){far_copy, far_store, far_update, job};
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
    free(job->queues->peers);
    free(job->queues);
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
        uint64_t address, key;
    } mine = {0}, *all;
    struct weft_place place = {0};

    if (queues == NULL)
        return WEFT_OK;
    weft_free(job, queues->counts);
    queues->counts_bytes = slots * (WEFT_TAGS * sizeof(uint64_t) + LINE);
    queues->counts = weft_malloc(job, queues->counts_bytes);
    all = calloc(n, sizeof(*all));
    if (queues->counts == NULL || all == NULL) {
        free(all);
        return WEFT_ERR_MEMORY;
    }
    weft_lock(&job->space.tables);
    weft_memory_in_segment(job, queues->counts, queues->counts_bytes, &place);
    weft_unlock(&job->space.tables);
    mine = (struct counts){(uint64_t)(uintptr_t)queues->counts, place.key};
    const weft_status status = weft_exchange(job, WEFT_EXCHANGE_QUEUES, &mine, sizeof(mine), all);
    weft_lock(&job->space.tables);
    for (size_t p = 0; status == WEFT_OK && p < n; p++) {
        queues->peers[p].counts = all[p].address;
        queues->peers[p].key = all[p].key;
        weft_queues_region(job, (int)p, all[p].key, all[p].address);
    }
    weft_unlock(&job->space.tables);
    free(all);
    return status;
}

/* Where things lie: [0] in device memory, [1] in the host's. */
struct places {
    size_t keys;           /* in device memory, behind the ranks' ends */
    size_t slots, cqes;    /* bytes of a queue's */
    int slots_in, cqes_in; /* 0: device memory; 1: the host's */
    size_t all[2];         /* bytes */
    unsigned char *next[2];
};

static struct places lay_out(const struct weft_job *job, size_t count)
{
    const bool ring = job->config.gda_cq == WEFT_GDA_CQ_RING;
    const size_t depth = (size_t)job->config.gda_depth;
    struct places at = {.keys = count * sizeof(struct weft_gda_queue),
                        .slots = LINE + depth * WEFT_MLX5_SLOT, /* the record first */
                        .cqes = (ring ? depth : 1) * WEFT_MLX5_CQE_BYTES,
                        .slots_in = (job->config.gda_place & 2) == 0,
                        .cqes_in = (job->config.gda_place & 1) == 0};

    at.all[0] = (at.keys + sizeof(struct weft_gda_keys) + LINE - 1) / LINE * LINE;
    at.all[1] = count * LINE; /* doorbells */
    at.all[at.slots_in] += count * at.slots;
    at.all[at.cqes_in] += count * at.cqes;
    return at;
}

static unsigned char *take_next(struct places *at, int in, size_t bytes)
{
    unsigned char *const taken = at->next[in];

    at->next[in] += bytes;
    return taken;
}

/* A rank's end of a queue to a process. */
static struct weft_gda_queue make_end(const struct weft_job *job, struct places *at, uint32_t i,
                                      uint32_t slot, int process)
{
    const struct weft_queues *queues = job->queues;
    const uint64_t start = (uint64_t)job->config.counter_start << 32 | job->config.counter_start;
    const uint64_t sinks = (uint64_t)(uintptr_t)queues->counts + queues->counts_bytes -
                           (uint64_t)job->numbers.ranks_here * LINE;
    unsigned char *const record = take_next(at, at->slots_in, at->slots);
    const bool own = process == job->numbers.process;

    return (struct weft_gda_queue){
        .wqe = (uint64_t *)(void *)(record + LINE),
        .cqe = take_next(at, at->cqes_in, at->cqes),
        .record = (uint32_t *)(void *)record,
        .doorbell = weft_nic_serves(job, process)
                        ? weft_nic_doorbell(job, slot)
                        : (uint64_t *)(void *)(queues->host + (size_t)i * LINE),
        .sink = sinks + (uint64_t)(slot - 1) * LINE,
        .counts = queues->peers[process].counts,
        .sink_lkey = WEFT_QUEUES_LKEY,
        .counts_rkey = own ? WEFT_QUEUES_LKEY : weft_gda_rkey(queues->peers[process].key),
        .qpn = 1 + i,
        .slots = (uint32_t)job->config.gda_depth,
        .cq_slots = (uint32_t)(at->cqes / WEFT_MLX5_CQE_BYTES),
        .posted = start,
        .rung = start,
        .done = start,
        .asked = start};
}

/* And the NIC's. False: no memory. */
static bool make_nic_end(struct weft_job *job, const struct places *at, uint32_t i, uint32_t slot,
                         int process, const struct weft_gda_queue *end)
{
    struct weft_queues *queues = job->queues;
    const bool own = process == job->numbers.process, far = !job->device_ops->host_access;

    if (weft_nic_serves(job, process))
        return true;
    *end->doorbell = weft_mlx5_doorbell(end->posted, end->qpn);
    queues->wires[i].job = job;
    queues->list[i] =
        (struct weft_softnic_queue){.nic = &queues->nic,
                                    .wire = own ? &weft_softnic_loop : &weft_queues_wire,
                                    .context = &queues->wires[i],
                                    .process = process,
                                    .slot = slot,
                                    .wqe = (unsigned char *)end->wqe,
                                    .cqe = end->cqe,
                                    .record = end->record,
                                    .doorbell = end->doorbell,
                                    .qpn = end->qpn,
                                    .slots = end->slots,
                                    .cq_slots = end->cq_slots,
                                    .wqe_far = far && at->slots_in == 0,
                                    .cqe_far = far && at->cqes_in == 0};
    return weft_softnic_open(&queues->list[i], end->posted);
}

/* Before the first request: a record that says so, and completions that are none. */
static weft_status clear_queue(struct weft_job *job, const struct weft_gda_queue *end)
{
    const size_t bytes = end->cq_slots * (size_t)WEFT_MLX5_CQE_BYTES;
    const uint32_t next = weft_be32((uint32_t)(end->posted & 0xffff));
    unsigned char *none = malloc(bytes);

    if (none == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a queue of %u slots", end->slots);
    memset(none, 0xff, bytes);
    weft_status status = weft_job_copy(job, end->cqe, none, bytes);
    if (status == WEFT_OK)
        status = weft_job_copy(job, &end->record[1], &next, sizeof(next));
    free(none);
    return status;
}

/* All queues, each with its two ends. */
static weft_status make_queues(struct weft_job *job, struct places *at, struct weft_gda_queue *ends,
                               uint32_t count)
{
    const int processes = job->numbers.processes;

    for (uint32_t i = 0; i < count; i++) {
        const int process = (int)i % processes;
        const uint32_t slot = 1 + i / (uint32_t)processes;
        ends[i] = make_end(job, at, i, slot, process);
        job->queues->count = i + 1;
        if (!make_nic_end(job, at, i, slot, process, &ends[i]))
            return weft_err(WEFT_ERR_MEMORY, "no memory for queue %u of %u", i, count);
        const weft_status status = clear_queue(job, &ends[i]);
        if (status != WEFT_OK)
            return status;
    }
    return weft_job_copy(job, job->queues->there, ends, count * sizeof(*ends));
}

weft_status weft_queues_make(struct weft_job *job)
{
    struct weft_queues *queues = job->queues;
    struct weft_state *state = &job->space.state;

    if (queues == NULL)
        return WEFT_OK;
    const uint32_t count = (uint32_t)(job->numbers.ranks_here * job->numbers.processes);
    struct places at = lay_out(job, count);
    struct weft_gda_queue *ends = calloc(count, sizeof(*ends));
    queues->list = calloc(count, sizeof(*queues->list));
    queues->wires = calloc(count, sizeof(*queues->wires));
    queues->there = job->device_ops->alloc(job->device, at.all[0], &queues->there_share);
    queues->host = job->device_ops->host_alloc(job->device, at.all[1]);
    weft_status status = WEFT_ERR_MEMORY;
    if (ends == NULL || queues->list == NULL || queues->wires == NULL || queues->there == NULL ||
        queues->host == NULL) {
        weft_err(status, "no memory for %u queues", count);
    } else {
        at.next[0] = queues->there + at.all[0] - (at.slots_in == 0 ? count * at.slots : 0) -
                     (at.cqes_in == 0 ? count * at.cqes : 0);
        at.next[1] = queues->host + (size_t)count * LINE;
        state->nic_keys = (struct weft_gda_keys *)(void *)(queues->there + at.keys);
        state->nic = (uint64_t *)(void *)queues->counts;
        state->nic_counts = job->device_ops->host_access ? weft_queues_words(job) : 0;
        status = weft_nic_open(job);
        if (status == WEFT_OK)
            status = make_queues(job, &at, ends, count);
        if (status == WEFT_OK && weft_nic_wanted(job))
            status = weft_nic_connect(job, ends);
    }
    free(ends);
    return status;
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
    if (job->queues == NULL || self->slot == WEFT_HOST_SLOT)
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
    unsigned char *zero = calloc(1, queues->counts_bytes);
    if (zero == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no %zu bytes", queues->counts_bytes);
    weft_status status = weft_job_copy(job, queues->counts, zero, queues->counts_bytes);
    free(zero);
    weft_queues_own_keys(job, &queues->keys);
    if (status == WEFT_OK)
        status = weft_job_copy(job, (void *)(uintptr_t)job->space.state.nic_keys, &queues->keys,
                               sizeof(queues->keys));
    return status;
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

uint32_t weft_queues_counted(const struct weft_job *job, uint32_t index)
{
    if (job->queues == NULL || !job->device_ops->host_access ||
        index >= job->space.state.nic_counts)
        return 0;
    return (uint32_t)weft_load_relaxed_u64(&job->space.state.nic[index]);
}
