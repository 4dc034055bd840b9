/*
 * net/ofi/dock.c - long puts for memory that writes do not reach: that of a device (README.md).
 * Under the network's lock; what a sender has written is looked at by the receive task alone.
 *
 * The DOCK is the target's pinned host memory, a QUAY the stretch of it that a sender has, a BERTH
 * the place of a piece there: a header, as a message has one, and the data. It is free again when a
 * receipt says that the device has fetched the data. Where berths lie nobody says: both sides
 * reckon it from the lengths of those before.
 */
#include "net/ofi/inside.h"

#include "base/say.h"

#include <stdlib.h>

enum {
    PIECE_MOST = 1 << 20, /* data of a berth; the device fetches one while the next comes */
    PIECES_LEAST = 8,     /* on a quay */
    QUAY_LEAST = 1 << 17, /* smaller ones hold berths that are worth no trouble */
    QUAY_UNIT = 4096,
    ASKS = 8, /* for receipts, each time that as much was written as a quay holds */
    HEAD = sizeof(struct weft_ofi_berth),
    LINE = 64
};

/* Data of one berth in a quay of that size. */
static size_t piece_most(uint64_t quay)
{
    return quay / PIECES_LEAST < PIECE_MOST ? (size_t)(quay / PIECES_LEAST) : PIECE_MOST;
}

/* `taken` bytes of the ring have been: so many when the next berth begins. None goes round. */
static uint64_t berth_begin(uint64_t quay, uint64_t taken)
{
    const uint64_t left = quay - taken % quay;

    return left < HEAD + piece_most(quay) ? taken + left : taken;
}

static uint64_t berth_end(uint64_t begin, uint64_t bytes)
{
    return begin + (HEAD + bytes + LINE - 1) / LINE * LINE;
}

/* ---- the target ---------------------------------------------------------------------------- */

/* There is no dock, and why: puts go as messages. */
static void do_without(struct weft_net *net, size_t bytes, const char *why)
{
    weft_ofi_dock_close(net);
    net->dock.memory = NULL;
    weft_say(WEFT_SAY_WARN,
             "ofi: no dock of %zu bytes (WEFT_OFI_DOCK): %s; long puts to this process's device "
             "travel as messages, slower",
             bytes, why);
}

weft_status weft_ofi_dock_open(struct weft_net *net)
{
    struct weft_ofi_dock *dock = &net->dock;
    const size_t bytes = net->open.config->ofi_dock / QUAY_UNIT * QUAY_UNIT;
    uint64_t key;

    if (!net->can.docks || bytes < QUAY_LEAST)
        return WEFT_OK;
    if (!weft_ofi_secret_key(net, &key))
        return weft_err(WEFT_ERR_SYSTEM, "ofi: no random numbers");
    dock->memory = aligned_alloc(QUAY_UNIT, bytes);
    if (dock->memory == NULL) {
        do_without(net, bytes, "no memory");
        return WEFT_OK;
    }
    dock->bytes = bytes;
    dock->quay = bytes / (size_t)net->open.processes / QUAY_UNIT * QUAY_UNIT;
    if (dock->quay < QUAY_LEAST)
        dock->quay = QUAY_LEAST; /* for those who come first */
    weft_arrive_pin(&net->arrive, dock->memory, bytes);
    const int error = weft_ofi_register(net, dock->memory, bytes, FI_REMOTE_WRITE, key, &dock->mr);
    if (error != 0)
        do_without(net, bytes, weft_ofi_error(error));
    return WEFT_OK;
}

void weft_ofi_dock_close(struct weft_net *net)
{
    struct weft_ofi_dock *dock = &net->dock;

    weft_arrive_unpin(&net->arrive, dock->memory);
    free(dock->memory);
}

