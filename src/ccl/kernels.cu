/*
 * ccl/kernels.cu - the kernels of calls on streams: block b is column b. The last warp of a block
 * moves no data; it tells the other members, and hears them. One kernel for each way and most
 * members, as host.c chooses them.
 */
#include "weft/ccl.h"

#define KERNEL extern "C" __global__ void __launch_bounds__(WEFT_CCL_THREADS + 32)

#define CALL(way, most, few)                                                                       \
    KERNEL                                                                                         \
    weft_ccl_##way##_##most(const __grid_constant__ struct weft_ccl_launch launch)                 \
    {                                                                                              \
        struct weft_ccl_call call = launch.call;                                                   \
                                                                                                   \
        weft_ccl_cut(&call, launch.each, blockIdx.x);                                              \
        weft_ccl_run(NULL, &launch.view, blockIdx.x, &call, blockDim.x - 32, most, few);           \
    }

CALL(words, 2, true)
CALL(words, 4, true)
CALL(words, 8, true)
CALL(pieces, 2, false)
CALL(pieces, 4, false)
CALL(pieces, 8, false)

#define CALL_MORE(name, what)                                                                      \
    KERNEL weft_ccl_##name(const __grid_constant__ struct weft_ccl_launch launch)                  \
    {                                                                                              \
        weft_ccl_run_more(NULL, &launch, blockIdx.x, gridDim.x, blockDim.x - 32, what);            \
    }

CALL_MORE(sizes, WEFT_CCL_ALLTOALL_SIZES)
CALL_MORE(pairs, WEFT_CCL_EXCHANGE)
CALL_MORE(dispatch_rows, WEFT_CCL_DISPATCH)
CALL_MORE(combine_rows, WEFT_CCL_COMBINE)
