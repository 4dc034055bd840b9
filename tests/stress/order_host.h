/*
 * stress/order_host.h - the order attack by host programs, while the ranks' own goes on: each sends
 * to ranks of all processes what a rank would send, into windows of host programs, and receives
 * nothing but acknowledgements. Where a host program has no such call it does the same in parts: a
 * strided put is one for each row, a fence is a flush.
 */
#ifndef WEFT_TESTS_ORDER_HOST_H
#define WEFT_TESTS_ORDER_HOST_H

#include "order_send.h"

#include "runtime/job/job.h"

#include <stdlib.h>
#include <string.h>

/* A channel from this host program to a rank, which acknowledges by a tag of its own. */
struct host_channel {
    struct plan plan;
    int rank, process;
    size_t area; /* of the rank, in the windows of its process */
    unsigned char *source;
};

struct host_sender {
    struct test_env *env;
    const weft_win *win;
    unsigned char *fetched;
    bool updates; /* this host program can update all windows */
    uint32_t bursts;
    uint64_t random;
    int count;
    struct host_channel *to;
};

static void host_fill(unsigned char *memory, size_t bytes, uint64_t key)
{
    test_will_write(memory, bytes);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = test_byte(key, i);
}

static void host_notify(const struct host_sender *from, const struct host_channel *to, int tag)
{
    TEST_EQ(from->env, weft_host_notify_rank(from->env->job, to->rank, tag), WEFT_OK);
}

static void host_flush(const struct host_sender *from)
{
    for (int w = 0; w < WINDOWS; w++)
        TEST_EQ(from->env, weft_host_flush(from->env->job, from->win[w]), WEFT_OK);
}

static void host_put(const struct host_sender *from, const struct host_channel *to,
                     const struct op *op)
{
    unsigned char *source = to->source + op->source;
    const size_t offset = to->area + op->offset;
    const int tag = FAN * TAG_STEP + op->tag;
    const weft_win win = from->win[op->window];
    weft_job *job = from->env->job;
    weft_op begun;

    host_fill(source, op->bytes * op->height, op->key);
    for (size_t row = 0; op->kind == OP_PUT_2D && row < op->height; row++)
        TEST_EQ(from->env,
                weft_host_put(job, win, to->process, offset + row * op->pitch,
                              source + row * op->bytes, op->bytes),
                WEFT_OK);
    if (op->kind == OP_PUT_2D && op->tag >= 0)
        host_notify(from, to, tag);
    if (op->kind == OP_PUT_2D)
        return;
    if (op->tag >= 0)
        TEST_EQ(from->env,
                weft_host_put_notify_rank(job, win, to->process, offset, source, op->bytes,
                                          to->rank, tag),
                WEFT_OK);
    else if (op->key % 2 == 0)
        TEST_EQ(from->env, weft_host_put(job, win, to->process, offset, source, op->bytes),
                WEFT_OK);
    else
        TEST_EQ(from->env,
                weft_host_put_begin(job, win, to->process, offset, source, op->bytes, &begun),
                WEFT_OK);
}

/* What this program has put must come back. */
static void host_get(const struct host_sender *from, const struct host_channel *to,
                     const struct op *op, uint64_t key)
{
    const size_t offset = to->area + op->offset;
    const weft_win win = from->win[op->window];
    weft_job *job = from->env->job;
    size_t wrong = 0;
    weft_op begun;

    memset(from->fetched, 0, op->bytes);
    if (key % 2 == 0) {
        TEST_EQ(from->env, weft_host_get(job, win, to->process, offset, from->fetched, op->bytes),
                WEFT_OK);
    } else {
        TEST_EQ(
            from->env,
            weft_host_get_begin(job, win, to->process, offset, from->fetched, op->bytes, &begun),
            WEFT_OK);
        TEST_EQ(from->env, weft_host_op_wait(job, begun, WEFT_LOCAL), WEFT_OK);
    }
    for (size_t i = 0; i < op->bytes; i++)
        wrong += from->fetched[i] != test_byte(key, i);
    TEST_EQ(from->env, wrong, 0);
}

/* Two rewrites, and between them a get of the first. */
static void host_exchange(const struct host_sender *from, const struct host_channel *to,
                          const struct op *op)
{
    unsigned char *source = to->source + op->source;
    const weft_win win = from->win[op->window];

    host_fill(source, op->bytes, op->key + 1);
    host_fill(source + op->bytes, op->bytes, op->key);
    for (int i = 0; i < 2; i++) {
        TEST_EQ(from->env,
                weft_host_put(from->env->job, win, to->process, to->area + op->offset,
                              source + (size_t)i * op->bytes, op->bytes),
                WEFT_OK);
        if (i == 0)
            host_get(from, to, op, op->key + 1);
    }
}

