/*
 * runtime/service/network.c - which network a job uses: all processes come to the same choice.
 *
 * They know which nodes there are before any network is open. Within one node it is shm, if they
 * may map each other's memory. Else, and between nodes, each process tries the networks in the
 * order of `between`, and the first that opens everywhere is taken; why one before it was not is
 * said. A network that the user names is not tried but used.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "net/transport.h"
#include "runtime/job/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const between[] = {"ofi", "verbs", "mpi"}; /* the fastest first */
enum { BETWEEN = sizeof(between) / sizeof(between[0]), REASON_BYTES = 224, WHY_BYTES = 160 };

static void close_net(struct weft_job *job)
{
    weft_net_close(job->proxy.net);
    job->proxy.net = NULL;
}

static void network_keeps_memory(void *context)
{
    struct weft_job *job = context;
    __atomic_store_n(&job->proxy.net_keeps_memory, true, __ATOMIC_RELAXED);
}

static bool nobody_lost(void *context)
{
    return weft_job_status(context) != WEFT_ERR_PEER_LOST;
}

/* Whether all have stopped: who closes without an error has waited (open.c: stop_together). */
static bool all_stopped(void *context)
{
    return weft_job_status(context) == WEFT_OK;
}

static weft_status open_named(struct weft_job *job, const char *name)
{
    const struct weft_transport_ops *const transport = weft_transport_find(name);
    struct weft_net_caps *const caps = &job->proxy.caps;
    const struct weft_net_open open = {
        .config = &job->config,
        .process = job->numbers.process,
        .processes = job->numbers.processes,
        .one_address_space = job->one_address_space,
        .one_host = job->numbers.nodes == 1,
        .polls = job->ranks.image != NULL || job->proxy.spin_ns > 0,
        .stage_bytes = weft_requests_stage_bytes(job),
        .events = {.context = job,
                   .sent = weft_request_sent,
                   .delivered = weft_request_delivered,
                   .arrived = weft_delivery_arrived,
                   .keeps_memory = network_keeps_memory,
                   .all_there = nobody_lost,
                   .all_stopped = all_stopped},
        .kinds = &job->proxy.kinds,
        .device = job->ranks.image != NULL ? &job->proxy.deliveries.device : NULL,
    };

    if (transport == NULL)
        return weft_err(WEFT_ERR_CONFIG, "this weft was built without network %s", name);
    WEFT_TRY(weft_net_open(&job->proxy.net, transport, &open));
    weft_net_caps(job->proxy.net, caps);
    job->space.state.tells_when_asked = caps->tells_when_asked;
    if (!caps->same_host_only || job->numbers.nodes == 1)
        return WEFT_OK;
    close_net(job);
    return weft_err(WEFT_ERR_CONFIG,
                    "network %s%s%s joins processes of one host, and those of this job are on %d",
                    name, caps->about[0] != 0 ? " over " : "", caps->about, job->numbers.nodes);
}

/* How a network opened in one process. Travels as its bytes. */
struct trial {
    char opened;
    char why_not[159];
};

/* Tries a network. That it does not open is no error: while a job is opened none is said at once.
 */
static struct trial try_here(struct weft_job *job, const char *name)
{
    struct trial trial = {.opened = open_named(job, name) == WEFT_OK};

    if (!trial.opened)
        snprintf(trial.why_not, sizeof(trial.why_not), "%s", weft_err_last());
    return trial;
}

/*
 * Tries one network together. *all: it opened in every process; else `failed` says where it did
 * not, and why, and what has opened is closed.
 */
static weft_status try_together(struct weft_job *job, const char *name, bool *all,
                                char failed[REASON_BYTES])
{
    const struct trial mine = try_here(job, name);
    weft_status status;
    WEFT_FREED struct trial *trials =
        weft_exchange_all(job, WEFT_EXCHANGE_NETWORK, &mine, sizeof(mine), &status);

    *all = status == WEFT_OK;
    for (int p = 0; p < job->numbers.processes && *all; p++) {
        if (trials[p].opened)
            continue;
        *all = false;
        trials[p].why_not[sizeof(trials[p].why_not) - 1] = 0;
        snprintf(failed, REASON_BYTES, "%s (process %d: %s)", name, p, trials[p].why_not);
    }
    if (!*all && mine.opened)
        close_net(job);
    return status;
}

