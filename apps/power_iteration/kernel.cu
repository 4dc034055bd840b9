/*
 * power_iteration/kernel.cu - x = A b, b = x normalised, again and again, on a grid of processes
 * and in one persistent kernel.
 *
 * One iteration, seen by rank r of the process at (row, column); "counterpart" is rank r elsewhere:
 *
 *   1. b, not yet normalised, comes down the grid column slice by slice along a binomial tree of
 *      counterparts, and after it the factor that normalises it: 1/|x|.
 *   2. The rank normalises its slice. A device barrier, the only one: all of b is there.
 *   3. It multiplies its slice of rows: each element of x by one rank.
 *   4. Its x is added to its counterparts' along the grid row, by a binomial tree to column 0.
 *   5. Column 0 puts x to where b is wanted on row 0: the transpose. Meanwhile the sums over x go
 *      to the device leaders (rank 0 of each device), from them to rank 0 of the job, and its
 *      verdict to the leaders of row 0, who announce it to their ranks by a flag.
 *
 * The two modes differ in a line each: an eigenvector is normalised by b = x * factor with factor
 * 1/|x|; for PageRank, A is stored column-normalised and times the damping D, so that all that x
 * lacks to the sum of 1 is teleport and the dangling packages' share, both spread evenly:
 * b = x + factor with factor (1 - sum of x) / n.
 *
 * Why no buffer is overwritten while someone still reads it. Call V(k) the verdict that opens
 * iteration k. Rank 0 makes V(k+1) from sums over all of x, so after every rank of column 0 has
 * added all partial x of iteration k, so after EVERY rank of the job has passed its barrier in
 * iteration k, multiplied, and read what was put to it in steps 1 to 4. Every arrow of that chain
 * is a notification, a barrier, or the fence before the flag; each is a release of the loads
 * before it. Therefore:
 *   - b, partial, sums, totals, verdict and flag are written for iteration k+1 only by those who
 *     have V(k+1), or make it: one copy of each is enough.
 *   - raw runs ahead of the verdict: raw for k+1 is put during iteration k, by ranks that have
 *     V(k), while slower ones may still normalise and forward raw of k. Two copies, by parity: the
 *     one being filled was last read in iteration k-1, before that iteration's barrier. x has two
 *     copies because step 5 compares x with the x before it.
 *   - A put may read its source after the call. No flush_local is needed: what has arrived was
 *     read. The verdict and raw forwarded in k arrive before a barrier of k, partial x of k before
 *     V(k+1), pieces of x before a barrier of k+1; their sources are written again by ranks that
 *     have V(k+1), V(k+1), V(k+2) and V(k+2).
 *   - On process 0, x of iteration k is raw of k+1. Its ranks write each other's raw slices there
 *     after the barrier of k, when all have left raw of k-1, and each reads only its own x again;
 *     what other processes put there lies outside process 0's rows.
 * All sums run in a fixed order: the same grid and ranks give the same bits.
 */
#include "kernel.h"

#define WEFT_MOST_THREADS POWER_THREADS

#include <math.h>
#include <stdbool.h>
#include <weft/device.h>

/* Tags. A tag has one sender an iteration, or all its senders are waited for together. */
enum {
    TAG_RAW,     /* b, from the counterpart above */
    TAG_FACTOR,  /* the verdict, from the counterpart above */
    TAG_PIECE,   /* row 0: a piece of x transposed */
    TAG_SUMS,    /* leaders of column 0: the sums of a rank of the device */
    TAG_TOTALS,  /* rank 0: the sums of a device */
    TAG_VERDICT, /* leaders of row 0: from rank 0 */
    TAG_PARTIAL  /* and onwards, one for each round: x of another column */
};

enum {
    LANES = 8,       /* threads for a row */
    DEEP = 8,        /* entries that one of them has under way */
    LONG_ROW = 512,  /* from so many entries on a row is for all threads of the rank, */
    LONG_MOST = 128, /* and so many such rows: with more, all go with the others */
    LOG_EVERY = 10   /* iterations from one line to the next */
};

