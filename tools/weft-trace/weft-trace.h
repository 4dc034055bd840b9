/* weft-trace/weft-trace.h - the commands of weft-trace. */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include "read.h"

struct draw_options {
    int first, last;    /* ranks; last -1: the first 16 */
    double from, until; /* us; until 0: to the end */
    int width;          /* of the picture, in pixels */
    bool host;          /* the services and the network, too */
};

/* On stdout. most: how many waits it lists. False: out of memory, said. */
bool trace_summary(const struct trace *trace, int most);
/* An SVG picture. False: there is nothing to draw, or too much, which is said. */
bool trace_draw(const struct trace *trace, FILE *out, const struct draw_options *options);

#endif
