/*
 * md/md.h - particles that attract and repel each other (Lennard-Jones, cut off at 3), of mass 1,
 * at density 0.382: what the host and the kernels share.
 */
#ifndef MD_MD_H
#define MD_MD_H

#include "machine.h"

#ifdef WEFT_APP_DOUBLE
typedef double md_real;
#else
typedef float md_real;
#endif

#define MD_CUT   3.0
#define MD_SKIN  0.8
#define MD_REACH (MD_CUT + MD_SKIN)

/* Particles of a block; near ones of a particle, at most; sums of a block. */
enum { MD_CHUNK = 128, MD_NEAR = 256, MD_SUMS = 2 };

/* x, y, z, and of a position the particle's number, of a force the potential energy. */
typedef struct md_four {
    md_real c[4];
} __attribute__((aligned(16))) md_four;

/* A process's particles: its own, then ghosts. */
struct md_step {
    uint32_t own, room;
    md_four *x, *v, *f, *x_then; /* x_then: when the lists were made */
    uint32_t *near, *near_count;
    uint32_t *cell_start, *cell_order; /* all of x, by cells */
    uint32_t cells[3];
    md_real cell_low[3], cell_width[3];
    md_real dt, drag; /* 0: forces alone; drag: what the thermostat leaves in half a step */
    double *sums;     /* MD_SUMS of each block */
};

/* Ghosts for the neighbours on both sides of a dimension. */
struct md_pack {
    const md_four *x;
    const uint32_t *list[2];
    uint32_t count[2], dimension;
    md_real shift[2]; /* round the box */
    md_four *to[2];
};

#ifdef __cplusplus
extern "C" {
#endif
PHASE_DECLARE(md_lists, struct md_step);  /* sums: particles with too many near ones, 0 */
PHASE_DECLARE(md_move, struct md_step);   /* sums: kinetic energy, particles that moved far */
PHASE_DECLARE(md_ghosts, struct md_pack); /* planes: the sides */
PHASE_DECLARE(md_force, struct md_step);  /* and the second half of the step */
#ifdef __cplusplus
}
#endif

PHASE_FN uint32_t md_cell(const struct md_step *s, const md_four *x, int d)
{
    const md_real cell = (x->c[d] - s->cell_low[d]) / s->cell_width[d];
    return cell < 0 ? 0 : cell >= (md_real)s->cells[d] ? s->cells[d] - 1 : (uint32_t)cell;
}

#endif
