/*
 * stencil/stencil.h - the law, and where a process keeps its part of the grid. For the host
 * program, weft's kernel and the two-model kernels alike.
 *
 * Horizontal diffusion, as in the COSMO weather model, simplified. In each of the nz planes:
 *
 *     lap(x, y) = 4 in(x, y) - in(x-1, y) - in(x+1, y) - in(x, y-1) - in(x, y+1)
 *     flx(x, y) = lap(x+1, y) - lap(x, y), or zero where flx * (in(x+1, y) - in(x, y)) > 0
 *     fly(x, y) = lap(x, y+1) - lap(x, y), or zero where fly * (in(x, y+1) - in(x, y)) > 0
 *     out(x, y) = in(x, y) - c (flx(x, y) - flx(x-1, y) + fly(x, y) - fly(x, y-1))
 *
 * A neighbour outside the grid counts as equal to the point itself, so nothing flows across the
 * edges and the sum of the field is conserved. flx is needed only where it is made: it is not
 * stored.
 */
#ifndef STENCIL_H
#define STENCIL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define STENCIL_FN static __host__ __device__ inline
#else
#define STENCIL_FN static inline
#endif

#define STENCIL_COEFFICIENT 0.02 /* stable below 1/32 */

enum {
    STENCIL_WIDTH = 128,
    STENCIL_PLANES = 26,
    STENCIL_THREADS = 512, /* of a rank of weft's */
    STENCIL_MOST_NX = 1664 /* the widest row that such a rank computes */
};

/*
 * A process's part of the grid: rows first .. first + rows - 1 of `all`, all of nx points and of nz
 * planes. It is stored plane by plane, each with a halo row before (0) and after (rows + 1).
 */
struct stencil_part {
    uint32_t nx, nz, rows, first, all;
};

/* Doubles from a plane to the next, and in a whole field. */
STENCIL_FN size_t stencil_plane(const struct stencil_part *part)
{
    return ((size_t)part->rows + 2) * part->nx;
}

STENCIL_FN size_t stencil_field(const struct stencil_part *part)
{
    return stencil_plane(part) * part->nz;
}

/* A row in all planes: its point (0, 0), NULL: no row; and the bytes to it in the next plane. */
struct stencil_row {
    double *at;
    uint32_t pitch;
};

/* apart: doubles to the next plane. */
STENCIL_FN struct stencil_row stencil_row_at(double *at, size_t apart)
{
    struct stencil_row row = {at, (uint32_t)(apart * sizeof(double))};
    return row;
}

STENCIL_FN struct stencil_row stencil_row_of(const struct stencil_part *part, double *field,
                                             uint32_t row)
{
    return stencil_row_at(field + (size_t)row * part->nx, stencil_plane(part));
}

#define STENCIL_NO_ROW ((struct stencil_row){NULL, 0})

/* Whether there is a row of the grid before the part's first, or after its last. */
STENCIL_FN int stencil_has_below(const struct stencil_part *part)
{
    return part->first > 0;
}

STENCIL_FN int stencil_has_above(const struct stencil_part *part)
{
    return part->first + part->rows < part->all;
}

/* The points of a row that a thread computes: x, x + x_step, ... in planes z, z + z_step, ... */
struct stencil_sweep {
    uint32_t x, x_step, z, z_step;
};

/* ---- the law ------------------------------------------------------------------------------- */

STENCIL_FN double stencil_limited(double lap_from, double lap_to, double from, double to)
{
    const double flux = lap_to - lap_from;
    return flux * (to - from) > 0 ? 0 : flux;
}

/* here, below, above: pointers to the point and its neighbours in y; left, right: steps in x. */
STENCIL_FN double stencil_laplacian(const double *here, const double *below, const double *above,
                                    int left, int right)
{
    return 4 * *here - here[left] - here[right] - *below - *above;
}

/* The difference of flx on both sides of a point. */
STENCIL_FN double stencil_across(const double *in, const double *lap, int left, int right)
{
    return stencil_limited(lap[0], lap[right], in[0], in[right]) -
           stencil_limited(lap[left], lap[0], in[left], in[0]);
}

/* ---- whole rows ---------------------------------------------------------------------------- */

/*
 * Every function below computes the points of one row that the sweep names.
 *
 * STENCIL_SWEEP: value, an expression of `x`, `left`, `right` and plane `z`, into row `to`, and
 * into row `copy` where there is one.
 */
#ifdef __CUDACC__

/* So that loads of several planes are under way at once, a thread computes so many and then stores
 * them; whoever has many threads defines nothing. */
#ifndef STENCIL_DEEP
#define STENCIL_DEEP 1
#endif