/* Why it is not shm. */
static const char *why_between(const struct weft_job *job, char text[WHY_BYTES])
{
    if (job->numbers.nodes > 1)
        snprintf(text, WHY_BYTES, "the job is on %d nodes", job->numbers.nodes);
    else
        snprintf(text, WHY_BYTES,
                 "processes of one node are of different users, or in different user or PID "
                 "namespaces, and cannot map each other's memory");
    return text;
}

/*
 * One process for all says so if a network that was here, and would be faster, is passed over; also
 * if that is shm, unless WEFT_NET says which one to take.
 */
static void say_choice(const struct weft_job *job, const char *name, const char *passed_over)
{
    const bool news = job->numbers.nodes == 1 || passed_over[0] != 0;
    char why[WHY_BYTES];

    weft_say(news && job->numbers.process == 0 ? WEFT_SAY_WARN : WEFT_SAY_INFO,
             "network %s: %s, and it works on all%s%s", name, why_between(job, why),
             passed_over[0] != 0 ? "; not taken: " : "", passed_over);
}

static weft_status choose_between(struct weft_job *job)
{
    char tried[BETWEEN * REASON_BYTES] = "", passed_over[sizeof(tried)] = "", why[WHY_BYTES];
    struct weft_text all_tried = {tried, sizeof(tried), 0},
                     all_passed = {passed_over, sizeof(passed_over), 0};

    for (int i = 0; i < BETWEEN; i++) {
        char failed[REASON_BYTES];
        bool all;
        WEFT_TRY(try_together(job, between[i], &all, failed));
        if (all) {
            say_choice(job, between[i], passed_over);
            return WEFT_OK;
        }
        weft_text_add(&all_tried, "%s%s", all_tried.used > 0 ? ", " : "", failed);
        if (weft_transport_find(between[i]) != NULL)
            weft_text_add(&all_passed, "%s%s", all_passed.used > 0 ? ", " : "", failed);
    }
    return weft_err(WEFT_ERR_CONFIG, "%s, and no network between them works in every process: %s",
                    why_between(job, why), tried);
}

/* Chooses where the network's sides sleep: on its bells, or, if it has none, on the job's. */
static void take_bells(struct weft_job *job)
{
    struct weft_bell *send = weft_net_bell(job->proxy.net, WEFT_NET_SEND);
    struct weft_bell *receive = weft_net_bell(job->proxy.net, WEFT_NET_RECEIVE);

    weft_lock(&job->failure_lock); /* the monitor may be about to ring */
    if (send != NULL)
        job->proxy.command_bell = send;
    if (receive != NULL)
        job->proxy.receive_bell = receive;
    weft_unlock(&job->failure_lock);
    job->space.state.command_bell = job->proxy.command_bell;
}

weft_status weft_network_open(struct weft_job *job)
{
    const int wanted = job->config.net;
    const bool alone = job->numbers.processes == 1;
    weft_status status;

    if (wanted != WEFT_NET_AUTO && !(wanted == WEFT_NET_MPI && alone)) {
        const struct weft_config_word name = weft_config_word(WEFT_CONFIG_AT_NET, wanted);
        status = open_named(job, name.text);
        if (status == WEFT_OK)
            weft_say(WEFT_SAY_INFO, "network %s: WEFT_NET says so", name.text);
    } else if (job->numbers.nodes > 1 || !job->together) {
        status = choose_between(job);
    } else { /* also of one process, which needs no launcher of MPI's */
        status = open_named(job, "shm");
        if (status == WEFT_OK && !alone)
            weft_say(WEFT_SAY_INFO, "network shm: all processes are on one node");
    }
    if (status == WEFT_OK)
        take_bells(job);
    return status;
}
