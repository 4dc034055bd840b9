/*
 * Mean and variance of numbers that are spread over all ranks: every rank needs the mean of all
 * (weft_allreduce), one needs the variance (weft_reduce).
 */
#include <weft/coll.h>

#include "collectives.h"

/* Over this rank's numbers, rank + 1, rank + 1 + n, ...: the sum of (x - mean)^power. */
WEFT_DEVICE_FN double moment(weft_self *self, int64_t elements, double mean, int power)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    double sum = 0;

    weft_for (i, (elements - me + n - 1) / n) {
        const double x = (double)(me + 1 + (int64_t)i * n) - mean;
        sum += power == 2 ? x * x : power == 1 ? x : 1;
    }
    return weft_block_sum(self, sum);
}

WEFT_KERNEL(collectives_kernel, struct collectives, user)
{
    double *sums = user->sums + 2 * weft_rank(self, WEFT_COMM_DEVICE);

    sums[0] = moment(self, user->elements, 0, 0); /* all threads store the same */
    sums[1] = moment(self, user->elements, 0, 1);
    weft_allreduce(self, WEFT_COMM_WORLD, sums, sums, 2, WEFT_F64, WEFT_SUM);
    const double count = sums[0], mean = sums[1] / count;

    const double squares = moment(self, user->elements, mean, 2);
    sums[0] = squares; /* after the barriers in moment: all have read the mean */
    weft_reduce(self, WEFT_COMM_WORLD, 0, sums, sums, 1, WEFT_F64, WEFT_SUM);
    if (weft_rank(self, WEFT_COMM_WORLD) == 0 && weft_thread(self) == 0) {
        user->mean = mean;
        user->variance = sums[0] / count;
    }
}
