/*
 * power_iteration/place.h - the calling rank: its place in the grid, its slices, and where they
 * lie. For the kernel alone.
 */
#ifndef POWER_PLACE_H
#define POWER_PLACE_H

#include "kernel.h"

#include <stdbool.h>
#include <weft/device.h>

/* Not inlined: as code in the loop, a put would take registers from the multiplication. */
#define APART WEFT_DEVICE_FN __attribute__((noinline))

/* Threads that sum up without a barrier, and how many such warps a rank has at most. */
#ifdef __CUDACC__
enum { WARP = 32, WARPS = POWER_THREADS / WARP };
#else
enum { WARP = 1, WARPS = 64 /* WEFT_CPU_THREADS */ };
#endif

enum {
    WIDE_MOST = 128, /* wide rows in a list (multiply.h) */
    PUTS_MOST = 16,  /* puts of a rank in lists beside it (transpose.h) */
    MIRRORS_MOST = 7 /* other processes whose memory a rank stores to (mirror.h) */
};

/* What column 0 makes of the sums over x (verdict.h). */
struct power_verdict {
    double factor;     /* b is x times that; for PageRank: plus that */
    double eigenvalue; /* not yet times scale; for PageRank: 0 */
    double change;
    uint64_t outcome; /* a power_outcome; POWER_LIMIT: it goes on, or that was the last iteration */
};

/* The rows of a slice: where the entries of each begin in the two other arrays, and its last end.
 */
struct power_rows {
    const uint64_t *start;
    const uint32_t *column_of;
    const double *value;
};

struct place {
    weft_self *self;
    const struct power_data *data; /* a copy, where it is read fastest */
    struct power_data *results;
    struct power_shared *shared;
    weft_win win;
    int rank;                /* in the device */
    bool speaks;             /* for the job */
    struct power_range b, x; /* the rank's slices of the whole vectors */
    uint64_t b_first;        /* where the device's block of b begins in the whole vector */
    uint64_t x_first;        /* where its block of x begins */
    uint32_t witness;        /* a rank of its device that others put raw to (not in column 0) */
    uint32_t opening;        /* notices that it waits for before a multiplication */
    uint32_t children;       /* counterparts that put x to it, each in a round of its own */
    uint32_t parent;         /* the column of the one that it puts x to; 0: none */
    weft_put_item *puts[2];  /* what it puts in column 0, by the parity of raw */
    uint32_t puts_count;     /* length of puts[0], puts[1] */
    uint32_t mirrors;        /* instead of puts: processes to which it stores x (mirror.h) */
    struct power_rows rows;  /* those of its slice of x */
    uint32_t narrow_lanes;   /* threads for a narrow row */
    uint64_t narrow_most;    /* entries that a narrow row has at most */
    uint64_t wide_rows;      /* its whole rows that have more entries (multiply.h) */
    uint64_t split_begin;    /* the split rows in its slice of x: indices in the list of all */
    uint64_t split_end;
};

/*
 * What the threads of a rank share. The place is here, too, since it is read in every iteration:
 * registers for all of it would be too many.
 */
struct power_shared {
    struct place place;
    struct power_data data;
    struct power_sums sums[WARPS];   /* over a slice of x */
    struct power_sums totals[WARPS]; /* over all of x */
    struct power_verdict verdict[2]; /* column 0: of this iteration and the one before */
    weft_put_item puts[2][PUTS_MOST];
    char *mirror[MIRRORS_MOST]; /* their arenas */
    uint64_t wide_row[WIDE_MOST];
};

WEFT_DEVICE_FN void *at(const struct place *me, uint64_t offset)
{
    return me->data->arena + offset;
}

/* The calling thread's warp, of so many, and its place there. */
WEFT_DEVICE_FN uint32_t warp(const struct place *me)
{
    return (uint32_t)weft_thread(me->self) / WARP;
}

WEFT_DEVICE_FN uint32_t warps(const struct place *me)
{
    return WARP == 1 ? (uint32_t)weft_threads(me->self) : WARPS; /* known there: a faster loop */
}

WEFT_DEVICE_FN uint32_t lane(const struct place *me)
{
    return (uint32_t)weft_thread(me->self) % WARP;
}

