/*
 * fuzz_message.c - frames of messages that another process sends: lines with any bytes in a ring
 * that it maps, and behind notices over a network, beside operations that they may meet, which go
 * on, are looked at, completed and cancelled. What cannot be is refused; nothing is written but
 * what receives ask for, nothing read but what sends offer.
 */
#include "fuzz.h"

#include "abi/notice.h"
#include "msg/msg.h"
#include "net/net.h"

#include <weft/message.h>

enum { PROCESSES = 2, SIZE = 4096, BYTES = 256, BESIDE = 64, OPS = 8 };

static unsigned char memory[BESIDE + BYTES + BESIDE];
static weft_message_op ops[OPS]; /* the latest */
static weft_job *job;

static bool is_within(const void *at, size_t bytes, const void *base, size_t room)
{
    const size_t offset = (uintptr_t)at - (uintptr_t)base;

    return offset <= room && bytes <= room - offset;
}

/* What goes to process 1 is a frame of its shadow, or a send's bytes; it is read at once. */
weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *put);
weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *put)
{
    const struct weft_far *far = &job->messages->peers[1].far;

    (void)net;
    MUST(put->process == 1);
    MUST(is_within(put->source, put->bytes, memory + BESIDE, BYTES) ||
         is_within(put->source, put->bytes, far->shadow, SIZE));
    weft_request_sent(job, put->cookie);
    weft_request_delivered(job, put->cookie);
    return WEFT_OK;
}

/* A job of one that takes itself for process 0 of two; the other does not exist. */
static struct weft_messages *messages_of_two(void)
{
    if (job == NULL) {
        setenv("WEFT_DEVICE", "cpu", 1);
        setenv("WEFT_MSG_RING", "4096", 1);
        setenv("WEFT_LOG", "error", 1);
        MUST(weft_open(&job, NULL, NULL) == WEFT_OK);
        weft_contexts_close(&job->messages->contexts);       /* each input makes its own */
        weft_services_stop(job);                             /* what follows is theirs */
        weft_lock(&job->proxy.progress_lock[WEFT_NET_SEND]); /* puts go when the input says so */
    }
    return job->messages;
}

/* Statement by statement: the bytes mean the same with each compiler. */
static struct weft_mail_text any_text(struct fuzz_bytes *in)
{
    struct weft_mail_text text = {.context = WEFT_COMM_HOST};

    if (fuzz_byte(in) >= 200)
        text.context = fuzz_word(in);
    text.tag = (int32_t)fuzz_number(in);
    text.bytes = fuzz_number(in);
    if (fuzz_byte(in) < 128) {
        text.request = (uint64_t)(fuzz_byte(in) + 1) << 32;
        text.request |= fuzz_byte(in) % 4;
    } else {
        text.request = fuzz_number(in);
    }
    text.data.grant = fuzz_number(in);
    return text;
}

static struct weft_mail_head any_head(struct fuzz_bytes *in)
{
    struct weft_mail_head head = {.kind = (uint8_t)(fuzz_byte(in) % 11)};

    head.flags = (uint8_t)fuzz_byte(in);
    head.count = (uint16_t)fuzz_number(in);
    return head;
}

/* The ends are as at the start, so that one input is as good as any other. */
static void begin(struct weft_messages *m)
{
    static unsigned char box[sizeof(struct weft_msg_box) + 4 * 8192] __attribute__((aligned(64)));
    static unsigned char shadow[SIZE] __attribute__((aligned(64)));
    static struct weft_msg_peer peers[PROCESSES];
    struct weft_mail_ring *ring = (void *)(box + sizeof(struct weft_msg_box));

    memset(box, 0, sizeof(box));
    memset(peers, 0, sizeof(peers));
    memset(ops, 0, sizeof(ops));
    peers[0] = m->peers[0];
    peers[1].eager = WEFT_MAIL_WITHIN;
    peers[1].piece = BYTES / 3;
    STAILQ_INIT(&peers[1].outgoing);
    weft_mail_open(&peers[1].in, ring, SIZE, 0);
    peers[1].far = (struct weft_far){.shadow = shadow,
                                     .units = SIZE / WEFT_MAIL_UNIT,
                                     .in = peers[1].in.far.bytes,
                                     .in_units = SIZE / WEFT_MAIL_UNIT};
    STAILQ_INIT(&peers[1].far.written);
    m->peers = peers;
}

/* A line of process 1 in its ring: what is said of it lies in the ring. */
static void deliver_near(struct weft_messages *m, struct fuzz_bytes *in)
{
    struct weft_mail_end *ring = &m->peers[1].in;
    struct weft_mail line = {.commit = weft_mail_commit(any_head(in), ring->line + 1)};
    const unsigned char *payload;
    struct weft_mail_head head;
    struct weft_mail_text text;

    line.text = any_text(in);
    ring->ring->line[ring->line & (ring->lines - 1)] = line;
    const enum weft_mail_result result = weft_mail_peek(ring, &head, &text, &payload);
    MUST(result != WEFT_MAIL_NONE);
    if (result == WEFT_MAIL_BROKEN)
        return;
    MUST(head.count <= WEFT_MAIL_WITHIN || is_within(payload, head.count, ring->far.bytes, SIZE) ||
         is_within(payload, head.count, ring->near.bytes, SIZE));
    weft_msg_lock(m);
    if (weft_msg_take(m, 1, head, &text, payload))
        weft_mail_pass(ring);
    weft_msg_unlock(m);
}