/* The calling rank: its place in the grid and its slices. */
struct place {
    weft_self *self;
    struct power_data *data;
    weft_win win;
    int rank;                /* in the device */
    struct power_range b, x; /* its slices of the whole vectors */
    uint64_t b_first;        /* where the device's block of b begins in the whole vector */
    uint64_t x_first;        /* where its block of x begins */
    uint32_t pieces;         /* how many pieces of x others put into its slice of b */
    uint64_t *long_row;      /* its rows with many entries, within the slice; */
    uint32_t long_rows;      /* none, if there are more than a list holds */
};

WEFT_DEVICE_FN void *at(const struct place *me, uint64_t offset)
{
    return me->data->arena + offset;
}

/* The world rank of a rank of the process at (row, column). */
WEFT_DEVICE_FN int world_rank(const struct place *me, uint64_t row, uint64_t column, int rank)
{
    int process = (int)(row * me->data->shape.columns + column);
    return weft_process_first(me->self, process) + rank;
}

WEFT_DEVICE_FN struct place find_place(weft_self *self, struct power_data *data)
{
    const struct power_shape *shape = &data->shape;
    struct place me;
    me.self = self;
    me.data = data;
    me.win = WEFT_WIN_NONE;
    me.rank = weft_rank(self, WEFT_COMM_DEVICE);
    me.b = power_slice(shape, shape->columns, data->column, (uint64_t)me.rank);
    me.x = power_slice(shape, shape->rows, data->row, (uint64_t)me.rank);
    me.b_first = power_part(shape->n, shape->columns, data->column).begin;
    me.x_first = power_part(shape->n, shape->rows, data->row).begin;
    me.pieces = 0;
    me.long_row = NULL;
    me.long_rows = 0;
    for (uint64_t i = me.b.begin; i < me.b.end;) {
        struct power_owner from = power_owner_of(shape, shape->rows, i);
        me.pieces += world_rank(&me, from.block, 0, (int)from.rank) !=
                     world_rank(&me, data->row, data->column, me.rank);
        i = from.end;
    }
    return me;
}

WEFT_DEVICE_FN bool is_long(const uint64_t *row_start, uint64_t row)
{
    return row_start[row + 1] - row_start[row] >= LONG_ROW;
}

/* Lists the long rows of the slice; the matrix stays as it is, so once is enough. */
WEFT_DEVICE_FN void find_long_rows(struct place *me, uint64_t *list)
{
    const uint64_t *row_start = me->data->row_start + (me->x.begin - me->x_first);
    uint32_t found = 0;
    for (uint64_t row = 0; row < me->x.end - me->x.begin; row++) {
        if (!is_long(row_start, row))
            continue;
        if (found < LONG_MOST && weft_thread(me->self) == 0)
            list[found] = row;
        found++;
    }
    weft_sync(me->self);
    me->long_row = list;
    me->long_rows = found <= LONG_MOST ? found : 0;
}

/*
 * The binomial tree over 0 .. size - 1: the parent of i is i without its lowest bit, its children
 * are i + m for the powers of two m below that bit (below size for 0). Returns the highest such m,
 * whose subtree is the deepest and is served first; 0 if there is none.
 */
WEFT_DEVICE_FN uint64_t highest_child(uint64_t i, uint64_t size)
{
    uint64_t m = 1;
    while (m < size && !(i & m))
        m <<= 1;
    return m >> 1;
}

/* Step 1: passes `bytes` bytes at an offset of the arena on to the counterparts below. */
WEFT_DEVICE_FN void send_down(const struct place *me, uint64_t target, uint64_t source,
                              uint64_t bytes, int tag)
{
    const struct power_data *data = me->data;
    for (uint64_t m = highest_child(data->row, data->shape.rows); m > 0; m >>= 1) {
        if (data->row + m < data->shape.rows)
            weft_put_notify(me->self, me->win,
                            world_rank(me, data->row + m, data->column, me->rank), target,
                            at(me, source), bytes, tag);
    }
}

