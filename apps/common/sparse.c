/*
 * common/sparse.c - CSR by two stable counting sorts, by column and then by row, so that
 * any number of entries takes linear time and duplicates keep their order.
 */
#include "sparse.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static const char no_memory[] = "out of memory";

static uint32_t key_of(const struct entry *entry, bool by_row)
{
    return by_row ? entry->row : entry->column;
}

/* Sorts `from` into `to`, stably. starts (keys + 1 zeros) gets where each key begins. */
static void sort_by(bool by_row, uint64_t keys, const struct entry *from, struct entry *to,
                    uint64_t count, uint64_t *starts)
{
    for (uint64_t i = 0; i < count; i++)
        starts[key_of(&from[i], by_row) + 1]++;
    for (uint64_t key = 0; key < keys; key++)
        starts[key + 1] += starts[key];
    for (uint64_t i = 0; i < count; i++)
        to[starts[key_of(&from[i], by_row)]++] = from[i];
    for (uint64_t key = keys; key > 0; key--) /* each start had moved to its end */
        starts[key] = starts[key - 1];
    starts[0] = 0;
}

/* Sums neighbours at the same place. Returns how many entries are left. */
static uint64_t merge(struct entry *entries, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct entry *last = kept > 0 ? &entries[kept - 1] : NULL;
        if (last && last->row == entries[i].row && last->column == entries[i].column)
            last->value += entries[i].value;
        else
            entries[kept++] = entries[i];
    }
    return kept;
}

static const char *fill(struct sparse *matrix, const struct entry *entries, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!isfinite(entries[i].value))
            return "entries at the same place sum up to more than a double holds";
    }
    matrix->row_start = calloc(matrix->rows + 1, sizeof(*matrix->row_start));
    matrix->column_of = malloc((count + 1) * sizeof(*matrix->column_of));
    matrix->value = malloc((count + 1) * sizeof(*matrix->value));
    if (!matrix->row_start || !matrix->column_of || !matrix->value)
        return no_memory;
    for (uint64_t i = 0; i < count; i++) {
        matrix->row_start[entries[i].row + 1]++;
        matrix->column_of[i] = entries[i].column;
        matrix->value[i] = entries[i].value;
    }
    for (uint64_t row = 0; row < matrix->rows; row++)
        matrix->row_start[row + 1] += matrix->row_start[row];
    return NULL;
}

const char *sparse_build(struct sparse *matrix, uint64_t rows, uint64_t columns,
                         struct entry *entries, uint64_t count)
{
    struct sparse built = {.rows = rows, .columns = columns};
    const char *problem = no_memory;
    struct entry *other = malloc((count + 1) * sizeof(*other));
    uint64_t *starts = calloc(columns + 1, sizeof(*starts));
    uint64_t *row_starts = calloc(rows + 1, sizeof(*row_starts));
    if (other && starts && row_starts) {
        sort_by(false, columns, entries, other, count, starts);
        sort_by(true, rows, other, entries, count, row_starts);
        problem = fill(&built, entries, merge(entries, count));
    }
    free(row_starts);
    free(starts);
    free(other);
    if (problem)
        sparse_free(&built);
    else
        *matrix = built;
    return problem;
}

const char *sparse_symmetrize(struct sparse *matrix)
{
    uint64_t count = sparse_entries(matrix);
    struct entry *entries = calloc(2 * count + 1, sizeof(*entries));
    if (!entries)
        return no_memory;
    for (uint64_t row = 0; row < matrix->rows; row++) {
        for (uint64_t i = matrix->row_start[row]; i < matrix->row_start[row + 1]; i++) {
            uint32_t column = matrix->column_of[i];
            entries[2 * i] =
                (struct entry){.row = (uint32_t)row, .column = column, .value = matrix->value[i]};
            entries[2 * i + 1] =
                (struct entry){.row = column, .column = (uint32_t)row, .value = matrix->value[i]};
        }
    }
    struct sparse sum;
    const char *problem = sparse_build(&sum, matrix->rows, matrix->columns, entries, 2 * count);
    free(entries);
    if (problem)
        return problem;
    sparse_free(matrix);
    *matrix = sum;
    return NULL;
}

const char *sparse_normalise_columns(struct sparse *matrix, double total)
{
    const char *problem = NULL;
    uint64_t count = sparse_entries(matrix);
    double *sum = calloc(matrix->columns + 1, sizeof(*sum));
    if (!sum)
        return no_memory;
    for (uint64_t i = 0; i < count && !problem; i++) {
        sum[matrix->column_of[i]] += matrix->value[i];
        if (matrix->value[i] < 0)
            problem = "PageRank needs entries that are not negative";
        else if (!isfinite(sum[matrix->column_of[i]]))
            problem = "a column sums up to more than a double holds";
    }
    for (uint64_t i = 0; i < count && !problem; i++) {
        double whole = sum[matrix->column_of[i]];
        matrix->value[i] = whole > 0 ? total * (matrix->value[i] / whole) : 0;
    }
    free(sum);
    return problem;
}

double sparse_scale(struct sparse *matrix)
{
    double largest = 0;
    for (uint64_t i = 0; i < sparse_entries(matrix); i++)
        largest = fmax(largest, fabs(matrix->value[i]));
    int exponent = 0;
    frexp(largest, &exponent);
    if (exponent > 1023) /* 2^1024 is not a double */
        exponent = 1023;
    for (uint64_t i = 0; i < sparse_entries(matrix); i++)
        matrix->value[i] = ldexp(matrix->value[i], -exponent);
    return ldexp(1, exponent);
}

void sparse_free(struct sparse *matrix)
{
    free(matrix->row_start);
    free(matrix->column_of);
    free(matrix->value);
    *matrix = (struct sparse){0};
}
