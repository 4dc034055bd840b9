/* remote/link/links.c - records and notices between the processes of a remote job. */
#include "remote/link/links.h"
#include "abi/notice.h"
#include "base/say.h"

#include <stdlib.h>

enum {
    NUMBER_BITS = 16 /* bits of a copy's number in a notice */,
    NUMBERS = (1 << NUMBER_BITS) - 1,
    STRETCHES = 32,
    TELL_AT = WEFT_RING_BYTES / 4
};
static const uint64_t control_every = 5000000; /* ns between looks at the control channel */

weft_status weft_links_failed(struct weft_record_links *links, weft_status status)
{
    if (links->status == WEFT_OK)
        links->status = status;
    return links->status;
}

/* ---- what the network says ------------------------------------------------------------------- */

void link_sent(void *context, void *cookie)
{
    struct weft_link_completion *completion = cookie;

    (void)context;
    if (completion != NULL && completion->sent != NULL)
        --*completion->sent;
}

void link_delivered(void *context, void *cookie)
{
    struct weft_link_completion *completion = cookie;

    (void)context;
    if (completion != NULL && completion->delivered != NULL)
        completion->delivered(completion);
}

/* Returns whose notice it is, by its tag; -1: nobody's. A network that knows the sender has to
 * agree. */
static int sender_of(const struct weft_record_links *links,
                     const struct weft_net_delivery *delivery)
{
    const int process = (int)weft_notice_tag(delivery->notice);

    if (process >= links->processes || (delivery->process >= 0 && delivery->process != process))
        return -1;
    return process;
}

weft_status link_records(void *context, const struct weft_net_delivery *delivery)
{
    struct weft_record_links *links = context;
    const int process = sender_of(links, delivery);
    const uint64_t bytes = (uint64_t)weft_notice_slot(delivery->notice) * WEFT_RECORD_UNIT;

    if (process < 0 || !link_has_ring(links, process))
        return WEFT_ERR_PROTOCOL;
    return weft_ring_in_came(&links->link[process].in, bytes) ? WEFT_OK : WEFT_ERR_PROTOCOL;
}

weft_status link_copy(void *context, const struct weft_net_delivery *delivery)
{
    struct weft_record_links *links = context;
    const int process = sender_of(links, delivery);
    const uint32_t slot = weft_notice_slot(delivery->notice), step = slot >> NUMBER_BITS,
                   number = slot & NUMBERS;

    if (process < 0 || step >= WEFT_COPY_STEPS)
        return WEFT_ERR_PROTOCOL;
    if (step != WEFT_COPY_TAKEN)
        return links->copy(links->context, process, (enum weft_copy_step)step, number);
    links->link[process].taken += (uint64_t)number * WEFT_RECORD_UNIT;
    return WEFT_OK;
}

/* ---- sending --------------------------------------------------------------------------------- */

static weft_status put(struct weft_record_links *links, int process, uint64_t offset,
                       const void *source, size_t bytes, uint32_t notice,
                       struct weft_link_completion *completion)
{
    const struct weft_net_put what = {.process = process,
                                      .key = links->link[process].key,
                                      .offset = offset,
                                      .source = source,
                                      .bytes = bytes,
                                      .notice = notice,
                                      .cookie = completion};
    return weft_net_put(links->net, &what);
}

/* Puts notices that found no room before, in order. */
static weft_status put_waiting(struct weft_record_links *links, int process)
{
    struct weft_record_link *link = &links->link[process];
    weft_status status = WEFT_OK;

    while (link->first < link->count && status == WEFT_OK) {
        status = put(links, process, 0, NULL, 0, link->notices[link->first], NULL);
        link->first += status == WEFT_OK;
    }
    if (link->first == link->count)
        link->first = link->count = 0;
    return status == WEFT_NET_FULL ? WEFT_OK : status;
}

weft_status weft_links_notify(struct weft_record_links *links, int process,
                              enum weft_copy_step step, uint32_t number)
{
    struct weft_record_link *link = &links->link[process];
    const uint32_t notice = weft_notice(WEFT_NOTICE_COPY, (uint32_t)links->process,
                                        (uint32_t)step << NUMBER_BITS | number);

