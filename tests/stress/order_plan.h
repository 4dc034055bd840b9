/*
 * stress/order_plan.h - what one rank sends to another in the order attack: a random sequence of
 * operations that sender and receiver derive from the same seed, each on its own side.
 *
 * A pair of ranks is a channel. In each of two windows (one mapped, one not, so that direct and
 * proxied paths mix) the channel owns at the receiver:
 *     fresh     each byte written at most once a burst: may be checked at any point after
 *     rewrite   overlapping ranges written again and again: checked at the end of a burst
 *     versions  words that only grow: may be looked at any time
 *     updated   a word that the sender adds to: the same
 * The sender also gets back what it has put, and finds it, and nothing that it puts there later.
 * A burst is a number of operations that ends with a notification; the receiver acknowledges it
 * before the next burst writes the same memory.
 */
#ifndef WEFT_TESTS_ORDER_PLAN_H
#define WEFT_TESTS_ORDER_PLAN_H

#include "support/check.h"

enum {
    WINDOWS = 2,
    FRESH = 16384,
    REWRITE = 512,
    VERSIONS = 4,
    UPDATED = FRESH + REWRITE + VERSIONS * 8,
    AREA = UPDATED + 16, /* of a channel in a window */
    TAGS = 3,            /* of a channel that promise order */
    MOST_OPS = 64,
    SOURCE = WINDOWS * (FRESH + REWRITE) /* of a channel at the sender, and */
             + MOST_OPS * (REWRITE + 16),
};

enum op_kind {
    OP_PUT,
    OP_PUT_2D,
    OP_REWRITE,
    OP_VERSION,        /* a plain small put that the receiver polls */
    OP_FENCED_VERSION, /* with a fence before it */
    OP_NOTIFY,
    OP_FENCED_RELAXED, /* fence, then notify_relaxed: orders as much as a notify */
    OP_RELAXED,
    OP_SHARED, /* a notify on a tag that all senders use */
    OP_FLUSH,
    OP_GET,      /* of the latest put of this burst */
    OP_EXCHANGE, /* a rewrite, a get of it, and another rewrite */
    OP_UPDATE,
    OP_KINDS
};

struct op {
    enum op_kind kind;
    int window;
    int tag; /* of the channel, 0 .. TAGS - 1; -1: none */
    size_t offset, bytes;
    size_t pitch, height; /* of a strided put; bytes is then the width */
    size_t source;        /* offset in the channel's source memory */
    int word;             /* of a version */
    uint64_t value;       /* of a version, and of an update: what it makes of the word */
    uint64_t key;         /* of the pattern; of what an exchange fetches: one more */
};

/* Where a channel's sequence stands: before operation `next` of the burst. */
struct plan {
    uint64_t random, key;
    uint32_t next, ops; /* in this burst */
    uint32_t most;      /* largest put */
    size_t fresh[WINDOWS], source;
    uint64_t version[WINDOWS][VERSIONS], updated[WINDOWS];
    struct op put; /* the latest of this burst to fresh memory; bytes 0: none */
};

WEFT_DEVICE_FN inline void plan_open(struct plan *plan, uint64_t seed, int sender, int receiver,
                                     uint32_t ops, uint32_t most)
{
    plan->key = test_mix(seed * 1000003u + (uint64_t)sender * 1009u + (uint64_t)receiver);
    plan->ops = ops;
    plan->most = most;
    for (int w = 0; w < WINDOWS; w++) {
        plan->updated[w] = 0;
        for (int v = 0; v < VERSIONS; v++)
            plan->version[w][v] = 0;
    }
}

WEFT_DEVICE_FN inline void plan_burst(struct plan *plan, uint32_t burst)
{
    plan->random = plan->key + burst * 65537u;
    plan->next = 0;
    plan->source = 0;
    plan->put.bytes = 0;
    for (int w = 0; w < WINDOWS; w++)
        plan->fresh[w] = 0;
}

/* Sizes of all magnitudes, small ones more often. */
WEFT_DEVICE_FN inline size_t plan_size(struct plan *plan)
{
    const uint32_t magnitude = 4u << test_random(&plan->random, 11); /* 4 .. 4096 */
    const uint32_t most = magnitude < plan->most ? magnitude : plan->most;

    return 1 + test_random(&plan->random, most);
}

/* Room in the fresh area, at any alignment; false when the burst has used it up. */
WEFT_DEVICE_FN inline bool plan_fresh(struct plan *plan, struct op *op, size_t span)
{
    const size_t gap = test_random(&plan->random, 9);

    if (plan->fresh[op->window] + gap + span > FRESH)
        return false;
    op->offset = plan->fresh[op->window] + gap;
    plan->fresh[op->window] = op->offset + span;
    return true;
}

WEFT_DEVICE_FN inline bool plan_put(struct plan *plan, struct op *op)
{
    const size_t most = op->kind == OP_EXCHANGE ? REWRITE / 2 : REWRITE;

    op->bytes = plan_size(plan);
    if (op->kind == OP_REWRITE || op->kind == OP_EXCHANGE) {
        op->bytes = op->bytes < most ? op->bytes : most;
        op->offset = FRESH + test_random(&plan->random, (uint32_t)(REWRITE - op->bytes + 1));
        return true;
    }
    if (op->kind == OP_PUT)
        return plan_fresh(plan, op, op->bytes);
    op->height = 1 + test_random(&plan->random, 5);
    op->bytes = op->bytes / op->height + 1;
    op->pitch = op->bytes + test_random(&plan->random, 20);
    return plan_fresh(plan, op, op->pitch * op->height);
}

/* The next operation; the last of a burst is a notification that promises order. */
WEFT_DEVICE_FN inline void plan_next(struct plan *plan, struct op *op)
{
    const bool last = plan->next + 1 == plan->ops;

    op->kind = last ? OP_NOTIFY : (enum op_kind)test_random(&plan->random, OP_KINDS);
    op->window = (int)test_random(&plan->random, WINDOWS);
    op->tag = (int)test_random(&plan->random, TAGS);
    op->height = 1;
    op->pitch = op->bytes = 0;
    op->key = plan->key + plan->random;
    op->source = plan->source;
    if (op->kind <= OP_REWRITE) {
        if (test_random(&plan->random, 2) == 0)
            op->tag = -1;
        if (!plan_put(plan, op))
            op->kind = OP_VERSION;
        else
            plan->source += op->bytes * op->height;
        if (op->kind == OP_PUT || op->kind == OP_PUT_2D)
            plan->put = *op;
    }
    if (op->kind == OP_EXCHANGE) {
        plan_put(plan, op);
        plan->source += 2 * op->bytes;
    }
    if (op->kind == OP_GET && plan->put.bytes == 0)
        op->kind = OP_UPDATE;
    if (op->kind == OP_GET) { /* its first row */
        *op = plan->put;
        op->kind = OP_GET;
    }
    if (op->kind == OP_UPDATE)
        op->value = ++plan->updated[op->window];
    if (op->kind == OP_VERSION || op->kind == OP_FENCED_VERSION) {
        op->source = plan->source = (plan->source + 7) & ~(size_t)7;
        op->word = (int)test_random(&plan->random, VERSIONS);
        op->offset = FRESH + REWRITE + (size_t)op->word * 8;
        op->bytes = 8;
        op->height = 1;
        op->value = ++plan->version[op->window][op->word];
        plan->source += 8;
    }
    if (op->kind >= OP_VERSION && op->kind != OP_NOTIFY && op->kind != OP_FENCED_RELAXED)
        op->tag = -1;
    plan->next++;
}

#endif
