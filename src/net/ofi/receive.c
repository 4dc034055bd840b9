/*
 * net/ofi/receive.c - what arrives: events in the order of their numbers.
 *
 * A batch of completions is read under the lock, applied without it, and answered under it, when
 * its data is there (arrive.h), while the next ones are read. Data of messages is stored here; that
 * of writes is there already.
 */
#include "net/ofi/inside.h"

#include "base/say.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

/* An event that came before its turn. */
struct weft_ofi_early {
    struct weft_ofi_early *next;
    struct weft_ofi_message m;
    unsigned char data[];
};

/* What became of one completion of a batch. */
struct taken {
    struct weft_ofi_buffer *buffer; /* to be posted again, or NULL */
    bool message, event;
    struct weft_ofi_message m;
    int process;
    uint32_t applied; /* events of the process up to this one */
};

struct weft_ofi_batch {
    struct taken taken[WEFT_OFI_BATCH];
    ssize_t count;
};

/* ---- events ---------------------------------------------------------------------------------- */

/* An event: a message, or a write, of which a header tells; of one to a dock its berth says the
 * rest, which goes to *docked. */
static weft_status apply(struct weft_net *net, const struct weft_ofi_message *m,
                         struct weft_ofi_message *docked)
{
    if (m->header.kind == WEFT_OFI_DOCKED) {
        const struct weft_ofi_arrival arrival = {.process = m->header.process,
                                                 .event = m->header.event};
        weft_status status = weft_ofi_undock(net, &arrival, docked);
        if (status != WEFT_OK)
            return status;
        m = docked;
    }
    const struct weft_ofi_header *h = &m->header;
    const weft_status status = h->kind == WEFT_OFI_ROWS
                                   ? weft_arrive_rows(&net->arrive, h->process, h->key, h->offset,
                                                      &m->rows, m->data, m->bytes, h->notice)
                                   : weft_arrive_deliver(&net->arrive, h->process, h->key,
                                                         h->offset, m->data, m->bytes, h->notice);
    net->peers[h->process].expected += status == WEFT_OK;
    return status;
}

static struct weft_ofi_early **find_early(struct weft_ofi_peer *peer, uint32_t number)
{
    struct weft_ofi_early **at = &peer->early;

    while (*at != NULL && (*at)->m.header.event != number)
        at = &(*at)->next;
    return at;
}