/* The world rank of a rank of the process at (row, column). */
WEFT_DEVICE_FN int world_rank(const struct place *me, uint64_t row, uint64_t column, int rank)
{
    int process = (int)(row * me->data->shape.columns + column);
    return weft_process_first(me->self, process) + rank;
}

/* The tags of an iteration, by its parity. */
enum {
    TAG_OPEN,                  /* raw and sums: all that it begins with */
    TAG_PARTIAL = TAG_OPEN + 2 /* x of another column */
};

/* The rank's slice of x: what becomes b of the iteration of that parity. */
WEFT_DEVICE_FN uint64_t x_offset(const struct place *me, uint64_t parity)
{
    return me->data->layout.x[parity & 1] + (me->x.begin - me->x_first) * sizeof(double);
}

WEFT_DEVICE_FN double *x_slice(const struct place *me, uint64_t parity)
{
    return (double *)at(me, x_offset(me, parity));
}

/* The first of `count` rising numbers that is at least `value`; count if there is none. */
WEFT_DEVICE_FN uint64_t first_from(const uint64_t *numbers, uint64_t count, uint64_t value)
{
    uint64_t low = 0;
    while (low < count) {
        uint64_t middle = low + (count - low) / 2;
        if (numbers[middle] < value)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/*
 * The first of the slices, of all blocks, that ends after index i of the vector: it holds i. cut
 * has one number more than there are slices.
 */
WEFT_DEVICE_FN uint64_t slice_with(const uint64_t *cut, uint64_t slices, uint64_t i)
{
    return first_from(cut + 1, slices, i + 1);
}

/*
 * Finds its place in the binomial tree along the grid row: the parent of i is i without its lowest
 * bit, its children are i + m for the powers of two m below that bit, of 0 below the row's end.
 */
WEFT_DEVICE_FN void find_family(struct place *me)
{
    const uint64_t column = me->data->column, columns = me->data->shape.columns;
    uint64_t m = 1;
    me->children = 0;
    for (; m < columns && !(column & m); m <<= 1)
        me->children += column + m < columns;
    me->parent = (uint32_t)(column & (column - 1));
}

/* All but what the other files' find_... add. */
WEFT_DEVICE_FN struct place find_place(weft_self *self, struct power_data *data,
                                       struct power_shared *shared)
{
    const struct power_shape *shape = &data->shape;
    struct place me;
    me.self = self;
    me.data = &shared->data;
    me.results = data;
    me.shared = shared;
    me.win = WEFT_WIN_NONE;
    me.rank = weft_rank(self, WEFT_COMM_DEVICE);
    me.speaks = data->row == 0 && data->column == 0 && me.rank == 0 && !data->silent;
    me.b = power_slice(data->b_cut, shape->ranks, data->column, (uint64_t)me.rank);
    me.x = power_slice(data->x_cut, shape->ranks, data->row, (uint64_t)me.rank);
    me.b_first = power_part(shape->n, shape->columns, data->column).begin;
    me.x_first = power_part(shape->n, shape->rows, data->row).begin;
    if (weft_thread(self) == 0)
        shared->data = *data;
    weft_sync(self);
    weft_for (i, 2)
        shared->verdict[i] =
            (struct power_verdict){.factor = data->start_factor, .outcome = POWER_LIMIT};
    me.witness =
        (uint32_t)slice_with(data->b_cut + data->column * shape->ranks, shape->ranks, me.b_first) %
        (uint32_t)shape->ranks;
    me.opening = 0;
    me.puts[0] = shared->puts[0];
    me.puts[1] = shared->puts[1];
    me.puts_count = 0;
    me.mirrors = 0;
    find_family(&me);
    me.rows.start = data->row_start + (me.x.begin - me.x_first);
    me.rows.column_of = data->column_of;
    me.rows.value = data->value;
    me.narrow_lanes = 1;
    me.narrow_most = data->most_whole;
    me.wide_rows = 0;
    me.split_begin = first_from(data->split_row, data->splits, me.x.begin - me.x_first);
    me.split_end = first_from(data->split_row, data->splits, me.x.end - me.x_first);
    return me;
}

#endif
