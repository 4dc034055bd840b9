/* runtime/gda/nic.c - the software NIC on the device (gda/softnic/block.h): it serves the queues of
 * this process's ranks to this process. Its doorbells lie in device memory, as those of a NIC lie
 * in the NIC. */
#include "runtime/gda/queues.h"

#include "base/say.h"
#include "gda/softnic/image.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

bool weft_nic_wanted(const struct weft_job *job)
{
    return job->queues != NULL && job->config.gda_nic == WEFT_GDA_NIC_BLOCK &&
           job->space.state.own_queued;
}

weft_status weft_nic_check(const struct weft_job *job)
{
    if (job->config.gda_nic != WEFT_GDA_NIC_BLOCK)
        return WEFT_OK;
    if (!job->device_ops->runs_beside)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_GDA_NIC=block needs a GPU; the device is %s",
                        job->device_ops->name);
    if (job->config.path != WEFT_PATH_QUEUE)
        weft_say(WEFT_SAY_INFO,
                 "WEFT_GDA_NIC=block has nothing to serve: queues to the own process are used with "
                 "WEFT_PATH=queue");
    return WEFT_OK;
}

int weft_nic_blocks(int queues)
{
    const int blocks = (queues + WEFT_NIC_QUEUES - 1) / WEFT_NIC_QUEUES;

    return queues > 0 && blocks < WEFT_BESIDE_BLOCKS ? blocks : WEFT_BESIDE_BLOCKS;
}

bool weft_nic_serves(const struct weft_job *job, int process)
{
    return process == job->numbers.process && weft_nic_wanted(job);
}

/* In device memory: the NIC, its ends of all queues, their doorbells. */
static size_t queues_at(void)
{
    return (sizeof(struct weft_nic) + LINE - 1) / LINE * LINE;
}

static size_t doorbells_at(const struct weft_job *job)
{
    const size_t ends = (size_t)weft_queues_each(job) * sizeof(struct weft_nic_queue);

    return queues_at() + (ends + LINE - 1) / LINE * LINE;
}

uint64_t *weft_nic_doorbell(const struct weft_job *job, uint32_t slot)
{
    unsigned char *const all = job->queues->nic_there + doorbells_at(job);

    return (uint64_t *)(void *)(all + (size_t)(slot - 1) * LINE);
}

weft_status weft_nic_open(struct weft_job *job)
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
        return weft_err(WEFT_ERR_MEMORY, "no memory for a NIC on the device with %zu queues",
                        count);
    memset(queues->nic_report, 0, report);
    return WEFT_OK;
}

void weft_nic_close(struct weft_job *job)
{
    struct weft_queues *queues = job->queues;

    if (queues->nic_there != NULL)
        job->device_ops->free(job->device, queues->nic_there, &queues->nic_share);
    weft_job_host_free(job, queues->nic_report);
    queues->nic_there = NULL;
    queues->nic_report = NULL;
    queues->beside = (struct weft_beside){0};
}

static struct weft_nic_queue make_queue(const struct weft_gda_queue *end, uint64_t *failed)
{
    return (struct weft_nic_queue){.wqe = end->wqe,
                                   .cqe = end->cqe,
                                   .record = end->record,
                                   .doorbell = end->doorbell,
                                   .qpn = end->qpn,
                                   .slots = end->slots,
                                   .fetched = end->posted,
                                   .failed = failed};
}

weft_status weft_nic_connect(struct weft_job *job, const struct weft_gda_queue *ends)
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
        list[k] = make_queue(end, &queues->nic_report->failed[k]);
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

bool weft_nic_failed(const struct weft_job *job, uint32_t slot, uint32_t *syndrome, uint32_t *index)
{
    const struct weft_nic_report *report = job->queues->nic_report;

    if (report == NULL || weft_load_acquire_u32(&report->failures, ORDER_nic_cqe_seen) == 0)
        return false;
    const uint64_t failed = weft_load_relaxed_u64(&report->failed[slot - 1]);
    *syndrome = (uint32_t)failed;
    *index = (uint32_t)(failed >> 32);
    return *syndrome != 0;
}
