/*
 * Heat in a rod, by the calls of GASPI in a kernel. Each block sends the cells at its ends to its
 * neighbours, waits for theirs, and makes a step. There is no barrier: a neighbour is at most one
 * step ahead, and has the other row for that.
 */
#include <GASPI_GPU_device.h>

#include "gaspi_stencil.h"

/* Where a row of a block begins in its segment, in bytes. */
WEFT_DEVICE_FN gaspi_offset_t row_at(const struct rod *rod, int block, int row)
{
    return (gaspi_offset_t)(2 * block + row) * (gaspi_offset_t)(rod->cells + 2) * sizeof(double);
}

/* The notification of a ghost that has come. */
WEFT_DEVICE_FN gaspi_notification_id_t ghost_id(int block, int side, int row)
{
    return (gaspi_notification_id_t)(4 * block + 2 * side + row);
}

/* Sends the cell at one end to the block there. */
WEFT_DEVICE_FN void send(weft_self *self, const struct rod *rod, int side, int place, int block,
                         int step)
{
    const int other = side == LEFT ? place - 1 : place + 1, row = step % 2;
    const int own_cell = side == LEFT ? 1 : rod->cells, ghost = side == LEFT ? rod->cells + 1 : 0;
    const int to = other % rod->blocks;

    gpu_gaspi_write_notify(self, SEGMENT, row_at(rod, block, row) + own_cell * sizeof(double),
                           (gaspi_rank_t)(other / rod->blocks), SEGMENT,
                           row_at(rod, to, row) + ghost * sizeof(double), sizeof(double),
                           ghost_id(to, 1 - side, row), (gaspi_notification_t)step + 1,
                           gpu_gaspi_queue(self), GASPI_BLOCK);
}

WEFT_DEVICE_FN void await(weft_self *self, int side, int block, int step)
{
    gaspi_notification_id_t id = 0;
    gaspi_notification_t value;

    gpu_gaspi_notify_waitsome(self, SEGMENT, ghost_id(block, side, step % 2), 1, &id, GASPI_BLOCK);
    gpu_gaspi_notify_reset(self, SEGMENT, id, &value);
}

WEFT_KERNEL(rod_kernel, struct rod, rod)
{
    const int block = weft_rank(self, WEFT_COMM_DEVICE);
    gaspi_rank_t rank, ranks;
    gaspi_pointer_t memory = NULL;

    gpu_gaspi_begin(self, rod->gaspi);
    gpu_gaspi_proc_rank(self, &rank);
    gpu_gaspi_proc_num(self, &ranks);
    gpu_gaspi_segment_ptr(self, SEGMENT, &memory);
    const int place = rank * rod->blocks + block, last = ranks * rod->blocks - 1;
    for (int step = 0; step < rod->steps; step++) {
        const double *now = (double *)((char *)memory + row_at(rod, block, step % 2));
        double *next = (double *)((char *)memory + row_at(rod, block, 1 - step % 2));
        for (int side = LEFT; side <= RIGHT; side++)
            if (place != (side == LEFT ? 0 : last))
                send(self, rod, side, place, block, step);
        for (int side = LEFT; side <= RIGHT; side++)
            if (place != (side == LEFT ? 0 : last))
                await(self, side, block, step);
        gpu_gaspi_wait(self, gpu_gaspi_queue(self), GASPI_BLOCK);
        weft_for (i, rod->cells)
            next[i + 1] = (now[i] + 2 * now[i + 1] + now[i + 2]) * 0.25;
        weft_sync(self);
    }
}
