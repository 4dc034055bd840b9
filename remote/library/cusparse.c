/* remote/library/cusparse.c - libcusparse.so.12: rows as functions, and texts. Any thread. */
#include "remote/rows/vendor.h"

#define STATUS   cusparseStatus_t
#define IS(name) CUSPARSE_STATUS_##name
#include "remote/library/stub.h"

#include "remote/rows/cusparse.def"

SET_STREAM(cusparseHandle_t, cusparseSetStream)
GET_STREAM(cusparseHandle_t, cusparseGetStream)

const char *cusparseGetErrorName(cusparseStatus_t status)
{
    switch (status) {
#include "lists/cusparse_statuses.def"
    }
    return "unknown";
}

const char *cusparseGetErrorString(cusparseStatus_t status)
{
    return cusparseGetErrorName(status);
}
