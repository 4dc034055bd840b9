/*
 * runtime/job/meet.c - the processes of a job tell each other who and where they are; then each
 * knows the nodes, is connected to the network, and has chosen a path to every other. Opening
 * thread only.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "runtime/gda/queues.h"
#include "runtime/job/exchange.h"
#include "runtime/service/ask.h"
#include "runtime/space/image.h"

#include <string.h>

/* Settings that all have alike: tables, counters and paths depend on them. */
static const enum weft_config_index alike[] = {WEFT_CONFIG_AT_NET,   WEFT_CONFIG_AT_WINDOWS,
                                               WEFT_CONFIG_AT_COMMS, WEFT_CONFIG_AT_COUNTER_START,
                                               WEFT_CONFIG_AT_PATH,  WEFT_CONFIG_AT_GDA};
enum { ALIKE = sizeof(alike) / sizeof(alike[0]) };

/* What processes tell each other when their devices are open, for the choice of the network. */
struct devices {
    uint32_t alike[ALIKE]; /* values of the settings `alike` */
    unsigned char device_id[WEFT_DEVICE_ID_BYTES];
};

/* What processes tell each other when the network is open. */
struct hello {
    uint32_t channels, trace;
    uint32_t queues, unused;          /* queues: 1: its ranks drive some */
    uint64_t mailbox;                 /* network key of its mailbox: abi/ask.h */
    struct weft_share exposed;        /* memory that the host program exposes */
    struct weft_share device_exposed; /* memory that the ranks expose, if they have their own */
    unsigned char device_id[WEFT_DEVICE_ID_BYTES];
    unsigned char address[WEFT_NET_ADDRESS_MAX];
};

/* Finds the first process of the job that drives the same device. */
static int first_on_device(const struct weft_job *job, int process)
{
    int p = 0;
    while (job->processes[p].device != job->processes[process].device)
        p++;
    return p;
}

/* Numbers devices in the order of their first process; an id of zeros is nobody else's. */
static void number_devices(struct weft_job *job, const struct devices *all)
{
    static const unsigned char own[WEFT_DEVICE_ID_BYTES];
    weft_numbers *n = &job->numbers;

    for (int p = 0; p < n->processes; p++) {
        const unsigned char *id = all[p].device_id;
        int q = 0;
        while (q < p && (memcmp(id, own, sizeof(own)) == 0 ||
                         memcmp(id, all[q].device_id, sizeof(own)) != 0))
            q++;
        job->processes[p].device = q == p ? n->devices++ : job->processes[q].device;
    }
    n->device = job->processes[n->process].device;
    for (int p = 0; p < n->processes; p++) {
        if (job->processes[p].node != n->node || first_on_device(job, p) != p)
            continue;
        if (job->processes[p].device == n->device)
            n->node_device = n->node_devices;
        n->node_devices++;
    }
}

static void share_node(struct weft_job *job)
{
    const weft_numbers *n = &job->numbers;
    struct weft_sharing with = {.processes = n->node_processes, .index = n->node_process};

    for (int p = 0; p < n->processes; p++) {
        const bool shared = job->processes[p].device == n->device;
        with.on_device += shared;
        with.before += shared && p < n->process;
    }
    job->proxy.spin_ns = job->device_ops->share(job->device, &with);
}

/*
 * Maps the counters of a process of this node, if ranks can add to them: those of its ranks and of
 * its host program, or none. Adds of a CPU and of a GPU to one word are not safe, so it is never
 * done between unlike kinds.
 */
