/* runtime/gda/make.c - the queues of a prepared kernel, and a NIC on the device for some of them:
 * where all of their parts lie. See queues.h. Runs in the program's thread, while no service does.
 */
#include "runtime/gda/queues.h"

#include "base/say.h"
#include "gda/shared.h"
#include "gda/softnic/image.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINE = 64,  /* bytes between doorbells, and between records */
    MOST = 4096 /* queues of a process by default, at most */
};

int weft_queues_each(const struct weft_job *job)
{
    const int ranks = job->numbers.ranks_here, processes = job->numbers.processes;
    const int room = MOST / processes > 0 ? MOST / processes : 1;
    const int wish = job->config.gda_queues > 0 ? (int)job->config.gda_queues : room;

    return wish < ranks ? wish : ranks;
}

/* ---- the software NIC on the device (gda/softnic/block.h) -------------------------------------
 */

/* The NIC serves the queues of this process's ranks to this process. Its doorbells lie in device
 * memory, as those of a NIC lie in the NIC. */

bool weft_nic_wanted(const struct weft_job *job)
{
    return job->queues != NULL && job->config.gda_nic == WEFT_GDA_NIC_BLOCK &&
           job->space.state.own_queued;
}

int weft_nic_blocks(int queues)
{
    const int blocks = (queues + WEFT_NIC_QUEUES - 1) / WEFT_NIC_QUEUES;

    return queues > 0 && blocks < WEFT_BESIDE_BLOCKS ? blocks : WEFT_BESIDE_BLOCKS;
}

static bool nic_serves(const struct weft_job *job, int process)
{
    return process == job->numbers.process && weft_nic_wanted(job);
}

/* Offset of the NIC's ends in device memory: the NIC comes before them, their doorbells behind. */
static size_t queues_at(void)
{
    return (sizeof(struct weft_nic) + LINE - 1) / LINE * LINE;
}

static size_t doorbells_at(const struct weft_job *job)
{
    const size_t ends = (size_t)weft_queues_each(job) * sizeof(struct weft_nic_queue);

    return queues_at() + (ends + LINE - 1) / LINE * LINE;
}

static uint64_t *nic_doorbell(const struct weft_job *job, uint32_t slot)
{
    unsigned char *const all = job->queues->nic_there + doorbells_at(job);

    return (uint64_t *)(void *)(all + (size_t)(slot - 1) * LINE);
}

static weft_status nic_open(struct weft_job *job)
{
    struct weft_queues *queues = job->queues;
    const size_t count = (size_t)weft_queues_each(job);
    const size_t report = sizeof(*queues->nic_report) + count * sizeof(uint64_t);

    if (!weft_nic_wanted(job))
        return WEFT_OK;
    queues->nic_there =
        job->device_ops->alloc(job->device, doorbells_at(job) + count * LINE, &queues->nic_share);
    queues->nic_report = job->device_ops->host_alloc(job->device, report);
    if (queues->nic_there == NULL || queues->nic_report == NULL)
        return WEFT_ERR_MEMORY;
    memset(queues->nic_report, 0, report);
    return WEFT_OK;
}

static void nic_close(struct weft_job *job)
{
    struct weft_queues *queues = job->queues;

    if (queues->nic_there != NULL)
        job->device_ops->free(job->device, queues->nic_there, &queues->nic_share);
    weft_job_host_free(job, queues->nic_report);
    queues->nic_there = NULL;
    queues->nic_report = NULL;
    queues->beside = (struct weft_beside){0};
}

