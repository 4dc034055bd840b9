/* remote/library/cusparse.c - libcusparse.so.12: rows as functions, and texts. Any thread. */
#include "remote/rows/vendor.h"

#define STATUS   cusparseStatus_t
#define STATUSES "lists/cusparse_statuses.def"
#define IS(name) CUSPARSE_STATUS_##name
#include "remote/library/stub.h"

#include "remote/rows/cusparse.def"

TEXT(cusparseGetErrorName)
TEXT(cusparseGetErrorString)
