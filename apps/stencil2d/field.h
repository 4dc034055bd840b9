/* stencil2d/field.h - a tile as a kernel has it. */
#ifndef STENCIL2D_FIELD_H
#define STENCIL2D_FIELD_H

#include "stencil2d.h"

#include <stddef.h>

/* Pointers to the first of its columns. Of one iteration, a column more is on either side of the
 * rows `in`. Of two, two are, or one beside an edge, also of the rows around. Pitches are in
 * points.
 */
struct field {
    const double *in, *above, *below;    /* the first row; the rows above and below all */
    const double *above_two, *two_below; /* the rows next to those; beyond an edge any row */
    double *out;
    size_t from, to, rows, columns;
    uint32_t edges; /* EDGE_ */
};

#endif
