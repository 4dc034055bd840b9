/*
 * spmv/kernel.cu - all products in one persistent kernel. Rank r of every device has slice r of the
 * device's block of b, and slice r of its block of x; "counterpart" is rank r of another process.
 *
 *   1. The rank multiplies the rows of its slice of x.
 *   2. It adds what its counterparts in the grid row have for the slice, and hands it on, while
 *      other ranks still multiply.
 *   3. While x of others is on its way: the next b. On grid row 0 the rank makes its slice of it,
 *      elsewhere it comes from the counterpart above in the grid column, and is put on to those
 *      below in the tree.
 *   4. A barrier of all ranks. Whoever leaves it finds all of the next b on its device. (Before the
 *      first product there is one of the device for that.)
 *
 * b has two copies: the next one is made while others read this one. Of everything else one copy
 * is enough: all that was put has been waited for, and read, before anybody begins the next
 * product; so the copy of b that is filled in product k was last read, by threads and by puts,
 * before the barrier of k - 1.
 */
#ifdef __CUDACC__
#define SPMV_DEEP 8
#endif
#include "kernel.h"

#define WEFT_MOST_THREADS SPMV_THREADS
#define WEFT_LEAST_RANKS  2

#include <stdbool.h>
#include <weft/device.h>

/* Functions that are used in several places: inlined, they would cost the kernel its registers. */
#ifdef __CUDACC__
#define APART static __device__ __noinline__
#else
#define APART static
#endif

enum { TAG_B, TAG_PARTIAL /* and onwards, one for each round */ };

struct range {
    uint32_t begin, end;
};

/* In the memory that the rank's threads share, where it is read fastest. */
struct place {
    weft_self *self;
    weft_win win;
    uint32_t rank;
    struct range b, x, long_rows;
    struct spmv_data data;
};

WEFT_DEVICE_FN double *vector(const struct place *me, size_t offset)
{
    return (double *)(me->data.arena + offset);
}

WEFT_DEVICE_FN int counterpart(const struct place *me, uint32_t row, uint32_t column)
{
    const int process = (int)(row * me->data.grid.columns + column);
    return weft_process_first(me->self, process) + (int)me->rank;
}

APART void put_slice(const struct place *me, int target, size_t to, const double *source,
                     uint32_t count, int tag)
{
    weft_sync(me->self);
    weft_put_notify(me->self, me->win, target, to, source, count * sizeof(double), tag);
}

/* b of product k. The parent in the tree is the row without its lowest bit; deep subtrees first. */
APART void pass_b(const struct place *me, uint32_t k)
{
    const struct spmv_grid *grid = &me->data.grid;
    const uint32_t count = me->b.end - me->b.begin;
    const size_t offset = me->data.b[k & 1] + me->b.begin * sizeof(double);
    double *slice = vector(me, offset);
    uint32_t reach = 1;
    if (grid->row > 0) {
        weft_wait(me->self, TAG_B, 1);
    } else if (k > 0) {
        const double *before = vector(me, me->data.b[(k - 1) & 1]) + me->b.begin;
        weft_for (i, count)
            slice[i] = -before[i];
    }
    while (reach < grid->rows && !(grid->row & reach))
        reach *= 2;
    for (reach /= 2; reach > 0; reach /= 2)
        if (grid->row + reach < grid->rows)
            put_slice(me, counterpart(me, grid->row + reach, grid->column), offset, slice, count,
                      TAG_B);
}

/* Step 1, rows with few entries: some lanes for each. */
APART void multiply_short(const struct place *me, const double *b, double *x)
{
    const struct spmv_block *block = &me->data.block;
    const uint32_t lanes = block->lanes, threads = (uint32_t)weft_threads(me->self);
    const uint32_t lane = (uint32_t)weft_thread(me->self) % lanes;
    const uint32_t group = (uint32_t)weft_thread(me->self) / lanes;
    for (uint32_t first = me->x.begin; first < me->x.end; first += threads / lanes) {
        const uint32_t row = first + group;
        const int mine = row < me->x.end && spmv_row_length(block, row) <= block->most_short;
        double sum = 0;
        if (mine)
            sum = spmv_share(block, b, block->row_start[row] + lane, block->row_start[row + 1],
                             lanes);
        sum = weft_lane_sum(me->self, sum, (int)lanes);
        if (mine && lane == 0)
            x[row] = sum;
    }
}

