/*
 * msg/engine.c - frames go out and come in: one FIFO for each process that they go to, rounds that
 * look at what has arrived, and who is woken. Callers hold the lock, except to wake.
 */
#include "msg/msg.h"

#include <stdlib.h>

enum { FRAMES = 32 /* of one process in a round */ };

void weft_msg_no_memory(struct weft_messages *m, const char *what)
{
    weft_job_fail(m->job, WEFT_ERR_MEMORY, "process %d has no memory for %s",
                  m->job->numbers.process, what);
}

/* ---- out ------------------------------------------------------------------------------------- */

bool weft_msg_may_keep_more(struct weft_messages *m, struct weft_msg_peer *peer, uint32_t need)
{
    if (peer->out.ring != NULL)
        peer->taken = weft_load_relaxed_u32(&peer->out.ring->taken);
    if (peer->given - peer->taken + need <= peer->most)
        return true;
    if (!peer->poor)
        weft_say(WEFT_SAY_INFO,
                 "messages to process %d go without their bytes: it keeps %u KiB that it has not "
                 "received yet (WEFT_MSG_UNEXPECTED)",
                 (int)(peer - m->peers), (peer->given - peer->taken) / (1024 / WEFT_MAIL_UNIT));
    peer->poor = true;
    return false;
}

void weft_msg_took(struct weft_messages *m, int process, uint32_t units)
{
    struct weft_msg_peer *peer = &m->peers[process];

    peer->took += units;
    if (process == m->job->numbers.process)
        peer->taken = peer->took;
    else if (peer->far.hears)
        weft_far_credit(m, process);
    else
        weft_store_relaxed_u32(&peer->in.ring->taken, peer->took);
}

static bool push(struct weft_messages *m, int process, struct weft_mail_head head,
                 const struct weft_mail_text *text, const void *payload)
{
    struct weft_msg_peer *peer = &m->peers[process];

    if (process == m->job->numbers.process) /* it cannot be malformed */
        return weft_msg_take(m, process, head, text, payload);
    if (peer->out.ring == NULL)
        return weft_far_push(m, process, head, text, payload);
    if (!weft_mail_push(&peer->out, head, text, payload))
        return false;
    weft_msg_wake(m, peer, false);
    return true;
}

bool weft_msg_try(struct weft_messages *m, int process, struct weft_mail_head head,
                  const struct weft_mail_text *text, const void *payload)
{
    return STAILQ_EMPTY(&m->peers[process].outgoing) && push(m, process, head, text, payload);
}

bool weft_msg_send(struct weft_messages *m, int process, struct weft_mail_head head,
                   const struct weft_mail_text *text, const void *payload,
                   struct weft_transfer *transfer)
{
    struct weft_msg_peer *peer = &m->peers[process];

    if (weft_msg_try(m, process, head, text, payload))
        return true;
    struct weft_outgoing *waits = malloc(sizeof(*waits));
    if (waits == NULL) {
        weft_msg_no_memory(m, "a message that waits for room");
        return false;
    }
    *waits = (struct weft_outgoing){
        .head = head, .text = *text, .payload = payload, .transfer = transfer};
    STAILQ_INSERT_TAIL(&peer->outgoing, waits, link);
    m->outgoing++;
    return false;
}

void weft_msg_unqueue(struct weft_messages *m, const struct weft_transfer *transfer)
{
    struct weft_msg_peer *peer = &m->peers[transfer->peer];
    struct weft_outgoing *waits = STAILQ_FIRST(&peer->outgoing);

    while (waits->transfer != transfer)
        waits = STAILQ_NEXT(waits, link);
    if (waits->head.kind == WEFT_MAIL_EAGER)
        peer->given -= weft_mail_need(waits->head.count);
    STAILQ_REMOVE(&peer->outgoing, waits, weft_outgoing, link);
    m->outgoing--;
    free(waits);
}

