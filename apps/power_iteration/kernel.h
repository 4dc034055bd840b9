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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/types.h>

#define POWER_THREADS 512 /* of a rank, where a rank has more than one */

/* The rows of a rank's slice, in memory that its threads share, if they are no more (multiply.h).
 */
enum { KEPT_ROWS = 256, KEPT_ENTRIES = 3072 };

struct power_kept {
    uint64_t start[KEPT_ROWS + 1];
    double value[KEPT_ENTRIES];
    uint32_t column[KEPT_ENTRIES];
};

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

/*
 * Most puts of all ranks of a process in an iteration of column 0 (transpose.h), for each grid row:
 * one for each slice of x and one more for each beginning of a slice of b within one; one for each
 * block of b that is empty; and for each rank one for its sums.
 */
POWER_FN uint64_t power_puts_room(const struct power_shape *shape)
{
    return shape->rows * (shape->columns + 2 * shape->ranks + shape->columns * shape->ranks);
}

/*
 * Whether x of a process of column 0, where it lies in b of that column, is written there at once:
 * if it begins there.
 */
POWER_FN bool power_in_place(const struct power_shape *shape, uint64_t row)
{
    return power_part(shape->n, shape->rows, row).begin <
           power_part(shape->n, shape->columns, 0).end;
}

/*
 * Offsets, in bytes, into the memory that all ranks of a process expose as one window. Of two, an
 * iteration uses that of its parity. The same on all processes, but for x, which nobody writes from
 * afar.
 */
struct power_layout {
    uint64_t raw[2];       /* b of this process's columns, not normalised */
    uint64_t x[2];         /* x[i] holds what becomes raw[i]; in place: part of it */
    uint64_t partial[2];   /* x of others in the grid row, one for each round of the reduction */
    uint64_t partial_size; /* bytes of one of them */
    uint64_t sums[2];      /* grid column 0: over what becomes raw[i], of every slice of x */
    uint64_t stop[2];      /* the other columns, a word for each rank that others put raw to:
                              not 0 if the iteration is the last */
    uint64_t yes;          /* a word that is not 0, to be put there */
    uint64_t agreed;       /* a word for each process (mirror.h) */
    uint64_t result;       /* column 0: x, normalised */
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
    const uint64_t row = (uint64_t)process / shape->columns;
    const bool in_place = (uint64_t)process % shape->columns == 0 && power_in_place(shape, row);
    layout.partial_size = x_size;
    for (int i = 0; i < 2; i++) {
        layout.raw[i] = power_reserve(&layout, b_size + x_size); /* x may end behind b */
        layout.x[i] = layout.raw[i] + power_part(shape->n, shape->rows, row).begin * sizeof(double);
        layout.partial[i] = power_reserve(&layout, rounds * x_size);
        layout.sums[i] =
            power_reserve(&layout, shape->rows * shape->ranks * sizeof(struct power_sums));
        layout.stop[i] = power_reserve(&layout, shape->ranks * sizeof(uint64_t));
    }
    layout.yes = power_reserve(&layout, sizeof(uint64_t));
    layout.agreed = power_reserve(&layout, shape->rows * shape->columns * sizeof(uint64_t));
    layout.result = power_reserve(&layout, x_size);
    for (int i = 0; i < 2 && !in_place; i++)
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
    double start_factor;  /* what normalises the start vector */

    char *arena;               /* device memory, layout.bytes */
    const uint64_t *row_start; /* A's block as CSR, columns counted from the block's first */
    const uint32_t *column_of;
    const double *value;
    const double *row_sum; /* PageRank, column 0: of the whole rows of A */

    /* Where the slices of x and of b begin, one after the other, and at last n. For all processes.
     */
    const uint64_t *x_cut, *b_cut;

    /* The split rows of A's block, by rising number, counted from the block's first. */
    uint64_t most_whole; /* most entries of a row that is not split */
    uint64_t splits;
    const uint64_t *split_row;
    struct power_segment *segment; /* [rank][split row]: written and read by that rank */
    double *part; /* a rank's entries times its slice of b: [parity][split row][rank] */

    weft_put_item *puts[2]; /* column 0: room for those of all its ranks (transpose.h) */

    /* Results, on process 0. */
    uint64_t done;     /* iterations made */
    uint64_t outcome;  /* a power_outcome */
    double eigenvalue; /* not yet times scale */
    double change;
};

#endif
