/*
 * net/ofi/answer.c - what goes back to senders: receipts for events, the places of regions. Lock
 * held.
 */
#include "net/ofi/inside.h"

#include "base/say.h"
#include "net/receipt.h"

static void answer(struct weft_net *net, int process, uint64_t key)
{
    struct weft_ofi_header header = {.kind = WEFT_OFI_REGION, .key = key};
    struct weft_ofi_place place;

    if (key == WEFT_OFI_DOCK_KEY)
        weft_ofi_dock_describe(net, process, &place);
    else
        weft_ofi_describe(net, key, &place);
    if (!weft_ofi_send(net, process, &header, &place, sizeof(place)) &&
        net->questions_count < WEFT_OFI_QUESTIONS)
        net->questions[net->questions_count++] = (struct weft_ofi_question){process, key};
}

void weft_ofi_answer_again(struct weft_net *net)
{
    const uint32_t count = net->questions_count;

    net->questions_count = 0; /* it grows again, but not faster than i */
    for (uint32_t i = 0; i < count; i++)
        answer(net, net->questions[i].process, net->questions[i].key);
}

weft_status weft_ofi_hear(struct weft_net *net, const struct weft_ofi_message *m)
{
    const struct weft_ofi_header *h = &m->header;

    if (!weft_ofi_received(net, h->process, h->receipt))
        return weft_err(WEFT_ERR_PROTOCOL, "ofi: process %d sent a receipt for %u events, of %u",
                        h->process, h->receipt, net->peers[h->process].events);
    if ((h->flags & WEFT_OFI_NOW) != 0)
        net->peers[h->process].wants_receipt = true;
    if (h->kind == WEFT_OFI_RECEIPT && (h->flags & WEFT_OFI_NOW) != 0)
        return weft_ofi_told_sent(net, h->process, h->event);
    if (h->kind == WEFT_OFI_ASK)
        answer(net, h->process, h->key);
    else if (h->kind == WEFT_OFI_REGION && h->key == WEFT_OFI_DOCK_KEY)
        weft_ofi_dock_told(net, h->process, &m->place);
    else if (h->kind == WEFT_OFI_REGION)
        weft_ofi_remote_told(net, h->process, h->key, &m->place);
    return WEFT_OK;
}

void weft_ofi_owe(struct weft_net *net, int process, uint32_t applied, uint64_t now)
{
    struct weft_ofi_peer *peer = &net->peers[process];

    peer->applied = applied;
    if (peer->owed_since == 0 && peer->applied != peer->told) {
        peer->owed_since = now;
        net->owing++;
    }
}

void weft_ofi_send_receipts(struct weft_net *net, uint64_t now, bool all)
{
    for (int p = 0; net->owing > 0 && p < net->open.processes; p++) {
        const struct weft_ofi_peer *peer = &net->peers[p];
        struct weft_ofi_header header = {.kind = WEFT_OFI_RECEIPT};
        if (peer->owed_since == 0 ||
            (!all && !peer->wants_receipt &&
             !weft_receipt_due(peer->applied - peer->told, WEFT_OFI_RECEIPT_EVERY,
                               now - peer->owed_since, WEFT_OFI_RECEIPT_NS)))
            continue;
        weft_ofi_send(net, p, &header, NULL, 0);
    }
}