    if (process == links->process)
        return links->copy(links->context, process, step, number);
    if (link->count == link->capacity) {
        const uint32_t capacity = link->capacity == 0 ? 64 : link->capacity * 2;
        uint32_t *notices = realloc(link->notices, capacity * sizeof(*notices));
        if (notices == NULL)
            return weft_err(WEFT_ERR_MEMORY, "no memory for %u notices", capacity);
        link->notices = notices;
        link->capacity = capacity;
    }
    link->notices[link->count++] = notice;
    return put_waiting(links, process);
}

weft_status weft_link_flush(struct weft_record_links *links, int process)
{
    struct weft_record_link *link = &links->link[process];
    uint64_t place;
    uint32_t bytes;

    while (link->unsent < STRETCHES && (bytes = weft_ring_out_stretch(&link->out, &place)) != 0) {
        const uint32_t notice =
            weft_notice(WEFT_NOTICE_RECORDS, (uint32_t)links->process, bytes / WEFT_RECORD_UNIT);
        link->unsent++;
        const weft_status status = put(links, process, link->inbox + place,
                                       link->out.mirror + place, bytes, notice, &link->stretch);
        if (status != WEFT_OK) {
            link->unsent--;
            return status == WEFT_NET_FULL ? WEFT_OK : status;
        }
        link->out.put += bytes;
    }
    return WEFT_OK;
}

/* Tells the sender how far its records were used, where little room is left. */
static weft_status tell(struct weft_record_links *links, int process)
{
    struct weft_ring_in *in = &links->link[process].in;
    const uint64_t used = in->tail - in->told, most = (uint64_t)NUMBERS * WEFT_RECORD_UNIT,
                   told = used < most ? used : most;

    if (used < TELL_AT)
        return WEFT_OK;
    in->told += told;
    return weft_links_notify(links, process, WEFT_COPY_TAKEN, (uint32_t)(told / WEFT_RECORD_UNIT));
}

/* ---- progress -------------------------------------------------------------------------------- */

static weft_status look_at_control(struct weft_record_links *links)
{
    struct weft_frame frame;
    const uint64_t now = weft_now_ns();

    if (now < links->control_next)
        return WEFT_OK;
    links->control_next = now + control_every;
    const weft_status status = weft_control_next(links->control, &frame, 0);
    if (status == WEFT_ERR_TIMEOUT)
        return WEFT_OK;
    if (status != WEFT_OK)
        return status;
    free(frame.payload);
    if (frame.kind != WEFT_FRAME_LOST)
        return weft_err(WEFT_ERR_PROTOCOL, "process %d sent a frame of kind %u", frame.source,
                        frame.kind);
    links->lost = frame.source;
    return WEFT_ERR_PEER_LOST;
}

weft_status weft_links_progress(struct weft_record_links *links, bool *did)
{
    if (links->status != WEFT_OK)
        return links->status;
    weft_status status = weft_net_progress(links->net, WEFT_NET_RECEIVE, did);
    if (status == WEFT_OK)
        status = weft_net_progress(links->net, WEFT_NET_SEND, did);
    for (int p = 0; p < links->processes && status == WEFT_OK; p++) {
        if (p == links->process)
            continue;
        if (links->link[p].count != 0)
            status = put_waiting(links, p);
        if (!link_has_ring(links, p) || status != WEFT_OK)
            continue;
        struct weft_record_link *link = &links->link[p];
        if (link->unsent == 0 &&
            !weft_ring_out_taken(&link->out, link->taken)) /* the mirror was read */
            status = weft_err(WEFT_ERR_PROTOCOL,
                              "process %d says it used records that it was not sent", p);
        if (status == WEFT_OK)
            status = weft_link_flush(links, p);
        if (status == WEFT_OK)
            status = tell(links, p);
    }
    if (status == WEFT_OK)
        status = look_at_control(links);
    return status == WEFT_OK ? WEFT_OK : weft_links_failed(links, status);
}
