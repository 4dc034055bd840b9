/* remote/copy/source.c - see the header. */
#include "remote/copy/source.h"

#include "base/say.h"

#include <stdlib.h>

static struct weft_piece *piece_of(struct weft_parcel *parcel)
{
    return (struct weft_piece *)(void *)parcel; /* its first member */
}

static void landed(struct weft_parcel *parcel)
{
    struct weft_piece *piece = piece_of(parcel);
    struct weft_sending *sending = piece->sending;

    if (sending->send.device >= 0)
        weft_stage_give(sending->sources->stage, sending->send.process, piece->memory,
                        piece->bytes);
    sending->landed += piece->bytes;
    piece->state = WEFT_PIECE_FREE;
}

weft_status weft_sources_add(struct weft_sources *sources, const struct weft_send *send)
{
    struct weft_sending *sending = calloc(1, sizeof(*sending));
    struct weft_sending **last = &sources->first;

    if (sending == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a copy of %llu bytes",
                        (unsigned long long)send->bytes);
    sending->sources = sources;
    sending->send = *send;
    sending->depth = weft_stage_depth(&sources->links->config);
    for (uint32_t i = 0; i < sending->depth; i++) {
        sending->pieces[i].sending = sending;
        sending->pieces[i].parcel.landed = landed;
    }
    while (*last != NULL)
        last = &(*last)->next;
    *last = sending;
    return WEFT_OK;
}

/* Begins the next piece of a copy, if there is room for it. */
static weft_status begin(struct weft_sources *sources, struct weft_sending *sending,
                         struct weft_piece *piece, bool *did)
{
    const struct weft_send *send = &sending->send;
    const size_t most = weft_stage_piece(&sources->links->config, send->bytes);
    const uint64_t left = send->bytes - sending->begun;
    size_t bytes = left < most ? (size_t)left : most;

    if (send->device >= 0) {
        piece->memory = weft_stage_take(sources->stage, send->number, send->process, bytes, &bytes);
        if (piece->memory == NULL)
            return WEFT_OK;
        if (!sources->fetch->fetch(sources->fetch->context, send->device, piece->memory,
                                   send->from + sending->begun, bytes, &piece->ticket)) {
            weft_stage_give(sources->stage, send->process, piece->memory, bytes);
            return WEFT_ERR_DEVICE;
        }
        piece->state = WEFT_PIECE_FETCHED;
    } else {
        piece->memory = (unsigned char *)(uintptr_t)(send->from + sending->begun);
        piece->state = WEFT_PIECE_READY;
    }
    piece->at = sending->begun;
    piece->bytes = bytes;
    sending->begun += bytes;
    *did = true;
    return WEFT_OK;
}

static weft_status advance(struct weft_sources *sources, struct weft_piece *piece, bool *did)
{
    struct weft_sending *sending = piece->sending;
    const struct weft_send *send = &sending->send;
    bool there = true;

    if (piece->state == WEFT_PIECE_FETCHED) {
        if (!sources->fetch->fetched(sources->fetch->context, send->device, piece->ticket, &there))
            return WEFT_ERR_DEVICE;
        if (there)
            piece->state = WEFT_PIECE_READY;
    }
    if (piece->state != WEFT_PIECE_READY)
        return WEFT_OK;
    piece->state = WEFT_PIECE_PUT; /* it may land within the call */
    const weft_status status =
        weft_links_put(sources->links, send->process, send->key, send->offset + piece->at,
                       piece->memory, piece->bytes, &piece->parcel);
    if (status == WEFT_OK) {
        sources->sent += piece->bytes;
        *did = true;
        return WEFT_OK;
    }
    piece->state = WEFT_PIECE_READY;
    return status == WEFT_NET_FULL ? WEFT_OK : status;
}

static weft_status pump(struct weft_sources *sources, struct weft_sending *sending, bool *did)
{
    weft_status status = WEFT_OK;
    bool flushes = false;

    for (uint32_t i = 0; i < sending->depth && status == WEFT_OK; i++) {
        struct weft_piece *piece = &sending->pieces[i];
        if (piece->state == WEFT_PIECE_FREE && sending->begun < sending->send.bytes)
            status = begin(sources, sending, piece, did);
        if (status == WEFT_OK && piece->state != WEFT_PIECE_FREE)
            status = advance(sources, piece, did);
        flushes |= piece->state == WEFT_PIECE_PUT;
    }
    if (status == WEFT_OK && flushes && sources->links->caps.lands_when_asked)
        status = sources->links->ops->flush(sources->links->net, sending->send.process);
    return status;
}

weft_status weft_sources_pump(struct weft_sources *sources, bool *did)
{
    struct weft_sending **at = &sources->first;
    weft_status status = WEFT_OK;

    while (*at != NULL && status == WEFT_OK) {
        struct weft_sending *sending = *at;
        status = pump(sources, sending, did);
        if (status != WEFT_OK || sending->landed < sending->send.bytes) {
            at = &sending->next;
            continue;
        }
        *at = sending->next;
        status = weft_links_notify(sources->links, sending->send.owner, WEFT_COPY_DONE,
                                   sending->send.number);
        free(sending);
    }
    return status;
}

void weft_sources_close(struct weft_sources *sources)
{
    while (sources->first != NULL) {
        struct weft_sending *sending = sources->first;
        sources->first = sending->next;
        free(sending);
    }
    weft_stage_free(sources->stage);
    sources->stage = NULL;
}
