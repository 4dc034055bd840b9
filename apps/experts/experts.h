/*
 * experts/experts.h - what both sides know: the layer's shape, and what an expert does.
 */
#ifndef EXPERTS_EXPERTS_H
#define EXPERTS_EXPERTS_H

#include <weft/ccl.h>

#include <stddef.h>
#include <stdint.h>

/* One member's experts at work: each has a block of `places` rows, of which counts[e] are there. */
struct experts_work {
    float *rows; /* dispatched, and what is given back */
    const int32_t *counts;
    int first, experts, places, hidden; /* the first one's number; how many; elements of a row */
};

/* An expert's weights, in short: all values stay small whole numbers, so that sums are exact. */
WEFT_DEVICE_FN inline float experts_factor(int expert)
{
    return (float)(1 + expert % 7);
}

#ifdef __cplusplus
extern "C" {
#endif
/* kernel.cu, by nvcc, where the program has a GPU: on the default stream; and waits for it. 0:
 * well. */
int experts_on_gpu(const struct experts_work *work) __attribute__((weak));
int experts_wait_gpu(void) __attribute__((weak));
/* By the C compiler. */
void experts_on_cpu(const struct experts_work *work);
#ifdef __cplusplus
}
#endif

#endif