/* Step 1, b: row 0 has it from the host or from step 5, the others from above. */
WEFT_DEVICE_FN void pass_raw(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    if (data->row > 0)
        weft_wait(me->self, TAG_RAW, 1);
    else if (k > 0)
        weft_wait(me->self, TAG_PIECE, me->pieces);
    uint64_t offset = data->layout.raw[k & 1] + (me->b.begin - me->b_first) * sizeof(double);
    send_down(me, offset, offset, (me->b.end - me->b.begin) * sizeof(double), TAG_RAW);
}

/* The leader of a device of row 0 tells its ranks that the verdict of iteration k is there. */
WEFT_DEVICE_FN void announce(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    if (data->column > 0)
        weft_wait(me->self, TAG_VERDICT, 1);
    uint64_t *source = (uint64_t *)at(me, data->layout.flag_source);
    if (weft_thread(me->self) == 0)
        *source = k;
    weft_fence(me->self); /* the verdict, and all it stands for, before the flag */
    weft_put(me->self, me->win, world_rank(me, data->row, data->column, 0), data->layout.flag,
             source, sizeof(*source));
}

/* Step 1, the verdict. That of iteration 0 comes from the host. */
WEFT_DEVICE_FN struct power_verdict pass_verdict(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    uint64_t mine = data->layout.verdict + (uint64_t)me->rank * sizeof(struct power_verdict);
    uint64_t source = data->row > 0 ? mine : data->layout.verdict;
    if (data->row > 0)
        weft_wait(me->self, TAG_FACTOR, 1);
    else if (k > 0 && me->rank == 0)
        announce(me, k);
    else if (k > 0)
        weft_wait_until(me->self, (const uint64_t *)at(me, data->layout.flag), WEFT_EQ, k);
    send_down(me, mine, source, sizeof(struct power_verdict), TAG_FACTOR);
    return *(const struct power_verdict *)at(me, source);
}

/* Step 2. */
WEFT_DEVICE_FN void normalise(const struct place *me, uint64_t k, double factor)
{
    const double *raw = (double *)at(me, me->data->layout.raw[k & 1]) + (me->b.begin - me->b_first);
    double *b = (double *)at(me, me->data->layout.b) + (me->b.begin - me->b_first);
    weft_for (i, me->b.end - me->b.begin)
        b[i] = me->data->pagerank ? raw[i] + factor : raw[i] * factor;
}

/* The rank's slice of x in iteration k, or of the one before. */
WEFT_DEVICE_FN double *x_slice(const struct place *me, uint64_t parity)
{
    return (double *)at(me, me->data->layout.x[parity & 1]) + (me->x.begin - me->x_first);
}

/* Entries first, first + step, ... of a row, times b. Several are under way at once. */
WEFT_DEVICE_FN double times(const struct power_data *data, const double *b, uint64_t first,
                            uint64_t end, uint64_t step)
{
    const double *value = data->value;
    const uint32_t *column = data->column_of;
    double sum[DEEP] = {0};
    uint64_t i = first;
    for (; i + (DEEP - 1) * step < end; i += DEEP * step)
        for (int k = 0; k < DEEP; k++)
            sum[k] += value[i + k * step] * b[column[i + k * step]];
    for (; i < end; i += step)
        sum[0] += value[i] * b[column[i]];
    for (int k = 1; k < DEEP; k++)
        sum[0] += sum[k];
    return sum[0];
}

/* Step 3: a few threads for each row, but all of the rank's for a row with many entries. */
WEFT_DEVICE_FN void multiply(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    const uint64_t *row_start = data->row_start + (me->x.begin - me->x_first);
    const double *b = (const double *)at(me, data->layout.b);
    const uint64_t rows = me->x.end - me->x.begin, threads = (uint64_t)weft_threads(me->self);
    const uint64_t lanes = threads % LANES == 0 ? LANES : 1, groups = threads / lanes;
    const uint64_t thread = (uint64_t)weft_thread(me->self), lane = thread % lanes;
    double *x = x_slice(me, k + 1);
    for (uint64_t first = 0; first < rows; first += groups) {
        const uint64_t row = first + thread / lanes;
        double sum = 0;
        if (row < rows && !(me->long_rows > 0 && is_long(row_start, row)))
            sum = times(data, b, row_start[row] + lane, row_start[row + 1], lanes);
        sum = weft_lane_sum(me->self, sum, (int)lanes);
        if (row < rows && lane == 0)
            x[row] = sum;
    }
    for (uint32_t i = 0; i < me->long_rows; i++) {
        const uint64_t row = me->long_row[i];
        const double sum = weft_block_sum(
            me->self, times(data, b, row_start[row] + thread, row_start[row + 1], threads));
        if (thread == 0)
            x[row] = sum;
    }
    weft_sync(me->self);
}

