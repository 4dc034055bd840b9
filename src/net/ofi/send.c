/*
 * net/ofi/send.c - puts and gets: which way each goes (README.md). Runs in the progress task, under
 * the network's lock.
 *
 * Writes and messages are events of one sequence, so notices keep their order. Data of a write
 * lands by itself: a put whose write could get there before data of an earlier put is messages,
 * which the receiver stores in order.
 */
#include "net/ofi/inside.h"

#include "base/say.h"

#include <stdlib.h>

enum { SMALL = 8 };

/* ---- ops ------------------------------------------------------------------------------------- */

struct weft_ofi_op *weft_ofi_new_op(struct weft_net *net, const struct weft_net_put *put)
{
    struct weft_ofi_op *op = net->free_ops;

    if (op != NULL) {
        net->free_ops = op->next;
    } else {
        op = calloc(1, sizeof(*op));
        if (op == NULL)
            return NULL;
        op->made_before = net->made_ops;
        net->made_ops = op;
    }
    const uint64_t apart = put->rows > 1 ? (put->rows - 1) * put->pitch : 0;
    *op = (struct weft_ofi_op){.context = {.what = WEFT_OFI_OP},
                               .made_before = op->made_before,
                               .cookie = put->cookie,
                               .process = put->process,
                               .key = put->key,
                               .at = put->offset,
                               .end = put->offset + apart + put->bytes};
    return op;
}

void weft_ofi_free_op(struct weft_net *net, struct weft_ofi_op *op)
{
    op->next = net->free_ops;
    net->free_ops = op;
}

void weft_ofi_close_ops(struct weft_net *net)
{
    while (net->made_ops != NULL) {
        struct weft_ofi_op *op = net->made_ops;
        net->made_ops = op->made_before;
        free(op);
    }
}

static void append(struct weft_net *net, struct weft_ofi_peer *peer, struct weft_ofi_op *op)
{
    op->next = NULL;
    *peer->last = op;
    peer->last = &op->next;
    net->flying++;
}

/* ---- which way ------------------------------------------------------------------------------- */

/* Whether [at, end) of the target's memory is what an earlier put changes, or could be. */
static bool meets(struct weft_net *net, const struct weft_ofi_op *op,
                  const struct weft_net_put *put, uint64_t at, uint64_t end)
{
    uint64_t base = 0;

    if (!op->place_known && op->key == put->key)
        return op->at < put->offset + put->bytes && put->offset < op->end;
    if (!op->place_known) { /* regions may overlap: where is its one? */
        const struct weft_ofi_place *place = weft_ofi_remote(net, put->process, op->key);
        if (place == NULL)
            return true;
        base = place->address;
    }
    return base + op->at < end && at < base + op->end;
}

/* Whether a write could change memory before an earlier put does that it should come after. */
static bool could_overtake(struct weft_net *net, const struct weft_ofi_place *place,
                           const struct weft_net_put *put)
{
    const struct weft_ofi_peer *peer = &net->peers[put->process];
    const uint64_t at = place->address + put->offset, end = at + put->bytes;
    const bool writes_too = !net->can.ordered_writes || put->bytes > net->can.ordered_most;

    if (peer->loose == 0 && !writes_too)
        return false;
    for (const struct weft_ofi_op *op = peer->first; op != NULL; op = op->next) {
        if (op->at != op->end && (writes_too || weft_ofi_is_loose(net, op)) &&
            meets(net, op, put, at, end))
            return true;
    }
    return false;
}

/*
 * Whether the target can tell the number of a write that is issued now from its low bits: it comes
 * before or after at most so many events that could be missing then. Those are messages, which may
 * wait for receive buffers while a write waits for nothing; and writes, unless they are ordered,
 * which all are that are not loose.
 */
static bool tellable(const struct weft_net *net, const struct weft_ofi_peer *peer)
{
    return (peer->messages == 0 && peer->loose == 0 && net->can.ordered_writes) ||
           peer->events - peer->received < net->can.spread;
}

/* Where to write this put; false: send it as messages. */
static bool writable(struct weft_net *net, const struct weft_net_put *put,
                     struct weft_ofi_place *place, void **descriptor)
{
    const struct weft_ofi_place *known;