void weft_ofi_dock_describe(struct weft_net *net, int process, struct weft_ofi_place *place)
{
    struct weft_ofi_dock *dock = &net->dock;
    struct weft_ofi_peer *peer = &net->peers[process];

    *place = (struct weft_ofi_place){0};
    if (dock->memory == NULL || (!peer->berthed && dock->bytes - dock->given < dock->quay))
        return;
    if (!peer->berthed) {
        peer->berthed = true;
        peer->berths_at = dock->given;
        dock->given += dock->quay;
    }
    place->mr_key = fi_mr_key(dock->mr);
    place->address = (net->can.virtual_addresses ? (uintptr_t)dock->memory : 0) + peer->berths_at;
    place->bytes = dock->quay;
    place->exposed = 1;
}

weft_status weft_ofi_undock(struct weft_net *net, const struct weft_ofi_arrival *arrival,
                            struct weft_ofi_message *message)
{
    const struct weft_ofi_dock *dock = &net->dock;
    struct weft_ofi_peer *peer = &net->peers[arrival->process];
    const char *reason = "it has no quay";

    if (peer->berthed) {
        const uint64_t begin = berth_begin(dock->quay, peer->berths_taken);
        const unsigned char *berth = dock->memory + peer->berths_at + begin % dock->quay;
        if (weft_ofi_parse_berth(berth, piece_most(dock->quay), net->token, arrival, message,
                                 &reason)) {
            peer->berths_taken = berth_end(begin, message->bytes);
            return WEFT_OK;
        }
    }
    return weft_err(WEFT_ERR_PROTOCOL, "ofi: event %u of process %d is a write to a dock: %s",
                    arrival->event, arrival->process, reason);
}

/* ---- the sender's quay -------------------------------------------------------------------- */

void weft_ofi_dock_told(struct weft_net *net, int process, const struct weft_ofi_place *place)
{
    struct weft_ofi_quay *quay = &net->peers[process].quay;

    if (!quay->asked || quay->known)
        return;
    quay->known = true;
    quay->place = *place;
    if (place->exposed == 0 || place->bytes < QUAY_LEAST) {
        quay->place.exposed = 0;
        weft_say(WEFT_SAY_INFO,
                 "ofi: process %d has no dock for this one (WEFT_OFI_DOCK): long puts there travel "
                 "as messages, slower",
                 process);
    }
}

bool weft_ofi_docks(struct weft_net *net, const struct weft_net_put *put)
{
    struct weft_ofi_quay *quay = &net->peers[put->process].quay;
    struct weft_ofi_header header = {.kind = WEFT_OFI_ASK, .key = WEFT_OFI_DOCK_KEY};

    if (!net->can.docks || put->bytes == 0 || put->bytes < net->can.write_from)
        return false;
    if (!quay->asked)
        quay->asked = weft_ofi_send(net, put->process, &header, NULL, 0);
    return quay->known && quay->place.exposed != 0 &&
           HEAD + piece_most(quay->place.bytes) <= net->info->ep_attr->max_msg_size;
}

void weft_ofi_berths_free(struct weft_net *net, struct weft_ofi_peer *peer)
{
    struct weft_ofi_quay *quay = &peer->quay;
    struct weft_ofi_op *piece;

    while ((piece = quay->first) != NULL && piece->issued && piece->sent &&
           (int32_t)(peer->received - piece->event) > 0) {
        quay->tail = piece->end;
        quay->first = piece->next;
        weft_ofi_free_op(net, piece);
    }
}

/* ---- pieces -------------------------------------------------------------------------------- */

/* One operation writes both: the header, and the data from where it lies. */
static ssize_t write_both(struct weft_net *net, struct weft_ofi_op *piece,
                          const unsigned char *source, uint64_t address, uint64_t data)
{
    const struct weft_ofi_peer *peer = &net->peers[piece->process];
    const struct iovec parts[] = {{&piece->head, HEAD},
                                  {(void *)(uintptr_t)source, piece->head.bytes}};
    const struct fi_rma_iov to = {
        .addr = address, .len = HEAD + piece->head.bytes, .key = peer->quay.place.mr_key};
    void *descriptors[] = {NULL, NULL};
    const struct fi_msg_rma write = {.msg_iov = parts,
                                     .desc = descriptors,
                                     .iov_count = 2,
                                     .addr = peer->address,
                                     .rma_iov = &to,
                                     .rma_iov_count = 1,
                                     .context = &piece->context,
                                     .data = data};

    return fi_writemsg(net->ep, &write, FI_REMOTE_CQ_DATA | FI_COMPLETION);
}

