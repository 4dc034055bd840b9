/* What the kernel and the host program of this example share; the functions serve both. */
#ifndef HALO_H
#define HALO_H

#include <weft/device.h>

enum { WIDTH = 256, HEIGHT = 192, STEPS = 200 };

/*
 * Each rank owns the rows first_row .. first_row + rows - 1 of the plate and stores them twice,
 * for even and odd steps, each time with a halo row above and below.
 */
struct halo {
    double *plates;    /* for each rank of this device: 2 * rows_most + 4 rows of WIDTH */
    int32_t rows_most; /* of any rank */
};

/* Rows before those of `rank`: as even as HEIGHT allows. */
WEFT_DEVICE_FN inline int halo_first_row(int rank, int ranks)
{
    return (int)((int64_t)HEIGHT * rank / ranks);
}

/* The plate at the beginning: cold, but for its upper edge. */
WEFT_DEVICE_FN inline double halo_initial(int row, int column)
{
    return row == 0 ? 100.0 * column / (WIDTH - 1) : 0.0;
}

#endif
