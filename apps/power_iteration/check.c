/*
 * power_iteration/check.c - the power iteration, one row after the other.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

double power_start(bool pagerank, uint64_t n, uint64_t i)
{
    if (pagerank)
        return 1 / (double)n;
    uint64_t bits = (i + 1) * 0x9e3779b97f4a7c15u; /* the mixer of splitmix64 */
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return 0.5 + (double)((bits ^ (bits >> 31)) >> 11) * 0x1p-53;
}

double power_start_norm(uint64_t n)
{
    double squares = 0;
    for (uint64_t i = 0; i < n; i++)
        squares += power_start(false, n, i) * power_start(false, n, i);
    return sqrt(squares);
}

static double row_times(const struct sparse *matrix, uint64_t row, const double *vector)
{
    double sum = 0;
    for (uint64_t i = matrix->row_start[row]; i < matrix->row_start[row + 1]; i++)
        sum += matrix->value[i] * vector[matrix->column_of[i]];
    return sum;
}

/* b = A b + what is missing to the sum of 1, spread evenly. x is scratch. */
static void pagerank_step(const struct sparse *matrix, double *b, double *x)
{
    uint64_t n = matrix->rows;
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        x[i] = row_times(matrix, i, b);
        sum += x[i];
    }
    for (uint64_t i = 0; i < n; i++)
        b[i] = x[i] + (1 - sum) / (double)n;
}

/* b = A b / |A b|. Returns |A b|, with the sign of b . A b. */
static double eigen_step(const struct sparse *matrix, double *b, double *x)
{
    uint64_t n = matrix->rows;
    double squares = 0;
    double product = 0;
    for (uint64_t i = 0; i < n; i++) {
        x[i] = row_times(matrix, i, b);
        squares += x[i] * x[i];
        product += x[i] * b[i];
    }
    double norm = sqrt(squares);
    for (uint64_t i = 0; i < n; i++)
        b[i] = norm > 0 ? x[i] / norm : 0;
    return product < 0 ? -norm : norm;
}

static double largest_difference(const double *a, const double *reference, uint64_t n)
{
    double difference = 0;
    double largest = 0;
    for (uint64_t i = 0; i < n; i++) {
        double here = fabs(a[i] - reference[i]);
        if (isnan(here))
            return here;
        difference = fmax(difference, here);
        largest = fmax(largest, fabs(reference[i]));
    }
    return largest > 0 ? difference / largest : difference;
}

bool check_against_serial(const struct sparse *matrix, bool pagerank,
                          const struct power_result *result, double *error)
{
    uint64_t n = matrix->rows;
    double *b = malloc(n * sizeof(*b));
    double *x = malloc(n * sizeof(*x));
    bool memory = b && x;
    if (memory) {
        double eigenvalue = 0;
        double norm = pagerank ? 1 : power_start_norm(n);
        for (uint64_t i = 0; i < n; i++)
            b[i] = power_start(pagerank, n, i) / norm;
        for (uint64_t k = 0; k < result->iterations; k++) {
            if (pagerank)
                pagerank_step(matrix, b, x);
            else
                eigenvalue = eigen_step(matrix, b, x);
        }
        double vector_error = largest_difference(result->vector, b, n);
        double value_error = largest_difference(&result->eigenvalue, &eigenvalue, 1);
        *error = vector_error <= value_error ? value_error : vector_error;
    }
    free(x);
    free(b);
    return memory;
}

double check_residual(const struct sparse *matrix, const struct power_result *result)
{
    double squares = 0;
    for (uint64_t i = 0; i < matrix->rows; i++) {
        double off = row_times(matrix, i, result->vector) - result->eigenvalue * result->vector[i];
        squares += off * off;
    }
    return result->eigenvalue == 0 ? sqrt(squares) : sqrt(squares) / fabs(result->eigenvalue);
}
