/* msg/deliver.c - messages meet receives. Lock held. */
#include "msg/copy.h"

#include <string.h>

/* What a receive takes: a message that comes, or one that was kept. */
struct met {
    int32_t from, tag;
    struct weft_mail_head head;
    uint64_t bytes, request, offer;
    const unsigned char *payload;
    bool in_ring; /* the payload is */
};

/* Into memory of the program, which is this process's own. */
static void copy(struct weft_messages *m, const struct weft_transfer *transfer,
                 const struct met *met, size_t bytes)
{
    if (bytes == 0)
        return;
    if (transfer->device)
        weft_msg_deliver(m, transfer->buffer, met->payload, bytes);
    else if (met->in_ring)
        weft_read_shared(transfer->buffer, met->payload, bytes);
    else
        memcpy(transfer->buffer, met->payload, bytes);
}

void weft_msg_complete(struct weft_messages *m, struct weft_transfer *transfer)
{
    transfer->state = WEFT_TRANSFER_DONE;
    m->completed = true;
}

/* Its sender waits to hear that it was matched. */
static void answer(struct weft_messages *m, int process, uint64_t request)
{
    const struct weft_mail_text text = {.request = request};

    weft_msg_send(m, process, (struct weft_mail_head){.kind = WEFT_MAIL_TAKEN}, &text, NULL, NULL);
}

static inline void meet(struct weft_messages *m, struct weft_transfer *transfer,
                        const struct met *met)
{
    const bool fits = met->bytes <= transfer->room;
    const size_t bytes = fits ? (size_t)met->bytes : transfer->room;

    transfer->peer = met->from;
    transfer->theirs = met->request;
    transfer->message = (weft_message){.from = met->from,
                                       .tag = met->tag,
                                       .bytes = (size_t)met->bytes,
                                       .status = fits ? WEFT_OK : WEFT_ERR_BOUNDS};
    if (met->head.kind == WEFT_MAIL_OFFER) {
        transfer->offer = met->offer;
        transfer->room = bytes;
        weft_msg_pull(m, transfer);
        return;
    }
    copy(m, transfer, met, bytes);
    weft_msg_complete(m, transfer);
    if ((met->head.flags & WEFT_MAIL_WANTED) != 0)
        answer(m, met->from, met->request);
}

void weft_msg_receive_kept(struct weft_messages *m, struct weft_transfer *transfer,
                           struct weft_unexpected *unexpected)
{
    const struct met met = {.from = unexpected->kept.from,
                            .tag = unexpected->kept.tag,
                            .head = unexpected->head,
                            .bytes = unexpected->bytes,
                            .request = unexpected->request,
                            .offer = unexpected->data.offer,
                            .payload = weft_unexpected_payload(unexpected)};

    meet(m, transfer, &met);
    weft_msg_took(m, met.from, weft_mail_need(met.head.count));
    weft_unexpected_free(&m->unexpected, unexpected);
}

/* A message that no receive fits. */
static void keep(struct weft_messages *m, struct weft_match *match, const struct met *met,
                 const struct weft_mail_text *text)
{
    struct weft_unexpected *kept =
        weft_unexpected_make(&m->unexpected, met->from, met->head, text, met->payload);

    if (kept == NULL) {
        weft_msg_no_memory(m, "a message that no receive has asked for");
        return;
    }
    weft_match_keep(match, &kept->kept);
    m->completed = true; /* who probes */
}

/* Its context; NULL: there can be none, or no memory. */
static struct weft_msg_context *context_of(struct weft_messages *m, weft_comm handle)
{
    struct weft_msg_context *found = weft_context_find(&m->contexts, handle);
    const uint32_t index = weft_handle_index(handle);

    if (found != NULL ||
        (!weft_group_is(handle) && (index == 0 || index >= m->job->space.state.comms_count)))
        return found;
    found = weft_context_make(&m->contexts, handle);
    if (found == NULL)
        weft_msg_no_memory(m, "a communicator's messages");
    return found;
}

bool weft_msg_take_message(struct weft_messages *m, int process, struct weft_mail_head head,
                           const struct weft_mail_text *text, const unsigned char *payload)
{
    const bool eager = head.kind == WEFT_MAIL_EAGER;
    const struct met met = {.from = process,
                            .tag = text->tag,
                            .head = head,
                            .bytes = text->bytes,
                            .request = text->request,
                            .offer = text->data.offer,
                            .payload = payload,
                            .in_ring = head.count > WEFT_MAIL_WITHIN};

    if (text->tag < 0 || head.count != (eager ? text->bytes : 0))
        return false;
    struct weft_msg_context *context = context_of(m, text->context);
    if (context == NULL)
        return false;
    struct weft_posted *posted = weft_match_arrive(&context->match, process, text->tag);
    if (posted == NULL) {
        keep(m, &context->match, &met, text);
        return true;
    }
    meet(m, (struct weft_transfer *)(void *)posted, &met);
    if (head.count > WEFT_MAIL_WITHIN)
        weft_msg_took(m, process, weft_mail_need(head.count));
    return true;
}