static weft_status nic_connect(struct weft_job *job, const struct weft_gda_queue *ends)
{
    struct weft_queues *queues = job->queues;
    const int count = weft_queues_each(job);
    const int blocks = weft_nic_blocks(count);
    WEFT_FREED struct weft_nic_queue *list = calloc((size_t)count, sizeof(*list));
    unsigned char *const list_there = queues->nic_there + queues_at();
    const struct weft_nic nic = {.queues = (struct weft_nic_queue *)(void *)list_there,
                                 .keys = job->space.state.nic_keys,
                                 .report = queues->nic_report,
                                 .count = (uint64_t)count};

    if (list == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %d queues", count);
    for (int k = 0; k < count; k++) {
        const struct weft_gda_queue *end = &ends[k * job->numbers.processes + job->numbers.process];
        const uint64_t rung = weft_mlx5_doorbell(end->posted, end->qpn);
        list[k] = (struct weft_nic_queue){.wqe = end->wqe,
                                          .cqe = end->cqe,
                                          .record = end->record,
                                          .doorbell = end->doorbell,
                                          .qpn = end->qpn,
                                          .slots = end->slots,
                                          .fetched = end->posted,
                                          .failed = &queues->nic_report->failed[k]};
        WEFT_TRY(weft_job_copy(job, end->doorbell, &rung, sizeof(rung)));
    }
    WEFT_TRY(weft_job_copy(job, list_there, list, (size_t)count * sizeof(*list)));
    WEFT_TRY(weft_job_copy(job, queues->nic_there, &nic, sizeof(nic)));
    queues->beside = (struct weft_beside){.image = weft_nic_image,
                                          .name = "weft_nic_block",
                                          .argument = queues->nic_there,
                                          .blocks = blocks};
    weft_say(WEFT_SAY_INFO,
             "own process: by queues of each rank, softnic in %d block%s of the device for %d "
             "queue%s, SQ and CQ %s; a software NIC, no hardware",
             queues->beside.blocks, blocks > 1 ? "s" : "", count, count > 1 ? "s" : "",
             weft_config_word(WEFT_CONFIG_AT_GDA_PLACE, job->config.gda_place).text);
    return WEFT_OK;
}

/* ---- queues and their ends ------------------------------------------------------------------ */

/* Where things lie: [0] is device memory, [1] the host's. */
struct places {
    size_t keys, shared;    /* offsets in device memory of the ranks' keys and of the shared ends */
    size_t slots;           /* bytes of a queue's slots and its record */
    int slots_in, cqes_in;  /* memory of the slots, and of the completions: index of `all` */
    bool are_shared;        /* ranks share queues */
    size_t all[2];          /* bytes in all */
    unsigned char *next[2]; /* first byte that is free */
};

/* Lays out memory. ends: of ranks; count: queues. */
static struct places lay_out(const struct weft_job *job, size_t ends, size_t count)
{
    const size_t depth = (size_t)job->config.gda_depth;
    struct places at = {.keys = ends * sizeof(struct weft_gda_queue),
                        .slots = LINE + depth * WEFT_MLX5_SLOT, /* the record first */
                        .slots_in = (job->config.gda_place & 2) == 0,
                        .cqes_in = (job->config.gda_place & 1) == 0};

    at.are_shared = ends != count;
    at.shared = (at.keys + sizeof(struct weft_gda_keys) + LINE - 1) / LINE * LINE;
    at.all[0] = at.shared + (at.are_shared ? count * sizeof(struct weft_gda_shared) : 0);
    at.all[1] = count * LINE; /* doorbells */
    at.all[at.slots_in] += count * at.slots;
    at.all[at.cqes_in] += count * WEFT_MLX5_CQE_BYTES;
    return at;
}

static unsigned char *take_next(struct places *at, int in, size_t bytes)
{
    unsigned char *const taken = at->next[in];

    at->next[in] += bytes;
    return taken;
}

/* Address to which a rank fetches. */
static uint64_t sink_of(const struct weft_job *job, uint32_t slot)
{
    const struct weft_queues *queues = job->queues;
    const uint64_t behind = ((uint64_t)job->numbers.ranks_here - (slot - 1)) * LINE;

    return (uint64_t)(uintptr_t)queues->counts + queues->counts_bytes - behind;
}

/* Makes a queue to a process as the rank in `slot` has it, the first one that does. */
static struct weft_gda_queue make_end(const struct weft_job *job, struct places *at, uint32_t i,
                                      uint32_t slot, int process)
{
    const struct weft_queues *queues = job->queues;
    const uint64_t start = (uint64_t)job->config.counter_start << 32 | job->config.counter_start;
    unsigned char *const record = take_next(at, at->slots_in, at->slots);
    const bool own = process == job->numbers.process;

    return (struct weft_gda_queue){
        .wqe = (uint64_t *)(void *)(record + LINE),
        .cqe = take_next(at, at->cqes_in, WEFT_MLX5_CQE_BYTES),
        .record = (uint32_t *)(void *)record,
        .doorbell = nic_serves(job, process)
                        ? nic_doorbell(job, slot)
                        : (uint64_t *)(void *)(queues->host + (size_t)i * LINE),
        .sink = sink_of(job, slot),
        .counts = queues->peers[process].counts,
        .sink_lkey = WEFT_QUEUES_LKEY,
        .counts_rkey = own ? WEFT_QUEUES_LKEY : weft_gda_rkey(queues->peers[process].key),
        .qpn = 1 + i,
        .shared = at->are_shared
                      ? (struct weft_gda_shared *)(void *)(queues->there + at->shared) + i
                      : NULL,
        .slots = (uint32_t)job->config.gda_depth,
        .posted = start,
        .next_done = start,
        .rung = start,
        .done = start,
        .asked = start};
}

/* Makes the NIC's end of a queue. False: no memory. */
static bool make_nic_end(struct weft_job *job, const struct places *at, uint32_t i, uint32_t slot,
                         int process, const struct weft_gda_queue *end)
{
    struct weft_queues *queues = job->queues;
    const bool own = process == job->numbers.process, far = !job->device_ops->host_access;

    if (nic_serves(job, process))
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
                                    .wqe_far = far && at->slots_in == 0,
                                    .cqe_far = far && at->cqes_in == 0};
    return weft_softnic_open(&queues->list[i], end->posted);
}

