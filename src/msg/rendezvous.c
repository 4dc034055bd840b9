/*
 * msg/rendezvous.c - messages that stay with their sender until they are received. The receiver
 * reads them out of the sender's memory, or has them put into its buffer (far.c), or grants the
 * sender to copy them there or to send them in pieces. Between a host's and a device's memory, the
 * process with the host's copies, or pieces go. When several messages between hosts come at once,
 * senders that wait copy some of them. Lock held.
 */
#include "msg/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum {
    CHUNK = WEFT_MSG_STAGE,  /* bytes read from another process at once, under the lock */
    CHUNK_MAPPED = 16 << 20, /* bytes copied at once within a device or between two */
    CHUNK_HOST = 4 << 20,    /* bytes copied at once between a device and host memory */
    PIECES = 4               /* pieces of a send that one round sends */
};

void weft_msg_answer(struct weft_messages *m, const struct weft_transfer *transfer,
                     enum weft_mail_kind kind)
{
    const struct weft_mail_text text = {.request = transfer->theirs,
                                        .bytes = transfer->room,
                                        .data.grant = weft_transfer_number(transfer),
                                        .data.into = kind == WEFT_MAIL_GRANT ? transfer->into : 0};

    weft_msg_send(m, transfer->peer, (struct weft_mail_head){.kind = (uint8_t)kind}, &text, NULL,
                  NULL);
}

/* ---- the receiver reads, or the sender writes ------------------------------------------------ */

