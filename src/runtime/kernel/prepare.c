/*
 * runtime/kernel/prepare.c - preparing a kernel: all processes agree on it and on their ranks. Runs
 * in the program's thread; the job owns the ranks.
 */
#include "runtime/job/job.h"

#include "abi/coll.h"
#include "base/say.h"
#include "runtime/gda/queues.h"
#include "runtime/job/exchange.h"
#include "runtime/space/image.h"
#include "runtime/space/tables.h"
#include "runtime/trace/timeline.h"

#include <stdlib.h>
#include <string.h>

/* What a process brings to weft_prepare. */
struct brought {
    int32_t ranks;   /* -1: it cannot */
    int32_t queues;  /* whether its ranks can drive some: on GPUs the kernel's file says so */
    char kernel[56]; /* its name, or the beginning of it */
};

static weft_status check_kernels(const struct weft_job *job, const struct brought *all)
{
    for (int p = 1; p < job->numbers.processes; p++)
        if (memcmp(all[p].kernel, all[0].kernel, sizeof(all[p].kernel)) != 0)
            return weft_err(
                WEFT_ERR_MISMATCH, "weft_prepare: %s prepares kernel %.56s, and %s kernel %.56s",
                job->processes[0].name, all[0].kernel, job->processes[p].name, all[p].kernel);
    return WEFT_OK;
}

/* Learns how many ranks every process brings, and whether all can drive queues. */
static weft_status agree_on_ranks(struct weft_job *job, weft_status mine, const weft_kernel *wanted,
                                  int ranks)
{
    const int n = job->numbers.processes;
    const char *const kernel = wanted != NULL ? wanted->name : "";
    struct brought brought = {.ranks = mine == WEFT_OK ? ranks : -1,
                              .queues = job->device_ops->host_access || wanted == NULL ||
                                        wanted->cuda == NULL || wanted->cuda->queues};
    weft_status status;

    memcpy(brought.kernel, kernel, strnlen(kernel, sizeof(brought.kernel)));
    WEFT_FREED struct brought *all =
        weft_exchange_all(job, WEFT_EXCHANGE_PREPARE, &brought, sizeof(brought), &status);
    WEFT_TRY(status);
    WEFT_TRY(mine);
    int32_t first = 0;
    job->ranks.queues = job->queues != NULL;
    for (int p = 0; p < n; p++) {
        if (all[p].ranks < 1 || all[p].ranks >= (int32_t)WEFT_SLOTS)
            return weft_err(WEFT_ERR_DEVICE, "%s cannot run the kernel", job->processes[p].name);
        job->ranks.queues &= all[p].queues != 0;
    }
    WEFT_TRY(check_kernels(job, all));
    if (job->queues != NULL && !job->ranks.queues && job->config.path == WEFT_PATH_QUEUE)
        return weft_err(WEFT_ERR_STATE,
                        "WEFT_PATH=queue, but the file of kernel %s does not include weft/queue.h",
                        kernel);
    for (int p = 0; p < n; p++) {
        job->space.state.process_table[p].first_rank = first;
        job->space.state.process_table[p].ranks = all[p].ranks;
        first += all[p].ranks;
    }
    job->space.state.ranks = job->numbers.ranks = first;
    job->numbers.ranks_here = ranks;
    job->numbers.first_rank = job->space.state.process_table[job->numbers.process].first_rank;
    return WEFT_OK;
}

