/*
 * power_iteration/multiply.h - x = A b on one device: rows of three kinds, by what they cost.
 *
 *   - A narrow row is multiplied by a few threads of its rank, as many as suit the slice.
 *   - A wide row, which would keep them waiting, by a warp.
 *   - A split row, which would keep all other ranks waiting (power_most_whole), by all ranks of the
 *     device: each multiplies the entries that meet its own slice of b. That is done before the
 *     barrier; after it, the rank whose row it is adds up what they found.
 */
#ifndef POWER_MULTIPLY_H
#define POWER_MULTIPLY_H

#include "place.h"

enum {
    DEEP = 8,       /* entries that a thread has under way */
    NARROW_DEEP = 4 /* the mean row has at most so many for each of its threads, if 32 suffice */
};

WEFT_DEVICE_FN uint64_t row_length(const uint64_t *row_start, uint64_t row)
{
    return row_start[row + 1] - row_start[row];
}

/* A split row in the slice, counted as its rows are. */
WEFT_DEVICE_FN uint64_t split_row(const struct place *me, uint64_t split)
{
    return me->data->split_row[split] - (me->x.begin - me->x_first);
}

/*
 * Finds the wide rows; the matrix stays as it is, so once is enough. If they are more than the list
 * holds, all go with the narrow ones.
 */
WEFT_DEVICE_FN void find_wide_rows(struct place *me)
{
    const uint64_t *row_start = me->rows.start;
    const uint64_t rows = me->x.end - me->x.begin;
    uint64_t entries = row_start[rows] - row_start[0], found = 0;
    if (WARP == 1)
        return; /* one thread: all rows are the same to it */
    for (uint64_t split = me->split_begin; split < me->split_end; split++)
        entries -= row_length(row_start, split_row(me, split));
    while (me->narrow_lanes < WARP && me->narrow_lanes * NARROW_DEEP * rows < entries)
        me->narrow_lanes *= 2;
    const uint64_t most = me->narrow_lanes * 2 * DEEP;
    for (uint64_t row = 0; row < rows; row++) {
        const uint64_t length = row_length(row_start, row);
        if (length <= most || length > me->data->most_whole)
            continue;
        if (found < WIDE_MOST && weft_thread(me->self) == 0)
            me->shared->wide_row[found] = row;
        found++;
    }
    weft_sync(me->self);
    if (found > WIDE_MOST)
        return;
    me->wide_rows = found;
    if (most < me->narrow_most)
        me->narrow_most = most;
}

/*
 * Keeps the slice's rows beside the rank if they are few: a kernel that runs from the first
 * iteration to the last need not fetch them again in each. Two crossings to the L2 cache less on
 * the way to every product.
 */
WEFT_DEVICE_FN void keep_rows(struct place *me)
{
    struct power_kept *kept = (struct power_kept *)weft_shared(me->self);
    const struct power_rows rows = me->rows;
    const uint64_t count = me->x.end - me->x.begin;
    const uint64_t first = rows.start[0], entries = rows.start[count] - first;
    if (count > KEPT_ROWS || entries > KEPT_ENTRIES || weft_shared_bytes(me->self) < sizeof(*kept))
        return;
    weft_for (i, count + 1)
        kept->start[i] = rows.start[i] - first;
    weft_for (i, entries) {
        kept->value[i] = rows.value[first + i];
        kept->column[i] = rows.column_of[first + i];
    }
    me->rows.start = kept->start;
    me->rows.value = kept->value;
    me->rows.column_of = kept->column;
    weft_sync(me->self);
}

