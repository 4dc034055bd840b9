/*
 * net/ofi/message.c - sending messages: puts that cannot be written, and what the two sides tell
 * each other. A message is copied before it is sent, so that the source is free at once. Lock held.
 */
#include "net/ofi/inside.h"

#include <rdma/fi_errno.h>
#include <string.h>

bool weft_ofi_taken(struct weft_net *net, int process, ssize_t result)
{
    if (result == 0)
        return true;
    if (result == -FI_EAGAIN)
        net->stuck = true;
    else
        weft_ofi_lost(net, process, (int)-result);
    return false;
}

/* Header and data, copied: by the provider if they are short, else into a buffer of our own. */
static bool send_copy(struct weft_net *net, int process, const struct weft_ofi_header *header,
                      const void *data, size_t bytes)
{
    const size_t all = sizeof(*header) + bytes;
    const fi_addr_t to = net->peers[process].address;
    struct weft_ofi_buffer *buffer = all > net->can.inject ? net->free_sends : NULL;
    unsigned char stack[WEFT_OFI_INJECT_MOST], *copy = buffer != NULL ? buffer->bytes : stack;

    if (all > net->can.inject && buffer == NULL)
        return false;
    memcpy(copy, header, sizeof(*header));
    if (bytes > 0)
        memcpy(copy + sizeof(*header), data, bytes);
    if (buffer == NULL)
        return weft_ofi_taken(net, process, fi_inject(net->ep, copy, all, to));
    void *descriptor = net->memory_mr != NULL ? fi_mr_desc(net->memory_mr) : NULL;
    if (!weft_ofi_taken(net, process,
                        fi_send(net->ep, copy, all, descriptor, to, &buffer->context)))
        return false;
    net->free_sends = buffer->next;
    buffer->process = process;
    net->outstanding++;
    return true;
}

void weft_ofi_told(struct weft_net *net, struct weft_ofi_peer *peer,
                   const struct weft_ofi_header *header)
{
    if ((header->flags & WEFT_OFI_NOW) != 0)
        peer->ask_receipt = false;
    peer->told = header->receipt;
    peer->wants_receipt = false;
    if (peer->owed_since != 0) {
        peer->owed_since = 0;
        net->owing--;
    }
}

bool weft_ofi_send(struct weft_net *net, int process, struct weft_ofi_header *header,
                   const void *data, size_t bytes)
{
    struct weft_ofi_peer *peer = &net->peers[process];

    if (peer->lost_at != 0)
        return false;
    header->token = peer->token;
    header->process = (uint16_t)net->open.process;
    header->receipt = peer->applied;
    if (peer->ask_receipt) {
        header->flags |= WEFT_OFI_NOW;
        header->event = header->kind == WEFT_OFI_RECEIPT ? weft_ofi_sent(peer) : header->event;
    }
    if (!send_copy(net, process, header, data, bytes))
        return false;
    weft_ofi_told(net, peer, header);
    return true;
}

/* All rows as one message. */
static bool send_rows(struct weft_net *net, int process, struct weft_ofi_header *header,
                      const struct weft_net_put *put)
{
    unsigned char data[WEFT_OFI_PAYLOAD];

    header->kind = WEFT_OFI_ROWS;
    return weft_ofi_send(net, process, header, data, weft_net_rows_pack(data, put));
}

/* The op, which has the caller's cookie, is the cookie of the put that is under way. */
void weft_ofi_all_issued(struct weft_net *net, struct weft_ofi_peer *peer, uint32_t event)
{
    struct weft_ofi_op *op = peer->current.cookie;

    op->event = event;
    op->issued = true;
    op->sent = op->unsent == 0;
    peer->active = false;
    if (op->sent)
        net->open.events.sent(net->open.events.context, op->cookie);
}

weft_status weft_ofi_pump(struct weft_net *net, int process, bool *did)
{
    struct weft_ofi_peer *peer = &net->peers[process];
    const struct weft_net_put *put = &peer->current;

    if (peer->docks)
        return weft_ofi_pump_docked(net, process, did);
    while (peer->active && peer->events - peer->received < WEFT_OFI_WINDOW) {
        const size_t left = put->bytes - peer->done;
        const size_t bytes = left < WEFT_OFI_PAYLOAD ? left : WEFT_OFI_PAYLOAD;
        const bool last = bytes == left;
        struct weft_ofi_header header = {.kind = WEFT_OFI_PUT,
                                         .event = peer->events,
                                         .notice = last ? put->notice : 0,
                                         .key = put->key,
                                         .offset = put->offset + peer->done};
        if (put->rows > 1 ? !send_rows(net, process, &header, put)
                          : !weft_ofi_send(net, process, &header,
                                           (const unsigned char *)put->source + peer->done, bytes))
            break;
        peer->events++;
        peer->done += bytes;
        *did = true;
        if (last)
            weft_ofi_all_issued(net, peer, header.event);
    }
    return weft_ofi_lost_long(net, process);
}
