/* msg/explain.c - puts into words what a call waits for and what is left at the end. Lock held. */
#include "msg/msg.h"

#include <stdio.h>

enum { NAMED = 4 /* messages that are named one by one */ };

/* Adds "process 0" or "any process"; in a group, the member's number, too. */
static void add_process(struct weft_text *text, const struct weft_msg_context *context, int process)
{
    if (process == WEFT_ANY)
        weft_text_add(text, "any process");
    else if (context->process == NULL || context->members == 0 ||
             (context->words != NULL && weft_context_member(context, process) == process))
        weft_text_add(text, "process %d", process);
    else if (context->words != NULL) /* they name the communicator */
        weft_text_add(text, "member %d (process %d)", weft_context_member(context, process),
                      process);
    else
        weft_text_add(text, "member %d (process %d) of 0x%x", weft_context_member(context, process),
                      process, context->handle);
}

/* Adds "tag 3", or what the context calls the tag. */
static void add_words(struct weft_text *text, const struct weft_msg_context *context, int tag)
{
    char words[96];

    if (context->words == NULL) {
        weft_text_add(text, "tag %d", tag);
        return;
    }
    context->words(context->words_of, tag, words, sizeof(words));
    weft_text_add(text, "%s", words);
}

static void add_tag(struct weft_text *text, const struct weft_msg_context *context, int tag)
{
    if (tag == WEFT_ANY)
        weft_text_add(text, " with any tag");
    else if (context->words == NULL) /* else the call has said it */
        weft_text_add(text, " with tag %d", tag);
}

static void add_call(struct weft_text *text, const struct weft_transfer *transfer)
{
    if (transfer->context != NULL && transfer->context->words != NULL)
        add_words(text, transfer->context, transfer->posted.tag);
    else
        weft_text_add(text, "%s", transfer->call);
    weft_text_add(text, " ");
}

/* Adds "tag 6 (8 bytes), tag 9 (16 bytes)": messages of a process that are kept, or of all. */
static void add_kept(struct weft_text *text, const struct weft_msg_context *context, int process,
                     int *count)
{
    const struct weft_kept *kept;

    TAILQ_FOREACH (kept, &context->match.arrived, in_order) {
        const struct weft_unexpected *message = (const void *)kept;
        if ((process != WEFT_ANY && kept->from != process) || (*count)++ >= NAMED)
            continue;
        weft_text_add(text, "%s", *count == 1 ? "" : ", ");
        add_words(text, context, kept->tag);
        weft_text_add(text, " (%llu bytes", (unsigned long long)message->text.bytes);
        if (process == WEFT_ANY) {
            weft_text_add(text, " from ");
            add_process(text, context, kept->from);
        }
        weft_text_add(text, ")");
    }
}

static void add_more(struct weft_text *text, int count)
{
    if (count > NAMED)
        weft_text_add(text, " and %d more", count - NAMED);
}

static void add_waiting(struct weft_text *text, const struct weft_transfer *transfer)
{
    const struct weft_msg_context *context = transfer->context;
    const bool from_any = transfer->posted.from == WEFT_ANY;
    int count = 0;

    weft_text_add(text, "for a message from ");
    add_process(text, context, transfer->posted.from);
    add_tag(text, context, transfer->posted.tag);
    weft_text_add(text, from_any ? ": there, unmatched: " : ": there from it, unmatched: ");
    add_kept(text, context, transfer->posted.from, &count);
    add_more(text, count);
    if (count == 0)
        weft_text_add(text, "nothing");
}

static void add_transfer(struct weft_text *text, const struct weft_transfer *transfer)
{
    const bool writes = transfer->sends && transfer->state == WEFT_TRANSFER_READS;

    switch (writes ? WEFT_TRANSFER_PIECES : transfer->state) {
    case WEFT_TRANSFER_WAITS:
    case WEFT_TRANSFER_PROBES:
        add_waiting(text, transfer);
        return;
    case WEFT_TRANSFER_READS:
    case WEFT_TRANSFER_GRANTED:
    case WEFT_TRANSFER_WRITTEN:
        weft_text_add(text, "for a message from ");
        add_process(text, transfer->context, transfer->peer);
        add_tag(text, transfer->context, transfer->message.tag);
        weft_text_add(text, ": %zu of %zu bytes came", transfer->moved, transfer->room);
        return;
    case WEFT_TRANSFER_QUEUED:
    case WEFT_TRANSFER_SENT:
        weft_text_add(text, "for ");
        add_process(text, transfer->context, transfer->peer);
        weft_text_add(text, " to receive %zu bytes", transfer->room);
        add_tag(text, transfer->context, transfer->posted.tag);
        return;
    case WEFT_TRANSFER_PIECES:
    case WEFT_TRANSFER_PUT:
        weft_text_add(text, "to send process %d %zu bytes: %zu went", transfer->peer,
                      transfer->room, transfer->moved);
        return;
    default:
        weft_text_add(text, "for a message");
    }
}

static void message_waits_for(const struct weft_job *job, const struct weft_wait_seen *wait,
                              char *text, size_t bytes)
{
    struct weft_messages *m = job->messages;
    struct weft_text to = {text, bytes, 0};

    weft_msg_lock(m);
    const struct weft_transfer *transfer = weft_transfer_find(&m->transfers, wait->a);
    if (transfer != NULL) {
        weft_text_add(&to, "in ");
        add_call(&to, transfer);
        add_transfer(&to, transfer);
    } else {
        weft_text_add(&to, "for a message that is there now");
    }
    weft_unlock(&m->lock);
}

const struct weft_service weft_msg_service = {.owns[WEFT_OWNS_WAITS] = WEFT_KIND(WEFT_WAIT_MESSAGE),
                                              .waits_for = message_waits_for};

/* ---- what is left ---------------------------------------------------------------------------- */

static void say_left(struct weft_text *text, int count, const char *one, const char *several,
                     const char *over)
{
    add_more(text, count);
    if (count != 0)
        weft_say(WEFT_SAY_WARN, "%d %s never %s: %s", count, count == 1 ? one : several, over,
                 text->at);
}

void weft_msg_leftovers(struct weft_messages *m)
{
    char line[768] = "";
    struct weft_text messages = {line, sizeof(line), 0}, operations = messages;
    const struct weft_transfer *transfer = NULL;
    int count = 0;

    for (int bin = 0; bin < WEFT_CONTEXT_BINS; bin++)
        for (struct weft_msg_context *c = m->contexts.bin[bin]; c != NULL; c = c->next)
            add_kept(&messages, c, WEFT_ANY, &count);
    say_left(&messages, count, "message was", "messages were", "received");
    count = 0;
    while ((transfer = weft_transfer_next(&m->transfers, transfer)) != NULL) {
        if (transfer->state == WEFT_TRANSFER_DONE || count++ >= NAMED)
            continue;
        weft_text_add(&operations, "%s", count == 1 ? "" : ", ");
        add_call(&operations, transfer);
        add_transfer(&operations, transfer);
    }
    say_left(&operations, count, "operation was", "operations were", "completed");
}
