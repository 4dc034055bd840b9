/*
 * fuzz_market.c - Matrix Market files: any bytes give a matrix whose indexes hold, or an error. One
 * word a row is all the memory that a header may claim (matrix_market.h); files that claim very
 * many rows are left out, for they find nothing but that.
 */
#include "fuzz.h"

#include "matrix_market.h"

enum { ROWS_MOST = 100000 };

/* The first number of the first line that is no comment. */
static bool claims_too_much(const uint8_t *data, size_t size)
{
    unsigned long long rows = 0;
    char *text = strndup((const char *)data, size), *at = text, *line;

    MUST(text != NULL);
    while ((line = strsep(&at, "\n")) != NULL) {
        line += strspn(line, " \t\r\f\v");
        if (*line == '%' || *line == 0)
            continue;
        rows = strtoull(line, NULL, 10);
        break;
    }
    free(text);
    return rows > ROWS_MOST;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sparse matrix = {0};
    struct market_error error = {0};
    FILE *file =
        size > 0 && !claims_too_much(data, size) ? fmemopen((void *)data, size, "r") : NULL;

    if (file == NULL)
        return 0;
    if (market_read(file, &matrix, &error)) {
        MUST(matrix.row_start[0] == 0);
        for (uint64_t row = 0; row < matrix.rows; row++) {
            MUST(matrix.row_start[row] <= matrix.row_start[row + 1]);
            for (uint64_t i = matrix.row_start[row]; i < matrix.row_start[row + 1]; i++)
                MUST(matrix.column_of[i] < matrix.columns);
        }
        sparse_free(&matrix);
    } else {
        MUST(error.text[0] != 0 && memchr(error.text, 0, sizeof(error.text)) != NULL);
    }
    fclose(file);
    return 0;
}
