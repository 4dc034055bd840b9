/*
 * bench/gpu/queue.cu - what it costs a rank to drive a queue (gda/queue.h): each stage of a
 * request, requests in the forms of GPUrdma's figure 3, and requests a second of many ranks with a
 * queue each. The NIC is software, on the host or in blocks of the GPU, as WEFT_GDA_NIC says.
 *
 * One thread of a rank posts, rings and polls by the functions of gda/. The target of all requests
 * is the rank's own, so what the library does to choose a path is not in these times. Clocks are
 * read in the kernel. Where ranks share queues (WEFT_GDA_QUEUES), only the rate is measured, by a
 * rank's own functions (rank/path/queue_post.h), which is also done with a queue each.
 */
#include "gpu/queue.h"

#include "rank/state.h"

/* The calling rank's queue. */
struct queue_side {
    weft_self *self;
    struct weft_gda_queue *queue;
    struct queue_form form;
    struct weft_gda_local here;
    struct weft_gda_remote there;
    struct weft_wqe wqe;
    uint64_t failed;
};

#ifdef __CUDACC__
#define QUEUE_TICKS() weft_port_ticks()
#else
#define QUEUE_TICKS() weft_port_clock()
#endif

/* The request with this number. */
WEFT_DEVICE_FN void queue_build(struct queue_side *me, uint64_t number, bool complete)
{
    const struct weft_gda_queue *queue = me->queue;
    const bool inside = me->form.what == QUEUE_WRITE && me->form.bytes == 8;

    if (me->form.reuse && number != 0) {
        me->wqe.word[1] = 0;
        weft_wqe_number(&me->wqe, queue->posted, complete);
        if (inside) {
            me->wqe.word[4] = (me->wqe.word[4] & 0xffffffff) | number << 32;
            me->wqe.word[5] = number >> 32;
        }
    } else if (inside) {
        weft_wqe_inline(&me->wqe, queue->posted, queue->qpn, me->there,
                        (const unsigned char *)&number, 8, complete);
    } else {
        weft_wqe_move(&me->wqe, me->form.what == QUEUE_WRITE ? WEFT_MLX5_WRITE : WEFT_MLX5_READ,
                      queue->posted, queue->qpn, me->there, me->here, complete);
    }
}

WEFT_DEVICE_FN void queue_ring(struct queue_side *me)
{
    if (me->queue->rung == me->queue->posted)
        return;
    weft_gda_ring(me->queue);
#ifndef __CUDACC__
    weft_bell_ring(me->self->state->command_bell);
#endif
}

WEFT_DEVICE_FN void queue_poll(struct queue_side *me)
{
    me->failed |= !weft_gda_poll(me->queue);
#ifndef __CUDACC__
    weft_port_turn(&me->self->port);
#endif
}

/* Until at most so many slots are under way. */
WEFT_DEVICE_FN void queue_await(struct queue_side *me, uint64_t slots)
{
    while (me->queue->posted - me->queue->done > slots && me->failed == 0) {
        queue_ring(me);
        queue_poll(me);
    }
    weft_polled();
}

WEFT_DEVICE_FN void queue_stages(struct queue_side *me, uint64_t *results)
{
    uint64_t ticks[STAGES] = {0, 0, 0};

    for (uint64_t i = 0; i < me->form.count && me->failed == 0; i++) {
        const uint64_t t0 = QUEUE_TICKS();
        queue_build(me, i, true);
        weft_gda_post(me->queue, &me->wqe, true);
        const uint64_t t1 = QUEUE_TICKS();
        queue_ring(me);
        const uint64_t t2 = QUEUE_TICKS();
        queue_await(me, 0);
        const uint64_t t3 = QUEUE_TICKS();
        ticks[0] += t1 - t0;
        ticks[1] += t2 - t1;
        ticks[2] += t3 - t2;
    }
    for (int i = 0; i < STAGES; i++)
        results[i] = ticks[i];
}

WEFT_DEVICE_FN void queue_requests(struct queue_side *me)
{
    const uint64_t slots = me->queue->slots, count = me->form.count;
    const uint64_t window = me->form.window != 0 ? me->form.window : slots - 2;
    const uint64_t every = me->form.every != 0 ? me->form.every : slots / 4;
    uint64_t asked = 0, rang = 0;

    for (uint64_t i = 0; i < count && me->failed == 0; i++) {
        if (me->queue->posted - me->queue->done >= window) /* full: all of it, where nothing rang */
            queue_await(me, me->form.batch == 0 ? 0 : window - 1);
        const bool complete =
            ++asked == every || i + 1 == count ||
            (me->form.batch == 0 && me->queue->posted - me->queue->done + 1 == window);
        queue_build(me, i, complete);
        weft_gda_post(me->queue, &me->wqe, complete);
        asked = complete ? 0 : asked;
        if (++rang == me->form.batch) {
            queue_ring(me);
            rang = 0;
        }
    }
    queue_await(me, 0);
}