/* One behind a notice. */
static void deliver_far(struct weft_messages *m, struct fuzz_bytes *in)
{
    const struct weft_far *far = &m->peers[1].far;
    const unsigned tag = fuzz_byte(in) % 5;
    const uint32_t unit = tag == 2 ? 0 : far->tail & (far->in_units - 1);
    const struct weft_mail_head head = any_head(in);
    struct weft_mail line = {.commit = weft_mail_commit(head, (uint32_t)fuzz_number(in))};
    struct weft_net_delivery delivery = {.process = (int)(fuzz_byte(in) % 4) - 1};

    delivery.notice = weft_notice(WEFT_NOTICE_MESSAGE, tag, fuzz_byte(in) % 3);
    line.text = any_text(in);
    memcpy((unsigned char *)(uintptr_t)far->in + (size_t)unit * WEFT_MAIL_UNIT, &line,
           sizeof(line));
    weft_notice_take(&m->job->proxy.kinds, &delivery);
    MUST(!weft_job_is_failing(m->job));
}

/* Operations that frames may meet; to process 1: at once, offered, and to be answered. */
static void begin_one(struct weft_messages *m, struct fuzz_bytes *in, weft_message_op *op)
{
    unsigned char *const buffer = memory + BESIDE;
    const int tag = (int)(fuzz_byte(in) % 128);

    switch (fuzz_byte(in) % 5) {
    case 0:
        weft_host_receive_begin(m->job, WEFT_COMM_HOST, 1, tag, buffer, BYTES, op);
        break;
    case 1:
        weft_host_receive_begin(m->job, WEFT_COMM_HOST, WEFT_ANY, WEFT_ANY, buffer, fuzz_byte(in),
                                op);
        break;
    case 2:
        weft_host_send_begin(m->job, WEFT_COMM_HOST, 1, tag, buffer, BYTES, op);
        break;
    case 3:
        weft_host_send_begin(m->job, WEFT_COMM_HOST, 1, tag, buffer, fuzz_byte(in) % 32, op);
        break;
    default:
        weft_host_send_synchronous_begin(m->job, WEFT_COMM_HOST, 1, tag, buffer, fuzz_byte(in), op);
    }
}

/* What becomes of them. */
static void go_on(struct weft_messages *m, struct fuzz_bytes *in, weft_message_op *op)
{
    weft_message message;
    weft_message_op matched;
    int done;

    switch (fuzz_byte(in) % 5) {
    case 0:
        weft_host_message_test(m->job, op, &done, &message);
        break;
    case 1:
        weft_host_message_cancel(m->job, op, &done);
        break;
    case 2:
        weft_host_probe_match(m->job, WEFT_COMM_HOST, WEFT_ANY, WEFT_ANY, &done, &matched,
                              &message);
        if (done)
            weft_host_receive_matched_begin(m->job, &matched, memory + BESIDE, BYTES, op);
        break;
    case 3:
        weft_far_round(m->job);
        break;
    default:
        weft_msg_lock(m);
        weft_msg_round(m);
        weft_msg_unlock(m);
    }
}

/* Nothing is left for the next input. */
static void forget(struct weft_messages *m)
{
    struct weft_transfer *transfer;
    struct weft_outgoing *first;

    for (int p = 0; p < PROCESSES; p++)
        while ((first = STAILQ_FIRST(&m->peers[p].outgoing)) != NULL) {
            STAILQ_REMOVE_HEAD(&m->peers[p].outgoing, link);
            free(first);
        }
    m->outgoing = 0;
    STAILQ_INIT(&m->moving);
    STAILQ_INIT(&m->puts);
    STAILQ_FOREACH(transfer, &m->peers[1].far.written, link)
    weft_net_dereg(m->job->proxy.net, transfer->key);
    while ((transfer = weft_transfer_next(&m->transfers, NULL)) != NULL) {
        if (transfer->state == WEFT_TRANSFER_WAITS)
            weft_match_cancel(&transfer->context->match, &transfer->posted);
        weft_transfer_give(&m->transfers, transfer);
    }
    weft_contexts_close(&m->contexts);
    weft_transfer_table_close(&m->transfers);
    m->transfers = (struct weft_transfer_table){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};
    struct weft_messages *m = messages_of_two();
    struct weft_msg_peer *const own = m->peers;

    begin(m);
    m->job->numbers.processes = PROCESSES;
    weft_context_make(&m->contexts, WEFT_COMM_HOST)->members = PROCESSES;
    m->exposed = true;
    while (in.size > 0) {
        const unsigned what = fuzz_byte(&in);
        weft_message_op *const op = &ops[what / 5 % OPS];
        if (what % 5 == 0)
            begin_one(m, &in, op);
        else if (what % 5 == 1)
            go_on(m, &in, op);
        else if (what % 5 == 2)
            deliver_near(m, &in);
        else
            deliver_far(m, &in);
        for (int i = 0; i < BESIDE; i++)
            MUST(memory[i] == 0 && memory[BESIDE + BYTES + i] == 0);
    }
    weft_msg_leftovers(m);
    forget(m);
    m->peers = own;
    m->exposed = false;
    m->job->numbers.processes = 1;
    return 0;
}
