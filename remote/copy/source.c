/* remote/copy/source.c - see the header. */
#include "remote/copy/source.h"

#include "base/say.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Takes memory for this piece alone, and registers it with the network. NULL: no room. */
static unsigned char *take_own(struct weft_sources *sources, struct weft_piece *piece, size_t bytes)
{
    struct weft_record_links *links = sources->links;

    if (sources->own + bytes > links->config.stage_memory)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (weft_net_reg(links->net, memory, bytes, true, &piece->key) != WEFT_OK) {
        munmap(memory, bytes);
        return NULL;
    }
    sources->own += bytes;
    return memory;
}

/* Takes memory that a piece of device memory passes on its way. False: there is no room now. */
static bool take_from_piece(struct weft_piece *piece, size_t wanted)
{
    const struct weft_send *send = &piece->sending->send;
    struct weft_sources *sources = piece->sending->sources;

    piece->bytes = wanted;
    piece->memory = send->plan.each ? take_own(sources, piece, wanted)
                                    : weft_stage_take(sources->stage, send->number, send->process,
                                                      wanted, &piece->bytes);
    return piece->memory != NULL;
}

static void give(const struct weft_piece *piece)
{
    const struct weft_send *send = &piece->sending->send;
    struct weft_sources *sources = piece->sending->sources;

    if (!send->plan.each) {
        weft_stage_give(sources->stage, send->process, piece->memory, piece->bytes);
        return;
    }
    weft_net_dereg(sources->links->net, piece->key);
    munmap(piece->memory, piece->bytes);
    sources->own -= piece->bytes;
}

static void delivered(struct weft_link_completion *completion)
{
    struct weft_piece *piece = (struct weft_piece *)(void *)completion; /* its first member */
    struct weft_sending *sending = piece->sending;

    sending->delivered += piece->bytes;
    piece->state = WEFT_PIECE_DELIVERED;
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
    sending->piece = weft_plan_piece(&send->plan, &sources->links->config, send->bytes);
    sending->depth = weft_plan_depth(&send->plan, &sources->links->config);
    for (uint32_t i = 0; i < sending->depth; i++) {
        sending->pieces[i].sending = sending;
        sending->pieces[i].completion.delivered = delivered;
    }
    while (*last != NULL)
        last = &(*last)->next;
    *last = sending;
    return WEFT_OK;
}

struct weft_sending *weft_sources_find(struct weft_sources *sources, uint32_t number)
{
    struct weft_sending *sending = sources->first;

    while (sending != NULL && sending->send.number != number)
        sending = sending->next;
    return sending;
}

/* Begins the next piece of a copy, if there is room for it. */
static weft_status begin_sending(struct weft_sources *sources, struct weft_sending *sending,
                                 struct weft_piece *piece, bool *did)
{
    const struct weft_send *send = &sending->send;
    const uint64_t left = send->bytes - sending->begun;
    const size_t wanted = left < sending->piece ? (size_t)left : sending->piece;

    if (send->device < 0) {
        piece->memory = (unsigned char *)(uintptr_t)(send->from + sending->begun);
        piece->bytes = wanted;
        piece->state = WEFT_PIECE_READY;
    } else {
        if (!take_from_piece(piece, wanted))
            return WEFT_OK;
        const weft_status status =
            sources->fetch(sources->context, piece, send->from + sending->begun);
        if (status != WEFT_OK) {
            give(piece);
            return status == WEFT_NET_FULL ? WEFT_OK : status;
        }
        piece->state = WEFT_PIECE_FETCHED;
    }
    piece->at = sending->begun;
    sending->begun += piece->bytes;
    *did = true;
    return WEFT_OK;
}

static weft_status advance(struct weft_sources *sources, struct weft_piece *piece, bool *did)
{
    struct weft_sending *sending = piece->sending;
    const struct weft_send *send = &sending->send;

    if (piece->state != WEFT_PIECE_READY)
        return piece->state == WEFT_PIECE_FAILED ? WEFT_ERR_DEVICE : WEFT_OK;
    piece->state = WEFT_PIECE_PUT; /* it may be delivered within the call */
    const struct weft_net_put put = {.process = send->process,
                                     .key = send->key,
                                     .offset = send->offset + piece->at,
                                     .source = piece->memory,
                                     .bytes = piece->bytes,
                                     .cookie = &piece->completion};
    const weft_status status = weft_net_put(sources->links->net, &put);
    if (status == WEFT_OK) {
        sources->sent += piece->bytes;
        sending->put += piece->bytes;
        *did = true;
        return WEFT_OK;
    }
    piece->state = WEFT_PIECE_READY;
    return status == WEFT_NET_FULL ? WEFT_OK : status;
}

/* Frees a piece that was delivered, outside of the network's own calls. */
static void settle(struct weft_piece *piece)
{
    if (piece->state != WEFT_PIECE_DELIVERED)
        return;
    if (piece->sending->send.device >= 0)
        give(piece);
    piece->state = WEFT_PIECE_FREE;
}

static weft_status pump(struct weft_sources *sources, struct weft_sending *sending, bool *did)
{
    weft_status status = WEFT_OK;
    bool flushes = false;

    for (uint32_t i = 0; i < sending->depth && status == WEFT_OK; i++) {
        struct weft_piece *piece = &sending->pieces[i];
        settle(piece);
        if (piece->state == WEFT_PIECE_FREE && sending->begun < sending->send.bytes)
            status = begin_sending(sources, sending, piece, did);
        if (status == WEFT_OK)
            status = advance(sources, piece, did);
        flushes |= piece->state == WEFT_PIECE_PUT;
    }
    if (status == WEFT_OK && flushes && sources->links->caps.tells_when_asked)
        status = weft_net_flush(sources->links->net, sending->send.process);
    return status;
}

/* Tells a copy's owner that it is put, or delivered, when that is so. */
static weft_status tell(struct weft_sources *sources, struct weft_sending *sending)
{
    const struct weft_send *send = &sending->send;
    const bool to_target = send->owner == send->process;

    if (sending->told || (to_target ? sending->put : sending->delivered) < send->bytes)
        return WEFT_OK;
    sending->told = true;
    return weft_links_notify(sources->links, send->owner,
                             to_target ? WEFT_COPY_PUT : WEFT_COPY_DONE, send->number);
}

weft_status weft_sources_pump(struct weft_sources *sources, bool *did)
{
    struct weft_sending **at = &sources->first;
    weft_status status = WEFT_OK;

    while (*at != NULL && status == WEFT_OK) {
        struct weft_sending *sending = *at;
        status = pump(sources, sending, did);
        if (status == WEFT_OK)
            status = tell(sources, sending);
        if (status != WEFT_OK || sending->delivered < sending->send.bytes) {
            at = &sending->next;
            continue;
        }
        *at = sending->next;
        for (uint32_t i = 0; i < sending->depth; i++)
            settle(&sending->pieces[i]);
        if (sending->over != NULL)
            sending->over(sending->send.number);
        free(sending);
    }
    return status;
}

void weft_sources_close(struct weft_sources *sources)
{
    while (sources->first != NULL) {
        struct weft_sending *sending = sources->first;
        sources->first = sending->next;
        for (uint32_t i = 0; i < sending->depth && sending->send.plan.each; i++)
            if (sending->pieces[i].state != WEFT_PIECE_FREE && sending->send.device >= 0)
                munmap(sending->pieces[i].memory, sending->pieces[i].bytes);
        free(sending);
    }
    weft_stage_free(sources->stage);
    sources->stage = NULL;
}
