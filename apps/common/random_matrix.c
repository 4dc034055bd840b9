/*
 * common/random_matrix.c - see random_matrix.h.
 */
#include "random_matrix.h"

#include "random.h"

#include <math.h>
#include <stdlib.h>

/* Entries of a matrix that is being made, in the order of rows. */
struct growing {
    struct sparse *matrix;
    uint64_t count, room;
};

static bool append(struct growing *to, uint64_t column, double value)
{
    if (to->count == to->room) {
        const uint64_t room = to->room * 2 + 1024;
        uint32_t *columns = realloc(to->matrix->column_of, room * sizeof(*columns));
        if (columns)
            to->matrix->column_of = columns;
        double *values = realloc(to->matrix->value, room * sizeof(*values));
        if (values)
            to->matrix->value = values;
        if (!columns || !values)
            return false;
        to->room = room;
    }
    to->matrix->column_of[to->count] = (uint32_t)column;
    to->matrix->value[to->count++] = value;
    return true;
}

/* The gaps between entries that are there with the same chance have a geometric distribution. */
static bool make_row(struct growing *to, uint64_t seed, double chance, uint64_t row,
                     uint64_t columns)
{
    uint64_t index = row << 32;
    for (double column = 0;; column += 1, index += 2) {
        if (chance < 1)
            column += floor(log1p(-random_unit(seed, index)) / log1p(-chance));
        if (!(column < (double)columns))
            return true;
        if (!append(to, (uint64_t)column, 2 * random_unit(seed, index + 1) - 1))
            return false;
    }
}

bool random_rows(struct sparse *rows, uint64_t seed, uint64_t nonzeros, uint64_t first,
                 uint64_t end, uint64_t columns)
{
    struct sparse made = {.rows = end - first, .columns = columns};
    struct growing to = {.matrix = &made};
    made.row_start = malloc((made.rows + 1) * sizeof(*made.row_start));
    bool good = made.row_start && append(&to, 0, 0); /* never without memory for entries */
    to.count = 0;
    for (uint64_t row = first; good && row < end; row++) {
        made.row_start[row - first] = to.count;
        good = make_row(&to, seed, (double)nonzeros * 1e-6, row, columns);
    }
    if (!good) {
        sparse_free(&made);
        return false;
    }
    made.row_start[made.rows] = to.count;
    *rows = made;
    return true;
}