/* A send's frame has gone after it had waited for room: the send is complete, or is SENT. */
static void went(struct weft_messages *m, struct weft_msg_peer *peer,
                 const struct weft_outgoing *outgoing)
{
    struct weft_transfer *transfer = outgoing->transfer;

    weft_msg_reuse(peer);
    if (outgoing->head.kind == WEFT_MAIL_EAGER && (outgoing->head.flags & WEFT_MAIL_WANTED) == 0)
        weft_msg_complete(m, transfer);
    else
        transfer->state = WEFT_TRANSFER_SENT;
}

bool weft_msg_flush(struct weft_messages *m, int process)
{
    struct weft_msg_peer *peer = &m->peers[process];
    struct weft_outgoing *first;
    bool did = false;

    while ((first = STAILQ_FIRST(&peer->outgoing)) != NULL &&
           push(m, process, first->head, &first->text, first->payload)) {
        STAILQ_REMOVE_HEAD(&peer->outgoing, link);
        m->outgoing--;
        if (first->transfer != NULL)
            went(m, peer, first);
        free(first);
        did = true;
    }
    return did;
}

/* ---- in -------------------------------------------------------------------------------------- */

bool weft_msg_take(struct weft_messages *m, int process, struct weft_mail_head head,
                   const struct weft_mail_text *text, const unsigned char *payload)
{
    switch (head.kind) {
    case WEFT_MAIL_EAGER:
    case WEFT_MAIL_OFFER:
        return weft_msg_take_message(m, process, head, text, payload);
    case WEFT_MAIL_TAKEN:
    case WEFT_MAIL_RECALLED:
        return weft_msg_take_taken(m, process, head.kind == WEFT_MAIL_RECALLED, text);
    case WEFT_MAIL_GRANT:
        return weft_msg_take_grant(m, process, text);
    case WEFT_MAIL_PUT:
        return weft_msg_take_put(m, process, text);
    case WEFT_MAIL_PIECE:
        return weft_msg_take_piece(m, process, head, text, payload);
    case WEFT_MAIL_CREDIT:
        return weft_far_credited(m, process, text);
    case WEFT_MAIL_RECALL:
        weft_msg_take_recall(m, process, text);
        return true;
    case WEFT_MAIL_COPIED:
        return weft_msg_take_copied(m, process, text);
    default:
        return false;
    }
}

weft_status weft_msg_malformed(int process, struct weft_mail_head head,
                               const struct weft_mail_text *text)
{
    return weft_err(WEFT_ERR_PROTOCOL,
                    "process %d sent a malformed message: kind %u, flags 0x%x, %u bytes of %llu, "
                    "tag %d, context 0x%x, request 0x%llx",
                    process, head.kind, head.flags, head.count, (unsigned long long)text->bytes,
                    text->tag, text->context, (unsigned long long)text->request);
}

/* Takes up to FRAMES frames that a process has sent by memory. False: the job fails. */
static bool drain(struct weft_messages *m, int process)
{
    struct weft_mail_end *in = &m->peers[process].in;
    struct weft_mail_head head;
    struct weft_mail_text text;
    const unsigned char *payload;
    enum weft_mail_result result;

    for (int i = 0; i < FRAMES; i++) {
        if ((result = weft_mail_peek(in, &head, &text, &payload)) == WEFT_MAIL_NONE)
            break;
        if (result == WEFT_MAIL_BROKEN || !weft_msg_take(m, process, head, &text, payload)) {
            weft_job_fail(m->job, weft_msg_malformed(process, head, &text), "%s", weft_err_last());
            return false;
        }
        weft_mail_pass(in);
    }
    weft_mail_release(in);
    return true;
}

bool weft_msg_round(struct weft_messages *m)
{
    bool did = false;

    if (weft_mutation == DRAIN_messages || weft_job_is_failing(m->job))
        return false;
    m->reads = 0;
    for (int i = 0; i < m->mapped_count; i++)
        did |= weft_mail_is_there(&m->peers[m->mapped[i]].in) && drain(m, m->mapped[i]);
    if (!STAILQ_EMPTY(&m->moving))
        did |= weft_msg_move(m);
    for (int p = 0; m->outgoing != 0 && p < m->job->numbers.processes; p++)
        did |= weft_msg_flush(m, p);
    return did;
}

