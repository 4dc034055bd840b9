/* remote/library/cusolver.c - libcusolver.so.12: rows as functions. Any thread. */
#include "remote/rows/vendor.h"

#define STATUS   cusolverStatus_t
#define IS(name) CUSOLVER_STATUS_##name
#include "remote/library/stub.h"

#include "remote/rows/cusolver.def"
