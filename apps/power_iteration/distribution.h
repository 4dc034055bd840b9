/*
 * power_iteration/distribution.h - from the matrix on process 0 to a block on every device, and
 * from the slices of the result back to process 0.
 *
 * Process 0 alone reads the files and scatters the blocks: the file need not be on every machine,
 * is parsed once, and a fault in it gives one message, of which the others learn through their plan
 * before anything else happens.
 */
#ifndef POWER_DISTRIBUTION_H
#define POWER_DISTRIBUTION_H

#include "kernel.h"
#include "problem.h"

#include <weft/weft.h>

/* What process 0 tells each process. */
struct plan {
    uint64_t go;              /* 0: process 0 failed, or printed the help; it has said so */
    uint64_t help;            /* ... and that is a success */
    struct power_shape shape; /* its ranks: most ranks of a device, 0 for all it holds */
    uint64_t entries;         /* of this process's block */
    uint64_t mean_entries;    /* of a process's */
    uint64_t pagerank, iterations;
    uint64_t repetitions, silent;
    double tolerance, scale;
    double start_factor; /* normalises the start vector */
};

/* All blocks, one after the other in the order of processes. */
struct blocks {
    uint64_t *row_start;
    uint32_t *column_of;
    double *value;
    double *row_sum; /* PageRank: an element a row of the whole matrix */
};

/*
 * Process 0: chooses the grid and cuts the matrix into blocks; fills plans, one a process. Returns
 * false after it has said why. Free the blocks in any case.
 */
bool blocks_cut(const struct problem *problem, int processes, struct plan *plans,
                struct blocks *blocks);
void blocks_free(struct blocks *blocks);

/*
 * Collective. Puts this process's block and what the kernel starts from into device memory and
 * describes it in *data. plan: its shape has the ranks that the device really has. blocks is used
 * on process 0 only. The device memory is freed by weft_close.
 */
weft_status distribute(weft_job *job, const struct plan *plan, const struct blocks *blocks,
                       struct power_data *data);

/* What the first run found, for another one: the arena as it was. Not collective. */
weft_status restart(weft_job *job, struct power_data *data);

/* Collective. The whole vector arrives in `vector` (n elements) on process 0. */
weft_status collect(weft_job *job, const struct power_data *data, double *vector);

#endif