/* ---- who looks ------------------------------------------------------------------------------- */
/*
 * Frames that come by memory ring the bell on which the program sleeps. The receive task, which
 * looks while no thread of the program waits, sleeps on a bell that others do not reach. It stands
 * in box->watch as a sleeper then (armed), and who sends wakes it: by a notice, once for each time.
 *
 * A program that waits often would be woken at between its waits. So when the task sees that
 * there were waits since it last looked, it does not arm but looks every now and then (active),
 * until it has seen none for a while.
 */
static const uint64_t LOOK_NS = 500000, LOOK_MOST_NS = 2000000;
enum { QUIET_LOOKS = 10 };

static void disarm(struct weft_messages *m)
{
    if (!m->armed)
        return;
    __atomic_store_n(&m->box->watch.rung, m->box->watch.rung + 1, __ATOMIC_RELAXED);
    weft_bell_cancel(&m->box->watch);
    m->armed = false;
}

/* Arms the watch and does one more round. True: that moved something; the watch is disarmed. */
static bool arm(struct weft_messages *m)
{
    if (m->armed || m->attending != 0)
        return false;
    weft_bell_prepare(&m->box->watch);
    m->armed = true;
    if (!weft_msg_round(m))
        return false;
    disarm(m);
    return true;
}

void weft_msg_attend(struct weft_messages *m)
{
    if (m->attending++ == 0)
        weft_store_relaxed_u32(&m->box->attends, 1);
    m->waits++;
    disarm(m);
}

void weft_msg_glance(struct weft_messages *m)
{
    m->waits++;
    weft_msg_round(m);
}

void weft_msg_leave(struct weft_messages *m)
{
    if (--m->attending != 0)
        return;
    weft_store_relaxed_u32(&m->box->attends, 0);
    while (!m->active && arm(m))
        continue;
}

/* The receive task found nothing: decides how long it may sleep. True: something came meanwhile. */
static bool rest(struct weft_messages *m)
{
    const uint64_t look = m->job->proxy.look_ns;

    if (m->attending != 0)
        return false;
    m->quiet = m->waits != m->seen ? 0 : m->quiet + (m->quiet < QUIET_LOOKS);
    m->active = m->quiet < QUIET_LOOKS;
    m->seen = m->waits;
    const uint64_t next = !m->active ? 0 : m->quiet == 0 || look == 0 ? LOOK_NS : look * 2;
    __atomic_store_n(&m->job->proxy.look_ns, next < LOOK_MOST_NS ? next : LOOK_MOST_NS,
                     __ATOMIC_RELAXED);
    if (m->active || m->woken) /* a wake-up stands for one time */
        disarm(m);
    m->woken = false;
    return !m->active && arm(m);
}

static bool receive_round(struct weft_job *job)
{
    struct weft_messages *m = job->messages;

    weft_msg_lock(m);
    bool did = weft_msg_round(m) || rest(m);
    /* The other side gives room soon, and does not ring. (In random mode nobody sleeps.) */
    const bool blocked = weft_model == NULL && (m->outgoing != 0 || !STAILQ_EMPTY(&m->moving));
    weft_msg_unlock(m);
    did |= weft_msg_drive(m, true);
    if (!did && blocked)
        weft_task_yield(false);
    return did || blocked;
}

void weft_msg_unlock_all(struct weft_messages *m)
{
    const bool completed = m->completed && m->attending != 0, posted = m->posted;

    m->completed = m->posted = false;
    weft_unlock(&m->lock);
    if (completed)
        weft_bell_ring(&m->job->space.state.exposed->bell);
    if (posted)
        weft_services_send(m->job, weft_far_round);
}

void weft_msg_wake_task(struct weft_messages *m, struct weft_msg_peer *peer, bool locked)
{
    const uint32_t rung = __atomic_load_n(&peer->box->watch.rung, __ATOMIC_RELAXED);

    if (!locked)
        weft_msg_lock(m);
    if (!peer->wakes && peer->woken != rung) {
        peer->woken = rung;
        peer->wakes = m->posted = true;
    }
    if (!locked)
        weft_msg_unlock(m);
}

const struct weft_service weft_msg_rounds = {.round = {weft_far_round, receive_round}};
