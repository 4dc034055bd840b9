/*
 * net/ofi/dock.c - long puts for memory that writes do not reach: that of a device.
 *
 * The target has a DOCK, pinned host memory that is registered with the provider. A sender asks
 * once for its share of it. It writes a piece of its put into a free part of the share, a berth,
 * and then says in a message which berth is for which window. Both are events, the message the
 * later one; so the target applies it when the data is in the berth, and has the device fetch it
 * from there. A receipt for the message says that the device has it all, and the berth is free.
 *
 * That is two operations for a piece, however long, where messages are a copy and an operation
 * for each 8 KiB at both ends. Many pieces are under way; order is that of the events.
 */
#include "net/ofi/inside.h"

#include "base/say.h"

#include <stdlib.h>

enum {
    PIECE_MOST = 1 << 20,  /* of a put; the device fetches one while the next is on its way */
    PIECES_LEAST = 4,      /* in a share */
    SHARE_LEAST = 1 << 16, /* smaller ones are not worth the trouble */
    SHARE_UNIT = 4096,
    ASKS = 8 /* for receipts, each time that the share is taken once */
};

/* ---- the target --------------------------------------------------------------------------------
 */

weft_status ofi_dock_open(struct weft_net *net)
{
    struct ofi_dock *dock = &net->dock;
    const size_t bytes = net->open.config->ofi_dock / SHARE_UNIT * SHARE_UNIT;
    uint64_t key;

    if (net->can.direct || net->can.form == OFI_NO_DATA || bytes < SHARE_LEAST)
        return WEFT_OK;
    dock->memory = aligned_alloc(SHARE_UNIT, bytes);
    if (dock->memory == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no %zu bytes for a dock (WEFT_OFI_DOCK)", bytes);
    dock->bytes = bytes;
    dock->share = bytes / (size_t)net->open.processes / SHARE_UNIT * SHARE_UNIT;
    if (dock->share < SHARE_LEAST)
        dock->share = SHARE_LEAST; /* for those who come first */
    if (net->open.events.pin != NULL)
        net->open.events.pin(net->open.events.context, dock->memory, bytes);
    if (!ofi_secret_key(net, &key))
        return weft_err(WEFT_ERR_SYSTEM, "ofi: no random numbers");
    const int error = ofi_register(net, dock->memory, bytes, FI_REMOTE_WRITE, key, &dock->mr);
    return error == 0 ? WEFT_OK
                      : weft_err(WEFT_ERR_NETWORK,
                                 "ofi: %s cannot register a dock of %zu bytes (WEFT_OFI_DOCK): %s",
                                 net->info->fabric_attr->prov_name, bytes, ofi_error(error));
}

void ofi_dock_close(struct weft_net *net)
{
    struct ofi_dock *dock = &net->dock;

    if (dock->memory != NULL && net->open.events.unpin != NULL)
        net->open.events.unpin(net->open.events.context, dock->memory);
    free(dock->memory);
}

void ofi_dock_describe(struct weft_net *net, int process, struct ofi_place *place)
{
    struct ofi_dock *dock = &net->dock;
    struct ofi_peer *peer = &net->peers[process];

    *place = (struct ofi_place){0};
    if (dock->memory == NULL || (!peer->berthed && dock->bytes - dock->given < dock->share))
        return;
    if (!peer->berthed) {
        peer->berthed = true;
        peer->berths_at = dock->given;
        dock->given += dock->share;
    }
    place->mr_key = fi_mr_key(dock->mr);
    place->address = (net->can.virtual_addresses ? (uintptr_t)dock->memory : 0) + peer->berths_at;
    place->bytes = dock->share;
    place->exposed = 1;
}

const unsigned char *ofi_berth(const struct weft_net *net, int process,
                               const struct ofi_berth *berth)
{
    const struct ofi_dock *dock = &net->dock;
    const struct ofi_peer *peer = &net->peers[process];

    if (!peer->berthed || berth->at > dock->share || berth->bytes > dock->share - berth->at)
        return NULL;
    return dock->memory + peer->berths_at + berth->at;
}

/* ---- the sender's share ------------------------------------------------------------------------
 */

static void ask(struct weft_net *net, int process)
{
    struct ofi_header header = {.kind = OFI_ASK, .key = OFI_DOCK_KEY};

    net->peers[process].share.asked = ofi_send(net, process, &header, NULL, 0);
}

void ofi_dock_told(struct weft_net *net, int process, const struct ofi_place *place)
{
    struct ofi_share *share = &net->peers[process].share;

    if (!share->asked || share->known)
        return;
    share->known = true;
    share->place = *place;
    if (place->exposed == 0 || place->bytes < SHARE_LEAST) {
        share->place.exposed = 0;
        weft_say(WEFT_SAY_INFO,
                 "ofi: process %d has no dock for this one (WEFT_OFI_DOCK): long puts there travel "
                 "as messages, slower",
                 process);
    }
}

bool ofi_docks(struct weft_net *net, const struct weft_net_put *put)
{
    struct ofi_share *share = &net->peers[put->process].share;
    void *descriptor;

    if (net->can.direct || net->can.form == OFI_NO_DATA ||
        put->bytes <= OFI_MESSAGE_BYTES - sizeof(struct ofi_header))
        return false;
    if (!share->asked)
        ask(net, put->process);
    return share->known && share->place.exposed != 0 &&
           ofi_descriptor(net, put->source, put->bytes, &descriptor);
}

static size_t piece_most(const struct weft_net *net, const struct ofi_share *share)
{
    size_t most = PIECE_MOST;

    if (most > share->place.bytes / PIECES_LEAST)
        most = share->place.bytes / PIECES_LEAST;
    if (most > net->info->ep_attr->max_msg_size)
        most = net->info->ep_attr->max_msg_size;
    return most;
}

/* Takes a berth, which does not go round the share's end. False: there is none now. */
static bool take_berth(struct ofi_share *share, size_t bytes)
{
    const uint64_t size = share->place.bytes, at = share->head % size;
    const uint64_t skip = at + bytes > size ? size - at : 0;

    if (share->head + skip + bytes - share->tail > size)
        return false;
    share->head += skip + bytes;
    share->berth = (struct ofi_berth){(share->head - bytes) % size, bytes};
    return true;
}

void ofi_berths_free(struct weft_net *net, struct ofi_peer *peer)
{
    struct ofi_share *share = &peer->share;
    struct ofi_op *piece;

    while ((piece = share->first) != NULL && piece->issued && piece->sent &&
           (int32_t)(peer->received - piece->event) > 0) {
        share->tail = piece->end;
        share->first = piece->next;
        ofi_free_op(net, piece);
    }
}

/* ---- pieces ------------------------------------------------------------------------------------
 */

/* The next piece of the put goes into a berth. FULL: no room now. */
static weft_status write_piece(struct weft_net *net, int process)
{
    struct ofi_peer *peer = &net->peers[process];
    struct ofi_share *share = &peer->share;
    const struct weft_net_put *put = &peer->current;
    const size_t left = put->bytes - peer->done, most = piece_most(net, share);
    const size_t bytes = left < most ? left : most;
    const uint64_t head = share->head;
    const struct ofi_arrival arrival = {net->open.process, 0, peer->events};
    uint64_t data;
    void *descriptor;

    /* The target tells the number of a write from its low bits. */
    if (peer->events - peer->received >= net->can.spread || !take_berth(share, bytes))
        return WEFT_NET_FULL;
    struct ofi_op *piece = ofi_new_op(net, put);
    if (piece == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory for %u puts under way", net->flying);
    const unsigned char *source = (const unsigned char *)put->source + peer->done;
    if (!ofi_data_pack(net->can.form, net->open.processes, &arrival, &data) ||
        !ofi_descriptor(net, source, bytes, &descriptor) ||
        !ofi_taken(net, process,
                   fi_writedata(net->ep, source, bytes, descriptor, data, peer->address,
                                share->place.address + share->berth.at, share->place.mr_key,
                                &piece->context))) {
        share->head = head;
        ofi_free_op(net, piece);
        return WEFT_NET_FULL;
    }
    piece->whole = put->cookie;
    piece->whole->unsent++;
    piece->end = share->head;
    piece->next = NULL;
    *(share->first != NULL ? &share->end->next : &share->first) = piece;
    share->end = piece;
    share->announce = true;
    peer->events++;
    net->outstanding++;
    return WEFT_OK;
}

/* Says what the piece that was written last is for. False: no room now. */
static bool announce(struct weft_net *net, int process)
{
    struct ofi_peer *peer = &net->peers[process];
    struct ofi_share *share = &peer->share;
    const struct weft_net_put *put = &peer->current;
    const bool last = peer->done + share->berth.bytes == put->bytes;
    const uint64_t unasked = share->unasked + share->berth.bytes;
    const bool asks = unasked >= share->place.bytes / ASKS || net->can.spread < OFI_WINDOW;
    struct ofi_header header = {.kind = OFI_DOCKED,
                                .flags = asks ? OFI_NOW : 0,
                                .event = peer->events,
                                .notice = last ? put->notice : 0,
                                .key = put->key,
                                .offset = put->offset + peer->done};

    if (!ofi_send(net, process, &header, &share->berth, sizeof(share->berth)))
        return false;
    share->unasked = asks ? 0 : unasked;
    share->announce = false;
    share->end->event = peer->events++;
    share->end->issued = true;
    peer->done += share->berth.bytes;
    if (last)
        ofi_all_issued(net, peer, header.event);
    return true;
}

weft_status ofi_pump_docked(struct weft_net *net, int process, bool *did)
{
    struct ofi_peer *peer = &net->peers[process];
    weft_status status = WEFT_OK;

    while (peer->active && status == WEFT_OK) {
        if (!peer->share.announce)
            status = peer->events - peer->received <= OFI_WINDOW - 2 ? write_piece(net, process)
                                                                     : WEFT_NET_FULL;
        *did |= status == WEFT_OK;
        if (status == WEFT_OK && !announce(net, process))
            status = WEFT_NET_FULL;
    }
    return status == WEFT_NET_FULL || status == WEFT_OK ? ofi_lost_long(net, process) : status;
}
