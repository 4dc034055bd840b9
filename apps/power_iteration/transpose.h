/*
 * power_iteration/transpose.h - what column 0 puts in an iteration, and to whom: found once,
 * before the first. Pieces of x, which becomes the next b, and the sums over it.
 *
 * x is cut into slices at other places than b, so a slice of x lies in several of b: a piece for
 * each of those, on each grid row. What of x a process needs itself lies where it is wanted already
 * (power_in_place). The barrier of the device tells its ranks so, unless they need their slice of b
 * before it, for split rows: then they are sent the notice. A block of b without elements gets an
 * empty piece: no device goes on without a word from column 0.
 */
#ifndef POWER_TRANSPOSE_H
#define POWER_TRANSPOSE_H

#include "place.h"

/* Whether a notice is needed for a piece of x that stays on its process. */
WEFT_DEVICE_FN bool told_at_home(const struct place *me)
{
    return me->data->splits > 0;
}

WEFT_DEVICE_FN bool block_empty(const struct place *me, uint64_t column)
{
    const struct power_range block = power_part(me->data->shape.n, me->data->shape.columns, column);
    return block.begin == block.end;
}

/* How many pieces come into the rank's slice of b. */
WEFT_DEVICE_FN uint32_t count_pieces(const struct place *me)
{
    const struct power_data *data = me->data;
    const uint64_t ranks = data->shape.ranks, slices = data->shape.rows * ranks;
    uint32_t pieces = data->column > 0 && me->rank == 0 && block_empty(me, data->column);
    if (me->b.begin == me->b.end)
        return pieces;
    for (uint64_t slice = slice_with(data->x_cut, slices, me->b.begin);
         slice < slices && data->x_cut[slice] < me->b.end; slice++) {
        const bool home = data->column == 0 && slice / ranks == data->row;
        pieces += data->x_cut[slice] < data->x_cut[slice + 1] &&
                  !(home && (slice % ranks == (uint64_t)me->rank || !told_at_home(me)));
    }
    return pieces;
}

/* The rank's place among the sums that become those of an iteration of that parity. */
WEFT_DEVICE_FN uint64_t sums_offset(const struct place *me, uint64_t parity)
{
    const struct power_data *data = me->data;
    const uint64_t place = data->row * data->shape.ranks + (uint64_t)me->rank;
    return data->layout.sums[parity & 1] + place * sizeof(struct power_sums);
}

/* Appends a put to the lists: for both parities, from and to these offsets of the arena. */
WEFT_DEVICE_FN void add_put(struct place *me, int target, const uint64_t from[2],
                            const uint64_t to[2], uint64_t bytes)
{
    for (int parity = 0; parity < 2 && weft_thread(me->self) == 0; parity++) {
        weft_put_item *item = &me->puts[parity][me->puts_count];
        item->source = at(me, from[parity]);
        item->bytes = bytes;
        item->offset = to[parity];
        item->target = target;
        item->tag = TAG_OPEN + parity;
    }
    me->puts_count++;
}

/* Of x and b's slice `slice` what they have in common, for the process of the grid row. */
WEFT_DEVICE_FN void add_piece(struct place *me, uint64_t row, uint64_t slice)
{
    const struct power_data *data = me->data;
    const uint64_t block = slice / data->shape.ranks;
    const int slot = (int)(slice % data->shape.ranks);
    const uint64_t low = data->b_cut[slice], high = data->b_cut[slice + 1];
    const uint64_t begin = low > me->x.begin ? low : me->x.begin;
    const uint64_t end = high < me->x.end ? high : me->x.end;
    const bool stays = row == data->row && block == 0; /* only column 0 has pieces */
    uint64_t from[2], to[2];
    if (begin >= end || (stays && (slot == me->rank || !told_at_home(me))))
        return;
    for (uint64_t parity = 0; parity < 2; parity++) {
        from[parity] = x_offset(me, parity) + (begin - me->x.begin) * sizeof(double);
        to[parity] = data->layout.raw[parity] +
                     (begin - data->b_cut[block * data->shape.ranks]) * sizeof(double);
    }
    add_put(me, world_rank(me, row, block, slot), from, to, (end - begin) * sizeof(double));
}

/* All that goes to a grid row. first: the slice of b that holds the first piece. */
WEFT_DEVICE_FN void add_row(struct place *me, uint64_t row, uint64_t first)
{
    const struct power_data *data = me->data;
    const uint64_t columns = data->shape.columns, slices = columns * data->shape.ranks;
    const uint64_t sums[2] = {sums_offset(me, 0), sums_offset(me, 1)};
    for (uint64_t slice = first; slice < slices && data->b_cut[slice] < me->x.end; slice++)
        add_piece(me, row, slice);
    for (uint64_t block = 1; data->row == 0 && me->rank == 0 && block < columns; block++)
        if (block_empty(me, block))
            add_put(me, world_rank(me, row, block, 0), data->layout.raw, data->layout.raw, 0);
    if (row != data->row)
        add_put(me, world_rank(me, row, 0, me->rank), sums, sums, sizeof(struct power_sums));
}

/*
 * Column 0: lists what the rank puts in an iteration, its own grid row last; beside it, if that is
 * little. In device memory a rank has as many places, for each grid row, as slices of b begin
 * within its slice of x, and two more.
 */
WEFT_DEVICE_FN void list_puts(struct place *me)
{
    const struct power_data *data = me->data;
    const uint64_t rows = data->shape.rows, columns = data->shape.columns;
    const uint64_t slices = columns * data->shape.ranks, rank = (uint64_t)me->rank;
    const uint64_t first = slice_with(data->b_cut, slices, me->x.begin);
    const uint64_t end = slice_with(data->b_cut, slices, me->x.end);
    const uint64_t place = rows * (first + 2 * rank + (rank > 0 ? columns : 0));
    for (int parity = 0; rows * (end - first + 2 + columns) > PUTS_MOST && parity < 2; parity++)
        me->puts[parity] = data->puts[parity] + place;
    for (uint64_t i = 1; i <= rows; i++)
        add_row(me, (data->row + i) % rows, first);
}

/* What the rank sends and waits for in every iteration but the first, if it does not store to
 * mirrors. */
WEFT_DEVICE_FN void find_puts(struct place *me)
{
    if (me->mirrors > 0)
        return;
    me->opening = count_pieces(me);
    if (me->data->column == 0) {
        me->opening += (uint32_t)me->data->shape.rows - 1; /* the sums of the other rows */
        list_puts(me);
    }
    weft_sync(me->self);
}

#endif
