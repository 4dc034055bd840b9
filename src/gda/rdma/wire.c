/* gda/rdma/wire.c - the software NIC's wire onto a device: each request is posted to a connection,
 * which keeps the order, and its completion finishes it. One thread at a time. */
#include "gda/rdma/rdma.h"

#include <arpa/inet.h>
#include <errno.h>

enum { AT_ONCE = 16 };

static enum ibv_wr_opcode opcode_of(uint32_t opcode)
{
    switch (opcode) {
    case WEFT_MLX5_WRITE:
        return IBV_WR_RDMA_WRITE;
    case WEFT_MLX5_WRITE_IMM:
        return IBV_WR_RDMA_WRITE_WITH_IMM;
    case WEFT_MLX5_SEND:
        return IBV_WR_SEND;
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
                             .send_flags = IBV_SEND_SIGNALED | (inside ? IBV_SEND_INLINE : 0u),
                             .imm_data = htonl(request->immediate)};
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

static bool begin_request(struct weft_softnic_queue *queue, struct weft_softnic_work *work)
{
    return weft_rdma_post(queue->context, &work->request, work);
}

static bool proceed(struct weft_softnic_queue *queue)
{
    return weft_rdma_proceed(queue->context);
}

const struct weft_softnic_wire weft_rdma_wire = {.begin = begin_request, .proceed = proceed};
