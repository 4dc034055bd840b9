/*
 * stress/order_send.h - the order attack's sending half: what a rank keeps of a channel, and its
 * next operation, or those of several channels in one call.
 */
#ifndef WEFT_TESTS_ORDER_SEND_H
#define WEFT_TESTS_ORDER_SEND_H

#include "order_plan.h"
#include "support/test.h"

enum { FAN = 4, TAG_STEP = TAGS + 1, TAG_ACK = 128, TAG_GOT = 140, TAG_SHARED = 250 };
enum {
    FETCHED = 4096 + 8
}; /* the largest put: a single row has a byte more than plan_size gives */

struct data {
    struct test_check check;
    unsigned char *window[WINDOWS]; /* FAN * AREA a rank */
    unsigned char *hosts[WINDOWS];  /* AREA a rank, for a host program; NULL: none sends */
    unsigned char *sources;         /* FAN * SOURCE a rank */
    unsigned char *shadows;         /* WINDOWS * REWRITE a rank */
    unsigned char *fetched;         /* FETCHED a rank */
    uint64_t seed, one;             /* one: 1 */
    uint32_t bursts, ops, most;
};

/* The host program that sends to a rank: those of a process expect different ones. */
WEFT_DEVICE_FN inline int host_of(int process, int slot, int processes)
{
    return (process + slot) % processes;
}

/* A channel to, or from, the rank at distance `d`, or from a host program: d is FAN then. */
struct channel {
    int d, peer; /* peer: world rank of the other side, or its process */
    struct plan plan;
    uint32_t checked;                 /* receiver: operations whose data was looked at */
    uint32_t shared;                  /* receiver: notifications on the shared tag so far */
    uint64_t last[WINDOWS][VERSIONS]; /* receiver: versions seen */
};

WEFT_DEVICE_FN unsigned char *source_of(weft_self *self, struct data *user,
                                        const struct channel *to, const struct op *op)
{
    return test_mine(self, user->sources, FAN * SOURCE) + (size_t)to->d * SOURCE + op->source;
}

WEFT_DEVICE_FN void send_put(weft_self *self, struct data *user, const struct channel *to,
                             const weft_win *win, const struct op *op)
{
    unsigned char *source = source_of(self, user, to, op);
    const weft_win w = win[op->window];
    const size_t offset = (size_t)to->d * AREA + op->offset;
    const int tag = to->d * TAG_STEP + op->tag;

    test_fill(self, source, op->bytes * op->height, op->key);
    if (op->kind == OP_PUT_2D && op->tag >= 0)
        weft_put_2d_notify(self, w, to->peer, offset, op->pitch, source, op->bytes, op->bytes,
                           op->height, tag);
    else if (op->kind == OP_PUT_2D)
        weft_put_2d(self, w, to->peer, offset, op->pitch, source, op->bytes, op->bytes, op->height);
    else if (op->tag >= 0)
        weft_put_notify(self, w, to->peer, offset, source, op->bytes, tag);
    else if (op->key % 2 == 0)
        weft_put(self, w, to->peer, offset, source, op->bytes);
    else
        weft_op_test(self, weft_put_begin(self, w, to->peer, offset, source, op->bytes),
                     WEFT_LOCAL);
}

/* What this rank has put must come back. */
WEFT_DEVICE_FN void send_get(weft_self *self, struct data *user, const struct channel *to,
                             const weft_win *win, const struct op *op, uint64_t key)
{
    unsigned char *const fetched = test_mine(self, user->fetched, FETCHED);
    const size_t offset = (size_t)to->d * AREA + op->offset;
    const weft_win w = win[op->window];

    test_clear(self, fetched, op->bytes);
    if (key % 3 == 0) {
        weft_get(self, w, to->peer, offset, fetched, op->bytes);
    } else if (key % 3 == 1) {
        weft_op_wait(self, weft_get_begin(self, w, to->peer, offset, fetched, op->bytes),
                     WEFT_LOCAL);
    } else {
        weft_get_notify(self, w, to->peer, offset, fetched, op->bytes, TAG_GOT);
        weft_wait(self, TAG_GOT, 1);
    }
    CHECK_EQ(self, &user->check, test_differs(self, fetched, op->bytes, key), 0);
    weft_sync(self);
}

WEFT_DEVICE_FN void send_exchange(weft_self *self, struct data *user, const struct channel *to,
                                  const weft_win *win, const struct op *op)
{
    unsigned char *source = source_of(self, user, to, op);
    const size_t offset = (size_t)to->d * AREA + op->offset;

    test_fill(self, source, op->bytes, op->key + 1);
    test_fill(self, source + op->bytes, op->bytes, op->key);
    weft_put(self, win[op->window], to->peer, offset, source, op->bytes);
    send_get(self, user, to, win, op, op->key + 1);
    weft_put(self, win[op->window], to->peer, offset, source + op->bytes, op->bytes);
}