/* The header of the next piece; it carries a receipt, as messages do. */
static void fill_head(struct weft_net *net, struct weft_ofi_op *piece, size_t bytes)
{
    const struct weft_ofi_peer *peer = &net->peers[piece->process];
    const struct weft_net_put *put = &peer->current;
    const bool asks = peer->ask_receipt || net->can.spread < WEFT_OFI_WINDOW ||
                      peer->quay.unasked + bytes >= peer->quay.place.bytes / ASKS;

    piece->head = (struct weft_ofi_berth){
        .header = {.token = peer->token,
                   .kind = WEFT_OFI_DOCKED,
                   .flags = asks ? WEFT_OFI_NOW : 0,
                   .process = (uint16_t)net->open.process,
                   .event = peer->events,
                   .receipt = peer->applied,
                   .notice = peer->done + bytes == put->bytes ? put->notice : 0,
                   .key = put->key,
                   .offset = put->offset + peer->done},
        .bytes = bytes};
}

static void piece_issued(struct weft_net *net, struct weft_ofi_op *piece)
{
    struct weft_ofi_peer *peer = &net->peers[piece->process];
    struct weft_ofi_quay *quay = &peer->quay;

    quay->unasked += piece->head.bytes;
    if ((piece->head.header.flags & WEFT_OFI_NOW) != 0)
        quay->unasked = 0;
    quay->head = piece->end;
    piece->next = NULL;
    *(quay->first != NULL ? &quay->last->next : &quay->first) = piece;
    quay->last = piece;
    piece->whole = peer->current.cookie;
    piece->whole->unsent++;
    piece->event = peer->events++;
    piece->issued = true;
    peer->done += piece->head.bytes;
    net->outstanding++;
    weft_ofi_told(net, peer, &piece->head.header);
}

/* The next piece of the put goes into a berth. FULL: no room now. */
static weft_status write_piece(struct weft_net *net, int process)
{
    struct weft_ofi_peer *peer = &net->peers[process];
    const uint64_t size = peer->quay.place.bytes, begin = berth_begin(size, peer->quay.head);
    const size_t left = peer->current.bytes - peer->done, most = piece_most(size);
    const size_t bytes = left < most ? left : most;
    const uint64_t end = berth_end(begin, bytes);
    const struct weft_ofi_arrival arrival = {net->open.process, 0, peer->events};
    uint64_t data;

    /* The target tells the number of a write from its low bits. */
    if (peer->lost_at != 0 || end - peer->quay.tail > size ||
        peer->events - peer->received >= WEFT_OFI_WINDOW ||
        peer->events - peer->received >= net->can.spread ||
        !weft_ofi_data_pack(net->can.form, net->open.processes, &arrival, &data))
        return WEFT_NET_FULL;
    struct weft_ofi_op *piece = weft_ofi_new_op(net, &peer->current);
    if (piece == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory for %u puts under way", net->flying);
    fill_head(net, piece, bytes);
    piece->end = end;
    if (!weft_ofi_taken(net, process,
                        write_both(net, piece,
                                   (const unsigned char *)peer->current.source + peer->done,
                                   peer->quay.place.address + begin % size, data))) {
        weft_ofi_free_op(net, piece);
        return WEFT_NET_FULL;
    }
    piece_issued(net, piece);
    return WEFT_OK;
}

weft_status weft_ofi_pump_docked(struct weft_net *net, int process, bool *did)
{
    struct weft_ofi_peer *peer = &net->peers[process];
    weft_status status = WEFT_OK;

    while (peer->active && status == WEFT_OK) {
        status = write_piece(net, process);
        *did |= status == WEFT_OK;
        if (status == WEFT_OK && peer->done == peer->current.bytes)
            weft_ofi_all_issued(net, peer, peer->events - 1);
    }
    return status == WEFT_NET_FULL || status == WEFT_OK ? weft_ofi_lost_long(net, process) : status;
}
