/* stencil2d_dart/kernel.cu - the task: some rows of the next field, from the present one. */
#include <dash/dart/if/dart.h>

#include <dart_tapi.h>

#include "stencil2d_dart.h"

DART_TAPI_BODIES(WORK)

/* in: a row more than out above, and one below. The calls of a task share its rows. */
DART_TAPI_TASK(relax, call)
{
    const uint64_t width = (call->in_bytes - call->out_bytes) / (2 * sizeof(double));
    const uint64_t rows = call->out_bytes / sizeof(double) / width;
    const uint64_t first = rows * call->index / call->calls;
    const uint64_t end = rows * (call->index + 1) / call->calls;

    for (uint64_t row = first; row < end; row++) {
        const double *const here = (const double *)call->in + (row + 1) * width;
        double *const there = (double *)call->out + row * width;
        weft_for (i, width - 2)
            there[i + 1] =
                0.25 * ((here[i + 1 - width] + here[i + 1 + width]) + (here[i] + here[i + 2]));
    }
}

DART_TAPI_KERNEL(stencil2d_dart_tasks, WORK)
