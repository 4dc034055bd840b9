/*
 * power_iteration/kernel.cu - x = A b, b = x normalised, again and again, on a grid of processes
 * and in one persistent kernel.
 *
 * The product is linear, so b travels as it is, and x is normalised with the factor that follows
 * from the x before: x = (A raw) * factor, or for PageRank A raw + (A 1) * factor. Only grid column
 * 0, where x is completed, needs the factor. One iteration, seen by rank r of the process at (row,
 * column); "counterpart" is rank r elsewhere:
 *
 *   1. Its slice of raw has come, in pieces; to column 0 also the sums over their slices of x from
 *      its counterparts there. One wait for all. The rank multiplies what its slice meets in the
 *      split rows, the few that are too long for one rank (multiply.h). A device barrier, the only
 *      one: all of raw is there, all sums, and all parts of split rows.
 *   2. It multiplies its slice of rows: each element of x by one rank. (For a split row it adds
 *      up the parts.)
 *   3. Column 0 judges (verdict.h): each rank by itself, from the sums over all of the last x.
 *   4. Its x is added to its counterparts' along the grid row, by a binomial tree to column 0,
 *      which normalises it.
 *   5. Column 0 puts x to where raw is wanted, on every grid row: the transpose (transpose.h). The
 *      sums over its slice the rank leaves on its device and puts to its counterparts in column 0.
 *      Both to each: these are as many as the grid has rows, the square root of the processes on a
 *      square grid, and a tree would be a wait more for each round.
 *
 * On a grid of one column, where every process reaches the memory of all others and none has split
 * rows, there are no notices (mirror.h): in step 5 the rank stores its x and its sums to all of
 * them, and the barrier is one of the world. Who has left that of k has all that was stored in
 * k - 1, and knows that all ranks are done with k - 1: what is said of A below holds at once.
 *
 * The end. The verdict of iteration k is on x of k - 1. After the last iteration allowed, all leave
 * in the same k, before anything is sent. When it converges, only column 0 knows; iteration k goes
 * on, and each message of step 5 comes after a word in the target's memory which says that k + 1
 * ends it. After that one's barrier all ranks know, and leave: nothing has been sent that was not
 * waited for. The result is that of k: column 0 has kept it. (If all processes are in column 0,
 * they leave in k.)
 *
 * Why no buffer is overwritten while someone still reads it, and no notice taken for another.
 *
 *   A. A rank of column 0 that has left its barrier of iteration k has the sums of ALL ranks of
 *      column 0 over x of k - 1: so all partial x of k - 1 have been added, so EVERY rank of the
 *      job has left its barrier in k - 1, multiplied, and used what was put to it for that.
 *   B. On another column no rank leaves its barrier of k before one of its device got a piece of
 *      raw of k (transpose.h: at least one); somebody of column 0 put that after its barrier of
 *      k - 1. By A, every rank of the job is done with k - 2.
 *
 * Every arrow is a notification or a barrier, which comes after the loads before it; and a put that
 * was waited for has arrived, so it has read its source. What others read of a rank's own stores
 * they hear of by the barrier of their device, or it was put to them. What one iteration uses, and
 * who writes it:
 *   - raw of k + 1: pieces are put in k by ranks of column 0 after their barrier. By A everyone is
 *     done with raw of k - 1: two copies.
 *   - x of k: written by its rank in k. Its other copy, x of k - 1, is what steps 3 to 5 compare
 * with and keep as the result. The copy itself was last read for x of k - 2: as partial x by a put
 *     (arrived by B), as pieces by puts (arrived, by A).
 *   - Where x of k lies in its process's own raw of k + 1 (power_in_place), its ranks write each
 *     other's raw after the barrier of k, when all have left raw of k - 1, and each reads only its
 *     own x again until the barrier of k + 1, or a notice; what other processes put there lies
 *     outside this one's rows.
 *   - partial of k: put in k, after the barrier. By B partial of k - 2 has been added: two copies.
 *   - sums over x of k: by a rank of column 0 after its barrier of k. Those over x of k - 2 were
 *     read for the verdict of k - 1, before x of k - 1 was complete, and have arrived before that:
 *     by A, two copies.
 *   - Parts of split rows for k: before the barrier of k, so after that of k - 1, before which
 *     those for k - 2 were read. Two copies.
 *   - The word that k + 1 is the last: as raw of k + 1. It is put by several, always the same.
 *   - Notices. Those that open k + 1 come from several ranks and are waited for together, and so
 *     are partial x of k. A sender may be one iteration ahead of another, but never two, for the
 *     same reasons: tags by parity.
 * All sums run in a fixed order: the same grid and ranks give the same bits.
 */
#include "kernel.h"

#define WEFT_MOST_THREADS POWER_THREADS
#define WEFT_SHARED_BYTES sizeof(struct power_kept)
#define WEFT_SHARED_LEAST 0

#include "mirror.h"
#include "multiply.h"
#include "transpose.h"
#include "verdict.h"

enum { LOG_EVERY = 10 }; /* iterations from one line to the next */

