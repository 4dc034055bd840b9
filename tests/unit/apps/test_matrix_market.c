/*
 * the reader takes every kind of file it claims to, and names the line of
 * whatever is wrong with the others; then what is done to matrices before they are iterated.
 */
#include "line.h"
#include "matrix_market.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool read_bytes(const char *text, size_t bytes, struct sparse *matrix,
                       struct market_error *error)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    rewind(file);
    bool good = market_read(file, matrix, error);
    fclose(file);
    return good;
}

static struct sparse read_good(const char *text)
{
    struct sparse matrix = {0};
    struct market_error error = {0};
    if (!read_bytes(text, strlen(text), &matrix, &error))
        fail_msg("line %llu: %s", (unsigned long long)error.line, error.text);
    return matrix;
}

static double at(const struct sparse *matrix, uint64_t row, uint64_t column)
{
    for (uint64_t i = matrix->row_start[row - 1]; i < matrix->row_start[row]; i++) {
        if (matrix->column_of[i] == column - 1)
            return matrix->value[i];
    }
    return 0;
}

static void test_pattern(void **state)
{
    (void)state;
    struct sparse m = read_good("%%MatrixMarket matrix coordinate pattern general\n"
                                "% a comment\n\n"
                                "3 2 3\n3 1\n1 2\n1 1\n");
    assert_int_equal(m.rows, 3);
    assert_int_equal(m.columns, 2);
    assert_int_equal(sparse_entries(&m), 3);
    assert_int_equal(m.row_start[1], 2);
    assert_int_equal(m.row_start[2], 2);
    assert_int_equal(m.column_of[0], 0); /* columns rise within a row */
    assert_int_equal(m.column_of[1], 1);
    assert_true(at(&m, 3, 1) == 1 && at(&m, 2, 1) == 0);
    sparse_free(&m);
}

static void test_real_symmetric(void **state)
{
    (void)state;
    /* Any case, CRLF, blanks, no newline at the end. */
    struct sparse m = read_good("%%matrixmarket MATRIX Coordinate Real Symmetric\r\n"
                                "  3\t3 3 \r\n"
                                "1 1 -2.5e0\r\n2 1 .5\r\n%between\r\n3 3 1e-320");
    assert_int_equal(sparse_entries(&m), 4);
    assert_true(at(&m, 1, 1) == -2.5 && at(&m, 2, 1) == .5 && at(&m, 1, 2) == .5);
    assert_true(at(&m, 3, 3) == 1e-320);
    sparse_free(&m);
}

static void test_integer_duplicates(void **state)
{
    (void)state;
    struct sparse m = read_good("%%MatrixMarket matrix coordinate integer general\n"
                                "2 2 4\n2 1 7\n1 2 -3\n2 1 5\n2 1 +1\n");
    assert_int_equal(sparse_entries(&m), 2);
    assert_true(at(&m, 2, 1) == 13 && at(&m, 1, 2) == -3);
    sparse_free(&m);
}

static void test_empty_matrix(void **state)
{
    (void)state;
    struct sparse m = read_good("%%MatrixMarket matrix coordinate real general\n2 2 0\n");
    assert_int_equal(sparse_entries(&m), 0);
    sparse_free(&m);
}

#define REAL    "%%MatrixMarket matrix coordinate real general\n"
#define INTEGER "%%MatrixMarket matrix coordinate integer general\n"
#define PATTERN "%%MatrixMarket matrix coordinate pattern general\n"

/* A bad file, the line that must be blamed, and a word of the reason. */
static const struct {
    const char *text;
    uint64_t line;
    const char *reason;
} bad[] = {
    {"", 1, "empty"},
    {"1 1 1\n1 1\n", 1, "begin"},
    {"%%MatrixMarket vector coordinate real general\n", 1, "begin"},
    {"%%MatrixMarket matrix array real general\n1 1\n1\n", 1, "array"},
    {"%%MatrixMarket matrix coordinate complex general\n", 1, "complex"},
    {"%%MatrixMarket matrix coordinate real hermitian\n", 1, "hermitian"},
    {"%%MatrixMarket matrix coordinate real\n", 1, "symmetry"},
    {"%%MatrixMarket matrix coordinate real general more\n", 1, "more"},
    {REAL "% only comments\n", 2, "size line"},
    {REAL "2 2\n", 2, "missing"},
    {REAL "2 2 1 1\n", 2, "unexpected"},
    {REAL "0 0 0\n", 2, "not in"},
    {REAL "-1 2 0\n", 2, "whole number"},
    {REAL "2 4294967296 0\n", 2, "not in"},
    {REAL "2 2 99999999999999999999999\n", 2, "not in"},
    {REAL "2 2 1.5\n", 2, "whole number"},
    {REAL "2 2 1\n0 1 1\n", 3, "not in 1..2"},
    {REAL "2 2 1\n1 3 1\n", 3, "not in 1..2"},
    {REAL "2 2 1\n18446744073709551617 1 1\n", 3, "not in 1..2"},
    {REAL "2 2 2\n1 1 1\n\n% c\nx 1 1\n", 6, "whole number"},
    {REAL "2 2 1\n1\n", 3, "column is missing"},
    {REAL "2 2 1\n1 1\n", 3, "value is missing"},
    {REAL "2 2 1\n1 1 one\n", 3, "'one'"},
    {REAL "2 2 1\n1 1 1e999\n", 3, "out of range"},
    {REAL "2 2 1\n1 1 nan\n", 3, "out of range"},
    {REAL "2 2 1\n1 1 1 1\n", 3, "unexpected"},
    {INTEGER "2 2 1\n1 1 1.5\n", 3, "whole"},
    {INTEGER "2 2 1\n1 1 9223372036854775808\n", 3, "out of range"},
    {PATTERN "2 2 1\n1 1 1\n", 3, "unexpected"},
    {REAL "2 2 3\n1 1 1\n2 2 1\n", 4, "2 of 3"},
    {REAL "2 2 1000000000000000\n1 1 1\n", 3, "1 of 1000000000000000"},
    {REAL "2 2 1\n1 1 1\n2 2 1\n", 4, "more than the 1"},
    {REAL "1 1 2\n1 1 1e308\n1 1 1e308\n", 0, "sum"},
    {"%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n", 2, "3 columns"},
};

