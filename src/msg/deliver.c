/* msg/deliver.c - messages meet receives. Lock held. */
#include "msg/copy.h"

#include <stdlib.h>
#include <string.h>

void weft_msg_complete(struct weft_messages *m, struct weft_transfer *transfer)
{
    transfer->state = WEFT_TRANSFER_DONE;
    m->completed = true;
}

/* A message meets its receive. in_ring: the payload is in memory that another process wrote. */
WEFT_HOT void meet(struct weft_messages *m, struct weft_transfer *transfer, int from,
                   struct weft_mail_head head, const struct weft_mail_text *text,
                   const unsigned char *payload, bool in_ring)
{
    const bool fits = text->bytes <= transfer->room;
    const size_t bytes = fits ? (size_t)text->bytes : transfer->room;

    if (head.kind == WEFT_MAIL_OFFER || (head.flags & WEFT_MAIL_WANTED) != 0) {
        transfer->peer = from;
        transfer->theirs = text->request;
    }
    transfer->message = (weft_message){.from = from,
                                       .tag = text->tag,
                                       .bytes = (size_t)text->bytes,
                                       .status = fits ? WEFT_OK : WEFT_ERR_BOUNDS};
    if (head.kind == WEFT_MAIL_OFFER) {
        transfer->offer = text->data.offer;
        transfer->room = bytes;
        weft_msg_pull(m, transfer);
        return;
    }
    if (transfer->device && bytes != 0)
        weft_msg_deliver(m, transfer->buffer, payload, bytes, true);
    else if (in_ring && bytes != 0)
        weft_read_shared(transfer->buffer, payload, bytes);
    else if (bytes <= WEFT_MAIL_WITHIN)
        weft_mail_copy(transfer->buffer, payload, (uint32_t)bytes);
    else
        memcpy(transfer->buffer, payload, bytes);
    weft_msg_complete(m, transfer);
    if ((head.flags & WEFT_MAIL_WANTED) != 0)
        weft_msg_answer(m, transfer, WEFT_MAIL_TAKEN);
}

void weft_msg_receive_kept(struct weft_messages *m, struct weft_transfer *transfer,
                           struct weft_unexpected *kept)
{
    meet(m, transfer, kept->kept.from, kept->head, &kept->text,
         kept->head.count > WEFT_MAIL_WITHIN ? kept->payload : kept->text.data.within, false);
    weft_msg_took(m, kept->kept.from, weft_mail_need(kept->head.count));
    free(kept);
}

/* Keeps a message that no receive fits. Without memory for it the job fails. */
static void keep(struct weft_messages *m, struct weft_match *match, int from,
                 struct weft_mail_head head, const struct weft_mail_text *text,
                 const unsigned char *payload)
{
    const bool within = head.count <= WEFT_MAIL_WITHIN;
    struct weft_unexpected *kept = malloc(sizeof(*kept) + (within ? 0 : head.count));

    if (kept == NULL) {
        weft_msg_no_memory(m, "a message that no receive has asked for");
        return;
    }
    kept->kept.from = from;
    kept->kept.tag = text->tag;
    kept->head = head;
    kept->text = *text;
    if (within && head.count != 0) /* a message to itself has it elsewhere */
        memcpy(kept->text.data.within, payload, head.count);
    else if (!within)
        weft_read_shared(kept->payload, payload, head.count);
    weft_match_keep(match, &kept->kept);
    m->completed = true; /* who probes */
}

/* Finds or makes the context of a frame; NULL: there can be none, or there is no memory. */
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
    const bool eager = head.kind == WEFT_MAIL_EAGER, in_ring = head.count > WEFT_MAIL_WITHIN;

    if (text->tag < 0 || head.count != (eager ? text->bytes : 0))
        return false;
    struct weft_msg_context *context = context_of(m, text->context);
    if (context == NULL)
        return false;
    struct weft_posted *posted = weft_match_arrive(&context->match, process, text->tag);
    if (posted == NULL) {
        keep(m, &context->match, process, head, text, payload);
        return true;
    }
    meet(m, (struct weft_transfer *)(void *)posted, process, head, text, payload, in_ring);
    if (in_ring)
        weft_msg_took(m, process, weft_mail_need(head.count));
    return true;
}
