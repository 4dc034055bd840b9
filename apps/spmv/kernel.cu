/*
 * spmv/kernel.cu - all products in one persistent kernel. Rank r of every device has slice r of the
 * device's block of b, and slice r of its block of x; "counterpart" is rank r of another process.
 *
 *   1. The slice of b comes from the counterpart above in the grid column, and is put on to those
 *      below in the tree.
 *   2. A barrier of the device: all of its b is there.
 *   3. The rank multiplies the rows of its slice of x.
 *   4. It adds what its counterparts in the grid row have for the slice, and hands it on, while
 *      other ranks still multiply.
 *   5. A barrier of all ranks. It is why one copy of each buffer is enough: all that was put has
 *      been waited for, and read, before anybody begins the next product.
 */
#include "kernel.h"

#define WEFT_MOST_THREADS SPMV_THREADS
#define WEFT_LEAST_RANKS  4

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

struct place {
    weft_self *self;
    const struct spmv_data *data;
    weft_win win;
    uint32_t rank;
    struct range b, x, long_rows;
    double *whole_b, *whole_x; /* of the device */
};

WEFT_DEVICE_FN int counterpart(const struct place *me, uint32_t row, uint32_t column)
{
    const int process = (int)(row * me->data->grid.columns + column);
    return weft_process_first(me->self, process) + (int)me->rank;
}

APART void put_slice(const struct place *me, int target, size_t to, const double *source,
                     uint32_t count, int tag)
{
    weft_sync(me->self);
    weft_put_notify(me->self, me->win, target, to, source, count * sizeof(double), tag);
}

/* Step 1. The parent in the tree is the row without its lowest bit; deep subtrees come first. */
APART void pass_b(const struct place *me, uint32_t k)
{
    const struct spmv_grid *grid = &me->data->grid;
    const uint32_t count = me->b.end - me->b.begin;
    double *slice = me->whole_b + me->b.begin;
    uint32_t reach = 1;
    if (grid->row > 0)
        weft_wait(me->self, TAG_B, 1);
    else if (k > 0)
        weft_for (i, count)
            slice[i] = -slice[i];
    while (reach < grid->rows && !(grid->row & reach))
        reach *= 2;
    for (reach /= 2; reach > 0; reach /= 2)
        if (grid->row + reach < grid->rows)
            put_slice(me, counterpart(me, grid->row + reach, grid->column),
                      me->data->layout.b + me->b.begin * sizeof(double), slice, count, TAG_B);
}

/* Step 3, rows with few entries: some lanes for each. */
APART void multiply_short(const struct place *me)
{
    const struct spmv_block *block = &me->data->block;
    const uint32_t lanes = block->lanes, threads = (uint32_t)weft_threads(me->self);
    const uint32_t lane = (uint32_t)weft_thread(me->self) % lanes;
    const uint32_t group = (uint32_t)weft_thread(me->self) / lanes;
    for (uint32_t first = me->x.begin; first < me->x.end; first += threads / lanes) {
        const uint32_t row = first + group;
        const int mine = row < me->x.end && spmv_row_length(block, row) <= block->most_short;
        double sum = 0;
        if (mine)
            sum = spmv_share(block, me->whole_b, block->row_start[row] + lane,
                             block->row_start[row + 1], lanes);
        sum = weft_lane_sum(me->self, sum, (int)lanes);
        if (mine && lane == 0)
            me->whole_x[row] = sum;
    }
}

/* Step 3, the others: all threads for each. */
APART void multiply_long(const struct place *me)
{
    const struct spmv_block *block = &me->data->block;
    for (uint32_t i = me->long_rows.begin; i < me->long_rows.end; i++) {
        const uint32_t row = block->long_row[i];
        double sum =
            spmv_share(block, me->whole_b, block->row_start[row] + (uint32_t)weft_thread(me->self),
                       block->row_start[row + 1], (uint32_t)weft_threads(me->self));
        sum = weft_block_sum(me->self, sum);
        if (weft_thread(me->self) == 0)
            me->whole_x[row] = sum;
    }
}

/* Step 4. */
APART void reduce_row(const struct place *me)
{
    const struct spmv_grid *grid = &me->data->grid;
    const uint32_t count = me->x.end - me->x.begin;
    size_t partial = me->data->layout.partial + me->x.begin * sizeof(double);
    double *slice = me->whole_x + me->x.begin;
    int tag = TAG_PARTIAL;
    for (uint32_t reach = 1; reach < grid->columns; reach *= 2) {
        if (grid->column & reach) {
            put_slice(me, counterpart(me, grid->row, grid->column - reach), partial, slice, count,
                      tag);
            return;
        }
        if (grid->column + reach < grid->columns) {
            weft_wait(me->self, tag, 1);
            const double *other = (const double *)(me->data->arena + partial);
            weft_for (i, count)
                slice[i] += other[i];
        }
        partial += me->data->layout.partial_bytes;
        tag++;
    }
}

WEFT_DEVICE_FN struct place find_place(weft_self *self, const struct spmv_data *data)
{
    const uint64_t ranks = (uint64_t)weft_size(self, WEFT_COMM_DEVICE);
    const uint64_t rank = (uint64_t)weft_rank(self, WEFT_COMM_DEVICE);
    struct place me;
    me.self = self;
    me.data = data;
    me.win = WEFT_WIN_NONE;
    me.rank = (uint32_t)rank;
    me.b.begin = (uint32_t)(data->block.columns * rank / ranks);
    me.b.end = (uint32_t)(data->block.columns * (rank + 1) / ranks);
    me.x.begin = data->x_cut[rank];
    me.x.end = data->x_cut[rank + 1];
    me.long_rows.begin = data->long_cut[rank];
    me.long_rows.end = data->long_cut[rank + 1];
    me.whole_b = (double *)(data->arena + data->layout.b);
    me.whole_x = (double *)(data->arena + data->layout.x);
    return me;
}

WEFT_KERNEL(spmv, struct spmv_data, data)
{
    struct place me = find_place(self, data);
    weft_enter(self);
    me.win = weft_win_create(self, WEFT_COMM_WORLD, data->arena, data->layout.bytes);
    if (me.win == WEFT_WIN_NONE) {
        data->no_window = 1;
        weft_leave(self);
        return;
    }
    weft_timer_start(self);
    for (uint32_t k = 0; k < data->iterations; k++) {
        pass_b(&me, k);
        weft_barrier(self, WEFT_COMM_DEVICE);
        multiply_short(&me);
        multiply_long(&me);
        weft_sync(self); /* reduce_row adds by another division of the slice */
        reduce_row(&me);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    weft_timer_stop(self);
    weft_win_free(self, &me.win);
    weft_leave(self);
}