/* WORLD and DEVICE, from the table of processes. */
static weft_status make_communicators(struct weft_job *job)
{
    const struct weft_process_entry *table = job->space.state.process_table;
    const int me = job->numbers.process;
    WEFT_FREED struct weft_member *all = malloc((size_t)job->numbers.ranks * sizeof(*all));
    weft_comm comm;

    if (all == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %d ranks", job->numbers.ranks);
    for (int p = 0; p < job->numbers.processes; p++)
        for (int r = 0; r < table[p].ranks; r++)
            all[table[p].first_rank + r] = (struct weft_member){p, 1 + (uint32_t)r};
    WEFT_TRY(
        weft_comm_make(&job->space.state, WEFT_COMM_WORLD, false, all, job->numbers.ranks, &comm));
    return weft_comm_make(&job->space.state, WEFT_COMM_DEVICE, true, all + table[me].first_rank,
                          table[me].ranks, &comm);
}

void weft_ranks_free(struct weft_job *job)
{
    const uint32_t slots = job->ranks.slots;

    weft_trace_free_ranks(job); /* it looks at their states */
    __atomic_store_n(&job->ranks.slots, 1, __ATOMIC_RELEASE);
    for (uint32_t slot = 1; slot < slots; slot++)
        job->ranks.selves[slot] = NULL;
    weft_job_host_free(job, job->ranks.states);
    weft_job_host_free(job, job->ranks.rank_rings);
    job->ranks.states = NULL;
    job->ranks.rank_rings = NULL;
    if (job->ranks.user != NULL)
        job->device_ops->free(job->device, job->ranks.user, &job->ranks.user_share);
    job->ranks.user = NULL;
}

static weft_status make_ranks(struct weft_job *job)
{
    const size_t ranks = (size_t)job->numbers.ranks_here;
    const size_t staged = job->ranks.image != NULL ? job->ranks.kernel->user_bytes : 0;

    job->ranks.states =
        job->device_ops->host_alloc(job->device, ranks * sizeof(weft_self) + staged);
    job->ranks.user =
        job->device_ops->alloc(job->device, job->ranks.kernel->user_bytes, &job->ranks.user_share);
    job->ranks.rank_rings = job->device_ops->host_alloc(job->device, ranks * weft_rank_bytes(job));
    if (job->ranks.states == NULL || job->ranks.rank_rings == NULL || job->ranks.user == NULL)
        return WEFT_ERR_MEMORY;
    WEFT_TRY(make_communicators(job));
    WEFT_TRY(weft_image_prepare(job));
    WEFT_TRY(weft_trace_prepare(job));
    for (uint32_t slot = 1; slot <= ranks; slot++) {
        weft_rank_make(job, slot, &job->ranks.states[slot - 1],
                       job->ranks.rank_rings + (slot - 1) * weft_rank_bytes(job));
        __atomic_store_n(&job->ranks.slots, slot + 1, __ATOMIC_RELEASE);
    }
    return WEFT_OK;
}

/* A rank's state is laid out by the compiler of the kernel, too. */
static weft_status check_layout(const struct weft_job *job, const weft_kernel *kernel)
{
    if (job->device_ops->host_access || kernel->cuda == NULL ||
        kernel->cuda->layout == WEFT_SELF_LAYOUT)
        return WEFT_OK;
    return weft_err(WEFT_ERR_DEVICE,
                    "kernel %s was compiled for another version of weft (layouts %zu and %zu)",
                    kernel->name, kernel->cuda->layout, (size_t)WEFT_SELF_LAYOUT);
}

void weft_limit_shared(weft_job *job, size_t bytes)
{
    if (job != NULL)
        job->ranks.shared_most = bytes;
}

/* Memory for collectives: what others map, so as the program itself would get it. */
static weft_status make_exchange(struct weft_job *job, int ranks)
{
    const uint64_t at = weft_coll_pieces_at(job->space.state.comms_count);

    weft_free(job, job->ranks.exchange);
    job->ranks.exchange = NULL;
    if (!job->ranks.kernel->collectives)
        return WEFT_OK;
    job->ranks.exchange_bytes = (size_t)at + (size_t)job->config.coll_scratch / 256 * 256;
    job->ranks.exchange = weft_malloc(job, (size_t)ranks * job->ranks.exchange_bytes);
    return job->ranks.exchange != NULL ? WEFT_OK : WEFT_ERR_MEMORY;
}

static size_t shared_bytes(const struct weft_job *job, const weft_kernel *kernel)
{
    const size_t most = job->ranks.shared_most > kernel->shared_least ? job->ranks.shared_most
                                                                      : kernel->shared_least;
    return kernel->shared_bytes < most ? kernel->shared_bytes : most;
}

/* Whether the device has to do what others ask of its memory: they may, and the host cannot. */
static bool wants_service(const struct weft_job *job)
{
    const int wish = job->config.cuda_service;

    return !job->device_ops->host_access && wish != WEFT_CUDA_SERVICE_OFF &&
           (wish == WEFT_CUDA_SERVICE_ON || job->space.state.signals->proxied != 0);
}

weft_status weft_prepare(weft_job *job, const weft_kernel *kernel, int threads, int max_ranks)
{
    struct weft_wish wish = {.kernel = kernel, .threads = threads, .ranks = max_ranks};
    const char *const name = kernel != NULL ? kernel->name : "NULL";
    int ranks = 0;

    WEFT_TRY(weft_job_idle(job, "weft_prepare"));
    weft_trace_write(job, false); /* of the kernel before */
    weft_status status = WEFT_OK;
    if (kernel == NULL || threads < 1 || threads > 1024 || max_ranks < 0)
        status = weft_err(WEFT_ERR_ARGUMENT,
                          "weft_prepare: kernel %s, %d threads (1..1024), at most %d ranks", name,
                          threads, max_ranks);
    else
        status = check_layout(job, kernel);
    if (status == WEFT_OK) {
        wish.shared = shared_bytes(job, kernel);
        wish.serves = wants_service(job);
        wish.beside = weft_nic_wanted(job) ? WEFT_NIC_QUEUES : 0;
        wish.beside_most = weft_nic_blocks((int)job->config.gda_queues);
        status = job->device_ops->ranks(job->device, &wish, &ranks);
    }
    status = agree_on_ranks(job, status, kernel, ranks);
    if (status != WEFT_OK)
        return weft_refuse(job, status);

    job->ranks.kernel = kernel;
    job->ranks.shared_bytes = wish.shared;
    job->ranks.serves = wish.serves;
    job->numbers.threads = job->device_ops->threads(job->device, threads);
    status = make_exchange(job, ranks);
    if (status == WEFT_OK)
        status = weft_queues_meet(job, ranks);
    weft_services_stop(job);
    weft_lock(&job->space.tables);
    weft_ranks_free(job);
    weft_queues_free(job);
    if (status == WEFT_OK)
        status = weft_queues_make(job);
    if (status == WEFT_OK)
        status = make_ranks(job);
    weft_unlock(&job->space.tables);
    if (status == WEFT_OK)
        status = weft_services_start(job);
    if (status == WEFT_OK) /* nobody notifies ranks that do not exist yet */
        return weft_exchange(job, WEFT_EXCHANGE_PREPARED, NULL, 0, NULL);
    weft_job_fail(job, status, "process %d could not prepare kernel %s", job->numbers.process,
                  name);
    return status;
}

const weft_numbers *weft_numbers_of(const weft_job *job)
{
    return job != NULL ? &job->numbers : NULL;
}

static bool is_process(const weft_job *job, int process)
{
    return job != NULL && process >= 0 && process < job->numbers.processes;
}

int weft_first_rank_of(const weft_job *job, int process)
{
    return is_process(job, process) ? job->space.state.process_table[process].first_rank : -1;
}

int weft_ranks_of(const weft_job *job, int process)
{
    return is_process(job, process) ? job->space.state.process_table[process].ranks : -1;
}

weft_kind weft_process_kind(const weft_job *job, int process)
{
    return is_process(job, process) ? job->processes[process].kind : WEFT_KIND_NONE;
}

int weft_device_of(const weft_job *job, int process)
{
    return is_process(job, process) ? job->processes[process].device : -1;
}