/* Clears a queue before its first request: its record says so, and there is no completion. */
static weft_status clear_queue(struct weft_job *job, const struct weft_gda_queue *end)
{
    const uint32_t next = weft_be32((uint32_t)(end->posted & 0xffff));
    unsigned char none[WEFT_MLX5_CQE_BYTES];

    memset(none, 0xff, sizeof(none));
    WEFT_TRY(weft_job_copy(job, end->cqe, none, sizeof(none)));
    return weft_job_copy(job, &end->record[1], &next, sizeof(next));
}

/* Makes what ranks share of their queues. */
static weft_status share_queues(struct weft_job *job, const struct places *at,
                                const struct weft_gda_queue *queues, uint32_t count)
{
    WEFT_FREED struct weft_gda_shared *list = calloc(count, sizeof(*list));

    if (list == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %u queues that ranks share", count);
    for (uint32_t i = 0; i < count; i++)
        list[i] = (struct weft_gda_shared){.ready = queues[i].posted,
                                           .done = queues[i].posted,
                                           .rung = queues[i].posted,
                                           .reserved = (uint32_t)queues[i].posted};
    weft_say(WEFT_SAY_INFO, "%u queues to each process, shared by %d ranks",
             count / (uint32_t)job->numbers.processes, job->numbers.ranks_here);
    return weft_job_copy(job, job->queues->there + at->shared, list, count * sizeof(*list));
}

/* Makes all queues, each with the NIC's end, and those of ranks, of which there may be more. */
static weft_status make_queues(struct weft_job *job, struct places *at, struct weft_gda_queue *ends,
                               uint32_t ends_count, uint32_t count)
{
    const int processes = job->numbers.processes;

    for (uint32_t i = 0; i < count; i++) {
        const int process = (int)i % processes;
        const uint32_t slot = 1 + i / (uint32_t)processes;
        ends[i] = make_end(job, at, i, slot, process);
        job->queues->count = i + 1;
        if (!make_nic_end(job, at, i, slot, process, &ends[i]))
            return weft_err(WEFT_ERR_MEMORY, "no memory for queue %u of %u", i, count);
        WEFT_TRY(clear_queue(job, &ends[i]));
    }
    for (uint32_t i = count; i < ends_count; i++) {
        ends[i] = ends[i % count];
        ends[i].sink = sink_of(job, 1 + i / (uint32_t)processes);
    }
    if (at->are_shared)
        WEFT_TRY(share_queues(job, at, ends, count));
    return weft_job_copy(job, job->queues->there, ends, ends_count * sizeof(*ends));
}

weft_status weft_queues_make(struct weft_job *job)
{
    struct weft_queues *queues = job->queues;
    struct weft_state *state = &job->space.state;

    if (queues == NULL)
        return WEFT_OK;
    const int processes = job->numbers.processes;
    const uint32_t ends_count = (uint32_t)(job->numbers.ranks_here * processes);
    const uint32_t count = (uint32_t)(weft_queues_each(job) * processes);
    struct places at = lay_out(job, ends_count, count);
    WEFT_FREED struct weft_gda_queue *ends = calloc(ends_count, sizeof(*ends));
    queues->list = calloc(count, sizeof(*queues->list));
    queues->wires = calloc(count, sizeof(*queues->wires));
    queues->there = job->device_ops->alloc(job->device, at.all[0], &queues->there_share);
    queues->host = job->device_ops->host_alloc(job->device, at.all[1]);
    if (ends == NULL || queues->list == NULL || queues->wires == NULL || queues->there == NULL ||
        queues->host == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %u queues", count);
    at.next[0] = queues->there + at.all[0] - (at.slots_in == 0 ? count * at.slots : 0) -
                 (at.cqes_in == 0 ? count * WEFT_MLX5_CQE_BYTES : 0);
    at.next[1] = queues->host + (size_t)count * LINE;
    state->nic_keys = (struct weft_gda_keys *)(void *)(queues->there + at.keys);
    state->nic = (uint64_t *)(void *)queues->counts;
    state->nic_counts = job->device_ops->host_access ? weft_queues_words(job) : 0;
    WEFT_TRY(nic_open(job));
    WEFT_TRY(make_queues(job, &at, ends, ends_count, count));
    return weft_nic_wanted(job) ? nic_connect(job, ends) : WEFT_OK;
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
    nic_close(job);
    queues->list = NULL;
    queues->wires = NULL;
    queues->there = queues->host = NULL;
    queues->count = 0;
}
