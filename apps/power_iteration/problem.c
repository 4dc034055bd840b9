/*
 * power_iteration/problem.c - the files of the command line, and the names in the result.
 */
#include "problem.h"

#include "line.h"
#include "matrix_market.h"
#include "random_matrix.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        complain("cannot open %s: %s", path, strerror(errno));
    return file;
}

static bool load_matrix(struct sparse *matrix, const char *path)
{
    FILE *file = open_file(path);
    if (!file)
        return false;
    struct market_error error;
    bool good = market_read(file, matrix, &error);
    fclose(file);
    if (good && matrix->rows != matrix->columns) {
        complain("%s: %" PRIu64 " rows and %" PRIu64 " columns: not square", path, matrix->rows,
                 matrix->columns);
        sparse_free(matrix);
        return false;
    }
    if (!good && error.line > 0)
        complain("%s:%" PRIu64 ": %s", path, error.line, error.text);
    else if (!good)
        complain("%s: %s", path, error.text);
    return good;
}

static bool read_names(struct problem *problem, FILE *file)
{
    const char *path = problem->options.names;
    const uint64_t rows = problem->matrix.rows;
    char line[LINE_MOST + 1];
    uint64_t count = 0;
    for (;;) {
        bool end;
        const char *wrong = line_read(file, line, &end);
        if (!wrong && end)
            break;
        if (!wrong && count == rows)
            wrong = "more names than rows";
        else if (!wrong && !(problem->names[count] = strdup(line)))
            wrong = "out of memory";
        count++;
        if (wrong) {
            complain("%s:%" PRIu64 ": %s", path, count, wrong);
            return false;
        }
    }
    if (count < rows)
        complain("%s:%" PRIu64 ": only %" PRIu64 " names for %" PRIu64 " rows", path, count, count,
                 rows);
    return count == rows;
}

static bool load_names(struct problem *problem)
{
    FILE *file = open_file(problem->options.names);
    if (!file)
        return false;
    problem->names = calloc(problem->matrix.rows, sizeof(*problem->names));
    bool good = problem->names != NULL;
    if (!good)
        complain("%s: out of memory", problem->options.names);
    good = good && read_names(problem, file);
    fclose(file);
    return good;
}

/* Turns the file's matrix into the one that is iterated. */
static bool transform(struct problem *problem)
{
    const char *wrong = NULL;
    if (problem->options.symmetrize)
        wrong = sparse_symmetrize(&problem->matrix);
    problem->scale = 1;
    if (!wrong && problem->options.pagerank)
        wrong = sparse_normalise_columns(&problem->matrix, problem->options.damping);
    else if (!wrong)
        problem->scale = sparse_scale(&problem->matrix);
    if (wrong)
        complain("%s: %s", problem->options.matrix ? problem->options.matrix : "the matrix", wrong);
    return !wrong;
}

static bool make_matrix(struct problem *problem, int processes)
{
    const struct options *options = &problem->options;
    const uint64_t n = (uint64_t)llround((double)options->rows * sqrt(processes));
    if (n < UINT32_MAX && random_rows(&problem->matrix, options->seed, options->nonzeros, 0, n, n))
        return true;
    complain("out of memory for a matrix of %" PRIu64 " rows", n);
    return false;
}

bool problem_load(struct problem *problem, int processes, int argc, char **argv)
{
    *problem = (struct problem){0};
    return options_parse(&problem->options, argc, argv) &&
           (problem->options.matrix ? load_matrix(&problem->matrix, problem->options.matrix)
                                    : make_matrix(problem, processes)) &&
           transform(problem) && (!problem->options.names || load_names(problem));
}

void problem_free(struct problem *problem)
{
    for (uint64_t i = 0; problem->names && i < problem->matrix.rows; i++)
        free(problem->names[i]);
    free(problem->names);
    sparse_free(&problem->matrix);
}

struct scored {
    uint64_t row;
    double score;
};

/* The larger magnitude first; rows with the same by their number. */
static int by_score(const void *left, const void *right)
{
    const struct scored *a = left;
    const struct scored *b = right;
    double difference = fabs(b->score) - fabs(a->score);
    if (difference != 0)
        return difference > 0 ? 1 : -1;
    return a->row < b->row ? -1 : a->row > b->row;
}

void problem_print_top(const struct problem *problem, const struct power_result *result)
{
    uint64_t n = problem->matrix.rows;
    struct scored *all = problem->options.top > 0 ? malloc(n * sizeof(*all)) : NULL;
    if (!all) {
        if (problem->options.top > 0)
            complain("no memory to sort %" PRIu64 " rows", n);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        all[i] = (struct scored){i, result->vector[i]};
    qsort(all, n, sizeof(*all), by_score);
    for (uint64_t i = 0; i < n && i < problem->options.top; i++) {
        char number[24];
        snprintf(number, sizeof(number), "%" PRIu64, all[i].row + 1);
        printf("rank: %" PRIu64 " %s %.12g\n", i + 1,
               problem->names ? problem->names[all[i].row] : number, all[i].score);
    }
    free(all);
}
