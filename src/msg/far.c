/*
 * msg/far.c - frames over a network: a ring at the receiver, which it has exposed, and a shadow of
 * it at the sender, from which the network reads.
 *
 * A frame is one put: its line and, behind it, its payload, with a notice MESSAGE that says whose
 * it is. A frame that would cross the end of the ring begins at its start. Units of 64 bytes are
 * counted, as in ring/mail.h; the ring's half of the commit word says how far the sender has read
 * the frames of the other direction. A side with nothing to send says that in a frame CREDIT, for
 * which the last unit of a ring is kept.
 *
 * Threads write to the shadow; the progress task, or who does its round, hands it on.
 *
 * A message that is offered is put from the sender's buffer into the receive's, which is exposed
 * for as long (WEFT_MSG_PUT). Its notice names only the sender: bytes come in the order of PUTs.
 * The receiver then answers TAKEN, as it does for a message that it has read.
 */
#include "msg/msg.h"

#include "abi/notice.h"

#include <string.h>

/* Tags of the notice. WAKE: no frame; look at the rings in memory (engine.c). WRITTEN: the
 * receive whose PUT is the oldest has its bytes. */
enum { FRAME, WAKE, FRAME_AT_START, WRITTEN };

enum { SKIP = 255 /* a kind, in the shadow alone: the next frame is at the start */ };

static uint32_t frame_units(uint32_t count)
{
    return 1 + weft_mail_need(count);
}

static struct weft_mail *shadow_line(const struct weft_far *far, uint32_t unit)
{
    return (struct weft_mail *)(void *)far->shadow + (unit & (far->units - 1));
}

bool weft_far_push(struct weft_messages *m, int process, struct weft_mail_head head,
                   const struct weft_mail_text *text, const void *payload)
{
    struct weft_far *far = &m->peers[process].far;
    const uint32_t need = frame_units(head.count), reserve = head.kind != WEFT_MAIL_CREDIT;
    const uint32_t unit = weft_mail_place(far->head, need, far->units);

    if (unit + need + reserve - far->seen > far->units)
        return false;
    if (unit != far->head)
        shadow_line(far, far->head)->commit =
            weft_mail_commit((struct weft_mail_head){.kind = SKIP}, 0);
    struct weft_mail *line = shadow_line(far, unit);
    line->commit = weft_mail_commit(head, far->tail);
    line->text = *text;
    if (payload != NULL && head.count != 0)
        memcpy(need == 1 ? line->text.data.within : (unsigned char *)(line + 1), payload,
               head.count);
    far->told = far->tail;
    far->head = unit + need;
    m->posted = true;
    return true;
}

void weft_far_credit(struct weft_messages *m, int process)
{
    struct weft_msg_peer *peer = &m->peers[process];
    struct weft_far *far = &peer->far;
    const struct weft_mail_text text = {.bytes = far->tail, .data.taken = peer->took};
    const struct weft_mail_head head = {.kind = WEFT_MAIL_CREDIT};

    if (far->tail - far->told < far->in_units / 4 &&
        (peer->took - far->told_taken) * 4 < m->keeps + (m->keeps == 0))
        return;
    if (peer->out.ring != NULL) { /* to one who does not map this one's memory: by its own ring */
        weft_msg_send(m, process, head, &text, NULL, NULL);
        far->told = far->tail;
    } else if (!weft_far_push(m, process, head, &text, NULL)) {
        return;
    }
    far->told_taken = peer->took;
}

/* Takes the count of units that the other side has read. False: there cannot be so many. */
static bool take_seen(struct weft_far *far, uint32_t said)
{
    if (said - far->seen > far->head - far->seen)
        return false;
    far->seen = said;
    return true;
}

bool weft_far_credited(struct weft_messages *m, int process, const struct weft_mail_text *text)
{
    struct weft_msg_peer *peer = &m->peers[process];
    const uint32_t taken = text->data.taken;

    if (peer->out.ring != NULL || taken - peer->taken > peer->given - peer->taken ||
        !take_seen(&peer->far, (uint32_t)text->bytes))
        return false;
    peer->taken = taken;
    return true;
}

bool weft_far_ask(struct weft_messages *m, struct weft_transfer *transfer)
{
    const struct weft_proxy *proxy = &m->job->proxy;
    struct weft_mail_text text = {.request = transfer->theirs, .bytes = transfer->room};
    struct weft_msg_peer *peer = &m->peers[transfer->peer];

    if (m->job->config.msg_put == 0 || peer->out.ring != NULL || transfer->device ||
        transfer->peer == m->job->numbers.process || transfer->offer == 0 ||
        weft_memory_is_offer(transfer->offer))
        return false;
    if (weft_net_reg(proxy->net, transfer->buffer, transfer->room, true, &transfer->key) !=
        WEFT_OK) {
        weft_msg_no_memory(m, "a region of a receive");
        return true;
    }
    text.data.region.key = transfer->key;
    weft_net_place(proxy->net, transfer->key, text.data.region.place);
    m->put++;
    transfer->state = WEFT_TRANSFER_WRITTEN;
    STAILQ_INSERT_TAIL(&peer->far.written, transfer, link);
    weft_msg_send(m, transfer->peer, (struct weft_mail_head){.kind = WEFT_MAIL_PUT}, &text, NULL,
                  NULL);
    return true;
}

/* ---- out ------------------------------------------------------------------------------------- */

