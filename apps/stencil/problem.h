/*
 * stencil/problem.h - what weft's program and the two-model programs share on the host: sizes, the
 * initial field, and the serial reference.
 */
#ifndef STENCIL_PROBLEM_H
#define STENCIL_PROBLEM_H

#include "settings.h"
#include "stencil.h"

extern const struct program stencil_program;

/* This process's part of the whole grid. Returns false after it has said why, if speak. */
bool stencil_make_part(const struct settings *settings, int process, int processes, bool speak,
                       struct stencil_part *part);

/*
 * Whether weft's ranks send a row as one message a plane, as in the dCUDA work, and not as one
 * strided message. The two-model forms send a plane of it in any case.
 */
bool stencil_message_a_plane(const struct settings *settings);

/* Fills a field of the part, halos included: what is to be there before the first iteration. */
void stencil_fill(const struct settings *settings, const struct stencil_part *part, double *field);

/*
 * On process 0: compares the fields of all processes (as stored, one after the other) with a serial
 * run of the law in its plainest form, which shares no code with the kernels; and the sum of the
 * field with that at the beginning. Prints both. Returns whether they agree.
 */
bool stencil_check(const struct settings *settings, const struct stencil_part *part, int processes,
                   const double *fields);

#endif