static const char *map_counters(struct weft_job *job, int p, const struct hello *hello)
{
    struct weft_image *image = job->ranks.image;
    const char *reason = "its counters are of another size";

    if (job->processes[p].kind == WEFT_KIND_CPU && image != NULL)
        return "its device is a CPU, this one a GPU";
    if (job->processes[p].kind == WEFT_KIND_CUDA && image == NULL)
        return "its device is a GPU, this one a CPU";
    if (job->device_ops->has_atomics != NULL && job->processes[p].device != job->numbers.device &&
        !job->device_ops->has_atomics(job->device, hello->device_id))
        return "this device has no atomic operations on the memory of that one";
    if (hello->exposed.bytes != job->space.exposed_share.bytes ||
        (image != NULL && hello->device_exposed.bytes != image->exposed_share.bytes))
        return reason;
    void *memory = weft_share_map(&hello->exposed, job->one_address_space, &reason);
    if (memory == NULL)
        return reason;
    if (image != NULL) {
        struct weft_image_peer *peer = &image->peers[p];
        peer->share = hello->device_exposed;
        peer->exposed = job->device_ops->map(job->device, &peer->share, &reason);
        if (peer->exposed == NULL) {
            weft_share_unmap(memory, &hello->exposed, job->one_address_space);
            return reason;
        }
    }
    job->processes[p].exposed_share = hello->exposed;
    job->space.state.process_table[p].exposed = memory;
    return NULL;
}

/*
 * Whether memory of a process is mapped here without its counters: a GPU's ranks load and store
 * that of a process on a CPU. The other way round the processor cannot.
 */
static bool maps_unlike(const struct weft_job *job, const struct weft_process *process)
{
    return job->config.path == WEFT_PATH_AUTO && process->node == job->numbers.node &&
           process->kind == WEFT_KIND_CPU && job->ranks.image != NULL;
}

/* Chooses the path to one other process, and says why. */
static weft_status choose_path(struct weft_job *job, int p, const struct hello *hello)
{
    const bool forced = job->config.path == WEFT_PATH_QUEUE;
    const char *reason = forced ? "WEFT_PATH=queue" : "WEFT_PATH=proxy";
    struct weft_process *process = &job->processes[p];

    if (job->config.path != WEFT_PATH_PROXY && !forced)
        reason = process->node == job->numbers.node ? map_counters(job, p, hello)
                                                    : "it is on another node";
    process->mapped = reason == NULL || maps_unlike(job, process);
    if (job->queues != NULL && job->config.path != WEFT_PATH_PROXY)
        job->space.state.process_table[p].queued = 1;
    if (reason == NULL) {
        weft_say(WEFT_SAY_INFO, "%s: direct, through %s", process->name,
                 job->ranks.image == NULL                 ? "shared memory"
                 : process->device == job->numbers.device ? "memory of the GPU that both drive"
                                                          : "memory of its GPU");
        return WEFT_OK;
    }
    if (job->config.path == WEFT_PATH_DIRECT)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_PATH=direct, but %s cannot be reached so: %s",
                        process->name, reason);
    job->space.state.signals->proxied = 1;
    if (job->space.state.process_table[p].queued != 0) {
        weft_say(WEFT_SAY_INFO,
                 "%s: by queues of each rank, softnic over %s, SQ and CQ %s, doorbell by the "
                 "rank (%s)",
                 process->name, weft_net_name(job->proxy.net),
                 weft_config_word(WEFT_CONFIG_AT_GDA_PLACE, job->config.gda_place).text, reason);
        return WEFT_OK;
    }
    weft_say(WEFT_SAY_INFO, "%s: through the host over %s (%s)%s", process->name,
             weft_net_name(job->proxy.net), reason,
             process->mapped ? "; loads and stores of its memory are direct" : "");
    return WEFT_OK;
}

static weft_status fill_hello(struct weft_job *job, struct hello *mine)
{
    *mine = (struct hello){.channels = job->space.state.channels,
                           .trace = job->config.trace[0] != 0,
                           .queues = job->queues != NULL,
                           .exposed = job->space.exposed_share};
    if (job->ranks.image != NULL)
        mine->device_exposed = job->ranks.image->exposed_share;
    job->device_ops->identify(job->device, mine->device_id);
    weft_net_address(job->proxy.net, mine->address);
    return weft_asks_expose(job, &mine->mailbox);
}

/*
 * Compares channels. They lie in what is mapped, so other nodes may have others, and so may
 * processes of the other kind of device. like: of the same kind on the same node.
 */
