/*
 * net/peer/lost.c - connections that break while both processes live on.
 *
 * Some breaks a transport reports. Others nobody does: a packet that was copied into a library is
 * gone, and the next one goes by a new connection. So a sender tells how many packets it has sent,
 * and a target that stays behind for WEFT_SILENCE_S has lost one. The control channel tells of a
 * process that is lost before.
 */
#include "net/peer/inside.h"

#include "base/say.h"
#include "order/atomic.h"

#include <stdio.h>

static const uint64_t ask_every = 1000000000;
enum { LOOK_EVERY = 64 /* rounds of a task that never sleeps */ };

static uint64_t patience(const struct weft_net *net)
{
    return (uint64_t)net->open.config->silence_s * 1000000000;
}

void weft_peer_ring(const struct weft_net *net, enum weft_net_side side)
{
    struct weft_bell *bell = weft_net_bell(net, side);

    if (bell != NULL)
        weft_bell_ring(bell);
}

bool weft_peer_sleeps(const struct weft_net *net, enum weft_net_side side)
{
    const struct weft_bell *bell = weft_net_bell(net, side);

    return bell != NULL && weft_bell_has_sleeper(bell);
}

void weft_peer_lose(struct weft_net *net, int process, const char *why)
{
    struct weft_peer *peer = &net->peers[process];

    if (peer->lost_at != 0)
        return;
    peer->lost_at = weft_now_ns();
    net->lost++;
    snprintf(peer->lost_why, sizeof(peer->lost_why), "%s", why);
    weft_say(WEFT_SAY_INFO, "%s: the connection to process %d broke: %s", net->ops->name, process,
             why);
}

/* Returns PEER_LOST if a connection broke too long ago. */
static weft_status lost_long(const struct weft_net *net)
{
    for (int p = 0; p < net->open.processes && net->lost > 0; p++)
        if (net->peers[p].lost_at != 0 && weft_now_ns() - net->peers[p].lost_at >= patience(net))
            return weft_err(WEFT_ERR_PEER_LOST, "%s: the connection to process %d broke: %s",
                            net->ops->name, p, net->peers[p].lost_why);
    return WEFT_OK;
}

weft_status weft_peer_ask_again(struct weft_net *net)
{
    weft_status status = lost_long(net);

    if (net->busy_count == 0 ||
        (!weft_peer_sleeps(net, WEFT_NET_SEND) && ++net->idle_rounds % LOOK_EVERY != 0))
        return status;
    const uint64_t now = weft_now_ns();
    for (uint32_t i = 0; i < net->busy_count && status == WEFT_OK; i++) {
        struct weft_peer *peer = &net->peers[net->busy[i]];
        if (peer->acked == peer->number || peer->acked != peer->stuck_at ||
            peer->stuck_since == 0) {
            peer->stuck_at = peer->acked;
            peer->stuck_since = now;
        } else if (now - peer->stuck_since >= ask_every) {
            peer->stuck_since = now;
            peer->asks = true; /* weft_peer_drive sends it */
        }
    }
    return status;
}

weft_status weft_peer_check_missing(struct weft_net *net, int process, uint32_t packets)
{
    struct weft_peer *peer = &net->peers[process];
    const uint32_t delivered = weft_load_relaxed_u32(&peer->delivered);
    const uint64_t now = weft_now_ns();
    const bool behind = (int32_t)(packets - delivered) > 0;

    if (!behind || peer->behind_since == 0 || peer->behind_at != delivered)
        peer->behind_since = behind ? now : 0;
    else if (now - peer->behind_since >= patience(net))
        return weft_err(WEFT_ERR_PEER_LOST,
                        "%s: process %d has sent %u packets, and number %u has not come for %.1f "
                        "s: the connection broke",
                        net->ops->name, process, packets, delivered + 1,
                        1e-9 * (double)(now - peer->behind_since));
    peer->behind_at = delivered;
    return WEFT_OK;
}
