/*
 * Heat in a plate (Jacobi's method), cut into slabs of rows, one a rank. Each step every rank sends
 * its outer rows into the halo rows of its neighbours, and computes while they travel.
 *
 * Two copies of the plate are enough, without any barrier: a neighbour sends the rows of step s + 2
 * only after it has ours of step s + 1, and those we send after our last use of its rows of step s.
 */
#include "halo.h"

enum { TAG_FROM_ABOVE = 0, TAG_FROM_BELOW = 1 };

/* A rank's slab. Row 0 and row rows + 1 of a plate are halos. */
struct slab {
    double *plate[2];
    int rows, first; /* first: its first row in the whole plate */
    weft_win win;
};

/* Rows at the plate's edge keep their temperature; so do the outer columns. */
WEFT_DEVICE_FN void compute_row(const struct slab *slab, int step, int row)
{
    const double *from = slab->plate[step % 2] + (size_t)row * WIDTH;
    double *to = slab->plate[(step + 1) % 2] + (size_t)row * WIDTH;
    const int global = slab->first + row - 1;

    weft_for (c, WIDTH) {
        if (global == 0 || global == HEIGHT - 1 || c == 0 || c == WIDTH - 1)
            to[c] = from[c];
        else
            to[c] = 0.25 * (from[c - WIDTH] + from[c + WIDTH] + from[c - 1] + from[c + 1]);
    }
}

/* Offset in a window: row `row` of the copy for this step, of a rank that has `rows` rows. */
WEFT_DEVICE_FN size_t halo_offset(int step, int rows, int row)
{
    return ((size_t)(step % 2) * (size_t)(rows + 2) + (size_t)row) * WIDTH * sizeof(double);
}

WEFT_DEVICE_FN void send_halos(weft_self *self, const struct slab *slab, int step)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const double *plate = slab->plate[step % 2];
    const size_t bytes = WIDTH * sizeof(double);

    if (me > 0) { /* my first row is the lower halo of the rank above */
        const int rows = slab->first - halo_first_row(me - 1, n);
        weft_put_notify(self, slab->win, me - 1, halo_offset(step, rows, rows + 1), plate + WIDTH,
                        bytes, TAG_FROM_BELOW);
    }
    if (me < n - 1) {
        const int rows = halo_first_row(me + 2, n) - halo_first_row(me + 1, n);
        weft_put_notify(self, slab->win, me + 1, halo_offset(step, rows, 0),
                        plate + (size_t)slab->rows * WIDTH, bytes, TAG_FROM_ABOVE);
    }
}

WEFT_DEVICE_FN void compute_step(weft_self *self, const struct slab *slab, int step)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);

    weft_region_begin(self, "inner rows");     /* named in the timeline of WEFT_TRACE */
    for (int row = 2; row < slab->rows; row++) /* needs no halo: while they are under way */
        compute_row(slab, step, row);
    weft_region_end(self);
    weft_region_begin(self, "outer rows");
    if (me > 0)
        weft_wait(self, TAG_FROM_ABOVE, 1);
    if (me < n - 1)
        weft_wait(self, TAG_FROM_BELOW, 1);
    compute_row(slab, step, 1);
    if (slab->rows > 1)
        compute_row(slab, step, slab->rows);
    weft_region_end(self);
}

WEFT_KERNEL(halo_kernel, struct halo, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const size_t plate = 2 * ((size_t)user->rows_most + 2) * WIDTH;
    struct slab slab;

    slab.first = halo_first_row(me, n);
    slab.rows = halo_first_row(me + 1, n) - slab.first;
    slab.plate[0] = user->plates + (size_t)weft_rank(self, WEFT_COMM_DEVICE) * plate;
    slab.plate[1] = slab.plate[0] + (size_t)(slab.rows + 2) * WIDTH;
    weft_for (i, (size_t)slab.rows * WIDTH)
        slab.plate[0][WIDTH + i] = halo_initial(slab.first + (int)(i / WIDTH), (int)(i % WIDTH));
    weft_sync(self);

    weft_enter(self);
    slab.win = weft_win_create(self, WEFT_COMM_WORLD, slab.plate[0], plate * sizeof(double));
    for (int step = 0; step < STEPS; step++) {
        send_halos(self, &slab, step);
        compute_step(self, &slab, step);
        weft_flush_local(self,
                         slab.win); /* the next step writes where the last one was sent from */
        weft_sync(self);
    }
    weft_win_free(self, &slab.win);
    weft_leave(self);
}