/* Step 4: adds the x of its children in the tree, then hands the sum to its parent. */
WEFT_DEVICE_FN void reduce_row(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    uint64_t slice = (me->x.begin - me->x_first) * sizeof(double);
    uint64_t count = me->x.end - me->x.begin;
    uint64_t partial = data->layout.partial + slice;
    double *x = x_slice(me, k + 1);
    int tag = TAG_PARTIAL;
    for (uint64_t m = 1; m < data->shape.columns; m <<= 1) {
        if (data->column & m) {
            weft_sync(me->self);
            weft_put_notify(me->self, me->win,
                            world_rank(me, data->row, data->column - m, me->rank), partial, x,
                            count * sizeof(double), tag);
            return;
        }
        if (data->column + m < data->shape.columns) {
            weft_wait(me->self, tag, 1);
            const double *other = (const double *)at(me, partial);
            weft_for (i, count)
                x[i] += other[i];
        }
        partial += data->layout.partial_size;
        tag++;
    }
    weft_sync(me->self);
}

/*
 * Step 5, the transpose: x of this rank of column 0, cut at the slices of b. On process 0 every
 * piece for one of its own ranks is in place already: for itself there is nothing to do, for the
 * others only the notice travels.
 */
WEFT_DEVICE_FN void transpose(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    const struct power_shape *shape = &data->shape;
    const double *x = x_slice(me, k + 1);
    for (uint64_t i = me->x.begin; i < me->x.end;) {
        struct power_owner to = power_owner_of(shape, shape->columns, i);
        uint64_t end = to.end < me->x.end ? to.end : me->x.end;
        uint64_t first = power_part(shape->n, shape->columns, to.block).begin;
        int target = world_rank(me, 0, to.block, (int)to.rank);
        if (target != world_rank(me, data->row, data->column, me->rank))
            weft_put_notify(me->self, me->win, target,
                            data->layout.raw[(k + 1) & 1] + (i - first) * sizeof(double),
                            x + (i - me->x.begin), (end - i) * sizeof(double), TAG_PIECE);
        i = end;
    }
}

/* Thread 0 of rank 0 makes the verdict of iteration k + 1 from the sums over x of iteration k. */
WEFT_DEVICE_FN struct power_verdict judge(struct power_data *data, uint64_t k,
                                          struct power_sums sums)
{
    struct power_verdict verdict;
    if (data->pagerank) {
        verdict.factor = (1 - sums.size) / (double)data->shape.n;
        data->change = sums.change;
    } else {
        /* b is x of the iteration before, normalised: their product has the eigenvalue's sign. */
        double norm = sqrt(sums.size);
        double before = fabs(data->eigenvalue);
        verdict.factor = norm > 0 ? 1 / norm : 0;
        data->change = norm > 0 ? fabs(norm - before) / norm : 0;
        data->eigenvalue = sums.change < 0 ? -norm : norm;
    }
    data->outcome = POWER_LIMIT;
    if (!data->pagerank && verdict.factor == 0)
        data->outcome = POWER_ZERO;
    else if (data->change < data->tolerance)
        data->outcome = POWER_CONVERGED;
    verdict.stop = data->outcome != POWER_LIMIT || k + 1 == data->iterations;
    return verdict;
}

