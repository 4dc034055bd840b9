/*
 * runtime/kernel/run.c - preparing a kernel and running it.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "runtime/job/exchange.h"
#include "runtime/service/landing.h"
#include "runtime/space/image.h"
#include "runtime/space/tables.h"
#include "runtime/trace/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a process brings to weft_prepare. */
struct brought {
    int32_t ranks;   /* -1: it cannot */
    char kernel[60]; /* its name, or the beginning of it */
};

static weft_status check_kernels(const struct weft_job *job, const struct brought *all)
{
    for (int p = 1; p < job->numbers.processes; p++)
        if (memcmp(all[p].kernel, all[0].kernel, sizeof(all[p].kernel)) != 0)
            return weft_err(
                WEFT_ERR_MISMATCH, "weft_prepare: %s prepares kernel %.60s, and %s kernel %.60s",
                job->processes[0].name, all[0].kernel, job->processes[p].name, all[p].kernel);
    return WEFT_OK;
}

/* Learns how many ranks every process brings. */
static weft_status agree_on_ranks(struct weft_job *job, weft_status mine, const char *kernel,
                                  int ranks)
{
    const int n = job->numbers.processes;
    struct brought brought = {.ranks = mine == WEFT_OK ? ranks : -1};
    struct brought *all = calloc((size_t)n, sizeof(*all));

    if (all == NULL) { /* the others would wait for what this process brings */
        weft_job_fail(job, WEFT_ERR_MEMORY, "process %d: no memory for the ranks of %d processes",
                      job->numbers.process, n);
        return WEFT_ERR_MEMORY;
    }
    memcpy(brought.kernel, kernel, strnlen(kernel, sizeof(brought.kernel)));
    weft_status status = weft_exchange(job, WEFT_EXCHANGE_PREPARE, &brought, sizeof(brought), all);
    if (status == WEFT_OK)
        status = mine;
    int32_t first = 0;
    for (int p = 0; status == WEFT_OK && p < n; p++) {
        if (all[p].ranks < 1 || all[p].ranks >= (int32_t)WEFT_SLOTS)
            status = weft_err(WEFT_ERR_DEVICE, "%s cannot run the kernel", job->processes[p].name);
    }
    if (status == WEFT_OK)
        status = check_kernels(job, all);
    for (int p = 0; status == WEFT_OK && p < n; p++) {
        job->space.state.process_table[p].first_rank = first;
        job->space.state.process_table[p].ranks = all[p].ranks;
        first += all[p].ranks;
    }
    if (status == WEFT_OK) {
        job->space.state.ranks = job->numbers.ranks = first;
        job->numbers.ranks_here = ranks;
        job->numbers.first_rank = job->space.state.process_table[job->numbers.process].first_rank;
    }
    free(all);
    return status;
}