/* The first of the rising columns of a row that is at least `least`. */
WEFT_DEVICE_FN uint64_t column_from(const uint32_t *column, uint64_t count, uint64_t least)
{
    uint64_t low = 0;
    while (low < count) {
        const uint64_t middle = low + (count - low) / 2;
        if (column[middle] < least)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* What the ranks found for split rows in iteration k: [split row][rank]. */
WEFT_DEVICE_FN double *parts_of(const struct power_data *data, uint64_t k)
{
    return data->part + (k & 1) * data->splits * data->shape.ranks;
}

/* Finds the rank's entries of all split rows: those with columns in its slice of b. */
WEFT_DEVICE_FN void find_segments(const struct place *me)
{
    const struct power_data *data = me->data;
    struct power_segment *segment = data->segment + (uint64_t)me->rank * data->splits;
    weft_for (split, data->splits) {
        const uint64_t first = data->row_start[data->split_row[split]];
        const uint64_t length = row_length(data->row_start, data->split_row[split]);
        const uint32_t *column = data->column_of + first;
        segment[split].begin = first + column_from(column, length, me->b.begin - me->b_first);
        segment[split].end = first + column_from(column, length, me->b.end - me->b_first);
    }
    weft_sync(me->self);
}

/* Fewer than DEEP entries times b, by the one thread of a rank: the branches are foreseen. */
WEFT_DEVICE_FN double times_rest(const double *b, const double *value, const uint32_t *column,
                                 uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += value[i] * b[column[i]];
    return sum;
}

/*
 * Less than a whole batch, by one of many threads: for most rows it is all there is, so these
 * loads, too, are under way at once.
 */
WEFT_DEVICE_FN double times_batch(const double *b, const double *value, const uint32_t *column,
                                  uint32_t left, uint32_t step)
{
    double factor[DEEP];
    uint32_t from[DEEP];
    double sum = 0;
    for (uint32_t k = 0; k < DEEP - 1; k++) {
        const bool there = k * step < left;
        from[k] = there ? column[k * step] : 0;
        factor[k] = there ? value[k * step] : 0;
    }
    for (uint32_t k = 0; k < DEEP - 1; k++)
        if (k * step < left)
            sum += factor[k] * b[from[k]];
    return sum;
}

/*
 * Entries first, first + step, ... of a row, times b. A batch of them at a time: all its loads are
 * under way before the first is used.
 */
WEFT_DEVICE_FN double times(const double *value, const uint32_t *column, const double *b,
                            uint64_t first, uint64_t end, uint32_t step)
{
    value += first;
    column += first;
    const uint32_t batch = DEEP * step;
    uint64_t left = first < end ? end - first : 0;
    double sum[DEEP] = {0};
    for (; left > (DEEP - 1) * step; left -= batch < left ? batch : left) {
        for (uint32_t k = 0; k < DEEP; k++)
            sum[k] += value[k * step] * b[column[k * step]];
        value += batch;
        column += batch;
    }
    sum[0] += WARP == 1 ? times_rest(b, value, column, (uint32_t)left)
                        : times_batch(b, value, column, (uint32_t)left, step);
    for (int k = 1; k < DEEP; k++)
        sum[0] += sum[k];
    return sum[0];
}

/* Before the barrier: the rank's entries of split rows, a warp for each row. */
WEFT_DEVICE_FN void multiply_segments(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    const double *raw = (const double *)at(me, data->layout.raw[k & 1]);
    const struct power_segment *segment = data->segment + (uint64_t)me->rank * data->splits;
    double *part = parts_of(data, k) + me->rank;
    for (uint64_t first = 0; first < data->splits; first += warps(me)) {
        const uint64_t split = first + warp(me);
        const bool mine = split < data->splits;
        double sum = 0;
        if (mine)
            sum = times(data->value, data->column_of, raw, segment[split].begin + lane(me),
                        segment[split].end, WARP);
        sum = weft_lane_sum(me->self, sum, WARP);
        if (mine && lane(me) == 0)
            part[split * data->shape.ranks] = sum;
    }
}

WEFT_DEVICE_FN void multiply_narrow(const struct place *me, const double *b, double *x)
{
    const struct power_rows in = me->rows;
    const uint64_t rows = me->x.end - me->x.begin;
    const uint32_t lanes = WARP == 1 ? 1 : me->narrow_lanes; /* known there: a faster loop */
    const uint32_t group = (uint32_t)weft_thread(me->self) / lanes;
    const uint32_t groups = (uint32_t)weft_threads(me->self) / lanes;
    const uint32_t first_entry = (uint32_t)weft_thread(me->self) % lanes;
    for (uint64_t first = 0; first < rows; first += groups) {
        const uint64_t row = first + group;
        const bool mine = row < rows && row_length(in.start, row) <= me->narrow_most;
        double sum = 0;
        if (mine)
            sum = times(in.value, in.column_of, b, in.start[row] + first_entry, in.start[row + 1],
                        lanes);
        sum = weft_lane_sum(me->self, sum, (int)lanes);
        if (mine && first_entry == 0)
            x[row] = sum;
    }
}

WEFT_DEVICE_FN void multiply_wide(const struct place *me, const double *b, double *x)
{
    const struct power_rows in = me->rows;
    for (uint64_t first = 0; first < me->wide_rows; first += warps(me)) {
        const bool mine = first + warp(me) < me->wide_rows;
        const uint64_t row = mine ? me->shared->wide_row[first + warp(me)] : 0;
        double sum = 0;
        if (mine)
            sum =
                times(in.value, in.column_of, b, in.start[row] + lane(me), in.start[row + 1], WARP);
        sum = weft_lane_sum(me->self, sum, WARP);
        if (mine && lane(me) == 0)
            x[row] = sum;
    }
}

/* What the ranks found for the split rows of the slice, in the order of the ranks. */
WEFT_DEVICE_FN void add_segments(const struct place *me, uint64_t k, double *x)
{
    const struct power_data *data = me->data;
    const uint64_t ranks = data->shape.ranks;
    for (uint64_t first = me->split_begin; first < me->split_end; first += warps(me)) {
        const uint64_t split = first + warp(me);
        const bool mine = split < me->split_end;
        const double *part = parts_of(data, k) + split * ranks;
        double sum = 0;
        for (uint64_t rank = lane(me); mine && rank < ranks; rank += WARP)
            sum += part[rank];
        sum = weft_lane_sum(me->self, sum, WARP);
        if (mine && lane(me) == 0)
            x[split_row(me, split)] = sum;
    }
}

/* Step 2. The rank's threads meet after it. */
WEFT_DEVICE_FN void multiply(const struct place *me, uint64_t k)
{
    const double *b = (const double *)at(me, me->data->layout.raw[k & 1]);
    double *x = x_slice(me, k + 1);
    add_segments(me, k, x);
    multiply_wide(me, b, x);
    multiply_narrow(me, b, x);
}

#endif
