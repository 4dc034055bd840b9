/* remote/table/errors.c - names and texts of CUDA's errors, and refusals. Any thread. */
#include "base/say.h"
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

CUresult weft_cuda_refuse(const char *what, const char *heading, unsigned *said)
{
    if (__atomic_exchange_n(said, 1, __ATOMIC_RELAXED) == 0)
        weft_say(WEFT_SAY_ERROR, "%s is not supported on remote GPUs (docs/remote.md#%s)", what,
                 heading);
    return CUDA_ERROR_NOT_SUPPORTED;
}