/* Nobody else adds to the word. A program that cannot update it puts what it would be. */
static void host_update(const struct host_sender *from, const struct host_channel *to,
                        const struct op *op)
{
    static const uint64_t one = 1;
    const size_t offset = to->area + UPDATED;
    const weft_win win = from->win[op->window];
    weft_job *job = from->env->job;
    weft_status status;
    uint64_t old = op->value - 1;
    weft_op begun;

    if (!from->updates) {
        status = weft_host_put(job, win, to->process, offset, &op->value, 8);
        if (status == WEFT_OK) /* the source is on the stack */
            status = weft_host_flush(job, win);
    } else if (op->value % 3 == 0) {
        status = weft_host_accumulate_begin(job, win, to->process, offset, &one, 1, WEFT_I64,
                                            WEFT_SUM, &begun);
    } else if (op->value % 3 == 1) {
        status = weft_host_add(job, win, to->process, offset, 1);
    } else {
        status = weft_host_fetch_add(job, win, to->process, offset, 1, &old);
    }
    TEST_EQ(from->env, status, WEFT_OK);
    TEST_EQ(from->env, old, op->value - 1);
}

static void host_version(const struct host_sender *from, const struct host_channel *to,
                         const struct op *op)
{
    unsigned char *source = to->source + op->source;

    test_will_write(source, 8);
    memcpy(source, &op->value, 8);
    if (op->kind == OP_FENCED_VERSION)
        host_flush(from);
    TEST_EQ(from->env,
            weft_host_put(from->env->job, from->win[op->window], to->process, to->area + op->offset,
                          source, 8),
            WEFT_OK);
}

static void host_send_next(const struct host_sender *from, struct host_channel *to)
{
    struct op op;

    plan_next(&to->plan, &op);
    if (op.kind <= OP_REWRITE)
        host_put(from, to, &op);
    else if (op.kind == OP_VERSION || op.kind == OP_FENCED_VERSION)
        host_version(from, to, &op);
    else if (op.kind == OP_GET)
        host_get(from, to, &op, op.key);
    else if (op.kind == OP_EXCHANGE)
        host_exchange(from, to, &op);
    else if (op.kind == OP_UPDATE)
        host_update(from, to, &op);
    if (op.kind == OP_FLUSH || op.kind == OP_FENCED_RELAXED)
        host_flush(from);
    if (op.kind == OP_NOTIFY || op.kind == OP_FENCED_RELAXED)
        host_notify(from, to, FAN * TAG_STEP + op.tag);
    else if (op.kind == OP_RELAXED)
        host_notify(from, to, FAN * TAG_STEP + TAGS);
    else if (op.kind == OP_SHARED)
        host_notify(from, to, TAG_SHARED);
}

/* The channels to ranks that expect this program (host_of), and room for what they send. */
static void host_open(struct host_sender *from, const struct data *data)
{
    const weft_numbers *n = from->env->numbers;
    unsigned char *sources = test_memory(from->env, TEST_HOST, (size_t)n->ranks * SOURCE);

    from->to = (struct host_channel *)test_memory(from->env, TEST_HOST,
                                                  (size_t)n->ranks * sizeof(*from->to));
    from->fetched = test_memory(from->env, TEST_HOST, FETCHED);
    for (int p = 0; p < n->processes; p++)
        for (int slot = 0; slot < weft_ranks_of(from->env->job, p); slot++) {
            struct host_channel *to = &from->to[from->count];
            if (host_of(p, slot, n->processes) != n->process)
                continue;
            to->process = p;
            to->rank = weft_first_rank_of(from->env->job, p) + slot;
            to->area = (size_t)slot * AREA;
            to->source = sources + (size_t)from->count * SOURCE;
            plan_open(&to->plan, data->seed, n->ranks + n->process, to->rank, data->ops,
                      data->most);
            from->count++;
        }
}

/* Sends everything, while the kernel runs. */
static void host_send(struct host_sender *from)
{
    weft_job *job = from->env->job;

    for (uint32_t burst = 0; burst < from->bursts && from->env->failures == 0; burst++) {
        int sending = from->count;
        host_flush(from);
        for (int i = 0; i < from->count; i++)
            plan_burst(&from->to[i].plan, burst);
        while (sending > 0 && from->env->failures == 0) {
            int i = (int)test_random(&from->random, (uint32_t)from->count);
            while (from->to[i].plan.next == from->to[i].plan.ops)
                i = (i + 1) % from->count;
            host_send_next(from, &from->to[i]);
            sending -= from->to[i].plan.next == from->to[i].plan.ops;
        }
        for (int i = 0; i < from->count; i++)
            TEST_EQ(from->env, weft_host_wait(job, from->to[i].rank, 1), WEFT_OK);
    }
}

#endif
