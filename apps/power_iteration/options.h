/*
 * power_iteration/options.h - the command line.
 */
#ifndef POWER_OPTIONS_H
#define POWER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct options {
    const char *matrix; /* paths; names may be NULL */
    const char *names;
    bool symmetrize, check, help;
    bool pagerank;
    double damping;
    double tolerance;
    uint64_t iterations;
    uint64_t grid_rows, grid_columns; /* 0: not given */
    uint64_t top;
    uint64_t rows, nonzeros,
        seed; /* without a file: the block of a process, of a million, of both */
    uint64_t repetitions;
    bool csv, silent; /* silent: the kernel prints nothing while it runs */
    int ranks;        /* of a device; 0: as many as it holds */
};

/*
 * Fills *options. Only one process of a job should call it: it prints its complaints, or the help,
 * and then returns false, with options->help telling which. Does not exit.
 */
bool options_parse(struct options *options, int argc, char **argv);

#endif