/* Step 1, the others: all threads for each. */
APART void multiply_long(const struct place *me, const double *b, double *x)
{
    const struct spmv_block *block = &me->data.block;
    for (uint32_t i = me->long_rows.begin; i < me->long_rows.end; i++) {
        const uint32_t row = block->long_row[i];
        double sum = spmv_share(block, b, block->row_start[row] + (uint32_t)weft_thread(me->self),
                                block->row_start[row + 1], (uint32_t)weft_threads(me->self));
        sum = weft_block_sum(me->self, sum);
        if (weft_thread(me->self) == 0)
            x[row] = sum;
    }
}

/* Step 2. */
APART void reduce_row(const struct place *me)
{
    const struct spmv_grid *grid = &me->data.grid;
    const uint32_t count = me->x.end - me->x.begin;
    size_t partial = me->data.layout.partial + me->x.begin * sizeof(double);
    double *slice = vector(me, me->data.layout.x) + me->x.begin;
    int tag = TAG_PARTIAL;
    for (uint32_t reach = 1; reach < grid->columns; reach *= 2) {
        if (grid->column & reach) {
            put_slice(me, counterpart(me, grid->row, grid->column - reach), partial, slice, count,
                      tag);
            return;
        }
        if (grid->column + reach < grid->columns) {
            weft_wait(me->self, tag, 1);
            const double *other = vector(me, partial);
            weft_for (i, count)
                slice[i] += other[i];
        }
        partial += me->data.layout.partial_bytes;
        tag++;
    }
}

/* All but the window. The rank's threads meet. */
WEFT_DEVICE_FN void find_place(weft_self *self, const struct spmv_data *data, struct place *me)
{
    const uint64_t ranks = (uint64_t)weft_size(self, WEFT_COMM_DEVICE);
    const uint64_t rank = (uint64_t)weft_rank(self, WEFT_COMM_DEVICE);
    if (weft_thread(self) == 0) {
        me->self = self;
        me->data = *data;
        me->win = WEFT_WIN_NONE;
        me->rank = (uint32_t)rank;
        me->b.begin = (uint32_t)(data->block.columns * rank / ranks);
        me->b.end = (uint32_t)(data->block.columns * (rank + 1) / ranks);
        me->x.begin = data->x_cut[rank];
        me->x.end = data->x_cut[rank + 1];
        me->long_rows.begin = data->long_cut[rank];
        me->long_rows.end = data->long_cut[rank + 1];
    }
    weft_sync(self);
}

/*
 * Product k, and b of the next, also after the last: what is verified is then a product whose b
 * others could have spoiled.
 */
WEFT_DEVICE_FN void product(const struct place *me, uint32_t k)
{
    const double *b = vector(me, me->data.b[k & 1]);
    double *x = vector(me, me->data.layout.x);
    const bool waits = (me->data.grid.column & 1) == 0; /* for x of others */
    multiply_short(me, b, x);
    multiply_long(me, b, x);
    weft_sync(me->self); /* reduce_row adds by another division of the slice */
    if (!waits)
        reduce_row(me);
    pass_b(me, k + 1);
    if (waits)
        reduce_row(me);
}

WEFT_KERNEL(spmv, struct spmv_data, data)
{
    WEFT_SHARED(struct place, here, 1);
    find_place(self, data, here);
    weft_enter(self);
    weft_win win =
        weft_win_create(self, WEFT_COMM_WORLD, here->data.arena, here->data.layout.bytes);
    if (win == WEFT_WIN_NONE) {
        data->no_window = 1;
        weft_leave(self);
        return;
    }
    if (weft_thread(self) == 0)
        here->win = win;
    weft_timer_start(self); /* the rank's threads meet there */
    pass_b(here, 0);
    weft_barrier(self, WEFT_COMM_DEVICE);
    for (uint32_t k = 0; k < here->data.iterations; k++) {
        product(here, k);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    weft_timer_stop(self);
    weft_win_free(self, &win);
    weft_leave(self);
}
