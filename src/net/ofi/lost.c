/*
 * net/ofi/lost.c - connections that break while both processes live on. Lock held.
 *
 * Some breaks libfabric reports, for what was under way. Others nobody does: a message that was
 * copied into the provider is gone, and the next one goes by a new connection. So a sender tells
 * how many it has sent, and a target that stays behind for WEFT_SILENCE_S has lost one.
 */
#include "net/ofi/inside.h"

#include "base/say.h"

#include <stdio.h>

static const uint64_t ask_every = 1000000000;
enum { LOOK_EVERY = 4096 /* rounds of a task that never sleeps */ };

/* The control channel tells of a process that is lost before. */
static uint64_t patience(const struct weft_net *net)
{
    return (uint64_t)net->open.config->silence_s * 1000000000;
}

void weft_ofi_lost(struct weft_net *net, int process, int err)
{
    struct weft_ofi_peer *peer = &net->peers[process];

    if (peer->lost_at != 0)
        return;
    peer->lost_at = weft_now_ns();
    net->lost++;
    snprintf(peer->lost_why, sizeof(peer->lost_why), "%s", weft_ofi_error(err));
    weft_say(WEFT_SAY_INFO, "ofi: the connection to process %d broke: %s", process, peer->lost_why);
}

weft_status weft_ofi_lost_long(struct weft_net *net, int process)
{
    const struct weft_ofi_peer *peer = &net->peers[process];

    if (peer->lost_at == 0 || weft_now_ns() - peer->lost_at < patience(net))
        return WEFT_OK;
    return weft_err(WEFT_ERR_PEER_LOST, "ofi: the connection to process %d broke: %s", process,
                    peer->lost_why);
}

/* The op after those that have been sent entirely may be a put in parts: messages, or berths. */
uint32_t weft_ofi_sent(const struct weft_ofi_peer *peer)
{
    const struct weft_ofi_op *op = peer->first;
    uint32_t sent = peer->received;

    for (; op != NULL && op->issued && op->sent; op = op->next)
        sent = op->event + 1;
    if (op == NULL || !peer->active || op != peer->current.cookie)
        return sent;
    if (!peer->docks)
        return peer->events;
    for (op = peer->quay.first; op != NULL && op->issued && op->sent; op = op->next)
        sent = (int32_t)(op->event + 1 - sent) > 0 ? op->event + 1 : sent;
    return sent;
}

static void tell_sent(struct weft_net *net, int process, uint64_t now)
{
    struct weft_ofi_peer *peer = &net->peers[process];
    struct weft_ofi_header header = {.kind = WEFT_OFI_RECEIPT};

    if (weft_ofi_sent(peer) == peer->received || peer->received != peer->stuck_at ||
        peer->stuck_since == 0) {
        peer->stuck_at = peer->received;
        peer->stuck_since = now;
    } else if (now - peer->stuck_since >= ask_every) {
        peer->ask_receipt = true;
        if (weft_ofi_send(net, process, &header, NULL, 0))
            peer->stuck_since = now;
    }
}

void weft_ofi_tell_sent(struct weft_net *net)
{
    if (net->flying == 0 ||
        (!weft_ofi_about_to_sleep(net, WEFT_NET_SEND) && ++net->idle_rounds % LOOK_EVERY != 0))
        return;
    const uint64_t now = weft_now_ns();
    for (int p = 0; p < net->open.processes; p++)
        tell_sent(net, p, now);
}

weft_status weft_ofi_told_sent(struct weft_net *net, int process, uint32_t events)
{
    struct weft_ofi_peer *peer = &net->peers[process];
    const uint64_t now = weft_now_ns();
    const bool behind = (int32_t)(events - peer->applied) > 0;

    if (peer->owed_since == 0) { /* it asks: the receipt that it was told may be lost, too */
        peer->owed_since = now;
        net->owing++;
    }
    if (!behind || peer->behind_since == 0 || peer->behind_at != peer->applied) {
        peer->behind_since = behind ? now : 0;
        peer->behind_at = peer->applied;
    } else if (now - peer->behind_since >= patience(net)) {
        return weft_err(WEFT_ERR_PEER_LOST,
                        "ofi: process %d has sent %u messages and writes, and number %u has not "
                        "come for %.1f s: the connection broke",
                        process, events, peer->applied + 1,
                        1e-9 * (double)(now - peer->behind_since));
    }
    return WEFT_OK;
}