size_t weft_msg_copy_between(const struct weft_messages *m, int process, bool writes, void *here,
                             uint64_t there, size_t bytes)
{
    void *const at = (void *)(uintptr_t)there;
    const struct iovec mine = {here, bytes}, theirs = {at, bytes};

    if (m->job->one_address_space || process == m->job->numbers.process) {
        writes ? weft_write_shared(at, here, bytes) : weft_read_shared(here, at, bytes);
        return bytes;
    }
    const ssize_t got = (writes ? process_vm_writev : process_vm_readv)(m->peers[process].pid,
                                                                        &mine, 1, &theirs, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

/* Copies the next bytes of a transfer that READS; returns how many; 0: none, errno says why. */
static size_t read_some(struct weft_messages *m, struct weft_transfer *transfer, size_t bytes)
{
    if (transfer->mapped != NULL)
        return weft_msg_copy_mapped(m, transfer, bytes);
    return weft_msg_copy_between(m, transfer->peer, transfer->sends,
                                 transfer->buffer + transfer->moved,
                                 transfer->offer + transfer->moved, bytes);
}

static void granted(struct weft_messages *m, struct weft_transfer *transfer)
{
    transfer->moved = 0;
    if (weft_far_ask(m, transfer))
        return;
    m->granted++;
    transfer->state = WEFT_TRANSFER_GRANTED;
    weft_msg_answer(m, transfer, WEFT_MAIL_GRANT);
}

/* A transfer's copy failed. If the other process has ended, the control channel will tell; else
 * pieces go, or the job fails. */
static void cannot_read(struct weft_messages *m, struct weft_transfer *transfer, int error)
{
    if (error == ESRCH || weft_job_is_failing(m->job))
        return;
    if (transfer->sends) { /* then its receiver stores them itself */
        transfer->moved = 0;
        transfer->state = WEFT_TRANSFER_PIECES;
        STAILQ_INSERT_TAIL(&m->moving, transfer, link);
        return;
    }
    if (error == EPERM || error == ENOSYS) {
        weft_say(WEFT_SAY_INFO, "messages of process %d come in pieces: process_vm_readv: %s",
                 transfer->peer, strerror(error));
        m->peers[transfer->peer].reads = false;
        granted(m, transfer);
        return;
    }
    weft_job_fail(m->job, WEFT_ERR_ARGUMENT,
                  "process %d cannot read %zu bytes at 0x%llx of process %d, which has sent them: "
                  "%s",
                  m->job->numbers.process, transfer->room - transfer->moved,
                  (unsigned long long)transfer->offer + transfer->moved, transfer->peer,
                  strerror(error));
}

/* Copies the next bytes of a transfer that READS. True: there is more; false: it is over, or
 * waits. */
static bool read_on(struct weft_messages *m, struct weft_transfer *transfer)
{
    const size_t left = transfer->room - transfer->moved;
    const size_t most = transfer->mapped == NULL ? CHUNK
                        : transfer->device       ? CHUNK_MAPPED
                                                 : CHUNK_HOST;

    errno = 0;
    const size_t got = left == 0 ? 0 : read_some(m, transfer, left < most ? left : most);
    transfer->moved += got;
    if (transfer->moved == transfer->room) {
        weft_msg_answer(m, transfer, transfer->sends ? WEFT_MAIL_COPIED : WEFT_MAIL_TAKEN);
        weft_msg_complete(m, transfer);
        return false;
    }
    if (got == 0)
        cannot_read(m, transfer, errno);
    return got != 0;
}

/* Whether the sender, which waits in a call, should copy a message: in this round this process has
 * read more messages than that one was asked to copy. */
static bool shares(const struct weft_messages *m, const struct weft_transfer *transfer)
{
    const struct weft_msg_peer *const peer = &m->peers[transfer->peer];

    return peer->copies < m->reads && peer->box != NULL && transfer->room != 0 &&
           weft_load_relaxed_u32(&peer->box->attends) != 0;
}

void weft_msg_pull(struct weft_messages *m, struct weft_transfer *transfer)
{
    const bool offered = weft_memory_is_offer(transfer->offer);
    struct weft_msg_peer *const peer = &m->peers[transfer->peer];

    transfer->moved = 0;
    transfer->mapped = NULL;
    transfer->into =
        transfer->device ? weft_memory_offer(m->job, transfer->buffer, transfer->room) : 0;
    if (offered && m->stage != NULL) /* a process on a CPU copies no other's device memory */
        transfer->mapped =
            weft_memory_offered(m->job, transfer->peer, transfer->offer, transfer->room);
    const bool reads = !offered && !transfer->device && transfer->offer != 0 && peer->reads;
    if (reads && shares(m, transfer)) {
        transfer->into = (uint64_t)(uintptr_t)transfer->buffer;
        peer->copies++;
        m->shared++;
    }
    if ((offered ? transfer->mapped == NULL : !reads || transfer->into != 0) &&
        transfer->room != 0) {
        granted(m, transfer);
        return;
    }
    m->reads += reads;
    m->read++;
    transfer->state = WEFT_TRANSFER_READS;
    if (read_on(m, transfer))
        STAILQ_INSERT_TAIL(&m->moving, transfer, link);
}

/* ---- the sender sends pieces ----------------------------------------------------------------- */

/* Returns the next bytes of a send, in host memory; from a device it fetches many pieces at once,
 * if no other transfer waits for its turn. NULL: it failed. */
static const unsigned char *next_bytes(struct weft_messages *m,
                                       const struct weft_transfer *transfer, size_t bytes)
{
    const size_t left = transfer->room - transfer->moved;

    if (!transfer->device)
        return transfer->buffer + transfer->moved;
    unsigned char *const stage = weft_msg_stage(m, WEFT_MSG_STAGE_PIECES);
    if (m->fetched != weft_transfer_number(transfer) || transfer->moved < m->fetched_at ||
        transfer->moved + bytes > m->fetched_at + m->fetched_bytes) {
        m->fetched = weft_transfer_number(transfer);
        m->fetched_at = transfer->moved;
        const size_t most = STAILQ_EMPTY(&m->moving) ? WEFT_MSG_STAGE : PIECES * bytes;
        m->fetched_bytes = left < most ? left : most;
        if (!weft_msg_fetch(m, stage, transfer->buffer + transfer->moved, m->fetched_bytes))
            return NULL;
    }
    return stage + (transfer->moved - m->fetched_at);
}

/* Sends as many pieces as there is room for, PIECES at most. True: the send is not complete. */
static bool send_pieces(struct weft_messages *m, struct weft_transfer *transfer)
{
    struct weft_msg_peer *peer = &m->peers[transfer->peer];

    for (int i = 0; i < PIECES && transfer->moved != transfer->room; i++) {
        const size_t left = transfer->room - transfer->moved;
        const uint16_t count = (uint16_t)(left < peer->piece ? left : peer->piece);
        const struct weft_mail_head head = {.kind = WEFT_MAIL_PIECE, .count = count};
        const struct weft_mail_text text = {.request = transfer->theirs, .bytes = transfer->moved};
        const unsigned char *payload =
            STAILQ_EMPTY(&peer->outgoing) ? next_bytes(m, transfer, count) : NULL;
        if (payload == NULL || !weft_msg_try(m, transfer->peer, head, &text, payload))
            return true;
        transfer->moved += count;
    }
    if (transfer->moved != transfer->room)
        return true;
    weft_msg_reuse(peer);
    weft_msg_complete(m, transfer);
    return false;
}

bool weft_msg_move(struct weft_messages *m)
{
    struct weft_transfer *transfer = STAILQ_FIRST(&m->moving);
    const bool reads = transfer->state == WEFT_TRANSFER_READS;
    const size_t before = transfer->moved;

    STAILQ_REMOVE_HEAD(&m->moving, link);
    if (reads ? read_on(m, transfer) : send_pieces(m, transfer))
        STAILQ_INSERT_TAIL(&m->moving, transfer, link);
    return reads || transfer->moved != before;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Finds the transfer `number` that a process names in a frame: it is in `state`, and that process
 * is its other side. NULL: it is not. */
static struct weft_transfer *named(struct weft_messages *m, int process, uint64_t number,
                                   enum weft_transfer_state state)
{
    struct weft_transfer *transfer = weft_transfer_find(&m->transfers, number);

    return transfer != NULL && transfer->state == state && transfer->peer == process ? transfer
                                                                                     : NULL;
}

bool weft_msg_take_taken(struct weft_messages *m, int process, bool back,
                         const struct weft_mail_text *text)
{
    struct weft_transfer *transfer = named(m, process, text->request, WEFT_TRANSFER_SENT);

    if (transfer == NULL || (back && !transfer->recalled))
        return false;
    if (back)
        transfer->message.tag = WEFT_ANY;
    weft_msg_complete(m, transfer);
    return true;
}

void weft_msg_recall(struct weft_messages *m, struct weft_transfer *transfer)
{
    const struct weft_mail_text text = {.context = transfer->context->handle,
                                        .request = weft_transfer_number(transfer)};

    transfer->recalled = true;
    weft_msg_send(m, transfer->peer, (struct weft_mail_head){.kind = WEFT_MAIL_RECALL}, &text, NULL,
                  NULL);
}

/* A message that a receive has met is not given back: its sender hears of that otherwise. */
void weft_msg_take_recall(struct weft_messages *m, int process, const struct weft_mail_text *text)
{
    struct weft_msg_context *context = weft_context_find(&m->contexts, text->context);
    const struct weft_mail_text answer = {.request = text->request};
    struct weft_kept *kept = context == NULL ? NULL : TAILQ_FIRST(&context->match.arrived);

    while (kept != NULL &&
           (kept->from != process ||
            ((struct weft_unexpected *)(void *)kept)->text.request != text->request))
        kept = TAILQ_NEXT(kept, in_order);
    if (kept == NULL)
        return;
    struct weft_unexpected *message = (void *)kept;
    weft_match_take(&context->match, kept);
    weft_msg_took(m, process, weft_mail_need(message->head.count));
    free(message);
    weft_msg_send(m, process, (struct weft_mail_head){.kind = WEFT_MAIL_RECALLED}, &answer, NULL,
                  NULL);
}

/* Finds a send to the process of which text->bytes are wanted, now its room. NULL: malformed. */
static struct weft_transfer *wanted(struct weft_messages *m, int process,
                                    const struct weft_mail_text *text)
{
    struct weft_transfer *transfer = named(m, process, text->request, WEFT_TRANSFER_SENT);

    if (transfer == NULL || text->bytes == 0 || text->bytes > transfer->room)
        return NULL;
    transfer->room = (size_t)text->bytes;
    transfer->moved = 0;
    return transfer;
}

bool weft_msg_take_grant(struct weft_messages *m, int process, const struct weft_mail_text *text)
{
    struct weft_transfer *transfer = wanted(m, process, text);

    if (transfer == NULL)
        return false;
    const uint64_t into = transfer->device ? 0 : text->data.into;
    const bool far = weft_memory_is_offer(into);
    transfer->theirs = text->data.grant;
    transfer->offer = into;
    transfer->mapped = !far || m->stage == NULL
                           ? NULL /* a process on a CPU copies into no other's device memory */
                           : weft_memory_offered(m->job, process, into, transfer->room);
    const bool copies = far ? transfer->mapped != NULL : into != 0 && m->peers[process].reads;
    transfer->state = copies ? WEFT_TRANSFER_READS : WEFT_TRANSFER_PIECES;
    m->copied += far && copies;
    STAILQ_INSERT_TAIL(&m->moving, transfer, link);
    return true;
}

bool weft_msg_take_put(struct weft_messages *m, int process, const struct weft_mail_text *text)
{
    struct weft_transfer *transfer = wanted(m, process, text);

    /* It may be that this process maps the other's memory, and not the other way round. */
    if (transfer == NULL || transfer->device || !m->exposed || process == m->job->numbers.process)
        return false;
    transfer->key = text->data.region.key;
    memcpy(transfer->place, text->data.region.place, sizeof(transfer->place));
    transfer->state = WEFT_TRANSFER_PUT;
    STAILQ_INSERT_TAIL(&m->puts, transfer, link);
    m->posted = true;
    return true;
}

bool weft_msg_take_copied(struct weft_messages *m, int process, const struct weft_mail_text *text)
{
    struct weft_transfer *transfer = named(m, process, text->request, WEFT_TRANSFER_GRANTED);

    if (transfer == NULL || transfer->moved != 0 || transfer->into == 0)
        return false;
    if (!transfer->device) /* who sends pieces instead keeps it: it is asked less and less */
        m->peers[process].copies--;
    weft_msg_complete(m, transfer);
    return true;
}

bool weft_msg_take_piece(struct weft_messages *m, int process, struct weft_mail_head head,
                         const struct weft_mail_text *text, const unsigned char *payload)
{
    struct weft_transfer *transfer = named(m, process, text->request, WEFT_TRANSFER_GRANTED);

    if (transfer == NULL || text->bytes != transfer->moved ||
        head.count > transfer->room - transfer->moved || head.count == 0)
        return false;
    unsigned char *const target = transfer->buffer + transfer->moved;
    transfer->moved += head.count;
    const bool last = transfer->moved == transfer->room;
    if (transfer->device)
        weft_msg_deliver(m, target, payload, head.count, last);
    else if (head.count > WEFT_MAIL_WITHIN)
        weft_read_shared(target, payload, head.count);
    else
        memcpy(target, payload, head.count);
    if (last)
        weft_msg_complete(m, transfer);
    return true;
}
