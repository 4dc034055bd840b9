/*
 * net/verbs/ack.c - acknowledgements. After each round the receiver writes, for each process that
 * it has received from, how many receives have taken effect, into a word of that process's memory.
 * That costs one request for a round, not for a put, and nobody at the other end. Receive thread,
 * except opening and closing.
 */
#include "net/verbs/dc/dc.h"

#include "base/say.h"

void weft_verbs_owe(struct weft_net *net, int process, uint32_t count)
{
    struct weft_verbs_responder *responder = net->peers[process].responder;

    responder->arrived = count;
    if (!responder->owed) {
        responder->owed = true;
        net->owed[net->owed_count++] = process;
    }
}

static int post_ack(struct weft_net *net, int process, struct weft_verbs_responder *responder)
{
    const struct weft_verbs_address *to = &net->peers[process].address;
    const uint64_t word = weft_verbs_ack(responder->arrived);
    struct weft_verbs_request r;
    struct ibv_send_wr *bad;

    weft_verbs_request_write(&r, to->words + (uint64_t)net->open.process * sizeof(word),
                             to->words_key, 0);
    weft_verbs_request_gather(&r, (uint64_t)(uintptr_t)&word, sizeof(word), 0);
    r.wr.wr_id = (uint64_t)process << 32 | ++responder->posted;
    r.wr.send_flags = IBV_SEND_INLINE;
    if (responder->posted % (WEFT_VERBS_ACKS / 4) == 0 || net->dc != NULL) {
        r.wr.send_flags |= IBV_SEND_SIGNALED;
        net->acks_under_way++;
    }
    net->counts.acks++;
    return net->dc != NULL ? net->dc_ops->ack(net, process, &r.wr)
                           : ibv_post_send(responder->qp, &r.wr, &bad);
}

/* Those that find no room stay owed: a later one says the same and more. */
void weft_verbs_send_acks(struct weft_net *net, bool *did)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < net->owed_count; i++) {
        const int process = net->owed[i];
        struct weft_verbs_responder *responder = net->peers[process].responder;
        const bool room = responder->posted - responder->done < WEFT_VERBS_ACKS - 1 &&
                          net->acks_under_way + WEFT_VERBS_ACKS < net->ack_cq_most;
        if (!room && !responder->dead) {
            net->owed[kept++] = process;
            continue;
        }
        responder->owed = false;
        if (!responder->dead)
            responder->dead = post_ack(net, process, responder) != 0;
        *did = true;
    }
    net->owed_count = kept;
}

/*
 * An acknowledgement that does not arrive is no error of this process: one that is gone needs none,
 * and one that is not finds out when it puts.
 */
void weft_verbs_poll_acks(struct weft_net *net)
{
    struct ibv_wc wc[WEFT_VERBS_POLL];
    const int count = ibv_poll_cq(net->ack_cq, WEFT_VERBS_POLL, wc);

    for (int i = 0; i < count; i++) {
        if (wc[i].wr_id == WEFT_VERBS_DATAGRAM) {
            weft_verbs_datagram_sent(net);
            continue;
        }
        const uint64_t process = wc[i].wr_id >> 32;
        struct weft_verbs_responder *responder =
            process < (uint64_t)net->open.processes ? net->peers[process].responder : NULL;
        net->acks_under_way -= net->acks_under_way > 0;
        if (responder == NULL)
            continue;
        responder->done = (uint32_t)wc[i].wr_id;
        if (wc[i].status != IBV_WC_SUCCESS && !responder->dead) {
            responder->dead = true;
            weft_say(WEFT_SAY_INFO, "verbs: process %d takes no acknowledgements any more: %s",
                     (int)process, ibv_wc_status_str(wc[i].status));
        }
    }
}
