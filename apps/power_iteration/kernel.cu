/*
 * power_iteration/kernel.cu - x = A b, b = x normalised, again and again, on a grid of processes
 * and in one persistent kernel.
 *
 * One iteration, seen by rank r of the process at (row, column); "counterpart" is rank r elsewhere:
 *
 *   1. b, not yet normalised, comes down the grid column slice by slice along a binomial tree of
 *      counterparts, and after it the factor that normalises it: 1/|x|. Between the two the rank
 *      multiplies what its slice of b meets in the split rows, the few that are too long for one
 *      rank (multiply.h).
 *   2. The rank normalises its slice. A device barrier, the only one: all of b is there, and all
 *      parts of split rows.
 *   3. It multiplies its slice of rows: each element of x by one rank. (For a split row it adds
 *      up the parts.)
 *   4. Its x is added to its counterparts' along the grid row, by a binomial tree to column 0.
 *   5. Column 0 puts x to where b is wanted on row 0: the transpose. Before that its sums go
 *      to the device leaders (rank 0 of each device), from them to rank 0 of the job, and its
 *      verdict to the leaders of row 0, who announce it to their ranks by a flag. Rank 0
 *      waits for the sums only when it has its b of the next iteration: nobody needs the verdict
 *      in order to send it that.
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
 *   - Parts of split rows for k+1 are made before V(k+1), too. Again two copies: a rank that makes
 *     them has left the barrier of k, and the copy was last read before it, in step 3 of k-1.
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

#include "multiply.h"

#include <math.h>

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

enum { LOG_EVERY = 10 }; /* iterations from one line to the next */

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

/* Step 2. */
WEFT_DEVICE_FN void normalise(const struct place *me, uint64_t k, double factor)
{
    const double *raw = (double *)at(me, me->data->layout.raw[k & 1]) + (me->b.begin - me->b_first);
    double *b = (double *)at(me, me->data->layout.b) + (me->b.begin - me->b_first);
    weft_for (i, me->b.end - me->b.begin)
        b[i] = normalised(me->data, raw[i], 1, factor);
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
    uint64_t block = me->to_block, rank = me->to_rank;
    for (uint64_t i = me->x.begin; i < me->x.end; rank++) {
        if (rank == shape->ranks) {
            block++;
            rank = 0;
        }
        struct power_range to = power_slice(data->b_cut, shape->ranks, block, rank);
        uint64_t end = to.end < me->x.end ? to.end : me->x.end;
        if (i == end)
            continue; /* an empty slice */
        uint64_t first = data->b_cut[block * shape->ranks];
        int target = world_rank(me, 0, block, (int)rank);
        if (target != world_rank(me, data->row, data->column, me->rank))
            weft_put_notify(me->self, me->win, target,
                            data->layout.raw[(k + 1) & 1] + (i - first) * sizeof(double),
                            x + (i - me->x.begin), (end - i) * sizeof(double), TAG_PIECE);
        i = end;
    }
}

/* The two sums over the rank's threads, on its thread 0. */
WEFT_DEVICE_FN struct power_sums sum_threads(const struct place *me, struct power_sums sums)
{
    sums.size = weft_lane_sum(me->self, sums.size, WARP);
    sums.change = weft_lane_sum(me->self, sums.change, WARP);
    if (lane(me) == 0)
        me->shared->sums[warp(me)] = sums;
    weft_sync(me->self);
    if (weft_thread(me->self) == 0) {
        for (uint64_t warp = 1; warp < WARPS; warp++) {
            sums.size += me->shared->sums[warp].size;
            sums.change += me->shared->sums[warp].change;
        }
    }
    return sums;
}

/* Step 5, the sums: those over the rank's slice of x, for the leader of its device. */
WEFT_DEVICE_FN void sum_slice(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    const double *x = x_slice(me, k + 1);
    const double *before = x_slice(me, k);
    struct power_sums sums = {0, 0};
    weft_for (i, me->x.end - me->x.begin) {
        sums.size += data->pagerank ? x[i] : x[i] * x[i];
        sums.change += data->pagerank ? fabs(x[i] - before[i]) : x[i] * before[i];
    }
    sums = sum_threads(me, sums);
    if (weft_thread(me->self) == 0)
        ((struct power_sums *)at(me, data->layout.sums))[me->rank] = sums;
    if (me->rank > 0)
        weft_notify(me->self, WEFT_COMM_WORLD, world_rank(me, data->row, 0, 0), TAG_SUMS);
}

