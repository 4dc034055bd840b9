/*
 * The order attack. Every rank sends a random mixture to several others (order_plan.h,
 * order_send.h), over mapped and unmapped windows at once, while it receives from several. The
 * receiver asserts:
 *
 *  - whoever consumed notification k of a rank, by wait or by test, sees all that this rank put
 *    there before k, on any path, and has all notifications that it sent before k;
 *  - whoever saw a version behind a fence sees all that was put before the fence;
 *  - newer data is never overwritten by older: versions only grow, rewritten ranges end as the
 *    last writer left them, now and at the end of the run;
 *  - counts and sums of updates are exact: none is lost, none is left.
 * And the sender: a get brings what it put there before, not what it puts there after.
 *
 * --case hosts: host programs send to the ranks meanwhile (order_host.h), and the same holds.
 */
#include "order_send.h"
#ifndef __CUDACC__
#include "order_host.h"
#endif

/* ---- receiving ------------------------------------------------------------------------------ */

WEFT_DEVICE_FN unsigned char *area_of(weft_self *self, struct data *user,
                                      const struct channel *from, int window)
{
    if (from->d == FAN)
        return test_mine(self, user->hosts[window], AREA);
    return test_mine(self, user->window[window], FAN * AREA) + (size_t)from->d * AREA;
}

/* What operation `op` put must be there. */
WEFT_DEVICE_FN void check_op(weft_self *self, struct data *user, struct channel *from,
                             const struct op *op)
{
    const unsigned char *area = area_of(self, user, from, op->window);

    if (op->kind == OP_PUT || op->kind == OP_PUT_2D) {
        for (size_t row = 0; row < op->height; row++)
            test_will_read(area + op->offset + row * op->pitch, op->bytes);
        weft_for (i, op->bytes * op->height)
            CHECK_EQ(self, &user->check,
                     area[op->offset + i / op->bytes * op->pitch + i % op->bytes],
                     test_byte(op->key, i));
    } else if (op->kind == OP_VERSION || op->kind == OP_FENCED_VERSION) {
        const uint64_t seen = test_peek_u64((const uint64_t *)(area + op->offset));
        CHECK(self, &user->check, seen >= op->value);
        CHECK(self, &user->check, seen >= from->last[op->window][op->word]);
        from->last[op->window][op->word] = seen;
    } else if (op->kind == OP_UPDATE) {
        CHECK(self, &user->check, test_peek_u64((const uint64_t *)(area + UPDATED)) >= op->value);
    }
}

/* Looks at all that the operations before `end` of this burst put, as far as not yet done. */
WEFT_DEVICE_FN void check_until(weft_self *self, struct data *user, struct channel *from,
                                uint32_t end)
{
    struct plan plan = from->plan;
    struct op op;

    while (plan.next < end) {
        plan_next(&plan, &op);
        if (plan.next > from->checked)
            check_op(self, user, from, &op);
    }
    if (end > from->checked)
        from->checked = end;
}

/* The end of a burst: every byte of the rewritten areas is as the last writer left it. */
WEFT_DEVICE_FN void check_rewritten(weft_self *self, struct data *user, struct channel *from,
                                    uint32_t burst)
{
    unsigned char *shadow = test_mine(self, user->shadows, WINDOWS * REWRITE);
    struct plan plan = from->plan;
    struct op op;

    test_clear(self, shadow, WINDOWS * REWRITE);
    for (plan_burst(&plan, burst); plan.next < plan.ops;) {
        plan_next(&plan, &op);
        if (op.kind == OP_REWRITE || op.kind == OP_EXCHANGE)
            test_fill(self, shadow + op.window * REWRITE + op.offset - FRESH, op.bytes, op.key);
    }
    for (int w = 0; w < WINDOWS; w++) {
        const unsigned char *area = area_of(self, user, from, w) + FRESH;
        test_will_read(area, REWRITE);
        weft_for (i, REWRITE) {
            if (shadow[w * REWRITE + i] != 0) /* written in this burst: patterns have no zeros */
                CHECK_EQ(self, &user->check, area[i], shadow[w * REWRITE + i]);
        }
    }
    weft_sync(self); /* the shadow may be used again */
}

/* After the end of the run: nothing old came late and lies over the last burst. */
WEFT_DEVICE_FN void check_late(weft_self *self, struct data *user, struct channel *from,
                               uint32_t burst)
{
    check_rewritten(self, user, from, burst);
    for (int w = 0; w < WINDOWS; w++) {
        const uint64_t *words = (const uint64_t *)(area_of(self, user, from, w) + FRESH + REWRITE);
        for (int v = 0; v < VERSIONS; v++) {
            CHECK_EQ(self, &user->check, test_peek_u64(words + v), from->plan.version[w][v]);
            from->plan.version[w][v] = 0; /* counted: what follows replays the burst */
        }
        CHECK_EQ(self, &user->check, test_peek_u64(words + VERSIONS), from->plan.updated[w]);
        from->plan.updated[w] = 0;
    }
    plan_burst(&from->plan, burst);
    from->checked = 0;
    check_until(self, user, from, from->plan.ops);
}