/* Bytes for the rank `target`, from and to offsets of the arena. */
APART void send(const struct place *me, int target, uint64_t to, uint64_t from, uint64_t bytes,
                int tag)
{
    weft_put_notify(me->self, me->win, target, to, at(me, from), bytes, tag);
}

/* What opens iteration k elsewhere. */
APART void send_all(const struct place *me, uint64_t k)
{
    weft_put_notify_many(me->self, me->win, me->puts[k & 1], (int)me->puts_count);
}

/* Where the word for a rank of the device lies that ends iteration k. */
WEFT_DEVICE_FN uint64_t stop_place(const struct place *me, uint64_t k, uint32_t rank)
{
    return me->data->layout.stop[k & 1] + rank * sizeof(uint64_t);
}

WEFT_DEVICE_FN uint64_t stop_word(const struct place *me, uint64_t k, uint32_t rank)
{
    return *(const uint64_t *)at(me, stop_place(me, k, rank));
}

/* Tells all to whom it will put something that iteration k is the last. */
APART void tell_stop(const struct place *me, uint64_t k)
{
    for (uint32_t i = 0; i < me->puts_count; i++) {
        const int target = me->puts[k & 1][i].target;
        const uint32_t slot = (uint32_t)target % (uint32_t)me->data->shape.ranks;
        weft_put(me->self, me->win, target, stop_place(me, k, slot), at(me, me->data->layout.yes),
                 sizeof(uint64_t));
    }
}

/* Step 3, the end: x of the iteration before, normalised, and what is known of it. */
WEFT_DEVICE_FN void keep_result(const struct place *me, uint64_t k, struct power_verdict verdict)
{
    const struct power_data *data = me->data;
    const double *x = x_slice(me, k);
    double *result = (double *)at(me, data->layout.result) + (me->x.begin - me->x_first);
    const bool pagerank = data->pagerank != 0;
    weft_for (i, me->x.end - me->x.begin)
        result[i] = normalised(pagerank, x[i], 1, verdict.factor);
    if (data->row > 0 || me->rank > 0 || weft_thread(me->self) > 0)
        return;
    me->results->done = k;
    me->results->outcome = verdict.outcome;
    me->results->eigenvalue = verdict.eigenvalue;
    me->results->change = verdict.change;
}

/* Whether the verdict before that of iteration k was the last one. */
WEFT_DEVICE_FN bool decided(const struct place *me, uint64_t k)
{
    return me->shared->verdict[(k - 1) & 1].outcome != POWER_LIMIT;
}

/*
 * Step 3: the verdict of iteration k, from each thread's share of the sums. Returns the factor;
 * *over becomes true if it need not go on.
 */
WEFT_DEVICE_FN double decide(const struct place *me, uint64_t k, struct power_sums share,
                             bool *over)
{
    const struct power_data *data = me->data;
    sum_warps(me, share, me->shared->totals);
    if (k == 0 || decided(me, k))
        return data->start_factor; /* the host's, or not used */
    const struct power_verdict verdict = judge(data, sums_of_warps(me, me->shared->totals),
                                               me->shared->verdict[(k - 1) & 1].eigenvalue);
    if (weft_thread(me->self) == 0)
        me->shared->verdict[k & 1] = verdict;
    *over = verdict.outcome != POWER_LIMIT;
    if (*over || k == data->iterations)
        keep_result(me, k, verdict);
    return verdict.factor;
}

/* The first child's partial x of the rank's slice in iteration k. */
WEFT_DEVICE_FN uint64_t partial_slice(const struct place *me, uint64_t k)
{
    return me->data->layout.partial[k & 1] + (me->x.begin - me->x_first) * sizeof(double);
}

/* An element of x, with what the children found. */
WEFT_DEVICE_FN double with_children(const struct place *me, const double *x, const double *partial,
                                    uint64_t i)
{
    const uint64_t apart = me->data->layout.partial_size / sizeof(double);
    double sum = x[i];
    for (uint32_t child = 0; child < me->children; child++)
        sum += partial[child * apart + i];
    return sum;
}

/* Step 4, other columns: the sum of its children's x and its own goes to its parent. */
WEFT_DEVICE_FN void hand_over(const struct place *me, uint64_t k)
{
    const struct power_data *data = me->data;
    const int tag = TAG_PARTIAL + (int)(k & 1);
    const uint64_t slice = partial_slice(me, k);
    const double *partial = (const double *)at(me, slice);
    double *x = x_slice(me, k + 1);
    uint64_t round = 0;
    if (me->children > 0) {
        weft_wait(me->self, tag, me->children);
        weft_for (i, me->x.end - me->x.begin)
            x[i] = with_children(me, x, partial, i);
    }
    while (!(data->column >> round & 1))
        round++;
    send(me, world_rank(me, data->row, me->parent, me->rank),
         slice + round * data->layout.partial_size, x_offset(me, k + 1),
         (me->x.end - me->x.begin) * sizeof(double), tag);
}

