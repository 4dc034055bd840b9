/*
 * power_iteration/transpose.h - which pieces of x go where, so that x becomes the next b: found
 * once, before the first iteration.
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

/* Appends a piece of x to the list. */
WEFT_DEVICE_FN void add_piece(struct place *me, struct power_piece *list, struct power_piece piece)
{
    const bool stays = piece.target == world_rank(me, me->data->row, 0, piece.slot);
    if (stays && (piece.slot == me->rank || !told_at_home(me)))
        return;
    if (weft_thread(me->self) == 0)
        list[me->pieces_out] = piece;
    me->pieces_out++;
}

/* Lists those for a grid row. first: the slice of b that holds the first of them. */
WEFT_DEVICE_FN void list_row(struct place *me, struct power_piece *list, uint64_t row,
                             uint64_t first)
{
    const struct power_data *data = me->data;
    const uint64_t ranks = data->shape.ranks, columns = data->shape.columns;
    const uint64_t slices = columns * ranks;
    for (uint64_t slice = first; slice < slices && data->b_cut[slice] < me->x.end; slice++) {
        const uint64_t block = slice / ranks;
        const uint64_t low = data->b_cut[slice], high = data->b_cut[slice + 1];
        const uint64_t begin = low > me->x.begin ? low : me->x.begin;
        const uint64_t stop = high < me->x.end ? high : me->x.end;
        const struct power_piece piece = {
            (begin - me->x.begin) * sizeof(double),
            (begin - data->b_cut[block * ranks]) * sizeof(double), (stop - begin) * sizeof(double),
            world_rank(me, row, block, (int)(slice % ranks)), (int)(slice % ranks)};
        if (begin < stop)
            add_piece(me, list, piece);
    }
    for (uint64_t block = 1; data->row == 0 && me->rank == 0 && block < columns; block++) {
        const struct power_piece piece = {0, 0, 0, world_rank(me, row, block, 0), 0};
        if (block_empty(me, block))
            add_piece(me, list, piece);
    }
}

/*
 * Column 0: lists the pieces of the rank's slice of x, beside it if they are few; those for its own
 * grid row last. In device memory a rank has as many places, for each grid row, as slices of b
 * begin within its slice of x, and one more.
 */
WEFT_DEVICE_FN void list_pieces(struct place *me, struct power_shared *shared)
{
    const struct power_data *data = me->data;
    const uint64_t rows = data->shape.rows, columns = data->shape.columns;
    const uint64_t slices = columns * data->shape.ranks;
    const uint64_t first = slice_with(data->b_cut, slices, me->x.begin);
    const uint64_t end = slice_with(data->b_cut, slices, me->x.end);
    struct power_piece *list = shared->piece;
    if (rows * (end - first + 1 + columns) > PIECES_MOST)
        list = data->piece + rows * (first + (uint64_t)me->rank + (me->rank > 0 ? columns : 0));
    for (uint64_t i = 1; i <= rows; i++)
        list_row(me, list, (data->row + i) % rows, first);
    me->piece = list;
}

/* What the rank sends and waits for in every iteration but the first. */
WEFT_DEVICE_FN void find_pieces(struct place *me)
{
    const struct power_shape *shape = &me->data->shape;
    me->opening = count_pieces(me);
    if (me->data->column == 0) {
        me->opening += (uint32_t)shape->rows - 1; /* the sums of the other rows */
        list_pieces(me, me->shared);
    }
    weft_sync(me->self);
}

#endif
