/* remote/table/errors.c - names and texts of CUDA's errors. */
#include "remote/table/table.h"

static const struct {
    int number;
    const char *name, *text;
} errors[] = {
#define WEFT_CUDA_ERROR(number, name, text) {number, #name, text},
#include "remote/table/errors.def"
};

enum { ERRORS = sizeof(errors) / sizeof(errors[0]) };

static int find(CUresult result)
{
    for (int i = 0; i < ERRORS; i++)
        if (errors[i].number == (int)result)
            return i;
    return -1;
}

const char *weft_cuda_text(CUresult result)
{
    const int i = find(result);

    return i >= 0 ? errors[i].text : "unrecognized error code";
}

const char *weft_cuda_name(CUresult result)
{
    const int i = find(result);

    return i >= 0 ? errors[i].name : "unrecognized error code";
}