/* The last part of step 5, on rank 0. */
WEFT_DEVICE_FN void decide(const struct place *me, uint64_t k, const struct power_sums *totals)
{
    struct power_data *data = me->data;
    struct power_verdict *verdict = (struct power_verdict *)at(me, data->layout.verdict);
    if (weft_thread(me->self) == 0) {
        struct power_sums sums = {0, 0};
        for (uint64_t row = 0; row < data->shape.rows; row++) {
            sums.size += totals[row].size;
            sums.change += totals[row].change;
        }
        *verdict = judge(data, k, sums);
    }
    weft_sync(me->self);
    for (uint64_t column = 1; column < data->shape.columns; column++)
        weft_put_notify(me->self, me->win, world_rank(me, 0, column, 0), data->layout.verdict,
                        verdict, sizeof(*verdict), TAG_VERDICT);
    if ((k + 1) % LOG_EVERY != 0 && !verdict->stop)
        return;
    if (data->pagerank)
        weft_log(me->self, "iteration %llu: change %.3e", (unsigned long long)(k + 1),
                 data->change);
    else
        weft_log(me->self, "iteration %llu: eigenvalue %.12g, change %.3e",
                 (unsigned long long)(k + 1), data->eigenvalue * data->scale, data->change);
}

/* Step 5, the sums: from the ranks of column 0 to the device's leader, from there to rank 0. */
WEFT_DEVICE_FN void sum_up(const struct place *me, uint64_t k)
{
    struct power_data *data = me->data;
    struct power_sums *sums = (struct power_sums *)at(me, data->layout.sums);
    struct power_sums *totals = (struct power_sums *)at(me, data->layout.totals);
    const double *x = x_slice(me, k + 1);
    const double *before = x_slice(me, k);
    double size = 0;
    double change = 0;
    weft_for (i, me->x.end - me->x.begin) {
        size += data->pagerank ? x[i] : x[i] * x[i];
        change += data->pagerank ? fabs(x[i] - before[i]) : x[i] * before[i];
    }
    size = weft_block_sum(me->self, size);
    change = weft_block_sum(me->self, change);
    if (weft_thread(me->self) == 0) {
        sums[me->rank].size = size;
        sums[me->rank].change = change;
    }
    if (me->rank > 0) {
        weft_notify(me->self, WEFT_COMM_WORLD, world_rank(me, data->row, 0, 0), TAG_SUMS);
        return;
    }
    weft_wait(me->self, TAG_SUMS, (uint32_t)data->shape.ranks - 1);
    struct power_sums total = {0, 0};
    weft_for (rank, data->shape.ranks) {
        total.size += sums[rank].size;
        total.change += sums[rank].change;
    }
    total.size = weft_block_sum(me->self, total.size);
    total.change = weft_block_sum(me->self, total.change);
    if (weft_thread(me->self) == 0)
        totals[data->row] = total;
    weft_sync(me->self);
    if (data->row > 0) {
        weft_put_notify(me->self, me->win, world_rank(me, 0, 0, 0),
                        data->layout.totals + data->row * sizeof(*totals), totals + data->row,
                        sizeof(*totals), TAG_TOTALS);
        return;
    }
    weft_wait(me->self, TAG_TOTALS, (uint32_t)data->shape.rows - 1);
    decide(me, k, totals);
}

WEFT_KERNEL(power_iteration, struct power_data, data)
{
    weft_enter(self);
    struct place me = find_place(self, data);
    WEFT_SHARED uint64_t long_row[LONG_MOST];
    find_long_rows(&me, long_row);
    me.win = weft_win_create(self, WEFT_COMM_WORLD, data->arena, data->layout.bytes);
    if (me.win == WEFT_WIN_NONE) {
        weft_leave(self); /* the outcome still says so */
        return;
    }
    weft_timer_start(self);
    for (uint64_t k = 0;; k++) {
        pass_raw(&me, k);
        struct power_verdict verdict = pass_verdict(&me, k);
        normalise(&me, k, verdict.factor);
        if (verdict.stop) {
            if (me.rank == 0 && weft_thread(self) == 0)
                data->done = k;
            break;
        }
        weft_barrier(self, WEFT_COMM_DEVICE);
        multiply(&me, k);
        reduce_row(&me, k);
        if (data->column == 0) {
            transpose(&me, k);
            sum_up(&me, k);
        }
    }
    weft_timer_stop(self);
    weft_win_free(self, &me.win);
    weft_leave(self);
}