/* WORLD and DEVICE, from the table of processes. */
static weft_status make_communicators(struct weft_job *job)
{
    const struct weft_process_entry *table = job->space.state.process_table;
    const int me = job->numbers.process;
    struct weft_member *all = malloc((size_t)job->numbers.ranks * sizeof(*all));
    weft_comm comm;

    if (all == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %d ranks", job->numbers.ranks);
    for (int p = 0; p < job->numbers.processes; p++)
        for (int r = 0; r < table[p].ranks; r++)
            all[table[p].first_rank + r] = (struct weft_member){p, 1 + (uint32_t)r};
    weft_status status =
        weft_comm_make(&job->space.state, WEFT_COMM_WORLD, false, all, job->numbers.ranks, &comm);
    if (status == WEFT_OK)
        status = weft_comm_make(&job->space.state, WEFT_COMM_DEVICE, true,
                                all + table[me].first_rank, table[me].ranks, &comm);
    free(all);
    return status;
}

void weft_ranks_free(struct weft_job *job)
{
    const uint32_t slots = job->ranks.slots;

    weft_trace_free_ranks(job); /* it looks at their states */
    __atomic_store_n(&job->ranks.slots, 1, __ATOMIC_RELEASE);
    for (uint32_t slot = 1; slot < slots; slot++)
        job->ranks.selves[slot] = NULL;
    weft_job_host_free(job, job->ranks.rank_memory);
    weft_job_host_free(job, job->ranks.rank_rings);
    job->ranks.rank_memory = job->ranks.rank_rings = NULL;
    if (job->ranks.user != NULL)
        job->device_ops->free(job->device, job->ranks.user, &job->ranks.user_share);
    job->ranks.user = NULL;
}

static weft_status make_ranks(struct weft_job *job)
{
    const size_t ranks = (size_t)job->numbers.ranks_here;

    job->proxy.letter_bytes = weft_letters_wanted(job);
    weft_landing_reset(job);
    job->ranks.self_bytes = sizeof(weft_self);
    job->ranks.rank_memory =
        job->device_ops->host_alloc(job->device, ranks * job->ranks.self_bytes);
    job->ranks.user =
        job->device_ops->alloc(job->device, job->ranks.kernel->user_bytes, &job->ranks.user_share);
    job->ranks.rank_rings = job->device_ops->host_alloc(job->device, ranks * weft_rank_bytes(job));
    if (job->ranks.rank_memory == NULL || job->ranks.rank_rings == NULL || job->ranks.user == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for the state of %zu ranks", ranks);
    weft_status status = make_communicators(job);
    if (status == WEFT_OK)
        status = weft_image_prepare(job);
    if (status == WEFT_OK)
        status = weft_trace_prepare(job);
    if (status != WEFT_OK)
        return status;
    for (uint32_t slot = 1; slot <= ranks; slot++) {
        const size_t i = slot - 1;
        weft_rank_make(job, slot,
                       (weft_self *)(void *)(job->ranks.rank_memory + i * job->ranks.self_bytes),
                       job->ranks.rank_rings + i * weft_rank_bytes(job));
        __atomic_store_n(&job->ranks.slots, slot + 1, __ATOMIC_RELEASE);
    }
    return WEFT_OK;
}

/* A rank's state is laid out by the compiler of the kernel, too. */
static weft_status check_layout(const struct weft_job *job, const weft_kernel *kernel)
{
    if (job->device_ops->host_access || kernel->cuda == NULL ||
        kernel->cuda->self_bytes == sizeof(weft_self))
        return WEFT_OK;
    return weft_err(WEFT_ERR_DEVICE,
                    "kernel %s was compiled for another version of weft (%zu and %zu bytes a rank)",
                    kernel->name, kernel->cuda->self_bytes, sizeof(weft_self));
}

void weft_limit_shared(weft_job *job, size_t bytes)
{
    if (job != NULL)
        job->ranks.shared_most = bytes;
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

    return job->device_ops->serve != NULL && wish != WEFT_CUDA_SERVICE_OFF &&
           (wish == WEFT_CUDA_SERVICE_ON || job->space.state.signals->proxied != 0);
}

weft_status weft_prepare(weft_job *job, const weft_kernel *kernel, int threads, int max_ranks)
{
    struct weft_wish wish = {.kernel = kernel, .threads = threads, .ranks = max_ranks};
    const char *const name = kernel != NULL ? kernel->name : "NULL";
    int ranks = 0;
    weft_status status = weft_job_idle(job, "weft_prepare");

    if (status != WEFT_OK)
        return status;
    weft_trace_write(job, false); /* of the kernel before */
    if (kernel == NULL || threads < 1 || threads > 1024 || max_ranks < 0)
        status = weft_err(WEFT_ERR_ARGUMENT,
                          "weft_prepare: kernel %s, %d threads (1..1024), at most %d ranks", name,
                          threads, max_ranks);
    else
        status = check_layout(job, kernel);
    if (status == WEFT_OK) {
        wish.shared = shared_bytes(job, kernel);
        wish.serves = wants_service(job);
        status = job->device_ops->ranks(job->device, &wish, &ranks);
    }
    status = agree_on_ranks(job, status, kernel != NULL ? kernel->name : "", ranks);
    if (status != WEFT_OK)
        return weft_refuse(job, status);

    job->ranks.kernel = kernel;
    job->ranks.shared_bytes = wish.shared;
    job->ranks.serves = wish.serves;
    job->numbers.threads = job->device_ops->threads(job->device, threads);
    weft_services_stop(job);
    weft_lock(&job->space.tables);
    weft_ranks_free(job);
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

/* No rank has a channel any more. */
static void clear_channels(struct weft_job *job)
{
    struct weft_state *state = &job->space.state;
    unsigned char *area = weft_channel_area(state, state->exposed);
    const uint32_t n = state->channels;
    uint32_t *taken = &state->exposed->channels_taken;

    if (job->ranks.image != NULL || *taken == 0)
        return; /* weft_image_reset does it; or nobody had any */
    const uint32_t used = *taken < n ? *taken : n;
    memset(weft_channels_box(area, 0), 0, WEFT_SLOTS * sizeof(struct weft_box));
    memset(weft_channels_control(area, WEFT_SLOTS, 0), 0, used * sizeof(struct weft_channel));
    memset(weft_channels_ring(area, WEFT_SLOTS, n, 0), 0,
           used * WEFT_RING_LINES * sizeof(struct weft_ring_line));
    *taken = 0;
}

/* What a run starts from. Before the others can know that this process is ready. */
static weft_status reset(struct weft_job *job)
{
    weft_lock(&job->space.tables);
    for (uint32_t slot = 1; slot < job->ranks.slots; slot++)
        weft_rank_reset(job, slot);
    clear_channels(job);
    weft_comm_clear(&job->space.state, WEFT_COMM_WORLD);
    weft_comm_clear(&job->space.state, WEFT_COMM_DEVICE);
    weft_unlock(&job->space.tables);
    return weft_image_reset(job);
}

void weft_settle_ranks(struct weft_job *job, uint32_t first_slot)
{
    struct weft_port *port = &job->ranks.selves[WEFT_HOST_SLOT]->port;

    __atomic_store_n(&job->proxy.landing, 1,
                     __ATOMIC_RELAXED); /* soon is enough: it orders nothing */
    weft_bell_ring(job->proxy.command_bell);
    for (uint32_t slot = first_slot; slot < job->ranks.slots; slot++)
        while (!weft_rank_quiet(job, slot) && weft_job_status(job) == WEFT_OK)
            weft_port_wait(port);
    weft_port_waited(port);
}

/* All ranks of the job have ended: it is no news any more that those of this process have. */
static void forget_ends(struct weft_job *job)
{
    for (uint32_t slot = 1; slot < job->ranks.slots; slot++)
        __atomic_store_n(&job->ranks.selves[slot]->waiting->kind, WEFT_WAIT_NONE, __ATOMIC_RELAXED);
}

weft_status weft_run(weft_job *job, void *user, size_t user_bytes, double *milliseconds)
{
    double ms = 0;
    weft_status status = weft_job_idle(job, "weft_run");

    if (status != WEFT_OK)
        return status;
    if (job->ranks.kernel == NULL)
        return weft_refused(job, WEFT_ERR_STATE, "weft_run: no kernel was prepared");
    if (user_bytes != 0 && user == NULL)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "weft_run: %zu bytes of user data at NULL",
                            user_bytes);
    if (user_bytes != 0 && user_bytes != job->ranks.kernel->user_bytes)
        return weft_refused(job, WEFT_ERR_ARGUMENT,
                            "weft_run: %zu bytes of user data; kernel %s expects %zu", user_bytes,
                            job->ranks.kernel->name, job->ranks.kernel->user_bytes);
    if (user_bytes != 0)
        status = weft_job_copy(job, job->ranks.user, user, user_bytes);
    if (status == WEFT_OK)
        status = reset(job);
    if (status != WEFT_OK) { /* the others are about to run */
        weft_job_fail(job, status, "process %d could not begin to run kernel %s",
                      job->numbers.process, job->ranks.kernel->name);
        return status;
    }
    status = weft_exchange(job, WEFT_EXCHANGE_RUN, NULL, 0, NULL);
    if (status != WEFT_OK)
        return status;

    struct weft_launch launch = {
        .kernel = job->ranks.kernel,
        .user = user_bytes != 0 ? job->ranks.user : NULL,
        .first_rank = job->numbers.first_rank,
        .ranks = job->numbers.ranks_here,
        .threads = job->numbers.threads,
        .shared = job->ranks.shared_bytes,
        .serves = job->ranks.serves,
        .selves = job->ranks.rank_memory,
        .self_bytes = job->ranks.self_bytes,
        .bell = &job->space.state.exposed->bell,
        .proxied = &job->space.state.signals->proxied,
        /* Who runs ranks must not wait for them: landing.c. */
        .posted = job->proxy.letter_bytes == 0 ? weft_services_posted : NULL,
        .help = job->proxy.letter_bytes == 0 ? weft_services_help : NULL,
        .leave = job->proxy.letter_bytes == 0 ? weft_services_leave : NULL,
        .host = job,
    };
    weft_trace_launch(job, &launch);
    fflush(stdout); /* what the program printed comes before what its ranks log */
    __atomic_store_n(&job->ranks.running, true, __ATOMIC_RELAXED);
    status = job->device_ops->run(job->device, &launch, &ms);
    __atomic_store_n(&job->ranks.running, false, __ATOMIC_RELAXED);
    weft_trace_ran(job);
    if (status != WEFT_OK)
        weft_job_fail(job, status, "process %d could not run kernel %s", job->numbers.process,
                      job->ranks.kernel->name);
    weft_settle_ranks(job, 1);
    weft_printer_drain(job);
    status = weft_exchange(job, WEFT_EXCHANGE_RAN, NULL, 0, NULL);
    forget_ends(job);
    if (status == WEFT_OK) /* a failure before the last one ended is seen by all */
        status = weft_job_status(job);
    if (status == WEFT_OK)
        weft_ranks_left(job);
    if (user_bytes != 0) /* also after a failure: it may tell the program why */
        weft_job_copy(job, user, job->ranks.user, user_bytes);
    if (status == WEFT_OK && milliseconds != NULL)
        *milliseconds = ms;
    return status;
}

weft_status weft_intervals(const weft_job *job, const double **list, size_t *count)
{
    const weft_status status = weft_job_owned(job, "weft_intervals");

    if (status != WEFT_OK)
        return status;
    if (list == NULL || count == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_intervals: %s is NULL",
                        list == NULL ? "list" : "count");
    if (job->ranks.running)
        return weft_err(WEFT_ERR_STATE, "weft_intervals: a kernel runs");
    *list = job->space.state.intervals;
    *count = job->ranks.slots > 1 ? job->ranks.selves[1]->intervals_count
                                  : 0; /* the device's first rank */
    return WEFT_OK;
}

const weft_numbers *weft_numbers_of(const weft_job *job)
{
    return &job->numbers;
}

int weft_first_rank_of(const weft_job *job, int process)
{
    return process < 0 || process >= job->numbers.processes
               ? -1
               : job->space.state.process_table[process].first_rank;
}

int weft_ranks_of(const weft_job *job, int process)
{
    return process < 0 || process >= job->numbers.processes
               ? -1
               : job->space.state.process_table[process].ranks;
}

weft_kind weft_process_kind(const weft_job *job, int process)
{
    return process < 0 || process >= job->numbers.processes ? WEFT_KIND_NONE
                                                            : job->processes[process].kind;
}

int weft_device_of(const weft_job *job, int process)
{
    return process < 0 || process >= job->numbers.processes ? -1 : job->processes[process].device;
}
