/*
 * lbm/lbm.h - two fluids by a lattice Boltzmann method with a free energy: f on 19 velocities
 * carries density and momentum, g on 7 the order parameter phi, which is +1 in one fluid and -1 in
 * the other. What a lattice point does in a step, for the processor and for GPUs.
 *
 * Source: Zheng, Shu, Chew, "A lattice Boltzmann model for multiphase flows with large density
 * ratio" (2006), in the form that Shi et al., HiPC 2014, name.
 */
#ifndef LBM_LBM_H
#define LBM_LBM_H

#include "machine.h"

#ifdef WEFT_APP_DOUBLE
typedef double lbm_real;
#else
typedef float lbm_real;
#endif

/* Velocities of f and g; of f, those along z; what crosses a face: 5 of f and 1 of g. */
enum { LBM_F = 19, LBM_G = 7, LBM_UP = 9, LBM_DOWN = 14, LBM_CROSS = 6 };

/* Velocities 0 .. 8 of f stay in their plane, 9 .. 13 go up, 14 .. 18 go down, in the same order.
 */
#define LBM_VECTORS                                                                                \
    {                                                                                              \
        {0, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {1, 1, 0}, {-1, -1, 0},           \
            {1, -1, 0}, {-1, 1, 0}, {0, 0, 1}, {1, 0, 1}, {-1, 0, 1}, {0, 1, 1}, {0, -1, 1},       \
            {0, 0, -1}, {1, 0, -1}, {-1, 0, -1}, {0, 1, -1},                                       \
        {                                                                                          \
            0, -1, -1                                                                              \
        }                                                                                          \
    }
/* Velocity i of g is that one of f. */
#define LBM_G_VECTORS                                                                              \
    {                                                                                              \
        0, 1, 2, 3, 4, LBM_UP, LBM_DOWN                                                            \
    }

#ifdef __CUDACC__
#define LBM_UNROLL _Pragma("unroll")
#else
#define LBM_UNROLL _Pragma("GCC unroll 19")
#endif

/* A (phi^2 - 1)^2 + kappa/2 |grad phi|^2 is the free energy: an interface of width 2. */
#define LBM_A     ((lbm_real)0.001875)
#define LBM_KAPPA ((lbm_real)0.015)
#define LBM_GAMMA ((lbm_real)1.2) /* how fast phi follows its potential */
#define LBM_TAU   ((lbm_real)1)
#define LBM_TAU_G ((lbm_real)1)

/* From a neighbour, and to it: LBM_CROSS planes. */
enum lbm_side { LBM_BELOW, LBM_ABOVE, LBM_SIDES };

/* One step of a slab of nz planes. */
struct lbm_step {
    uint32_t nx, ny, nz;
    uint32_t alone;     /* no other slabs: the planes outside are its own */
    const lbm_real *in; /* f without its weights, then g: for each velocity a field of the slab */
    lbm_real *out;
    lbm_real *phi; /* a plane from below, the slab's, a plane from above */
    const lbm_real
        *from[LBM_SIDES]; /* what came into the slab through a face, and is not in `in` */
    lbm_real *to[LBM_SIDES];
};

#ifdef __cplusplus
extern "C" {
#endif
PHASE_DECLARE(lbm_densities, struct lbm_step);  /* phi, whose outer planes the neighbours get */
PHASE_DECLARE(lbm_collisions, struct lbm_step); /* then they get `to` */
#ifdef __cplusplus
}
#endif

PHASE_FN lbm_real lbm_weight(int i)
{
    return i == 0                                  ? (lbm_real)1 / 3
           : i < 5 || i == LBM_UP || i == LBM_DOWN ? (lbm_real)1 / 18
                                                   : (lbm_real)1 / 36;
}

PHASE_FN size_t lbm_plane(const struct lbm_step *s)
{
    return (size_t)s->nx * s->ny;
}

/* What arrived by velocity i of f, or LBM_F + i of g; at: the point in its plane. */
PHASE_FN lbm_real lbm_in(const struct lbm_step *s, int i, uint32_t z, size_t at)
{
    const bool up = i < LBM_F ? i >= LBM_UP && i < LBM_DOWN : i == LBM_F + 5;
    const bool down = i < LBM_F ? i >= LBM_DOWN : i == LBM_F + 6;
    const int piece = i >= LBM_F ? LBM_CROSS - 1 : up ? i - LBM_UP : i - LBM_DOWN;
    if (up && z == 0)
        return s->from[LBM_BELOW][(size_t)piece * lbm_plane(s) + at];
    if (down && z + 1 == s->nz)
        return s->from[LBM_ABOVE][(size_t)piece * lbm_plane(s) + at];
    return s->in[((size_t)i * s->nz + z) * lbm_plane(s) + at];
}

/* Where velocity i goes from a plane; at: the point in the plane that it goes to. */
PHASE_FN lbm_real *lbm_out(const struct lbm_step *s, int i, int ez, uint32_t z, size_t at)
{
    const int piece = i >= LBM_F ? LBM_CROSS - 1 : ez > 0 ? i - LBM_UP : i - LBM_DOWN;
    if (ez < 0 && z == 0)
        return s->to[LBM_BELOW] + (size_t)piece * lbm_plane(s) + at;
    if (ez > 0 && z + 1 == s->nz)
        return s->to[LBM_ABOVE] + (size_t)piece * lbm_plane(s) + at;
    return s->out + ((size_t)i * s->nz + z + (size_t)(ptrdiff_t)ez) * lbm_plane(s) + at;
}

/* phi at a point of plane z. */
PHASE_FN void lbm_density(const struct lbm_step *s, uint32_t z, size_t at)
{
    lbm_real phi = 0;
    LBM_UNROLL
    for (int i = 0; i < LBM_G; i++)
        phi += lbm_in(s, LBM_F + i, z, at);
    s->phi[(z + 1) * lbm_plane(s) + at] = phi;
    if (s->alone && z == 0)
        s->phi[(s->nz + 1) * lbm_plane(s) + at] = phi;
    if (s->alone && z + 1 == s->nz)
        s->phi[at] = phi;
}

/* What the fluids do at a point: density, velocity, phi, its potential and its gradient. */
struct lbm_point {
    lbm_real n, u[3], phi, mu, grad[3]; /* n: without 1 */
};

PHASE_FN struct lbm_point lbm_point_at(const struct lbm_step *s, const lbm_real *f, uint32_t x,
                                       uint32_t y, uint32_t z)
{
    const int e[LBM_F][3] = LBM_VECTORS;
    const lbm_real *plane = s->phi + (z + 1) * lbm_plane(s), *row = plane + (size_t)y * s->nx;
    const lbm_real *south = plane + (size_t)(y == 0 ? s->ny - 1 : y - 1) * s->nx;
    const lbm_real *north = plane + (size_t)(y + 1 == s->ny ? 0 : y + 1) * s->nx;
    const lbm_real west = row[x == 0 ? s->nx - 1 : x - 1], east = row[x + 1 == s->nx ? 0 : x + 1];
    const lbm_real low = (row - lbm_plane(s))[x], high = (row + lbm_plane(s))[x];
    struct lbm_point p = {.phi = row[x]};

    p.grad[0] = (east - west) / 2;
    p.grad[1] = (north[x] - south[x]) / 2;
    p.grad[2] = (high - low) / 2;
    p.mu = 4 * LBM_A * p.phi * (p.phi * p.phi - 1) -
           LBM_KAPPA * (east + west + north[x] + south[x] + high + low - 6 * p.phi);
    LBM_UNROLL
    for (int i = 0; i < LBM_F; i++) {
        p.n += f[i];
        for (int d = 0; d < 3; d++)
            p.u[d] += (lbm_real)e[i][d] * f[i];
    }
    for (int d = 0; d < 3; d++)
        p.u[d] = (p.u[d] + p.mu * p.grad[d] / 2) / (1 + p.n);
    return p;
}

/* f and g towards their equilibrium at a point, and on to the next points. */
PHASE_FN void lbm_collide(const struct lbm_step *s, uint32_t x, uint32_t y, uint32_t z)
{
    const int e[LBM_F][3] = LBM_VECTORS, of[LBM_G] = LBM_G_VECTORS;
    const uint32_t xs[3] = {x == 0 ? s->nx - 1 : x - 1, x, x + 1 == s->nx ? 0 : x + 1};
    const uint32_t ys[3] = {y == 0 ? s->ny - 1 : y - 1, y, y + 1 == s->ny ? 0 : y + 1};
    const size_t at = (size_t)y * s->nx + x;
    lbm_real f[LBM_F];

    LBM_UNROLL
    for (int i = 0; i < LBM_F; i++)
        f[i] = lbm_in(s, i, z, at);
    const struct lbm_point p = lbm_point_at(s, f, x, y, z);
    const lbm_real square = p.u[0] * p.u[0] + p.u[1] * p.u[1] + p.u[2] * p.u[2];
    LBM_UNROLL
    for (int i = 0; i < LBM_F; i++) {
        const lbm_real eu =
            (lbm_real)e[i][0] * p.u[0] + (lbm_real)e[i][1] * p.u[1] + (lbm_real)e[i][2] * p.u[2];
        const lbm_real equal =
            lbm_weight(i) *
            (p.n + (i == 0 ? -6 : 3) * p.phi * p.mu +
             (1 + p.n) * (3 * eu + (lbm_real)4.5 * eu * eu - (lbm_real)1.5 * square));
        lbm_real force = 0;
        for (int d = 0; d < 3; d++)
            force += ((lbm_real)e[i][d] - p.u[d] + 3 * eu * (lbm_real)e[i][d]) * p.mu * p.grad[d];
        *lbm_out(s, i, e[i][2], z, (size_t)ys[1 + e[i][1]] * s->nx + xs[1 + e[i][0]]) =
            f[i] + (equal - f[i]) / LBM_TAU + (1 - 1 / (2 * LBM_TAU)) * 3 * lbm_weight(i) * force;
    }
    LBM_UNROLL
    for (int i = 0; i < LBM_G; i++) {
        const int *v = e[of[i]];
        const lbm_real g = lbm_in(s, LBM_F + i, z, at);
        const lbm_real eu =
            (lbm_real)v[0] * p.u[0] + (lbm_real)v[1] * p.u[1] + (lbm_real)v[2] * p.u[2];
        const lbm_real equal =
            i == 0 ? p.phi - 3 * LBM_GAMMA * p.mu : LBM_GAMMA * p.mu / 2 + p.phi * eu / 2;
        *lbm_out(s, LBM_F + i, v[2], z, (size_t)ys[1 + v[1]] * s->nx + xs[1 + v[0]]) =
            g + (equal - g) / LBM_TAU_G;
    }
}

#endif
