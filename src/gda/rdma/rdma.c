/* gda/rdma/rdma.c - see the header. */
#include "gda/rdma/rdma.h"

#include "base/say.h"
#include "net/verbs/memory.h"

#include <errno.h>
#include <string.h>

/* ---- memory of mlx5's queues: with its own address before it --------------------------------- */

static void *queue_alloc(struct ibv_pd *pd, void *context, size_t bytes, size_t alignment,
                         uint64_t type)
{
    const struct weft_rdma *rdma = context;
    const size_t least = alignment > 64 ? alignment : 64; /* which is how host_alloc aligns */
    unsigned char *const raw = rdma->host_ops->host_alloc(rdma->host, bytes + least);

    (void)pd, (void)type;
    if (raw == NULL)
        return NULL;
    const uintptr_t place = ((uintptr_t)raw + least) / least * least;
    ((void **)place)[-1] = raw;
    return (void *)place;
}

static void queue_free(struct ibv_pd *pd, void *context, void *memory, uint64_t type)
{
    const struct weft_rdma *rdma = context;

    (void)pd, (void)type;
    rdma->host_ops->host_free(rdma->host, ((void **)memory)[-1]);
}

weft_status weft_rdma_open(struct weft_rdma *rdma, const char *wanted, int process,
                           const struct weft_device_ops *host_ops, struct weft_device *host)
{
    *rdma = (struct weft_rdma){.host_ops = host_ops, .host = host};
    const weft_status status = weft_verbs_device_open(&rdma->device, wanted, process);
    if (status != WEFT_OK)
        return status;
    rdma->pd = ibv_alloc_pd(rdma->device.context);
    if (rdma->pd != NULL && weft_rdma_mlx5_missing(&rdma->device) == NULL) {
        struct ibv_parent_domain_init_attr attr = {.pd = rdma->pd,
                                                   .comp_mask =
                                                       IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
                                                       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
                                                   .alloc = queue_alloc,
                                                   .free = queue_free,
                                                   .pd_context = rdma};
        rdma->queues_pd = ibv_alloc_parent_domain(rdma->device.context, &attr);
        if (rdma->queues_pd != NULL)
            return WEFT_OK;
    } else if (rdma->pd != NULL) {
        return WEFT_OK;
    }
    weft_err_say(WEFT_ERR_NETWORK, "%s gives no protection domain: %s", rdma->device.name,
                 strerror(errno));
    weft_rdma_close(rdma);
    return WEFT_ERR_NETWORK;
}

void weft_rdma_close(struct weft_rdma *rdma)
{
    WEFT_VERBS_CLOSE(ibv_dealloc_pd, rdma->queues_pd);
    WEFT_VERBS_CLOSE(ibv_dealloc_pd, rdma->pd);
    weft_verbs_device_close(&rdma->device);
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* Of mlx5's nobody tells the device what was taken: it must not mind. */
static struct ibv_cq *make_cq(const struct weft_rdma *rdma, uint32_t slots)
{
    struct ibv_cq_init_attr_ex attr = {.cqe = slots - 1, /* it has one more */
                                       .comp_mask =
                                           IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD,
                                       .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
                                       .parent_domain = rdma->queues_pd};

    if (rdma->queues_pd == NULL)
        return ibv_create_cq(rdma->device.context, (int)slots, NULL, NULL, 0);
    struct ibv_cq_ex *cq = ibv_create_cq_ex(rdma->device.context, &attr);
    return cq != NULL ? ibv_cq_ex_to_cq(cq) : NULL;
}

weft_status weft_rdma_queue_open(struct weft_rdma_queue *queue, struct weft_rdma *rdma,
                                 uint32_t slots, uint32_t receives)
{
    struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = slots,
                                            .max_recv_wr = receives,
                                            .max_send_sge = 1,
                                            .max_recv_sge = receives != 0,
                                            .max_inline_data = WEFT_MLX5_INLINE_MOST},
                                    .qp_type = IBV_QPT_RC};
    int error;

    *queue = (struct weft_rdma_queue){.rdma = rdma};
    attr.send_cq = queue->cq = make_cq(rdma, slots);
    if (receives != 0)
        queue->receives = ibv_create_cq(rdma->device.context, (int)receives, NULL, NULL, 0);
    attr.recv_cq = receives != 0 ? queue->receives : queue->cq;
    if (queue->cq != NULL && attr.recv_cq != NULL)
        queue->qp = ibv_create_qp(rdma->queues_pd != NULL ? rdma->queues_pd : rdma->pd, &attr);
    error = errno;
    if (queue->qp != NULL)
        error = weft_verbs_rc_start(&rdma->device, queue->qp,
                                    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                        IBV_ACCESS_REMOTE_ATOMIC);
    if (queue->qp != NULL && error == 0)
        return WEFT_OK;
    weft_err_say(WEFT_ERR_NETWORK, "%s gives no queue of %u slots: %s", rdma->device.name, slots,
                 strerror(error));
    weft_rdma_queue_close(queue);
    return WEFT_ERR_NETWORK;
}

weft_status weft_rdma_queue_join(struct weft_rdma_queue *queue, const struct weft_verbs_address *to,
                                 uint32_t qpn, int timeout)
{
    const int error = weft_verbs_rc_connect(&queue->rdma->device, queue->qp, to,
                                            (struct weft_verbs_ends){.remote_qpn = qpn}, timeout);

    return error == 0 ? WEFT_OK
                      : weft_err(WEFT_ERR_NETWORK, "a queue of %s cannot be connected: %s",
                                 queue->rdma->device.name, strerror(error));
}

void weft_rdma_queue_close(struct weft_rdma_queue *queue)
{
    WEFT_VERBS_CLOSE(ibv_destroy_qp, queue->qp);
    WEFT_VERBS_CLOSE(ibv_destroy_cq, queue->cq);
    WEFT_VERBS_CLOSE(ibv_destroy_cq, queue->receives);
    *queue = (struct weft_rdma_queue){0};
}
