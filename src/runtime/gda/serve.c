/* runtime/gda/serve.c - the progress task's part: rounds of the software NIC. */
#include "runtime/gda/queues.h"

#include "base/task.h"

#include <stdio.h>

/* A rank that polls says itself what failed; so long the host leaves it to say so. */
static const uint64_t RANK_SAYS_NS = 100000000;

/* The rank may wait for something else, or others for what it sends. */
static void queue_failed(struct weft_job *job, uint32_t i, uint32_t syndrome, uint32_t index)
{
    const uint32_t processes = (uint32_t)job->numbers.processes;
    const bool shared = weft_queues_each(job) < job->numbers.ranks_here;

    if (job->queues->failed_since == 0)
        job->queues->failed_since = weft_now_ns();
    if (weft_now_ns() - job->queues->failed_since < RANK_SAYS_NS)
        return;
    weft_job_fail(job, weft_gda_status(syndrome),
                  "%s: queue %u to process %u: the request at index %u failed with syndrome 0x%x",
                  shared ? "ranks that share it" : weft_slot_name(job, 1 + i / processes).text,
                  1 + i, i % processes, index, syndrome);
}

static bool queues_round(struct weft_job *job)
{
    struct weft_queues *queues = job->queues;
    bool did = false;

    if (queues == NULL || weft_mutation == DRAIN_commands)
        return false;
    for (uint32_t i = 0; i < queues->count; i++) {
        struct weft_softnic_queue *const queue = &queues->list[i];
        uint32_t syndrome = 0, index = 0;
        if (queue->works != NULL) {
            did |= weft_softnic_round(queue);
            syndrome = queue->broken;
            index = queue->failed;
        } else {
            weft_nic_failed(job, 1 + i / (uint32_t)job->numbers.processes, &syndrome, &index);
        }
        if (syndrome != 0) {
            queue_failed(job, i, syndrome, index);
            did = true;
        }
    }
    return did;
}

static void queues_wait_for(const struct weft_job *job, const struct weft_wait_seen *wait,
                            char *text, size_t bytes)
{
    (void)job;
    snprintf(text, bytes, "for %sits queue to process %llu: %llu slots are under way",
             wait->need != 0 ? "room in " : "", wait->a, wait->have);
}

const struct weft_service weft_queues_service = {
    .close = weft_queues_close,
    .round = {[WEFT_NET_SEND] = queues_round},
    .owns[WEFT_OWNS_WAITS] = WEFT_KIND(WEFT_WAIT_QUEUE),
    .waits_for = queues_wait_for,
};
