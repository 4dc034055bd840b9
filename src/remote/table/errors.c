/* remote/table/errors.c - names and texts of CUDA's errors. */
#include "remote/table/table.h"

#define UNKNOWN "unrecognized error code"

static const struct weft_cuda_error errors[] = {
#define WEFT_CUDA_ERROR(number, name, text) {number, #name, text},
#include "remote/table/errors.def"
};

const struct weft_cuda_error *weft_cuda_error(CUresult result)
{
    static const struct weft_cuda_error unknown = {0, UNKNOWN, UNKNOWN};

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].number == (int)result)
            return &errors[i];
    return &unknown;
}
