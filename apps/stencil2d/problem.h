/*
 * stencil2d/problem.h - the plate: N x N inner points and a fixed edge, its rows shared among
 * places, and the same by one thread, to compare with.
 */
#ifndef STENCIL2D_PROBLEM_H
#define STENCIL2D_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum variant {
    VARIANT_OMP,
    VARIANT_RANKS,
    VARIANT_TASKS,
    VARIANT_PLAN,
    VARIANT_STATIC,
    VARIANT_DYNAMIC,
    VARIANT_IMBALANCE,
    VARIANTS
};

struct options {
    enum variant variant;
    uint64_t n;
    uint32_t tile_rows, tile_columns; /* 0 columns: whole rows */
    uint32_t iterations, way;         /* way: a place's rows in so many tiles; 0: by tile */
    uint32_t sweep;                   /* iterations of a sweep: 1 or 2 */
    int ranks, threads;
    int slow, home; /* places; slow -1: none */
    uint32_t times;
    double ratio; /* of the rows, what place 0 has; negative: as others */
    bool verify, help;
};

/* False: something is wrong, and said if `speak`. */
bool options_read(struct options *options, int argc, char **argv, bool speak);
const char *variant_name(enum variant variant);

/* The inner rows of a place: first to end - 1, of 1 to n. */
void rows_of(const struct options *options, int place, int places, uint64_t *first, uint64_t *end);

/* Rows of the field at the beginning, edge included: of rows 0 to n + 1, each of n + 2 points. */
void start_rows(uint64_t n, uint64_t first, uint64_t rows, double *to);

/* Threads of OpenMP; 0: it is not built in. */
int solvers(void);

/* (n + 2) x (n + 2) points after the iterations; variant OMP: by solvers() threads, else by one.
 * NULL: no memory. */
double *solve(const struct options *options, double *ms);

#endif