/* Fills *put with the next frame to a process, or a wake-up. False: there is none. Lock held. */
static bool next_put(struct weft_messages *m, int process, struct weft_net_put *put)
{
    struct weft_msg_peer *peer = &m->peers[process];
    struct weft_far *far = &peer->far;
    uint32_t tag = peer->wakes ? WAKE : FRAME;

    *put = (struct weft_net_put){.process = process, .key = far->key};
    if (!peer->wakes && far->posted == far->head)
        return false;
    if (!peer->wakes) {
        if (weft_mail_head_of(shadow_line(far, far->posted)->commit).kind == SKIP) {
            far->posted = weft_mail_place(far->posted, far->units, far->units);
            tag = FRAME_AT_START;
        }
        const struct weft_mail *line = shadow_line(far, far->posted);
        const uint32_t count = weft_mail_head_of(line->commit).count;
        put->source = line;
        put->bytes = sizeof(*line) + (count > WEFT_MAIL_WITHIN ? count : 0);
        put->offset = far->offset + (uint64_t)(far->posted & (far->units - 1)) * WEFT_MAIL_UNIT;
        far->posted += frame_units(count);
    }
    peer->wakes = false;
    put->notice = weft_notice(WEFT_NOTICE_MESSAGE, tag, (uint32_t)m->job->numbers.process);
    return true;
}

/* Fills *put with the next message that a receiver has asked for by PUT. False: none. Lock held. */
static bool next_message(struct weft_messages *m, struct weft_net_put *put)
{
    struct weft_transfer *transfer = STAILQ_FIRST(&m->puts);

    if (transfer == NULL)
        return false;
    STAILQ_REMOVE_HEAD(&m->puts, link);
    transfer->state = WEFT_TRANSFER_SENT;
    *put = (struct weft_net_put){
        .process = transfer->peer,
        .key = transfer->key,
        .place = {transfer->place[0], transfer->place[1]},
        .source = transfer->buffer,
        .bytes = transfer->room,
        .notice = weft_notice(WEFT_NOTICE_MESSAGE, WRITTEN, (uint32_t)m->job->numbers.process)};
    return true;
}

/* Hands a put to the network's requests. False: there is no memory, and the job fails. */
static bool post(struct weft_messages *m, const struct weft_net_put *put)
{
    struct weft_request *request = weft_request_make(m->job, WEFT_NO_SLOT, false);

    if (request == NULL)
        return false;
    request->put = *put;
    request->source = put->source;
    request->rows = 1;
    request->width = put->bytes;
    weft_requests_add(m->job, &m->posts, request);
    return true;
}

bool weft_far_round(struct weft_job *job)
{
    struct weft_messages *m = job->messages;
    bool did = weft_requests_proceed(job, &m->posts);

    for (int p = 0; p < job->numbers.processes; p++)
        for (;;) {
            struct weft_net_put put;
            weft_msg_lock(m);
            const bool some = next_message(m, &put) || next_put(m, p, &put);
            weft_unlock(&m->lock); /* whose post it is sends it */
            if (!some || !post(m, &put))
                break;
            did = true;
        }
    return did;
}

/* ---- in -------------------------------------------------------------------------------------- */

static weft_status take_frame(struct weft_messages *m, int process, uint32_t tag)
{
    struct weft_msg_peer *peer = &m->peers[process];
    struct weft_far *far = &peer->far;
    const uint32_t unit = tag != FRAME_AT_START
                              ? far->tail
                              : weft_mail_place(far->tail, far->in_units, far->in_units);
    const struct weft_mail *from =
        (const struct weft_mail *)(const void *)far->in + (unit & (far->in_units - 1));
    struct weft_mail line;

    weft_read_shared(&line, from, sizeof(line));
    const struct weft_mail_head head = weft_mail_head_of(line.commit);
    const uint32_t need = frame_units(head.count);
    if (weft_mail_place(unit, need, far->in_units) != unit || need > far->in_units / 2 ||
        !take_seen(far, (uint32_t)line.commit) ||
        !weft_msg_take(m, process, head, &line.text,
                       need == 1 ? line.text.data.within : (const unsigned char *)(from + 1)))
        return weft_msg_malformed(process, head, &line.text);
    far->tail = unit + need;
    far->hears = true;
    weft_msg_flush(m, process);
    weft_far_credit(m, process);
    return WEFT_OK;
}

/* The network has put the bytes of the oldest receive that waits for the process's puts. */
static weft_status take_written(struct weft_messages *m, int process)
{
    struct weft_transfer_list *written = &m->peers[process].far.written;
    struct weft_transfer *transfer = STAILQ_FIRST(written);

    if (transfer == NULL)
        return WEFT_ERR_PROTOCOL;
    STAILQ_REMOVE_HEAD(written, link);
    weft_net_dereg(m->job->proxy.net, transfer->key);
    weft_msg_answer(m, transfer, WEFT_MAIL_TAKEN);
    weft_msg_complete(m, transfer);
    return WEFT_OK;
}

weft_status weft_far_take(void *context, const struct weft_net_delivery *delivery)
{
    struct weft_job *job = context;
    struct weft_messages *m = job->messages;
    const uint32_t process = weft_notice_slot(delivery->notice);
    const uint32_t tag = weft_notice_tag(delivery->notice);

    /* What comes for messages lies in memory of the host: it is there before its notice. */
    if (process >= (uint32_t)job->numbers.processes || process == (uint32_t)job->numbers.process ||
        (delivery->process >= 0 && delivery->process != (int)process) || tag > WRITTEN)
        return WEFT_ERR_PROTOCOL;
    weft_msg_lock(m);
    if (tag == WAKE) /* the round that brought it goes on with those rings */
        m->woken = true;
    const weft_status status = tag == WAKE      ? WEFT_OK
                               : !m->exposed    ? WEFT_ERR_PROTOCOL
                               : tag == WRITTEN ? take_written(m, (int)process)
                                                : take_frame(m, (int)process, tag);
    weft_msg_unlock(m);
    return weft_job_is_failing(job) ? WEFT_OK : status;
}