/* What the last request should have moved. */
WEFT_DEVICE_FN uint64_t queue_wrong(const struct queue_side *me)
{
    const bool inside = me->form.what == QUEUE_WRITE && me->form.bytes == 8;
    const volatile uint64_t *here = (const volatile uint64_t *)(uintptr_t)me->here.address;
    const volatile uint64_t *there = (const volatile uint64_t *)(uintptr_t)me->there.address;
    const uint64_t last = me->form.bytes / 8 - 1;

    if (me->form.stages == 2)
        return 0;
    if (inside)
        return there[0] != me->form.count - 1;
    return (uint64_t)(here[0] != there[0]) + (here[last] != there[last]);
}

WEFT_DEVICE_FN void queue_run(weft_self *self, const struct queue_data *user, int rank)
{
    uint64_t *const results = user->results + (size_t)rank * RESULTS;
    unsigned char *const source = user->memory + 2 * (size_t)rank * user->each;
    const uint64_t here = (uint64_t)(uintptr_t)source;
    const uint32_t key = weft_gda_key_of(self->state->nic_keys, here, 2 * user->each);
    struct queue_side me;

    me.self = self;
    me.queue = &self->queues[self->process];
    me.form = user->form;
    me.here.address = here;
    me.here.bytes = (uint32_t)me.form.bytes;
    me.here.lkey = key;
    me.there.address = here + user->each;
    me.there.rkey = key;
    me.failed = 0;
    for (uint64_t i = 0; i < me.form.bytes / 8; i += me.form.bytes / 8 - 1) { /* first and last */
        ((volatile uint64_t *)source)[i] = me.form.count + i;
        ((volatile uint64_t *)(source + user->each))[i] = me.form.what == QUEUE_READ ? i * 3 : 0;
        if (me.form.bytes == 8)
            break;
    }
    results[MEMORY] = me.queue->slots * (uint64_t)WEFT_MLX5_SLOT + 64 + sizeof(*me.queue) +
                      (uint64_t)WEFT_MLX5_CQE_BYTES + 64; /* record, doorbell */
    results[BEGAN] = weft_port_clock();
    const uint64_t ticks = QUEUE_TICKS();
    if (me.form.stages == 2)
        for (uint64_t i = 0; i < me.form.count; i++)
            queue_poll(&me);
    else if (me.form.stages == 1)
        queue_stages(&me, results);
    else
        queue_requests(&me);
    results[TICKS] = QUEUE_TICKS() - ticks;
    results[ENDED] = weft_port_clock();
    results[WRONG] = me.failed + queue_wrong(&me);
}

/* Puts of a rank to itself. All threads. */
WEFT_DEVICE_FN void queue_put(weft_self *self, const struct queue_data *user, weft_win win,
                              int rank)
{
    uint64_t *const results = user->results + (size_t)rank * RESULTS;
    unsigned char *const source = user->memory + 2 * (size_t)rank * user->each;
    const uint64_t count = user->form.count, bytes = user->form.bytes;
    const int leads = weft_thread(self) == 0;

    if (leads)
        *(volatile uint64_t *)source = count;
    weft_sync(self);
    if (leads)
        results[BEGAN] = weft_port_clock();
    for (uint64_t i = 0; i < count; i++)
        weft_put(self, win, rank, 0, source, bytes);
    weft_flush(self, win);
    if (leads) {
        results[ENDED] = weft_port_clock();
        results[SHARED] = self->queues[self->process].shared != NULL;
        results[WRONG] = *(volatile uint64_t *)(source + user->each) != count;
    }
}

WEFT_KERNEL(gpu_queue, struct queue_data, user)
{
    const int rank = weft_rank(self, WEFT_COMM_DEVICE);
    const bool has = self->queues != NULL;
    const bool active = (uint64_t)rank < user->active, puts = user->form.puts != 0;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD,
                                   user->memory + (2 * (size_t)rank + 1) * user->each, user->each);
    weft_barrier(self, WEFT_COMM_WORLD);
    if (active && has && puts)
        queue_put(self, user, win, rank);
    if (active && weft_thread(self) == 0 && !has)
        user->results[(size_t)rank * RESULTS + WRONG] = UINT64_MAX;
    if (active && weft_thread(self) == 0 && has && !puts)
        queue_run(self, user, rank);
    weft_sync(self);
    weft_barrier(self, WEFT_COMM_WORLD);
    weft_win_free(self, &win);
    weft_leave(self);
}