static void test_bad_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sparse matrix = {.rows = 77};
        struct market_error error = {.line = 99};
        if (read_bytes(bad[i].text, strlen(bad[i].text), &matrix, &error))
            fail_msg("accepted: %s", bad[i].text);
        if (error.line != bad[i].line || !strstr(error.text, bad[i].reason))
            fail_msg("%s\n=> line %llu: %s", bad[i].text, (unsigned long long)error.line,
                     error.text);
        assert_int_equal(matrix.rows, 77);
    }
}

/* A comment of as many bytes is read, of one more is not. */
static void test_long_line(void **state)
{
    (void)state;
    char text[LINE_MOST + 100];
    snprintf(text, sizeof(text), "%s%%%0*d\n2 2 0\n", REAL, LINE_MOST - 1, 0);
    struct sparse matrix = read_good(text);
    sparse_free(&matrix);

    struct market_error error;
    const int bytes = snprintf(text, sizeof(text), "%s%%%0*d\n2 2 0\n", REAL, LINE_MOST, 0);
    assert_false(read_bytes(text, (size_t)bytes, &matrix, &error));
    assert_int_equal(error.line, 2);
    assert_non_null(strstr(error.text, "longer than 4096 bytes"));
}

static void test_zero_byte(void **state)
{
    (void)state;
    static const char text[] = REAL "2 2 1\n1 1\0 1\n";
    struct sparse matrix;
    struct market_error error;
    assert_false(read_bytes(text, sizeof(text) - 1, &matrix, &error));
    assert_int_equal(error.line, 3);
}

/* No prefix and no single changed byte of a good file may do worse than fail with a line. */
static void test_mangled(void **state)
{
    (void)state;
    static const char good[] = REAL "2 2 2\n1 2 1.5\n2 1 -2\n";
    size_t length = sizeof(good) - 1;
    for (size_t i = 0; i < length; i++) {
        for (int byte = 0; byte < 256; byte++) {
            char text[sizeof(good)];
            struct sparse matrix;
            struct market_error error = {0};
            memcpy(text, good, sizeof(good));
            text[i] = (char)byte;
            size_t bytes = byte == 0 ? i : length; /* 0 stands for the end */
            if (read_bytes(text, bytes, &matrix, &error))
                sparse_free(&matrix);
            else
                assert_true(error.text[0] != '\0' && error.line <= 5);
        }
    }
}

static void test_symmetrize(void **state)
{
    (void)state;
    struct sparse graph = read_good(PATTERN "3 3 3\n1 2\n2 1\n3 3\n");
    assert_null(sparse_symmetrize(&graph));
    assert_int_equal(sparse_entries(&graph), 3);
    assert_true(at(&graph, 1, 2) == 2 && at(&graph, 2, 1) == 2 && at(&graph, 3, 3) == 2);
    sparse_free(&graph);

    struct sparse m = read_good(REAL "2 2 2\n1 2 3\n2 2 4\n");
    assert_null(sparse_symmetrize(&m));
    assert_true(at(&m, 1, 2) == 3 && at(&m, 2, 1) == 3 && at(&m, 2, 2) == 8);
    sparse_free(&m);
}

static void test_normalise_columns(void **state)
{
    (void)state;
    struct sparse m = read_good(REAL "3 3 3\n1 1 1\n2 1 3\n2 2 0\n");
    assert_null(sparse_normalise_columns(&m, 0.5));
    assert_true(at(&m, 1, 1) == 0.125 && at(&m, 2, 1) == 0.375 && at(&m, 2, 2) == 0);
    sparse_free(&m);

    m = read_good(REAL "1 1 1\n1 1 -1\n");
    assert_non_null(sparse_normalise_columns(&m, 0.5));
    assert_true(at(&m, 1, 1) == -1);
    sparse_free(&m);
}

static void test_scale(void **state)
{
    (void)state;
    struct sparse m = read_good(REAL "2 2 2\n1 1 -12\n2 2 1e-3\n");
    assert_true(sparse_scale(&m) == 16);
    assert_true(at(&m, 1, 1) == -0.75 && at(&m, 2, 2) == 1e-3 / 16);
    sparse_free(&m);

    m = read_good(REAL "1 1 1\n1 1 1.7e308\n");
    double scale = sparse_scale(&m);
    assert_true(at(&m, 1, 1) * scale == 1.7e308 && at(&m, 1, 1) < 2);
    sparse_free(&m);

    m = read_good(REAL "1 1 0\n");
    assert_true(sparse_scale(&m) == 1);
    sparse_free(&m);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_real_symmetric),
        cmocka_unit_test(test_integer_duplicates),
        cmocka_unit_test(test_empty_matrix),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_zero_byte),
        cmocka_unit_test(test_mangled),
        cmocka_unit_test(test_symmetrize),
        cmocka_unit_test(test_normalise_columns),
        cmocka_unit_test(test_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
