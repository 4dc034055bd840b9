/*
 * suite.h - what a CUDA runtime promises, as checks through its API alone: the same over the fake
 * driver, over remote GPUs, and over a real one.
 */
#ifndef TESTS_REMOTE_SUITE_H
#define TESTS_REMOTE_SUITE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

/* Runs all of it on every device; prints "N checks, M failed". Whether none failed. */
bool suite_run(void);
/* Prints the count, for who has run parts of it. */
bool suite_end(void);

/* Checks, for suite_*.c. */
void suite_check(bool good, const char *text, const char *file, int line);
void suite_is(cudaError_t got, cudaError_t wanted, const char *text, const char *file, int line);
#define CHECK(condition) suite_check((condition), #condition, __FILE__, __LINE__)
#define IS(wanted, call) suite_is((call), (wanted), #call, __FILE__, __LINE__)
#define OK(call)         IS(cudaSuccess, call)

/* The kernels of kernels.h, as a program registers them. */
extern const char suite_add, suite_scale, suite_slow, suite_fetch, suite_store, suite_missing;
extern int suite_table;
/* image: a file with the kernels for GPUs; NULL: the fake driver has them. */
void suite_register(const char *image);
/* The driver itself takes handles for what they are: checks of stale ones are left out. */
extern bool suite_trusts_handles;

void suite_memory(void);
void suite_rows(void);
void suite_streams(void);
void suite_events(void);
void suite_launches(void);
void suite_errors(void);
void suite_symbols(void);
void suite_callbacks(void);
void suite_threads(void);
void suite_own_streams(bool threads);
void suite_devices(void);
void suite_other(void);
void suite_arrays(void);
void suite_managed(void);

#endif
