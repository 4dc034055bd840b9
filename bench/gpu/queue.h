/*
 * gpu/queue.h - what the kernel of queue.cu and its host program share.
 */
#ifndef BENCH_GPU_QUEUE_H
#define BENCH_GPU_QUEUE_H

#include <weft/queue.h>

#include "gpu/measure.h"

enum { QUEUE_WRITE, QUEUE_READ };
enum { STAGES = 3, RESULTS = 9 };
enum { BEGAN = STAGES, ENDED, TICKS, WRONG, MEMORY, SHARED };

/* How requests are made. */
struct queue_form {
    uint64_t count, bytes, what;
    uint64_t window; /* slots under way at most; 0: as many as the queue has */
    uint64_t every;  /* one request in so many has a completion; 0: in a quarter of the queue */
    uint64_t batch;  /* one request in so many rings the doorbell; 0: when the queue is full */
    uint64_t reuse;  /* a request is the one before, with another index and other data */
    uint64_t stages; /* the clock is read between stages. 2: polls that find nothing, instead */
    uint64_t puts;   /* weft_put instead, of count and bytes */
};

struct queue_data {
    unsigned char *memory; /* device memory: a source and a target for each rank */
    uint64_t each;         /* bytes of one of them */
    uint64_t *results;     /* RESULTS words a rank: ticks of stages; then as above */
    uint64_t active;       /* ranks */
    struct queue_form form;
};

WEFT_KERNEL_DECLARE(gpu_queue);

#endif