/* Step 4, column 0: all of x, normalised. Returns this thread's share of the sums over it. */
WEFT_DEVICE_FN struct power_sums complete(const struct place *me, uint64_t k, double factor)
{
    const struct power_data *data = me->data;
    const bool pagerank = data->pagerank != 0;
    const double *partial = (const double *)at(me, partial_slice(me, k));
    const double *row_sum = data->row_sum + (pagerank ? me->x.begin - me->x_first : 0);
    const double *before = x_slice(me, k);
    double *x = x_slice(me, k + 1);
    struct power_sums sums = {0, 0};
    if (me->children > 0)
        weft_wait(me->self, TAG_PARTIAL + (int)(k & 1), me->children);
    weft_for (i, me->x.end - me->x.begin) {
        const double old = before[i], product = with_children(me, x, partial, i);
        const double here = normalised(pagerank, product, pagerank ? row_sum[i] : 0, factor);
        x[i] = here;
        mirror_element(me, k + 1, i, here);
        sums.size += pagerank ? here : here * here;
        sums.change += pagerank ? fabs(here - old) : here * old;
    }
    return sums;
}

/* Steps 4 and 5, column 0: x and the sums over the rank's slice, to those who need them. */
WEFT_DEVICE_FN void finish(const struct place *me, uint64_t k, double factor, bool over)
{
    const struct power_sums share = complete(me, k, factor);
    sum_warps(me, share, me->shared->sums);
    weft_for (i, 1 + me->mirrors) {
        char *const arena = i == 0 ? me->data->arena : me->shared->mirror[i - 1];
        *(struct power_sums *)(arena + sums_offset(me, k + 1)) =
            sums_of_warps(me, me->shared->sums);
    }
    if (me->mirrors > 0)
        return; /* the next barrier tells, and comes before shared->sums is written again */
    if (over)
        tell_stop(me, k + 1);
    send_all(me, k + 1);
}

/* Rank 0, on the verdict of iteration k, when all others have what they wait for. */
WEFT_DEVICE_FN void report(const struct place *me, uint64_t k, bool over)
{
    const struct power_data *data = me->data;
    const struct power_verdict *verdict = &me->shared->verdict[k & 1];
    if (weft_thread(me->self) != 0) /* which knows its verdict already, and speaks */
        return;
    if (k == 0 || decided(me, k) || (k % LOG_EVERY != 0 && !over && k < data->iterations))
        return;
    if (data->pagerank)
        weft_log(me->self, "iteration %llu: change %.3e", (unsigned long long)k, verdict->change);
    else
        weft_log(me->self, "iteration %llu: eigenvalue %.12g, change %.3e", (unsigned long long)k,
                 verdict->eigenvalue * data->scale, verdict->change);
}

/*
 * Steps 3 to 5 on column 0, from each thread's share of the sums. Returns the iteration to leave
 * in: k, or a later one.
 */
WEFT_DEVICE_FN uint64_t lead(const struct place *me, uint64_t k, uint64_t last,
                             struct power_sums share)
{
    bool over = false;
    const double factor = decide(me, k, share, &over);
    if (over && k < last)
        last = me->data->shape.columns > 1 ? k + 1 : k;
    if (k < last)
        finish(me, k, factor, over);
    if (me->speaks)
        report(me, k, over);
    return last;
}

/* Step 4 on the other columns, which know from the word that the iteration is the last. */
WEFT_DEVICE_FN uint64_t follow(const struct place *me, uint64_t k, uint64_t last, uint64_t stop)
{
    weft_sync(me->self);
    if (stop != 0)
        return k;
    if (k < last)
        hand_over(me, k);
    return last;
}

WEFT_DEVICE_FN void iterate(const struct place *me)
{
    const bool leads = me->data->column == 0;
    uint64_t last = me->data->iterations; /* the iteration to leave in, so far as the rank knows */
    for (uint64_t k = 0;; k++) {
        if (k > 0 && me->opening > 0)
            weft_wait(me->self, TAG_OPEN + (int)(k & 1), me->opening);
        if (k < last)
            multiply_segments(me, k);
        weft_barrier(me->self, me->mirrors > 0 ? WEFT_COMM_WORLD : WEFT_COMM_DEVICE);
        /* On their way while it multiplies. */
        const struct power_sums share = leads ? load_sums(me, k) : (struct power_sums){0, 0};
        const uint64_t stop = leads ? 0 : stop_word(me, k, me->witness);
        if (k < last)
            multiply(me, k);
        last = leads ? lead(me, k, last, share) : follow(me, k, last, stop);
        if (k == last)
            return;
    }
}

WEFT_KERNEL(power_iteration, struct power_data, data)
{
    weft_enter(self);
    WEFT_SHARED(struct power_shared, shared, 1);
    struct place me = find_place(self, data, shared);
    find_wide_rows(&me);
    find_segments(&me);
    keep_rows(&me);
    me.win = weft_win_create(self, WEFT_COMM_WORLD, data->arena, data->layout.bytes);
    if (me.win == WEFT_WIN_NONE) {
        weft_leave(self); /* the outcome still says so */
        return;
    }
    find_mirrors(&me);
    find_puts(&me);
    if (weft_thread(self) == 0)
        shared->place = me;
    weft_timer_start(self); /* the rank's threads meet there */
    iterate(&shared->place);
    weft_timer_stop(self);
    weft_win_free(self, &me.win);
    weft_leave(self);
}
