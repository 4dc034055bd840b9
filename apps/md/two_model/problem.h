/*
 * md/two_model/problem.h - the host's side: its particles, and what it exchanges with neighbours.
 */
#ifndef MD_PROBLEM_H
#define MD_PROBLEM_H

#include "md.h"
#include "model.h"

#define DENSITY 0.382
enum { SIDES = 2, DIMENSIONS = 3 };

struct problem {
    struct model_run run;
    struct md_step step;
    struct md_pack pack[DIMENSIONS];
    double length, low[DIMENSIONS], high[DIMENSIONS]; /* of the box; of this process's */
    int grid[DIMENSIONS], near[DIMENSIONS][SIDES];    /* processes; the neighbours */
    uint32_t ghosts[DIMENSIONS][SIDES];               /* that come through a side */
    uint32_t all, cells;                              /* own and ghosts; of all dimensions */
    uint32_t *list[DIMENSIONS][SIDES];                /* device memory: whose ghosts go out */
    md_four *mail[2][SIDES];                          /* the same: sent, received */
    md_four *x, *v, *out[SIDES], *in;                 /* host memory */
    uint32_t *order, *start;
    double xi, heat, energy[2]; /* thermostat; sum of temperatures; halfway and at the end */
};

/* Each says itself why it failed. */

/* Collective: x and v of the own particles, on the host, to their owners; ghosts and lists anew. */
bool md_rebuild(struct problem *p);
/* Collective: the ghosts' positions as they are now. */
bool md_pass_ghosts(struct problem *p);
/* Collective: sums over all processes of what the blocks have left. */
bool md_sum_up(struct problem *p, double sums[MD_SUMS]);

#endif
