/*
 * power_iteration/verdict.h - what normalises x, and whether that ends the iteration. For grid
 * column 0, each of whose ranks judges by itself: all have the same sums and add them in the same
 * order, so all come to the same bits.
 */
#ifndef POWER_VERDICT_H
#define POWER_VERDICT_H

#include "place.h"

#include <math.h>

/* A product with x, from that with x before it was normalised: row_sum is the sum of the row. */
WEFT_DEVICE_FN double normalised(bool pagerank, double product, double row_sum, double factor)
{
    return pagerank ? product + row_sum * factor : product * factor;
}

/* The sums from which the verdict of iteration k is made: [row][rank]. */
WEFT_DEVICE_FN struct power_sums *sums_for(const struct place *me, uint64_t k)
{
    return (struct power_sums *)at(me, me->data->layout.sums[k & 1]);
}

/* Each warp's sums go to `of_warp`; the rank's threads meet. Then all or some of them add those up,
 * with sums_of_warps. */
WEFT_DEVICE_FN void sum_warps(const struct place *me, struct power_sums sums,
                              struct power_sums *of_warp)
{
    sums.size = weft_lane_sum(me->self, sums.size, WARP);
    sums.change = weft_lane_sum(me->self, sums.change, WARP);
    if (lane(me) == 0)
        of_warp[warp(me)] = sums;
    weft_sync(me->self);
}

WEFT_DEVICE_FN struct power_sums sums_of_warps(const struct place *me,
                                               const struct power_sums *of_warp)
{
    struct power_sums sums = of_warp[0];
    for (uint64_t warp = 1; warp < warps(me); warp++) {
        sums.size += of_warp[warp].size;
        sums.change += of_warp[warp].change;
    }
    return sums;
}

/*
 * This thread's share of the sums over x. The first of them is used only after the multiplication:
 * it is on its way meanwhile.
 */
WEFT_DEVICE_FN struct power_sums load_sums(const struct place *me, uint64_t k)
{
    const struct power_sums *of_slice = sums_for(me, k);
    const uint64_t count = me->data->shape.rows * me->data->shape.ranks;
    const uint64_t thread = (uint64_t)weft_thread(me->self);
    const uint64_t threads = (uint64_t)weft_threads(me->self);
    struct power_sums sums = {0, 0};
    if (thread < count)
        sums = of_slice[thread];
    for (uint64_t i = thread + threads; i < count; i += threads) {
        sums.size += of_slice[i].size;
        sums.change += of_slice[i].change;
    }
    return sums;
}

/* From the sums over x and the eigenvalue before. */
WEFT_DEVICE_FN struct power_verdict judge(const struct power_data *data, struct power_sums sums,
                                          double before)
{
    struct power_verdict verdict = {.outcome = POWER_LIMIT};
    if (data->pagerank) {
        verdict.factor = (1 - sums.size) / (double)data->shape.n;
        verdict.change = sums.change;
    } else {
        /* b is x of the iteration before, normalised: their product has the eigenvalue's sign. */
        const double norm = sqrt(sums.size);
        if (norm > 0) {
            verdict.factor = 1 / norm;
            verdict.change = fabs(norm - fabs(before)) * verdict.factor;
        }
        verdict.eigenvalue = sums.change < 0 ? -norm : norm;
    }
    if (!data->pagerank && verdict.factor == 0)
        verdict.outcome = POWER_ZERO;
    else if (verdict.change < data->tolerance)
        verdict.outcome = POWER_CONVERGED;
    return verdict;
}

#endif