/* Keeps an event until its turn; the data with it, for its buffer is needed. */
static weft_status keep(struct weft_net *net, const struct weft_ofi_message *m)
{
    struct weft_ofi_peer *peer = &net->peers[m->header.process];
    struct weft_ofi_early *early;

    if (*find_early(peer, m->header.event) != NULL)
        return weft_err(WEFT_ERR_PROTOCOL, "ofi: process %d sent event %u twice", m->header.process,
                        m->header.event);
    early = malloc(sizeof(*early) + m->bytes);
    if (early == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory for an event of %zu bytes", m->bytes);
    early->next = peer->early;
    early->m = *m;
    early->m.data = early->data;
    if (m->bytes != 0)
        memcpy(early->data, m->data, m->bytes);
    peer->early = early;
    return WEFT_OK;
}

/* Applies an event, or keeps it, and then those whose turn has come. */
static weft_status take_event(struct weft_net *net, const struct weft_ofi_message *m,
                              struct taken *taken)
{
    struct weft_ofi_peer *peer = &net->peers[m->header.process];
    const uint32_t ahead = m->header.event - peer->expected;
    weft_status status;

    if (ahead >= WEFT_OFI_WINDOW)
        return weft_err(WEFT_ERR_PROTOCOL, "ofi: process %d sent event %u, and %u is next",
                        m->header.process, m->header.event, peer->expected);
    if (ahead > 0)
        return keep(net, m);
    const bool docked = m->header.kind == WEFT_OFI_DOCKED;
    status = apply(net, m, &taken->m);
    taken->message |= status == WEFT_OK && docked; /* it has a header, too */
    while (status == WEFT_OK && peer->early != NULL) {
        struct weft_ofi_early **at = find_early(peer, peer->expected), *early = *at;
        if (early == NULL)
            break;
        struct weft_ofi_message berth;
        status = apply(net, &early->m, &berth);
        if (status == WEFT_OK && early->m.header.kind == WEFT_OFI_DOCKED) {
            weft_lock(&net->lock); /* what a message says is heard when it comes */
            status = weft_ofi_hear(net, &berth);
            weft_unlock(&net->lock);
        }
        /* It is there before the memory it came from is freed. */
        if (status == WEFT_OK && early->m.bytes != 0)
            status = weft_arrive_wait(&net->arrive);
        *at = early->next;
        free(early);
    }
    return status;
}

/* ---- completions --------------------------------------------------------------------------- */

static weft_status take_write(struct weft_net *net, uint64_t data, struct taken *taken)
{
    struct weft_ofi_arrival arrival;

    if (!weft_ofi_data_parse(net->can.form, net->open.processes, data, &arrival))
        return weft_err(WEFT_ERR_PROTOCOL, "ofi: a write came with the malformed data 0x%llx",
                        (unsigned long long)data);
    const uint32_t expected = net->peers[arrival.process].expected;
    const struct weft_ofi_message m = {
        .header = {.kind = net->can.direct ? WEFT_OFI_PUT : WEFT_OFI_DOCKED,
                   .process = (uint16_t)arrival.process,
                   .event = expected + ((arrival.event - expected) & (net->can.spread - 1)),
                   .notice = arrival.notice}};
    taken->event = true;
    taken->process = arrival.process;
    return take_event(net, &m, taken);
}

static weft_status take_message(struct weft_net *net, size_t bytes, struct taken *taken)
{
    const char *reason = NULL;
    const enum weft_ofi_parse result = weft_ofi_parse(taken->buffer->bytes, bytes, net->token,
                                                      net->open.processes, &taken->m, &reason);

    if (result == WEFT_OFI_MALFORMED)
        return weft_err(WEFT_ERR_PROTOCOL, "ofi: a malformed message of %zu bytes: %s", bytes,
                        reason);
    if (result == WEFT_OFI_STRANGER) {
        if (!net->warned_stranger)
            weft_say(WEFT_SAY_WARN, "ofi: ignored a message of %zu bytes that is not of this job",
                     bytes);
        net->warned_stranger = true;
        return WEFT_OK;
    }
    const struct weft_ofi_header *h = &taken->m.header;
    taken->message = true;
    taken->process = h->process;
    taken->event = h->kind == WEFT_OFI_PUT || h->kind == WEFT_OFI_ROWS;
    return taken->event ? take_event(net, &taken->m, taken) : WEFT_OK;
}

static weft_status take_entry(struct weft_net *net, const struct fi_cq_data_entry *entry,
                              struct taken *taken)
{
    *taken = (struct taken){0};
    /* A message may bring such data, too: a stranger's, since no one here sends any so. */
    if ((entry->flags & FI_REMOTE_CQ_DATA) != 0 && (entry->flags & FI_RECV) == 0) {
        if (net->can.data_takes_buffer)
            taken->buffer = entry->op_context;
        return take_write(net, entry->data, taken);
    }
    if ((entry->flags & FI_RECV) == 0)
        return WEFT_OK;
    taken->buffer = entry->op_context;
    return take_message(net, entry->len, taken);
}

/* A failed completion. What a stranger can cause ends nothing: he is only not heard. */
static weft_status take_error(struct weft_net *net)
{
    struct fi_cq_err_entry error = {0};
    ssize_t posted = 0;

    if (fi_cq_readerr(net->cq[WEFT_NET_RECEIVE], &error, 0) != 1)
        return WEFT_OK;
    weft_say(WEFT_SAY_INFO, "ofi: a receive failed: %s (%zu bytes too many)",
             weft_ofi_error(error.err), error.olen);
    if (error.op_context != NULL &&
        ((struct weft_ofi_context *)error.op_context)->what == WEFT_OFI_RECEIVE_BUFFER)
        posted = weft_ofi_post_receive(net, error.op_context);
    if (posted == 0 &&
        (error.err == FI_ETRUNC || error.err == FI_ECANCELED || error.err == FI_ECONNRESET ||
         error.err == FI_ECONNABORTED || error.err == FI_ENOTCONN || error.err == FI_ESHUTDOWN))
        return WEFT_OK;
    return weft_err(WEFT_ERR_NETWORK, "ofi: %s cannot receive: %s",
                    net->info->fabric_attr->prov_name, weft_ofi_error(error.err));
}

/* ---- progress ------------------------------------------------------------------------------ */

ssize_t weft_ofi_post_receive(struct weft_net *net, struct weft_ofi_buffer *buffer)
{
    return fi_recv(net->ep, buffer->bytes, WEFT_OFI_MESSAGE_BYTES,
                   net->memory_mr != NULL ? fi_mr_desc(net->memory_mr) : NULL, FI_ADDR_UNSPEC,
                   &buffer->context);
}

/* What it says is heard, its buffers go back, receipts go out. */
weft_status weft_ofi_conclude(struct weft_net *net, uint64_t index)
{
    const struct taken *batch = net->batches[index].taken;
    const ssize_t count = net->batches[index].count;
    const uint64_t now = weft_now_ns();
    weft_status status = WEFT_OK;

    weft_lock(&net->lock);
    for (ssize_t i = 0; i < count && status == WEFT_OK; i++) {
        if (batch[i].event)
            weft_ofi_owe(net, batch[i].process, batch[i].applied, now);
        if (batch[i].message)
            status = weft_ofi_hear(net, &batch[i].m);
        if (batch[i].buffer == NULL)
            continue;
        const ssize_t error = weft_ofi_post_receive(net, batch[i].buffer);
        if (error != 0 && status == WEFT_OK)
            status = weft_err(WEFT_ERR_NETWORK, "ofi: %s takes no receive buffer: %s",
                              net->info->fabric_attr->prov_name, weft_ofi_error(error));
    }
    weft_ofi_send_receipts(net, now, false);
    weft_unlock(&net->lock);
    return status;
}

static void tidy(struct weft_net *net)
{
    const bool asleep = weft_ofi_about_to_sleep(net, WEFT_NET_RECEIVE);

    weft_lock(&net->lock);
    if (net->questions_count > 0)
        weft_ofi_answer_again(net);
    if (net->owing > 0)
        weft_ofi_send_receipts(net, weft_now_ns(), asleep);
    const bool ring = net->watch == NULL && (net->outstanding > 0 || net->stuck);
    weft_unlock(&net->lock);
    if (ring) /* it polls for the send side, too */
        weft_bell_ring(&net->bells[WEFT_NET_SEND]);
    weft_ofi_watch(net, WEFT_NET_RECEIVE);
}

weft_status weft_ofi_progress_receive(struct weft_net *net, bool *did)
{
    struct fi_cq_data_entry entries[WEFT_OFI_BATCH];
    weft_status status = weft_arrive_settle(&net->arrive, did);

    if (net->batches == NULL)
        net->batches = calloc(WEFT_OFI_BATCHES, sizeof(*net->batches));
    if (net->batches == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory for what arrives");
    if (status != WEFT_OK || !weft_arrive_has_room(&net->arrive))
        return status;
    const uint32_t index = weft_arrive_next(&net->arrive);
    struct weft_ofi_batch *batch = &net->batches[index];
    weft_lock(&net->lock);
    const ssize_t count = fi_cq_read(net->cq[WEFT_NET_RECEIVE], entries, WEFT_OFI_BATCH);
    if (count == -FI_EAVAIL)
        status = take_error(net);
    weft_unlock(&net->lock);
    if (count == -FI_EAGAIN || count == -FI_EAVAIL) {
        *did |= count == -FI_EAVAIL;
        if (count == -FI_EAGAIN)
            tidy(net);
        return status;
    }
    if (count < 0)
        return weft_err(WEFT_ERR_NETWORK, "ofi: %s cannot receive: %s",
                        net->info->fabric_attr->prov_name, weft_ofi_error(count));
    *did = true;
    for (ssize_t i = 0; i < count && status == WEFT_OK; i++) {
        status = take_entry(net, &entries[i], &batch->taken[i]);
        if (batch->taken[i].event)
            batch->taken[i].applied = net->peers[batch->taken[i].process].expected;
    }
    if (status != WEFT_OK)
        return status; /* none of it is taken for landed */
    batch->count = count;
    return weft_arrive_batch_end(&net->arrive, index);
}

void weft_ofi_receive_close(struct weft_net *net)
{
    free(net->batches);
    for (int p = 0; net->peers != NULL && p < net->open.processes; p++)
        while (net->peers[p].early != NULL) {
            struct weft_ofi_early *early = net->peers[p].early;
            net->peers[p].early = early->next;
            free(early);
        }
}
