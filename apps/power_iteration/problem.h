/*
 * power_iteration/problem.h - what process 0 alone knows: the whole matrix and the names.
 */
#ifndef POWER_PROBLEM_H
#define POWER_PROBLEM_H

#include "check.h"
#include "options.h"
#include "settings.h"

struct problem {
    struct options options;
    struct sparse matrix; /* symmetrized, normalised or scaled, as the options say */
    double scale;         /* an eigenvalue of the file's matrix is that of `matrix` times this */
    char **names;         /* one a row, or NULL */
};

/*
 * Reads the command line and its files, or makes the matrix: the work of so many processes. Returns
 * false after it has said why (or printed the help: options.help). Free the problem in any case.
 */
bool problem_load(struct problem *problem, int processes, int argc, char **argv);
void problem_free(struct problem *problem);

/* Prints the rows with the largest elements: "rank: K NAME SCORE". */
void problem_print_top(const struct problem *problem, const struct power_result *result);

#endif