static weft_status compare(int p, const struct hello *theirs, const struct hello *mine, bool like)
{
    if (like && theirs->channels != mine->channels)
        return weft_err(WEFT_ERR_CONFIG,
                        "WEFT_CHANNELS must be the same everywhere on a node, and WEFT_EAGER 0 "
                        "nowhere or everywhere: %u channels in process %d, %u here",
                        theirs->channels, p, mine->channels);
    if (theirs->trace != mine->trace)
        return weft_err(WEFT_ERR_CONFIG,
                        "WEFT_TRACE must be set everywhere or nowhere: it is %s in process %d, %s "
                        "here",
                        theirs->trace != 0 ? "set" : "not set", p,
                        mine->trace != 0 ? "set" : "not set");
    return WEFT_OK;
}

/*
 * Nobody sends before everybody is connected. Each process says whether it reaches any other
 * through the host: then it may reach this one so, even if this one maps all others. It does not
 * say whom, n bytes instead of n * n; too many processes may poll their host words, none too few.
 */
static weft_status await_all(struct weft_job *job)
{
    const unsigned char mine = job->space.state.signals->proxied != 0;
    weft_status status;
    WEFT_FREED unsigned char *all =
        weft_exchange_all(job, WEFT_EXCHANGE_READY, &mine, sizeof(mine), &status);

    for (int p = 0; all != NULL && p < job->numbers.processes; p++)
        job->space.state.signals->proxied |= all[p];
    return status;
}

static weft_status compare_settings(int p, const uint32_t *theirs, const uint32_t *mine)
{
    for (int i = 0; i < ALIKE; i++)
        if (theirs[i] != mine[i])
            return weft_err(
                WEFT_ERR_CONFIG, "WEFT_%s must be the same everywhere: %s in process %d, %s here",
                weft_config_rows[alike[i]].name, weft_config_word(alike[i], theirs[i]).text, p,
                weft_config_word(alike[i], mine[i]).text);
    return WEFT_OK;
}

/* Finds what everybody drives. */
static weft_status find_devices(struct weft_job *job)
{
    struct devices mine = {0};
    weft_status status;

    for (int i = 0; i < ALIKE; i++)
        mine.alike[i] = (uint32_t)weft_config_number(&job->config, alike[i]);
    job->device_ops->identify(job->device, mine.device_id);
    WEFT_FREED struct devices *all =
        weft_exchange_all(job, WEFT_EXCHANGE_HOSTS, &mine, sizeof(mine), &status);
    WEFT_TRY(status);
    for (int p = 0; p < job->numbers.processes; p++)
        WEFT_TRY(compare_settings(p, all[p].alike, mine.alike));
    number_devices(job, all);
    share_node(job);
    return WEFT_OK;
}

weft_status weft_meet(struct weft_job *job)
{
    const int n = job->numbers.processes;
    struct hello mine;
    weft_status status;

    WEFT_TRY(find_devices(job));
    WEFT_TRY(weft_network_open(job));
    WEFT_TRY(weft_queues_open(job));
    WEFT_TRY(fill_hello(job, &mine));
    WEFT_FREED struct hello *all =
        weft_exchange_all(job, WEFT_EXCHANGE_OPEN, &mine, sizeof(mine), &status);
    WEFT_TRY(status);
    for (int p = 0; p < n; p++)
        WEFT_TRY(compare(p, &all[p], &mine,
                         job->processes[p].node == job->numbers.node &&
                             job->processes[p].kind == job->processes[job->numbers.process].kind));
    for (int p = 0; p < n; p++)
        if (all[p].queues == 0)
            weft_queues_close(job); /* all have them, or nobody */
    for (int p = 0; p < n; p++) {
        if (job->proxy.asks.keys != NULL)
            job->proxy.asks.keys[p] = all[p].mailbox;
        WEFT_TRY(weft_net_connect(job->proxy.net, p, all[p].address));
        if (p != job->numbers.process)
            WEFT_TRY(choose_path(job, p, &all[p]));
    }
    if (job->config.path == WEFT_PATH_QUEUE) { /* this process's own ranks, too */
        job->space.state.process_table[job->numbers.process].queued = 1;
        job->space.state.own_queued = 1;
        job->space.state.signals->proxied = 1;
    }
    return await_all(job);
}