/*
 * Consumes notifications up to one that is `ahead` further on, if it is there or `block` is set;
 * then everything before it must be there. Leaves the plan behind it.
 */
WEFT_DEVICE_FN void receive_notified(weft_self *self, struct data *user, struct channel *from,
                                     uint32_t ahead, bool block)
{
    struct plan plan = from->plan;
    uint32_t count[TAGS], shared = 0, relaxed = 0;
    struct op op;
    int tag = 0;

    for (int t = 0; t < TAGS; t++)
        count[t] = 0;
    while (plan.next < plan.ops && ahead > 0) {
        plan_next(&plan, &op);
        shared += op.kind == OP_SHARED;
        relaxed += op.kind == OP_RELAXED;
        if (op.tag >= 0) {
            tag = op.tag;
            count[tag]++;
            ahead--;
        }
    }
    if (block)
        weft_wait(self, from->d * TAG_STEP + tag, count[tag]);
    else if (!weft_test(self, from->d * TAG_STEP + tag, count[tag]))
        return;
    check_until(self, user, from, plan.next);
    for (int t = 0; t < TAGS; t++) {
        if (t != tag)
            CHECK_EQ(self, &user->check, weft_test(self, from->d * TAG_STEP + t, count[t]), 1);
    }
    weft_wait(self, from->d * TAG_STEP + TAGS, relaxed);
    from->shared += shared;
    from->plan = plan;
}

/* Polls the next version that has a fence before it: all before the fence must be there. */
WEFT_DEVICE_FN void receive_polled(weft_self *self, struct data *user, struct channel *from,
                                   bool block)
{
    struct plan plan = from->plan;
    struct op op;

    do {
        if (plan.next == plan.ops)
            return;
        plan_next(&plan, &op);
    } while (op.kind != OP_FENCED_VERSION || plan.next <= from->checked);
    const uint64_t *word = (const uint64_t *)(area_of(self, user, from, op.window) + op.offset);
    /* One thread looks for all: they must go the same way. */
    const bool there = weft_thread(self) == 0 && test_peek_u64(word) >= op.value;
    if (!block && weft_block_sum(self, there ? 1 : 0) == 0)
        return;
    weft_wait_until(self, word, WEFT_GE, op.value);
    check_until(self, user, from, plan.next);
}

/* One step of receiving; true when it ended the channel's burst, which is then acknowledged. */
WEFT_DEVICE_FN bool receive_step(weft_self *self, struct data *user, struct channel *from,
                                 uint32_t burst, uint64_t *random, bool may_block)
{
    const bool block = may_block && test_random(random, 2) == 0;

    if (test_random(random, 3) == 0)
        receive_polled(self, user, from, block);
    else
        receive_notified(self, user, from, 1 + test_random(random, 4), block);
    if (from->plan.next < from->plan.ops)
        return false;
    check_rewritten(self, user, from, burst);
    for (int t = 0; t <= TAGS; t++)
        CHECK_EQ(self, &user->check, weft_test(self, from->d * TAG_STEP + t, 1), 0);
    return true;
}

/* ---- the rank ------------------------------------------------------------------------------- */

WEFT_DEVICE_FN void open_from(weft_self *self, const struct data *user, struct channel *from, int d,
                              int peer, int sender)
{
    from->d = d;
    from->peer = peer;
    from->shared = 0;
    plan_open(&from->plan, user->seed, sender, weft_rank(self, WEFT_COMM_WORLD), user->ops,
              user->most);
    for (int w = 0; w < WINDOWS; w++)
        for (int v = 0; v < VERSIONS; v++)
            from->last[w][v] = 0;
}

/* The last of `from` is a host program's, if they send. */
WEFT_DEVICE_FN void open_channels(weft_self *self, struct data *user, int fan, struct channel *to,
                                  struct channel *from)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int host =
        host_of(weft_process(self), weft_rank(self, WEFT_COMM_DEVICE), weft_processes(self));

    for (int d = 0; d < fan; d++) {
        to[d].d = d;
        to[d].peer = (me + d) % n;
        plan_open(&to[d].plan, user->seed, me, to[d].peer, user->ops, user->most);
        open_from(self, user, &from[d], d, (me + n - d) % n, (me + n - d) % n);
    }
    if (user->hosts[0] != NULL)
        open_from(self, user, &from[fan], FAN, host, n + host);
}

/* The sender may begin its next burst. A host program knows the rank by the tag. */
WEFT_DEVICE_FN void acknowledge(weft_self *self, const struct channel *from)
{
    if (from->d == FAN)
        weft_notify(self, WEFT_COMM_HOST, from->peer, weft_rank(self, WEFT_COMM_WORLD));
    else
        weft_notify(self, WEFT_COMM_WORLD, from->peer, TAG_ACK + from->d);
}

/*
 * Sends a burst on every channel and receives one on every channel, in random turns, with batches
 * that begin and end anywhere.
 */
