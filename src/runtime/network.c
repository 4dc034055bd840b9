/*
 * runtime/network.c - which network a job uses: all processes come to the same choice.
 *
 * They know which nodes there are before any network is open. Within one node it is shm. Between
 * nodes each process tries the networks in the order of `between`, and the first that opens
 * everywhere is taken. A network that the user names is not tried but used.
 */
#include "runtime/job.h"

#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const words[] = {"auto", "shm", "ofi", "verbs", "mpi", "null"}; /* config.def */
static const char *const between[] = {"ofi", "verbs", "mpi"}; /* the fastest first */
enum { BETWEEN = sizeof(between) / sizeof(between[0]) };

static void close_net(struct weft_job *job)
{
    job->net_ops->close(job->net);
    job->net = NULL;
}

static weft_status open_named(struct weft_job *job, const char *name)
{
    struct weft_net_caps caps;
    const struct weft_net_open open = {
        .config = &job->config,
        .process = job->numbers.process,
        .processes = job->numbers.processes,
        .one_address_space = job->one_address_space,
        .one_host = job->numbers.nodes == 1,
        .polls = job->image != NULL || job->spin_ns > 0,
        .events = {.context = job,
                   .arrived = weft_notice_arrived,
                   .sent = weft_request_sent,
                   .landed = weft_request_landed,
                   .land = job->image != NULL ? weft_land_in_device : NULL,
                   .settle = job->image != NULL ? weft_settle_in_device : NULL,
                   .mark = job->image != NULL ? weft_mark_in_device : NULL,
                   .settled = job->image != NULL ? weft_settled_in_device : NULL,
                   .pin = job->image != NULL ? weft_pin_for_device : NULL,
                   .unpin = job->image != NULL ? weft_unpin_for_device : NULL,
                   .dmabuf = weft_has_dmabuf(job) ? weft_dmabuf_of_device : NULL,
                   .reached = weft_has_dmabuf(job) ? weft_reached_device : NULL},
    };

    job->net_ops = weft_net_find(name);
    if (job->net_ops == NULL)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_NET=%s: this weft was built without it", name);
    weft_status status = job->net_ops->open(&job->net, &open);
    if (status != WEFT_OK)
        return status;
    job->net_ops->caps(job->net, &caps);
    job->net_reads_device = caps.reads_device && job->image != NULL;
    if (caps.address_bytes > WEFT_NET_ADDRESS_MAX)
        status = weft_err(WEFT_ERR_NETWORK, "%s: an address of %zu bytes, of %d at most", name,
                          caps.address_bytes, WEFT_NET_ADDRESS_MAX);
    else if (caps.same_host_only && job->numbers.nodes > 1)
        status =
            weft_err(WEFT_ERR_CONFIG,
                     "WEFT_NET=%s joins processes of one host, and those of this job are on %d",
                     name, job->numbers.nodes);
    if (status != WEFT_OK)
        close_net(job);
    return status;
}

/* Everybody tries the same network; *all: it opened in every process. What failed is closed. */
static weft_status try_together(struct weft_job *job, const char *name, bool *all)
{
    const size_t n = (size_t)job->numbers.processes;
    unsigned char *opened = malloc(n);
    unsigned char mine;

    if (opened == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %zu processes", n);
    mine = weft_net_find(name) != NULL && open_named(job, name) == WEFT_OK;
    weft_status status = weft_exchange(job, WEFT_EXCHANGE_NETWORK, &mine, sizeof(mine), opened);
    *all = status == WEFT_OK;
    for (size_t p = 0; p < n && *all; p++)
        *all = opened[p] != 0;
    free(opened);
    if (!*all && mine != 0)
        close_net(job);
    return status;
}

static weft_status choose_between(struct weft_job *job)
{
    char tried[128] = "";
    size_t length = 0;

    for (int i = 0; i < BETWEEN; i++) {
        bool all;
        weft_status status = try_together(job, between[i], &all);
        if (status != WEFT_OK)
            return status;
        if (all) {
            weft_say(WEFT_SAY_INFO, "network %s: the job is on %d nodes, and it works on all%s%s",
                     between[i], job->numbers.nodes, tried[0] != 0 ? "; not taken: " : "", tried);
            return WEFT_OK;
        }
        length += (size_t)snprintf(
            tried + length, sizeof(tried) - length, "%s%s%s", i > 0 ? ", " : "", between[i],
            weft_net_find(between[i]) == NULL ? " (not in this build)" : " (not everywhere)");
    }
    return weft_err(
        WEFT_ERR_CONFIG,
        "the job is on %d nodes, and no network between them works in every process: %s",
        job->numbers.nodes, tried);
}

/* Where the network's sides sleep: on its bells, or, if it has none, on those of the job. */
static void take_bells(struct weft_job *job)
{
    struct weft_bell *send = job->net_ops->bell(job->net, WEFT_NET_SEND);
    struct weft_bell *receive = job->net_ops->bell(job->net, WEFT_NET_RECEIVE);

    weft_lock(&job->failure_lock); /* the monitor may be about to ring */
    if (send != NULL)
        job->command_bell = send;
    if (receive != NULL)
        job->receive_bell = receive;
    weft_unlock(&job->failure_lock);
    job->state.command_bell = job->command_bell;
}

weft_status weft_network_open(struct weft_job *job)
{
    const int wanted = job->config.net;
    weft_status status;

    if (wanted != 0) {
        status = open_named(job, words[wanted]);
        if (status == WEFT_OK)
            weft_say(WEFT_SAY_INFO, "network %s: WEFT_NET says so", words[wanted]);
    } else if (job->numbers.nodes > 1) {
        status = choose_between(job);
    } else {
        status = open_named(job, job->numbers.processes > 1 ? "shm" : "null");
        if (status == WEFT_OK && job->numbers.processes > 1)
            weft_say(WEFT_SAY_INFO, "network shm: all processes are on one node");
    }
    if (status == WEFT_OK)
        take_bells(job);
    return status;
}
