/*
 * runtime/meet.c - the processes of a job tell each other who and where they are; then each knows
 * the nodes, is connected to the network, and has chosen a path to every other.
 */
#include "runtime/job.h"

#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What processes tell each other when the job is opened. */
struct hello {
    char host[64];
    char boot[40]; /* the kernel's boot id: two hosts may share a name */
    int32_t pid;
    uint32_t windows, comms, counter_start;
    struct weft_share exposed;
    unsigned char address[WEFT_NET_ADDRESS_MAX];
};

static void read_boot_id(char *text, size_t bytes)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f == NULL)
        return; /* then the host's name alone decides */
    if (fgets(text, (int)bytes, f) == NULL)
        text[0] = 0;
    fclose(f);
}

/* Which nodes there are, in the order of their first process. */
static void number_nodes(struct weft_job *job, const struct hello *all)
{
    weft_numbers *n = &job->numbers;
    int here = 0;

    for (int p = 0; p < n->processes; p++) {
        int q = 0;
        while (strcmp(all[q].host, all[p].host) != 0 || strcmp(all[q].boot, all[p].boot) != 0)
            q++;
        job->processes[p].node = q == p ? n->nodes++ : job->processes[q].node;
        snprintf(job->processes[p].name, sizeof(job->processes[p].name),
                 "process %d (pid %d on %.40s)", p, (int)all[p].pid, all[p].host);
    }
    n->node = job->processes[n->process].node;
    for (int p = 0; p < n->processes; p++)
        here += job->processes[p].node == n->node;
    n->devices = n->processes; /* each process drives a CPU device of its own */
    n->device = n->process;
    job->spin_ns = job->device_ops->share(job->device, here);
}

/* The path to one other process, and why. */
static weft_status choose_path(struct weft_job *job, int p, const struct hello *hello)
{
    const char *reason = "WEFT_PATH=proxy";
    struct weft_process *process = &job->processes[p];
    void *memory = NULL;

    process->exposed_share = hello->exposed;
    if (job->config.path != WEFT_PATH_PROXY) {
        reason = "it is on another node";
        if (process->node == job->numbers.node && hello->exposed.bytes == job->exposed_share.bytes)
            memory = job->device_ops->map(job->device, &hello->exposed, &reason);
    }
    job->state.process_table[p].exposed = memory;
    if (memory != NULL) {
        weft_say(WEFT_SAY_INFO, "%s: direct, through shared memory", process->name);
        return WEFT_OK;
    }
    if (job->config.path == WEFT_PATH_DIRECT)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_PATH=direct, but %s cannot be mapped: %s",
                        process->name, reason);
    job->state.proxied = 1;
    weft_say(WEFT_SAY_INFO, "%s: through the host over %s (%s)", process->name, job->net_ops->name,
             reason);
    return WEFT_OK;
}

weft_status weft_meet(struct weft_job *job)
{
    const int n = job->numbers.processes;
    struct hello mine = {.pid = (int32_t)getpid(), .exposed = job->exposed_share};
    struct hello *all = calloc((size_t)n, sizeof(*all));

    if (all == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %d processes", n);
    gethostname(mine.host, sizeof(mine.host) - 1);
    read_boot_id(mine.boot, sizeof(mine.boot));
    mine.windows = (uint32_t)job->config.windows;
    mine.comms = (uint32_t)job->config.comms;
    mine.counter_start = (uint32_t)job->config.counter_start;
    weft_status status = job->net_ops->address(job->net, mine.address);
    if (status == WEFT_OK)
        status = weft_exchange(job, WEFT_EXCHANGE_OPEN, &mine, sizeof(mine), all);
    for (int p = 0; status == WEFT_OK && p < n; p++) {
        all[p].host[sizeof(all[p].host) - 1] = 0;
        all[p].boot[sizeof(all[p].boot) - 1] = 0;
        if (all[p].windows != mine.windows || all[p].comms != mine.comms ||
            all[p].counter_start != mine.counter_start)
            status = weft_err(WEFT_ERR_CONFIG,
                              "WEFT_WINDOWS, WEFT_COMMS and WEFT_COUNTER_START must be the same "
                              "everywhere: %u, %u, %u in process %d, %u, %u, %u here",
                              all[p].windows, all[p].comms, all[p].counter_start, p, mine.windows,
                              mine.comms, mine.counter_start);
    }
    if (status == WEFT_OK)
        number_nodes(job, all);
    for (int p = 0; status == WEFT_OK && p < n; p++) {
        status = job->net_ops->connect(job->net, p, all[p].address);
        if (status == WEFT_OK && p != job->numbers.process)
            status = choose_path(job, p, &all[p]);
    }
    if (status == WEFT_OK) /* nobody sends before everybody is connected */
        status = weft_exchange(job, WEFT_EXCHANGE_READY, NULL, 0, NULL);
    free(all);
    return status;
}