/* Nobody else adds to the word. */
WEFT_DEVICE_FN void send_update(weft_self *self, struct data *user, const struct channel *to,
                                const weft_win *win, const struct op *op)
{
    const size_t offset = (size_t)to->d * AREA + UPDATED;

    if (op->value % 3 == 0)
        weft_accumulate_begin(self, win[op->window], to->peer, offset, &user->one, 1, WEFT_I64,
                              WEFT_SUM);
    else if (op->value % 3 == 1)
        weft_add(self, win[op->window], to->peer, offset, 1);
    else
        CHECK_EQ(self, &user->check, weft_fetch_add(self, win[op->window], to->peer, offset, 1),
                 op->value - 1);
}

WEFT_DEVICE_FN void send_version(weft_self *self, struct data *user, const struct channel *to,
                                 const weft_win *win, const struct op *op)
{
    uint64_t *source = (uint64_t *)source_of(self, user, to, op);

    weft_sync(self);
    if (weft_thread(self) == 0)
        *source = op->value;
    if (op->kind == OP_FENCED_VERSION)
        weft_fence(self);
    weft_put(self, win[op->window], to->peer, (size_t)to->d * AREA + op->offset, source, 8);
}

WEFT_DEVICE_FN void send_next(weft_self *self, struct data *user, struct channel *to,
                              const weft_win *win)
{
    struct op op;

    plan_next(&to->plan, &op);
    switch (op.kind) {
    case OP_PUT:
    case OP_PUT_2D:
    case OP_REWRITE:
        send_put(self, user, to, win, &op);
        break;
    case OP_VERSION:
    case OP_FENCED_VERSION:
        send_version(self, user, to, win, &op);
        break;
    case OP_FENCED_RELAXED:
        weft_fence(self);
        weft_notify_relaxed(self, WEFT_COMM_WORLD, to->peer, to->d * TAG_STEP + op.tag);
        break;
    case OP_NOTIFY:
        weft_notify(self, WEFT_COMM_WORLD, to->peer, to->d * TAG_STEP + op.tag);
        break;
    case OP_RELAXED:
        weft_notify_relaxed(self, WEFT_COMM_WORLD, to->peer, to->d * TAG_STEP + TAGS);
        break;
    case OP_SHARED:
        weft_notify(self, WEFT_COMM_WORLD, to->peer, TAG_SHARED);
        break;
    case OP_FLUSH:
        weft_flush(self, win[op.window]);
        break;
    case OP_GET:
        send_get(self, user, to, win, &op, op.key);
        break;
    case OP_EXCHANGE:
        send_exchange(self, user, to, win, &op);
        break;
    case OP_UPDATE:
        send_update(self, user, to, win, &op);
        break;
    default:
        break;
    }
}

/* Whether the channel's next operation can go together with another's, and which it is. */
WEFT_DEVICE_FN bool may_go_together(const struct channel *to, struct plan *after, struct op *op)
{
    *after = to->plan;
    if (after->next == after->ops)
        return false;
    plan_next(after, op);
    return op->kind == OP_SHARED || (op->kind == OP_PUT && op->tag >= 0);
}

/*
 * The next operation of the channel `first`. together: in the same call also those of others that
 * are like it, notified puts into one window or notifications of the tag that all use. Returns how
 * many bursts it has ended.
 */
WEFT_DEVICE_FN int send_some(weft_self *self, struct data *user, int fan, struct channel *to,
                             int first, const weft_win *win, bool together)
{
    weft_put_item items[FAN];
    int targets[FAN], count = 0, ended = 0;
    struct op like, op;
    struct plan after;

    if (!together || !may_go_together(&to[first], &after, &like)) {
        send_next(self, user, &to[first], win);
        return to[first].plan.next == to[first].plan.ops;
    }
    for (int i = 0; i < fan; i++) {
        struct channel *next = &to[(first + i) % fan];
        if (!may_go_together(next, &after, &op) || op.kind != like.kind ||
            (op.kind == OP_PUT && op.window != like.window))
            continue;
        unsigned char *source = source_of(self, user, next, &op);
        if (op.kind == OP_PUT)
            test_fill(self, source, op.bytes, op.key);
        items[count].target = targets[count] = next->peer;
        items[count].offset = (size_t)next->d * AREA + op.offset;
        items[count].source = source;
        items[count].bytes = op.bytes;
        items[count].tag = next->d * TAG_STEP + op.tag;
        count++;
        next->plan = after;
        ended += after.next == after.ops;
    }
    if (like.kind == OP_PUT)
        weft_put_notify_many(self, win[like.window], items, count);
    else
        weft_notify_many(self, WEFT_COMM_WORLD, targets, count, TAG_SHARED);
    return ended;
}

#endif