WEFT_DEVICE_FN void run_burst(weft_self *self, struct data *user, int fan, struct channel *to,
                              struct channel *from, const weft_win *win, uint32_t burst,
                              uint64_t *random)
{
    const int ins = fan + (user->hosts[0] != NULL);
    int sending = fan, receiving = ins;
    bool batch = false;

    for (int w = 0; w < WINDOWS; w++)
        weft_flush_local(self, win[w]);
    for (int d = 0; d < fan; d++)
        plan_burst(&to[d].plan, burst);
    for (int d = 0; d < ins; d++) {
        plan_burst(&from[d].plan, burst);
        from[d].checked = 0;
    }
    while (sending > 0 || receiving > 0) {
        int d = (int)test_random(random, (uint32_t)ins);
        if (sending > 0 && (receiving == 0 || test_random(random, 3) != 0)) {
            d %= fan;
            if (test_random(random, 4) == 0) {
                batch = !batch;
                if (batch)
                    weft_batch_begin(self);
                else
                    weft_batch_end(self);
            }
            while (to[d].plan.next == to[d].plan.ops)
                d = (d + 1) % fan;
            sending -= send_some(self, user, fan, to, d, win, test_random(random, 2) == 0);
        } else {
            while (from[d].plan.next == from[d].plan.ops)
                d = (d + 1) % ins;
            if (receive_step(self, user, &from[d], burst, random, sending == 0)) {
                acknowledge(self, &from[d]);
                receiving--;
            }
        }
    }
    for (int d = 0; d < fan; d++)
        weft_wait(self, TAG_ACK + d, 1);
    if (batch)
        weft_batch_end(self);
}

WEFT_KERNEL(order_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD);
    const int fan = n < FAN ? n : (int)FAN;
    uint64_t random = user->seed * 31 + (uint64_t)weft_rank(self, WEFT_COMM_WORLD);
    const int ins = fan + (user->hosts[0] != NULL);
    struct channel to[FAN], from[FAN + 1];
    weft_win win[WINDOWS];
    uint32_t shared = 0;

    weft_enter(self);
    for (int w = 0; w < WINDOWS; w++) {
        win[w] = weft_win_create(self, WEFT_COMM_WORLD,
                                 test_mine(self, user->window[w], FAN * AREA), FAN * AREA);
        CHECK(self, &user->check, win[w] != WEFT_WIN_NONE);
    }
    open_channels(self, user, fan, to, from);
    for (uint32_t burst = 0; burst < user->bursts; burst++)
        run_burst(self, user, fan, to, from, win, burst, &random);
    for (int d = 0; d < ins; d++)
        shared += from[d].shared;
    weft_wait(self, TAG_SHARED, shared);
    weft_barrier(self, WEFT_COMM_WORLD);
    CHECK_EQ(self, &user->check, weft_test(self, TAG_SHARED, 1), 0);
    for (int d = 0; d < ins; d++)
        check_late(self, user, &from[d], user->bursts - 1);
    for (int w = 0; w < WINDOWS; w++)
        weft_win_free(self, &win[w]);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
/* A tag of the host program stands for each rank. */
static void run_with_hosts(struct test_env *env, struct data *data)
{
    const size_t bytes = (size_t)env->numbers->ranks_here * AREA;
    const struct weft_state *state = &env->job->space.state;
    weft_win win[WINDOWS];
    struct host_sender from = {.env = env,
                               .win = win,
                               .updates = state->copy == NULL || state->update != NULL,
                               .bursts = data->bursts,
                               .random = env->seed * 37 + (uint64_t)env->numbers->process};

    if (!TEST(env, env->numbers->ranks <= WEFT_TAGS))
        return;
    for (int w = 0; w < WINDOWS; w++) {
        data->hosts[w] = test_memory(env, w == 0 ? TEST_MAPPED : TEST_PLAIN, bytes);
        TEST_EQ(env, weft_host_win_create(env->job, data->hosts[w], bytes, &win[w]), WEFT_OK);
    }
    host_open(&from, data);
    if (test_start(env, data, sizeof(*data))) {
        host_send(&from);
        test_finish(env, data);
    }
    for (int w = 0; w < WINDOWS; w++)
        TEST_EQ(env, weft_host_win_free(env->job, &win[w]), WEFT_OK);
}

static int body(struct test_env *env)
{
    if (!test_prepare(env, &order_kernel))
        return TEST_FAILED;
    const size_t ranks = (size_t)env->numbers->ranks_here;
    struct data data = {
        .window = {test_memory(env, TEST_MAPPED, ranks * FAN * AREA),
                   test_memory(env, TEST_PLAIN, ranks * FAN * AREA)},
        .sources = test_memory(env, TEST_PLAIN, ranks * FAN * SOURCE),
        .shadows = test_memory(env, TEST_PLAIN, ranks * WINDOWS * REWRITE),
        .fetched = test_memory(env, TEST_REGISTERED, ranks * FETCHED),
        .seed = env->seed,
        .one = 1,
        .bursts = env->brief ? 2 : 20 * (uint32_t)env->scale,
        .ops = env->brief ? 12 : MOST_OPS,
        .most = env->brief ? 300 : 4096,
    };
    if (env->only == NULL)
        test_run(env, &data, sizeof(data));
    else
        run_with_hosts(env, &data);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
