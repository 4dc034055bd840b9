/* weft-trace/draw_totals.h - sums of a timeline as a part of its picture. */
#ifndef WEFT_TRACE_DRAW_TOTALS_H
#define WEFT_TRACE_DRAW_TOTALS_H

#include "totals.h"

/* How many pixels it takes for so many ranks; 0: there is nothing to draw. */
int trace_totals_height(const struct trace_totals *totals, int ranks);
/* Draws it for `ranks` ranks from `first` on, its upper left corner at x and y. */
void trace_totals_draw(const struct trace_totals *totals, FILE *out, int first, int ranks, int x,
                       int y);

#endif