    if (net->can.form == WEFT_OFI_NO_DATA || !net->can.direct || put->bytes <= SMALL ||
        put->bytes < net->can.write_from || put->bytes > net->info->ep_attr->max_msg_size)
        return false;
    if (put->place[0] != 0) {
        *place = (struct weft_ofi_place){.address = put->place[0],
                                         .bytes = put->offset + put->bytes,
                                         .mr_key = put->place[1],
                                         .exposed = true};
    } else {
        known = weft_ofi_remote(net, put->process, put->key);
        if (known == NULL)
            return false;
        *place = *known; /* other questions may take its entry */
    }
    return place->exposed && put->offset <= place->bytes &&
           put->bytes <= place->bytes - put->offset && !could_overtake(net, place, put) &&
           weft_ofi_descriptor(net, put->source, put->bytes, descriptor);
}

static uint64_t remote_address(const struct weft_net *net, const struct weft_ofi_place *place,
                               uint64_t offset)
{
    return net->can.virtual_addresses ? place->address + offset : offset;
}

/* ---- puts ------------------------------------------------------------------------------------ */

static weft_status write_put(struct weft_net *net, const struct weft_net_put *put,
                             const struct weft_ofi_place *place, void *descriptor, uint64_t data)
{
    struct weft_ofi_peer *peer = &net->peers[put->process];
    struct weft_ofi_op *op = weft_ofi_new_op(net, put);

    if (op == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory for %u puts under way", net->flying);
    const ssize_t result =
        fi_writedata(net->ep, put->source, put->bytes, descriptor, data, peer->address,
                     remote_address(net, place, put->offset), place->mr_key, &op->context);
    if (!weft_ofi_taken(net, put->process, result)) {
        weft_ofi_free_op(net, op);
        return WEFT_NET_FULL; /* also for whom it has lost, until the job ends */
    }
    op->at = place->address + put->offset;
    op->end = op->at + put->bytes;
    op->place_known = true;
    op->event = peer->events++;
    op->issued = true;
    append(net, peer, op);
    peer->loose += weft_ofi_is_loose(net, op);
    net->outstanding++;
    net->writes++;
    return WEFT_OK;
}

static weft_status message_put(struct weft_net *net, const struct weft_net_put *put)
{
    struct weft_ofi_peer *peer = &net->peers[put->process];
    struct weft_ofi_op *op = weft_ofi_new_op(net, put);
    bool did = false;

    if (op == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory for %u puts under way", net->flying);
    op->message = true;
    peer->docks = put->rows <= 1 && weft_ofi_docks(net, put);
    *(peer->docks ? &net->docked : &net->messages) += 1;
    peer->current = *put;
    peer->current.cookie = op;
    peer->done = 0;
    peer->active = true;
    append(net, peer, op);
    peer->messages++;
    peer->loose += weft_ofi_is_loose(net, op);
    return weft_ofi_pump(net, put->process, &did);
}

/* Short puts go as a message; long ones, which would be many, wait until they can be written. */
static weft_status rather_not_write(struct weft_net *net, const struct weft_net_put *put)
{
    net->peers[put->process].ask_receipt = true;
    return put->bytes < WEFT_OFI_MESSAGE_BYTES / 2 ? message_put(net, put) : WEFT_NET_FULL;
}

weft_status weft_ofi_put(struct weft_net *net, const struct weft_net_put *put)
{
    struct weft_ofi_peer *peer = &net->peers[put->process];
    struct weft_ofi_place place;
    void *descriptor;
    uint64_t data;
    weft_status status;

    weft_lock(&net->lock);
    if (peer->lost_at != 0) {
        status = weft_ofi_lost_long(net, put->process);
        status = status == WEFT_OK ? WEFT_NET_FULL : status;
    } else if (peer->active || peer->events - peer->received >= WEFT_OFI_WINDOW)
        status = WEFT_NET_FULL;
    else if (put->rows <= 1 && writable(net, put, &place, &descriptor) &&
             weft_ofi_data_pack(
                 net->can.form, net->open.processes,
                 &(struct weft_ofi_arrival){net->open.process, put->notice, peer->events}, &data))
        status = tellable(net, peer) ? write_put(net, put, &place, descriptor, data)
                                     : rather_not_write(net, put);
    else
        status = message_put(net, put);
    weft_unlock(&net->lock);
    return status;
}

weft_status weft_ofi_flush(struct weft_net *net, int process)
{
    weft_lock(&net->lock);
    net->peers[process].ask_receipt = net->peers[process].first != NULL;
    weft_unlock(&net->lock);
    return WEFT_OK;
}
