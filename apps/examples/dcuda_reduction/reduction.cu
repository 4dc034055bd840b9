/*
 * dcuda_reduction - sums over all ranks, a dCUDA program: in each step every rank has a value, rank
 * 0 adds them up on a binomial tree, and tells all the sum on the way back. One binary runs on GPUs
 * and on CPUs.
 *
 * A wait matches neither window nor source. A rank may be a step ahead of another, so the tag has
 * the step's parity: what belongs to two steps in flight never counts as one.
 */
#include <dcuda.h>

enum { STEPS = 100, LEVELS = 20, MOST_RANKS = 16, THREADS = 64 };

/* What a rank receives and sends: of two steps, a partial sum from each level, and the sum. */
struct boxes {
    double partial[2][LEVELS], sum[2], send[2];
};

struct reduction {
    struct boxes *boxes; /* one for each rank of this device */
    int wrong;           /* steps in which a rank of this device had another sum */
};

/* Tags: the level, and behind all levels the way back; odd steps have their own. */
WEFT_DEVICE_FN int tag_of(int level, int step)
{
    return 2 * level + step % 2;
}

/* Where a member of a box lies in its window, which is one of doubles. */
#define PLACE(member) (offsetof(struct boxes, member) / sizeof(double))

WEFT_DEVICE_FN void send_value(const dcuda_context &ctx, const dcuda_win &win, struct boxes *mine,
                               double value, int step, int rank, size_t place, int tag)
{
    if (weft_thread(ctx.self) == 0)
        mine->send[step % 2] = value;
    weft_sync(ctx.self);
    dcuda_put_notify(ctx, win, rank, place, 1, &mine->send[step % 2], tag);
}

/* The sum of all ranks' values, on each of them. */
WEFT_DEVICE_FN double sum_up(const dcuda_context &ctx, const dcuda_win &win, struct boxes *mine,
                             double value, int step)
{
    const int odd = step % 2;
    int rank, size, level = 0;
    dcuda_comm_rank(ctx, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_size(ctx, DCUDA_COMM_WORLD, &size);

    for (; (1 << level) < size && (rank & 1 << level) == 0; level++)
        if (rank + (1 << level) < size) { /* a child */
            dcuda_wait_notifications(ctx, win, DCUDA_ANY_SOURCE, tag_of(level, step), 1);
            value += mine->partial[odd][level];
        }
    if (rank != 0) { /* level: of the rank's lowest bit; without that bit it is the parent */
        send_value(ctx, win, mine, value, step, rank - (1 << level),
                   PLACE(partial) + (size_t)(odd * LEVELS + level), tag_of(level, step));
        dcuda_wait_notifications(ctx, win, DCUDA_ANY_SOURCE, tag_of(LEVELS, step), 1);
        value = mine->sum[odd];
        dcuda_win_flush(ctx, win); /* `send` may be overwritten */
    }
    while (--level >= 0)
        if (rank + (1 << level) < size)
            send_value(ctx, win, mine, value, step, rank + (1 << level), PLACE(sum) + (size_t)odd,
                       tag_of(LEVELS, step));
    dcuda_win_flush(ctx, win);
    return value;
}

DCUDA_KERNEL(reduce, struct reduction)
{
    dcuda_context ctx;
    dcuda_win win;
    int rank, size, place, wrong = 0;

    dcuda_gpu_init(param, ctx);
    dcuda_comm_rank(ctx, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_size(ctx, DCUDA_COMM_WORLD, &size);
    dcuda_comm_rank(ctx, DCUDA_COMM_DEVICE, &place);
    struct reduction *data = (struct reduction *)dcuda_get_data(ctx);
    struct boxes *mine = &data->boxes[place];
    dcuda_win_create(ctx, DCUDA_COMM_WORLD, (double *)mine, sizeof(*mine) / sizeof(double), &win);

    dcuda_start_cpu_timer(ctx);
    for (int step = 0; step < STEPS; step++) {
        const double sum = sum_up(ctx, win, mine, (double)(rank + 1) * (step + 1), step);
        wrong += sum != (double)(step + 1) * size * (size + 1) / 2;
        if (rank == 0 && step == STEPS - 1)
            dcuda_log(ctx, "step %d: the sum of %d ranks is %.0f", step, size, sum);
    }
    dcuda_stop_cpu_timer(ctx);
    if (wrong != 0 && weft_thread(ctx.self) == 0)
        data->wrong = wrong;
    dcuda_win_free(ctx, win);
    dcuda_gpu_finish(ctx);
}

#ifndef __CUDACC__ /* nvcc takes the kernel alone */
#include <cstdio>

int main(int argc, char **argv)
{
    struct reduction data = {NULL, 0};
    dcuda_rank_info info;
    const double *milliseconds = NULL;
    size_t timings = 0;

    if (dcuda_host_init(&argc, argv, &reduce, THREADS, MOST_RANKS) == WEFT_OK) {
        dcuda_host_get_rank_info(&info);
        data.boxes = (struct boxes *)weft_malloc(dcuda_host_job(),
                                                 (size_t)info.ranks_here * sizeof(*data.boxes));
        if (data.boxes != NULL && dcuda_host_run(&data) == WEFT_OK &&
            dcuda_host_get_timings(&milliseconds, &timings) == WEFT_OK && timings == 1 &&
            info.process == 0)
            std::printf("%d steps on %d ranks: %.3f ms\n", STEPS, info.ranks, milliseconds[0]);
        if (data.wrong != 0)
            std::fprintf(stderr, "process %d: %d wrong sums\n", info.process, data.wrong);
    }
    return dcuda_host_finish() != WEFT_OK || data.wrong != 0 || timings != 1;
}
#endif
