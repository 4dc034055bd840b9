/*
 * gda/rdma/rdma.c - see the header. The device keeps the order of requests, and executes them; each
 * has a completion, which finishes it.
 */
#include "gda/rdma/rdma.h"

#include "base/say.h"
#include "net/verbs/memory.h"

#include <errno.h>
#include <string.h>

enum { AT_ONCE = 16 };

weft_status weft_rdma_queue_open(struct weft_rdma_queue *queue,
                                 const struct weft_verbs_device *device, struct ibv_pd *pd,
                                 uint32_t slots)
{
    struct ibv_qp_init_attr attr = {
        .cap = {.max_send_wr = slots, .max_send_sge = 1, .max_inline_data = WEFT_MLX5_INLINE_MOST},
        .qp_type = IBV_QPT_RC};
    int error;

    *queue = (struct weft_rdma_queue){.device = device};
    queue->cq = ibv_create_cq(device->context, (int)slots, NULL, NULL, 0);
    attr.send_cq = attr.recv_cq = queue->cq;
    if (queue->cq != NULL)
        queue->qp = ibv_create_qp(pd, &attr);
    error = errno;
    if (queue->qp != NULL)
        error = weft_verbs_rc_start(device, queue->qp,
                                    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                        IBV_ACCESS_REMOTE_ATOMIC);
    if (queue->qp != NULL && error == 0)
        return WEFT_OK;
    weft_err_say(WEFT_ERR_NETWORK, "%s gives no queue of %u slots: %s", device->name, slots,
                 strerror(error));
    weft_rdma_queue_close(queue);
    return WEFT_ERR_NETWORK;
}

weft_status weft_rdma_queue_join(struct weft_rdma_queue *queue, const struct weft_verbs_address *to,
                                 uint32_t qpn, int timeout)
{
    const int error = weft_verbs_rc_connect(queue->device, queue->qp, to,
                                            (struct weft_verbs_ends){.remote_qpn = qpn}, timeout);

    return error == 0 ? WEFT_OK
                      : weft_err(WEFT_ERR_NETWORK, "a queue of %s cannot be connected: %s",
                                 queue->device->name, strerror(error));
}

void weft_rdma_queue_close(struct weft_rdma_queue *queue)
{
    WEFT_VERBS_CLOSE(ibv_destroy_qp, queue->qp);
    WEFT_VERBS_CLOSE(ibv_destroy_cq, queue->cq);
    *queue = (struct weft_rdma_queue){0};
}

/* ---- requests -------------------------------------------------------------------------------- */

static enum ibv_wr_opcode opcode_of(uint32_t opcode)
{
    switch (opcode) {
    case WEFT_MLX5_WRITE:
        return IBV_WR_RDMA_WRITE;
    case WEFT_MLX5_READ:
        return IBV_WR_RDMA_READ;
    case WEFT_MLX5_FETCH_ADD:
        return IBV_WR_ATOMIC_FETCH_AND_ADD;
    default:
        return IBV_WR_ATOMIC_CMP_AND_SWP;
    }
}

/* What verbs say of a request, as the card would. */
static uint32_t syndrome_of(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_SUCCESS:
        return 0;
    case IBV_WC_LOC_LEN_ERR:
        return WEFT_MLX5_LOCAL_LENGTH;
    case IBV_WC_LOC_PROT_ERR:
        return WEFT_MLX5_LOCAL_PROTECTION;
    case IBV_WC_WR_FLUSH_ERR:
        return WEFT_MLX5_FLUSHED;
    case IBV_WC_REM_INV_REQ_ERR:
        return WEFT_MLX5_REMOTE_REQUEST;
    case IBV_WC_REM_ACCESS_ERR:
        return WEFT_MLX5_REMOTE_ACCESS;
    case IBV_WC_REM_OP_ERR:
        return WEFT_MLX5_REMOTE_OPERATION;
    case IBV_WC_RETRY_EXC_ERR:
        return WEFT_MLX5_RETRIES;
    default:
        return WEFT_MLX5_LOCAL_OPERATION;
    }
}

bool weft_rdma_post(struct weft_rdma_queue *queue, const struct weft_softnic_request *request,
                    struct weft_softnic_work *work)
{
    const bool inside = request->inside != NULL;
    struct ibv_sge data = {.addr = inside ? (uintptr_t)request->inside : request->address,
                           .length = request->bytes,
                           .lkey = request->lkey};
    struct ibv_send_wr wr = {.wr_id = (uintptr_t)work,
                             .sg_list = &data,
                             .num_sge = 1,
                             .opcode = opcode_of(request->opcode),
                             .send_flags = IBV_SEND_SIGNALED | (inside ? IBV_SEND_INLINE : 0u)};
    struct ibv_send_wr *bad;

    if (request->opcode == WEFT_MLX5_FETCH_ADD || request->opcode == WEFT_MLX5_COMPARE_SWAP) {
        const bool add = request->opcode == WEFT_MLX5_FETCH_ADD;
        wr.wr.atomic.remote_addr = request->remote;
        wr.wr.atomic.rkey = request->rkey;
        wr.wr.atomic.compare_add = add ? request->value : request->compare;
        wr.wr.atomic.swap = request->value;
    } else {
        wr.wr.rdma.remote_addr = request->remote;
        wr.wr.rdma.rkey = request->rkey;
    }
    const int error = ibv_post_send(queue->qp, &wr, &bad);
    if (error == ENOMEM)
        return false;
    if (error != 0)
        weft_softnic_finish(work, WEFT_MLX5_LOCAL_OPERATION);
    else
        queue->under_way++;
    return true;
}

bool weft_rdma_proceed(struct weft_rdma_queue *queue)
{
    struct ibv_wc wc[AT_ONCE];
    const bool waits = queue->under_way != 0; /* completions ring no bell */
    int count;

    while ((count = ibv_poll_cq(queue->cq, AT_ONCE, wc)) > 0)
        for (int i = 0; i < count; i++) {
            weft_softnic_finish((struct weft_softnic_work *)(uintptr_t)wc[i].wr_id,
                                syndrome_of(wc[i].status));
            queue->under_way--;
        }
    return waits;
}
