/*
 * runtime/gda/assist.c - WEFT_GDA=assist: each queue to another process is a connection of its own
 * on the RDMA device that the network verbs has opened. The software NIC takes what a rank wrote,
 * and posts it there; the device executes it, atomics too. The program's thread makes connections,
 * the progress task posts to them.
 *
 * Where both have a queue to each other, they share a connection: the k-th here is the k-th there.
 */
#include "runtime/gda/queues.h"

#include "base/say.h"
#include "gda/rdma/rdma.h"
#include "net/verbs/state.h"
#include "runtime/job/exchange.h"

#include <stdlib.h>
#include <string.h>

struct link {
    struct weft_rdma_queue rdma;
    struct weft_job *job;
};

struct weft_links {
    int each;              /* connections to a process, of whichever of both has more */
    struct link *list;     /* by number, and process */
};

const char *weft_assist_missing(const struct weft_job *job)
{
    if (strcmp(weft_net_name(job->proxy.net), weft_transport_verbs.name) != 0) {
        char text[2048];
        return weft_verbs_here(text, sizeof(text))
                   ? "ranks drive RDMA devices with WEFT_NET=verbs"
                   : "no RDMA device of this host can be driven by ranks";
    }
    return job->device_ops->host_access ? NULL : "not built for memory of a GPU";
}

static struct weft_transport *network(const struct weft_job *job)
{
    return weft_net_transport(job->proxy.net);
}

const char *weft_assist_device(const struct weft_job *job)
{
    return network(job)->device.name;
}

void weft_assist_free(struct weft_job *job)
{
    struct weft_links *links = job->queues != NULL ? job->queues->links : NULL;

    if (links == NULL)
        return;
    for (int i = 0; links->list != NULL && i < links->each * job->numbers.processes; i++)
        weft_rdma_queue_close(&links->list[i].rdma);
    free(links->list);
    free(links);
    job->queues->links = NULL;
}

/* Connections to all others; theirs and these, by process and number: each one's number, 0: none.
 */
static weft_status make_links(struct weft_job *job, struct weft_links *links, const int *each,
                              uint32_t *mine)
{
    const int n = job->numbers.processes, me = job->numbers.process;

    for (int p = 0; p < n; p++)
        for (int k = 0; k < (each[p] > each[me] ? each[p] : each[me]) && p != me; k++) {
            struct link *link = &links->list[k * n + p];
            link->job = job;
            WEFT_TRY(weft_rdma_queue_open(&link->rdma, &network(job)->device, network(job)->pd,
                                          (uint32_t)job->config.gda_depth));
            mine[p * links->each + k] = link->rdma.qp->qp_num;
        }
    return WEFT_OK;
}

static weft_status join_links(struct weft_job *job, struct weft_links *links, const uint32_t *all)
{
    const int n = job->numbers.processes, me = job->numbers.process;

    for (int i = 0; i < n * links->each; i++) {
        const int p = i % n, k = i / n;
        if (links->list[i].rdma.qp != NULL)
            WEFT_TRY(weft_rdma_queue_join(&links->list[i].rdma, &network(job)->peers[p].address,
                                          all[(p * n + me) * links->each + k],
                                          weft_verbs_timeout(&job->config)));
    }
    return WEFT_OK;
}

weft_status weft_assist_meet(struct weft_job *job, const int *each)
{
    const int n = job->numbers.processes;
    int most = 1;

    weft_assist_free(job);
    for (int p = 0; p < n; p++)
        most = each[p] > most ? each[p] : most;
    struct weft_links *links = calloc(1, sizeof(*links));
    const size_t count = (size_t)most * (size_t)n;
    WEFT_FREED uint32_t *mine = calloc(count, sizeof(*mine));
    weft_status status;

    job->queues->links = links;
    if (links != NULL) {
        links->each = most;
        links->list = calloc(count, sizeof(*links->list));
    }
    if (links == NULL || links->list == NULL || mine == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %zu connections", count);
    WEFT_TRY(make_links(job, links, each, mine));
    WEFT_FREED uint32_t *all =
        weft_exchange_all(job, WEFT_EXCHANGE_QUEUES, mine, count * sizeof(*mine), &status);
    WEFT_TRY(status);
    return join_links(job, links, all);
}

void *weft_assist_link(const struct weft_job *job, int k, int process)
{
    return &job->queues->links->list[k * job->numbers.processes + process];
}

/* ---- the wire -------------------------------------------------------------------------------- */

/* The network's names of memory become the device's. 0, or a syndrome. */
static uint32_t translate(struct weft_job *job, int process, struct weft_softnic_request *request)
{
    struct weft_queue_region region;

    if (!weft_queues_find(job, process, request->rkey, &region) || request->remote < region.base ||
        (region.key & WEFT_PEER_PLACED) == 0)
        return WEFT_MLX5_REMOTE_ACCESS;
    request->remote = weft_verbs_place_base(region.key) + (request->remote - region.base);
    request->rkey = weft_verbs_place_rkey(region.key);
    if (request->inside != NULL)
        return 0;
    const struct weft_verbs_region *here = weft_net_registration(
        job->proxy.net, (const void *)(uintptr_t)request->address, request->bytes);
    if (here == NULL)
        return WEFT_MLX5_LOCAL_PROTECTION;
    request->address = here->address + (request->address - here->base);
    request->lkey = here->mr->lkey;
    return 0;
}

static bool begin_request(struct weft_softnic_queue *queue, struct weft_softnic_work *work)
{
    struct link *link = queue->context;
    struct weft_softnic_request request = work->request;
    const uint32_t syndrome = translate(link->job, queue->process, &request);

    if (syndrome == 0)
        return weft_rdma_post(&link->rdma, &request, work);
    weft_softnic_finish(work, syndrome);
    return true;
}

static bool proceed(struct weft_softnic_queue *queue)
{
    return weft_rdma_proceed(&((struct link *)queue->context)->rdma);
}

const struct weft_softnic_wire weft_assist_wire = {.begin = begin_request, .proceed = proceed};
