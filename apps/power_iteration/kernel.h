/*
 * power_iteration/kernel.h - what the host and the kernel share: how vectors are cut over the grid,
 * where they lie in each process's arena, and the kernel's user data.
 *
 * The n x n matrix A is cut into P blocks of rows and Q blocks of columns; process row * Q + column
 * holds one block. b is cut like the columns, x like the rows, so in general they are cut at
 * different places. Each block of a vector is cut again into R slices, one for each rank of the
 * device, so that the rows of a slice are as much work as those of any other (balance.h). Any part
 * may be empty.
 */
#ifndef POWER_KERNEL_H
#define POWER_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define POWER_THREADS 512 /* of a rank, where a rank has more than one */

#ifdef __CUDACC__
#define POWER_FN static __host__ __device__ inline
#else
#define POWER_FN static inline
#endif

/* P rows and Q columns of processes, each with `ranks` ranks. */
struct power_shape {
    uint64_t n; /* order of the matrix, below 2^32 */
    uint64_t rows, columns, ranks;
};

/* Indices begin .. end - 1 of a whole vector. */
struct power_range {
    uint64_t begin, end;
};

/* Cut n things into nearly equal parts: the range of one part. parts and part are below 2^31. */
POWER_FN struct power_range power_part(uint64_t n, uint64_t parts, uint64_t part)
{
    struct power_range range = {n * part / parts, n * (part + 1) / parts};
    return range;
}

/* The range of one rank's slice of one block of a vector that is cut so (power_data). */
POWER_FN struct power_range power_slice(const uint64_t *cut, uint64_t ranks, uint64_t block,
                                        uint64_t rank)
{
    struct power_range slice = {cut[block * ranks + rank], cut[block * ranks + rank + 1]};
    return slice;
}

/*
 * Rows with more entries than this in a block are split among all ranks of its device: a quarter of
 * a rank's share would make the slices uneven. But adding up what the ranks found must be cheaper
 * than the row.
 */
POWER_FN uint64_t power_most_whole(uint64_t entries, uint64_t ranks)
{
    uint64_t quarter = entries / ranks / 4;
    return quarter > 4 * ranks ? quarter : 4 * ranks;
}

/* A rank's entries of a split row, in column_of and value; they lie in its slice of b. */
struct power_segment {
    uint64_t begin, end;
};

/* Two sums over x: the one that gives the factor, and one that tells how the iteration goes. */
struct power_sums {
    double size;   /* squares of x; for PageRank: x */
    double change; /* x times the x before it; for PageRank: |x - the x before it| */
};

/* What rank 0 makes of them: how to normalise x, and whether that ends the iteration. */
struct power_verdict {
    double factor;
    uint64_t stop;
};

/*
 * Offsets, in bytes, into the memory that all ranks of a process expose as one window. The same
 * on all processes, but for x, which nobody writes from afar: on process 0, whose first row and
 * first column of A are both row and column 0 of the whole, x lies where its transpose is wanted.
 */
struct power_layout {
    uint64_t raw[2];       /* b before it is normalised, by parity of the iteration */
    uint64_t x[2];         /* x, by the same parity: x[i] holds what becomes raw[i] */
    uint64_t b;            /* b of this process's columns */
    uint64_t partial;      /* x of others in the grid row, one for each round of the reduction */
    uint64_t partial_size; /* bytes of one of them */
    uint64_t sums;         /* one for each rank of the device */
    uint64_t totals;       /* on process 0: one for each grid row */
    uint64_t verdict;      /* one for each rank; on grid row 0 only the leader's is used */
    uint64_t flag;         /* grid row 0: the iteration whose verdict the leader has */
    uint64_t flag_source;  /* where the leader's put to the flag comes from */
    uint64_t bytes;
};

POWER_FN uint64_t power_reserve(struct power_layout *layout, uint64_t bytes)
{
    uint64_t offset = layout->bytes;
    layout->bytes += (bytes + 63) / 64 * 64;
    return offset;
}

POWER_FN struct power_layout power_layout_of(const struct power_shape *shape, int process)
{
    uint64_t x_size = (shape->n + shape->rows - 1) / shape->rows * sizeof(double);
    uint64_t b_size = (shape->n + shape->columns - 1) / shape->columns * sizeof(double);
    uint64_t rounds = 0;
    while (((uint64_t)1 << rounds) < shape->columns)
        rounds++;

    struct power_layout layout = {0};
    for (int i = 0; i < 2; i++) {
        layout.raw[i] = power_reserve(&layout, b_size > x_size ? b_size : x_size);
        layout.x[i] = layout.raw[i];
    }
    layout.b = power_reserve(&layout, b_size);
    layout.partial_size = x_size;
    layout.partial = power_reserve(&layout, rounds * x_size);
    layout.sums = power_reserve(&layout, shape->ranks * sizeof(struct power_sums));
    layout.totals = power_reserve(&layout, shape->rows * sizeof(struct power_sums));
    layout.verdict = power_reserve(&layout, shape->ranks * sizeof(struct power_verdict));
    layout.flag = power_reserve(&layout, sizeof(uint64_t));
    layout.flag_source = power_reserve(&layout, sizeof(uint64_t));
    for (int i = 0; i < 2 && process != 0; i++)
        layout.x[i] = power_reserve(&layout, x_size);
    return layout;
}

enum power_outcome { POWER_NO_WINDOW, POWER_CONVERGED, POWER_LIMIT, POWER_ZERO };

/* The kernel's user data. */
struct power_data {
    struct power_shape shape;
    struct power_layout layout;
    uint64_t row, column; /* of this process in the grid */
    uint64_t pagerank;    /* 1: PageRank; 0: dominant eigenvalue */
    uint64_t iterations;  /* at most so many */
    uint64_t silent;      /* 1: no lines while it runs */
    double tolerance;     /* stop when the relative change falls below it */
    double scale;         /* eigenvalues of A are those of the stored values times this */

    char *arena;               /* device memory, layout.bytes */
    const uint64_t *row_start; /* A's block as CSR, columns counted from the block's first */
    const uint32_t *column_of;
    const double *value;

    /* Where the slices of x and of b begin, one after the other, and at last n. For all processes.
     */
    const uint64_t *x_cut, *b_cut;

    /* The split rows of A's block, by rising number, counted from the block's first. */
    uint64_t most_whole; /* most entries of a row that is not split */
    uint64_t splits;
    const uint64_t *split_row;
    double *split_sum; /* of its entries: written and read by the rank whose row it is */
    struct power_segment *segment; /* [rank][split row]: written and read by that rank */
    double *part; /* a rank's entries times b not yet normalised: [parity][split row][rank] */

    /* Results: done on every process, the others on process 0. */
    uint64_t done;     /* iterations made */
    uint64_t outcome;  /* a power_outcome */
    double eigenvalue; /* not yet times scale */
    double change;
};

#endif