#define STENCIL_SWEEP(part, s, to, copy, value)                                                    \
    for (uint32_t z0 = (s).z; z0 < (part)->nz; z0 += STENCIL_DEEP * (s).z_step) {                  \
        for (uint32_t x = (s).x; x < (part)->nx; x += (s).x_step) {                                \
            const int left = x > 0 ? -1 : 0, right = x + 1 < (part)->nx ? 1 : 0;                   \
            double made[STENCIL_DEEP];                                                             \
            for (uint32_t i = 0; i < STENCIL_DEEP; i++) {                                          \
                const uint32_t wanted = z0 + i * (s).z_step;                                       \
                const uint32_t z = wanted < (part)->nz ? wanted : z0; /* branches stop loads */    \
                made[i] = (value);                                                                 \
            }                                                                                      \
            for (uint32_t i = 0; i < STENCIL_DEEP; i++) {                                          \
                const uint32_t z = z0 + i * (s).z_step;                                            \
                if (z < (part)->nz)                                                                \
                    *STENCIL_POINT(to) = made[i];                                                  \
                if (z < (part)->nz && (copy).at)                                                   \
                    *STENCIL_POINT(copy) = made[i];                                                \
            }                                                                                      \
            (void)left, (void)right;                                                               \
        }                                                                                          \
    }

#else

#define STENCIL_DEEP 1

/* By one thread, which computes all of a row: points with both neighbours without a branch, and so
 * several at once. No row is another's. */
#define STENCIL_SWEEP(part, s, to, copy, value)                                                    \
    for (uint32_t z = (s).z; z < (part)->nz; z += (s).z_step) {                                    \
        const uint32_t last = (part)->nx - 1;                                                      \
        STENCIL_SPAN(to, copy, value, 0, 1, 0, last > 0)                                           \
        STENCIL_SPAN(to, copy, value, 1, last, -1, 1)                                              \
        STENCIL_SPAN(to, copy, value, last > 0 ? last : 1, last + 1, -1, 0)                        \
    }

#define STENCIL_SPAN(to, copy, value, from, end, to_left, to_right)                                \
    {                                                                                              \
        const int left = (to_left), right = (to_right);                                            \
        STENCIL_NO_ORDER                                                                           \
        for (uint32_t x = (from); x < (end); x++) {                                                \
            *STENCIL_POINT(to) = (value);                                                          \
        }                                                                                          \
        for (uint32_t x = (from); (copy).at && x < (end); x++)                                     \
            *STENCIL_POINT(copy) = *STENCIL_POINT(to);                                             \
        (void)left, (void)right;                                                                   \
    }
#ifdef __clang__
#define STENCIL_NO_ORDER
#else
#define STENCIL_NO_ORDER _Pragma("GCC ivdep")
#endif

#endif

/* A point of a row in STENCIL_SWEEP. */
#define STENCIL_POINT(row) stencil_point(row, x, z)

STENCIL_FN double *stencil_point(struct stencil_row row, uint32_t x, uint32_t z)
{
    return (double *)((char *)(row.at + x) + (size_t)z * row.pitch);
}

STENCIL_FN void stencil_lap_row(const struct stencil_part *part, struct stencil_sweep sweep,
                                struct stencil_row below, struct stencil_row in,
                                struct stencil_row above, struct stencil_row lap,
                                struct stencil_row copy)
{
    STENCIL_SWEEP(part, sweep, lap, copy,
                  stencil_laplacian(STENCIL_POINT(in), STENCIL_POINT(below), STENCIL_POINT(above),
                                    left, right));
}

STENCIL_FN void stencil_fly_row(const struct stencil_part *part, struct stencil_sweep sweep,
                                struct stencil_row lap, struct stencil_row lap_above,
                                struct stencil_row in, struct stencil_row in_above,
                                struct stencil_row fly, struct stencil_row copy)
{
    STENCIL_SWEEP(part, sweep, fly, copy,
                  stencil_limited(*STENCIL_POINT(lap), *STENCIL_POINT(lap_above),
                                  *STENCIL_POINT(in), *STENCIL_POINT(in_above)));
}

STENCIL_FN void stencil_out_row(const struct stencil_part *part, struct stencil_sweep sweep,
                                struct stencil_row lap, struct stencil_row fly_below,
                                struct stencil_row fly, struct stencil_row in,
                                struct stencil_row out, struct stencil_row copy)
{
    STENCIL_SWEEP(part, sweep, out, copy,
                  *STENCIL_POINT(in) -
                      STENCIL_COEFFICIENT *
                          (stencil_across(STENCIL_POINT(in), STENCIL_POINT(lap), left, right) +
                           *STENCIL_POINT(fly) - *STENCIL_POINT(fly_below)));
}

#endif
