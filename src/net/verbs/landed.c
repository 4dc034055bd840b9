/*
 * net/verbs/landed.c - completions and acknowledgements become `sent` and `landed`. Progress thread
 * only.
 *
 * A request that fails breaks its connection for good, and with it the job: what was behind it is
 * lost. The first failure says why; those of the requests behind it say nothing new.
 */
#include "net/verbs/state.h"

#include "base/say.h"
#include "net/receipt.h"

enum { PORT_NS = 200000000 };

/* The piece whose request this was, and its process; NULL: none's. */
static const struct weft_verbs_piece *find_piece(const struct weft_net *net,
                                                 const struct weft_verbs_queue *queue,
                                                 uint32_t sequence, int *process)
{
    for (uint32_t b = 0; b < net->busy_count; b++) {
        const struct weft_verbs_sender *sender = net->peers[net->busy[b]].sender;
        if (sender->queue != queue)
            continue;
        *process = net->busy[b];
        for (uint32_t i = sender->landed; i != sender->made; i++) {
            const struct weft_verbs_piece *piece = &sender->pieces[i % net->pieces_most];
            if (!piece->empty && piece->sequence == sequence)
                return piece;
        }
    }
    return NULL;
}

/* The receive side tells the target what its device has refused; here it is an error, too. */
static weft_status refused(struct weft_net *net, int process, const struct weft_verbs_piece *piece)
{
    struct weft_verbs_refusal *refusal = &net->refusal;

    refusal->process = process;
    refusal->key = piece->key;
    refusal->offset = piece->offset;
    refusal->bytes = piece->bytes;
    __atomic_store_n(&refusal->pending, 1, __ATOMIC_RELEASE);
    return weft_err(WEFT_ERR_PROTOCOL,
                    "verbs: the device of process %d refused %llu bytes at offset %llu of key "
                    "0x%llx, which is no region of that process",
                    process, (unsigned long long)piece->bytes, (unsigned long long)piece->offset,
                    (unsigned long long)piece->key);
}

/*
 * Whether the port has gone down: then a request may fail in other ways than for want of an answer.
 * The device may say so a moment after the request that it could not send (soft-RoCE).
 */
static bool port_is_down(struct weft_net *net)
{
    const uint64_t deadline = weft_now_ns() + PORT_NS;
    struct ibv_port_attr now;

    do {
        if (ibv_query_port(net->device.context, net->device.port, &now) != 0 ||
            now.state != IBV_PORT_ACTIVE)
            return true;
        weft_task_yield(true);
    } while (weft_now_ns() < deadline);
    return false;
}

static weft_status failed(struct weft_net *net, const struct ibv_wc *wc)
{
    const uint32_t index = weft_verbs_id_queue(wc->wr_id);
    const struct weft_verbs_queue *queue = index < net->queues_count ? net->queues[index] : NULL;

    if (queue == NULL)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s: %s on queue %u, which is not there",
                        net->device.name, ibv_wc_status_str(wc->status), index);
    int process = queue->process;
    const struct weft_verbs_piece *piece =
        find_piece(net, queue, weft_verbs_id_sequence(wc->wr_id), &process);
    switch (wc->status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
        return weft_err(WEFT_ERR_PEER_LOST, "verbs: process %d does not answer: %s, through %s",
                        process, ibv_wc_status_str(wc->status), net->device.name);
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
        if (piece != NULL)
            return refused(net, process, piece);
        /* fall through */
    default:
        if (port_is_down(net))
            return weft_err(WEFT_ERR_PEER_LOST,
                            "verbs: process %d cannot be reached any more: %s is down (%s)",
                            process, net->device.name, ibv_wc_status_str(wc->status));
        return weft_err(WEFT_ERR_NETWORK, "verbs: a request to process %d failed on %s: %s (0x%x)",
                        process, net->device.name, ibv_wc_status_str(wc->status), wc->vendor_err);
    }
}

weft_status weft_verbs_poll_completions(struct weft_net *net, bool *did)
{
    struct ibv_wc wc[WEFT_VERBS_POLL];
    const int count = ibv_poll_cq(net->send_cq, WEFT_VERBS_POLL, wc);
    weft_status status = WEFT_OK;

    if (count < 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: completions of %s cannot be had",
                        net->device.name);
    for (int i = 0; i < count && status == WEFT_OK; i++) {
        net->counts.completions++;
        *did = true;
        status = wc[i].status == IBV_WC_SUCCESS ? weft_verbs_queue_complete(net, wc[i].wr_id)
                                                : failed(net, &wc[i]);
    }
    return status;
}

/* What the target has told of: written into our memory by its device. */
weft_status weft_verbs_read_ack(struct weft_net *net, int process, struct weft_verbs_sender *sender)
{
    const uint64_t word = __atomic_load_n((const uint64_t *)net->words + process, __ATOMIC_ACQUIRE);
    const uint32_t count = (uint32_t)word;

    if (!weft_verbs_ack_whole(word) || count == sender->acked)
        return WEFT_OK;
    if (weft_receipt_check(sender->acked, sender->told, count) != WEFT_RECEIPT_NEW)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "verbs: process %d acknowledged %u receives, %u to %u are under way",
                        process, count, sender->acked, sender->told);
    sender->acked = count;
    if (weft_verbs_reached(count, sender->message))
        sender->message = count; /* never so far behind that it seems ahead */
    return WEFT_OK;
}

static void release(struct weft_net *net, struct weft_verbs_piece *piece)
{
    if (piece->slot >= 0)
        net->slots.free[net->slots.left++] = piece->slot;
    WEFT_VERBS_CLOSE(ibv_dereg_mr, piece->mr);
    piece->mr = NULL;
    if (piece->last && !piece->sent)
        net->open.events.sent(net->open.events.context, piece->cookie);
}

/*
 * Landed: with a notice, when the target's receive thread has counted it, which it tells; without,
 * when a read behind it is complete (queue.c), or a later notice has been counted.
 */
static bool has_landed(const struct weft_verbs_sender *sender, const struct weft_verbs_piece *piece)
{
    if (piece->empty)
        return true; /* those before it have */
    if (piece->notified)
        return weft_verbs_reached(sender->acked, piece->told);
    return piece->complete || weft_verbs_reached(sender->queue->fenced, piece->sequence) ||
           (sender->acked != piece->told && weft_verbs_reached(sender->acked, piece->told));
}

void weft_verbs_report(struct weft_net *net, struct weft_verbs_sender *sender, bool *did)
{
    while (sender->released != sender->made) {
        struct weft_verbs_piece *piece = &sender->pieces[sender->released % net->pieces_most];
        if (piece->waits && !piece->complete &&
            !weft_verbs_reached(sender->queue->done, piece->sequence))
            break;
        release(net, piece);
        sender->released++;
        *did = true;
    }
    while (sender->landed != sender->released) {
        const struct weft_verbs_piece *piece = &sender->pieces[sender->landed % net->pieces_most];
        if (!has_landed(sender, piece))
            break;
        sender->landed++;
        *did = true;
        if (piece->last)
            net->open.events.landed(net->open.events.context, piece->cookie);
    }
}