/* The leader of a device of column 0: those over the device's x, to where rank 0 wants them. */
WEFT_DEVICE_FN void sum_device(const struct place *me)
{
    const struct power_data *data = me->data;
    const struct power_sums *of_rank = (const struct power_sums *)at(me, data->layout.sums);
    const uint64_t totals = data->layout.totals + data->row * sizeof(struct power_sums);
    weft_wait(me->self, TAG_SUMS, (uint32_t)data->shape.ranks - 1);
    struct power_sums sums = {0, 0};
    weft_for (rank, data->shape.ranks) {
        sums.size += of_rank[rank].size;
        sums.change += of_rank[rank].change;
    }
    sums = sum_threads(me, sums);
    if (weft_thread(me->self) == 0)
        *(struct power_sums *)at(me, totals) = sums;
    if (data->row > 0) {
        weft_sync(me->self);
        weft_put_notify(me->self, me->win, world_rank(me, 0, 0, 0), totals, at(me, totals),
                        sizeof(struct power_sums), TAG_TOTALS);
    }
}

/* Thread 0 of rank 0 makes the verdict of iteration k from the sums over x of the one before. */
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
    verdict.stop = data->outcome != POWER_LIMIT || k == data->iterations;
    return verdict;
}

/* The leader of a device of row 0 tells its ranks that the verdict of iteration k is there. */
WEFT_DEVICE_FN void announce(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    uint64_t *source = (uint64_t *)at(me, data->layout.flag_source);
    if (weft_thread(me->self) == 0)
        *source = k;
    weft_fence(me->self); /* the verdict, and all it stands for, before the flag */
    weft_put(me->self, me->win, world_rank(me, data->row, data->column, 0), data->layout.flag,
             source, sizeof(*source));
}

/* Rank 0 makes the verdict of iteration k; the other leaders of row 0 hear of it. */
WEFT_DEVICE_FN void decide(const struct place *me, uint64_t k)
{
    struct power_data *data = me->data;
    struct power_verdict *verdict = (struct power_verdict *)at(me, data->layout.verdict);
    const struct power_sums *totals = (const struct power_sums *)at(me, data->layout.totals);
    sum_device(me);
    if (data->shape.rows > 1)
        weft_wait(me->self, TAG_TOTALS, (uint32_t)data->shape.rows - 1);
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
}

/* Rank 0, when all others have the verdict. */
WEFT_DEVICE_FN void report(const struct place *me, uint64_t k, bool stop)
{
    const struct power_data *data = me->data;
    if (data->silent || (k % LOG_EVERY != 0 && !stop))
        return;
    if (data->pagerank)
        weft_log(me->self, "iteration %llu: change %.3e", (unsigned long long)k, data->change);
    else
        weft_log(me->self, "iteration %llu: eigenvalue %.12g, change %.3e", (unsigned long long)k,
                 data->eigenvalue * data->scale, data->change);
}

/* Row 0 waits for the verdict of iteration k, or makes it. That of iteration 0 is the host's. */
WEFT_DEVICE_FN void await_verdict(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    if (me->rank > 0) {
        weft_wait_until(me->self, (const uint64_t *)at(me, data->layout.flag), WEFT_EQ, k);
        return;
    }
    if (data->column == 0)
        decide(me, k);
    else
        weft_wait(me->self, TAG_VERDICT, 1);
    announce(me, k);
    if (data->column == 0)
        report(me, k, ((const struct power_verdict *)at(me, data->layout.verdict))->stop);
}

/* Step 1, the verdict. */
WEFT_DEVICE_FN struct power_verdict pass_verdict(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    uint64_t mine = data->layout.verdict + (uint64_t)me->rank * sizeof(struct power_verdict);
    uint64_t source = data->row > 0 ? mine : data->layout.verdict;
    if (data->row > 0)
        weft_wait(me->self, TAG_FACTOR, 1);
    else if (k > 0)
        await_verdict(me, k);
    send_down(me, mine, source, sizeof(struct power_verdict), TAG_FACTOR);
    return *(const struct power_verdict *)at(me, source);
}

WEFT_KERNEL(power_iteration, struct power_data, data)
{
    weft_enter(self);
    WEFT_SHARED struct power_shared shared;
    struct place me = find_place(self, data, &shared);
    find_wide_rows(&me);
    find_segments(&me);
    me.win = weft_win_create(self, WEFT_COMM_WORLD, data->arena, data->layout.bytes);
    if (me.win == WEFT_WIN_NONE) {
        weft_leave(self); /* the outcome still says so */
        return;
    }
    weft_timer_start(self);
    for (uint64_t k = 0;; k++) {
        pass_raw(&me, k);
        multiply_segments(&me, k);
        struct power_verdict verdict = pass_verdict(&me, k);
        normalise(&me, k, verdict.factor);
        if (verdict.stop) {
            if (me.rank == 0 && weft_thread(self) == 0)
                data->done = k;
            break;
        }
        weft_barrier(self, WEFT_COMM_DEVICE);
        multiply(&me, k, verdict.factor);
        reduce_row(&me, k);
        if (data->column == 0) {
            sum_slice(&me, k); /* first: the verdict takes the longer way */
            transpose(&me, k);
            if (data->row > 0 && me.rank == 0)
                sum_device(&me);
        }
    }
    weft_timer_stop(self);
    weft_win_free(self, &me.win);
    weft_leave(self);
}
